from collections.abc import Callable

import msgspec
import pytest

from hookline.config.document import Document
from hookline.config.formats import when_then
from hookline.config.problem import Severity
from hookline.config.reading import Origin
from hookline.errors import ConfigError
from hookline.model.hook import Source

Make = Callable[..., Origin]
Parse = Callable[[object], Document]

LEGACY = {
    "name": "Lint on Save",
    "when": {"type": "fileEdited", "patterns": ["*.ts", "*.tsx"]},
    "then": {"type": "askAgent", "prompt": "Lint {{file.path}}"},
}
MODERN = {
    "id": "lint-on-save",
    "name": "Lint on Save",
    "eventType": "fileEdited",
    "filePatterns": ["*.ts", "*.tsx"],
    "action": {"type": "askAgent", "prompt": "Lint {{file.path}}"},
    "trusted": False,
    "enabled": True,
}
COMMAND = {"name": "Build", "when": {"type": "agentStop"}, "then": {"type": "runCommand", "command": "npx tsc"}}


@pytest.mark.spec("D-14")
def test_legacy_hook_becomes_the_modern_definition() -> None:
    assert msgspec.to_builtins(when_then.translate(LEGACY)) == MODERN | {"filePatterns": ("*.ts", "*.tsx")}


@pytest.mark.spec("D-14")
@pytest.mark.parametrize(
    ("name", "expected"),
    [("Lint on Save", "lint-on-save"), ("  A/B: c!  ", "a-b:-c"), ("Größe prüfen", "größe-prüfen"), ("x", "x")],
)
def test_the_id_is_made_of_the_name(name: str, expected: str) -> None:
    assert when_then.translate({**LEGACY, "name": name}).id == expected


@pytest.mark.spec("D-14")
def test_command_is_translated_too() -> None:
    definition = when_then.translate(COMMAND)

    assert definition.file_patterns == ()
    assert msgspec.to_builtins(definition.action) == {"type": "runCommand", "command": "npx tsc"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "has no name"),
        ({"name": 5}, "wanted a text, got the number 5"),
        ({"when": "fileEdited"}, 'needs an object "when", got the text "fileEdited"'),
        ({"when": {}}, "says no event type"),
        ({"when": {"type": "fileEdited", "patterns": 5}}, "wanted a list of texts"),
        ({"then": {"type": "askAgnt", "prompt": "x"}}, '(did you mean "askAgent"?)'),
        ({"then": {"type": "askAgent"}}, "has no prompt"),
        ({"then": {"type": "runCommand", "prompt": "x"}}, "has no command"),
        ({"when": {"type": "fileEdited", "pattern": ["*"]}}, '(did you mean "patterns"?)'),
    ],
)
def test_what_cannot_be_translated_is_refused_with_a_reason(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        when_then.translate({**LEGACY, **change})

    assert message in caught.value.message


def test_half_a_hook_is_refused() -> None:
    with pytest.raises(ConfigError, match='needs an object "then", got none'):
        when_then.translate({"name": "a", "when": {"type": "agentStop"}})


@pytest.mark.parametrize("shape", [LEGACY, MODERN, [LEGACY], {"hooks": [MODERN]}])
def test_both_forms_are_read_in_every_shape(shape: object, document: Parse, origin: Make) -> None:
    (definition,), problems = when_then.read_definitions(document(shape), origin=origin())

    assert problems == []
    assert definition == when_then.translate(LEGACY)


@pytest.mark.spec("D-20")
def test_enabled_and_trusted_are_kept(document: Parse, origin: Make) -> None:
    entries = [{**MODERN, "enabled": False, "trusted": True}, {**LEGACY, "enabled": False}]
    definitions, problems = when_then.read_definitions(document(entries), origin=origin())

    assert problems == []
    assert [(item.enabled, item.trusted) for item in definitions] == [(False, True), (False, False)]


def test_definitions_that_cannot_run_yet_are_reported(document: Parse, origin: Make) -> None:
    hooks, problems = when_then.read(document([LEGACY, COMMAND]), origin=origin())

    assert hooks == []
    assert [(problem.message, problem.severity) for problem in problems] == [
        ('hook "lint-on-save": askAgent hooks are not run yet', Severity.WARNING),
        ('hook "build": runCommand hooks are not run yet', Severity.WARNING),
    ]


@pytest.mark.spec("D-20")
@pytest.mark.parametrize(("source", "notes"), [(Source.USER, 0), (Source.WORKSPACE, 1)])
def test_trusted_is_a_wish_outside_the_persons_own_folders(
    source: Source, notes: int, document: Parse, origin: Make
) -> None:
    modern = {**MODERN, "trusted": True}
    _, problems = when_then.read(document(modern), origin=origin(source=source))

    assert sum(problem.severity is Severity.NOTE for problem in problems) == notes


def test_command_at_a_file_event_is_refused(document: Parse, origin: Make) -> None:
    entry = {**COMMAND, "when": {"type": "fileEdited"}}
    definitions, (problem,) = when_then.read_definitions(document([entry]), origin=origin())

    assert definitions == []
    assert "runCommand is for agentStop and promptSubmit only" in problem.message


def test_unknown_event_is_reported_with_the_nearest_name(document: Parse, origin: Make) -> None:
    entry = {**LEGACY, "when": {"type": "fileEditd"}}
    definitions, problems = when_then.read_definitions(document([entry, 5, LEGACY]), origin=origin())

    assert len(definitions) == 1
    assert [problem.line for problem in problems] == [5, 12]
    assert '(did you mean "fileEdited"?)' in problems[0].message


@pytest.mark.parametrize(
    ("value", "expected"), [(LEGACY, True), ([MODERN], True), ({"command": "x"}, False), ([], False), (5, False)]
)
def test_the_shape_is_told_from_others(value: object, *, expected: bool) -> None:
    assert when_then.matches(value) is expected
