import pytest

from hookline import Engine
from hookline.dialects import DIALECTS
from hookline.effects.effects import EVERYTHING, MOST, Effects
from hookline.effects.tools import find_effects
from hookline.model.event import Event, EventName
from tests.effects.calls import call, done, texts

PATCH = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n*** Delete File: c\n*** End Patch"


def vague(*kinds: str) -> frozenset[str]:
    return frozenset(kinds)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (call("write_file", path="a", content="x"), Effects(writes=("/p/a",))),
        (call("write_file", path="/x/../a"), Effects(writes=("/a", "/x/../a"))),
        (call("write_file", path="~/a"), Effects(writes=("~/a",))),
        (call("edit_file", path="a", old="x", new="y"), Effects(writes=("/p/a",), reads=("/p/a",))),
        (call("multi_edit", path="a", edits=[]), Effects(writes=("/p/a",), reads=("/p/a",))),
        (call("insert_text", path="a", line=1, text="x"), Effects(writes=("/p/a",), reads=("/p/a",))),
        (call("edit_lines", path="a", first=1, last=2, text="x"), Effects(writes=("/p/a",), reads=("/p/a",))),
        (call("notebook_edit", notebook_path="a.ipynb"), Effects(writes=("/p/a.ipynb",), reads=("/p/a.ipynb",))),
        (call("edit_file", target="a"), Effects(unknown=vague("writes", "reads"))),
        (call("delete_file", paths=["a", "b"]), Effects(writes=("/p/a", "/p/b"), deletes=("/p/a", "/p/b"))),
        (call("delete_file"), Effects(unknown=vague("writes", "deletes"))),
        (call("apply_patch", patch=PATCH), Effects(writes=("/p/a", "/p/b", "/p/c"), deletes=("/p/a", "/p/c"))),
        (call("apply_patch", input=PATCH), Effects(writes=("/p/a", "/p/b", "/p/c"), deletes=("/p/a", "/p/c"))),
        (
            call("apply_patch", changes=[{"op": "move", "path": "a", "to": "b"}, 5]),
            Effects(writes=("/p/a", "/p/b"), deletes=("/p/a",)),
        ),
        (call("apply_patch", patch="rubbish"), Effects(unknown=vague("writes", "deletes"))),
        (call("apply_patch", patch="rubbish", path="a"), Effects(writes=("/p/a",), unknown=vague("writes", "deletes"))),
        (call("apply_patch"), Effects(unknown=vague("writes", "deletes"))),
        (call("read_file", path="a"), Effects(reads=("/p/a",))),
        (call("read_files", paths=["a", "b"]), Effects(reads=("/p/a", "/p/b"))),
        (call("read_file"), Effects(unknown=vague("reads"))),
        (call("list_dir"), Effects(reads=("/p",))),
        (call("list_dir", path="src"), Effects(reads=("/p/src",))),
        (call("glob", pattern="**/*.py"), Effects(reads=("/p",))),
        (call("glob", pattern="../**"), Effects(reads=("/p",), unknown=vague("reads"))),
        (call("glob", pattern="/etc/*"), Effects(reads=("/p",), unknown=vague("reads"))),
        (call("grep", pattern="x", path="src"), Effects(reads=("/p/src",), unknown=vague("reads"))),
        (call("web_fetch", urls=["https://a.b/c"]), Effects(urls=("https://a.b/c",))),
        (
            call("web_fetch", url="https://a.b/c", save_to="x"),
            Effects(urls=("https://a.b/c",), writes=("/p/x",)),
        ),
        (
            call("web_fetch", prompt="compare https://a.b/c and http://d.e."),
            Effects(urls=("https://a.b/c", "http://d.e")),
        ),
        (call("web_fetch", prompt="nothing"), Effects(unknown=vague("urls"))),
        (
            call("web_fetch", urls=["file:///etc/passwd"]),
            Effects(urls=("file:///etc/passwd",), reads=("/etc/passwd",), unknown=vague("urls", "reads")),
        ),
        (call("mcp_resource", uri="file:///a%20b"), Effects(reads=("/a b",), unknown=vague("reads", "urls"))),
        (call("read_files", paths=["a", "**/*.key"]), Effects(reads=("/p/a", "/p/**/*.key"), unknown=vague("reads"))),
        (call("read_file", path="{a,.env}"), Effects(reads=("/p/{a,.env}",), unknown=vague("reads"))),
        (call("write_file", path="/proc/self/cwd/a"), Effects(writes=("/proc/self/cwd/a",), unknown=vague("writes"))),
        (
            call("read_file", path="/dev/fd/../cwd/a"),
            Effects(reads=("/dev/cwd/a", "/dev/fd/../cwd/a"), unknown=vague("reads")),
        ),
        (
            call("apply_patch", path="a", patch=["*** Begin Patch"]),
            Effects(writes=("/p/a",), unknown=vague("writes", "deletes")),
        ),
        (
            call("apply_patch", path="a", changes={".env": "x"}),
            Effects(writes=("/p/a",), unknown=vague("writes", "deletes")),
        ),
        (call("other:todo", path="a"), Effects(writes=("/p/a",), reads=("/p/a",), unknown=EVERYTHING)),
        (call("web_search", query="x"), Effects()),
        (call("todo", items=[]), Effects()),
        (call("ask_user"), Effects()),
        (call("plan_mode"), Effects()),
        (call("tool_search"), Effects()),
        (call("shell_control", action="stop"), Effects()),
        (call("shell_control", action="send"), Effects(unknown=EVERYTHING)),
        (call("shell_input", text="rm x"), Effects(runs=("rm x",), unknown=EVERYTHING)),
        (
            call("code", source="fetch('https://a.b')"),
            Effects(runs=("fetch('https://a.b')",), urls=("https://a.b",), unknown=EVERYTHING),
        ),
        (call("subagent", prompt="see https://a.b"), Effects(urls=("https://a.b",), unknown=EVERYTHING)),
        (call("agent_message", text="x"), Effects(unknown=EVERYTHING)),
        (call("schedule", prompt="x"), Effects(unknown=EVERYTHING)),
        (call("skill", args="x"), Effects(unknown=EVERYTHING)),
        (call("worktree", path="../w"), Effects(writes=("/w", "/p/../w"), unknown=EVERYTHING)),
        (
            call(
                "mcp__fs__put",
                file={"uri": "file:///a"},
                more=[{"to": "b/c"}],
                url="https://a.b",
                size=5,
                text="a\nb/c",
            ),
            Effects(writes=("/a", "/p/b/c"), reads=("/a", "/p/b/c"), urls=("https://a.b",), unknown=EVERYTHING),
        ),
        (call("no_such_tool", file="a"), Effects(writes=("/p/a",), reads=("/p/a",), unknown=EVERYTHING)),
        (
            call("no_such_tool", command="rm a"),
            Effects(runs=("rm a",), writes=("/p/a",), deletes=("/p/a",), unknown=EVERYTHING),
        ),
    ],
    ids=lambda value: f"{value.tool} {dict(value.args)}"[:60] if isinstance(value, Event) else "",
)
def test_tool_does_this(event: Event, expected: Effects) -> None:
    assert texts(find_effects(event)) == expected


