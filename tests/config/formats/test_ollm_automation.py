import json
from collections.abc import Callable

import pytest

from hookline.config import export, formats
from hookline.config.document import Document, Severity
from hookline.config.export import ExportTarget
from hookline.config.formats import ollm
from hookline.config.reader import FileOrigin
from hookline.kinds.command.command import WHITELIST
from hookline.model.hook import Hook, Layer, Source
from hookline.model.ollm_run_command import PROGRAMS

Make = Callable[..., FileOrigin]
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


def _modernise(entry: object, origin: Make, document: Parse) -> dict[str, object]:
    (hook,), problems = ollm.read(document(entry), origin=origin(source=Source.USER))
    assert problems == []
    target = ExportTarget(dialect="ollm-rpc", known_names=origin().known_names, alone=True)
    (written,) = export.write(hook, "modern", target).entries
    return dict(written.value)


@pytest.mark.spec("D-14")
def test_legacy_hook_becomes_the_modern_definition(document: Parse, origin: Make) -> None:
    assert _modernise(LEGACY, origin, document) == MODERN


@pytest.mark.spec("D-14")
@pytest.mark.parametrize(
    ("name", "expected"),
    [("Lint on Save", "lint-on-save"), ("  A/B: c!  ", "a-b:-c"), ("Größe prüfen", "größe-prüfen"), ("x", "x")],
)
def test_the_id_is_made_of_the_name(name: str, expected: str, document: Parse, origin: Make) -> None:
    assert _modernise({**LEGACY, "name": name}, origin, document)["id"] == expected


@pytest.mark.spec("D-14")
def test_command_is_translated_too(document: Parse, origin: Make) -> None:
    definition = _modernise(COMMAND, origin, document)

    assert definition["filePatterns"] == []
    assert definition["action"] == {"type": "runCommand", "command": "npx tsc"}


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
def test_what_cannot_be_read_is_refused_with_a_reason(
    change: dict[str, object], message: str, document: Parse, origin: Make
) -> None:
    hooks, problems = ollm.read(document({**LEGACY, **change}), origin=origin())

    assert hooks == []
    assert message in "; ".join(problem.message for problem in problems)


def test_half_a_hook_is_refused(document: Parse, origin: Make) -> None:
    hooks, (problem,) = ollm.read(document({"name": "a", "when": {"type": "agentStop"}}), origin=origin())

    assert hooks == []
    assert 'needs an object "then", got none' in problem.message


@pytest.mark.parametrize("shape", [LEGACY, MODERN, [LEGACY], {"hooks": [MODERN]}])
def test_both_forms_are_read_in_every_shape(shape: object, document: Parse, origin: Make) -> None:
    assert _modernise(shape, origin, document) == MODERN


@pytest.mark.spec("D-20")
def test_enabled_and_trusted_are_kept(document: Parse, origin: Make) -> None:
    entries = [{**MODERN, "enabled": False, "trusted": True}, {**LEGACY, "enabled": False}]
    hooks, problems = ollm.read(document(entries), origin=origin(source=Source.USER))

    assert problems == []
    assert [(hook.enabled, hook.trusted) for hook in hooks] == [(False, True), (False, None)]


def test_event_may_have_the_name_that_another_system_has_for_it(document: Parse, origin: Make) -> None:
    (hook,), problems = ollm.read(document({**LEGACY, "when": {"type": "SessionStart"}}), origin=origin())

    assert (hook.on, problems) == (("session_start",), [])


@pytest.mark.spec("D-05", "D-06")
def test_definitions_become_hooks(document: Parse, origin: Make) -> None:
    (lint, build), problems = ollm.read(document([LEGACY, COMMAND]), origin=origin())

    assert problems == []
    assert lint == Hook(
        id="lint-on-save",
        name="Lint on Save",
        on=("file_edited",),
        dialect="ollm-rpc",
        prompt="Lint {{file.path}}",
        files=("*.ts", "*.tsx"),
        layer=Layer.PROJECT,
        source_path="hooks.json",
        source_line=2,
        source_format="when_then",
        source_pointer=(0,),
    )
    assert (build.kind, build.command, build.plain, build.on) == ("command", "npx tsc", True, ("after_agent",))


