"""Projects that stay open between calls, each as long as opening it anew would give the same."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Final

from hookline import surroundings
from hookline.errors import StoreError
from hookline.ports import TraceStore
from hookline.surroundings import Surroundings
from hookline.workspace import Folders, Opened, open_project, open_traces, person_folders

logger: Final = logging.getLogger(__name__)

MOST: Final = 16
IDLE: Final = 900.0  # seconds


class _Kept:
    """An open project, the variables and the folder it was opened and used with, and the calls that use it now."""

    def __init__(self, opened: Opened, here: Surroundings) -> None:
        self.opened = opened
        self.stamps = opened.stamps
        self.variables: dict[str, str | None] = {name: here.whole.get(name) for name in here.seen}
        # where variables move the person's folders, it depends on where one works whether they may
        self.folder = "" if _are_usual(opened) else here.folder
        self.callers: list[Surroundings] = []
        self.last = time.monotonic()
        self.is_retired = False

    def fits(self, here: Surroundings) -> bool:
        """Say whether whoever comes from there would get the same."""
        for caller in self.callers:
            # what somebody in the middle of a call has looked at counts already
            self.learn(caller)
        return not self.is_retired and self.folder in {"", here.folder} and self._has_same_variables(here.whole)

    def learn(self, here: Surroundings) -> None:
        """Take note of the variables that a call looked at; two that differ in one do not share what was made of it."""
        for name in here.seen - self.variables.keys():
            self.variables[name] = here.whole.get(name)
        self.is_retired = self.is_retired or not self._has_same_variables(here.whole)

    def _has_same_variables(self, whole: Mapping[str, str]) -> bool:
        for name, value in self.variables.items():  # noqa: SIM110 - asked twice a call, and half as long without a generator
            if whole.get(name) != value:
                return False
        return True


def _are_usual(opened: Opened) -> bool:
    """Say whether a person's folders are where they are without any variable."""
    usual, found = person_folders(opened.root, environ={}), opened.folders
    return not found.problems and (found.home, found.config, found.data) == (usual.home, usual.config, usual.data)


class _Lent:
    """A store that several engines write to: none of them closes it."""

    def __init__(self, store: TraceStore) -> None:
        self.write = store.write
        self.flush = store.flush
        self.traces = store.traces
        self.records = store.records
        self.export = store.export

    def close(self) -> None:
        """Leave it open: it is somebody else's."""


class KeptProjects:
    """Open projects once for many calls."""

    def __init__(self) -> None:
        self._kept: dict[str, list[_Kept]] = {}
        self._used: dict[int, _Kept] = {}
        self._stores: dict[Path, TraceStore] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """How many projects are open."""
        return sum(map(len, self._kept.values()))

    def open(self, root: Path) -> Opened:
        """Give a project as it is configured now, in the surroundings of the call that is being answered."""
        here = surroundings.current()
        if here is None:
            raise RuntimeError("a project is opened for a call, and there is none")
        found = self._find(str(root), here)
        if found is None:
            found = self._opened(root, here)
        found.callers.append(here)
        found.last = time.monotonic()
        return found.opened

    async def leave(self, project: Opened) -> None:
        """Take note that a call is answered; what nobody else may use any more is closed with its last call."""
        kept = self._used[id(project)]
        here = surroundings.current()
        if here is not None:
            kept.learn(here)
        kept.callers = [caller for caller in kept.callers if caller is not here]
        if kept.is_retired and not kept.callers:
            self._retire(kept)

    def tidy(self) -> None:
        """Close what nobody has used for long."""
        oldest = time.monotonic() - IDLE
        for kept in [kept for some in self._kept.values() for kept in some if kept.last < oldest and not kept.callers]:
            self._retire(kept)
        if not self._closing:
            # whoever is being closed may have something left to write
            used = {kept.opened.folders.data for kept in self._used.values()}
            for data in self._stores.keys() - used:
                self._begin(_put_away(self._stores.pop(data)))

    async def close(self) -> None:
        """Close everything."""
        for kept in [kept for some in self._kept.values() for kept in some]:
            self._retire(kept)
        await asyncio.gather(*self._closing, return_exceptions=True)
        for store in self._stores.values():
            await _put_away(store)
        self._stores.clear()

    def _find(self, root: str, here: Surroundings) -> _Kept | None:
        for kept in self._kept.get(root, ()):
            if not kept.fits(here):
                continue
            stamps = kept.opened.renewed(kept.stamps)
            if stamps is not None:
                kept.stamps = stamps
                return kept
            self._retire(kept)
            return None
        return None

    def _opened(self, root: Path, here: Surroundings) -> _Kept:
        if self.count >= MOST:
            idle = [kept for some in self._kept.values() for kept in some if not kept.callers]
            if idle:
                self._retire(min(idle, key=lambda kept: kept.last))
        # what is looked at from here on decides what the project is
        before = set(here.seen)
        here.seen.clear()
        opened = open_project(root, stays=self._traces)
        # nobody asks us what happened lately: that stands in the traces, and here it would only stay in memory
        opened.engine.stop_debugger()
        kept = _Kept(opened, here)
        here.seen |= before
        self._kept.setdefault(str(root), []).append(kept)
        self._used[id(opened)] = kept
        return kept

    def _traces(self, folders: Folders) -> TraceStore:
        """Lend the one store for a database: everybody's records are written by one thread."""
        store = self._stores.get(folders.data)
        if store is None:
            store = self._stores[folders.data] = open_traces(folders)
        return _Lent(store)

    def _retire(self, kept: _Kept) -> None:
        kept.is_retired = True
        for root, some in list(self._kept.items()):
            if kept in some:
                some.remove(kept)
                if not some:
                    del self._kept[root]
        if not kept.callers and self._used.pop(id(kept.opened), None) is not None:
            self._begin(_close(kept))

    def _begin(self, closing: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _close(kept: _Kept) -> None:
    try:
        await kept.opened.engine.close()
    except Exception:
        logger.exception("a project could not be closed")


async def _put_away(store: TraceStore) -> None:
    try:
        await asyncio.to_thread(store.close)
    except StoreError as problem:
        # traces are not worth more than a line: what was decided stands
        logger.warning("%s", problem)
