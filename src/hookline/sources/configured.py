"""A project that stays open while its configuration changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from hookline.config.locations import Root, find
from hookline.config.stamps import stamp_of
from hookline.core.engine import Engine
from hookline.errors import StoreError
from hookline.folders import between, here, person_folders
from hookline.model.hook import Hook
from hookline.workspace import Opened, open_project

# how often the files are looked at, in seconds; a handful of looks, not one of which opens a file
LOOKING: Final = 1.0

Stamps = tuple[tuple[str, tuple[int, ...]], ...]


class Configured:
    """Hand out the project as it is configured now; what was loaded before lives as long as somebody uses it."""

    def __init__(self, project: Path | None = None, *, linger: float = 0.0) -> None:
        self._root = (project or here()).absolute()
        self._folders = person_folders(self._root)
        self._linger = linger
        self._users: dict[int, int] = {}
        self._retired: dict[int, Engine] = {}
        self._closing: set[asyncio.Task[None]] = set()
        # The files as they were before they were read: what changes meanwhile is loaded again.
        self._stamps = self._look()
        self.opened = self._open()

    @property
    def engine(self) -> Engine:
        """The engine that answers now."""
        return self.opened.engine

    @asynccontextmanager
    async def using(self) -> AsyncIterator[Opened]:
        """Use the project as it is now: it is not closed before that is over, whatever is loaded in between."""
        opened = self.opened
        key = id(opened.engine)
        self._users[key] = self._users.get(key, 0) + 1
        try:
            yield opened
        finally:
            self._users[key] -= 1
            if not self._users[key]:
                del self._users[key]
                if key in self._retired:
                    await self._retired.pop(key).close()

    async def reloads(self) -> AsyncIterator[Opened]:
        """Load everything again whenever a file of configuration or the approvals change, and give what is new."""
        while True:
            await asyncio.sleep(LOOKING)
            stamps = await asyncio.to_thread(self._look)
            if stamps == self._stamps:
                continue
            self._stamps = stamps
            before = self.opened.engine
            self.opened = self._open()
            self._retire(before)
            yield self.opened

    def cleared(self, hooks: list[Hook]) -> list[Hook]:
        """Leave out the hooks that may not run, because nobody approved them or the approvals cannot be read."""
        return [hook for hook in hooks if not self._objection(hook)]

    def _objection(self, hook: Hook) -> str:
        try:
            return self.engine.trust.objection(hook, cwd=str(self.opened.root))
        except StoreError as problem:
            return str(problem)

    def _open(self) -> Opened:
        opened = open_project(self._root, folders=self._folders)
        # there is no agent here whom a hook could ask: it is told when one comes
        opened.engine.agent_listens = False
        return opened

    def _look(self) -> Stamps:
        folders, root = self._folders, self._root
        roots = {
            Root.MANAGED: (folders.managed,) if folders.managed is not None else (),
            Root.PROJECT: (root, *between(root, home=folders.home)),
            Root.HOME: (folders.home,),
            Root.CONFIG: (folders.config,),
        }
        files, _ = find({root: [str(path) for path in paths] for root, paths in roots.items()})
        approvals = str(folders.data / "approvals.json")
        return tuple((path, stamp_of(path)) for path in [*(file.path for file in files), approvals])

    def _retire(self, engine: Engine) -> None:
        task = asyncio.create_task(self._close_later(engine))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close_later(self, engine: Engine) -> None:
        # whoever asked over the network is not counted among the users
        await asyncio.sleep(self._linger)
        if id(engine) in self._users:
            self._retired[id(engine)] = engine
        else:
            await engine.close()

    async def close(self) -> None:
        """Close everything that is still open."""
        for task in list(self._closing):
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)
        for engine in [*self._retired.values(), self.engine]:
            await engine.close()
