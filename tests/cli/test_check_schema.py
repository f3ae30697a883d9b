import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hookline.cli.main import main
from hookline.config.schemas import ALL


def run(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    command = [sys.executable, "-m", "hookline", "schema", *args]
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", sorted(ALL))
def test_schema_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", name]) == 0

    Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


def test_formats_are_listed_without_a_name(tmp_path: Path) -> None:
    plain = run(cwd=tmp_path)
    listed = run("--list", "--json", cwd=tmp_path)

    assert (plain.returncode, listed.returncode) == (0, 0)
    assert [row["name"] for row in json.loads(listed.stdout)] == [*ALL, "event", "answer"]
    assert all(name in plain.stdout for name in ALL)


def test_schema_is_written_to_a_file(tmp_path: Path) -> None:
    done = run("native", "--output", "hookline.schema.json", cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "wrote hookline.schema.json\n", "")
    assert (tmp_path / "hookline.schema.json").read_text() == run("native", cwd=tmp_path).stdout
    told = run("native", "--output", "again.json", "--json", cwd=tmp_path)
    assert json.loads(told.stdout) == {"written": "again.json"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nativ"], 'there is no format "nativ" (did you mean "native"?); known are native, '),
        (["native", "--output", "nowhere/x.json"], "nowhere/x.json cannot be written: No such file or directory"),
        (["--output", "x.json"], "--output: name the format to write"),
    ],
)
def test_what_cannot_be_done_is_said(args: list[str], message: str, tmp_path: Path) -> None:
    done = run(*args, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("U-19")
@pytest.mark.parametrize("kind", ["event", "answer"])
@pytest.mark.parametrize("name", ["before_tool", "PreToolUse", "Stop"])
def test_schema_of_an_event_and_its_answer_is_printed(kind: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["--dialect", "claude-code"], ["--dialect", "codex"]):
        assert main(["schema", kind, name, *more]) == 0
        Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


@pytest.mark.spec("U-19")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["event", "befor_tool"], '(did you mean "before_tool"?)'),
        (["event", "before_tool", "--dialect", "claud-code"], '(did you mean "claude-code"?)'),
        (["event", "before_model", "--dialect", "claude-code"], "Claude Code has no event before_model"),
        (["event"], "name the event"),
        (["evnt", "before_tool"], '(did you mean "event"?)'),
        (["native", "before_tool"], "go with `hookline schema event`"),
    ],
)
def test_unknown_event_or_dialect_is_an_error_with_the_nearest_name(
    words: list[str], message: str, tmp_path: Path
) -> None:
    done = run(*words, cwd=tmp_path)

    assert done.returncode == 1
    assert message in done.stderr
