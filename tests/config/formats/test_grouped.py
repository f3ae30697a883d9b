from collections.abc import Callable, Mapping

import pytest

from hookline.config.document import Document
from hookline.config.formats import grouped
from hookline.config.reader import FileOrigin
from hookline.model.hook import Hook, Layer, OnError, Source

Make = Callable[..., FileOrigin]
Parse = Callable[[object], Document]

OLLAMA = """{
  "model": "llama3.2",
  "hooks": {
    "Stop": [],
    "PreToolUse": [
      {
        "matcher": "bash|shell",  // Optional: regex to match
        "hooks": [
          {"type": "command", "command": "python .ollama/hooks/policy.py"},
          {"type": "python", "module": "policies.guard"}
        ]
      }
    ],
    "SessionStart": [
      {
        "hooks": [
          {"type": "command", "command": "date >> log; true", "shell": true},
          {"type": "python", "module": "greeting.hooks", "function": "on_session_start"},
          {
            "type": "webhook",
            "url": "http://127.0.0.1:9/hook",
            "method": "PUT",
            "headers": {"Content-Type": "application/json", "X-Retry": 3}
          }
        ]
      }
    ]
  }
}"""


@pytest.mark.spec("C-02", "C-03", "C-04", "C-05")
def test_every_documented_hook_type_is_read(document: Parse, origin: Make) -> None:
    hooks, problems = grouped.read(document(OLLAMA), origin=origin("ollama-cli"))

    shared = {
        "dialect": "ollama-cli",
        "source_path": "hooks.json",
        "source": Source.WORKSPACE,
        "layer": Layer.PROJECT,
    }
    assert problems == []
    assert [hook.kind for hook in hooks] == ["command", "python", "command", "python", "webhook"]
    assert [hook.source_line for hook in hooks] == [9, 10, 17, 18, 19]
    assert hooks[0] == _hook(
        shared,
        id="hooks:PreToolUse:1",
        on=("before_tool",),
        matcher="bash|shell",
        source_line=9,
        source_pointer=("hooks", "PreToolUse", 0, "hooks", 0),
        command="python .ollama/hooks/policy.py",
    )
    assert hooks[1] == _hook(
        shared,
        id="hooks:PreToolUse:2",
        on=("before_tool",),
        matcher="bash|shell",
        source_line=10,
        source_pointer=("hooks", "PreToolUse", 0, "hooks", 1),
        module="policies.guard",
    )
    assert hooks[2].shell is True
    assert (hooks[3].module, hooks[3].function) == ("greeting.hooks", "on_session_start")
    assert (hooks[4].url, hooks[4].method) == ("http://127.0.0.1:9/hook", "PUT")
    assert hooks[4].headers == {"Content-Type": "application/json", "X-Retry": "3"}


def _hook(shared: Mapping[str, object], **fields: object) -> Hook:
    build: Callable[..., Hook] = Hook
    return build(**shared, **fields)


@pytest.mark.spec("A-03", "A-09")
def test_cli_agent_settings_keep_matcher_timeout_folder_and_environment(document: Parse, origin: Make) -> None:
    entry = {
        "type": "command",
        "command": "black {{tool_args.file_path}} 2>/dev/null || true",
        "timeout": 5,
        "working_directory": "src",
        "env": {"MODE": "fast", "LEVEL": 2},
        "on_error": "block",
    }
    settings = {"hooks": {"PostToolUse": [{"matcher": "write_file|replace_in_file", "hooks": [entry]}]}}
    (hook,), problems = grouped.read(document(settings), origin=origin("cli-agent"))

    assert problems == []
    assert hook.on == ("after_tool", "tool_failed")
    assert hook.matcher == "write_file|replace_in_file"
    assert hook.command == entry["command"]
    assert (hook.timeout, hook.working_directory, hook.env) == (5, "src", {"MODE": "fast", "LEVEL": "2"})
    assert hook.on_error is OnError.BLOCK


def test_settings_without_hooks_are_none_of_our_business(document: Parse, origin: Make) -> None:
    assert grouped.read(document({"model": "x", "theme": {}}), origin=origin("ollama-cli")) == ([], [])


@pytest.mark.parametrize("settings", [[], '"text"', 5, None])
def test_settings_that_are_no_object_are_reported(settings: object, document: Parse, origin: Make) -> None:
    hooks, problems = grouped.read(document(settings), origin=origin())

    assert hooks == []
    assert "wanted an object" in problems[0].message


GOOD = {"type": "command", "command": "true"}


