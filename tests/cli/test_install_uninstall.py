"""`hookline uninstall` as a person calls it."""

import json
import subprocess
from pathlib import Path

import pytest

from hookline.hosts import HOSTS
from hookline.hosts.host import Scope
from tests.cli.program import configure, environment, hookline
from tests.hosts.settings import tree


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", "")
    return tmp_path / "home"


def git(home: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", *words],
        cwd=home.parent / "project",
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def settings(home: Path) -> dict[str, bytes | str]:
    return {path: raw for path, raw in tree(home).items() if "/.local" not in path}


def test_all_agents_in_all_scopes_leave_nothing_behind(home: Path) -> None:
    project = home.parent / "project"
    before = settings(home)
    for scope in Scope:
        named = [name for name, host in HOSTS.items() if scope in host.files]
        assert hookline(home, "install", *named, "--scope", scope, "--events", "before_tool").returncode == 0
    between = settings(home)

    done = hookline(home, "uninstall", "--all")

    assert done.returncode == 0, done.stderr
    assert between != before
    assert settings(home) == before
    assert tree(project) == {}


@pytest.mark.parametrize("name", HOSTS)
def test_a_repository_is_as_it_was(name: str, home: Path) -> None:
    project = home.parent / "project"
    git(home, "init", "--quiet")
    host = HOSTS[name]
    path = project / host.files[Scope.PROJECT]
    if not host.files[Scope.PROJECT].endswith(("/", ".js")):
        path.parent.mkdir(parents=True)
        path.write_text('{\n    "description": "dark"   }')
    (project / "README").write_text("hello\n")
    git(home, "add", "--all")
    git(home, "commit", "--quiet", "--message", "all")
    hookline(home, "install", name, "--scope", "project", "--events", "before_tool")
    between = git(home, "status", "--porcelain")

    done = hookline(home, "uninstall", name, "--scope", "project")

    assert done.returncode == 0
    assert between
    assert (git(home, "status", "--porcelain"), git(home, "diff")) == ("", "")


def test_json_says_what_became_of_each_file(home: Path) -> None:
    hookline(home, "install", "claude")

    said = json.loads(hookline(home, "uninstall", "claude", "--json").stdout)

    assert said["changed"] is True
    assert said["hosts"][0]["changes"] == [{"path": f"{home}/.claude/settings.json", "action": "remove"}]


def test_dry_run_changes_nothing(home: Path) -> None:
    hookline(home, "install", "claude")
    before = tree(home)

    done = hookline(home, "uninstall", "claude", "--dry-run")

    assert f"would remove {home}/.claude/settings.json" in done.stdout
    assert "Claude Code would not ask the hooks any more" in done.stdout
    assert tree(home) == before


def test_where_ours_are_not_other_scopes_are_named(home: Path) -> None:
    done = hookline(home, "uninstall", "claude")

    assert done.returncode == 0
    assert "Claude Code does not ask the hooks in its user settings; it also has --scope project, local" in done.stdout


@pytest.mark.parametrize(("words", "both"), [((), ""), (("claude", "--all"), ", not both")])
def test_agents_are_named_or_all_are_meant(words: tuple[str, ...], both: str, home: Path) -> None:
    done = hookline(home, "uninstall", *words)

    assert done.returncode == 1
    assert f"name the agents, or say --all{both}; " in done.stderr


def test_a_file_that_broke_meanwhile_is_an_error_and_stays(home: Path) -> None:
    hookline(home, "install", "claude")
    path = home / ".claude" / "settings.json"
    path.write_text(path.read_text()[:-10])
    before = tree(home)

    done = hookline(home, "uninstall", "claude")

    assert done.returncode == 1
    assert str(path) in done.stderr
    assert tree(home) == before
