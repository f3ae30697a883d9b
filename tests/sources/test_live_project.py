import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hookline.project import Project
from hookline.sources import live_project as module
from hookline.sources.live_project import LiveProject

SOON = 60
ONE = '[[hook]]\nid = "one"\non = "file_edited"\nrun = ["sh", "-c", "true"]\n'
TWO = '[[hook]]\nid = "two"\non = "file_edited"\nrun = ["sh", "-c", "true"]\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a home and a project in it, with nothing configured."""
    for name in [name for name in os.environ if name.startswith(("XDG_", "HOOKS_", "HOOKLINE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "POLL_SECONDS", 0.02)
    (tmp_path / "home" / ".config" / "hookline").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    return tmp_path


def ids(opened: Project) -> set[str]:
    return {hook.id for hook in opened.hooks}


def follow(place: Path, scenario: Callable[[LiveProject, list[Project]], Awaitable[None]]) -> list[Project]:
    async def run() -> list[Project]:
        configured = LiveProject(place / "project")
        loads: list[Project] = []

        async def collect() -> None:
            async for opened in configured.reloads():
                loads.append(opened)  # noqa: PERF401 - there is no end to it

        task = asyncio.create_task(collect())
        try:
            await scenario(configured, loads)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await configured.close()
        return loads

    return asyncio.run(run())


async def come(is_there: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not is_there():  # noqa: ASYNC110 - what comes true is on the disk
            await asyncio.sleep(0.02)


def test_everything_is_loaded_again_when_a_file_of_hooks_comes_changes_and_goes(place: Path) -> None:
    own, theirs = place / "home" / ".config" / "hookline" / "hookline.toml", place / "project" / "hookline.toml"

    async def scenario(configured: LiveProject, loads: list[Project]) -> None:
        assert ids(configured.project) == set()
        own.write_text(ONE)
        await come(lambda: ids(configured.project) == {"one"})
        theirs.write_text(TWO)
        await come(lambda: ids(configured.project) == {"one", "two"})
        own.write_text(ONE.replace("one", "uno"))
        await come(lambda: ids(configured.project) == {"uno", "two"})
        theirs.unlink()
        await come(lambda: ids(configured.project) == {"uno"})
        assert [ids(opened) for opened in loads] == [{"one"}, {"one", "two"}, {"uno", "two"}, {"uno"}]

    follow(place, scenario)


def test_a_broken_file_is_a_problem_and_no_end(place: Path) -> None:
    own = place / "home" / ".config" / "hookline" / "hookline.toml"
    own.write_text(ONE)

    async def scenario(configured: LiveProject, loads: list[Project]) -> None:
        own.write_text(ONE + "[[hook]\n")
        await come(lambda: len(loads) == 1)
        assert loads[0].problems
        own.write_text(TWO)
        await come(lambda: ids(configured.project) == {"two"})
        assert not configured.project.problems

    follow(place, scenario)


def test_nothing_is_loaded_while_nothing_changes(place: Path) -> None:
    async def scenario(_configured: LiveProject, loads: list[Project]) -> None:
        (place / "project" / "other.txt").write_text("no hooks here")
        await asyncio.sleep(0.3)
        assert loads == []

    follow(place, scenario)


def test_an_approval_is_news(place: Path) -> None:
    (place / "project" / "hookline.toml").write_text(ONE)

    async def scenario(configured: LiveProject, loads: list[Project]) -> None:
        hooks = list(configured.project.hooks)
        assert configured.approved_hooks(hooks) == []
        configured.engine.trust.approve(hooks[0], cwd=str(configured.project.root))
        await come(lambda: len(loads) == 1)
        assert configured.approved_hooks(hooks) == hooks

    follow(place, scenario)


def test_approvals_that_cannot_be_read_clear_nothing(place: Path) -> None:
    (place / "project" / "hookline.toml").write_text(ONE)
    data = place / "home" / ".local" / "share" / "hookline"
    data.mkdir(parents=True)
    (data / "approvals.json").write_text("no list")

    async def scenario(configured: LiveProject, _loads: list[Project]) -> None:
        assert configured.approved_hooks(list(configured.project.hooks)) == []

    follow(place, scenario)


def test_an_engine_that_is_in_use_is_closed_after_that(place: Path) -> None:
    own = place / "home" / ".config" / "hookline" / "hookline.toml"
    closed: list[str] = []

    async def scenario(configured: LiveProject, loads: list[Project]) -> None:
        first = configured.engine
        close = first.close

        async def noted() -> None:
            closed.append("first")
            await close()

        first.close = noted  # type: ignore[method-assign]
        async with configured.use() as opened:
            own.write_text(ONE)
            await come(lambda: len(loads) == 1)
            await asyncio.sleep(0.1)
            assert opened is first
            assert configured.engine is not first
            assert closed == []
        assert closed == ["first"]

    follow(place, scenario)


def test_nobody_there_is_asked_as_an_agent(place: Path) -> None:
    async def scenario(configured: LiveProject, _loads: list[Project]) -> None:
        assert not configured.engine.agent_listens

    follow(place, scenario)
