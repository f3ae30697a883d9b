from collections.abc import Callable

import pytest
from msgspec.structs import replace

from hookline.config.document import Document
from hookline.config.formats import grouped
from hookline.config.reader import FileOrigin
from hookline.model.hook import Hook, Layer

Make = Callable[..., FileOrigin]
Parse = Callable[[object], Document]

# as cli-agent's "Individual Hook Files Guide" shows them
LINE = "echo '[SECURITY] About to execute: {{tool_args}}' >> ~/.audit.log"
AUDIT = {"matcher": "bash_execute", "command": LINE, "timeout": 5}


def at(origin: Make, name: str) -> FileOrigin:
    return replace(origin("cli-agent"), path=f".config/agent/hooks/{name}", format="per_file")


def test_file_is_one_hook_named_after_it(document: Parse, origin: Make) -> None:
    entry = {**AUDIT, "working_directory": "/srv", "env": {"MODE": "strict"}, "_description": "kept for people"}
    (hook,), problems = grouped.read_per_file(document(entry), origin=at(origin, "pre-security-audit.json"))

    assert problems == []
    assert hook == Hook(
        id="pre-security-audit",
        name="pre-security-audit",
        on=("before_tool",),
        dialect="cli-agent",
        matcher="bash_execute",
        command=LINE,
        timeout=5.0,
        working_directory="/srv",
        env={"MODE": "strict"},
        layer=Layer.PROJECT,
        source_path=".config/agent/hooks/pre-security-audit.json",
        source_line=1,
        source_format="per_file",
    )


@pytest.mark.parametrize(
    ("name", "on"),
    [
        ("pre-a.json", ("before_tool",)),
        ("before-a.json", ("before_tool",)),
        ("Post-A.yaml", ("after_tool", "tool_failed")),
        ("after-a.yml", ("after_tool", "tool_failed")),
        ("notify-a.json", ("notification",)),
        ("notification-a.json", ("notification",)),
        ("stop-a.json", ("after_agent",)),
        ("end-a.json", ("after_agent",)),
        ("finish-a.json", ("after_agent",)),
    ],
)
def test_the_event_follows_from_the_name(name: str, on: tuple[str, ...], document: Parse, origin: Make) -> None:
    (hook,), problems = grouped.read_per_file(document({"command": "true"}), origin=at(origin, name))

    assert (hook.on, problems) == (on, [])


def test_the_event_may_be_said(document: Parse, origin: Make) -> None:
    entry = {"type": "Stop", "command": "true"}
    (hook,), problems = grouped.read_per_file(document(entry), origin=at(origin, "pre-mine.json"))

    assert (hook.on, problems) == (("after_agent",), [])


def test_type_command_says_nothing_about_the_event(document: Parse, origin: Make) -> None:
    (hook,), problems = grouped.read_per_file(
        document({"type": "command", "command": "true"}), origin=at(origin, "pre-mine.json")
    )

    assert (hook.on, problems) == (("before_tool",), [])


def test_several_hooks_in_one_file_are_grouped(document: Parse, origin: Make) -> None:
    entry = {"hooks": {"PreToolUse": [{"hooks": [{"command": "a"}, {"command": "b"}]}]}}
    hooks, problems = grouped.read_per_file(document(entry), origin=at(origin, "mine.json"))

    assert problems == []
    assert [(hook.command, hook.source_format) for hook in hooks] == [("a", "grouped"), ("b", "grouped")]


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        (
            "my-hook.json",
            {"command": "true"},
            "start with pre- (PreToolUse), post- (PostToolUse), notify- (Notification), stop- (Stop)",
        ),
        ("pre-a.json", {"type": "PreTolUse", "command": "true"}, '(did you mean "PreToolUse"?)'),
        ("pre-a.json", {"matcher": "*"}, 'has no "command"; the hook is not loaded'),
        ("pre-a.json", {"command": ["a"]}, "wanted a text, got a list; the hook is not loaded"),
        ("pre-a.json", [AUDIT], "wanted an object with a command, got a list"),
    ],
)
def test_file_that_cannot_be_meant_is_reported(
    name: str, entry: object, message: str, document: Parse, origin: Make
) -> None:
    hooks, (problem,) = grouped.read_per_file(document(entry), origin=at(origin, name))

    assert hooks == []
    assert message in problem.message


def test_unknown_key_is_reported_with_the_nearest_name(document: Parse, origin: Make) -> None:
    (hook,), (problem,) = grouped.read_per_file(
        document({"comand": "x", "command": "true"}), origin=at(origin, "pre-a.json")
    )

    assert hook.command == "true"
    assert '(did you mean "command"?)' in problem.message
