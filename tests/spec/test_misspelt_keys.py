"""A hook with a mistake in it never applies to more than was meant, and a guard is never lost to a mistake."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.cli.program import configure, hookline

BASH: Final = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
READ: Final = {"tool_name": "Read", "tool_input": {"file_path": "/p/x"}}

KEYS: Final = (
    *(
        'match = "shell"',
        'tool = "shell"',
        'matchers = ["shell"]',
        'file = "*.py"',
        'write = ["*.py"]',
        'cmd = "git push"',
    ),
    *(
        'mathcer = "shell"',
        'Tools = ["shell"]',
        'runs_on = ["x"]',
        "tools = 3",
        "matcher = [3]",
        "files = []",
        'if = ""',
    ),
    *('only = "shell"', 'condition = "true"', 'timout = "5s"', "tools = [[]]", "writes = { a = 1 }", 'matcher = "(a"'),
)
TABLES: Final = ("[[Hook]]", "[[hoook]]", "[hook]", "[[hooks]]", "[[HOOK]]", "[[guard]]", "[[rule]]", "[Hook]")


def _ask(home: Path, call: Mapping[str, object], session: str) -> str:
    said = {"session_id": session, "cwd": str(home.parent / "project"), "hook_event_name": "PreToolUse", **call}
    answered = hookline(home, "hook", "claude-code", "PreToolUse", stdin=json.dumps(said))
    assert answered.returncode == 0, answered
    own = json.loads(answered.stdout or "{}").get("hookSpecificOutput", {})
    return str(own["permissionDecisionReason"]) if own.get("permissionDecision") == "deny" else ""


@pytest.mark.spec("U-04")
@pytest.mark.parametrize("key", KEYS)
def test_a_mistake_in_a_key_never_widens_a_hook(key: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = configure(home, f'[[hook]]\nid = "x"\non = "before_tool"\n{key}\nrun = "exit 2"\nshell = true\n')

    checked = hookline(home, "check")
    line = 1 if key == 'matcher = "(a"' else 4
    assert (checked.returncode, f"{folder}/hookline.toml:{line}: error: " in checked.stdout) == (1, True), checked
    assert (_ask(home, BASH, "a"), _ask(home, READ, "b")) == ("", "")


@pytest.mark.spec("U-04")
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("guard", ['deny = "no"', 'run = "true"\non_error = "block"'])
def test_a_guard_with_a_mistake_in_a_key_blocks_and_says_where(guard: str, key: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = configure(home, f'[[hook]]\nid = "x"\non = "before_tool"\n{key}\n{guard}\n')

    reason = _ask(home, BASH, "a")
    assert f"{folder}/hookline.toml:" in reason, reason
    assert "`hookline check`" in reason, reason


@pytest.mark.spec("U-04")
@pytest.mark.parametrize("table", TABLES)
def test_a_guard_in_a_table_of_another_name_blocks_what_it_is_about(table: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = configure(home, f'{table}\nid = "x"\non = "PreToolUse"\ntools = ["Bash"]\ndeny = "no"\n')

    assert hookline(home, "check").returncode == 1
    reason = _ask(home, BASH, "a")
    assert f"{folder}/hookline.toml:1" in reason, reason
    assert _ask(home, READ, "b") == ""


@pytest.mark.spec("U-04")
@pytest.mark.parametrize("table", TABLES)
def test_a_hook_in_a_table_of_another_name_that_is_no_guard_stops_nothing(table: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, f'{table}\non = "PreToolUse"\ntell = "hello"\n\n[[hook]]\ntools = ["WebFetch"]\ndeny = "no"\n')
    if table == "[hook]":
        configure(home, f'{table}\non = "PreToolUse"\ntell = "hello"\n')

    assert hookline(home, "check").returncode == 1
    assert (_ask(home, BASH, "a"), _ask(home, READ, "b")) == ("", "")


@pytest.mark.spec("U-04")
def test_a_mistake_in_one_hook_leaves_the_guards_beside_it_as_they_are(tmp_path: Path) -> None:
    home = tmp_path / "home"
    rules = '[[hook]]\non = "before_tool"\nmatch = "x"\ntell = "y"\n\n[[hook]]\ntools = ["Bash"]\ndeny = "no shell"\n'
    configure(home, rules)

    assert (_ask(home, BASH, "a"), _ask(home, READ, "b")) == ("no shell", "")


@pytest.mark.spec("U-04")
def test_a_guard_of_a_project_that_nobody_approved_stops_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    (tmp_path / "project" / "hookline.toml").write_text('[[hook]]\non = "before_tool"\nmatch = "x"\ndeny = "no"\n')

    assert _ask(home, BASH, "a") == ""


@pytest.mark.spec("U-01", "U-04")
@pytest.mark.parametrize(
    ("line", "near"),
    [('tools = ["Bsah"]', "Bash"), ('tools = ["Bash", "Wirte"]', "Write"), ('matcher = "shel"', "shell")],
)
def test_a_guard_for_a_tool_that_does_not_exist_blocks_and_names_the_nearest(
    line: str, near: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    folder = configure(home, f'[[hook]]\nid = "x"\non = "before_tool"\n{line}\ndeny = "no"\n')

    assert f"{folder}/hookline.toml:4: error: there is no tool" in hookline(home, "check").stdout
    assert f'did you mean "{near}"?' in _ask(home, READ, "b")


@pytest.mark.spec("U-01", "U-04")
@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ('matcher = "Bash(git push:*)"', 'tools = ["Bash"] and runs = ["git push"]'),
        ('tools = ["Bash(rm -rf *)", "Write"]', 'tools = ["Bash"] and runs = ["rm -rf"]'),
        ('matcher = "run_shell_command(npm publish)"', 'tools = ["run_shell_command"] and runs = ["npm publish"]'),
        ('matcher = "Edit(.env)"', 'tools = ["Edit"] and writes = [".env"]'),
        ('matcher = "Read(./secrets/**)"', 'tools = ["Read"] and reads = ["./secrets/**"]'),
        ('matcher = "WebFetch(domain:example.com)"', 'tools = ["WebFetch"] and urls = ["example.com"]'),
    ],
)
def test_a_permission_rule_in_place_of_a_tool_blocks_and_says_what_to_write(
    line: str, instead: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    configure(home, f'[[hook]]\nid = "x"\non = "before_tool"\n{line}\ndeny = "no"\n')

    assert f"write {instead}" in hookline(home, "check").stdout
    assert f"write {instead}" in _ask(home, BASH, "a")


@pytest.mark.spec("U-04")
@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('[[hook]]\nruns = "^git push.*--force"\ndeny = "no"\n', "looks like a regular expression"),
        ('[[hook]]\nruns = "git push -f && ls"\ndeny = "no"\n', "write one pattern for each"),
        ('[[hook]]\nruns = "--force"\ndeny = "no"\n', "write the program first"),
        ('[[hook]]\ncommand = "git push"\ndeny = "no"\n', 'here it is "runs"'),
        ('[[hook]]\nruns = "git push"\ndecision = "deny"\n', 'here it is "deny"'),
        ('runs = "git push"\ndeny = "no"\n', "write [[hook]] above"),
    ],
)
def test_a_guard_that_cannot_work_as_it_is_written_blocks_and_says_how(rule: str, said: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, rule)

    assert said in hookline(home, "check").stdout
    assert said in _ask(home, {"tool_name": "Bash", "tool_input": {"command": "git push -f"}}, "a")


@pytest.mark.spec("U-04")
@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("gti push --force", 'did you mean "git"?'),
        ("push --force", 'write "git push --force"'),
        ("git psuh --force", 'did you mean "push"?'),
        ("git push --forse", 'did you mean "--force"?'),
        ("kubectl delte pod", 'did you mean "delete"?'),
    ],
)
def test_check_names_the_word_of_a_command_that_is_probably_misspelt(pattern: str, near: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, f'[[hook]]\nruns = "{pattern}"\ndeny = "no"\n')

    assert near in hookline(home, "check").stdout


@pytest.mark.spec("U-01")
@pytest.mark.parametrize("tool", ["Bash(Output)?", "(Edit|Write)", "Bash.*", "Edit(.*)"])
def test_regular_expressions_are_no_permission_rules(tool: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, f'[[hook]]\nid = "x"\non = "before_tool"\nmatcher = "{tool}"\ndeny = "no"\n')

    assert "nothing to mend" in hookline(home, "check").stdout


@pytest.mark.spec("U-01")
@pytest.mark.parametrize("tool", ["other:deploy", "mcp__github__*", "mcp_github_issue", "deploy_all", "Notebook.*"])
def test_tools_that_may_exist_make_no_mistake_of_a_guard(tool: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, f'[[hook]]\non = "before_tool"\ntools = ["{tool}"]\ndeny = "no"\n')

    assert "error" not in hookline(home, "check").stdout
    assert _ask(home, READ, "b") == ""


@pytest.mark.spec("U-10")
def test_an_emptied_configuration_blocks_where_a_guard_was_installed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    rules = configure(home, '[[hook]]\ntools = ["Bash"]\ndeny = "no"\n') / "hookline.toml"
    hookline(home, "install", "claude-code")
    command = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]["PreToolUse"][0]["hooks"][0][
        "command"
    ]
    assert "--if-broken block" in command

    def ask() -> str:
        said = {"session_id": "s", "cwd": str(home.parent / "project"), "hook_event_name": "PreToolUse", **BASH}
        return hookline(
            home, "hook", "--if-broken", "block", "claude-code", "PreToolUse", stdin=json.dumps(said)
        ).stdout

    rules.write_bytes(b"")
    assert "is empty, as a crash leaves it" in ask()
    rules.write_text("# no rules any more\n")
    assert ask() == ""
    rules.unlink()
    assert ask() == ""
