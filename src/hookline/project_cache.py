"""Keep projects open between calls, each as long as loading it again would give the same."""

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hookline import caller_context
from hookline.caller_context import CallerContext
from hookline.errors import StoreError
from hookline.ports import TraceStore
from hookline.project import ListGuarded, Project, load_project, open_traces
from hookline.user_dirs import UserDirs, find_user_dirs

if TYPE_CHECKING:
    from hookline.telemetry.exporter import CollectorTarget, TelemetryExporter

logger: Final = logging.getLogger(__name__)

MOST: Final = 16
IDLE: Final = 900.0  # seconds


class _OpenProject:
    """An open project, the variables and the folder it was loaded and used with, and the calls that use it now."""

    def __init__(self, project: Project, caller: CallerContext | None) -> None:
        self.project = project
        self.variables: dict[str, str | None] = {}
        self.folder = ""
        if caller is not None:
            self.variables = {name: caller.whole.get(name) for name in caller.read_vars}
            # whether variables may move the user's folders depends on the working folder
            usual = find_user_dirs(project.root, environ={})
            is_usual = not project.folders.problems and project.folders.are_at(usual)
            self.folder = "" if is_usual else caller.folder
        self.callers: list[CallerContext | None] = []
        self.loaded = self.last_used = time.monotonic()
        self.is_retired = False

    def fits(self, caller: CallerContext | None) -> bool:
        """Return whether this caller would get the same project."""
        for other in self.callers:
            # variables that a running call has read count already
            self.learn(other)
        if self.is_retired or caller is None:
            return not self.is_retired
        return self.folder in {"", caller.folder} and self._has_same_variables(caller.whole)

    def learn(self, caller: CallerContext | None) -> None:
        """Record the variables that a call has read: callers that differ in one do not share the project."""
        if caller is None:
            return
        for name in caller.read_vars - self.variables.keys():
            self.variables[name] = caller.whole.get(name)
        self.is_retired = self.is_retired or not self._has_same_variables(caller.whole)

    def _has_same_variables(self, whole: Mapping[str, str]) -> bool:
        return all(whole.get(name) == value for name, value in self.variables.items())


class _SharedStore:
    """A trace store that several engines write to: none of them closes it."""

    def __init__(self, store: TraceStore) -> None:
        self.write = store.write
        self.flush = store.flush
        self.traces = store.traces
        self.records = store.records
        self.export = store.export

    def close(self) -> None:
        """Leave the store open; the cache closes it."""


