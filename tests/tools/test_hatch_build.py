"""The launcher in the wheel: native with a compiler, a script without one, and never a reason to fail."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from hookline.version import __version__
from tools import hatch_build

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300
EVENT = b'{"hook_event_name": "preToolUse", "conversation_id": "c", "tool_name": "Shell", "tool_input": {}}'
ALLOWED = b'{"permission":"allow"}\n'

needs_compiler = pytest.mark.skipif(
    os.name != "posix" or not list(hatch_build.compilers()), reason="there is no compiler here"
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what a wheel is built from: nobody edits it meanwhile."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, folder)
    for name in ("src", "tools"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def built(source: Path, target: Path, *, kind: str = "wheel", **environ: str) -> Path:
    words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    env = {key: value for key, value in os.environ.items() if key not in {"CC", "HOOKLINE_PURE"}}
    done = subprocess.run(
        words, cwd=source, env={**env, **environ}, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    (made,) = target.iterdir()
    return made


def installed(wheel: Path, folder: Path) -> Path:
    """Install a wheel into an environment of its own, which borrows what it needs from ours; give its programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=SECONDS)
    (site,) = folder.glob("lib/python3*/site-packages")
    borrowed = [path for path in sys.path if path.endswith("site-packages")]
    (site / "zz_borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin" / "python")]
    options = ["install", "-q", "--no-deps", "--no-index", "--ignore-installed", "--no-compile"]
    subprocess.run([*pip, *options, wheel], check=True, timeout=SECONDS)
    return folder / "bin"


def run(program: Path, *words: str, home: Path, stdin: bytes = EVENT) -> tuple[int, bytes, bytes]:
    project = home.with_name("project")
    for folder in (home, project):
        folder.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "HOOKLINE_DAEMON": "off", "CI": "1"}
    done = subprocess.run(
        [program, *words], input=stdin, capture_output=True, env=env, cwd=project, timeout=SECONDS, check=False
    )
    return done.returncode, done.stdout, done.stderr


@needs_compiler
def test_a_wheel_with_a_compiler_has_a_native_launcher_for_every_python_of_the_platform(
    source: Path, tmp_path: Path
) -> None:
    wheel = built(source, tmp_path / "dist")
    names = zipfile.ZipFile(wheel).namelist()
    programs = installed(wheel, tmp_path / "venv")
    launcher = programs / "hookline-hook"
    ask = "import sys; from hookline.hosts.command_line import find_launcher; print(find_launcher(sys.executable))"

    assert wheel.name == f"hookline-{__version__}-py3-none-{hatch_build.platform()}.whl"
    assert not [name for name in names if name.endswith(".c")]
    assert f"hookline-{__version__}.data/scripts/hookline-hook" in names
    assert launcher.read_bytes()[:2] != b"#!"
    assert run(launcher, "--version", home=tmp_path / "home")[1] == f"hookline-hook {__version__} native\n".encode()
    assert run(launcher, "cursor", "preToolUse", home=tmp_path / "home") == (0, ALLOWED, b"")
    assert run(programs / "python", "-E", "-P", "-c", ask, home=tmp_path / "home")[1] == f"{launcher}\n".encode()


@pytest.mark.parametrize("without", [{"HOOKLINE_PURE": "1"}, {"CC": "/nowhere/cc"}, {"CC": "false"}, {"CC": "true"}])
def test_a_wheel_without_a_compiler_is_for_every_platform(
    source: Path, tmp_path: Path, without: dict[str, str]
) -> None:
    wheel = built(source, tmp_path / "dist", **without)

    assert wheel.name == f"hookline-{__version__}-py3-none-any.whl"
    script = zipfile.ZipFile(wheel).read(f"hookline-{__version__}.data/scripts/hookline-hook")
    assert script.decode() == hatch_build.SCRIPT


def test_the_script_of_a_wheel_without_a_compiler_answers_alike(source: Path, tmp_path: Path) -> None:
    programs = installed(built(source, tmp_path / "dist", HOOKLINE_PURE="1"), tmp_path / "venv")
    launcher, home = programs / "hookline-hook", tmp_path / "home"
    ask = "import sys; from hookline.hosts.command_line import find_launcher; print(find_launcher(sys.executable))"
    call = ("hook", "--if-broken", "block", "cursor", "preToolUse")

    assert run(programs / "python", "-E", "-P", "-c", ask, home=home)[1] == b"\n"
    assert run(launcher, "--version", home=home) == (0, f"hookline-hook {__version__} python\n".encode(), b"")
    assert run(launcher, "cursor", "preToolUse", home=home) == (0, ALLOWED, b"")
    # as a native one that was there before has been written into the settings of agents
    assert run(launcher, str(programs / "python"), *call, home=home) == (0, ALLOWED, b"")
    assert run(launcher, "--prove", str(programs / "python"), *call, home=home) == (100, ALLOWED, b"")
    assert run(launcher, "/nowhere/python", *call, home=home) == (1, b"", b"")


@needs_compiler
def test_an_archive_of_the_source_has_what_the_wheel_is_built_from(source: Path, tmp_path: Path) -> None:
    archive = built(source, tmp_path / "dist", kind="sdist")
    shutil.unpack_archive(archive, tmp_path / "unpacked", filter="data")
    (folder,) = (tmp_path / "unpacked").iterdir()

    wheel = built(folder, tmp_path / "again")

    assert wheel.name == f"hookline-{__version__}-py3-none-{hatch_build.platform()}.whl"


def test_nothing_is_left_where_it_was_built(source: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    built(source, tmp_path / "dist", TMPDIR=str(scratch))

    assert [path for path in scratch.iterdir() if path.name.startswith("hookline-build-")] == []
    assert not (source / "build").exists()


def test_a_compiler_that_is_named_is_asked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "ccache 'my cc' -m32")

    assert list(hatch_build.compilers()) == [["ccache", "my cc", "-m32"]]


def test_a_compiler_that_makes_what_does_not_run_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "cc"
    odd.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho rubbish > "$2"\nchmod +x "$2"\n')
    odd.chmod(0o755)
    monkeypatch.setenv("CC", str(odd))

    assert not hatch_build.compiled(ROOT / hatch_build.SOURCE, tmp_path / "made", version="1")


@needs_compiler
def test_a_system_without_static_libraries_gets_a_launcher_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which(next(hatch_build.compilers())[0])
    partial = tmp_path / "cc"
    partial.write_text(f'#!/bin/sh\nfor word; do [ "$word" != -static ] || exit 1; done\nexec {real} "$@"\n')
    partial.chmod(0o755)
    monkeypatch.setenv("CC", str(partial))
    monkeypatch.delenv("HOOKLINE_PURE", raising=False)

    assert hatch_build.compiled(ROOT / hatch_build.SOURCE, tmp_path / "made", version="1")


@needs_compiler
def test_the_source_compiles_without_a_warning(tmp_path: Path) -> None:
    strict = [
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Wshadow",
        "-Wconversion",
        "-Wstrict-prototypes",
        "-Werror",
    ]
    words = [*next(hatch_build.compilers()), *strict, "-O2", "-c", "-o", str(tmp_path / "made.o")]

    done = subprocess.run(
        [*words, ROOT / hatch_build.SOURCE], capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_platform_is_named_as_wheels_name_it() -> None:
    machine = sysconfig.get_platform().rpartition("-")[2].replace(".", "_")

    assert set(hatch_build.platform()) <= set("abcdefghijklmnopqrstuvwxyz0123456789_")
    assert sys.platform == "darwin" or hatch_build.platform().endswith(machine)
