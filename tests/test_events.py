"""Typed events: the classes have the fields of the table, functions get them, and mypy knows their types."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from hookline import Engine, EventName, Outcome
from hookline.errors import ConfigError
from hookline.events import TYPED_EVENTS, AfterAgent, BeforeTool, SessionEnd, TypedEvent
from hookline.model.event import EVENTS
from hookline.testing import before_tool, session_end

pytestmark = pytest.mark.spec("U-19")


def test_classes_have_the_fields_of_the_table() -> None:
    assert {name: tuple(kind.fields) for name, kind in TYPED_EVENTS.items()} == {
        name: spec.fields for name, spec in EVENTS.items()
    }


def test_call_has_its_command_files_and_effects() -> None:
    event = BeforeTool(before_tool("Bash", command="cat a > b", cwd="/repo"))

    assert (event.tool, event.command, event.cwd) == ("shell", "cat a > b", "/repo")
    assert (event.effects.writes, set(event.files)) == (("/repo/b",), {"/repo/a", "/repo/b"})
    assert SessionEnd(session_end(duration="1.5")).duration == 1.5
    assert SessionEnd(session_end(duration=None)).duration == 0.0


def test_annotated_functions_get_typed_events() -> None:
    engine, seen = Engine(), list[str]()

    @engine.on.before_tool(runs=["rm"])
    def guard(event: BeforeTool) -> str:
        return f"deny: {event.command}"

    @engine.on(BeforeTool)
    async def log(event: "BeforeTool") -> None:
        seen.append(event.tool)

    @engine.on("before_tool", "after_agent")
    def both(event: BeforeTool | AfterAgent) -> None:
        seen.append(type(event).__name__)

    async def emit() -> Outcome:
        async with engine:
            await engine.emit("after_agent", {"response": "done"})
            return await engine.emit("before_tool", tool="shell", args={"command": "rm x"})

    assert asyncio.run(emit()).reason == "rm x"
    assert seen == ["AfterAgent", "shell", "BeforeTool"]


def test_annotation_for_another_event_and_unknown_events_are_refused() -> None:
    engine = Engine()

    def guard(event: BeforeTool) -> None: ...

    with pytest.raises(ConfigError, match="annotate AfterTool"):
        engine.on.after_tool(guard)
    with pytest.raises(AttributeError, match='did you mean "before_tool"'):
        getattr(engine.on, "befor_tool")  # noqa: B009 - mypy knows that there is none
    with pytest.raises(ConfigError, match="several events"):
        engine.on(TypedEvent)
    assert all(getattr(engine.on, name) for name in EventName)


@pytest.mark.slow
def test_type_checker_knows_fields_and_events(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(
        "from hookline import Engine\nfrom hookline.events import BeforeTool\nengine = Engine()\n"
        "@engine.on.before_tool(tools='shell')\ndef guard(event: BeforeTool) -> bool:\n"
        "    text: str = event.command\n    return not event.effects.deletes and bool(text)\n"
        "number: int = BeforeTool.command\n"
        "def wrong(event: BeforeTool) -> None:\n    event.comand\n    engine.on.befor_tool\n",
        "utf-8",
    )

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(sample)],
        capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path,
    )  # fmt: skip

    lines = [line for line in done.stdout.splitlines() if "error:" in line]
    assert [line.split(":")[1] for line in lines] == ["8", "10", "11"], done.stdout
