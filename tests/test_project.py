import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline import Hook, Record
from hookline.model.hook import TARGETS, Layer
from hookline.model.settings import Settings
from hookline.project import load_project
from hookline.stores.sqlite import SqliteTraces
from hookline.user_dirs import UserDirs
from hookline.wiring import make_components, native_names

FENCED = '[data from hook "guard" of this project] no'


def folders(tmp_path: Path) -> UserDirs:
    return UserDirs(home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data")


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
    parts = make_components()

    # the runner itself runs the steps of a hook
    assert set(parts.kinds) == {target.kind for target in TARGETS.values()} - {"steps"}
    assert set(parts.dialects) == set(native_names())
    assert native_names()["cli-agent"]["PostToolUse"] == ("after_tool", "tool_failed")


@pytest.mark.spec("P-02", "O-02", "O-10")
def test_hook_of_a_project_runs_after_approval_and_not_before(tmp_path: Path) -> None:
    root = project(tmp_path)

    async def yes(_hook: Hook, _digest: str) -> bool:
        return True

    async def scenario() -> None:
        async with load_project(root, folders=folders(tmp_path)).engine as engine:
            assert engine.problems == ()
            outcome = await engine.emit("before_tool", tool="shell")
            assert not outcome.blocked
            assert [skip.reason for skip in outcome.skipped] == ["workspace hook that is not approved"]
        async with load_project(root, folders=folders(tmp_path), approve=yes).engine as engine:
            assert (await engine.emit("before_tool", tool="shell")).reason == FENCED
        async with load_project(root, folders=folders(tmp_path)).engine as engine:
            assert (await engine.emit("before_tool", tool="shell")).reason == FENCED
            (root / "guard.sh").write_text("touch pwned\n")
            outcome = await engine.emit("before_tool", tool="shell")
            # it was approved, and it fails closed: its absence blocks
            assert outcome.blocked
            assert "changed since it was approved; `hookline trust show" in outcome.reason

    asyncio.run(scenario())
    assert not (root / "pwned").exists()


def test_broken_matcher_is_a_problem_and_not_a_crash(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "hookline.toml").write_text(
        '[[hook]]\nname = "odd"\non = "before_tool"\ndialect = "ollm"\nmatcher = "("\nrun = "node x.js"\n'
    )

    async def scenario() -> None:
        async with load_project(root, folders=folders(tmp_path)).engine as engine:
            assert any("hookline.toml" in problem and "regular expression" in problem for problem in engine.problems)
            assert engine.registry.has_hook("guard")
            assert not engine.registry.has_hook("odd")

    asyncio.run(scenario())


@pytest.mark.spec("P-16")
def test_trace_of_an_emit_is_in_the_data_folder(tmp_path: Path) -> None:
    async def scenario() -> str:
        async with load_project(project(tmp_path), folders=folders(tmp_path)).engine as engine:
            return (await engine.emit("before_tool", tool="shell", args={"command": "ls"})).trace

    trace = asyncio.run(scenario())
    store = SqliteTraces(tmp_path / "data" / "traces.db")
    steps = [record.step for record in store.records(trace)]
    store.close()
    assert steps == ["event", "hook_skipped", "outcome"]


DENY = """
cat >/dev/null
echo '{"decision": "deny", "reason": "managed says no"}'
"""


def managed(tmp_path: Path, *, more: str = "") -> UserDirs:
    """Give folders with a managed guard that denies everything, and a config folder."""
    places = folders(tmp_path)
    system = tmp_path / "managed"
    for folder in (system, places.home, places.config):
        folder.mkdir(exist_ok=True)
    (system / "deny.sh").write_text(DENY)
    (system / "hookline.toml").write_text(
        f'{more}[[hook]]\nname = "policy"\non = "before_tool"\nrun = ["bash", "{system}/deny.sh"]\n'
    )
    return replace(places, managed=system)


def reason(root: Path, places: UserDirs, settings: Settings | None = None) -> str:
    async def scenario() -> str:
        async with load_project(root, folders=places, settings=settings).engine as engine:
            return (await engine.emit("before_tool", tool="shell")).reason

    return asyncio.run(scenario())


@pytest.mark.spec("A-16", "O-04")
def test_managed_hook_runs_whatever_a_lower_layer_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, places = project(tmp_path), managed(tmp_path)
    (places.config / "hookline.toml").write_text(
        "[settings]\nenabled = false\nobserve = true\ntimeout = 0.0001\n"
        '[[hook]]\nname = "policy"\non = "before_tool"\nrun = "/bin/true"\nenabled = false\n'
    )
    monkeypatch.setenv("HOOKS_ENABLED", "false")
    monkeypatch.setenv("HOOKS_TIMEOUT", "0.0001")

    assert reason(root, places) == "managed says no"
    assert reason(root, places, Settings(enabled=False, observe=True)) == "managed says no"
    assert reason(root, replace(places, managed=None)) == ""


@pytest.mark.spec("A-16")
def test_settings_of_files_and_environment_are_in_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, places = project(tmp_path), managed(tmp_path, more="[settings]\nobserve = true\n\n")
    (places.config / "hookline.toml").write_text("[settings]\ntimeout = 3\nobserve = false\ntypo = 1\n")
    monkeypatch.delenv("HOOKS_ENABLED", raising=False)
    monkeypatch.setenv("HOOKS_TIMEOUT", "4")
    opened = load_project(root, folders=places, traced=False)

    assert opened.settings == Settings(timeout=4.0, observe=True)
    assert [(problem.line, problem.message) for problem in opened.problems] == [(4, 'unknown setting "typo"')]
    assert any("typo" in problem for problem in opened.engine.problems)


def test_broken_file_of_the_user_is_reported_once(tmp_path: Path) -> None:
    root, places = project(tmp_path), folders(tmp_path)
    places.config.mkdir(parents=True, exist_ok=True)
    (places.config / "hookline.toml").write_text("[settings\n")
    found = load_project(root, folders=places, traced=False)

    assert found.settings == Settings()
    assert [problem.path for problem in found.problems] == [str(places.config / "hookline.toml")]


def test_file_of_the_user_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, places = project(tmp_path), folders(tmp_path)
    places.config.mkdir(parents=True, exist_ok=True)
    own = places.config / "hookline.toml"
    own.write_text('[settings]\ntimeout = 4\n[[hook]]\nid = "own"\non = "before_tool"\nrun = ["true"]\n')
    parsed: list[str] = []
    parse = tomllib.loads

    def loads(text: str) -> dict[str, object]:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(tomllib, "loads", loads)
    found = load_project(root, folders=places, traced=False)

    assert (found.settings.timeout, "own" in {hook.id for hook in found.hooks}) == (4.0, True)
    assert parsed.count(own.read_text()) == 1


def test_no_engine_is_built_before_it_is_used(tmp_path: Path) -> None:
    found = load_project(project(tmp_path), folders=folders(tmp_path))

    assert [hook.id for hook in found.hooks] == ["guard"]
    assert found.trust.get_approvals() == []
    assert found.is_active(found.hooks[0])
    assert "engine" not in vars(found)
    assert found.engine.registry is found.registry


@pytest.mark.spec("A-16")
def test_switched_off_hooks_are_loaded_to_be_shown_and_not_run(tmp_path: Path) -> None:
    opened = load_project(project(tmp_path), folders=folders(tmp_path), settings=Settings(enabled=False), traced=False)

    assert [hook.id for hook in opened.hooks] == ["guard"]
    assert opened.registry.get_hook_count() == 0
    assert not opened.engine.settings.enabled


@pytest.mark.spec("O-04", "D-07")
@pytest.mark.parametrize("trusted", ["", "trust_workspace = true", 'trusted_workspaces = ["{above}"]'])
def test_workspace_is_trusted_by_the_persons_own_settings_only(tmp_path: Path, trusted: str) -> None:
    root, places = project(tmp_path), folders(tmp_path)
    places.config.mkdir()
    (root / "hookline.toml").write_text("trustWorkspace = true\n[settings]\ntrust_workspace = true\n")
    (places.config / "hookline.toml").write_text(f"[settings]\n{trusted.format(above=tmp_path)}\n")

    assert reason(root, places) == (FENCED if trusted else "")


@pytest.mark.spec("O-04")
def test_project_given_as_a_folder_inside_a_repository_has_the_hooks_of_the_whole(tmp_path: Path) -> None:
    root = project(tmp_path)
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=60)
    deep = root / "packages" / "one"
    deep.mkdir(parents=True)
    (deep / "hookline.toml").write_text('[[hook]]\nname = "near"\non = "error"\nrun = "python3 x.py"\n')
    opened = load_project(deep, folders=folders(tmp_path), traced=False)

    assert {hook.id: hook.root for hook in opened.hooks} == {"near": str(deep), "guard": str(root)}
    assert opened.hooks[1].args == (str(root / "guard.sh"),)


