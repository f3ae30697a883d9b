import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from msgspec import Struct

from hookline.config import jsonc, settings
from hookline.config.document import Document, Severity
from hookline.config.formats import FORMATS, agent_specs, grouped, native, ollm
from hookline.config.keys import Key
from hookline.config.reader import FileOrigin, KnownNames
from hookline.config.schemas import ALL, schema
from hookline.wiring import native_names, shell_dialects

ROOT = Path(__file__).resolve().parents[2]
WORDS = KnownNames(names=native_names(), shell_dialects=shell_dialects())

Wrap = Callable[[Mapping[str, object]], object]


class Case(Struct, frozen=True):
    """A format, a hook in it that is right, and the file around that hook."""

    keys: Mapping[str, Key]
    hook: Mapping[str, object]
    wrap: Wrap
    format: str
    dialect: str


def _in_group(hook: Mapping[str, object]) -> object:
    return {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}}


def _alone(hook: Mapping[str, object]) -> object:
    return hook


ASKS = {"type": "askAgent", "prompt": "Lint {{file.path}}"}
CASES = {
    "native": Case(native.KEYS, {"on": "error", "run": "x"}, lambda hook: {"hook": [hook]}, "native", "hookline"),
    "grouped": Case(grouped.KEYS, {"command": "x"}, _in_group, "grouped", "cli-agent"),
    "grouped:cli-agent": Case(grouped.KEYS, {"command": "x"}, _in_group, "grouped", "cli-agent"),
    "grouped:ollama-cli": Case(grouped.KEYS, {"command": "x"}, _in_group, "grouped", "ollama-cli"),
    "ollm": Case(ollm.KEYS, {"command": "x", "event": "before_tool"}, _alone, "ollm", "ollm"),
    "modern": Case(ollm.MODERN, {"id": "x", "eventType": "fileEdited", "action": ASKS}, _alone, "when_then", "ollm"),
    "when_then": Case(
        ollm.LEGACY, {"name": "x", "when": {"type": "fileEdited"}, "then": ASKS}, _alone, "when_then", "ollm"
    ),
    "per_file": Case(grouped.PER_FILE_KEYS, {"command": "x"}, _alone, "per_file", "cli-agent"),
}
# one of everything people write, right or wrong
VALUES: tuple[object, ...] = (
    *(None, True, False, 5, -1, 0, 1.5, 10**12),
    *("x", "block", "deny", "high", "5s", "5 hours", "a:b", "npx tsc", "rm -rf /"),
    *("before_tool", "before_tol", "PreToolUse", "fileEdited", "custom:x", "custom:"),
    *("command", "python", "ollm", "olm", "user"),
    *([], ["x"], [""], [1], ["before_tool"], ["before_tool", "befor"], {}, {"A": "b"}, {"A": 1}, {"A": [1]}),
    *({"": "b"}, {"A=B": "c"}),
)


def _objections(case: Case, document: object) -> list[str]:
    origin = FileOrigin(path="pre-x.json", dialect=case.dialect, known_names=WORDS)
    _, problems = FORMATS[case.format].read(Document(document), origin=origin)
    # which dialect an event belongs to is a question about two keys, and the schema judges each for itself
    told = [problem.message for problem in problems if problem.severity is not Severity.NOTE]
    return [message for message in told if ', and this hook is sent it in ollm: say "dialect"' not in message]


def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name, WORDS))


def test_every_format_has_its_schema() -> None:
    assert set(CASES) == set(ALL)
    # agents have schemas of their own for their files
    assert {case.format for case in CASES.values()} == set(FORMATS) - set(agent_specs.FILE_SPECS)


@pytest.mark.parametrize("name", sorted(ALL))
def test_schema_is_one(name: str) -> None:
    made = schema(name, WORDS)

    Draft202012Validator.check_schema(made)
    assert (made["$schema"], made["title"]) == ("https://json-schema.org/draft/2020-12/schema", ALL[name].title)
    # what an editor is given is plain JSON
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize("name", sorted(CASES))
def test_schema_and_reader_judge_every_value_of_every_key_alike(name: str) -> None:
    case = CASES[name]
    validator = _validator(name)
    assert _objections(case, case.wrap(case.hook)) == []

    different = {}
    for key in [*case.keys, "unknwn"]:
        for value in VALUES:
            document = case.wrap({**case.hook, key: value})
            objections = _objections(case, document)
            if bool(objections) == validator.is_valid(document):
                different[key, repr(value)] = objections

    assert different == {}


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("left_out", [True, False])
def test_schema_and_reader_want_the_same_keys(name: str, *, left_out: bool) -> None:
    case = CASES[name]
    validator = _validator(name)
    for key in case.hook:
        document = case.wrap({other: value for other, value in case.hook.items() if not left_out or other != key})

        assert bool(_objections(case, document)) is not validator.is_valid(document), key


