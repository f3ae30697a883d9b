import json
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.config import edit, formats
from hookline.config.export import WRITERS, ExportEntry, ExportTarget, file_name, write
from hookline.config.keys import slug
from hookline.config.reader import FileOrigin, KnownNames
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.model.hook import Hook, OnError, Source
from hookline.model.requirements import Caching, Needs
from hookline.wiring import native_names, shell_dialects

WORDS = KnownNames(names=native_names(), shell_dialects=shell_dialects())
# format -> the dialect of its place, the file, and the formats that are tried there
PLACES = {
    "native": ("hookline", "hookline.toml", ("native",)),
    "grouped": ("ollama-cli", "settings.json", ("grouped",)),
    "ollm": ("ollm", "hooks.json", ("grouped", "ollm")),
    "modern": ("ollm", "hooks.json", ("grouped", "ollm")),
    "when_then": ("ollm", "hooks.json", ("grouped", "ollm")),
    "per_file": ("cli-agent", "pre-x.json", ("grouped", "per_file")),
}

TEXTS = st.text("abc xyz\"'\\{}$é\n", min_size=1, max_size=12).filter(lambda text: bool(text.strip()))
NAMES = st.text("abcXYZ- ", min_size=1, max_size=8).filter(lambda name: bool(slug(name)))
REACHED = st.one_of(
    st.builds(lambda line: {"command": line}, TEXTS),
    st.builds(
        lambda line, words: {"command": line, "args": tuple(words)},
        st.sampled_from(["python3", "node"]),
        st.lists(TEXTS, min_size=1, max_size=3),
    ),
    st.just({"module": "a.b", "function": "c"}),
    st.builds(lambda line: {"command": line, "persistent": True}, TEXTS),
    st.builds(lambda method: {"url": "https://x.test/y", "method": method}, st.sampled_from(["POST", "PUT"])),
)
MORE = st.fixed_dictionaries(
    {},
    optional={
        "matcher": st.sampled_from(["shell", "shell|write_file", "^a.*b$", "mcp__.*"]),
        "timeout": st.sampled_from([0.5, 3.0, 60.0]),
        "env": st.dictionaries(st.sampled_from(["A", "B_C"]), TEXTS, min_size=1),
        "on_error": st.sampled_from(list(OnError)),
        "priority": st.integers(0, 500),
        "parallel": st.just(value=True),
        "observe": st.just(value=True),
        "enabled": st.just(value=False),
        "version": st.sampled_from(["1", "1.0.2"]),
        "condition": st.sampled_from(["true", 'args.command.contains("\\"x")']),
        "after": st.sampled_from([("a",), ("a", "b")]),
        "before": st.just(("c",)),
        "once": st.just(value=True),
        "per_minute": st.integers(1, 600),
        "cooldown": st.sampled_from([0.25, 60.0]),
        "debounce": st.sampled_from([0.5, 2.0]),
        "breaker": st.integers(1, 9),
        "retry_after": st.sampled_from([1.0, 90.0]),
        "needs": st.sampled_from([Needs(tools=("git>=2.30",)), Needs(files=("a", "b"), env=("TOKEN",))]),
        "cache": st.sampled_from([Caching(seconds=600.0), Caching(seconds=0.5, by=("args.command",), files=("x",))]),
        "background": st.just(value=True),
    },
)


def hooks(on: st.SearchStrategy[str], dialects: list[str]) -> st.SearchStrategy[Hook]:
    return st.builds(
        lambda name, events, dialect, reached, more: Hook(
            id=slug(name), name=name, on=tuple(events), dialect=dialect, **{**reached, **more}
        ),
        NAMES,
        st.lists(on, min_size=1, max_size=3, unique=True),
        st.sampled_from(dialects),
        REACHED,
        MORE,
    )


def read_back(hook: Hook, name: str) -> tuple[list[Hook], list[str], tuple[str, ...]]:
    """Write a hook, read the text, and give what came back, all problems and what was lost."""
    dialect, path, tried = PLACES[name]
    written = write(hook, name, ExportTarget(dialect=dialect, known_names=WORDS))
    text = ""
    for entry in written.entries:
        change = edit.append if entry.pointer else edit.put
        text = change(text, entry.pointer, entry.value, path=path)
    origin = FileOrigin(path=path, dialect=dialect, source=Source.WORKSPACE, known_names=WORDS)
    found, problems = formats.read(text, origin=origin, formats=tried) if text else ([], [])
    return found, [problem.message for problem in problems], written.losses


