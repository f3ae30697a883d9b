"""Bursts of events about several files: each file counts, alone or in one batch."""

import asyncio
import json
from pathlib import Path

import pytest

from hookline import Engine, Hook, Source
from tests.cli.program import configure, hookline

LOG = """\
import json, os, sys
event = json.loads(sys.stdin.readline())
with open("log.jsonl", "a") as log:
    log.write(json.dumps([sys.argv[1:], event.get("files"), os.environ.get("HOOKLINE_FILES")]) + "\\n")
"""
HEAD = '[[hook]]\nname = "log"\non = ["file_edited", "after_tool"]\n'


def change(home: Path, *names: str) -> str:
    told = ""
    for name in names:
        done = hookline(home, "emit", "file_edited", "--data", json.dumps({"path": name}), HOOKLINE_WORKER="off")
        assert done.returncode == 0, done.stderr
        told += done.stdout
    return told


def work(home: Path) -> list[list[object]]:
    assert hookline(home, "queue", "work", "--until-empty", HOOKLINE_WORKER="off").returncode == 0
    return logged(home)


def logged(home: Path) -> list[list[object]]:
    log = home.parent / "project" / "log.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.mark.spec("U-06")
def test_three_changed_files_are_three_questions_and_the_same_file_again_is_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(
        home,
        '[[hook]]\nname = "r"\non = "file_edited"\nfiles = ["config/**"]\ndebounce = "1h"\nask = "Look at {{file.path}}"\n',
    )

    assert change(home, "config/a", "config/b", "config/a", "config/c", "config/b") == (
        "Look at config/a\nLook at config/b\nLook at config/c\n"
    )
    assert "the last event is less than" in hookline(home, "trace", "show", "last").stdout


@pytest.mark.spec("U-06")
def test_three_changed_files_are_three_runs_in_the_background(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(
        home,
        f'{HEAD}run = "python3 log.py {{{{file.path}}}}"\nbackground = true\ndebounce = "300ms"\n',
        {"log.py": LOG},
    )

    change(home, "a", "b", "a", "c")
    project = home.parent / "project"

    assert sorted(work(home)) == [[[f"{project}/{name}"], [f"{project}/{name}"], f"{project}/{name}"] for name in "abc"]


@pytest.mark.slow
@pytest.mark.spec("U-06")
@pytest.mark.parametrize("batch", ["batch = true", 'batch = "300ms"', 'batch = true\ndebounce = "2s"\nper_minute = 1'])
def test_batch_is_one_run_with_all_files(tmp_path: Path, batch: str) -> None:
    home = tmp_path / "home"
    configure(home, f'{HEAD}run = ["python3", "log.py", "{{{{files}}}}"]\n{batch}\n', {"log.py": LOG})

    change(home, "a", "b b", "a", "c")
    files = [f"{home.parent}/project/{name}" for name in ("a", "b b", "c")]

    assert work(home) == [[files, files, "\n".join(files)]]


@pytest.mark.spec("U-06")
def test_call_that_writes_several_files_is_one_job_per_file_with_a_debounce(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(
        home,
        f'{HEAD}writes = ["*.py"]\nrun = "python3 log.py {{{{file.path}}}}"\nbackground = true\ndebounce = "300ms"\n',
        {"log.py": LOG},
    )
    args = json.dumps({"command": "touch a.py b.py c.txt"})
    for _ in range(2):
        hookline(home, "emit", "after_tool", "--tool", "shell", "--args", args, HOOKLINE_WORKER="off")

    assert sorted(str(words) for words, *_ in work(home)) == [
        str([f"{home.parent}/project/{name}"]) for name in ("a.py", "b.py")
    ]


@pytest.mark.spec("U-06")
def test_batch_in_the_foreground_is_refused_with_what_to_write(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, f'{HEAD}run = "python3 log.py"\nbatch = true\nbackground = false\n', {"log.py": LOG})

    done = hookline(home, "check")

    assert done.returncode == 1
    assert "has `batch`, which runs in the background; leave background out" in done.stdout


@pytest.mark.spec("U-06")
def test_program_that_embeds_the_engine_loses_no_file_of_a_burst(tmp_path: Path) -> None:
    runs: list[object] = []

    async def main() -> None:
        async with Engine(cwd=str(tmp_path)) as engine:
            engine.add(
                Hook(
                    id="each",
                    on="file_edited",
                    call=lambda event: runs.append(event.data["path"]),
                    source=Source.BUILTIN,
                    background=True,
                    debounce=0.05,
                )
            )
            engine.add(
                Hook(
                    id="all",
                    on="file_edited",
                    call=lambda event: runs.append(event.files),
                    source=Source.BUILTIN,
                    batch=0.05,
                )
            )
            for name in ("a", "b", "a", "c"):
                await engine.emit("file_edited", {"path": name})
            await engine.background.drain()

    asyncio.run(main())

    assert sorted(one for one in runs if isinstance(one, str)) == ["a", "b", "c"]
    assert [one for one in runs if isinstance(one, tuple)] == [tuple(str(tmp_path / name) for name in "abc")]
