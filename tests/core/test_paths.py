import pytest

from hookline import Engine
from hookline.core import paths
from hookline.dialects import DIALECTS
from hookline.model.event import Event, EventName


def call(tool: str, **args: object) -> Event:
    return Event(name=EventName.BEFORE_TOOL, tool=tool, args=args)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Event(name=EventName.FILE_DELETED, data={"path": "a"}), ("a",)),
        (Event(name=EventName.FILE_DELETED, data={"path": None}), ()),
        (Event(name=EventName.GIT_COMMIT, data={"files": ["a", 5, "b", ""]}), ("a", "b")),
        (Event(name=EventName.BEFORE_AGENT, data={"path": "a"}), ()),
        (call("read_file", path="a"), ("a",)),
        (call("read_files", paths=("a", "b", "a")), ("a", "b")),
        (call("notebook_edit", notebook_path="a.ipynb"), ("a.ipynb",)),
        (call("apply_patch", changes=[{"path": "a", "to": "b"}, 5, {"path": "c"}]), ("a", "b", "c")),
        (call("apply_patch", changes="a"), ()),
        (call("write_file", path=b"a"), ()),
        (call("shell", command="cat a"), ()),
    ],
)
def test_event_names_its_files(event: Event, expected: tuple[str, ...]) -> None:
    assert paths.named(event) == expected


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (call("write_file", path="a"), ("a",)),
        (call("write_file"), None),
        (call("apply_patch", patch="*** Begin Patch"), None),
        (call("read_file", path="a"), ()),
        (call("shell", command="ls"), None),
        (call("mcp__a__read", path="a"), None),
        (call("read_file_and_more", path="a"), None),
        (call("web_fetch", urls=["x"], save_to="a"), None),
        (Event(name=EventName.FILE_CREATED, data={"path": "a"}), ("a",)),
        (Event(name=EventName.BEFORE_MODEL), ()),
    ],
)
def test_only_tools_that_are_known_to_read_write_nothing(event: Event, expected: tuple[str, ...] | None) -> None:
    assert paths.written(event) == expected


def test_no_tool_both_reads_only_and_writes() -> None:
    assert paths.READERS.isdisjoint(paths.WRITERS)


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_writing_tool_is_known_under_the_names_of_every_dialect(name: str) -> None:
    engine = Engine()
    for tool in ("write_file", "edit_file"):
        for native in DIALECTS[name].SPEC.tools.get(tool, ()):
            event = engine.event("before_tool", tool=native, args={"file_path": "a"})

            assert paths.written(event) == ("a",), native
    engine.close_sync()
