"""`hookline install --http`, as a person runs it: what is written, what is said about it, and how it is taken back."""

import json
import stat
from pathlib import Path

import pytest

from hookline.hosts.command_line import find_launcher
from tests.cli.program import configure, hookline

pytestmark = pytest.mark.slow

GUARD = '[[hook]]\nname = "guard"\non = "before_tool"\nrun = "python3 guard.py"\non_error = "block"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Give a home folder with a hook, and no launcher or daemon of anybody else."""
    made = tmp_path / "home"
    configure(made, GUARD)
    (made / ".claude").mkdir()
    return made


def settings(home: Path) -> Path:
    return home / ".claude" / "settings.json"


def address(home: Path) -> Path:
    return home / ".local" / "share" / "hookline" / "http.json"


def kinds(home: Path) -> dict[str, str]:
    hooks = json.loads(settings(home).read_text())["hooks"]
    return {event: groups[0]["hooks"][0]["type"] for event, groups in hooks.items()}


def test_there_is_a_launcher_to_wake_the_daemon_with() -> None:
    import sys  # noqa: PLC0415 - the one that the tests run with

    assert find_launcher(sys.executable)


def test_it_says_which_events_are_called_by_url_and_that_a_token_was_written(home: Path) -> None:
    done = hookline(home, "install", "claude-code", "--http", HOOKLINE_DAEMON="on")

    assert done.returncode == 0, done.stderr
    assert "note: by URL: SessionEnd, PostToolUse" in done.stdout
    assert "a token for it now, which others must not read" in done.stdout
    assert "as if there were no hook" not in done.stdout
    assert (kinds(home)["PostToolUse"], kinds(home)["PreToolUse"]) == ("http", "command")
    assert stat.S_IMODE(address(home).stat().st_mode) == 0o600
    assert json.loads(address(home).read_text())["files"] == [str(settings(home))]


def test_it_says_what_it_means_that_guards_are_called_by_url(home: Path) -> None:
    done = hookline(home, "install", "claude", "qwen", "--http-all", HOOKLINE_DAEMON="on")

    assert done.returncode == 0, done.stderr
    old, net = "versions before 2.1.295 go on at PreToolUse, PermissionRequest", "it goes on at PreToolUse"
    assert f"where no daemon answers and the policy is block, {old} as if there were no hook" in done.stdout
    assert f"where no daemon answers, {net}" in done.stdout
    assert kinds(home)["PreToolUse"] == "http"


def test_it_says_so_where_no_daemon_would_be_started(home: Path) -> None:
    done = hookline(home, "install", "claude-code", "--http", HOOKLINE_DAEMON="off")

    assert "no daemon is started from here" in done.stdout


def test_json_names_the_events(home: Path) -> None:
    done = json.loads(hookline(home, "install", "claude-code", "--http", "--json").stdout)

    assert "PostToolUse" in done["hosts"][0]["urls"]
    assert "PreToolUse" not in done["hosts"][0]["urls"]
    (file,) = [
        file
        for host in json.loads(hookline(home, "hosts", "--json").stdout)
        if host["host"] == "claude-code"
        for file in host["files"]
    ]
    assert {entry["event"]: entry["http"] for entry in file["ours"]}["PostToolUse"] is True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("claude-code", "--http", "--scope", "project"), "others who share the project settings would get your token"),
        (("claude-code", "--http-all", "--scope", "local"), "--http is for your own settings"),
        (("gemini", "--http"), "Gemini CLI cannot call a URL; claude-code and qwen-code can"),
        (("claude-code", "codex", "--http"), "Codex CLI cannot call a URL"),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(home: Path, words: tuple[str, ...], said: str) -> None:
    done = hookline(home, "install", *words)

    assert done.returncode == 1
    assert said in done.stderr
    assert not settings(home).exists()
    assert not address(home).exists()


def test_a_dry_run_chooses_nothing(home: Path) -> None:
    done = hookline(home, "install", "claude-code", "--http", "--dry-run")

    assert done.returncode == 0
    assert "nothing was written" in done.stdout
    assert not address(home).exists()


def test_installing_twice_changes_nothing_and_undo_takes_the_token_back(home: Path) -> None:
    settings(home).write_text('{ "model": "opus" }  \n')
    hookline(home, "install", "claude-code", "--http")
    before = settings(home).read_bytes(), address(home).read_bytes()

    again = hookline(home, "install", "claude-code", "--http")
    assert "already asks" in again.stdout
    assert (settings(home).read_bytes(), address(home).read_bytes()) == before

    assert hookline(home, "undo").returncode == 0
    assert settings(home).read_text() == '{ "model": "opus" }  \n'
    assert not address(home).exists()


def test_uninstalling_gives_back_every_byte_and_forgets_the_token(home: Path) -> None:
    settings(home).write_text('{\t"hooks": {} }  \n')
    hookline(home, "install", "claude-code", "--http-all")

    done = hookline(home, "uninstall", "claude-code")

    assert done.returncode == 0, done.stderr
    assert settings(home).read_text() == '{\t"hooks": {} }  \n'
    assert not address(home).exists()


def test_installing_without_it_makes_commands_of_urls(home: Path) -> None:
    hookline(home, "install", "claude-code")
    plain = settings(home).read_bytes()
    hookline(home, "install", "claude-code", "--http")
    assert settings(home).read_bytes() != plain

    hookline(home, "install", "claude-code")

    assert settings(home).read_bytes() == plain
    assert not address(home).exists()


def test_hosts_says_how_many_are_called_by_url(home: Path) -> None:
    hookline(home, "install", "claude-code", "--http")

    line = hookline(home, "hosts").stdout.splitlines()[-1]

    assert line.startswith(str(settings(home)))
    assert line.endswith(" by URL")


def test_our_urls_in_the_settings_are_no_hooks_of_the_person(home: Path) -> None:
    hookline(home, "install", "claude-code", "--http-all")

    checked = hookline(home, "check")
    listed = json.loads(hookline(home, "list", "--json").stdout)

    assert checked.returncode == 0, checked.stdout
    assert "hookline/v1" not in json.dumps(listed)


@pytest.mark.parametrize("mode", [None, 0o644, 0o600])
def test_settings_with_the_token_are_private_until_it_is_taken_out(mode: int | None, home: Path) -> None:
    if mode is not None:
        settings(home).write_text("{}")
        settings(home).chmod(mode)

    hookline(home, "install", "claude-code", "--http")
    between = settings(home).stat().st_mode & 0o777
    hookline(home, "uninstall", "claude-code")

    assert between == 0o600
    assert mode is None or settings(home).stat().st_mode & 0o777 == mode


def test_a_token_that_others_can_read_is_a_warning(home: Path) -> None:
    hookline(home, "install", "claude-code", "--http")
    settings(home).chmod(0o644)

    assert f"chmod go= {settings(home)}" in hookline(home, "hosts").stdout
