"""What is only read again when its numbers changed is still known for what it is."""

import mmap
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline.model.hook import Hook
from hookline.trust.fingerprint import FingerprintService


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "lib").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "hook.py").write_text("import helper\nprint(1)\n")
    (folder / "helper.py").write_text("x = 1\n")
    (folder / "hook.sh").write_text(". ./lib/common.sh\n")
    (folder / "hook.js").write_text("require('./lib/common')\n")
    (folder / "lib" / "common.sh").write_text("echo 1\n")
    return folder


def hook(root: Path, *words: str, **more: object) -> Hook:
    program, *args = words
    build: Callable[..., Hook] = Hook
    return build(id="h", command=program, args=tuple(args), root=str(root), **more)


def test_hook_that_did_not_change_is_the_same_object_and_is_not_read_again(root: Path) -> None:
    known = FingerprintService(settled=0)
    command = hook(root, "python3", str(root / "hook.py"))

    first, second = known.compute(command, str(root)), known.compute(command, str(root))

    assert second is first
    assert set(first.files) == {str(root / "hook.py"), str(root / "helper.py")}


def _rewrite(path: Path) -> None:
    """Change the content and leave size and modification time as they were."""
    before = path.stat()
    text = path.read_text()
    path.write_text(text.replace("1", "2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("print(3)\n")
    other.replace(path)


def _append(path: Path) -> None:
    with path.open("a") as file:
        file.write("# more\n")


@pytest.mark.spec("O-15")
@pytest.mark.parametrize("change", [_rewrite, _replace, _append, Path.unlink])
@pytest.mark.parametrize("name", ["hook.py", "helper.py"])
def test_changed_file_is_noticed(root: Path, name: str, change: Callable[[Path], None]) -> None:
    known = FingerprintService(settled=0)
    command = hook(root, "python3", str(root / "hook.py"))
    before = known.compute(command, str(root)).digest
    # a change within one tick of the clock is what settling is for
    while (root / name).stat().st_ctime_ns == _now(root):
        pass

    change(root / name)

    assert known.compute(command, str(root)).digest != before
    assert known.compute(command, str(root)).digest == FingerprintService().compute(command, str(root)).digest


def _now(folder: Path) -> int:
    """Give the file system's own time."""
    probe = folder.parent / "probe"
    probe.write_text("")
    os.utime(probe)
    return probe.stat().st_ctime_ns


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (("python3", "hook.py"), "json.py"),
        (("python3", "hook.py"), "helper/__init__.py"),
        (("bash", "hook.sh"), "lib/common.sh"),
        (("node", "hook.js"), "lib/common.js"),
        (("python3", "later.py"), "later.py"),
        (("/bin/cat", "data.json"), "data.json"),
    ],
)
def test_file_that_appears_is_noticed(root: Path, words: tuple[str, ...], new: str) -> None:
    (root / "lib" / "common.sh").unlink()
    known = FingerprintService(settled=0)
    command = hook(root, *words)
    before = known.compute(command, str(root)).digest
    while (root / "lib").stat().st_ctime_ns == _now(root):
        pass

    (root / new).parent.mkdir(exist_ok=True)
    (root / new).write_text("print(4)\n")

    assert known.compute(command, str(root)).digest != before


def test_program_that_appears_earlier_on_the_search_path_of_a_line_is_noticed(root: Path) -> None:
    known = FingerprintService(settled=0)
    command = hook(root, "cat hook.py | sort", shell=True, env={"PATH": f"{root / 'bin'}:/usr/bin:/bin"})
    before = known.compute(command, str(root)).digest

    (root / "bin" / "sort").write_text("#!/bin/sh\n")
    (root / "bin" / "sort").chmod(0o755)

    assert known.compute(command, str(root)).digest != before


def test_search_path_that_changes_is_noticed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text("#!/bin/sh\n")
        (tmp_path / name / "tool").chmod(0o755)
    known = FingerprintService(settled=0)
    command = hook(root, "tool", "x")
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}:/bin")
    (first,) = [program for program in known.compute(command, str(root)).programs if program.name == "tool"]

    monkeypatch.setenv("PATH", f"{tmp_path / 'two'}:/bin")
    (second,) = [program for program in known.compute(command, str(root)).programs if program.name == "tool"]

    assert (first.path, second.path) == (str(tmp_path / "one" / "tool"), str(tmp_path / "two" / "tool"))