@pytest.mark.spec("D-20")
@pytest.mark.parametrize(
    ("entry", "enabled", "trusted"),
    [
        (MODERN, True, False),
        ({**MODERN, "enabled": False}, False, False),
        ({**MODERN, "trusted": True}, True, True),
        ({key: value for key, value in MODERN.items() if key != "trusted"}, True, None),
        (LEGACY, True, None),
        ({**LEGACY, "enabled": False}, False, None),
    ],
)
def test_hook_is_switched_off_and_trusted_as_it_says(
    entry: object, document: Parse, origin: Make, *, enabled: bool, trusted: bool | None
) -> None:
    (hook,), _ = ollm.read(document(entry), origin=origin(source=Source.USER))

    assert (hook.enabled, hook.trusted) == (enabled, trusted)


@pytest.mark.spec("D-06")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("rm -rf /", 'by name, not "rm"'),
        ("/usr/bin/python3 x.py", 'by name, not "/usr/bin/python3"'),
        ("./node x.js", 'by name, not "./node"'),
        ("  ", 'by name, not ""'),
        ("npx 'tsc", "a quote is never closed"),
    ],
)
def test_other_programs_are_refused_when_the_file_is_read(
    command: str, reason: str, document: Parse, origin: Make
) -> None:
    hooks, (problem,) = ollm.read(
        document({**COMMAND, "then": {"type": "runCommand", "command": command}}), origin=origin()
    )

    assert hooks == []
    assert reason in problem.message


@pytest.mark.spec("D-06", "O-13")
def test_the_allowed_programs_are_those_that_need_no_path() -> None:
    assert PROGRAMS == WHITELIST


def test_patterns_at_an_event_without_files_are_reported_and_do_not_silence_the_hook(
    document: Parse, origin: Make
) -> None:
    entry = {**LEGACY, "when": {"type": "agentStop", "patterns": ["*.ts"]}}
    (hook,), (problem,) = ollm.read(document(entry), origin=origin())

    assert hook.files == ()
    assert (problem.severity, "count at file events only" in problem.message) == (Severity.WARNING, True)


def test_empty_patterns_are_no_patterns(document: Parse, origin: Make) -> None:
    (hook,), problems = ollm.read(document({**MODERN, "filePatterns": []}), origin=origin())

    assert (hook.files, problems) == ((), [])


def test_hooks_of_both_kinds_in_one_list_are_each_read_as_what_they_are(origin: Make) -> None:
    guard = {"id": "guard", "command": "node", "args": ["guard.js"], "event": "before_tool"}
    for shape in ([LEGACY, guard, COMMAND], {"hooks": [guard, LEGACY, COMMAND]}):
        hooks, problems = formats.read(json.dumps(shape), origin=origin(), formats=("grouped", "ollm"))

        assert problems == []
        found = {hook.id: (hook.source_format, hook.dialect) for hook in hooks}
        assert found == {
            "guard": ("ollm", "ollm"),
            "lint-on-save": ("when_then", "ollm-rpc"),
            "build": ("when_then", "ollm-rpc"),
        }


@pytest.mark.spec("D-20")
@pytest.mark.parametrize(("source", "notes"), [(Source.USER, 0), (Source.WORKSPACE, 1)])
def test_trusted_is_a_wish_outside_the_persons_own_folders(
    source: Source, notes: int, document: Parse, origin: Make
) -> None:
    modern = {**MODERN, "trusted": True}
    _, problems = ollm.read(document(modern), origin=origin(source=source))

    assert sum(problem.severity is Severity.NOTE for problem in problems) == notes


def test_command_at_a_file_event_is_refused(document: Parse, origin: Make) -> None:
    entry = {**COMMAND, "when": {"type": "fileEdited"}}
    hooks, (problem,) = ollm.read(document([entry]), origin=origin())

    assert hooks == []
    assert "runCommand is for agentStop and promptSubmit only" in problem.message


def test_unknown_event_is_reported_with_the_nearest_name(document: Parse, origin: Make) -> None:
    entry = {**LEGACY, "when": {"type": "fileEditd"}}
    hooks, problems = ollm.read(document([entry, 5, LEGACY]), origin=origin())

    assert len(hooks) == 1
    assert [problem.line for problem in problems] == [5, 12]
    assert '(did you mean "fileEdited"?)' in problems[0].message
