import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.model.hook import Hook, Layer, Source
from hookline.trust.fingerprint import FingerprintService, HookFingerprint

FILES = {
    "hooks/guard.sh": b"#!/bin/sh\n. lib/common.sh\n",
    "lib/common.sh": b"echo common\n",
    "lib/deep/more.sh": b"echo more\n",
    "rules.json": b"[1, 2]\n",
}


def project(folder: Path) -> Path:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def hook(root: Path, **changes: object) -> Hook:
    plain = Hook(
        id="guard",
        on="before_tool",
        command="bash",
        args=(str(root / "hooks/guard.sh"), str(root / "rules.json")),
        includes=("lib/**/*.sh",),
        root=str(root),
        source=Source.WORKSPACE,
    )
    return replace(plain, **changes)


def identity(one: Hook, cwd: Path | str) -> HookFingerprint:
    return FingerprintService().compute(one, str(cwd))


@pytest.mark.spec("O-15")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(sorted(FILES)), place=st.integers(0, 10_000), flip=st.integers(1, 255))
def test_any_changed_byte_of_any_file_is_another_hook(tmp_path: Path, name: str, place: int, flip: int) -> None:
    root = project(tmp_path)
    identities = FingerprintService()
    before = identities.compute(hook(root), str(root))
    content = bytearray(FILES[name])
    content[place % len(content)] ^= flip
    (root / name).write_bytes(content)

    after = identities.compute(hook(root), str(root))

    assert after.digest != before.digest
    assert after.files[str(root / name)] == bytes(content)


def test_what_was_hashed_is_what_is_handed_on(tmp_path: Path) -> None:
    root = project(tmp_path)

    found = identity(hook(root), root)

    assert found.files == {str(root / name): content for name, content in FILES.items()}
    assert sorted(found.hashes) == sorted(FILES)


@pytest.mark.spec("D-07")
def test_copy_of_a_project_has_the_same_digest_wherever_it_lies(tmp_path: Path) -> None:
    one = project(tmp_path / "one")
    two = tmp_path / "elsewhere" / "two"
    shutil.copytree(one, two)

    assert identity(hook(one), one).digest == identity(hook(two), two).digest
    assert identity(hook(one), one).digest == identity(hook(one), tmp_path).digest


def test_path_of_the_project_counts_only_where_it_is_a_path(tmp_path: Path) -> None:
    root = str(tmp_path)
    plain = Hook(id="h", command=f"{root}-other/x {root}", root=root)
    other = replace(plain, command=f"{root}x/x {root}")

    assert identity(plain, root).definition["command"] == f"{root}-other/x ."
    assert identity(plain, root).digest != identity(other, root).digest


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "other"},
        {"enabled": False},
        {"warm": True},
        {"layer": Layer.PROJECT},
        {"source_path": "/x/settings.json", "source_line": 7},
        {"source_pointer": ("hooks", 1), "source_format": "grouped"},
    ],
)
def test_place_of_a_definition_is_no_part_of_it(tmp_path: Path, changes: dict[str, object]) -> None:
    root = project(tmp_path)

    assert identity(hook(root), root).digest == identity(hook(root, **changes), root).digest


def test_only_what_a_definition_says_is_part_of_it(tmp_path: Path) -> None:
    found = identity(Hook(id="h", command="node", timeout=3.0, root=str(tmp_path)), tmp_path)

    assert found.definition == {"command": "node", "kind": "command", "timeout": 3.0}


def test_new_file_of_an_include_is_another_hook(tmp_path: Path) -> None:
    root = project(tmp_path)
    before = identity(hook(root), root)
    (root / "lib" / "new.sh").write_text("echo new")

    assert identity(hook(root), root).digest != before.digest


def test_includes_without_end_cannot_be_approved(tmp_path: Path) -> None:
    for number in range(2_001):
        (tmp_path / f"{number}.txt").touch()

    found = identity(Hook(id="h", command="node", includes=("*.txt",), root=str(tmp_path)), tmp_path)

    assert found.problem == 'includes has more than 2000 files with "*.txt"; name fewer'


def test_link_is_judged_by_what_it_leads_to(tmp_path: Path) -> None:
    root = project(tmp_path / "project")
    good, evil = tmp_path / "good.sh", tmp_path / "evil.sh"
    good.write_text("echo good")
    evil.write_text("echo evil")
    link = root / "link.sh"
    link.symlink_to(good)
    linked = Hook(id="h", command="bash", args=("link.sh",), root=str(root))
    identities = FingerprintService()
    before = identities.compute(linked, str(root))
    assert before.files[str(link)] == b"echo good"

    link.unlink()
    link.symlink_to(evil)

    assert identities.compute(linked, str(root)).digest != before.digest


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_program_of_the_project_is_a_file_and_others_are_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path / "project")
    mine = program(tmp_path / "bin" / "tool", "#!/usr/bin/env helper\n")
    helper = program(tmp_path / "bin" / "helper", "#!/bin/sh\n")
    theirs = program(root / "bin" / "tool", "#!/bin/sh\necho theirs\n")
    monkeypatch.setenv("PATH", f"{theirs.parent}:bin:.:{mine.parent}:/usr/bin:/bin")

    found = identity(Hook(id="h", command="tool x", root=str(root)), root)

    assert {one.name: one.path for one in found.programs} == {
        "tool": str(mine),
        "helper": str(helper),
        "/usr/bin/env": "/usr/bin/env",
        "/bin/sh": "/bin/sh",
    }
    # a shell would find this one first
    assert str(theirs) in found.files


