from collections.abc import Callable

import pytest

from hookline.config.document import Document, Severity
from hookline.config.formats import ollm
from hookline.config.reader import FileOrigin
from hookline.model.hook import Source

Make = Callable[..., FileOrigin]
Parse = Callable[[object], Document]

GUARD = {
    "id": "count-model-calls",
    "name": "Count Model Calls",
    "command": "node",
    "args": ["/opt/hooks/count.js"],
    "source": "user",
    "sourcePath": "/opt/hooks/count.js",
}


@pytest.mark.spec("O-04")
@pytest.mark.parametrize(
    "shape",
    [
        {**GUARD, "event": "before_model"},
        {**GUARD, "events": ["before_model"]},
        [{**GUARD, "event": "before_model"}],
        {"hooks": [{**GUARD, "event": "before_model"}]},
        {"before_model": [GUARD]},
        {"before_model": GUARD},
        {"hooks": {"before_model": [GUARD]}},
        {"version": 1, "hooks": {"before_model": [GUARD]}},
    ],
)
def test_every_shape_of_a_definition_is_read(shape: object, document: Parse, origin: Make) -> None:
    (hook,), problems = ollm.read(document(shape), origin=origin(source=Source.USER))

    assert problems == []
    assert (hook.id, hook.name, hook.on) == ("count-model-calls", "Count Model Calls", ("before_model",))
    assert (hook.command, hook.args, hook.dialect) == ("node", ("/opt/hooks/count.js",), "ollm")
    assert hook.source is Source.USER


def test_one_definition_may_listen_to_several_events(document: Parse, origin: Make) -> None:
    entry = {"id": "a", "command": "node", "event": "before_tool", "events": ["after_tool", "session_start"]}
    (hook,), problems = ollm.read(document({"notification": [entry]}), origin=origin())

    assert problems == []
    assert hook.on == ("notification", "before_tool", "after_tool", "tool_failed", "session_start")


def test_definition_may_name_its_dialect(document: Parse, origin: Make) -> None:
    entries = [
        {"id": "a", "command": "node", "event": "PreToolUse", "dialect": "cli-agent"},
        {"id": "b", "command": "node", "event": "before_tool", "dialect": "cliagent"},
    ]
    (hook,), (problem,) = ollm.read(document(entries), origin=origin())

    assert (hook.dialect, hook.on) == ("cli-agent", ("before_tool",))
    assert 'unknown dialect "cliagent" (did you mean "cli-agent"?)' in problem.message


@pytest.mark.spec("D-20")
def test_switched_off_definition_stays_off(document: Parse, origin: Make) -> None:
    entry = {"id": "a", "command": "node", "event": "before_tool", "enabled": False}
    (hook,), problems = ollm.read(document(entry), origin=origin())

    assert not hook.enabled
    assert problems == []


@pytest.mark.spec("D-20")
@pytest.mark.parametrize(("source", "notes"), [(Source.USER, 0), (Source.WORKSPACE, 1)])
def test_trusted_is_a_wish_outside_the_persons_own_folders(
    source: Source, notes: int, document: Parse, origin: Make
) -> None:
    entry = {"id": "a", "command": "node", "event": "before_tool", "trusted": True}
    (hook,), problems = ollm.read(document(entry), origin=origin(source=source))

    assert hook.source is source
    assert [problem.severity for problem in problems] == [Severity.NOTE] * notes


@pytest.mark.spec("O-04")
@pytest.mark.parametrize(
    ("place", "wish", "expected", "notes"),
    [
        (Source.WORKSPACE, "user", Source.WORKSPACE, 1),
        (Source.WORKSPACE, "builtin", Source.WORKSPACE, 1),
        (Source.WORKSPACE, "workspace", Source.WORKSPACE, 0),
        (Source.WORKSPACE, "downloaded", Source.DOWNLOADED, 0),
        (Source.USER, "extension", Source.EXTENSION, 0),
        (Source.USER, "workspace", Source.WORKSPACE, 0),
        (Source.USER, "builtin", Source.USER, 1),
    ],
)
def test_file_may_lower_its_trust_and_never_raise_it(
    place: Source, wish: str, expected: Source, notes: int, document: Parse, origin: Make
) -> None:
    entry = {"id": "a", "command": "node", "event": "before_tool", "source": wish}
    (hook,), problems = ollm.read(document(entry), origin=origin(source=place))

    assert hook.source is expected
    assert len(problems) == notes


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"id": "a", "command": "node"}, 'hook "a" says no event'),
        ({"id": "a", "command": "node", "event": "before_tol"}, '(did you mean "before_tool"?)'),
        ({"id": "a", "command": "node", "event": "PreTolUse"}, 'did you mean "PreToolUse"?'),
        ({"id": "a", "event": "before_tool"}, "needs exactly one of"),
        ({"id": "a", "command": ["node"], "event": "before_tool"}, "command of hook"),
        ({"id": "a", "command": "node", "args": "x.js", "event": "before_tool"}, "wanted a list of texts"),
        ({"id": "a", "command": "node", "args": ["x", 1], "event": "before_tool"}, "got the number 1"),
        ({"id": "a", "command": "node", "event": []}, "wanted at least one name"),
        ({"id": "a", "command": "node", "event": "before_tool", "source": "me"}, 'wanted "builtin", "user"'),
        ({"before_modl": []}, '(did you mean "before_model"?)'),
        ({"before_model": 5}, 'wanted hook definitions under "before_model", got the number 5'),
        ({"before_model": [5]}, "wanted an object for a hook, got the number 5"),
        ({"hooks": [], "hoks": []}, 'unknown key "hoks" in the file (did you mean "hooks"?)'),
        ({"hooks": 5}, "wanted hook definitions, got the number 5"),
        ([5], "wanted an object for a hook"),
        (5, "wanted hook definitions, got the number 5"),
    ],
)
def test_a_mistake_is_reported(value: object, message: str, document: Parse, origin: Make) -> None:
    hooks, problems = ollm.read(document(value), origin=origin())

    assert hooks == []
    assert [message in problem.message for problem in problems] == [True]


@pytest.mark.parametrize("value", [{}, [], {"hooks": []}, {"hooks": {}}, {"before_model": []}])
def test_empty_file_is_no_mistake(value: object, document: Parse, origin: Make) -> None:
    assert ollm.read(document(value), origin=origin()) == ([], [])
