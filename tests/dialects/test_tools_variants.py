"""One name for several tools, several names for one argument, one value where we have a list."""

from hookline.dialects import _tools
from hookline.dialects._tools import ToolRow, one_of, tool_map
from hookline.model.event import Event, EventName
from hookline.model.verdict import Outcome

TOOLS = tool_map(
    ToolRow("write_file", ("Write",), keys={"path": "file_path"}, also={"contents": "content", "file": "path"}),
    ToolRow("edit_file", ("Write",), keys={"path": "file_path"}, when=lambda args: "old" in args),
    ToolRow("delete_file", ("Delete",), codecs=(one_of("paths", "path"),)),
)


def rewritten(said: object, args: dict[str, object], *, name: str = "Write") -> object:
    call = _tools.normalise_call(TOOLS, name, said, cwd="/p")
    event = Event(
        name=EventName.BEFORE_TOOL,
        tool=call.tool,
        args=call.args,
        native_tool=call.native_tool,
        native_args=said,
        cwd="/p",
    )
    return _tools.apply_rewrite(TOOLS, Outcome(args={**call.args, **args}), event)


def test_arguments_say_which_tool_is_meant() -> None:
    assert TOOLS.decode("Write", {"file_path": "a", "old": "x"})[0] == "edit_file"
    assert TOOLS.decode("write", {"file_path": "a"})[0] == "write_file"
    assert TOOLS.names_by_tool() == {"write_file": ("Write",), "edit_file": ("Write",), "delete_file": ("Delete",)}


def test_every_spelling_of_an_argument_is_understood() -> None:
    for said in ({"file_path": "a", "content": "x"}, {"path": "a", "contents": "x"}, {"file": "a", "content": "x"}):
        assert TOOLS.decode("Write", said)[1] == {"path": "a", "content": "x"}


def test_a_change_goes_where_the_agent_said_the_argument() -> None:
    assert rewritten({"path": "a", "contents": "x"}, {"content": "y"}) == {"path": "a", "contents": "y"}
    assert rewritten({"file": "a", "content": "x"}, {"path": "/b"}) == {"file": "/b", "content": "x"}
    assert rewritten({"file_path": "a", "content": "x"}, {"path": "/b"}) == {"file_path": "/b", "content": "x"}
    assert rewritten({"file_path": "a", "old": "x"}, {"old": "y"}) == {"file_path": "a", "old": "y"}


def test_two_spellings_at_once_are_not_mixed_up() -> None:
    assert TOOLS.decode("Write", {"content": "x", "contents": "y"})[1] == {"content": "x", "contents": "y"}


def test_one_value_stands_for_a_list_of_one() -> None:
    assert TOOLS.decode("Delete", {"path": "a"})[1] == {"paths": ["a"]}
    assert rewritten({"path": "a"}, {"paths": ["/b"]}, name="Delete") == {"path": "/b"}
    assert rewritten({"path": "a"}, {"paths": ["/b", "/c"]}, name="Delete") == {"paths": ["/b", "/c"]}


def test_a_plain_value_stays_one_unless_the_change_has_a_name() -> None:
    tools = tool_map(
        ToolRow("apply_patch", ("patch",), keys={"patch": _tools.PLAIN}),
    )
    call = _tools.normalise_call(tools, "patch", "a", cwd="")
    event = Event(
        name=EventName.BEFORE_TOOL, tool=call.tool, args=call.args, native_tool=call.native_tool, native_args="a"
    )

    assert _tools.apply_rewrite(tools, Outcome(args={"patch": "b"}), event) == "b"
    assert _tools.apply_rewrite(tools, Outcome(args={"patch": "a", "strict": True}), event) == {
        _tools.PLAIN: "a",
        "strict": True,
    }
