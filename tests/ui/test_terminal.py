import argparse
import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from hookline.cli._top_view import TopView
from hookline.stores.trace_queries import TraceFilter
from hookline.ui.live_calls import LiveCalls
from hookline.ui.terminal import HookScreen, HookUpdate, LiveUpdate, Page, Pane, TopApp
from tests.ui.traces import make_call, store
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

Act = Callable[[TopApp, Pilot[None]], Awaitable[None]]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / ".config" / "hookline").mkdir(parents=True)
    for name in ("CLAUDECODE", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("HOOKLINE_DAEMON", "off")
    project = tmp_path / "project"
    project.mkdir()
    (project / "hookline.toml").write_text('[[hook]]\nname = "lint"\non = "after_tool"\nrun = "sh lint.sh"\n')
    (project / "lint.sh").write_text("echo lint-me\n")
    monkeypatch.chdir(project)
    folder = home / ".local" / "share" / "hookline"
    folder.mkdir(parents=True, mode=0o700)
    store(
        folder / "traces.db",
        [
            make_call(1, subject="git status"),
            make_call(2, agent="codex-cli", subject="rm -rf build", decision="deny", reason="keep the build"),
            make_call(3, agent="gemini-cli", subject="[red]\x1b[2Jls", decision="ask", reason="outside"),
        ],
    )
    return folder


def run(act: Act, size: tuple[int, int] = (140, 40)) -> None:
    async def go() -> None:
        app = TopApp(TopView(argparse.Namespace(project=None, since=86_400.0)))
        async with app.run_test(size=size) as pilot:
            await wait(app, lambda: app.query_one("#calls", Pane).row_count > 0 and "lint" in rows(app, "hooks"))
            await act(app, pilot)

    asyncio.run(go())


async def wait(app: TopApp, happens: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happens():
            assert app.is_running
            await asyncio.sleep(0.02)


def rows(app: TopApp, name: str) -> str:
    """Give what a pane shows, a line for each row."""
    pane = app.screen_stack[0].query_one(f"#{name}", Pane)
    return "\n".join(" | ".join(map(str, pane.get_row_at(number))) for number in range(pane.row_count))


def page(app: TopApp) -> str:
    return str(app.screen.query_one("#lines", Static).render())


@pytest.mark.spec("U-14")
def test_lanes_calls_blocked_calls_and_hooks_are_shown_and_new_calls_come(data: Path) -> None:
    async def act(app: TopApp, _pilot: Pilot[None]) -> None:
        assert "rm -rf build | keep the build" in rows(app, "calls")
        assert "✗ deny" in rows(app, "calls")
        assert "? ask" in rows(app, "calls")
        assert "✗ deny" in rows(app, "blocked")
        assert "git status" not in rows(app, "blocked")
        assert [agent in rows(app, "lanes") for agent in ("claude-code", "codex-cli", "gemini-cli")] == [True] * 3
        assert "lint | ! needs approval" in rows(app, "hooks")
        assert "guard | elsewhere | 3" in rows(app, "hooks")

        store(data / "traces.db", [make_call(4, agent="cursor", subject="made just now")])
        await wait(app, lambda: "made just now" in rows(app, "calls"))
        await wait(app, lambda: "cursor" in rows(app, "lanes"))

    run(act)


def test_text_of_others_steers_neither_terminal_nor_markup(data: Path) -> None:
    async def act(app: TopApp, _pilot: Pilot[None]) -> None:
        assert r"[red]\x1b[2Jls" in rows(app, "calls")
        assert "\x1b" not in rows(app, "calls") + rows(app, "lanes")

    assert data.exists()
    run(act)


def test_filters_narrow_by_text_agent_and_decision_and_escape_takes_them_away(data: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[None]) -> None:
        calls = app.query_one("#calls", Pane)
        await pilot.press("slash", "b", "u", "i", "l", "d", "enter")
        await wait(app, lambda: calls.row_count == 1)
        assert "rm -rf build" in rows(app, "calls")
        assert 'only "build"' in str(calls.border_title)
        await pilot.press("escape")
        await wait(app, lambda: calls.row_count == 3)
        await pilot.press("a")
        await wait(app, lambda: calls.row_count == 1 and "claude-code" in rows(app, "calls"))
        await pilot.press("escape", "d")
        await wait(app, lambda: calls.row_count == 1 and "✗ deny" in rows(app, "calls"))

    assert data.exists()
    run(act, (80, 24))


def test_enter_opens_the_whole_trace_of_a_call(data: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "enter")
        await wait(app, lambda: isinstance(app.screen, Page))
        assert 'hook "guard" said deny' in page(app)
        await pilot.press("escape")
        assert not isinstance(app.screen, Page)

    assert data.exists()
    run(act)


def test_pause_keeps_the_screen_until_it_goes_on(data: Path) -> None:
    async def act(app: TopApp, pilot: Pilot[None]) -> None:
        await pilot.press("space")
        store(data / "traces.db", [make_call(5, subject="while paused")])
        # what the thread that reads would send now
        app.on_live_update(LiveUpdate(LiveCalls(data / "traces.db").read(TraceFilter())))
        assert "while paused" not in rows(app, "calls")
        await pilot.press("space")
        await wait(app, lambda: "while paused" in rows(app, "calls"))

    run(act)


async def _open_hook(app: TopApp, pilot: Pilot[None]) -> None:
    app.query_one("#hooks", Pane).focus()
    await pilot.press("home", "enter")
    await wait(app, lambda: isinstance(app.screen, HookScreen))


def test_hook_is_approved_after_its_approval_screen_and_not_when_it_changes_meanwhile(data: Path) -> None:
    approvals, script = data / "approvals.json", Path("lint.sh")

    async def act(app: TopApp, pilot: Pilot[None]) -> None:
        await _open_hook(app, pilot)
        assert "nobody approved this hook yet" in page(app)
        assert "| echo lint-me" in page(app)
        script.write_text("echo other\n")  # noqa: ASYNC240 - a small file
        await pilot.press("y")
        await wait(app, lambda: any("changed while it was shown" in one.message for one in app._notifications))  # noqa: SLF001
        assert not approvals.exists()

        await _open_hook(app, pilot)
        await pilot.press("y")
        await wait(app, lambda: "lint | ✓ approved" in rows(app, "hooks"))
        assert "lint" in approvals.read_text()

    run(act)


def test_hook_is_switched_off_and_on_after_a_question(data: Path) -> None:
    config = Path("hookline.toml")

    async def act(app: TopApp, pilot: Pilot[None]) -> None:
        app.query_one("#hooks", Pane).focus()
        await pilot.press("home", "e", "n")
        assert "lint | ! needs approval" in rows(app, "hooks")
        await pilot.press("e", "y")
        await wait(app, lambda: "lint | - off" in rows(app, "hooks"))
        assert "enabled = false" in config.read_text()  # noqa: ASYNC240 - a small file
        pane = app.query_one("#hooks", Pane)
        assert pane.selected == "lint"
        await pilot.press("e", "y")
        await wait(app, lambda: "lint | ! needs approval" in rows(app, "hooks"))

    assert data.exists()
    run(act)


def test_agent_approves_and_disables_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    before = Path("hookline.toml").read_text()

    async def act(app: TopApp, pilot: Pilot[None]) -> None:
        def list_refusals() -> set[str]:
            shown = app._notifications  # noqa: SLF001 - what the user sees for some seconds
            return {one.identity for one in shown if "is refused: Claude Code runs it" in one.message}

        await _open_hook(app, pilot)
        await pilot.press("y")
        await wait(app, list_refusals)
        earlier = list_refusals()
        await pilot.press("e", "y")
        await wait(app, lambda: list_refusals() - earlier)

    run(act)
    assert Path("hookline.toml").read_text() == before
    assert not (data / "approvals.json").exists()


def test_what_a_thread_read_before_the_end_is_ignored_after_it(data: Path) -> None:
    apps: list[TopApp] = []

    async def act(app: TopApp, _pilot: Pilot[None]) -> None:
        apps.append(app)

    assert data.exists()
    run(act)
    apps[0].on_hook_update(HookUpdate((), ()))