def test_program_of_the_project_on_the_search_path_does_not_matter_without_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path / "project")
    theirs = program(root / ".venv" / "bin" / "bash", "#!/bin/sh\n")
    before = identity(hook(root), root)

    monkeypatch.setenv("PATH", f"{theirs.parent}:{os.environ['PATH']}")

    assert identity(hook(root), root) == before


def test_interpreter_line_names_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = program(tmp_path / "bin" / "mylang", "x")
    root = tmp_path / "project"
    script = program(root / "hook", "#!/usr/bin/env -S mylang --fast\nbody\n")
    monkeypatch.setenv("PATH", f"{mine.parent}:/usr/bin:/bin")

    found = identity(Hook(id="h", command=str(script), root=str(root)), root)

    assert ("mylang", str(mine)) in {(one.name, one.path) for one in found.programs}
    assert str(script) in found.files


def test_interpreter_of_the_project_is_a_file_of_the_hook(tmp_path: Path) -> None:
    root = tmp_path / "project"
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/sh")
    script = program(root / "hook", f"#!{python}\nbody\n")

    found = identity(Hook(id="h", command=str(script), root=str(root)), root)

    assert str(python) in found.files
    assert str(python) not in {one.path for one in found.programs}


def test_relative_interpreter_is_looked_for_where_the_hook_runs(tmp_path: Path) -> None:
    script = program(tmp_path / "hook", "#!run\n")
    program(tmp_path / "run", "#!/bin/sh\n")

    found = identity(Hook(id="h", command=str(script), root=str(tmp_path)), tmp_path)

    assert str(tmp_path / "run") in found.files


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("make lint", "Makefile"),
        ("cd sub && make lint", "sub/Makefile"),
        ("npm run lint", "package.json"),
        ("npx eslint@9.1.0 .", "node_modules/.bin/eslint"),
        ("python3 tool", "tool/__main__.py"),
        ("just check", "justfile"),
    ],
)
def test_what_says_what_a_runner_starts_belongs_to_the_hook(tmp_path: Path, line: str, file: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1")
    runner = Hook(id="h", command=line, shell=True, root=str(tmp_path))
    before = identity(runner, tmp_path)
    path.write_text("2")

    assert identity(runner, tmp_path).digest != before.digest


def own(home: Path, command: str, **changes: object) -> Hook:
    plain = Hook(
        id="h",
        command=command,
        source=Source.USER,
        root=str(home),
        source_path=str(home / ".ollama" / "settings.json"),
        source_line=3,
    )
    return replace(plain, **changes)


def test_own_hook_may_use_its_own_scripts_and_the_programs_of_the_machine(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "home" / "project"
    root.mkdir(parents=True)
    script = program(home / ".ollama" / "hooks" / "x.sh", "#!/bin/sh\n")

    assert FingerprintService().find_foreign_file(own(home, f"bash {script}"), str(root)) == ""
    assert FingerprintService().find_foreign_file(own(home, "bash ../.ollama/hooks/x.sh"), str(root)) == ""


def test_own_hook_that_leads_into_the_workspace_is_borrowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root = tmp_path / "home", tmp_path / "home" / "project"
    theirs = program(root / ".venv" / "bin" / "python3", "#!/bin/sh\n")
    (home / ".ollama").mkdir()
    link = home / ".ollama" / "link.py"
    link.symlink_to(theirs)
    script = program(home / ".ollama" / "x.py", f"#!{theirs}\n")
    (root / "Makefile").write_text("lint:\n")
    monkeypatch.setenv("PATH", f"{theirs.parent}:{os.environ['PATH']}")
    borrowed = FingerprintService({"shellish"}).find_foreign_file

    assert borrowed(own(home, ".venv/bin/python3 -c 1"), str(root)) == ".venv/bin/python3"
    assert borrowed(own(home, f"{theirs} -c 1"), str(root)) == ".venv/bin/python3"
    assert borrowed(own(home, str(link)), str(root)) == ".venv/bin/python3"
    assert borrowed(own(home, str(script)), str(root)) == ".venv/bin/python3"
    assert borrowed(own(home, "make lint"), str(root)) == "Makefile"
    # what is on PATH from the workspace is passed over, unless the person wrote it there
    assert borrowed(own(home, "python3 -c 1", dialect="shellish"), str(root)) == ""
    named = own(home, "python3 -c 1", dialect="shellish", env={"PATH": f"{theirs.parent}:/bin"})
    assert borrowed(named, str(root)) == ".venv/bin/python3"
    assert borrowed(own(home, "python3 -c 1"), str(root)) == ""
    assert borrowed(own(home, "python3", args=("-c", "1")), str(root)) == ""


def test_name_that_no_encoding_has_is_no_trouble(tmp_path: Path) -> None:
    odd = Hook(id="h", command="bash", args=("x\udc80.sh", "\ud800"), root=str(tmp_path))
    path = os.fsencode(tmp_path) + b"/x\x80.sh"
    with open(path, "wb") as file:  # noqa: PTH123 - a name of bytes
        file.write(b"echo")

    found = identity(odd, tmp_path)

    assert found.definition["args"] == ["x\\udc80.sh", "\\ud800"]
    assert list(found.hashes) == ["x\\udc80.sh"]


def test_copy_for_another_agent_asks_nobody_again(tmp_path: Path) -> None:
    one = Hook(id="h", command="true", root=str(tmp_path), run_by=("claude-code",))
    more = replace(one, run_by=("claude-code", "cursor"))

    assert identity(one, tmp_path).digest == identity(more, tmp_path).digest