def test_folders_that_the_environment_may_not_move_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    opened = load_project(root, traced=False)

    assert "XDG_DATA_HOME points into this workspace" in opened.engine.problems[0]
    assert not opened.folders.data.is_relative_to(tmp_path)


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


@pytest.mark.parametrize(
    "text",
    [
        "[[hook]]\non = 'before_tool'\nrun = 'x'\ntimeout = " + "9" * 5_000,
        "a = " + "[" * 50_000,
        "a" + ".a" * 50_000 + " = 1",
        "hook = 3",
    ],
    ids=["digits", "depth", "parts", "number"],
)
def test_file_of_a_project_that_cannot_be_read_does_not_bring_down_a_persons_guard(tmp_path: Path, text: str) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / "config").mkdir(parents=True)
    project.mkdir()
    (home / "config" / "hookline.toml").write_text('[[hook]]\non = "before_tool"\nrun = "exit 2"\nshell = true\n')
    (project / "hookline.toml").write_text(text)
    folders = UserDirs(home=home, config=home / "config", data=home / "data")

    opened = load_project(project, folders=folders, traced=False)

    assert [hook.layer for hook in opened.hooks] == [Layer.USER]
    assert [problem.path for problem in opened.problems] == [str(project / "hookline.toml")]


def test_background_hooks_of_folders_that_no_worker_would_find_run_in_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOOKLINE_WORKER"):
        monkeypatch.delenv(name, raising=False)
    places, ran = folders(tmp_path), tmp_path / "ran"
    places.config.mkdir()
    text = f'[[hook]]\nid = "later"\non = "notification"\nrun = "touch {ran}"\nshell = true\nbackground = true\n'
    (places.config / "hookline.toml").write_text(text)
    root = project(tmp_path)

    async def scenario() -> None:
        async with load_project(root, folders=places).engine as engine:
            await engine.emit("notification", {"message": "hi"})

    asyncio.run(scenario())

    assert ran.exists()
    assert not (places.data / "queue.db").exists()
    # nobody was started who would look elsewhere
    assert list(home.iterdir()) == []