WRONG: tuple[tuple[str, object], ...] = (
    ("native", {"hooks": [{"on": "error", "run": "x"}]}),
    ("native", {"hook": [{"on": "error", "run": "x", "post": "y"}]}),
    ("native", {"hook": [{"on": "error", "run": "x", "tools": "a", "matcher": "b"}]}),
    ("native", {"hook": [{"event": "error", "run": "x"}]}),
    ("native", {"hook": [{"on": "PreTolUse", "dialect": "ollm", "run": "x"}]}),
    ("grouped", {"hooks": {"PreToolUs": [{"hooks": []}]}}),
    ("grouped", {"hooks": {"PreToolUse": [{"command": "x"}]}}),
    ("grouped", {"hooks": {"PreToolUse": {"hooks": []}}}),
    ("grouped", _in_group({"type": "webhook", "command": "x"})),
    ("grouped", _in_group({"command": "x", "url": "y"})),
    ("ollm", {"command": "x"}),
    ("ollm", [{"command": "x", "event": "before_tool"}, 5]),
    ("ollm", {"hooks": [{"event": "before_tool"}]}),
    ("when_then", {"name": "x", "when": {"type": "fileEdited"}, "then": {"type": "runCommand", "command": "npx a"}}),
    ("when_then", {"name": "x", "when": {"type": "agentStop"}, "then": {"type": "runCommand", "command": "rm a"}}),
    ("when_then", {"name": "x", "when": {"type": "agentStop"}, "then": {"type": "askAgent"}}),
    ("when_then", {"name": "x", "when": {"type": "agentStop", "pattern": "*"}, "then": ASKS}),
    ("modern", {"id": "x", "eventType": "fileEdited", "action": {"type": "runCommand", "command": "npx a"}}),
    ("per_file", {"matcher": "*"}),
    ("per_file", [{"command": "x"}]),
)


@pytest.mark.parametrize(("name", "document"), WRONG)
def test_what_the_reader_reports_the_schema_rejects(name: str, document: object) -> None:
    assert _objections(CASES[name], document)
    assert not _validator(name).is_valid(document)


RIGHT: tuple[tuple[str, object], ...] = (
    ("native", {"$schema": "x", "settings": {"enabled": True, "timeout": "5s"}, "hook": []}),
    ("native", {"hook": [{"on": ["PreToolUse", "custom:x"], "dialect": "cli-agent", "run": ["a", "b"]}]}),
    ("native", {"hook": [{"on": "file_edited", "files": "*.py", "writes": ["*.md"], "ask": "x", "timeout": 1}]}),
    (
        "grouped",
        {"$schema": "x", "model": "llama", "hooks": {"Stop": [{"hooks": [{"type": "python", "module": "a"}]}]}},
    ),
    ("ollm", {"$schema": "x", "hooks": [{"command": "x", "event": "before_tool"}]}),
    ("ollm", {"before_tool": [{"command": "x"}], "after_tool": {"url": "http://127.0.0.1"}}),
    ("ollm", [{"command": "x", "events": ["before_tool"]}, {"name": "x", "when": {"type": "agentStop"}, "then": ASKS}]),
    ("when_then", {"hooks": [{"name": "x", "when": {"type": "promptSubmit"}, "then": ASKS}]}),
    (
        "modern",
        {
            "name": "x",
            "filePatterns": [],
            "eventType": "agentStop",
            "action": {"type": "runCommand", "command": "npx a"},
        },
    ),
    ("per_file", {"_description": "for people", "type": "Stop", "command": "x", "env": {"A": "b"}}),
    ("per_file", {"hooks": {"PreToolUse": [{"hooks": [{"command": "x"}]}]}}),
)


@pytest.mark.parametrize(("name", "document"), RIGHT)
def test_what_the_reader_takes_the_schema_takes(name: str, document: object) -> None:
    assert _objections(CASES[name], document) == []
    assert [error.message for error in _validator(name).iter_errors(document)] == []


def _texts(value: object, name: str) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from (value[name] for _ in [0] if name in value)
        for part in value.values():
            yield from _texts(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, name)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_key_of_a_reader_is_described(name: str) -> None:
    known = [keys for keys in _texts(schema(name, WORDS), "properties") if isinstance(keys, Mapping)]

    for key, meaning in CASES[name].keys.items():
        described = [keys[key] for keys in known if key in keys and keys[key].get("description") == meaning.about]
        assert described, key
        assert meaning.about.endswith((".", '".'))


@pytest.mark.parametrize("table", [grouped.GROUP_KEYS, ollm.WHEN, ollm.ACTION])
def test_every_key_inside_a_hook_is_described_too(table: Mapping[str, Key]) -> None:
    assert all(key.about for key in table.values())


def test_every_setting_is_in_the_schema() -> None:
    (tables,) = [value for value in [schema("native", WORDS)["properties"]] if isinstance(value, dict)]

    assert set(tables) == set(native.TABLES)
    assert set(tables["settings"]["properties"]) == set(settings.KEYS)
    assert "$schema" in ollm.WRAPPER_KEYS