@pytest.mark.parametrize(
    ("events", "message", "loaded"),
    [
        ({"PreToolUs": [{"hooks": [GOOD]}]}, 'unknown event "PreToolUs" (did you mean "PreToolUse"?)', 0),
        ({"promptSubmitt": []}, 'unknown event "promptSubmitt" (did you mean', 0),
        ({"before_tool": [{"hooks": [GOOD]}]}, "", 1),
        ({"PreToolUse": {"hooks": [GOOD]}}, 'wanted a list of groups for "PreToolUse", got an object', 0),
        ({"PreToolUse": [GOOD]}, 'has no "hooks"; write {"hooks": [{"type": …}]}', 0),
        ({"PreToolUse": [{"matcher": "x", "hook": [GOOD]}]}, 'has no "hooks", only "hook"', 0),
        ({"PreToolUse": ["x"]}, 'wanted an object for a group of "PreToolUse", got the text "x"', 0),
        ({"PreToolUse": [{"hooks": GOOD}]}, "wanted a list of hooks", 0),
        ({"PreToolUse": [{"hooks": ["true"]}]}, "wanted an object for a hook", 0),
        ({"PreToolUse": [{"matcher": ["a"], "hooks": [GOOD]}]}, "matcher of a group", 0),
        ({"PreToolUse": [{"match": "a", "hooks": [GOOD]}]}, 'unknown key "match"', 0),
        ({"PreToolUse": [{"colour": "a", "hooks": [GOOD]}]}, 'unknown key "colour"', 1),
        ({"PreToolUse": [{"hooks": [{"type": "comand", "command": "true"}]}]}, '(did you mean "command"?)', 0),
        ({"PreToolUse": [{"hooks": [{"type": "prompt", "command": "x"}]}]}, "not one of command, python, webhook", 0),
        ({"PreToolUse": [{"hooks": [{"type": "webhook", "command": "x"}]}]}, "has no url", 0),
        ({"PreToolUse": [{"hooks": [{"type": "command"}]}]}, "has no command", 0),
        ({"PreToolUse": [{"hooks": [{}]}]}, "needs exactly one of", 0),
        ({"PreToolUse": [{"hooks": [{"command": "x", "url": "http://x"}]}]}, "needs exactly one of", 0),
        ({"PreToolUse": [{"hooks": [{**GOOD, "url": "http://x"}]}]}, "url and command", 0),
        ({"PreToolUse": [{"hooks": [{"command": "x"}]}]}, "", 1),
        ({"PreToolUse": [{"hooks": [{**GOOD, "timeout": "5"}]}]}, 'got the text "5"; the default holds', 1),
        ({"PreToolUse": [{"hooks": [{**GOOD, "timeout": 0}]}]}, "seconds above 0", 1),
        ({"PreToolUse": [{"hooks": [{**GOOD, "timeout": True}]}]}, "got true", 1),
        ({"PreToolUse": [{"hooks": [{**GOOD, "timeout": 30000}]}]}, "is 30000 seconds; seconds are meant", 1),
        ({"PreToolUse": [{"hooks": [{**GOOD, "timout": 5}]}]}, '(did you mean "timeout"?)', 1),
        ({"PreToolUse": [{"hooks": [{**GOOD, "shell": "yes"}]}]}, "wanted true or false", 0),
        ({"PreToolUse": [{"hooks": [{**GOOD, "enabled": "false"}]}]}, "wanted true or false", 0),
        ({"PreToolUse": [{"hooks": [{**GOOD, "env": ["A=1"]}]}]}, "wanted names with texts", 0),
        ({"PreToolUse": [{"hooks": [{**GOOD, "env": {"A": None}}]}]}, "got nothing", 0),
        ({"PreToolUse": [{"hooks": [{**GOOD, "on_error": "deny"}]}]}, 'wanted "block" or "continue"', 1),
        ({"PreToolUse": [{"hooks": [{"type": "command", "command": "a\0b"}]}]}, "wanted a text", 0),
    ],
)
def test_a_mistake_is_reported_and_everything_else_loads(
    events: object, message: str, loaded: int, document: Parse, origin: Make
) -> None:
    beside = {"Stop": [{"hooks": [{"type": "command", "command": "beside"}]}]}
    assert isinstance(events, dict)
    hooks, problems = grouped.read(document({"hooks": {**events, **beside}}), origin=origin("ollama-cli"))

    assert len(hooks) == loaded + 1
    assert hooks[-1].command == "beside"
    assert [message in str(problem) for problem in problems] == ([True] if message else [])
    assert all(problem.path == "hooks.json" and problem.line >= 2 for problem in problems)


def test_misspelt_hooks_key_is_reported(document: Parse, origin: Make) -> None:
    _, problems = grouped.read(document({"model": "x", "Hooks": {}}), origin=origin("ollama-cli"))

    assert [(problem.line, problem.message) for problem in problems] == [
        (3, 'unknown key "Hooks": hooks belong under "hooks"')
    ]


def test_event_written_twice_is_reported(document: Parse, origin: Make) -> None:
    text = '{"hooks": {\n"Stop": [{"hooks": [{"command": "lost"}]}],\n"Stop": [{"hooks": [{"command": "kept"}]}]}}'
    hooks, problems = grouped.read(document(text), origin=origin("ollama-cli"))

    assert [hook.command for hook in hooks] == ["kept"]
    assert (problems[0].line, problems[0].message[:29]) == (3, '"Stop" is given a second time')


def test_file_full_of_mistakes_is_cut_short(document: Parse, origin: Make) -> None:
    events: dict[str, list[object]] = {f"Event{number}": [] for number in range(5000)}
    _, problems = grouped.read(document({"hooks": events}), origin=origin("ollama-cli"))

    assert len(problems) == 101
    assert problems[-1].message == "4900 more problems in this file"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"hooks": {"Stop": [{"hooks": []}]}}, True),
        ({"hooks": {"Stop": []}}, True),
        ({"hooks": {"before_model": [{"command": "x"}]}}, False),
        ({"hooks": []}, False),
        ({"before_model": []}, False),
        ([], False),
    ],
)
def test_the_shape_is_told_from_others(value: object, *, expected: bool) -> None:
    assert grouped.matches(value) is expected