def bare(hook: Hook) -> Hook:
    """Take off what is about the file."""
    fresh = Hook(id="", kind="x")
    names = ("source", "layer", "root", "source_path", "source_line", "source_format", "source_pointer", "trusted")
    return replace(hook, on=tuple(sorted(hook.on)), **{name: getattr(fresh, name) for name in names})


EVENTS = st.sampled_from([name.value for name in EventName if name is not EventName.CUSTOM])


@given(hooks(EVENTS, ["hookline", "ollama-cli", "ollm-protocol"]))
def test_every_hook_survives_our_own_format(hook: Hook) -> None:
    found, problems, lost = read_back(hook, "native")

    assert problems == []
    if not lost:
        # a list in our own dialect is one word each, and says so
        is_list = bool(hook.args) and hook.dialect == "hookline"
        assert [bare(one) for one in found] == [bare(replace(hook, shell=False) if is_list else hook)]
    else:
        # some dialects have one name for two events
        assert set(hook.on) < set(found[0].on)


@given(hooks(EVENTS, ["ollm", "hookline"]))
def test_every_hook_survives_ollms_definitions(hook: Hook) -> None:
    found, problems, lost = read_back(hook, "ollm")

    assert problems == []
    assert bare(replace(found[0], on=hook.on)) == bare(hook)
    assert lost or set(found[0].on) == set(hook.on)


@given(hooks(EVENTS, ["ollama-cli"]))
def test_a_grouped_file_carries_every_hook_whose_events_it_knows(hook: Hook) -> None:
    known = {event for events in WORDS.names["ollama-cli"].values() for event in events}

    found, problems, lost = read_back(hook, "grouped")

    assert problems == []
    assert [bare(one) for one in found] == [bare(replace(hook, on=(event,))) for event in hook.on if event in known]
    assert len(lost) == (len(set(hook.on) - known) if set(hook.on) & known else 1)


@pytest.mark.spec("D-14")
@pytest.mark.parametrize("name", ["modern", "when_then"])
def test_a_hook_that_asks_the_agent_survives_both_forms_of_ollms_automation(name: str) -> None:
    hook = Hook(
        id="lint-on-save",
        name="Lint on Save",
        on="file_edited",
        dialect="ollm-rpc",
        prompt="lint {{file.path}}",
        files=("*.py", "!x.py"),
        enabled=False,
    )

    found, problems, lost = read_back(hook, name)

    assert (problems, lost) == ([], ())
    assert [bare(one) for one in found] == [bare(hook)]


@pytest.mark.spec("D-14")
def test_a_legacy_definition_is_written_back_in_the_modern_form() -> None:
    legacy = '{"name": "Lint on Save", "when": {"type": "fileEdited", "patterns": ["*.py"]}, "then": {"type": "askAgent", "prompt": "lint"}}'
    origin = FileOrigin(path="a.json", dialect="ollm", known_names=WORDS)
    [hook], _ = formats.read(legacy, origin=origin, formats=("grouped", "ollm"))

    written = write(hook, "modern", ExportTarget(dialect="ollm", known_names=WORDS, alone=True))

    assert written.losses == ()
    assert written.entries == (
        ExportEntry(
            (),
            {
                "id": "lint-on-save",
                "name": "Lint on Save",
                "eventType": "fileEdited",
                "filePatterns": ["*.py"],
                "action": {"type": "askAgent", "prompt": "lint"},
                "trusted": False,
                "enabled": True,
            },
        ),
    )


def test_one_hook_a_file_is_called_by_its_event() -> None:
    hook = Hook(
        id="guard", name="guard", on=("before_tool", "after_agent"), dialect="cli-agent", command="python3 g.py"
    )

    written = write(hook, "per_file", ExportTarget(dialect="cli-agent", known_names=WORDS))

    assert written.losses == ()
    assert [file_name(hook, entry.event) for entry in written.entries] == ["pre-guard.json", "stop-guard.json"]
    for entry in written.entries:
        origin = FileOrigin(path=file_name(hook, entry.event), dialect="cli-agent", known_names=WORDS)
        [found], problems = formats.read(json.dumps(entry.value), origin=origin, formats=("grouped", "per_file"))
        assert problems == []
        assert (found.id, found.command, PurePath(found.source_path).stem) == (
            "guard",
            hook.command,
            found.source_path[:-5],
        )


