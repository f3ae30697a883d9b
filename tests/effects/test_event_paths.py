import pytest

from hookline.effects import event_paths
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
        (call("apply_patch", patch="*** Begin Patch\n*** Delete File: a\n*** End Patch"), ("a",)),
        (call("apply_patch", patch="*** Begin Patch\n*** nonsense\n*** End Patch"), ()),
        (call("write_file", path=b"a"), ()),
        (call("shell", command="cat a"), ()),
    ],
)
def test_event_names_its_files(event: Event, expected: tuple[str, ...]) -> None:
    assert event_paths.list_event_paths(event) == expected
