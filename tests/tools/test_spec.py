import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import spec

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent

PROMISES = """
X-01 = { due = true, text = "One." }
X-02 = { due = true, text = "Two." }
X-03 = { text = "Three." }
X-04 = { due = true, text = "Four." }
"""

SAMPLE = """
import pytest

@pytest.fixture
def broken_at_the_end():
    yield
    raise RuntimeError

@pytest.mark.spec("X-01")
@pytest.mark.parametrize("n", [1, 2])
def test_two_runs(n): pass

@pytest.mark.spec("X-01", "X-02")
def test_fails(): assert False

@pytest.mark.spec("X-02")
def test_falls_over_when_torn_down(broken_at_the_end): pass

class TestGroup:
    pytestmark = pytest.mark.spec("X-03")

    @pytest.mark.spec("X-04")
    def test_skipped(self): pytest.skip("no such program")

    @pytest.mark.xfail
    def test_expected_to_fail(self): assert False

def test_cites_nothing(): pass
"""


def _project(folder: Path, test: str) -> Path:
    (folder / "spec").mkdir()
    (folder / "spec" / "promises.toml").write_text(PROMISES, "utf-8")
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "tests")
    (folder / "tests" / "test_sample.py").write_text(test, "utf-8")
    (folder / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tests\nmarkers = spec: promises\naddopts = -p no:cacheprovider\n", "utf-8"
    )
    return folder


def _pytest(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--spec-results=.spec.json", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def _spec(folder: Path, *args: str) -> int:
    return spec.main(
        ["--promises", str(folder / "spec" / "promises.toml"), "--results", str(folder / ".spec.json"), *args]
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_results_say_how_every_citing_test_ended(tmp_path: Path, workers: tuple[str, ...]) -> None:
    _pytest(_project(tmp_path, SAMPLE), *workers)

    results = json.loads((tmp_path / ".spec.json").read_text("utf-8"))
    assert results["exit_status"] == 1
    assert {name.rpartition("::")[2]: test for name, test in results["tests"].items()} == {
        "test_two_runs[1]": {"promises": ["X-01"], "outcome": "passed"},
        "test_two_runs[2]": {"promises": ["X-01"], "outcome": "passed"},
        "test_fails": {"promises": ["X-01", "X-02"], "outcome": "failed"},
        "test_falls_over_when_torn_down": {"promises": ["X-02"], "outcome": "failed"},
        "test_skipped": {"promises": ["X-03", "X-04"], "outcome": "skipped"},
        "test_expected_to_fail": {"promises": ["X-03"], "outcome": "skipped"},
    }


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "two workers"])
def test_citing_what_nobody_promised_is_an_error(tmp_path: Path, workers: tuple[str, ...]) -> None:
    sample = 'import pytest\n\n@pytest.mark.spec("X-01", "X-99")\ndef test_typo(): pass\n'

    done = _pytest(_project(tmp_path, sample), *workers)

    assert done.returncode != 0
    assert "test_typo cites X-99, not in spec/promises.toml" in done.stdout


def test_citing_nothing_at_all_is_an_error(tmp_path: Path) -> None:
    done = _pytest(_project(tmp_path, "import pytest\n\n@pytest.mark.spec\ndef test_empty(): pass\n"))

    assert done.returncode != 0
    assert "test_empty: write @pytest.mark.spec" in done.stdout


def test_run_that_does_not_ask_for_results_leaves_none(tmp_path: Path) -> None:
    folder = _project(tmp_path, "def test_a(): pass\n")

    subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=folder, capture_output=True, timeout=120, check=True)

    assert not (folder / ".spec.json").exists()


def _write_results(folder: Path, *tests: tuple[str, str]) -> None:
    (folder / "spec").mkdir()
    (folder / "spec" / "promises.toml").write_text(PROMISES, "utf-8")
    document = {
        "exit_status": 0,
        "tests": {f"t{n}": {"promises": [name], "outcome": outcome} for n, (name, outcome) in enumerate(tests)},
    }
    (folder / ".spec.json").write_text(json.dumps(document), "utf-8")


def test_all_due_promises_kept_is_a_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_results(tmp_path, ("X-01", "passed"), ("X-02", "passed"), ("X-02", "skipped"), ("X-04", "passed"))

    assert _spec(tmp_path) == 0
    text = capsys.readouterr().out
    assert "3 of 3 due promises kept, 4 promises listed" in text
    assert "without a test: X-03" in text


@pytest.mark.parametrize(
    ("last", "state"),
    [(("X-03", "passed"), "NO TEST"), (("X-04", "failed"), "FAILING"), (("X-04", "skipped"), "ONLY SKIPPED")],
)
def test_due_promise_without_a_passing_test_fails_loudly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], last: tuple[str, str], state: str
) -> None:
    _write_results(tmp_path, ("X-01", "passed"), ("X-02", "passed"), last)

    assert _spec(tmp_path) == 1
    assert f"DUE, BUT {state}: X-04 Four." in capsys.readouterr().out


def test_json_gives_one_object_for_each_due_promise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_results(tmp_path, ("X-01", "passed"), ("X-01", "failed"), ("X-02", "skipped"))

    assert _spec(tmp_path, "--json", "--due") == 1
    assert json.loads(capsys.readouterr().out) == [
        {"id": "X-01", "text": "One.", "due": True, "passed": 1, "failed": 1, "skipped": 0},
        {"id": "X-02", "text": "Two.", "due": True, "passed": 0, "failed": 0, "skipped": 1},
        {"id": "X-04", "text": "Four.", "due": True, "passed": 0, "failed": 0, "skipped": 0},
    ]


def test_missing_or_broken_results_say_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_results(tmp_path)
    (tmp_path / ".spec.json").write_text("{", "utf-8")
    broken = _spec(tmp_path)
    (tmp_path / ".spec.json").unlink()

    assert (broken, _spec(tmp_path)) == (1, 1)
    assert capsys.readouterr().err.count("run `make test` first") == 2


def test_promise_with_a_misspelt_field_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_results(tmp_path)
    (tmp_path / "spec" / "promises.toml").write_text('X-01 = { text = "One.", deu = true }\n', "utf-8")

    assert _spec(tmp_path) == 1
    assert "deu" in capsys.readouterr().err
