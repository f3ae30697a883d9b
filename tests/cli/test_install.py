"""`hookline install` as a person calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from tests.cli.program import configure, environment, hookline
from tests.hosts.settings import tree

GUARD = '[[hook]]\nname = "guard"\non = "before_tool"\nrun = "/bin/true"\non_error = "block"\n'
WATCHER = '[[hook]]\nname = "watcher"\non = "before_tool"\nrun = "/bin/true"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", WATCHER)
    return tmp_path / "home"


def settings(home: Path) -> Path:
    return home / ".claude" / "settings.json"


def commands(home: Path) -> list[str]:
    hooks = json.loads(settings(home).read_text())["hooks"]
    return [handler["command"] for groups in hooks.values() for group in groups for handler in group["hooks"]]


def test_the_agent_asks_this_python_afterwards(home: Path) -> None:
    done = hookline(home, "install", "claude")

    assert (done.returncode, done.stderr) == (0, "")
    assert f"make {settings(home)}" in done.stdout
    assert "Claude Code asks the hooks at " in done.stdout
    assert " events, and not at " in done.stdout
    assert "MessageDisplay" not in done.stdout
    assert "take it back: hookline uninstall claude-code\n" in done.stdout
    assert {sys.executable in command for command in commands(home)} == {True}


def test_what_is_installed_is_named_in_full_when_somebody_wants_to_know(home: Path) -> None:
    done = hookline(home, "install", "claude", "--verbose", "--dry-run")

    assert "Claude Code would ask the hooks at " in done.stdout
    assert ", PreToolUse, " in done.stdout
    assert (
        "  not at MessageDisplay: for every piece of text that is shown; --events +MessageDisplay adds it\n"
        in done.stdout
    )


def test_a_hook_that_waits_for_an_event_that_is_left_out_is_named(tmp_path: Path) -> None:
    configure(tmp_path / "home", '[[hook]]\nname = "words"\non = "after_model"\nrun = "/bin/true"\n')
    said = '"words" waits for AfterModel, which is left out; --events +AfterModel adds it'

    usual = hookline(tmp_path / "home", "install", "gemini", "--dry-run")
    told = hookline(tmp_path / "home", "install", "gemini", "--dry-run", "--json")
    added = hookline(tmp_path / "home", "install", "gemini", "--dry-run", "--events", "+AfterModel")

    assert f"  note: {said}\n" in usual.stdout
    assert said in json.loads(told.stdout)["hosts"][0]["notes"]
    assert "left out" not in added.stdout


@pytest.mark.parametrize(
    ("hooks", "arguments", "policy"),
    [
        (WATCHER, (), "allow"),
        (GUARD, (), "block"),
        (GUARD, ("--if-broken", "allow"), "allow"),
        (WATCHER, ("--if-broken", "block"), "block"),
        (GUARD + "enabled = false\n", (), "allow"),
    ],
)
def test_what_happens_when_we_are_broken_follows_the_hooks_unless_it_is_said(
    hooks: str, arguments: tuple[str, ...], policy: str, tmp_path: Path
) -> None:
    configure(tmp_path / "home", hooks)

    done = hookline(tmp_path / "home", "install", "claude", *arguments)

    assert f"if hookline itself cannot answer: {policy} (" in done.stdout
    assert {f"--if-broken {policy} " in command for command in commands(tmp_path / "home")} == {True}


def test_without_a_name_nothing_is_installed(home: Path) -> None:
    (home / ".gemini").mkdir()
    before = tree(home)

    done = hookline(home, "install", PATH="/nowhere")

    assert done.returncode == 0
    assert "found here: Gemini CLI; nothing was changed" in done.stdout
    assert "hookline install gemini-cli" in done.stdout
    assert tree(home) == before


def test_without_a_name_and_without_an_agent_the_known_ones_are_named(home: Path) -> None:
    done = hookline(home, "install", PATH="/nowhere")

    assert "no agent was found here; known are claude-code, " in done.stdout


def test_an_unknown_agent_gets_the_nearest_and_nothing_is_written(home: Path) -> None:
    before = tree(home)

    done = hookline(home, "install", "gemini", "cladue-code")

    assert (done.returncode, done.stdout) == (1, "")
    assert 'there is no agent "cladue-code" (did you mean "claude-code"?)' in done.stderr
    assert tree(home) == before


def test_dry_run_writes_nothing(home: Path) -> None:
    before = tree(home)

    done = hookline(home, "install", "claude", "codex", "--dry-run")

    assert done.returncode == 0
    assert f"would make {settings(home)}\n" in done.stdout
    assert done.stdout.endswith("nothing was written\n")
    assert tree(home) == before


def test_of_several_all_are_written_or_none(home: Path) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text('{"hooks": ')
    hookline(home, "list")  # records the hooks that are known
    before = tree(home)

    done = hookline(home, "install", "claude", "gemini")

    assert (done.returncode, done.stdout) == (1, "")
    assert f"{home}/.gemini/settings.json:1: " in done.stderr
    assert tree(home) == before


def test_json_says_everything(home: Path) -> None:
    done = hookline(home, "install", "codex", "claude-code", "codex-cli", "--json")
    said = json.loads(done.stdout)

    assert {key: said[key] for key in ("changed", "dry_run", "undo")} == {"changed": True, "dry_run": False, "undo": 1}
    assert [host["host"] for host in said["hosts"]] == ["codex-cli", "claude-code"]
    assert sorted(said["hosts"][0]) == [
        "changes",
        "events",
        "files",
        "host",
        "if_broken",
        "left_out",
        "notes",
        "problems",
        "scope",
        "urls",
    ]
    assert said["hosts"][0]["changes"] == [
        {"path": f"{home}/.codex/hooks.json", "action": "make"},
        {"path": f"{home}/.codex/config.toml", "action": "make"},
    ]


def test_again_changes_nothing_and_says_so(home: Path) -> None:
    hookline(home, "install", "claude")
    before = tree(home)

    done = hookline(home, "install", "claude")

    assert "Claude Code already asks the hooks at " in done.stdout
    assert tree(home) == before


@pytest.mark.parametrize(
    ("words", "events"),
    [
        ("PreToolUse", ["PreToolUse"]),
        ("after_agent,before_tool", ["PreToolUse", "Stop"]),
        ("Stop, PreToolUse", ["PreToolUse", "Stop"]),
        ("+PostToolBatch", [*HOSTS["claude-code"].usual_events, "PostToolBatch"]),
        ("all", list(HOSTS["claude-code"].events)),
    ],
)
def test_events_can_be_chosen(words: str, events: list[str], home: Path) -> None:
    done = hookline(home, "install", "claude", "--events", words)

    assert done.returncode == 0, done.stderr
    assert sorted(json.loads(settings(home).read_text())["hooks"]) == sorted(events)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("PreTolUse", '(did you mean "PreToolUse"?)'),
        (",", "--events names no event"),
        ("WorktreeCreate", 'Claude Code has no event "WorktreeCreate"'),
    ],
)
def test_an_unknown_event_is_an_error_that_helps(words: str, said: str, home: Path) -> None:
    done = hookline(home, "install", "claude", "--events", words)

    assert done.returncode == 1
    assert said in done.stderr
    assert not settings(home).exists()


def test_a_project_shares_what_is_written_so_the_person_is_warned(home: Path) -> None:
    done = hookline(home, "install", "claude", "--scope", "project")

    assert f"what was written names {sys.executable}, which others who share the project may not have" in done.stdout
    assert "--scope local is for you alone" in done.stdout
    assert "hookline uninstall claude-code --scope project" in done.stdout


def test_a_scope_that_an_agent_does_not_have_is_an_error(home: Path) -> None:
    done = hookline(home, "install", "codex", "--scope", "local")

    assert (done.returncode, done.stdout) == (1, "")
    assert "Codex CLI has no settings of the scope local; it has user, project" in done.stderr


def test_what_another_agent_runs_too_is_said(home: Path) -> None:
    (home / ".cursor").mkdir()

    done = hookline(home, "install", "claude", "cursor", PATH="/nowhere")

    assert "note: Cursor runs these settings too; each call is answered once all the same" in done.stdout


def test_codex_is_told_that_ours_are_approved_or_the_person_what_to_do(home: Path) -> None:
    left = hookline(home, "install", "codex", "--no-approve").stdout
    done = hookline(home, "install", "codex").stdout

    assert "does not run ours in" in left
    assert "before you approve them there: /hooks" in left
    assert "does not run ours in" not in done


def test_a_home_inside_the_project_is_not_used_without_a_word(tmp_path: Path) -> None:
    home = tmp_path / "project" / "home"
    home.mkdir(parents=True)

    done = subprocess.run(
        [sys.executable, "-m", "hookline", "install", "claude", "--dry-run"],
        cwd=tmp_path / "project",
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert "HOME points into this workspace" in done.stderr


@pytest.mark.slow
def test_installations_at_the_same_time_do_not_lose_each_other(home: Path) -> None:
    hosts = ["claude", "gemini", "codex", "cursor", "claude", "qwen", "droid", "claude"]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "hookline", "install", host],
            cwd=home.parent / "project",
            env=environment(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for host in hosts
    ]

    ended = [process.communicate(timeout=120) for process in running]

    assert [process.returncode for process in running] == [0] * len(hosts), ended
    said = json.loads(hookline(home, "hosts", "--json").stdout)
    installed = {host["host"]: len(host["events"]) for host in said if host["installed"]}
    assert installed == {
        name: len(HOSTS[name].usual_events)
        for name in ("claude-code", "codex-cli", "gemini-cli", "qwen-code", "cursor", "factory-droid")
    }


def test_undo_takes_an_installation_back(home: Path) -> None:
    settings(home).parent.mkdir()
    settings(home).write_text('{"model": "x"}\n')
    hookline(home, "install", "claude")

    done = hookline(home, "undo")

    assert done.returncode == 0
    assert settings(home).read_text() == '{"model": "x"}\n'


def test_who_has_no_hooks_yet_is_told_how_to_begin(tmp_path: Path) -> None:
    configure(tmp_path / "home", "")

    done = hookline(tmp_path / "home", "install", "claude", "--dry-run")

    assert "there is no hook yet that could be asked: `hookline init` makes a first one\n" in done.stdout


def test_settings_that_cannot_be_read_are_left_alone_and_the_person_is_told_what_to_do(tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"hooks": ')
    (tmp_path / "project").mkdir()

    done = hookline(tmp_path / "home", "install", "gemini", "claude")

    assert done.returncode == 1
    assert f"{settings}:" in done.stderr
    assert "mend it first, nothing was changed" in done.stderr
    assert settings.read_text() == '{"hooks": '
    assert not (tmp_path / "home" / ".gemini" / "settings.json").exists()


@pytest.mark.parametrize("words", [["install", "claude"], ["uninstall", "claude"], ["install", "--all"]])
def test_another_home_than_the_one_that_was_named_is_never_written_to(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert "nothing was changed; run this in another folder" in done.stderr
    assert done.stdout == ""
