"""Exit code 2 where nothing can be denied any more: the hook failed."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

EXIT_2 = 'run = ["sh", "-c", "echo bad file >&2; exit 2"]'


@pytest.mark.parametrize(
    "lines",
    ['on = "file_edited"', 'on = "session_end"', 'on = "notification"', 'on = "before_tool"\nbackground = true'],
)
def test_exit_code_2_is_a_failure_where_the_event_cannot_be_blocked(tmp_path: Path, lines: str) -> None:
    home = tmp_path / "home"
    configure(home, f'[[hook]]\nname = "h"\n{lines}\n{EXIT_2}\n')
    event = lines.partition('"')[2].partition('"')[0]
    words = ("--tool", "shell") if event == "before_tool" else ("--data", '{"path": "a"}')

    done = hookline(home, "emit", event, *words, HOOKLINE_WORKER="off")
    hookline(home, "queue", "work", "--once", HOOKLINE_WORKER="off")

    assert done.returncode == 0
    (row,) = json.loads(hookline(home, "stats", "--json").stdout)["hooks"]
    assert (row["failures"], row["denials"]) == ({"exit_code": 1}, 0)
    assert "ended with exit code 2: bad file" in hookline(home, "trace", "show", "last").stdout


def test_exit_code_2_still_denies_where_the_event_can_be_blocked(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, f'[[hook]]\nname = "h"\non = "before_tool"\n{EXIT_2}\n')

    done = hookline(home, "emit", "before_tool", "--tool", "shell")

    assert (done.returncode, done.stderr) == (2, "bad file\n")
