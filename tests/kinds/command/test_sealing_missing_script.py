"""A script that is not there is a failure of the hook, and not its no."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from hookline import Decision, Engine, OnError
from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook, Source

NODE = pytest.param("node missing.js", marks=pytest.mark.skipif(shutil.which("node") is None, reason="no Node"))


def ask(folder: Path, line: str, *, sealed: Mapping[str, bytes] | None = None) -> Reply:
    request = Request(event=Event(name=EventName.BEFORE_TOOL, cwd=str(folder)), document={})
    request.sealed = sealed
    return asyncio.run(Command().call(Hook(id="x", command=line, shell=True), request, timeout=30))


@pytest.mark.parametrize(
    "line",
    [
        "python3 missing.py",
        "python3 -u missing.py a b",
        "sh missing.sh",
        "bash missing.sh",
        NODE,
        'python3 "$PWD"/missing.py',
        "cd . && python3 missing.py",
        "timeout 20 python3 missing.py",
        "sh -c 'python3 missing.py'",
    ],
)
@pytest.mark.parametrize("sealed", [None, {}], ids=["trusted", "vetted"])
def test_interpreter_without_its_script_has_not_said_no(
    tmp_path: Path, line: str, sealed: Mapping[str, bytes] | None
) -> None:
    reply = ask(tmp_path, line, sealed=sealed)

    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.NOT_FOUND
    assert reply.failure.message.startswith(f'script "{tmp_path}/missing.')
    assert reply.failure.message.endswith('" does not exist')


@pytest.mark.parametrize(("policy", "decision"), [(OnError.CONTINUE, Decision.PASS), (OnError.BLOCK, Decision.DENY)])
def test_missing_script_follows_the_policy_of_the_hook(tmp_path: Path, policy: OnError, decision: Decision) -> None:
    engine = Engine()
    hook = Hook(id="x", on="before_tool", command=f"python3 {tmp_path}/missing.py", on_error=policy, source=Source.USER)
    engine.add(hook)

    outcome = engine.emit_sync("before_tool", {"tool_name": "Bash", "tool_input": {}})

    assert outcome.decision is decision
    assert outcome.failures[0].failure is not None
    assert outcome.failures[0].failure.kind is FailureKind.NOT_FOUND


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("python3 no.py", 2),
        ("python3 missing.py || exit 2", 2),
        ("python3 missing.py; exit 2", 2),
        ('cd "$(echo sub)" && python3 there.py', 2),
        ("bash -c 'cd sub && python3 there.py'", 2),
        ("env -C sub python3 there.py", 2),
    ],
)
def test_no_that_was_meant_stays_one(tmp_path: Path, line: str, code: int) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("no.py", "sub/there.py"):
        text = f"import sys\nprint('{Path(name).name}: no, rules.txt is not found', file=sys.stderr)\nsys.exit(2)\n"
        (tmp_path / name).write_text(text)

    reply = ask(tmp_path, line)

    assert reply.failure is None
    assert reply.exit_code == code


def test_script_that_removed_itself_was_there(tmp_path: Path) -> None:
    script = tmp_path / "x.py"
    script.write_text(
        "import os, sys\nos.remove(__file__)\nprint('x.py: data not found', file=sys.stderr)\nsys.exit(2)\n"
    )

    reply = ask(tmp_path, "python3 x.py", sealed={str(script): script.read_bytes()})

    assert not script.exists()
    assert reply.failure is None
    assert reply.exit_code == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_script_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("")
    (tmp_path / "x.py").chmod(0)

    reply = ask(tmp_path, "python3 x.py")

    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.REFUSED
