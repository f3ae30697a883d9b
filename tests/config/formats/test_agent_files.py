from collections.abc import Callable, Mapping

import pytest

from hookline.config.formats.agent_specs import FILE_SPECS_BY_AGENT
from hookline.model.dialect import AGENTS
from hookline.model.hook import Hook, Layer

Reads = Callable[..., tuple[list[Hook], list[str]]]

OURS = "/bin/sh -c 'x' hookline a b 2 /usr/bin/python3 -E -P -m hookline hook --if-broken block claude-code PreToolUse"


def _settings(event: str, *hooks: Mapping[str, object], **group: object) -> dict[str, object]:
    return {"model": "x", "permissions": {}, "hooks": {event: [{**group, "hooks": list(hooks)}]}}


def test_every_agent_with_files_has_its_specs_in_the_order_of_agents() -> None:
    # opencode loads hooks as plugins only, so there is no settings file to read hooks from
    assert list(FILE_SPECS_BY_AGENT) == [agent for agent in AGENTS if agent != "opencode"]


def test_hook_of_an_agent_knows_its_agent_its_event_and_its_line(reads: Reads) -> None:
    (hook,), problems = reads(
        "claude-code", _settings("PreToolUse", {"type": "command", "command": "x"}, matcher="Bash")
    )

    assert problems == []
    assert (hook.run_by, hook.native_event, hook.on) == (("claude-code",), "PreToolUse", ("before_tool",))
    assert (hook.source_format, hook.source_line) == ("claude-code", 9)
    assert hook.source_pointer == ("hooks", "PreToolUse", 0, "hooks", 0)


def test_hook_without_a_name_is_called_after_its_agent_and_whose_file_it_is(reads: Reads) -> None:
    settings = _settings("PreToolUse", {"type": "command", "command": "x"})
    (theirs,), _ = reads("claude-code", settings)
    (own,), _ = reads("claude-code", settings, layer=Layer.USER)

    assert (theirs.id, own.id) == ("claude-code:PreToolUse:1", "claude-code-user:PreToolUse:1")


def test_our_own_entries_are_no_hooks_and_nobody_is_told(reads: Reads) -> None:
    ours = {"type": "command", "command": OURS}

    assert reads("claude-code", _settings("PreToolUse", ours)) == ([], [])
    # nor where other agents know nothing of the event, as long as nobody else has a hook there
    assert reads("claude-code", _settings("TeammateIdle", ours)) == ([], [])
    assert len(reads("claude-code", _settings("TeammateIdle", ours, {"type": "command", "command": "x"}))[1]) == 1
    assert reads("copilot-cli", {"hooks": {"preToolUse": [{"bash": OURS, "powershell": "x"}]}}) == ([], [])
    assert reads("kiro", {"hooks": [{"name": "a", "trigger": "Stop", "action": ours}]}) == ([], [])


def test_event_of_which_other_agents_know_nothing_is_noted(reads: Reads) -> None:
    hooks, problems = reads("claude-code", _settings("WorktreeCreate", {"type": "command", "command": "x"}))

    assert hooks == []
    assert problems == [
        '5 note: the event "WorktreeCreate" has no counterpart in other agents, so its hooks run only there'
    ]


def test_event_that_is_nearly_one_is_noted_with_the_right_one(reads: Reads) -> None:
    _, (problem,) = reads("claude-code", _settings("PreTooluse", {"type": "command", "command": "x"}))

    assert problem.endswith('so its hooks run only there (did you mean "PreToolUse"?)')


def test_canonical_name_is_no_event_of_an_agent(reads: Reads) -> None:
    hooks, (problem,) = reads("claude-code", _settings("before_tool", {"type": "command", "command": "x"}))

    assert hooks == []
    assert 'the event "before_tool" has no counterpart' in problem


def test_key_that_the_agent_does_not_know_is_a_warning_with_its_line(reads: Reads) -> None:
    (hook,), problems = reads("claude-code", _settings("Stop", {"type": "command", "command": "x", "tiemout": 5}))

    assert hook.timeout is None
    assert problems == ['11 warning: unknown key "tiemout" in a hook of "Stop" (did you mean "timeout"?)']


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("prompt", "the agent asks a model of its own"),
        ("agent", "the agent starts another agent"),
        ("mcp_tool", "the agent calls a tool of a server it is connected to"),
    ],
)
def test_type_that_only_the_agent_can_run_is_noted(reads: Reads, kind: str, why: str) -> None:
    hooks, (problem,) = reads("claude-code", _settings("Stop", {"type": kind, "prompt": "x"}))

    assert hooks == []
    assert problem == f'8 note: a hook of "Stop" is of type {kind}: {why}, so it runs only there'


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"type": "command"}, "has no command; the hook is not loaded"),
        ({"type": "http"}, "has no url; the hook is not loaded"),
        ({"type": "comand", "command": "x"}, "is not one of command, http"),
        ({"type": "command", "command": 5}, "wanted a text, got the number 5; the hook is not loaded"),
        ({"type": "command", "command": "x", "timeout": -1}, "wanted seconds above 0, got the number -1"),
    ],
)
def test_what_is_wrong_with_a_hook_is_told(reads: Reads, entry: Mapping[str, object], said: str) -> None:
    _, (problem,) = reads("claude-code", _settings("Stop", entry))

    assert said in problem


@pytest.mark.parametrize("wrong", ["[]", "5", '{"hooks": 5}', '{"hooks": {"Stop": [5]}}', '{"hooks": {"Stop": [{}]}}'])
def test_file_of_another_shape_is_an_error_and_no_crash(reads: Reads, wrong: str) -> None:
    hooks, problems = reads("claude-code", wrong)

    assert hooks == []
    assert "error: " in problems[0]


def test_settings_without_hooks_are_the_agents_business(reads: Reads) -> None:
    assert reads("claude-code", {"model": "x", "disableAllHooks": True, "trustedWorkspaces": ["/"]}) == ([], [])


def test_matcher_is_dropped_where_the_agent_does_not_look_at_it(reads: Reads) -> None:
    (hook,), _ = reads("claude-code", _settings("Stop", {"type": "command", "command": "x"}, matcher="Bash"))

    assert hook.matcher == ""


@pytest.mark.parametrize("everything", ["", "*", " * "])
def test_matcher_for_everything_is_none(reads: Reads, everything: str) -> None:
    settings = _settings("PreToolUse", {"type": "command", "command": "x"}, matcher=everything)
    (hook,), _ = reads("claude-code", settings)

    assert hook.matcher == ""


def test_switch_for_all_hooks_switches_them_off_here_as_well(reads: Reads) -> None:
    settings = {**_settings("Stop", {"type": "command", "command": "x"}), "disableAllHooks": True}
    (hook,), (problem,) = reads("claude-code", settings)

    assert not hook.enabled
    assert problem == '4 note: "disableAllHooks" switches its hooks off; they are off under other agents, too'


@pytest.mark.parametrize(
    ("form", "event", "value"),
    [
        ("claude-code", "PreToolUse", {"matcher": "Bash", "hooks": []}),
        ("gemini-cli", "BeforeTool", "x"),
        ("cursor", "beforeShellExecution", {"command": "x"}),
        ("kiro-agent", "agentSpawn", {"command": "x"}),
    ],
)
def test_event_without_a_list_is_reported(reads: Reads, form: str, event: str, value: object) -> None:
    hooks, problems = reads(form, {"hooks": {event: value, "enabled": True}}, agent=form.removesuffix("-agent"))

    assert hooks == []
    assert len(problems) == 1
    assert f'wanted a list for "{event}", got' in problems[0]
