"""Hooks that are functions in Python modules, called with the dialect's document.

Without `isolated`, the module is imported into this process. A plain function runs in a thread, an
`async def` function on the event loop, and both share everything with the embedding program: the
environment and the working folder are the program's own, what a hook prints goes where the program prints,
and a function that hangs cannot be ended, only left alone. With `isolated: true` a warm worker process calls
the function, with the hook's environment and working folder, and is killed when it takes too long.

Modules are looked up in the hook's folders first and among the installed ones then, and get private names:
two projects' `hooks.py` do not meet, and no file of a project can stand in for a module of this program.
A hook module imports the files beside it as if its folder were on `sys.path`.
"""
# folders are put together on every call, which costs five times more with pathlib
# ruff: noqa: PTH100, PTH118

import asyncio
import contextvars
import os
import sys
import threading
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Final

from hookline import surroundings, wire
from hookline.kinds._modules import Modules, Said, answer, locate
from hookline.kinds._python_calls import REMEMBERED, Head, misnamed, places, whole_path
from hookline.kinds._sealed import differs
from hookline.kinds._worker import Crew, Ending, Heard, TeamKey, WorkerLimits, keep
from hookline.kinds._worker_main import ANSWER_LIMIT
from hookline.kinds.function import finish, late
from hookline.model.event import Event
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Source

THREAD_LIMIT: Final = 32
IDLE_THREADS: Final = 4
HUNG_LIMIT: Final = 4
_ISOLATE: Final = "with isolated: true it would be ended"


