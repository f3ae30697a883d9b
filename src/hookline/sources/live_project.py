"""A project that stays open while its configuration changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.config.loader import find_config_files
from hookline.config.staleness import stat_stamp
from hookline.engine.engine import Engine
from hookline.errors import StoreError
from hookline.model.hook import Hook
from hookline.project import Project, load_project
from hookline.user_dirs import find_user_dirs, working_folder

# seconds between two checks of the configuration files: a handful of stat calls
POLL_SECONDS: Final = 1.0

FileStates = tuple[tuple[str, tuple[int, ...]], ...]


class LiveProject:
    """The project as it is configured now; an earlier engine is closed when its last user is done."""

    def __init__(self, project: Path | None = None) -> None:
        self._root = (project or working_folder()).absolute()
        self._folders = find_user_dirs(self._root)
        self._approvals = str(self._folders.data / "approvals.json")
        self._stamps: FileStates = ()
        # how many use each engine that is open
        self._users: dict[Engine, int] = {}
        self.project = self._load()

    @property
    def engine(self) -> Engine:
        """The current engine."""
        return self.project.engine

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Engine]:
        """Use the current engine: it is not closed before the context ends, even after a reload."""
        engine = self.engine
        self._users[engine] += 1
        try:
            yield engine
        finally:
            self._users[engine] -= 1
            await self._close_unused(engine)

    async def reloads(self) -> AsyncIterator[Project]:
        """Reload whenever a configuration file or the approvals change, and yield the new project."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if await asyncio.to_thread(self._take_stamps) == self._stamps:
                continue
            before = self.engine
            self.project = self._load()
            yield self.project
            await self._close_unused(before)

    def approved_hooks(self, hooks: list[Hook]) -> list[Hook]:
        """Return the hooks that may run: where the approvals cannot be read, only those that need none."""
        approved: list[Hook] = []
        for hook in hooks:
            with suppress(StoreError):
                if not self.engine.trust.reason_denied(hook, cwd=str(self.project.root)):
                    approved.append(hook)
        return approved

    def _load(self) -> Project:
        approvals = stat_stamp(self._approvals)
        project = load_project(self._root, folders=self._folders)
        # taken before the files were read: a change in between causes a reload
        self._stamps = (*project.stamps.files, (self._approvals, approvals))
        # no agent listens here: questions of hooks wait in the inbox
        project.engine.agent_listens = False
        self._users[project.engine] = 0
        return project

    def _take_stamps(self) -> FileStates:
        paths = [*find_config_files(self.project.search, set()), self._approvals]
        return tuple((path, stat_stamp(path)) for path in paths)

    async def _close_unused(self, engine: Engine) -> None:
        if engine is not self.engine and not self._users[engine]:
            del self._users[engine]
            await engine.close()

    async def close(self) -> None:
        """Close everything that is still open."""
        for engine in list(self._users):
            await engine.close()