LOSSES = [
    ("grouped", {"command": "", "prompt": "look"}, "not written, ask_agent hooks have no place in this format"),
    ("grouped", {"dialect": "hookline"}, "it speaks hookline; hooks in this file are spoken to in ollama-cli"),
    ("grouped", {"on": ("file_edited",)}, "not written, the event file_edited has no name in ollama-cli"),
    ("per_file", {"command": "", "url": "https://x.test"}, "not written, webhook hooks have no place in this format"),
    ("modern", {"on": ("before_agent",), "timeout": 5.0}, "there is no key for timeout"),
    ("modern", {"on": ("file_edited",)}, "commands run at agentStop and promptSubmit only"),
    ("grouped", {"trusted": False, "source": Source.USER}, "there is no key for trusted"),
    ("when_then", {"on": ("before_agent",), "trusted": False, "source": Source.USER}, "there is no key for trusted"),
    ("modern", {"on": ("before_agent",), "command": "make x"}, "not written, runCommand may only run node"),
    ("modern", {"on": ("before_agent",)}, "text that a command prints is added to the conversation"),
    ("modern", {"on": ("before_agent",), "dialect": "cli-agent"}, "there is no key for shell"),
    ("native", {"args": ("x",), "shell": True}, "a shell and separate arguments"),
    ("native", {"dialect": "ollm", "on": ("after_tool",)}, "after_tool stands for tool_failed, too"),
]


@pytest.mark.parametrize(("name", "fields", "reason"), LOSSES)
def test_what_cannot_be_carried_is_said(name: str, fields: dict[str, object], reason: str) -> None:
    base = Hook(id="x", name="x", on="before_tool", dialect="ollama-cli", command="python3 x.py")

    written = write(replace(base, kind="", **fields), name, ExportTarget(dialect=PLACES[name][0], known_names=WORDS))

    assert [one for one in written.losses if reason in one]
    assert all(one.startswith("x: ") for one in written.losses)


@pytest.mark.spec("D-14")
@pytest.mark.parametrize(("stated", "written"), [(None, False), (False, False), (True, True)])
@pytest.mark.parametrize("source", [Source.USER, Source.WORKSPACE])
def test_the_modern_form_is_trusted_only_where_the_old_one_said_so(
    source: Source, *, stated: bool | None, written: bool
) -> None:
    hook = Hook(id="x", on="before_agent", dialect="ollm-rpc", prompt="x", source=source, trusted=stated)

    [entry] = write(hook, "modern", ExportTarget(dialect="ollm", known_names=WORDS)).entries

    assert entry.value["trusted"] is written


@pytest.mark.parametrize(
    ("dialect", "goal", "name", "shell"),
    [
        ("hookline", "cli-agent", "grouped", False),
        ("hookline", "cli-agent", "per_file", False),
        ("cli-agent", "ollama-cli", "grouped", True),
        ("cli-agent", "cli-agent", "grouped", None),
    ],
)
def test_a_line_stays_a_line_for_the_shell_or_none_whatever_the_new_file_makes_of_lines(
    dialect: str, goal: str, name: str, *, shell: bool | None
) -> None:
    hook = Hook(id="x", name="x", on="before_tool", dialect=dialect, command="python3 x.py '$HOME'")

    [entry] = write(hook, name, ExportTarget(dialect=goal, known_names=WORDS)).entries

    inside = entry.value.get("hooks", [entry.value])
    assert isinstance(inside, list)
    assert inside[0].get("shell") is shell


def test_a_function_of_a_program_cannot_be_written() -> None:
    written = write(Hook(id="f", on="stop", call=print), "native", ExportTarget(dialect="hookline", known_names=WORDS))

    assert (written.entries, len(written.losses)) == ((), 1)


def test_hooks_with_the_same_matcher_share_a_group() -> None:
    hook = Hook(id="x", on="before_tool", dialect="ollama-cli", command="x", matcher="Bash")
    document = {"hooks": {"PreToolUse": [{"hooks": []}, {"matcher": "Bash", "hooks": [{}]}]}}

    written = write(hook, "grouped", ExportTarget(dialect="ollama-cli", known_names=WORDS, document=document))

    assert [entry.pointer for entry in written.entries] == [("hooks", "PreToolUse", 1, "hooks")]


def test_nothing_is_added_to_a_file_that_is_one_definition() -> None:
    hook = Hook(id="x", on="before_tool", dialect="ollm", command="x")

    with pytest.raises(ConfigError, match="a file of its own"):
        write(hook, "ollm", ExportTarget(dialect="ollm", known_names=WORDS, document={"id": "y"}))


def test_an_unknown_format_is_named_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match=", ".join(WRITERS)):
        write(Hook(id="x", command="x"), "xml", ExportTarget(dialect="hookline", known_names=WORDS))
