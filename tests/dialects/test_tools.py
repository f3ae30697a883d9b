"""Tools and arguments under a system's own names."""

import pytest

from hookline.dialects import DIALECTS
from hookline.dialects._tools import ONE_EDIT, ToolMap, ToolRow, UnsupportedRewriteError, edits, tool_map
from hookline.dialects.ollm import TOOL_ROWS
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook
from hookline.model.verdict import Effect, EffectKind, Outcome

OLLM = tool_map(*TOOL_ROWS)


def call(tool: str, native: str = "", **args: object) -> Event:
    return Event(name=EventName.BEFORE_TOOL, tool=tool, native_tool=native, args=args)


@pytest.mark.parametrize(
    ("event", "native"),
    [
        (call("read_file", startLine=4, offset=1), {"startLine": 4, "offset": 1}),
        (call("read_file", offset="x", limit=3), {"startLine": "x", "endLine": 3}),
        (call("read_file", offset=True, limit=3), {"startLine": True, "endLine": 3}),
        (call("read_file", offset=0, limit=3), {"startLine": 0, "endLine": 3}),
        (call("shell", timeout=0.1), {"timeout": 100}),
        (call("shell", timeout="x"), {"timeout": "x"}),
        (call("shell", timeout=float("inf")), {"timeout": float("inf")}),
        (call("write_file", mode="create", overwrite=1), {"mode": "create", "overwrite": 1}),
        (call("write_file", mode=["x"]), {"mode": ["x"]}),
        (call("multi_edit", edits="x"), {"edits": "x"}),
        (call("multi_edit", edits=[{"old": 1}, "x"]), {"edits": [{"target": 1}, "x"]}),
        (call("edit_file", edits=[], old=1), {"edits": [], "old": 1}),
        (call("web_fetch", urls=["a"], url="b"), {"url": "a", "urls": "b"}),
        (call("web_fetch", urls=[1]), {"urls": [1]}),
    ],
)
def test_odd_arguments_are_handed_on(event: Event, native: dict[str, object]) -> None:
    assert OLLM.encode(event)[1] == native


@pytest.mark.parametrize(
    ("name", "native", "args"),
    [
        ("read_file", {"offset": 4, "endLine": 9}, {"offset": 4, "endLine": 9}),
        ("read_file", {"startLine": 4, "endLine": 2}, {"offset": 4, "limit": 2}),
        ("shell", {"timeout": 1e300}, {"timeout": 1e300}),
        ("web_fetch", {"url": "evil", "urls": ["good"]}, {"urls": ["evil"], "url": ["good"]}),
        ("web_fetch", {"url": 5}, {"url": 5}),
        ("write_file", {"overwrite": True, "mode": "append"}, {"overwrite": True, "mode": "append"}),
    ],
)
def test_odd_arguments_are_understood(name: str, native: dict[str, object], args: dict[str, object]) -> None:
    assert OLLM.decode(name, native)[1] == args


def test_foreign_name_of_a_tool_is_not_shown_to_hooks() -> None:
    assert OLLM.encode(call("shell", native="Bash", command="ls")) == ("shell", {"command": "ls"})
    assert OLLM.encode(call("deploy", native="builtin:deploy")) == ("builtin:deploy", {})


def test_name_that_is_only_a_prefix_stays() -> None:
    assert OLLM.decode("builtin:", {}) == ("builtin:", {}, "")


def test_change_to_several_edits_does_not_fit_one() -> None:
    row = ToolRow("edit_file", ("e",), codecs=(ONE_EDIT, edits({})))

    assert row.to_canonical({"path": "a", "edits": [{"old": 1, "new": 2}]}) == {"path": "a", "old": 1, "new": 2}
    several: tuple[object, ...] = ([], [{}, {}], "x", None)
    for given in several:
        with pytest.raises(UnsupportedRewriteError):
            row.to_canonical({"edits": given})


def test_outcome_s_final_arguments_win_over_its_effects() -> None:
    effects = (Effect(EffectKind.REWRITE, "a", ("args", "command")), Effect(EffectKind.REWRITE, 1, ("args",)))
    event = call("shell", command="x")

    assert ToolMap({}, {}).changed_args(Outcome(effects=effects), event) == {"command": "a"}
    assert ToolMap({}, {}).changed_args(Outcome(effects=effects, args={"command": "b"}), event) == {"command": "b"}
    assert ToolMap({}, {}).changed_args(Outcome(), event) == {}


def test_change_from_true_to_1_is_a_change() -> None:
    assert ToolMap({}, {}).rewrite_effects(call("x", on=True), {"on": 1}) == (
        Effect(EffectKind.REWRITE, 1, ("args", "on")),
    )


@pytest.mark.parametrize("native", ["bash", "Bash", "BASH", "shell_exec", "builtin:bash", "run_shell_command"])
def test_policy_of_the_document_sees_the_name_it_tests_for(native: str) -> None:
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", native_tool=native, args={"command": "rm -rf /"})
    document = DIALECTS["ollama-cli"].encode_event(event, Hook(id="h", command="x")).document

    assert isinstance(document, dict)
    assert (document["tool"], document["command"]) == ("bash", "rm -rf /")