@pytest.mark.parametrize("name", [EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST])
def test_effects_are_told_at_every_event_of_a_call(name: EventName) -> None:
    assert find_effects(call("write_file", name=name, path="a")).writes == ("/p/a",)


def test_file_events_say_what_happened_to_the_file() -> None:
    edited, deleted = (
        texts(find_effects(Event(name=name, data={"path": "a"}, cwd="/p")))
        for name in (EventName.FILE_EDITED, EventName.FILE_DELETED)
    )

    assert edited == Effects(writes=("/p/a",))
    assert deleted == Effects(writes=("/p/a",), deletes=("/p/a",))


def test_other_events_do_nothing() -> None:
    assert texts(find_effects(Event(name=EventName.BEFORE_AGENT, data={"path": "a"}))) == Effects()
    assert texts(find_effects(Event(name=EventName.GIT_COMMIT, data={"files": ["a"]}))) == Effects()


def test_permission_for_something_that_is_no_tool_may_be_for_anything() -> None:
    assert find_effects(Event(name=EventName.PERMISSION_REQUEST, data={"operation": "deploy"})).opaque


def test_path_stays_relative_where_nobody_knows_the_folder() -> None:
    assert find_effects(Event(name=EventName.BEFORE_TOOL, tool="write_file", args={"path": "a/../b"})).writes[0] == "b"


def test_arguments_without_end_are_looked_at_for_a_while() -> None:
    deep: object = "a/b"
    for _ in range(200):
        deep = [deep]

    assert done("mcp__a__b", x=deep).opaque
    assert len(done("mcp__a__b", x=[f"/x/{number}" for number in range(5000)]).writes) == MOST


def test_effects_are_told_to_conditions_as_plain_values() -> None:
    assert done("delete_file", paths=["a"]).as_dict() == {
        "runs": [],
        "writes": ["/p/a"],
        "deletes": ["/p/a"],
        "reads": [],
        "urls": [],
        "opaque": False,
        "unknown": [],
    }


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_writing_tool_is_known_under_the_names_of_every_dialect(name: str) -> None:
    engine = Engine(cwd="/p")
    for native in DIALECTS[name].SPEC.tools.get("write_file", ()):
        event = engine.event("before_tool", tool=native, args={"file_path": "a"})

        assert "/p/a" in find_effects(event).writes, native
    engine.close_sync()


@pytest.mark.parametrize(
    ("event", "unknown", "writes"),
    [
        (call("shell_control", action=["stop"]), EVERYTHING, ()),
        (call("apply_patch", changes=[{"op": {"a": 1}, "path": "a.py"}]), frozenset(), ("/p/a.py",)),
    ],
)
def test_argument_of_another_type_is_no_error(event: Event, unknown: frozenset[str], writes: tuple[str, ...]) -> None:
    found = find_effects(event)

    assert (found.unknown, found.writes) == (unknown, writes)
