"""A run as `make bench` starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from tests.bench import harness, page, run, stage
from tests.bench.rows import GOALS, Row, Section

pytestmark = pytest.mark.slow

ROOT = run.ROOT


def bench(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.bench.run", *words],
        cwd=ROOT,
        env={**os.environ, "BENCH_ROUNDS": "2", "HOOKLINE_BENCH": str(tmp_path / "bench"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def stored(path: Path, *sections: Section) -> page.Result:
    found = page.Result(
        machine={"cores": "2"}, rounds=100, versions={"pluggy": "1.0"}, benches={"emit": tuple(sections)}
    )
    path.write_bytes(msgspec.json.encode(found))
    return found


@pytest.mark.spec("A-26")
def test_cost_of_hooks_is_measured_and_written_down(tmp_path: Path) -> None:
    found, folder = tmp_path / "result.json", tmp_path / "page"
    done = bench(tmp_path, "emit", "--no-install", "--json", str(found), "--page", str(folder))

    assert done.returncode == 0, done.stdout + done.stderr
    result = msgspec.json.decode(found.read_bytes(), type=page.Result)
    (section,) = result.benches["emit"]
    # every row has a figure, but for the one of a library that is not installed
    assert [row.what for row in section.rows if row.value is None] == ["agent-hooks-sdk, one interceptor"]
    assert all(row.value >= 0 for row in section.rows if row.value is not None)
    assert {row.goal for row in section.rows if row.goal} == {"emit-idle", "emit-function", "trace", "trace-unasked"}
    text = (folder / "benchmarks.md").read_text("utf-8")
    assert text == page.page(result)
    assert all(row.what in text for row in section.rows)
    assert str(tmp_path) not in text
    assert ET.parse(folder / "benchmarks.svg").getroot() is not None  # noqa: S314 - our own
    assert "of 4 met" in done.stdout


def test_quick_look_writes_no_page_into_the_documents(tmp_path: Path) -> None:
    documents = ROOT / "docs" / "benchmarks.md"
    before = documents.read_bytes() if documents.exists() else None
    done = bench(tmp_path, "load", "--no-install")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "No page is written" in done.stdout
    assert (documents.read_bytes() if documents.exists() else None) == before
    assert not (tmp_path / "bench").exists()


def test_name_of_no_benchmark_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    done = bench(tmp_path, "emmit")

    assert done.returncode == 2
    assert "there is no benchmark 'emmit'; there are bridge, command, emit" in done.stderr


def test_older_result_gives_the_same_page_and_plot_again(tmp_path: Path) -> None:
    rows = (Row(what="ours", value=2.0, floor=1.0, against="floor", who="ours", goal="emit-idle"),)
    result = stored(tmp_path / "r.json", Section(title="t", about="a", rows=rows, is_drawn=True))
    words = ["--from", str(tmp_path / "r.json"), "--page"]

    assert run.main([*words, str(tmp_path / "one")]) == 0
    assert run.main([*words, str(tmp_path / "two")]) == 0
    for name in ("benchmarks.md", "benchmarks.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one" / "benchmarks.md").read_text("utf-8") == page.page(result)


def test_missed_goal_is_an_error_only_when_that_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (Row(what="ours", value=2.0, floor=1.0, goal="emit-idle"),)
    stored(tmp_path / "r.json", Section(title="t", about="a", rows=rows))
    words = ["--from", str(tmp_path / "r.json")]

    assert run.main(words) == 0
    assert "MISSED" in capsys.readouterr().out
    assert run.main([*words, "--strict"]) == 1


def test_wrong_answer_is_an_error_of_the_run(tmp_path: Path) -> None:
    rows = (Row(what="ours", goal="emit-idle", missing=stage.WRONG),)
    stored(tmp_path / "r.json", Section(title="t", about="a", rows=rows))

    assert run.main(["--from", str(tmp_path / "r.json")]) == 1


def test_benchmark_that_fails_misses_its_goals_and_ends_the_run_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # the interpreter that cannot start anything stands for a benchmark that falls over
    monkeypatch.setattr(sys, "executable", "/bin/false")
    found = tmp_path / "r.json"

    assert run.main(["emit", "--no-install", "--json", str(found)]) == 1
    assert capsys.readouterr().out.count("failed  MISSED") == sum(goal.bench == "emit" for goal in GOALS)
    assert "failed with 1" in json.loads(found.read_bytes())["benches"]["emit"][0]["about"]


def test_benchmark_that_is_ended_clears_its_stage_away() -> None:
    text = """
import time
from tests.bench import harness, stage

async def measure():
    with stage.stage() as here:
        print(here.folder, flush=True)
        time.sleep(60)

harness.main(measure)
"""
    child = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        assert folder.is_dir()
        child.terminate()

        assert child.wait(timeout=60) == harness.TERMINATED
        assert not folder.exists()
    finally:
        child.kill()
        child.communicate()
