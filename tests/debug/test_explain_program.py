import os
import sys
from pathlib import Path

import pytest

from hookline.debug.explain import ResolvedProgram, find_module, find_program
from hookline.model.hook import Hook


def found(folder: Path, command: str, *args: str, shell: bool = False, cwd: str = "") -> ResolvedProgram:
    hook = Hook(id="one", command=command, args=args, working_directory=cwd)
    return find_program(hook, shell=shell, cwd=str(folder))


def script(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_program_and_script_are_found(tmp_path: Path) -> None:
    here = script(tmp_path / "guard.py", "", 0o644)

    program = found(tmp_path, sys.executable, "-I", "guard.py")

    assert program == ResolvedProgram(program=sys.executable, script=str(here))


@pytest.mark.parametrize("shell", [True, False])
def test_missing_script_is_named(tmp_path: Path, *, shell: bool) -> None:
    assert found(tmp_path, "bash gone.sh", shell=shell).trouble == f"script {tmp_path}/gone.sh does not exist"


@pytest.mark.parametrize("line", ["bash -c 'exit 0'", "python3 -m gone", "node -e 1"])
def test_code_and_modules_are_no_scripts(tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bash", "python3", "node"):
        script(tmp_path / name)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert found(tmp_path, line).trouble == ""
    assert found(tmp_path, line).script == ""


def test_value_of_an_option_is_no_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "node")
    script(tmp_path / "app.js")
    monkeypatch.setenv("PATH", str(tmp_path))

    found_program = found(tmp_path, "node --conditions development --title x app.js")

    assert found_program == ResolvedProgram(program=f"{tmp_path}/node", script=f"{tmp_path}/app.js")


def test_program_that_is_not_on_the_path_is_trouble_but_for_a_shell(tmp_path: Path) -> None:
    assert found(tmp_path, "no-such-program x").trouble == 'program "no-such-program" not found on PATH'
    assert found(tmp_path, "export X", shell=True).trouble == ""


@pytest.mark.parametrize("line", ["cat x | gone.sh", "bash $HERE/gone.sh", "if true; then :; fi", "bash ~/gone.sh"])
def test_line_only_a_shell_can_read_is_left_to_it(tmp_path: Path, line: str) -> None:
    assert found(tmp_path, line, shell=True) == ResolvedProgram()


@pytest.mark.skipif(os.geteuid() == 0 and sys.platform == "win32", reason="no execute bit")
def test_program_that_may_not_be_executed_is_trouble(tmp_path: Path) -> None:
    path = script(tmp_path / "hook.sh", mode=0o644)

    assert found(tmp_path, str(path)).trouble.startswith(f"program {path} may not be executed: chmod +x")


@pytest.mark.parametrize(
    ("line", "missing"),
    [("#!/no/such/shell -x", "/no/such/shell"), ("#!/usr/bin/env -S no-such-runner --x", "no-such-runner")],
)
def test_missing_interpreter_of_the_first_line_is_named(tmp_path: Path, line: str, missing: str) -> None:
    path = script(tmp_path / "hook", f"{line}\n")

    assert (
        found(tmp_path, str(path)).trouble == f'"{missing}" does not exist, which is named in the first line of {path}'
    )


def test_folder_is_no_program_and_a_missing_folder_is_nowhere_to_run(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    assert found(tmp_path, str(tmp_path / "folder")).trouble == f"program {tmp_path}/folder is a folder"
    assert found(tmp_path, "sh", cwd="gone").trouble == f"there is no folder {tmp_path}/gone to run in"


def test_pipe_is_no_program_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o755)

    assert found(tmp_path, str(tmp_path / "pipe")).trouble == f"program {tmp_path}/pipe is no file"


@pytest.mark.parametrize("command", ["'", "\0", "a\0/b", "\ud800/x", ""])
def test_whatever_stands_there_nothing_is_raised(tmp_path: Path, command: str) -> None:
    hook = Hook(id="one", command=command, kind="command")

    for shell in (True, False):
        find_program(hook, shell=shell, cwd=str(tmp_path))


def test_other_kinds_start_nothing(tmp_path: Path) -> None:
    assert find_program(Hook(id="one", url="http://127.0.0.1"), shell=False, cwd=str(tmp_path)) == ResolvedProgram()


@pytest.mark.parametrize(
    ("text", "function", "trouble"),
    [
        ("def check(event): ...", "check", ""),
        ("async def check(event): ...", "chek", 'has no "chek" (did you mean "check"?)'),
        ("from elsewhere import check", "check", ""),
        ("from elsewhere import *", "check", ""),
        ("def __getattr__(name): ...", "check", ""),
        ("class Guard:\n    def check(self): ...", "Guard.check", ""),
        ("check = print", "check", ""),
        ("def check(:", "check", ":1: invalid syntax"),
        ("\0", "check", ":1: source code string cannot contain null bytes"),
        ("a=" + "-" * 100_000 + "1", "check", "cannot be read as Python"),
        ("#" * 1_000_001, "check", ""),
        ("raise SystemExit", "check", 'has no "check"'),
    ],
)
def test_function_of_a_module_is_looked_for_without_running_it(
    tmp_path: Path, text: str, function: str, trouble: str
) -> None:
    path = tmp_path / "guard.py"
    path.write_text(text)

    found = find_module(Hook(id="one", module="guard", function=function), str(path))

    assert (found.script, found.trouble) == (str(path), found.trouble)
    assert found.trouble.endswith(trouble)
    assert bool(found.trouble) == bool(trouble)


def test_module_without_a_file_has_to_be_installed() -> None:
    assert find_module(Hook(id="one", module="json", function="loads"), "") == ResolvedProgram()
    assert find_module(Hook(id="one", module="msgspec.json", function="decode"), "") == ResolvedProgram()
    assert 'module "no_such" is neither beside' in find_module(Hook(id="one", module="no_such"), "").trouble
