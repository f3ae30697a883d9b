"""A call in words a system does not have is told as the calls it has, and one no is a no to all of it."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline import Engine, Event, Hook, Verdict
from hookline.dialects import DIALECTS
from hookline.engine.call_splitting import MAX_PARTS, equivalent_tools, merge_parts, split_call
from hookline.engine.translator import HookTranslator
from hookline.model.dialect import DialectSpec
from hookline.model.event import EventName
from hookline.model.exchange import Failure, FailureKind
from hookline.model.verdict import Decision

CLI_AGENT = DIALECTS["cli-agent"].SPEC
PATCH = """*** Begin Patch
*** Add File: a.txt
+hello
+world
*** Update File: b.txt
@@ def f
 kept
-old
+new
*** Update File: c.txt
*** Move to: d.txt
@@
-x
+y
*** Delete File: e.txt
*** End Patch
"""


def call(tool: str, **args: object) -> Event:
    return Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, host="codex-cli", native_args=args)


def told(tool: str, spec: DialectSpec = CLI_AGENT, **args: object) -> list[tuple[str, dict[str, object]]]:
    return [(event.tool, dict(event.args)) for event in split_call(call(tool, **args), spec)]


def test_a_patch_is_told_file_by_file_with_both_ends_of_a_move() -> None:
    assert told("apply_patch", patch=PATCH) == [
        ("write_file", {"path": "a.txt", "content": "hello\nworld"}),
        ("edit_file", {"path": "b.txt", "old": "kept\nold", "new": "kept\nnew"}),
        ("edit_file", {"path": "c.txt", "old": "x", "new": "y"}),
        ("write_file", {"path": "d.txt", "content": "y"}),
        ("edit_file", {"path": "e.txt", "old": "", "new": ""}),
    ]


def test_paths_are_whole_where_the_agents_folder_is_known() -> None:
    event = replace(call("apply_patch", patch=PATCH), cwd="/project/sub")
    assert [one.args["path"] for one in split_call(event, CLI_AGENT)][:2] == [
        "/project/sub/a.txt",
        "/project/sub/b.txt",
    ]


def test_what_is_deleted_is_told_so_to_a_system_that_has_a_word_for_it() -> None:
    spec = DialectSpec(name="x", title="x", events={}, tools={"delete_file": ("rm",), "edit_file": ("ed",)})
    assert told("apply_patch", spec, patch=PATCH)[-1] == ("delete_file", {"paths": ["e.txt"]})


@pytest.mark.parametrize(
    ("tool", "args", "parts"),
    [
        ("insert_text", {"path": "a", "line": 3, "text": "t"}, [("edit_file", {"path": "a", "old": "", "new": "t"})]),
        (
            "edit_lines",
            {"path": "a", "first": 1, "last": 2, "text": "t"},
            [("edit_file", {"path": "a", "old": "", "new": "t"})],
        ),
        ("read_files", {"paths": ["a", "b"]}, [("read_file", {"path": "a"}), ("read_file", {"path": "b"})]),
        (
            "delete_file",
            {"paths": ["a", "b"]},
            [
                ("edit_file", {"path": "a", "old": "", "new": ""}),
                ("edit_file", {"path": "b", "old": "", "new": ""}),
            ],
        ),
    ],
)
def test_other_calls_are_told_in_the_words_there_are(
    tool: str, args: dict[str, object], parts: list[tuple[str, dict[str, object]]]
) -> None:
    assert told(tool, CLI_AGENT, **args) == parts


def test_several_edits_are_told_one_by_one_where_there_is_only_one() -> None:
    spec = DialectSpec(name="x", title="x", events={}, tools={"edit_file": ("ed",)})
    edits = [{"old": "a", "new": "b"}, {"old": "c", "new": "d"}]
    assert told("multi_edit", spec, path="f", edits=edits) == [
        ("edit_file", {"path": "f", "old": "a", "new": "b"}),
        ("edit_file", {"path": "f", "old": "c", "new": "d"}),
    ]


@pytest.mark.parametrize(
    "event",
    [
        call("shell", command="ls"),
        call("write_file", path="a", content="b"),
        call("multi_edit", path="a", edits="none"),
        call("read_files", paths="a"),
        call("a tool nobody knows", patch=PATCH),
    ],
)
def test_everything_else_is_told_as_it_is(event: Event) -> None:
    assert split_call(event, CLI_AGENT) == (event,)


@pytest.mark.parametrize(
    ("dialect", "matcher"),
    [
        ("claude-code", "Edit|Write"),
        ("qwen-code", "edit|write_file"),
        ("gemini-cli", "write_file|replace"),
        ("factory-droid", "Create|Edit"),
        ("antigravity", "write_to_file|replace_file_content"),
        ("copilot-cli", "edit|create"),
        ("opencode", "edit|write"),
        ("cursor", "Write"),
        ("kiro", "fs_write"),
        ("windsurf", ""),
    ],
)
def test_a_guard_of_an_agent_sees_every_file_of_another_agents_patch(
    tmp_path: Path, dialect: str, matcher: str
) -> None:
    heard = tmp_path / "heard"

    async def ask() -> None:
        async with Engine() as engine:
            hook = Hook(id="g", on="before_tool", dialect=dialect, matcher=matcher, command=f"cat >> {heard}")
            engine.add(replace(hook, source="user", shell=True))
            said = {"tool_name": "apply_patch", "tool_input": {"command": PATCH}, "cwd": str(tmp_path)}
            raw = json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", **said}).encode()
            await engine.handle(DIALECTS["codex-cli"].decode_event(raw))

    asyncio.run(ask())
    text = heard.read_text()
    assert [name for name in "abcde" if f"{tmp_path}/{name}.txt" not in text] == []
    assert "Begin Patch" not in text


@pytest.mark.parametrize(
    ("dialect", "matcher"), [("copilot-cli", "apply_patch"), ("cursor", "ApplyPatch"), ("cline", "")]
)
def test_a_guard_of_patches_is_told_the_patch(dialect: str, matcher: str) -> None:
    event = call("apply_patch", patch=PATCH)
    hook = Hook(id="g", dialect=dialect, matcher=matcher, command="true")
    assert HookTranslator(DIALECTS).split_event(event, hook) == (event,)


UNTOLD = ["no patch at all", None, "*** Begin Patch\n" + "*** Delete File: a\n" * (MAX_PARTS + 1) + "*** End Patch"]


@pytest.mark.parametrize("patch", UNTOLD)
def test_a_guard_is_told_nothing_in_words_it_does_not_know(patch: str | None) -> None:
    event = call("apply_patch", patch=patch)
    assert split_call(event, CLI_AGENT) == ()
    assert split_call(event, DIALECTS["hookline"].SPEC) == (event,)
    done = replace(event, name=EventName.AFTER_TOOL)
    assert split_call(done, CLI_AGENT) == (done,)


@pytest.mark.parametrize("dialect", ["claude-code", "gemini-cli", "qwen-code", "kiro"])
@pytest.mark.parametrize("patch", UNTOLD)
def test_a_guard_that_cannot_be_told_of_a_patch_has_not_agreed_to_it(patch: str | None, dialect: str) -> None:
    async def ask() -> tuple[bool, str]:
        async with Engine() as engine:
            hook = Hook(id="guard", on="before_tool", dialect=dialect, command="true", source="user")  # type: ignore[arg-type]
            engine.add(hook)
            outcome = await engine.emit("before_tool", tool="apply_patch", args={"patch": patch}, cwd="/")
            return outcome.blocked, outcome.reason

    blocked, reason = asyncio.run(ask())
    assert blocked
    assert "apply_patch cannot be sent to this hook" in reason


def test_whoever_has_the_word_gets_the_word() -> None:
    event = call("apply_patch", patch=PATCH)
    assert split_call(event, DIALECTS["hookline"].SPEC) == (event,)
    assert split_call(event, None) == (event,)
    spec = DialectSpec(name="x", title="x", events={}, tools={"apply_patch": ("Edit",), "edit_file": ("Edit",)})
    assert split_call(event, spec) == (event,)


def test_a_name_that_only_matchers_are_to_catch_is_no_word() -> None:
    tools = {"apply_patch": ("Edit",), "edit_file": ("Edit",), "write_file": ("Write",)}
    spec = DialectSpec(name="x", title="x", events={}, tools=tools, own=frozenset({"edit_file", "write_file"}))
    assert len(told("apply_patch", spec, patch=PATCH)) == 5


def test_a_matcher_for_one_file_means_a_patch_too() -> None:
    assert "edit_file" in equivalent_tools("apply_patch")
    assert equivalent_tools("shell") == ()


def test_the_strongest_decision_about_a_part_holds_for_the_whole() -> None:
    said = merge_parts([Verdict(), Verdict.deny("not this file"), Verdict.add_context("hm")])
    assert (said.decision, said.reason) == (Decision.DENY, "not this file")
    assert [effect.value for effect in said.effects] == ["hm"]


def test_a_change_to_one_part_is_a_no_to_the_whole() -> None:
    said = merge_parts([Verdict(), Verdict.rewrite({"content": "safe"})])
    assert said.decision is Decision.DENY
    assert said.failure is not None
    assert said.effects == ()
    kept = merge_parts([Verdict(decision=Decision.STOP, reason="enough", effects=Verdict.rewrite({"a": 1}).effects)])
    assert (kept.decision, kept.reason, kept.failure) == (Decision.STOP, "enough", None)


def test_a_failure_of_one_part_is_a_failure_of_the_whole() -> None:
    failure = Failure(FailureKind.TIMEOUT, "too slow")
    assert merge_parts([Verdict(), Verdict(failure=failure)]).failure == failure


GUARD = """import json, sys
call = json.load(sys.stdin)["tool_args"]
print(json.dumps({"decision": "block", "reason": call["file_path"]} if "secret" in call["file_path"] else {}))
"""


@pytest.mark.parametrize(("name", "blocked"), [("b.txt", False), ("secret/b.txt", True)])
def test_a_guard_of_another_system_sees_every_file_of_a_patch(tmp_path: Path, name: str, *, blocked: bool) -> None:
    script = tmp_path / "guard.py"
    script.write_text(GUARD)

    async def ask() -> tuple[bool, str]:
        async with Engine() as engine:
            engine.add(
                Hook(
                    id="guard",
                    on="before_tool",
                    dialect="cli-agent",
                    matcher="write_file|replace_in_file",
                    command=sys.executable,
                    args=(str(script),),
                    shell=False,
                    source="user",  # type: ignore[arg-type]
                    on_error="block",  # type: ignore[arg-type]
                )
            )
            patch = PATCH.replace("b.txt", name)
            outcome = await engine.emit("before_tool", tool="apply_patch", args={"patch": patch}, cwd=str(tmp_path))
            return outcome.blocked, outcome.reason

    assert asyncio.run(ask()) == (blocked, str(tmp_path / name) if blocked else "")


@pytest.mark.parametrize("files", [1, 2])
def test_a_change_that_would_be_lost_is_a_no_however_few_files_a_patch_has(files: int) -> None:
    changed = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"file_path": "/safe"}}}

    async def ask() -> tuple[bool, str]:
        async with Engine() as engine:
            script = f"cat >/dev/null; echo '{json.dumps(changed)}'"
            engine.add(
                Hook(
                    id="mover",
                    on="before_tool",
                    dialect="claude-code",
                    matcher="Edit|Write",
                    command=script,
                    shell=True,
                    source="user",  # type: ignore[arg-type]
                )
            )
            rows = "".join(f"*** Add File: {number}\n+x\n" for number in range(files))
            patch = f"*** Begin Patch\n{rows}*** End Patch"
            outcome = await engine.emit("before_tool", tool="apply_patch", args={"patch": patch}, cwd="/")
            return outcome.blocked, outcome.reason

    blocked, reason = asyncio.run(ask())
    assert blocked
    assert "cannot be done" in reason
