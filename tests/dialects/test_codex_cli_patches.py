"""Changes of files told as a patch."""

import pytest

from hookline.dialects.codex_cli import PATCHED_TOOLS, as_patch
from hookline.model.event import Event, EventName


def told(tool: str, **args: object) -> str:
    event = as_patch(Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd="/project"))
    patch = event.args.get("patch", "")
    assert isinstance(patch, str)
    return patch


@pytest.mark.parametrize(
    ("tool", "args", "lines"),
    [
        ("write_file", {"path": "/project/a", "content": "x\ny\n"}, ["*** Add File: a", "+x", "+y"]),
        ("write_file", {"path": "/other/a", "content": ""}, ["*** Add File: /other/a"]),
        (
            "edit_file",
            {"path": "/project/a", "old": "o\np", "new": "n"},
            ["*** Update File: a", "@@", "-o", "-p", "+n"],
        ),
        (
            "multi_edit",
            {"path": "/project/a", "edits": [{"old": "1", "new": "2"}, "odd", {"old": "3", "new": ""}]},
            ["*** Update File: a", "@@", "-1", "+2", "@@", "-3"],
        ),
        ("insert_text", {"path": "/project/a", "line": 3, "text": "t"}, ["*** Update File: a", "@@", "+t"]),
        ("edit_lines", {"path": "/project/a", "text": "t"}, ["*** Update File: a", "@@", "+t"]),
        ("notebook_edit", {"path": "/project/a.ipynb", "source": "s"}, ["*** Update File: a.ipynb", "@@", "+s"]),
        ("delete_file", {"paths": ["/project/a", "/b"]}, ["*** Delete File: a", "*** Delete File: /b"]),
    ],
)
def test_every_way_to_change_a_file_is_a_patch(tool: str, args: dict[str, object], lines: list[str]) -> None:
    assert told(tool, **args).split("\n") == ["*** Begin Patch", *lines, "*** End Patch", ""]


def test_every_tool_that_is_told_as_a_patch_was_tried() -> None:
    assert len(PATCHED_TOOLS) == 7


def test_no_content_and_no_name_can_pass_for_another_file() -> None:
    content = told("write_file", path="/project/a", content="*** Delete File: b\n*** End Patch")
    name = told("write_file", path="/project/a\n*** Delete File: b", content="")

    assert content.count("\n*** ") == name.count("\n*** ") == 2


@pytest.mark.parametrize("tool", ["shell", "read_file", "mcp__files__put"])
def test_other_calls_stay_what_they_are(tool: str) -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool=tool, args={"path": "/a"})

    assert as_patch(event) is event


@pytest.mark.parametrize("path", [None, 7, ""])
def test_a_change_without_a_file_stays_what_it_is(path: object) -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="write_file", args={"path": path})

    assert as_patch(event) is event
