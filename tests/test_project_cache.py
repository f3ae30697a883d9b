import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hookline import caller_context, project_cache, user_dirs
from hookline.caller_context import CallerContext
from hookline.model.hook import Hook, Source
from hookline.model.record import Step
from hookline.model.workspace_paths import workspace_roots
from hookline.project import Project
from hookline.project_cache import ProjectCache

pytestmark = pytest.mark.slow

HOOK = '[[hook]]\nid = "h"\non = "before_tool"\nrun = ["true"]\n'


class Desk:
    """A person's home and projects, which several callers use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        (self.home / ".config/hookline").mkdir(parents=True)
        (self.home / ".config/hookline/hookline.toml").write_text(HOOK)
        self.cache = ProjectCache(serves_callers=True)

    def project(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    async def use(self, name: str, **env: str) -> Project:
        root = self.project(name)
        with caller_context.use(CallerContext({"HOME": str(self.home), **env}, str(root))):
            opened = self.cache.open(root)
            await self.cache.release(opened)
        return opened


def run(folder: Path, what: Callable[[Desk], Awaitable[None]]) -> None:
    async def whole() -> None:
        desk = Desk(folder)
        # the first load of all records the entries of the home, which changes a file that is looked at
        await desk.use("one")
        await desk.cache.close()
        desk.cache = ProjectCache(serves_callers=True)
        # what was made just now may still change within the same tick of the clock
        desk.project("one")
        await asyncio.sleep(2.2)
        try:
            await what(desk)
        finally:
            await desk.cache.close()

    asyncio.run(whole())


def test_a_project_is_opened_once(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        first = await desk.use("one")
        assert await desk.use("one") is first
        assert desk.cache.count == 1

    run(tmp_path, what)


def test_a_variable_that_nobody_looks_at_makes_no_difference(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        assert await desk.use("one", SESSION="1") is await desk.use("one", SESSION="2")

    run(tmp_path, what)


def test_a_variable_that_decides_something_makes_another_project(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        first = await desk.use("one")
        other = await desk.use("one", HOOKS_ENABLED="false")
        assert not other.settings.enabled
        assert first.settings.enabled
        # both stay
        assert await desk.use("one") is first
        assert await desk.use("one", HOOKS_ENABLED="false") is other

    run(tmp_path, what)


def test_a_variable_that_a_call_looked_at_later_counts_from_then_on(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        first = await desk.use("one", LATER="1")
        root = desk.project("one")
        with caller_context.use(CallerContext({"HOME": str(desk.home), "LATER": "1"}, str(root))):
            opened = desk.cache.open(root)
            assert caller_context.environ()["LATER"] == "1"
            await desk.cache.release(opened)
        assert opened is first
        assert await desk.use("one", LATER="1") is first
        assert await desk.use("one", LATER="2") is not first

    run(tmp_path, what)


def test_a_variable_that_a_call_looks_at_counts_while_it_is_under_way(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        root = desk.project("one")
        with caller_context.use(CallerContext({"HOME": str(desk.home), "LATER": "1"}, str(root))):
            opened = desk.cache.open(root)
            assert caller_context.environ()["LATER"] == "1"
            # somebody else comes, while this one waits for its hooks
            assert await desk.use("one", LATER="2") is not opened
            assert await desk.use("one", LATER="1") is opened
            await desk.cache.release(opened)

    run(tmp_path, what)


def test_folders_that_variables_moved_are_judged_where_each_caller_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the user database has another home than ours
    monkeypatch.setattr(user_dirs, "database_home", lambda: str(tmp_path))

    async def what(desk: Desk) -> None:
        root, stranger = desk.project("one"), desk.project("stranger")
        given = stranger / "given"
        (given / "hookline").mkdir(parents=True)
        (stranger / ".git").mkdir()
        variables = {"HOME": str(desk.home), "XDG_CONFIG_HOME": str(given)}

        def config(folder: Path) -> Path:
            with caller_context.use(CallerContext(variables, str(folder))):
                return desk.cache.open(root).folders.config

        assert config(root) == given / "hookline"
        # who works in a repository does not take its word for the person's
        assert config(stranger) == desk.home / ".config/hookline"
        assert config(root) == given / "hookline"

    run(tmp_path, what)


def test_a_repository_that_begins_above_a_project_counts_from_then_on(tmp_path: Path) -> None:
    guard = Hook(id="g", command="node", source=Source.USER)

    async def what(desk: Desk) -> None:
        inner = desk.project("one/inner")
        first = await desk.use("one/inner")
        assert workspace_roots(guard, str(inner)) == (str(inner),)
        # programs of all of it are a stranger's from now on
        (inner.parent / ".git").mkdir()
        assert await desk.use("one/inner") is not first
        assert workspace_roots(guard, str(inner)) == (str(inner.parent), str(inner))

    run(tmp_path, what)


def test_a_project_that_was_moved_behind_its_link_is_known_by_its_new_place(tmp_path: Path) -> None:
    guard = Hook(id="g", command="node", source=Source.USER)

    async def what(desk: Desk) -> None:
        desk.project("releases")
        desk.project("releases/1")
        link = tmp_path / "current"
        link.symlink_to("releases/1")
        first = await desk.use("current")
        assert workspace_roots(guard, str(link)) == (str(tmp_path / "releases/1"),)
        (tmp_path / "releases/1").rename(tmp_path / "releases/2")
        link.unlink()
        link.symlink_to("releases/2")
        assert await desk.use("current") is not first
        assert workspace_roots(guard, str(link)) == (str(tmp_path / "releases/2"),)

    run(tmp_path, what)


def test_a_configuration_that_changed_is_loaded_anew(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        first = await desk.use("one")
        (desk.home / ".config/hookline/hookline.toml").write_text(HOOK.replace('"h"', '"other"'))
        second = await desk.use("one")
        assert second is not first
        assert [hook.id for hook in second.loaded.hooks] == ["other"]

    run(tmp_path, what)


def test_a_project_in_use_is_not_closed_under_its_caller(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        root = desk.project("one")
        with caller_context.use(CallerContext({"HOME": str(desk.home)}, str(root))):
            mine = desk.cache.open(root)
            (desk.home / ".config/hookline/hookline.toml").write_text("")
            await desk.use("one")
            outcome = await mine.engine.emit("before_tool", {}, tool="shell", args={"command": "ls"})
            assert [verdict.hook for verdict in outcome.verdicts] == ["h"]
            await desk.cache.release(mine)

    run(tmp_path, what)


def test_there_are_never_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_cache, "MOST", 3)

    async def what(desk: Desk) -> None:
        for name in ("one", "two", "three", "four", "five"):
            await desk.use(name)
        assert desk.cache.count == 3

    run(tmp_path, what)


def test_what_nobody_has_used_for_long_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def what(desk: Desk) -> None:
        await desk.use("one")
        desk.cache.tidy()
        assert desk.cache.count == 1
        monkeypatch.setattr(project_cache, "IDLE", -time.monotonic())
        desk.cache.tidy()
        assert desk.cache.count == 0

    run(tmp_path, what)


def test_the_traces_of_a_person_who_has_gone_are_closed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def writers() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "hookline-traces"}

    others = writers()

    async def what(desk: Desk) -> None:
        root = desk.project("one")
        with caller_context.use(CallerContext({"HOME": str(desk.home)}, str(root))):
            opened = desk.cache.open(root)
            await opened.engine.emit("before_tool", {}, tool="shell", args={"command": "ls"})
            assert opened.engine.store is not None
            await asyncio.to_thread(opened.engine.store.flush)
            await desk.cache.release(opened)
        assert len(writers() - others) == 1
        monkeypatch.setattr(project_cache, "IDLE", -time.monotonic())
        # first the project, then what it wrote to
        for _ in range(2):
            desk.cache.tidy()
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        assert not writers() - others

    run(tmp_path, what)


def test_without_a_call_nothing_is_opened(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="there is none"):
        ProjectCache(serves_callers=True).open(tmp_path)


def test_what_happened_stands_in_the_traces_and_not_in_memory(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        root = desk.project("one")
        with caller_context.use(CallerContext({"HOME": str(desk.home), "PATH": "/bin:/usr/bin"}, str(root))):
            opened = desk.cache.open(root)
            outcome = await opened.engine.emit("before_tool", tool="shell", args={"command": "ls"})
            await opened.engine.drain()
            await desk.cache.release(opened)

        assert opened.engine.store is not None
        opened.engine.store.flush()
        assert [record.step for record in opened.engine.store.records(outcome.trace)][-1] is Step.OUTCOME
        assert opened.engine.debugger.executions() == []

    run(tmp_path, what)
