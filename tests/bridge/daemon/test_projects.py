"""Projects that stay open between calls."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hookline import surroundings
from hookline.bridge.daemon import projects
from hookline.bridge.daemon.projects import KeptProjects
from hookline.surroundings import Surroundings
from hookline.workspace import Opened

HOOK = '[[hook]]\nid = "h"\non = "before_tool"\nrun = ["true"]\n'


class Desk:
    """A person's home and projects, which several callers use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        (self.home / ".config/hookline").mkdir(parents=True)
        (self.home / ".config/hookline/hookline.toml").write_text(HOOK)
        self.kept = KeptProjects()

    def project(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    async def use(self, name: str, **env: str) -> Opened:
        root = self.project(name)
        with surroundings.entered(Surroundings({"HOME": str(self.home), **env}, str(root))):
            opened = self.kept.open(root)
            await self.kept.leave(opened)
        return opened


def run(folder: Path, what: Callable[[Desk], Awaitable[None]]) -> None:
    async def whole() -> None:
        desk = Desk(folder)
        # what was made just now may still change within the same tick of the clock
        desk.project("one")
        await asyncio.sleep(2.2)
        try:
            await what(desk)
        finally:
            await desk.kept.close()

    asyncio.run(whole())


def test_a_project_is_opened_once(tmp_path: Path) -> None:
    async def what(desk: Desk) -> None:
        first = await desk.use("one")
        assert await desk.use("one") is first
        assert desk.kept.count == 1

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
        with surroundings.entered(Surroundings({"HOME": str(desk.home), "LATER": "1"}, str(root))):
            opened = desk.kept.open(root)
            assert surroundings.environ()["LATER"] == "1"
            await desk.kept.leave(opened)
        assert opened is first
        assert await desk.use("one", LATER="1") is first
        assert await desk.use("one", LATER="2") is not first

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
        with surroundings.entered(Surroundings({"HOME": str(desk.home)}, str(root))):
            mine = desk.kept.open(root)
            (desk.home / ".config/hookline/hookline.toml").write_text("")
            await desk.use("one")
            outcome = await mine.engine.emit("before_tool", {}, tool="shell", args={"command": "ls"})
            assert [verdict.hook for verdict in outcome.verdicts] == ["h"]
            await desk.kept.leave(mine)

    run(tmp_path, what)


def test_there_are_never_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projects, "MOST", 3)

    async def what(desk: Desk) -> None:
        for name in ("one", "two", "three", "four", "five"):
            await desk.use(name)
        assert desk.kept.count == 3

    run(tmp_path, what)


def test_what_nobody_has_used_for_long_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def what(desk: Desk) -> None:
        await desk.use("one")
        desk.kept.tidy()
        assert desk.kept.count == 1
        monkeypatch.setattr(projects, "IDLE", -time.monotonic())
        desk.kept.tidy()
        assert desk.kept.count == 0

    run(tmp_path, what)


def test_without_a_call_nothing_is_opened(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="there is none"):
        KeptProjects().open(tmp_path)