class Python:
    """Call functions of Python modules, here or in workers."""

    def __init__(
        self,
        folders: Sequence[str] = (),
        *,
        interpreter: str = "",
        limits: WorkerLimits | None = None,
        always_isolated: bool = False,
    ) -> None:
        self._always_isolated = always_isolated
        self._folders = tuple(os.path.abspath(folder) for folder in folders)
        self._interpreter = interpreter or sys.executable or ""
        self._limits = limits or WorkerLimits()
        self._modules = Modules()
        self._threads = _Threads()
        self._heads: dict[str, tuple[Head, bytes]] = {}
        self._crews: dict[AbstractEventLoop, tuple[Crew, AsyncGenerator[Crew, None]]] = {}

    def refusal(self, hook: Hook) -> str:
        """Say why this hook cannot be called as it is written."""
        if wrong := misnamed(hook.module, hook.function):
            return wrong
        if not hook.module:
            return f'hook "{hook.id}" names no module'
        if not hook.function and "." not in hook.module:
            return f'hook "{hook.id}" names no function: add function, or write module as {hook.module}.function'
        if (hook.isolated or self._always_isolated) and not hasattr(os, "posix_spawn"):
            return "isolated Python hooks need Linux or macOS: leave isolated out, or use a command hook"
        return ""

    def folders(self, hook: Hook, event: Event) -> tuple[str, ...]:
        """Say where the hook's module is looked up, first to last, before the installed modules.

        The workspace is searched for the workspace's own hooks only. Otherwise a cloned project could
        bring a file named like the module of a hook that the person has trusted long ago.
        """
        return places(
            self._folders,
            whole_path(event.cwd) if event.cwd else surroundings.folder(),
            working_directory=hook.working_directory,
            source_path=whole_path(hook.source_path) if hook.source_path else "",
            is_local=hook.source is Source.WORKSPACE,
        )

    def file(self, hook: Hook, event: Event) -> str:
        """Name the file that would be loaded; empty for installed modules and for what cannot be found."""
        found = locate(hook.module, self.folders(hook, event))
        return found.path if found else ""

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Call the function with a copy of the document."""
        if refusal := self.refusal(hook):
            return Reply(failure=Failure(FailureKind.REFUSED, refusal))
        try:
            folders = self.folders(hook, request.event)
        except OSError as problem:
            text = f"the working folder of this program is gone, so no module can be looked up: {problem.strerror}"
            return Reply(failure=Failure(FailureKind.NOT_FOUND, text))
        # modules are made of the vetted bytes themselves; other files stay where they lie, and are compared
        sources, others = _parted(request.sealed)
        if others and (changed := _changed(others)):
            return _refused(f'"{changed}" changed since it was checked')
        call = self._call_worker if hook.isolated or self._always_isolated else self._call_here
        reply = await call(hook, request, folders=folders, sealed=sources, timeout=timeout)
        if others and (changed := _changed(others)):
            return _refused(f'"{changed}" changed while the hook ran')
        return reply

    async def close(self) -> None:
        """End all workers and idle threads, and forget all loaded modules."""
        here = asyncio.get_running_loop()
        crews = dict(self._crews)
        self._crews.clear()
        self._threads.close()
        self._modules.close()
        for loop, (crew, keeper) in crews.items():
            if loop is here:
                await crew.close()
                await keeper.aclose()
            else:
                crew.kill()

    async def _call_here(
        self, hook: Hook, request: Request, *, folders: tuple[str, ...], sealed: Sealed | None, timeout: float
    ) -> Reply:
        # through JSON and back: a hook's own copy, and exactly what it would get in a worker
        document = wire.load(wire.dump(request.document))

        def job() -> Said:
            return answer(
                self._modules,
                hook.module,
                function=hook.function,
                folders=folders,
                document=document,
                sealed=sealed,
            )

        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        said = await self._threads.run(job, owner=hook.id, timeout=timeout)
        if isinstance(said, Failure):
            is_late = said.kind is FailureKind.TIMEOUT
            notes = (f"the function still runs in a thread of this program; {_ISOLATE}",) if is_late else ()
            return Reply(failure=said, notes=notes)
        if isinstance(said.value, Awaitable):
            return await finish(said.value, timeout=max(0.0, deadline - loop.time()))
        return _reply(said)

    async def _call_worker(
        self, hook: Hook, request: Request, *, folders: tuple[str, ...], sealed: Sealed | None, timeout: float
    ) -> Reply:
        here = surroundings.current()
        cwd = here.folder if here is not None else ""
        variables: Mapping[str, str] = {}
        # one that did not ask for a process of its own finds what it would have found in the process that was asked
        if hook.isolated:
            cwd = os.path.join(request.event.cwd or cwd, hook.working_directory)
            variables = {**request.env, **hook.env}
        whole = None if here is None else here.whole
        head = self._head(Head(hook=hook, folders=folders, cwd=cwd, variables=variables, whole=whole, sealed=sealed))
        known = self._crews.get(asyncio.get_running_loop())
        crew = known[0] if known is not None else await self._crew()
        key = TeamKey(self._interpreter, folders, vetted=sealed is not None)
        heard = await crew.ask(key, (head, wire.dump(request.document)), timeout=timeout)
        return self._read(heard, timeout)

    def _head(self, head: Head) -> bytes:
        """Write what a worker is told besides the document: most often that is what it was told for the last event."""
        known = self._heads.get(head.hook.id)
        if known is None or not known[0].is_same(head):
            if len(self._heads) >= REMEMBERED:
                self._heads.clear()
            known = self._heads[head.hook.id] = (head, head.written())
        return known[1]

    async def _crew(self) -> Crew:
        loop = asyncio.get_running_loop()
        known = self._crews.get(loop)
        if known is not None:
            return known[0]
        for other in [other for other in list(self._crews) if other.is_closed()]:
            # another thread's loop may have been quicker
            if gone := self._crews.pop(other, None):
                gone[0].kill()
        crew = Crew(self._limits)
        keeper = keep(crew)
        self._crews[loop] = (crew, keeper)
        return await anext(keeper)

    def _read(self, heard: Heard, timeout: float) -> Reply:
        if heard.ending is Ending.ANSWERED:
            try:
                said = _read_frame(heard.frame)
            except ValueError as problem:
                failure = Failure(FailureKind.INVALID_REPLY, f"the hook's answer is not JSON: {problem}")
                return Reply(failure=failure, stderr=heard.noise)
            return _reply(said, stderr=heard.noise)
        return Reply(failure=self._failure(heard, timeout), stderr=heard.noise)

    def _failure(self, heard: Heard, timeout: float) -> Failure:
        match heard.ending:
            case Ending.OVERFLOWED:
                text = f"printed or returned more than {ANSWER_LIMIT} bytes; ended"
                return Failure(FailureKind.TOO_MUCH_OUTPUT, text)
            case Ending.DIED:
                return Failure(FailureKind.KILLED, f"the worker process died during the call: {heard.detail}")
            case Ending.NOT_STARTED:
                text = f'cannot start the worker with "{self._interpreter}": {heard.detail}'
                return Failure(FailureKind.NOT_FOUND, text)
            case Ending.NO_FREE_WORKER:
                what_now = f"all {self._limits.team} workers of its folder were busy"
                return late(timeout, what_now=what_now)
            case _:
                return late(timeout)


def _parted(sealed: Sealed | None) -> tuple[Sealed | None, Sealed]:
    """Part the files that are imported from those that are only read."""
    if sealed is None:
        return None, {}
    sources = {path: content for path, content in sealed.items() if path.endswith(".py")}
    return sources, {path: content for path, content in sealed.items() if path not in sources}


def _changed(files: Sealed) -> str:
    return next((path for path, content in files.items() if differs(path, content)), "")


def _refused(message: str) -> Reply:
    return Reply(failure=Failure(FailureKind.REFUSED, message))


def _reply(said: Said, *, stderr: bytes = b"") -> Reply:
    if said.failure:
        return Reply(failure=Failure(FailureKind(said.failure), said.message), stderr=stderr)
    return Reply(value=said.value, stderr=stderr)


def _read_frame(frame: bytes) -> Said:
    """Read a worker's answer; the hook lives in that process, so nothing is taken for granted."""
    match wire.load(frame):
        case {"value": value, "failure": str(failure), "message": str(message)}:
            return Said(value, FailureKind(failure).value if failure else "", message)
        case _:
            raise ValueError("not an answer of a worker")


