"""JSON-RPC hooks from a real program to an outcome, asked by an engine and by `hookline emit`."""

import json
import os
import sys
from pathlib import Path

import pytest

from hookline import Engine
from hookline.model.event import EventName, Session
from hookline.model.exchange import FailureKind
from hookline.model.hook import Hook, OnError, Source
from hookline.model.verdict import Decision
from tests.cli.program import configure, hookline

# writes down what it was asked, and answers what it finds in the file `answer`
PYTHON = """\
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
for line in sys.stdin:
    request = json.loads(line)
    with open(here / "asked", "a") as log:
        log.write(json.dumps({"pid": os.getpid(), **request}) + "\\n")
    answer = json.loads((here / "answer").read_text())
    print(json.dumps({"jsonrpc": "2.0", **answer, "id": request["id"]}), flush=True)
"""
SH = """\
here=$(dirname "$0")
while IFS= read -r line; do
  printf '%s\\n' "$line" >> "$here/asked"
  id=${line##*'"id":'}
  printf '{"jsonrpc":"2.0",%s,"id":%s}\\n' "$(cat "$here/answer")" "${id%\\}}"
done
"""
RESULT = {"action": "askAgent", "prompt": "Run linting", "metadata": {"executionTime": 123, "success": True}}
ERROR = {"code": -32603, "message": "Hook failed", "data": {"reason": "Command not found", "details": "no eslint"}}


class Program:
    """A JSON-RPC hook in a folder of its own."""

    def __init__(self, folder: Path, *, language: str, persistent: bool) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.language = language
        self.persistent = persistent
        self.path = folder / ("hook.py" if language == "python" else "hook.sh")
        self.path.write_text(PYTHON if language == "python" else SH)

    @property
    def command(self) -> str:
        return sys.executable if self.language == "python" else "/bin/sh"

    def answers(self, **answer: object) -> None:
        text = json.dumps(answer)
        (self.folder / "answer").write_text(text if self.language == "python" else text[1:-1])

    def asked(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.folder / "asked").read_text().splitlines()]

    def hook(self, *on: str, on_error: OnError | None = None) -> Hook:
        return Hook(
            id="rpc",
            on=on,
            command=self.command,
            args=(str(self.path),),
            dialect="ollm-rpc",
            persistent=self.persistent,
            on_error=on_error,
            source=Source.USER,
        )


@pytest.fixture(params=[("python", False), ("python", True), ("sh", False), ("sh", True)], ids=str)
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    language, persistent = request.param
    return Program(tmp_path / "rpc", language=language, persistent=persistent)


@pytest.mark.spec("D-13")
def test_result_becomes_a_prompt_for_the_agent(program: Program) -> None:
    program.answers(result=RESULT)
    engine = Engine()
    engine.add(program.hook("file_edited"))
    outcomes = [engine.emit_sync("file_edited", {"path": "a.ts"}) for _ in range(3)]
    engine.close_sync()

    assert [outcome.follow_ups for outcome in outcomes] == [("Run linting",)] * 3
    assert outcomes[0].verdicts[0].metadata == {"executionTime": 123, "success": True}
    asked = program.asked()
    assert [(one["jsonrpc"], one["method"]) for one in asked] == [("2.0", "execute")] * 3
    if program.persistent:
        assert len({str(one["id"]) for one in asked}) == 3
        assert len({one.get("pid") for one in asked}) == 1


@pytest.mark.spec("D-13")
def test_error_is_told_with_its_reason_and_kept_with_its_details(program: Program) -> None:
    program.answers(error=ERROR)
    engine = Engine()
    engine.add(program.hook("before_tool"))
    engine.add(
        Hook(
            id="guard",
            on="before_tool",
            command=program.command,
            args=(str(program.path),),
            dialect="ollm-rpc",
            on_error=OnError.BLOCK,
            source=Source.USER,
        )
    )
    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    engine.close_sync()

    first = outcome.verdicts[0]
    assert first.failure is not None
    assert first.failure.kind is FailureKind.HOOK_ERROR
    assert first.failure.message == "Hook failed (code -32603): Command not found"
    assert first.metadata == {"error": ERROR}
    # one fails open, as the dialect has it, the other was asked to block
    assert first.decision is Decision.PASS
    assert outcome.decision is Decision.DENY


@pytest.mark.spec("D-03", "D-08")
@pytest.mark.parametrize(
    ("name", "native", "data"),
    [
        ("before_agent", "promptSubmit", {"prompt": "mend the build"}),
        ("after_agent", "agentStop", {"response": "done", "message_count": 4}),
        ("before_tool_selection", "before_tool_selection", {"tools": ["shell", "edit_file"], "prompt": "x"}),
        ("file_edited", "fileEdited", {"path": "a.ts", "content": "new", "diff": "-old\n+new"}),
    ],
)
def test_events_arrive_with_their_data_and_the_whole_context(
    program: Program, name: str, native: str, data: dict[str, object]
) -> None:
    program.answers(result={"action": "continue"})
    history = [{"role": "user", "content": "hi"}]
    session = Session(
        id="s1",
        agent={"mode": "developer", "context": {"files": 3}, "history": history},
        profile={"preferences": {"style": "short"}, "settings": {"lint": True}},
    )
    engine = Engine()
    engine.add(program.hook(name))
    # hosts may use either name
    for spoken in (name, native):
        engine.emit_sync(spoken, data, session=session)
    engine.close_sync()

    for request in program.asked():
        params = request["params"]
        assert isinstance(params, dict)
        event, context = params["event"], params["context"]
        assert event["type"] == native
        assert event["timestamp"] > 0
        assert context["agent"] == session.agent
        assert context["user"] == session.profile
        if EventName(name) is EventName.FILE_EDITED:
            assert event["data"] == {"path": "a.ts", "changes": "-old\n+new", "cwd": os.getcwd()}  # noqa: PTH109
            assert context["file"] == {"path": "a.ts", "content": "new", "changes": "-old\n+new"}
        else:
            assert {key: event["data"][key] for key in data} == data
    assert len(program.asked()) == 2


@pytest.mark.spec("D-13")
def test_emit_asks_the_program_and_shows_what_it_wants(program: Program, tmp_path: Path) -> None:
    program.answers(result={**RESULT, "action": "block", "reason": "not on Fridays"})
    home = tmp_path / "home"
    configure(
        home,
        f"""\
[[hook]]
id = "rpc"
on = "before_tool"
run = ["{program.command}", "{program.path}"]
dialect = "ollm-rpc"
persistent = {str(program.persistent).lower()}
""",
    )

    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}', "--json")

    told = json.loads(done.stdout)
    assert done.returncode == 2
    assert told["reasons"] == ["not on Fridays"]
    assert told["follow_ups"] == ["Run linting"]
    assert len(program.asked()) == 1
