"""Programs a hook needs, looked for on a real search path."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from hookline import Hook
from hookline.model.hook import Source
from hookline.model.requirements import Needs
from hookline.requirements import clear_cache, find_missing


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def missing(folder: Path, *tools: str, path: Path | None = None, source: Source = Source.USER) -> str:
    clear_cache()
    env = {"PATH": f"{path}:{os.environ['PATH']}"} if path else {}
    hook = Hook(id="h", command="/bin/true", needs=Needs(tools=tools), env=env, source=source, root=str(folder))
    return asyncio.run(find_missing(hook, str(folder)))


def is_running(pid: int) -> bool:
    """Say whether a process runs; one that ended and that nobody reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.spec("D-12")
def test_program_on_the_search_path_is_there(tmp_path: Path) -> None:
    assert missing(tmp_path, "sh", "git", "git>=1.0", "python3>=3, <4") == ""


@pytest.mark.spec("D-12")
def test_program_that_is_nowhere_is_missing(tmp_path: Path) -> None:
    text = missing(tmp_path, "no-such-tool", "no-other>=3")

    assert "the program no-such-tool is not on PATH: install it" in text
    assert "the program no-other is not on PATH" in text


@pytest.mark.spec("D-12")
@pytest.mark.parametrize(
    ("said", "wanted", "fits"),
    [
        ("tool version 2.9.1", "tool>=2.30", False),
        ("tool version 2.30.1", "tool>=2.30", True),
        ("v20.11.1", "tool >= 20, < 23", True),
        ("jq-1.6", "tool==1.6", True),
        ("tool 7 of 2020, 1.2.3", "tool==1.2", True),
        ("release 9", "tool>=9", True),
    ],
)
def test_version_it_says_decides(tmp_path: Path, said: str, wanted: str, *, fits: bool) -> None:
    tools = tmp_path / "bin"
    program(tools, "tool", f'[ "$1" = --version ] && echo "{said}"')

    text = missing(tmp_path / "project", wanted, path=tools)

    assert (text == "") is fits
    assert fits or text == f'{wanted} is needed, "{tools}/tool" is version 2.9.1: install another version'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("exit 3", "tool --version fails"),
        ("echo 2.30; exit 1", "tool --version fails"),
        ("echo hello", "tool --version does not say it"),
        ("exec yes 'no number'", "tool --version does not say it"),
        ("head -c 10000000 /dev/zero", "tool --version does not say it"),
    ],
)
def test_version_that_nobody_says_is_not_guessed(tmp_path: Path, text: str, problem: str) -> None:
    program(tmp_path / "bin", "tool", text)

    said = missing(tmp_path / "project", "tool>=1", path=tmp_path / "bin")

    assert said == f'the version of "{tmp_path}/bin/tool" is not known, tool>=1 is needed: {problem}'


def test_version_on_stderr_counts_and_stdin_is_empty(tmp_path: Path) -> None:
    program(tmp_path / "bin", "java", 'cat; [ "$1" = -version ] && echo \'openjdk version "17.0.2"\' >&2')

    assert missing(tmp_path / "project", "java>=17", path=tmp_path / "bin") == ""


@pytest.mark.slow
def test_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    program(tmp_path / "bin", "tool", f"sleep 600 & echo $! > {tmp_path}/pid; wait")

    text = missing(tmp_path / "project", "tool>=1", path=tmp_path / "bin")

    assert "tool --version did not end within 5 s" in text
    deadline = time.monotonic() + 30
    while is_running(int((tmp_path / "pid").read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("source", [Source.USER, Source.WORKSPACE])
def test_program_inside_the_project_does_not_count_and_is_not_run(tmp_path: Path, source: Source) -> None:
    project = tmp_path / "project"
    program(project / "bin", "tool", f"touch {tmp_path}/ran; echo 9.9")

    text = missing(project, "tool>=1", path=project / "bin", source=source)

    assert text == f'the program tool is on PATH only as "{project}/bin/tool", inside the project: install it outside'
    assert not (tmp_path / "ran").exists()


def test_bound_that_cannot_be_read_is_told_and_nothing_runs(tmp_path: Path) -> None:
    program(tmp_path / "bin", "tool", f"touch {tmp_path}/ran")

    assert "cannot be looked for: wanted a version" in missing(tmp_path / "p", "tool>>1", path=tmp_path / "bin")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("source", "is_asked_here"), [(Source.USER, False), (Source.WORKSPACE, True)])
def test_project_does_not_choose_what_answers_for_a_persons_own_hook(
    tmp_path: Path, source: Source, *, is_asked_here: bool
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    # as version managers do: what the folder names is run
    (project / ".toolrc").write_text("touch ran\n")
    program(tmp_path / "bin", "tool", "test -e .toolrc && . ./.toolrc\necho 1.2")

    assert missing(project, "tool>=1", path=tmp_path / "bin", source=source) == ""

    assert (project / "ran").exists() is is_asked_here


def test_program_that_talks_without_end_has_said_its_version_at_the_beginning(tmp_path: Path) -> None:
    program(tmp_path / "bin", "tool", f"echo $$ > {tmp_path}/pid; exec yes 1.2.3")

    assert missing(tmp_path / "project", "tool==1.2", path=tmp_path / "bin") == ""
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_program_that_leaves_a_service_running_is_not_waited_for_any_longer(tmp_path: Path) -> None:
    # it keeps the output open, and cannot be found by its group
    program(tmp_path / "bin", "tool", f"setsid sleep 60 & echo $! > {tmp_path}/pid; echo 2.3.4")
    before = len([*Path("/proc/self/fd").iterdir()])

    text = missing(tmp_path / "project", "tool>=2", path=tmp_path / "bin")

    assert text == ""
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    with suppress(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    program(tmp_path / "bin", "tool", "").write_bytes(b"\0\1\2")

    text = missing(tmp_path / "project", "tool>=2", path=tmp_path / "bin")

    assert text.endswith("tool>=2 is needed: tool --version cannot be started: Exec format error")


@pytest.mark.parametrize("source", [Source.USER, Source.WORKSPACE])
def test_interpreter_of_a_script_is_not_taken_from_the_project(tmp_path: Path, source: Source) -> None:
    project = tmp_path / "project"
    program(project / "bin", "interpreter", f"touch {tmp_path}/ran; echo 9.9")
    script = program(tmp_path / "bin", "tool", "")
    script.write_text("#!/usr/bin/env interpreter\n")
    hook = Hook(
        id="h",
        command="/bin/true",
        needs=Needs(tools=("tool>=1",)),
        env={"PATH": f"{tmp_path}/bin:{project}/bin:{os.environ['PATH']}"},
        source=source,
        root=str(project),
    )
    clear_cache()

    assert "tool --version fails" in asyncio.run(find_missing(hook, str(project)))
    assert not (tmp_path / "ran").exists()