def test_bytes_changed_behind_the_file_systems_back_are_not_the_ones_that_run(root: Path) -> None:
    """A page that is already dirty takes changes through a mapping without any number of the file changing."""
    script = root / "hook.sh"
    known = FingerprintService(settled=0)
    command = hook(root, "bash", str(script))
    with script.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = mapped[0:1]
        approved = known.compute(command, str(root))
        mapped[0:1] = b"#"

        now = known.compute(command, str(root))

    assert now.digest != approved.digest or now.files[str(script)].startswith(b".")


def test_patterns_of_includes_are_matched_anew_each_time(root: Path) -> None:
    known = FingerprintService(settled=0)
    command = hook(root, "bash", str(root / "hook.sh"), includes=("lib/*",))
    before = known.compute(command, str(root)).digest

    (root / "lib" / "new.sh").write_text("echo 5\n")

    assert known.compute(command, str(root)).digest != before


def own(root: Path, line: str, **more: object) -> Hook:
    """Make a person's own hook, whose file lies outside of the project."""
    build: Callable[..., Hook] = Hook
    source = str(root.parent / "config" / "hookline.toml")
    return build(id="h", command=line, shell=True, source="user", source_path=source, source_line=1, **more)


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("python3 later.py", "later.py"),
        ("sh < later.sh", "later.sh"),
        ("make -s", "Makefile"),
        ("python3 -E -m json.tool", "argparse.py"),
        ("env -i python3 -m json.tool", "argparse.py"),
        ("PYTHONSAFEPATH= python3 -m json.tool", "argparse.py"),
        ("unset PYTHONSAFEPATH; python3 -m json.tool", "argparse.py"),
        ("python3 /usr/share/own.py; python3 -m json.tool", "argparse.py"),
        ("echo 'import argparse' | python3 -E -", "argparse.py"),
        ("cat x | sort", "bin/sort"),
    ],
)
def test_what_a_workspace_puts_in_the_way_of_a_persons_hook_is_noticed(root: Path, line: str, new: str) -> None:
    known = FingerprintService(settled=0)
    command = own(root, line, env={"PATH": f"{root / 'bin'}:/usr/bin:/bin"})
    assert [known.find_foreign_file(command, str(root)) for _ in range(2)] == ["", ""]
    while root.stat().st_ctime_ns == _now(root) or (root / "bin").stat().st_ctime_ns == _now(root):
        pass

    (root / new).write_text("#!/bin/sh\n")
    (root / new).chmod(0o755)

    assert known.find_foreign_file(command, str(root)) == new


@pytest.mark.parametrize(
    "line",
    [
        "python3 -m json.tool",
        "python3 -c 'import argparse'",
        "echo 'import argparse' | python3",
        "python3 - x.txt < /usr/share/own.py",
        "timeout 5 python3 -m json.tool",
    ],
)
def test_modules_of_a_workspace_are_no_obstacle_where_python_is_kept_from_them(root: Path, line: str) -> None:
    python = root.parent / "own" / "python3.11"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    python.with_name("python3").symlink_to(python)
    (root / "argparse.py").write_text("")

    assert not FingerprintService(settled=0).find_foreign_file(
        own(root, line, env={"PATH": f"{python.parent}:/usr/bin:/bin"}), str(root)
    )


def test_link_of_a_person_that_is_led_into_the_workspace_is_noticed(root: Path) -> None:
    config = root.parent / "config"
    config.mkdir()
    (config / "mine.sh").write_text("true\n")
    (config / "guard.sh").symlink_to("mine.sh")
    known = FingerprintService(settled=0)
    command = own(root, f"sh {config / 'guard.sh'}")
    assert [known.find_foreign_file(command, str(root)) for _ in range(2)] == ["", ""]

    (config / "guard.sh").unlink()
    (config / "guard.sh").symlink_to(root / "hook.sh")

    assert known.find_foreign_file(command, str(root)) == "hook.sh"


def test_same_hook_in_another_folder_is_looked_at_anew(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "later.py").write_text("")
    known = FingerprintService(settled=0)
    command = own(root, "python3 later.py")

    assert [known.find_foreign_file(command, str(folder)) for folder in (root, other, root)] == ["", "later.py", ""]
