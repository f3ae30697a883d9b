import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.cli._output import Table, TextStyle, print_fields, print_line, print_table, set_color
from tests.cli.program import configure, environment, hookline
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

CONFIG = """
[[hook]]
name = "guard"
on = "before_tool"
runs = ["git push"]
deny = "ask first"

[[hook]]
name = "gone"
on = "after_tool"
run = "/no/such/program"
"""
SGR = re.compile(r"\x1b\[[0-9;]*m")
COMMANDS = (
    ("list",),
    ("check",),
    ("why", "guard"),
    ("show", "guard"),
    ("test", "guard", "--tool", "shell", "--args", '{"command": "git push"}'),
    ("trace", "list", "--absolute"),
    ("trace", "show", "last"),
    ("stats",),
    ("hosts",),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG)
    hookline(tmp_path / "home", "emit", "before_tool", "--tool", "shell", "--args", '{"command": "git push"}')
    return tmp_path / "home"


def at_terminal(home: Path, *words: str, **env: str) -> str:
    """Run the program with stdout at a pseudo-terminal that is wide enough for every table."""
    master, slave = pty.openpty()
    variables = {"TERM": "xterm", "COLUMNS": "400", **env}
    done = subprocess.Popen(
        [sys.executable, "-m", "hookline", *words],
        cwd=home.parent / "project",
        env=environment(home, **variables),
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=subprocess.DEVNULL,
    )
    os.close(slave)
    raw = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        raw += piece
    done.wait(PATIENCE)
    os.close(master)
    return raw.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_colours_change_nothing_but_colours(home: Path, words: tuple[str, ...]) -> None:
    plain, coloured = hookline(home, *words), hookline(home, *words, "--color", "always")

    assert "\x1b" not in plain.stdout
    assert SGR.search(coloured.stdout)
    # how long something took or is ago differs from run to run
    number = re.compile(r"[0-9.]+ (?:µs|ms|s)\b *")
    assert number.sub("N ", SGR.sub("", coloured.stdout)) == number.sub("N ", plain.stdout)
    assert "\x1b" not in hookline(home, *words, "--color", "always", "--json").stdout


def test_terminal_gets_colours_unless_the_user_or_the_terminal_wants_none(home: Path) -> None:
    assert "\x1b[31mdeny\x1b[0m" in at_terminal(home, "trace", "list")
    assert "\x1b" not in at_terminal(home, "trace", "list", NO_COLOR="1")
    assert "\x1b" not in at_terminal(home, "trace", "list", TERM="dumb")
    assert "\x1b" not in at_terminal(home, "trace", "list", "--color", "never", FORCE_COLOR="1")
    assert "\x1b[31mdeny" in at_terminal(home, "trace", "list", "--color", "always", NO_COLOR="1")


@pytest.mark.parametrize("name", ["FORCE_COLOR", "CLICOLOR_FORCE"])
def test_pipe_gets_colours_only_on_demand(home: Path, name: str) -> None:
    assert "\x1b[1mguard\x1b[0m" in hookline(home, "list", **{name: "1"}).stdout
    assert "\x1b" not in hookline(home, "list", **{name: "0"}).stdout
    assert "\x1b" not in hookline(home, "list", **{name: "1"}, NO_COLOR="1").stdout


def test_unknown_choice_is_refused(home: Path) -> None:
    assert "invalid choice: 'sometimes'" in hookline(home, "list", "--color", "sometimes").stderr


@pytest.mark.spec("P-19")
def test_no_escape_sequence_of_others_gets_through_with_colours(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\x1b[32mok password=hunter2"
    set_color("always")
    try:
        print_line(f"hook {hostile} ran", marks=[(hostile, TextStyle.BAD), ("ran", TextStyle.GOOD)])
        print_line("password=hunter2", marks=[("password=", TextStyle.DIM), ("hunter2", TextStyle.BAD)])
        print_table(Table(["hook"], [[hostile]], {"hook": TextStyle.BOLD}))
        print_fields([("label", hostile)], styles={"label": TextStyle.BAD})
    finally:
        set_color("auto")

    shown = capsys.readouterr().out
    assert "hunter2" not in shown
    assert "\x1b" not in SGR.sub("", shown)
    assert set(SGR.findall(shown)) <= {f"\x1b[{number}m" for number in (0, 1, 2, 31, 32)}
    assert r"\x1b[2J\x1b[32mok" in shown


def test_lists_are_sorted_and_cut(home: Path) -> None:
    def ids(*words: str) -> list[str]:
        lines = hookline(home, "list", *words).stdout.splitlines()[2:]
        return [name for line in lines for name in ("guard", "gone") if f"  {name}  " in line]

    assert ids() == ["guard", "gone"]
    assert ids("--sort", "name") == ["gone", "guard"]
    assert ids("--sort", "name", "--top", "1") == ["gone"]
    assert ids("--sort", "runs", "--top", "1") == ["guard"]
    assert ids("--sort", "last", "--top", "1") == ["guard"]
    assert '"0" is no whole number above 0' in hookline(home, "list", "--top", "0").stderr
    hosts = hookline(home, "hosts", "--sort", "name", "--top", "2").stdout.splitlines()
    assert [line.split()[-1] for line in hosts[2:4]] == ["antigravity", "claude-code"]


def test_times_in_lists_are_relative_unless_the_clock_is_wanted(home: Path) -> None:
    assert re.search(r"^(\d+ seconds? ago|just now) ", hookline(home, "trace", "list").stdout, re.MULTILINE)
    assert re.search(r"^\d{4}-\d\d-\d\d \d\d:", hookline(home, "trace", "list", "--absolute").stdout, re.MULTILINE)
