import asyncio
from pathlib import Path

import pytest

from hookline.project_cache import ProjectCache
from hookline.worker import FRESH, Dead
from tests.worker_home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    found = Home(tmp_path, monkeypatch)
    found.configure(run="true")
    return found


def test_jobs_of_one_moment_share_a_project(home: Home) -> None:
    async def run() -> None:
        projects = ProjectCache(fresh=FRESH)
        one, other = projects.open(home.project), projects.open(home.project)
        assert one is other
        await projects.close()

    asyncio.run(run())


def test_project_is_read_again_after_a_moment_and_stays_open_for_who_uses_it(home: Home) -> None:
    async def run() -> None:
        projects = ProjectCache()
        one = projects.open(home.project)
        home.configure(run="true", id="newer")
        other = projects.open(home.project)
        assert one is not other
        assert (one.engine.registry.has_hook("later"), other.engine.registry.has_hook("newer")) == (True, True)
        await projects.release(other)
        outcome = await one.engine.emit("after_tool")
        assert [verdict.hook for verdict in outcome.verdicts] == ["later"]
        await projects.release(one)
        await projects.close()

    asyncio.run(run())


def test_folder_that_is_gone_is_said_to_be(home: Home) -> None:
    home.put()
    home.project.rename(home.project.parent / "elsewhere")

    assert home.attempt() == Dead(f"there is no folder {home.project} any more")
