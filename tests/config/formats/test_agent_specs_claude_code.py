from collections.abc import Callable, Mapping

import pytest

from hookline.model.hook import Hook, OnError

Reads = Callable[..., tuple[list[Hook], list[str]]]


def _one(reads: Reads, entry: Mapping[str, object], event: str = "PreToolUse") -> tuple[list[Hook], list[str]]:
    return reads("claude-code", {"hooks": {event: [{"matcher": "Edit|Write", "hooks": [entry]}]}})


def test_command_is_a_line_with_its_time_in_seconds(reads: Reads) -> None:
    (hook,), problems = _one(reads, {"type": "command", "command": "a && b", "timeout": 20, "statusMessage": "…"})

    assert problems == []
    assert (hook.command, hook.timeout, hook.parallel, hook.matcher) == ("a && b", 20, True, "Edit|Write")
    assert hook.on_error is None


def test_failure_that_blocks_is_a_failure_that_blocks(reads: Reads) -> None:
    (hook,), _ = _one(reads, {"type": "command", "command": "a", "onFailure": "block"})

    assert hook.on_error is OnError.BLOCK


def test_hook_nobody_waits_for_runs_in_the_background(reads: Reads) -> None:
    (hook,), problems = _one(reads, {"type": "command", "command": "a", "asyncRewake": True})

    assert hook.background
    assert "cannot wake other agents" in problems[0]


def test_words_of_their_own_are_read_by_no_shell(reads: Reads) -> None:
    (words,), _ = _one(reads, {"type": "command", "command": "my tool", "args": ["a b", "$X"]})
    (alone,), _ = _one(reads, {"type": "command", "command": "my tool", "args": []})

    assert (words.command, words.args, words.shell) == ("my tool", ("a b", "$X"), None)
    assert (alone.command, alone.args, alone.shell) == ("'my tool'", (), False)


def test_placeholder_in_words_is_filled_in_and_split_nowhere(reads: Reads) -> None:
    (hook,), _ = _one(reads, {"type": "command", "command": "node", "args": ["${CLAUDE_PROJECT_DIR}/a b.js", 'x"$Y`']})

    assert (hook.command, hook.args) == ('node "${CLAUDE_PROJECT_DIR}/a b.js" \'x"$Y`\'', ())


def test_line_for_powershell_is_not_loaded(reads: Reads) -> None:
    hooks, (problem,) = _one(reads, {"type": "command", "command": "a", "shell": "powershell"})

    assert hooks == []
    assert "a line for PowerShell; the hook is not loaded" in problem


def test_web_address_gets_the_variables_its_headers_may_name(reads: Reads) -> None:
    web = {"type": "http", "url": "https://x.org/hook", "headers": {"Authorization": "Bearer $KEY"}}
    (allowed,), _ = _one(reads, {**web, "allowedEnvVars": ["KEY"]})
    (none,), _ = _one(reads, web)
    (plain,), _ = _one(reads, {**web, "headers": {"X": "y"}})

    assert (allowed.kind, allowed.url, allowed.header_env) == ("webhook", "https://x.org/hook", ("KEY",))
    assert none.header_env == ()
    assert plain.header_env is None


def test_rule_becomes_a_condition(reads: Reads) -> None:
    (hook,), problems = _one(reads, {"type": "command", "command": "a", "if": "Edit(*.ts)"})

    assert problems == []
    assert (hook.files, hook.matcher) == (("*.ts",), "Edit|Write")
    assert hook.condition.startswith("tool in [")


def test_rule_that_cannot_be_said_here_leaves_the_hook_to_its_agent(reads: Reads) -> None:
    hooks, (problem,) = _one(reads, {"type": "command", "command": "a", "if": "WebFetch(domain:x.org)"})

    assert hooks == []
    assert "warning: the rule of a hook" in problem
    assert "the hook is not loaded, so it runs only there" in problem


def test_rule_at_an_event_without_calls_never_runs(reads: Reads) -> None:
    hooks, (problem,) = _one(reads, {"type": "command", "command": "a", "if": "Bash"}, event="Stop")

    assert hooks == []
    assert "never runs" in problem


def test_files_that_are_watched_are_patterns_of_files(reads: Reads) -> None:
    watched = {"hooks": {"FileChanged": [{"matcher": ".env|a.toml", "hooks": [{"type": "command", "command": "a"}]}]}}
    (hook,), _ = reads("claude-code", watched)

    assert (hook.files, hook.matcher) == (("/.env", "/a.toml"), "")
    assert hook.on == ("file_created", "file_edited", "file_deleted")


@pytest.mark.parametrize("shell", ["fish", 5])
def test_shell_nobody_has_is_an_error(reads: Reads, shell: object) -> None:
    hooks, (problem,) = _one(reads, {"type": "command", "command": "a", "shell": shell})

    assert hooks == []
    assert "wanted bash or powershell" in problem
