import pytest

from hookline.debug.samples import DATA, TOOLS, sample
from hookline.dialects import DIALECTS
from hookline.engine.engine import Engine
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.hook import Hook
from hookline.model.plan import Gate
from tests.helpers.each import each


def fitting(hook: Hook, name: str) -> tuple[Event, bool]:
    engine = Engine(cwd="/work")

    def fits(event: Event) -> bool:
        wanted = {Gate.MATCHER, Gate.FILES, Gate.WRITES}
        return all(result.passed for result in engine.planner.gates(hook, event) if result.gate in wanted)

    event = sample(name, cwd="/work", hook=hook, fits=fits)
    return event, fits(event)


@pytest.mark.parametrize("name", list(EventName))
def test_every_event_has_a_sample_with_fields_that_the_event_knows(name: EventName) -> None:
    event = sample(name)

    assert event.name is name
    assert set(DATA[name]) <= set(EVENTS[name].fields)
    assert not EVENTS[name].subject or event.subject
    assert bool(event.tool) is (EVENTS[name].subject == "tool")


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@each("name", list(EventName))
def test_every_sample_can_be_said_to_a_hook_of_every_dialect(name: EventName, dialect: str) -> None:
    spoken = DIALECTS[dialect]
    body = spoken.encode_event(sample(name), Hook(id="one", command="x")).body

    said = spoken.SPEC.events.get(name, name)
    assert spoken.decode_event(body, said).name in {name, *_sharing(dialect, name)}


def _sharing(dialect: str, name: EventName) -> set[EventName]:
    events = DIALECTS[dialect].SPEC.events
    return {one for one, native in events.items() if native == events.get(name)}


def test_every_canonical_tool_has_arguments() -> None:
    assert {tool for dialect in DIALECTS.values() for tool in dialect.SPEC.tools} - {"other"} <= set(TOOLS)


@pytest.mark.parametrize(
    ("fields", "event", "tool"),
    [
        ({}, "before_tool", "shell"),
        ({"matcher": "edit_file|write_file"}, "before_tool", "write_file"),
        ({"matcher": "Bash", "dialect": "cli-agent"}, "after_tool", "shell"),
        ({"matcher": "mcp__github__*"}, "before_tool", "mcp__github__example"),
        ({"matcher": "mcp__.*__deploy", "dialect": "ollama-cli"}, "before_tool", "mcp__example__deploy"),
        ({"matcher": "^(launch|land)$", "dialect": "ollm"}, "before_tool", "launch"),
        ({"matcher": "deploy_tool"}, "before_tool", "deploy_tool"),
    ],
)
def test_tool_call_fits_the_matcher(fields: dict[str, str], event: str, tool: str) -> None:
    made, fits = fitting(Hook(id="one", command="x", on=event, **fields), event)  # type: ignore[arg-type]

    assert fits
    assert made.tool == tool


@pytest.mark.parametrize(
    "pattern", ["*.ts", "src/**", "docs/", "**/*.test.js", "/secrets/key?.pem", "lib/[ab]*.c", "Makefile", "a/**/b.txt"]
)
@pytest.mark.parametrize("event", ["file_edited", "before_tool", "git_commit"])
def test_sample_is_about_a_file_the_hook_wants(pattern: str, event: str) -> None:
    _, fits = fitting(Hook(id="one", command="x", on=event, files=(pattern,)), event)

    assert fits


def test_tool_call_may_write_what_the_hook_waits_for() -> None:
    hook = Hook(id="one", command="x", on="before_tool", writes=(".env",), matcher="write_file")

    event, fits = fitting(hook, "before_tool")

    assert fits
    assert (event.tool, event.args["path"]) == ("write_file", ".env")


def test_custom_event_and_hook_started_by_hand_carry_their_names() -> None:
    hook = Hook(id="one", name="Tidy up", command="x", on="user_triggered")

    assert sample("custom:deploy").data["event_name"] == "deploy"
    assert sample("user_triggered", hook=hook).data["hook"] == "Tidy up"


def test_matcher_of_another_event_takes_its_words() -> None:
    event, fits = fitting(Hook(id="one", command="x", on="notification", matcher="error|warning"), "notification")

    assert fits
    assert event.data["type"] == "error"


def test_hook_that_nothing_fits_gets_the_plainest_sample() -> None:
    event, fits = fitting(Hook(id="one", command="x", on="before_agent", matcher="never"), "before_agent")

    assert not fits
    assert event.data == DATA[EventName.BEFORE_AGENT]
