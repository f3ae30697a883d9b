import asyncio
from pathlib import Path

import pytest

from hookline.background import projects as module
from hookline.background.projects import Projects
from hookline.errors import ConfigError
from tests.background.home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    found = Home(tmp_path, monkeypatch)
    found.configure(run="true")
    return found


def test_jobs_of_one_moment_share_a_project(home: Home) -> None:
    async def run() -> None:
        projects = Projects()
        async with projects.use(str(home.project)) as one, projects.use(str(home.project)) as other:
            assert one is other
            assert not one.engine.agent_listens
        await projects.close()

    asyncio.run(run())


def test_project_is_read_again_after_a_moment_and_stays_open_for_who_uses_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FRESH", -1.0)

    async def run() -> None:
        projects = Projects()
        async with projects.use(str(home.project)) as one:
            home.configure(run="true", id="newer")
            async with projects.use(str(home.project)) as other:
                assert one is not other
                assert (one.engine.registry.has_hook("later"), other.engine.registry.has_hook("newer")) == (True, True)
            outcome = await one.engine.emit("after_tool")
            assert [verdict.hook for verdict in outcome.verdicts] == ["later"]
        await projects.close()

    asyncio.run(run())


def test_folder_that_is_gone_is_said_to_be(home: Home) -> None:
    async def run() -> None:
        async with Projects().use(str(home.project / "nowhere")):
            pass

    with pytest.raises(ConfigError, match=r"there is no folder .*nowhere any more"):
        asyncio.run(run())
