import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hookline import Hook, Record
from hookline.stores.sqlite import SqliteTraces
from hookline.wiring import make_parts, native_names
from hookline.workspace import Folders, load_engine


def folders(tmp_path: Path) -> Folders:
    return Folders(home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data")


def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    (path / "guard.sh").write_text('cat >/dev/null; echo \'{"allow": false, "message": "no"}\'\n')
    definition = {
        "id": "guard",
        "event": "pre-tool-call",
        "dialect": "ollm-protocol",
        "command": "bash",
        "args": ["guard.sh"],
    }
    (path / ".ollm" / "hooks").mkdir(parents=True)
    (path / ".ollm" / "hooks" / "guard.json").write_text(json.dumps(definition))
    return path


@pytest.mark.spec("O-01")
def test_every_part_is_wired() -> None:
    parts = make_parts()

    assert set(parts.kinds) == {"command", "function", "python", "webhook"}
    assert set(parts.dialects) == set(native_names())
    assert native_names()["cli-agent"]["PostToolUse"] == ("after_tool", "tool_failed")


@pytest.mark.spec("P-02", "O-02", "O-10")
def test_hook_of_a_project_runs_after_approval_and_not_before(tmp_path: Path) -> None:
    root = project(tmp_path)

    async def yes(_hook: Hook, _digest: str) -> bool:
        return True

    async def scenario() -> None:
        async with load_engine(root, folders=folders(tmp_path)) as engine:
            assert engine.problems == ()
            outcome = await engine.emit("before_tool", tool="shell")
            assert not outcome.blocked
            assert [skip.reason for skip in outcome.skipped] == ["workspace hook that nobody approved"]
        async with load_engine(root, folders=folders(tmp_path), approve=yes) as engine:
            assert (await engine.emit("before_tool", tool="shell")).reason == "no"
        async with load_engine(root, folders=folders(tmp_path)) as engine:
            assert (await engine.emit("before_tool", tool="shell")).reason == "no"
            (root / "guard.sh").write_text("touch pwned\n")
            outcome = await engine.emit("before_tool", tool="shell")
            assert [skip.reason for skip in outcome.skipped] == ["changed since it was approved"]

    asyncio.run(scenario())
    assert not (root / "pwned").exists()


def test_broken_matcher_is_a_problem_and_not_a_crash(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "hookline.toml").write_text(
        '[[hook]]\nname = "odd"\non = "before_tool"\ndialect = "ollm"\nmatcher = "("\nrun = "node x.js"\n'
    )

    async def scenario() -> None:
        async with load_engine(root, folders=folders(tmp_path)) as engine:
            assert any("hookline.toml" in problem and "regular expression" in problem for problem in engine.problems)
            assert engine.registry.has_hook("guard")
            assert not engine.registry.has_hook("odd")

    asyncio.run(scenario())


@pytest.mark.spec("P-16")
def test_trace_of_an_emit_is_in_the_data_folder(tmp_path: Path) -> None:
    async def scenario() -> str:
        async with load_engine(project(tmp_path), folders=folders(tmp_path)) as engine:
            return (await engine.emit("before_tool", tool="shell", args={"command": "ls"})).trace

    trace = asyncio.run(scenario())
    store = SqliteTraces(tmp_path / "data" / "traces.db")
    steps = [record.step for record in store.records(trace)]
    store.close()
    assert steps == ["event", "hook_skipped", "outcome"]


_EMBEDDER = """
import asyncio, sys
from pathlib import Path
from hookline import Engine, Hook, Source
from hookline.stores.sqlite import SqliteTraces

async def main():
    store = SqliteTraces(Path(sys.argv[1]))
    engine = Engine(store=store)
    engine.add(Hook(id="h", on="before_tool", command="/bin/true", dialect="hookline", source=Source.USER))
    for number in range(100_000):
        outcome = await engine.emit("before_tool", {"number": number}, tool="shell")
        if number % 10 == 0:
            await engine.drain()
            store.flush()
            print(outcome.trace, flush=True)

asyncio.run(main())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_killed_program_leaves_a_trace_database_with_everything_that_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    child = subprocess.Popen([sys.executable, "-c", _EMBEDDER, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    acknowledged = [child.stdout.readline().strip() for _ in range(8)]
    os.kill(child.pid, signal.SIGKILL)
    child.stdout.close()
    child.wait(20)

    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    store = SqliteTraces(path)
    found: dict[str, list[Record]] = {trace: store.records(trace) for trace in acknowledged}
    store.close()
    assert all(
        [record.step for record in records] == ["event", "hook_execution_start", "hook_execution_complete", "outcome"]
        for records in found.values()
    )
