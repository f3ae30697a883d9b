"""Other hook programs: pinned, in a folder of their own, and missed aloud."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.bench import bench_command, bench_emit, bench_runners, peers, stage


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOOKLINE_BENCH", str(tmp_path / "bench"))
    return tmp_path / "bench"


def programs(folder: Path, **scripts: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_versions_are_exact_and_every_one_is_measured() -> None:
    lines = [line for line in peers.PINS.read_text("utf-8").splitlines() if not line.startswith("#")]

    assert [line for line in lines if not re.fullmatch(r"[a-z-]+==[0-9][0-9a-z.]*", line)] == []
    assert set(peers.pins()) == set(bench_runners.NAMES)


def test_folder_is_below_the_home_unless_another_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOOKLINE_BENCH", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert peers.folder() == tmp_path / ".cache" / "hookline-bench"


def test_nothing_is_there_before_it_is_installed(folder: Path) -> None:
    assert not folder.exists()
    assert not any(peers.has(name) for name in peers.pins())
    assert peers.gemini() is None
    assert peers.lefthook() is None
    assert bench_emit.agent_hooks() == {}


@pytest.mark.usefixtures("folder")
def test_another_version_than_the_pinned_one_does_not_count() -> None:
    (peers.packages() / "nah-0.0.1.dist-info").mkdir(parents=True)
    assert not peers.has("nah")

    (peers.packages() / f"nah-{peers.pins()['nah']}.dist-info").mkdir()
    assert peers.has("nah")


def test_what_cannot_be_installed_is_said_and_the_rest_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    programs(peers.python().parent, python='case "$*" in *nah==*) exit 0;; esac; echo "no route to it" >&2; exit 1')
    monkeypatch.setenv("PATH", programs(folder / "tools", npm="exit 1", node="exit 0"))
    problems = peers.install()

    wanted = [f"{name}=={version}" for name, version in peers.pins().items() if name != "nah"]
    assert problems == [f"{pin}: could not be installed" for pin in wanted] + [
        f"{' '.join(peers.GEMINI)}: could not be installed"
    ]
    assert "no route to it" in capfd.readouterr().err
    assert peers.gemini() is None
    assert [path.name for path in folder.iterdir() if ".new-" in path.name] == []


def test_without_npm_that_is_the_reason(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in peers.pins().items():
        (peers.packages() / f"{name.replace('-', '_')}-{version}.dist-info").mkdir(parents=True)
    monkeypatch.setenv("PATH", programs(folder / "tools"))

    assert peers.install() == [f"{' '.join(peers.GEMINI)}: there is no npm"]


def test_package_of_npm_appears_when_it_is_complete(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in peers.pins().items():
        (peers.packages() / f"{name.replace('-', '_')}-{version}.dist-info").mkdir(parents=True)
    script = 'mkdir -p "$3/node_modules/@google/gemini-cli/bundle"'
    path = os.pathsep.join((programs(folder / "tools", npm=script, node="exit 0"), os.defpath))
    monkeypatch.setenv("PATH", path)

    assert peers.install() == []
    assert peers.gemini() is not None


@pytest.mark.usefixtures("folder")
def test_rows_of_what_is_not_installed_say_so() -> None:
    with stage.stage() as here:
        made, missing = bench_runners.others(here)

    assert made == {}
    assert missing == dict.fromkeys(bench_runners.NAMES.values(), peers.ABSENT)


@pytest.mark.usefixtures("folder")
def test_peer_that_does_not_run_here_says_how_it_ended() -> None:
    (peers.packages() / f"nah-{peers.pins()['nah']}.dist-info").mkdir(parents=True)
    programs(peers.program("nah").parent, nah="exit 9")
    with stage.stage() as here:
        made, missing = bench_runners.others(here)

    assert made == {}
    assert missing[bench_runners.NAMES["nah"]] == "does not run here: it ends with 9"


def test_gemini_is_left_out_where_it_is_not_installed(folder: Path) -> None:
    async def look() -> object:
        async with bench_command.gemini(folder, "/bin/true") as run:
            return run

    assert asyncio.run(look()) is None


def test_runner_in_another_process_times_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # stands in for node: says it is ready, and then the same time for each line
    bundle = folder / f"gemini-cli-{peers.GEMINI[1]}" / "node_modules" / peers.GEMINI[0] / "bundle"
    bundle.mkdir(parents=True)
    script = f"exec {sys.executable} -c 'import sys\nprint(\"ready\", flush=True)\nfor _ in sys.stdin: print(2.5, flush=True)'"
    monkeypatch.setenv("PATH", programs(folder / "tools", node=script))

    async def run() -> list[float]:
        async with bench_command.gemini(folder, "/bin/true") as once:
            assert once is not None
            return [await once() for _ in range(3)]

    assert asyncio.run(run()) == [0.0025] * 3