@pytest.mark.parametrize(
    ("name", "dialect"), [("grouped:cli-agent", "cli-agent"), ("grouped:ollama-cli", "ollama-cli")]
)
def test_editors_are_offered_the_events_of_the_agent_with_what_they_are(name: str, dialect: str) -> None:
    (events,) = [value for value in _texts(schema(name, WORDS), "hooks") if "patternProperties" in dict(value)]  # type: ignore[call-overload]
    offered = {event: described["description"] for event, described in events["properties"].items()}  # type: ignore[index]

    assert set(WORDS.names[dialect]) <= set(offered)
    assert offered["PreToolUse"] == "a tool is about to run (before_tool)"


# documents and seeds


def _blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for text in re.findall(
            rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            yield page.name, text


def _name_of(value: object) -> str:
    if isinstance(value, Mapping) and isinstance(value.get("hooks"), Mapping):
        return "grouped"
    if isinstance(value, Mapping) and "when" in value:
        return "when_then"
    if isinstance(value, Mapping) and "eventType" in value:
        return "modern"
    return "per_file" if isinstance(value, Mapping) and "matcher" in value else ""


def _examples() -> Iterator[tuple[str, str, object]]:
    for page, text in _blocks("toml"):
        tables = tomllib.loads(text)
        if "hook" in tables:
            yield page, "native", tables
    for page, text in _blocks("json"):
        value = jsonc.parse(text).value
        if name := _name_of(value):
            yield page, name, value


def _is_read(name: str, document: object) -> bool:
    cases = [case for other, case in CASES.items() if other.startswith(name)]
    return any(not _objections(case, document) for case in cases)


def test_every_example_in_the_documents_is_as_valid_as_it_is_right() -> None:
    examples = list(_examples())

    # a page about mistakes shows some
    wrong = [
        (page, name) for page, name, value in examples if _is_read(name, value) != _validator(name).is_valid(value)
    ]
    assert wrong == []
    assert {"native", "grouped", "when_then", "modern", "per_file"} <= {
        name for page, name, value in examples if page == "formats.md" and _is_read(name, value)
    }


def test_every_key_of_ours_is_on_the_page_about_formats() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")

    assert [key for key in native.KEYS if f"`{key}`" not in page] == []


# as the documents of the other systems show them
SEEDS: tuple[tuple[str, object], ...] = (
    (
        "ollm",
        {
            "id": "my-hook",
            "name": "My Hook",
            "command": "node",
            "args": ["hook.js"],
            "source": "user",
            "event": "before_model",
        },
    ),
    (
        "when_then",
        {
            "name": "Lint on Save",
            "when": {"type": "fileEdited", "patterns": ["*.ts"]},
            "then": {"type": "askAgent", "prompt": "Run linting"},
        },
    ),
    (
        "modern",
        {
            "id": "lint-on-save",
            "name": "Lint on Save",
            "eventType": "fileEdited",
            "filePatterns": ["*.ts"],
            "action": {"type": "askAgent", "prompt": "Run linting on {{file.path}}"},
            "trusted": False,
            "enabled": True,
        },
    ),
    (
        "grouped:ollama-cli",
        {
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "bash|shell",
                        "hooks": [{"type": "command", "command": "python .ollama/hooks/policy.py"}],
                    }
                ],
                "SessionStart": [{"hooks": [{"type": "python", "module": "greeting", "function": "start"}]}],
            }
        },
    ),
    (
        "grouped:cli-agent",
        {
            "hooks": {
                "PostToolUse": [
                    {
                        "matcher": "write_file|replace_in_file",
                        "hooks": [{"type": "command", "command": "black '{{tool_args.file_path}}'", "timeout": 15}],
                    }
                ]
            }
        },
    ),
    (
        "per_file",
        {"matcher": "*", "command": "echo '{{message}}'", "timeout": 5, "working_directory": "/srv", "env": {}},
    ),
)


@pytest.mark.parametrize(("name", "document"), SEEDS)
def test_examples_of_the_other_systems_are_valid(name: str, document: object) -> None:
    assert [error.message for error in _validator(name).iter_errors(document)] == []
    assert _objections(CASES[name], document) == []


@pytest.mark.parametrize(
    ("hook", "fits"),
    [
        ({"judge": "Is it safe?", "model": "ollama:x"}, True),
        ({"judge": "Is it safe?"}, False),
        ({"run": "x", "model": "ollama:x"}, False),
        ({"run": "x", "budget": "1/day"}, False),
        ({"mcp": "server/tool", "arguments": {}}, True),
        ({"run": "x", "arguments": {}}, False),
    ],
)
def test_schema_knows_which_keys_need_another(hook: dict[str, object], *, fits: bool) -> None:
    document = {"hook": [{"on": "before_tool", **hook}]}

    assert Draft202012Validator(schema("native", WORDS)).is_valid(document) is fits