class _Seat:
    """A thread that runs one job after another; it does not keep the program from ending."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.thread = threading.Thread(target=_work, args=(self.jobs,), name="hookline-python", daemon=True)
        self.thread.start()


def _work(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        # or the last document would stay alive until the next one
        del job


class _Threads:
    """Threads for functions that may take a while, and may never come back.

    The executor of the standard library waits for its threads when the program ends; one function that
    hangs would keep it alive for ever.
    """

    def __init__(self) -> None:
        self._idle: list[_Seat] = []
        self._leaving: list[threading.Thread] = []
        self._hung: list[tuple[str, threading.Thread]] = []
        self._slots: dict[AbstractEventLoop, asyncio.Semaphore] = {}

    async def run(self, job: Callable[[], Said], *, owner: str, timeout: float) -> Said | Failure:
        """Run a job and wait at most `timeout` seconds, also for a free thread."""
        if self._count_hung(owner) >= HUNG_LIMIT:
            text = f"not called: {HUNG_LIMIT} earlier calls of it still hang in this program; {_ISOLATE}"
            return Failure(FailureKind.REFUSED, text)
        slots = self._slots_here()
        try:
            async with asyncio.timeout(timeout):
                await slots.acquire()
                return await self._run(job, owner=owner, slots=slots)
        except TimeoutError:
            return late(timeout, what_now="left running")
        except RuntimeError as problem:
            return Failure(FailureKind.INTERNAL, f"no thread to run the hook in: {problem}")

    def close(self) -> None:
        """End the threads that have nothing to do; those that hang are left alone."""
        idle, self._idle = self._idle, []
        self._slots.clear()
        for seat in idle:
            self._dismiss(seat)
        for thread in self._leaving:
            thread.join(1.0)
        self._leaving.clear()

    async def _run(self, job: Callable[[], Said], *, owner: str, slots: asyncio.Semaphore) -> Said:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Said] = loop.create_future()
        context = contextvars.copy_context()
        try:
            seat = self._idle.pop() if self._idle else _Seat()
        except RuntimeError:
            slots.release()
            raise

        def work() -> None:
            said = context.run(job)
            # a closed loop has nobody left who waits
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(take, said)

        def take(said: Said) -> None:
            slots.release()
            if done.done():
                _discard(said.value)
            else:
                done.set_result(said)

        seat.jobs.put(work)
        try:
            said = await done
        except asyncio.CancelledError:
            seat.jobs.put(None)
            self._hung.append((owner, seat.thread))
            raise
        self._give_back(seat)
        return said

    def _give_back(self, seat: _Seat) -> None:
        if len(self._idle) < IDLE_THREADS:
            self._idle.append(seat)
        else:
            self._dismiss(seat)

    def _dismiss(self, seat: _Seat) -> None:
        seat.jobs.put(None)
        self._leaving = [thread for thread in self._leaving if thread.is_alive()]
        self._leaving.append(seat.thread)

    def _count_hung(self, owner: str) -> int:
        self._hung = [(name, thread) for name, thread in self._hung if thread.is_alive()]
        return sum(name == owner for name, _ in self._hung)

    def _slots_here(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        slots = self._slots.get(loop)
        if slots is None:
            for other in [other for other in list(self._slots) if other.is_closed()]:
                self._slots.pop(other, None)
            slots = self._slots[loop] = asyncio.Semaphore(THREAD_LIMIT)
        return slots


def _discard(value: object) -> None:
    if isinstance(value, Coroutine):
        value.close()
