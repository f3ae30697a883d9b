"""The quick way gives the same answers as the whole program, byte for byte, and leaves the same traces."""

import json
from collections.abc import Mapping
from typing import Final

import pytest
from msgspec import Struct

from tests.bridge.cold.quickly import Place, prepare_all, settle

OWN: Final = "~/.config/hookline/hookline.toml"


class Case(Struct, frozen=True, kw_only=True):
    """A call: what is configured, who calls, and what about."""

    files: Mapping[str, str]
    host: str = "claude-code"
    native: str = "PreToolUse"
    payload: Mapping[str, object] = {}
    approve: tuple[str, ...] = ()
    then: Mapping[str, str] = {}
    quick: bool = True


def hook(line: str, **more: object) -> str:
    """Write a hook that is a line of shell."""
    words: dict[str, object] = {"id": "one", "on": "before_tool", "shell": True, "run": line, **more}
    return "[[hook]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in words.items())


def bash(command: str = "ls -la", **more: object) -> dict[str, object]:
    """Make what Claude Code says before it runs a command."""
    return {
        "session_id": "s1",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": "t1",
        **more,
    }


DENY: Final = """echo '{"decision": "deny", "reason": "nö: not \\u00e4 here"}'"""
# of two that run at once, so that they are always told of in the same order
LAST: Final = f"sleep 1; {DENY}"
RAISE: Final = """echo '{"raise": {"event": "custom:deploy", "data": {"version": "2"}}}'"""
CASES: Final[Mapping[str, Case]] = {
    "nothing is configured": Case(files={}),
    "another tool is meant": Case(files={OWN: hook(DENY, matcher="write_file")}),
    "it allows": Case(files={OWN: hook("""cat >/dev/null; echo '{"decision": "allow"}'""")}),
    "it says nothing": Case(files={OWN: hook("true")}),
    "it denies": Case(files={OWN: hook(DENY)}),
    "it denies with its exit code": Case(files={OWN: hook("echo never >&2; exit 2")}),
    "it asks": Case(files={OWN: hook("""echo '{"decision": "ask", "reason": "sure?"}'""")}),
    "it adds context": Case(files={OWN: hook("""echo '{"context": "be kind"}'""")}),
    "it rewrites": Case(files={OWN: hook("""echo '{"args": {"command": "ls"}}'""")}),
    "it fails and blocks": Case(files={OWN: hook("exit 7", on_error="block")}),
    "it fails and that is fine": Case(files={OWN: hook("exit 7", on_error="continue")}),
    "it says garbage": Case(files={OWN: hook("echo '}{ no'", on_error="block")}),
    "it says noise before its answer": Case(files={OWN: hook(f"echo working; echo; {DENY}")}),
    "it says too much": Case(
        files={OWN: hook("trap '' PIPE; while :; do head -c 90000 /dev/zero 2>/dev/null; done", on_error="block")}
    ),
    "it takes too long": Case(files={OWN: hook("sleep 60", timeout=0.3, on_error="block")}),
    "it leaves somebody behind": Case(files={OWN: hook(f"sleep 0.5 & {DENY}")}),
    "it is not there": Case(files={OWN: '[[hook]]\nid = "one"\non = "before_tool"\nrun = ["no-such-program"]\n'}),
    "it reads the event": Case(files={OWN: hook("""grep -q '"ls -la"' && echo '{"context": "heard"}'""")}),
    "it sees its environment": Case(
        files={OWN: hook("""printf '{"context": "%s %s"}' "$PWD" "$MARK" """) + '[hook.env]\nMARK = "here"\n'}
    ),
    "it is only observed": Case(files={OWN: hook(DENY, observe=True)}),
    "it is switched off": Case(files={OWN: hook(DENY, enabled=False)}),
    "two of them, in order": Case(
        files={
            OWN: hook("""echo '{"args": {"command": "ls"}}'""")
            + hook("""grep -q '"ls"' && echo '{"context": "second"}'""", id="two", after=["one"])
        }
    ),
    "the first ends it": Case(files={OWN: hook(DENY) + hook("echo no", id="two", after=["one"])}),
    "it has a condition": Case(files={OWN: hook(DENY) + "if = 'tool.args.command.startsWith(\"ls\")'\n"}),
    "it is about files": Case(files={OWN: hook(DENY, writes=["*.lock"])}, payload=bash("touch uv.lock")),
    "it raises an event that a command hears": Case(
        files={OWN: hook(RAISE) + hook(DENY, id="two", on="custom:deploy")},
    ),
    "it raises an event that a function hears": Case(
        files={
            OWN: hook(RAISE) + '[[hook]]\nid = "two"\non = "custom:deploy"\ncall = "policy:check"\n',
            "~/.config/hookline/policy.py": 'def check(event):\n    return {"decision": "deny", "reason": "heard"}\n',
        },
        quick=False,
    ),
    "it raises an event that two hear at once": Case(
        files={
            OWN: hook(RAISE)
            + hook("true", id="two", on="custom:deploy", parallel=True)
            + hook(LAST, id="three", on="custom:deploy", parallel=True)
        },
        quick=False,
    ),
    "its file is broken": Case(files={OWN: "[[hook]]\nid = \n"}),
    "of the project, not approved": Case(files={"hookline.toml": hook(DENY)}),
    "of the project, approved": Case(
        files={
            "hookline.toml": '[[hook]]\nid = "one"\non = "before_tool"\nrun = ["./guard.sh"]\n',
            "guard.sh": f"#!/bin/sh\n{DENY}\n",
        },
        approve=("one",),
    ),
    "of the project, changed since": Case(
        files={
            "hookline.toml": '[[hook]]\nid = "one"\non = "before_tool"\nrun = ["./guard.sh"]\n',
            "guard.sh": f"#!/bin/sh\n{DENY}\n",
        },
        approve=("one",),
        then={"guard.sh": "#!/bin/sh\ntrue\n"},
    ),
    "of the agent itself": Case(
        files={
            "~/.claude/settings.json": json.dumps(
                {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}
            )
        }
    ),
    "after a tool": Case(
        files={OWN: hook("""echo '{"context": "seen"}'""", on="after_tool")},
        native="PostToolUse",
        payload=bash(hook_event_name="PostToolUse", tool_response={"stdout": "x"}),
    ),
    "asked by Gemini": Case(
        files={OWN: hook(DENY)},
        host="gemini-cli",
        native="BeforeTool",
        payload={
            "session_id": "s1",
            "hook_event_name": "BeforeTool",
            "tool_name": "run_shell_command",
            "tool_input": {"command": "ls"},
        },
    ),
    "asked by Cursor": Case(
        files={OWN: hook(DENY)},
        host="cursor",
        native="beforeShellExecution",
        payload={"hook_event_name": "beforeShellExecution", "command": "ls", "conversation_id": "c1"},
    ),
    "asked by Codex": Case(files={OWN: hook(DENY)}, host="codex-cli", payload=bash(turn_id="1")),
    "a turn begins": Case(
        files={OWN: hook("""echo '{"context": "hi"}'""", on="before_agent")},
        native="UserPromptSubmit",
        payload={"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "hello"},
        quick=False,
    ),
    "two at once": Case(
        files={OWN: hook(LAST, parallel=True) + hook("true", id="two", parallel=True)},
        quick=False,
    ),
    "it is limited": Case(files={OWN: hook(DENY, once=True)}, quick=False),
    "nobody can read it": Case(files={OWN: hook(DENY)}, payload={"nonsense": 1, "tool_input": 7}, quick=False),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Place]:
    folder = tmp_path_factory.mktemp("cold")
    made: dict[str, Place] = {}
    for number, (name, case) in enumerate(CASES.items()):
        first = next(iter(made.values()), None)
        place = made[name] = Place(folder / str(number), package=first.package if first else None)
        place.write(case.files)
        for one in case.approve:
            done = place.run("trust", "approve", one, "--yes")
            assert done.returncode == 0, done.stderr.decode()
        place.keep_approvals()
        place.write(case.then)
    settle(list(made.values()))
    prepare_all(list(made.values()))
    return made


@pytest.mark.spec("A-26")
@pytest.mark.parametrize("name", CASES)
def test_both_ways_say_the_same(name: str, places: Mapping[str, Place]) -> None:
    case, place = CASES[name], places[name]
    raw = json.dumps({"cwd": str(place.project), **(case.payload or bash())}).encode()
    words = ("hook", "--if-broken", "block", case.host, case.native)

    place.forget()
    whole = place.said(place.run(*words, stdin=raw))
    place.forget()
    if case.quick:
        quick = place.said(place.quick(*words, stdin=raw))
    else:
        refused = place.quick(*words, stdin=raw)
        assert b"the quick way does not know how" in refused.stderr
        assert not list(place.data.glob("sessions/*")), "something was done before the ordinary way was taken"
        quick = place.said(place.quick(*words, stdin=raw, env={"HOOKLINE_COLD": ""}))

    assert quick == whole
