"""Projects that jobs are about, kept open for a moment: one event may bring a hundred jobs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Final

from hookline.errors import ConfigError
from hookline.workspace import Opened, open_project

# What a person changes in a configuration holds for jobs that start this much later.
FRESH: Final = 1.0


class _Entry:
    """One open project, and who uses it."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.until = monotonic() + FRESH
        self.users = 0
        self.is_retired = False


class Projects:
    """Open each project as it is configured now, and close it when nobody needs it any more."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    @asynccontextmanager
    async def use(self, folder: str) -> AsyncIterator[Opened]:
        """Give a project for as long as one of its hooks runs.

        Raises:
            ConfigError: There is no such folder any more.
        """
        await self.tidy()
        entry = self._entries.get(folder)
        if entry is None:
            entry = self._entries[folder] = _Entry(_open(Path(folder)))
        entry.users += 1
        try:
            yield entry.opened
        finally:
            entry.users -= 1
            if entry.is_retired:
                await _close(entry)

    async def tidy(self) -> None:
        """Close what has been open for long enough; what is in use closes when that ends."""
        now = monotonic()
        await self._retire([folder for folder, entry in self._entries.items() if entry.until < now])

    async def close(self) -> None:
        """Close everything."""
        await self._retire(list(self._entries))

    async def _retire(self, folders: list[str]) -> None:
        retired = [self._entries.pop(folder) for folder in folders]
        for entry in retired:
            entry.is_retired = True
            await _close(entry)


def _open(folder: Path) -> Opened:
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder} any more")
    opened = open_project(folder)
    # whoever caused the job has gone on; what hooks say waits for the next agent
    opened.engine.agent_listens = False
    return opened


async def _close(entry: _Entry) -> None:
    if not entry.users:
        await entry.opened.engine.close()