class ProjectCache:
    """Open each project once for many calls.

    With `serves_callers`, as in the daemon, every call brings a caller context, engines share one trace store per user, and no
    code of a hook runs in this process. A project loaded less than `fresh` seconds ago is taken as current without a look at
    its files. `guarded` is as for `load_project`.
    """

    def __init__(self, *, serves_callers: bool = False, fresh: float = 0.0, guarded: ListGuarded | None = None) -> None:
        self._serves_callers = serves_callers
        self._fresh = fresh
        self._guarded = guarded
        self._entries: dict[str, list[_OpenProject]] = {}
        self._used: dict[int, _OpenProject] = {}
        self._stores: dict[Path, TraceStore] = {}
        self._exporters: dict[tuple[Path, CollectorTarget], TelemetryExporter] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """How many projects are open."""
        return len(self._list_entries())

    def open(self, root: Path) -> Project:
        """Return a project as it is configured now, for the caller that is being answered; `release` gives it back."""
        caller = caller_context.current()
        if caller is None and self._serves_callers:
            raise RuntimeError("a project is opened for a call, and there is none")
        entry = self._find(str(root), caller) or self._load(root, caller)
        entry.callers.append(caller)
        entry.last_used = time.monotonic()
        return entry.project

    async def release(self, project: Project) -> None:
        """Record that a call is answered; a project that no other call may use is closed with its last call."""
        entry = self._used[id(project)]
        caller = caller_context.current()
        entry.learn(caller)
        index = next((index for index, other in enumerate(entry.callers) if other is caller), None)
        if index is not None:
            del entry.callers[index]
        if entry.is_retired and not entry.callers:
            self._retire(entry)

    def tidy(self) -> None:
        """Close projects that have been idle for long, and trace stores without a project."""
        oldest = time.monotonic() - IDLE
        for entry in self._list_entries():
            if entry.last_used < oldest and not entry.callers:
                self._retire(entry)
        if not self._closing:
            # a project that is being closed may have records left to write
            used = {entry.project.folders.data for entry in self._used.values()}
            for data in self._stores.keys() - used:
                self._start(_close_store(self._stores.pop(data)))

    async def close(self) -> None:
        """Close everything."""
        for entry in self._list_entries():
            self._retire(entry)
        await asyncio.gather(*self._closing, return_exceptions=True)
        await asyncio.gather(*(self._close_exporter(data, exporter) for (data, _), exporter in self._exporters.items()))
        self._exporters.clear()
        for store in self._stores.values():
            await _close_store(store)
        self._stores.clear()

    def _list_entries(self) -> list[_OpenProject]:
        return [entry for entries in self._entries.values() for entry in entries]

    def _find(self, root: str, caller: CallerContext | None) -> _OpenProject | None:
        for entry in self._entries.get(root, ()):
            if entry.fits(caller):
                if time.monotonic() - entry.loaded < self._fresh or entry.project.is_current():
                    return entry
                self._retire(entry)
                return None
        return None

    def _load(self, root: Path, caller: CallerContext | None) -> _OpenProject:
        if self.count >= MOST:
            idle = [entry for entry in self._list_entries() if not entry.callers]
            if idle:
                self._retire(min(idle, key=lambda entry: entry.last_used))
        # the variables read from here on decide what the project is
        before = set(caller.read_vars) if caller is not None else set()
        if caller is not None:
            caller.read_vars.clear()
        project = load_project(
            root,
            shared_traces=self._share_traces if self._serves_callers else None,
            share_exporter=self._share_exporter,
            guarded=self._guarded,
        )
        if self._serves_callers:
            # recent runs are in the traces; here they would only use memory
            project.engine.stop_debugger()
        entry = _OpenProject(project, caller)
        if caller is not None:
            caller.read_vars |= before
        self._entries.setdefault(str(root), []).append(entry)
        self._used[id(project)] = entry
        return entry

    def _share_traces(self, dirs: UserDirs) -> TraceStore:
        """Return the one store of a database: one thread writes the records of all engines."""
        store = self._stores.get(dirs.data)
        if store is None:
            store = self._stores[dirs.data] = open_traces(dirs)
        return _SharedStore(store)

    def _share_exporter(self, target: "CollectorTarget", dirs: UserDirs) -> "TelemetryExporter":
        """Return the one exporter for a collector: one thread sends the records of all engines."""
        from hookline.telemetry.exporter import TelemetryExporter  # noqa: PLC0415 - few users export

        key = (dirs.data, target)
        if key not in self._exporters:
            self._exporters[key] = TelemetryExporter(target, dirs.data)
        return self._exporters[key]

    async def _close_exporter(self, data: Path, exporter: "TelemetryExporter") -> None:
        """Send what is left, and record what could not be sent."""
        await asyncio.to_thread(exporter.close)
        warning = exporter.take_warning(is_last=True)
        if warning is not None and data in self._stores:
            self._stores[data].write(warning)

    def _retire(self, entry: _OpenProject) -> None:
        entry.is_retired = True
        for root, entries in list(self._entries.items()):
            if entry in entries:
                entries.remove(entry)
                if not entries:
                    del self._entries[root]
        if not entry.callers and self._used.pop(id(entry.project), None) is not None:
            self._start(_close_project(entry.project))

    def _start(self, closing: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(closing)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _close_project(project: Project) -> None:
    try:
        await project.close()
    except Exception:
        logger.exception("a project could not be closed")


async def _close_store(store: TraceStore) -> None:
    try:
        await asyncio.to_thread(store.close)
    except StoreError as problem:
        # traces are worth no more than a line: the decisions stand
        logger.warning("%s", problem)
