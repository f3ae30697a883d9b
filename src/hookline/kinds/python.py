"""Hooks that are Python functions: of the embedding program, and of modules.

A function of the embedding program gets an `Event` whose `args` and `data` are the hook's own copies; the session is
shared with the program and read-only by convention. A plain function runs at once on the event loop, so it must be quick:
it cannot be ended. An `async def` function is cancelled at its timeout.

A function of a module is called with the dialect's document. Without `isolated`, the module is imported into this process. A plain function runs in a thread, an `async def` function
on the event loop, and both share everything with the embedding program: the environment and the working folder are the
program's own, what a hook prints goes where the program prints, and a function that hangs cannot be ended, only left
alone. With `isolated: true` a warm worker process calls the function, with the hook's environment and working folder,
and is killed when it takes too long. A hook whose dialect gives it variables of the environment (`OLLAMA_SESSION_ID`)
is also called by a worker, because a process has only one environment, and threads share it. So is a hook that is
contained, in a worker of its project.

Modules are looked up in the hook's folders first and among the installed ones then, and get private names: the
`hooks.py` of two projects do not collide, and no file of a project can stand in for a module of this program. A hook
module imports the files beside it as if its folder were on `sys.path`.
"""
# paths are texts here, as in events
# ruff: noqa: PTH100, PTH117, PTH118, PTH120

import asyncio
import contextvars
import inspect
import os
import sys
import threading
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Final
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from hookline import caller_context, json_codec
from hookline.model.event import Event, copy_fields
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Source
from hookline.process.bootstrap import has_changed
from hookline.process.containment import Containment, make_cell_key
from hookline.process.environment import Environment, EnvironmentAllowList
from hookline.process.hook_state import STATE, describe_state_problem
from hookline.process.limits import ConcurrencyLimiter
from hookline.process.result import describe_limit
from hookline.process.worker_main import (
    ANSWER_LIMIT,
    CallResult,
    ModuleLoader,
    call_function,
    describe_exception,
    locate_module,
    pack_header,
)
from hookline.process.worker_pool import GroupKey, WorkerLimits, WorkerPool, WorkerResponse, WorkerStatus, tie_to_loop

THREAD_LIMIT: Final = 32
IDLE_THREADS: Final = 4
HUNG_LIMIT: Final = 4
_ISOLATE: Final = "with isolated: true it would be ended"
# what a call of a worker failed with, where it depends on nothing but the worker
_FAILURES: Final[Mapping[WorkerStatus, tuple[FailureKind, str]]] = {
    WorkerStatus.OVERFLOWED: (
        FailureKind.TOO_MUCH_OUTPUT,
        f"printed or returned more than {ANSWER_LIMIT} bytes; ended",
    ),
    WorkerStatus.DIED: (FailureKind.KILLED, "the worker process died during the call: {detail}"),
    WorkerStatus.NOT_STARTED: (FailureKind.NOT_FOUND, 'cannot start the worker with "{interpreter}": {detail}'),
    WorkerStatus.NOT_CONTAINED: (FailureKind.REFUSED, "not run, because it could not be contained: {detail}"),
    WorkerStatus.TAMPERED: (FailureKind.REFUSED, "{detail}"),
}

# seconds that a hook has to clean up after its timeout
GRACE_SECONDS: Final = 1.0
# tasks that ignore their cancellation; the event loop itself holds only weak references
_UNENDED: Final[set[asyncio.Task[Reply]]] = set()


class Function:
    """Calls functions of the embedding program."""

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot be called, or ""."""
        return "" if callable(hook.call) else f'hook "{hook.id}" names no function: give it one with call='

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Call the function with the event; only an `async def` function can be ended after `timeout`."""
        function = hook.call
        if function is None:
            return _failure_reply(FailureKind.NOT_FOUND, self.refusal(hook))
        try:
            value = function(_copy_event(request.event))
        # nothing was awaited, so a cancellation seen here is the hook's own doing, as sys.exit() is
        except (Exception, SystemExit, asyncio.CancelledError) as problem:  # noqa: BLE001 - a hook may raise anything
            return exception_reply(problem)
        if hasattr(value, "__await__"):
            return await finish(value, timeout=timeout)
        return Reply(value=value)

    async def close(self) -> None:
        """Release nothing: a function holds no resources."""


async def finish(value: Awaitable[object], *, timeout: float) -> Reply:
    """Wait for the answer of an `async def` hook; a hook that ignores its cancellation is left behind."""
    task = asyncio.create_task(_await_reply(value))
    try:
        await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        await _end(task)
        _close_unstarted(value)
        raise
    if task.done() and not task.cancelled():
        return task.result()
    what_now = "ended" if await _end(task) else "it does not let itself be ended"
    return Reply(failure=timeout_failure(timeout, what_now=what_now))


def _close_unstarted(value: Awaitable[object]) -> None:
    """Close a coroutine that was cancelled before its first step; Python would warn about it."""
    if isinstance(value, Coroutine) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()


async def _await_reply(value: Awaitable[object]) -> Reply:
    try:
        return Reply(value=await value)
    except asyncio.CancelledError as problem:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        return exception_reply(problem)
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - a hook may raise anything
        return exception_reply(problem)


async def _end(task: asyncio.Task[Reply]) -> bool:
    """Cancel the task of a hook, and return whether it ended."""
    _UNENDED.add(task)
    task.add_done_callback(_UNENDED.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE_SECONDS)
    return task.done()


def exception_reply(problem: BaseException) -> Reply:
    """Return the reply for a hook that raised an exception."""
    return _failure_reply(FailureKind.RAISED, describe_exception(problem))


def timeout_failure(timeout: float, *, what_now: str = "ended") -> Failure:
    """Return the failure of a hook that took too long; `what_now` says what became of it."""
    return Failure(FailureKind.TIMEOUT, f"gave no answer within {timeout:g} s; {what_now}")


def _copy_event(event: Event) -> Event:
    """Return an event with copies of what a hook could change by accident."""
    copies: dict[int, object] = {}
    args = copy_fields(event.args, copies) if event.args else {}
    return replace(event, args=args, data=copy_fields(event.data, copies))


class Python:
    """Calls functions of Python modules, in this process or in workers."""

    def __init__(
        self,
        folders: Sequence[str] = (),
        *,
        interpreter: str = "",
        limits: WorkerLimits | None = None,
        always_isolated: bool = False,
        containment: Containment | None = None,
    ) -> None:
        self._always_isolated = always_isolated
        self._containment = containment or Containment()
        self._environment = Environment()
        self._folders = tuple(os.path.abspath(folder) for folder in folders)
        self._interpreter = interpreter or sys.executable or ""
        self._limits = limits or WorkerLimits()
        self._modules = ModuleLoader()
        self._threads = _ThreadPool()
        self._pools: dict[AbstractEventLoop, tuple[WorkerPool, AsyncGenerator[WorkerPool, None]]] = {}

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot be called as it is written, or ""."""
        for field, name in (("module", hook.module), ("function", hook.function)):
            if name and not all(part.isidentifier() for part in name.split(".")):
                return f'{field} "{name}" is not a dotted Python name such as package.module'
        if not hook.module:
            return f'hook "{hook.id}" names no module'
        if not hook.function and "." not in hook.module:
            return f'hook "{hook.id}" names no function: add function, or write module as {hook.module}.function'
        if (hook.isolated or self._always_isolated) and not hasattr(os, "posix_spawn"):
            return "isolated Python hooks need Linux or macOS: leave isolated out, or use a command hook"
        return ""

    def folders(self, hook: Hook, event: Event) -> tuple[str, ...]:
        """Return where the hook's module is looked up, first to last, before the installed modules.

        The workspace is searched for the workspace's own hooks only. Otherwise a cloned project could bring a file named
        like the module of a hook that the user has trusted long ago.
        """
        is_local = hook.source is Source.WORKSPACE
        cwd = os.path.abspath(event.cwd) if event.cwd else caller_context.folder()
        folders = list(self._folders)
        if hook.working_directory and (is_local or os.path.isabs(hook.working_directory)):
            folders.append(os.path.normpath(os.path.join(cwd, hook.working_directory)))
        if hook.source_path:
            beside = os.path.dirname(os.path.abspath(hook.source_path))
            folders += [beside, os.path.join(beside, "hooks")]
        if is_local:
            cwd = os.path.normpath(cwd)
            folders += [os.path.join(cwd, ".ollama", "hooks"), cwd]
        return tuple(dict.fromkeys(folders))

    def file(self, hook: Hook, event: Event) -> str:
        """Return the file that would be loaded, or "" for installed and for missing modules."""
        location = locate_module(hook.module, self.folders(hook, event))
        return location.path if location else ""

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Call the function with a copy of the document."""
        if refusal := self.refusal(hook):
            return _failure_reply(FailureKind.REFUSED, refusal)
        try:
            folders = self.folders(hook, request.event)
        except OSError as problem:
            text = f"the working folder of this program is gone, so no module can be looked up: {problem.strerror}"
            return _failure_reply(FailureKind.NOT_FOUND, text)
        # modules are made of the approved bytes themselves; other files are used in place, and compared
        sources, others = _split_sealed(request.sealed)
        if others and (changed := _find_changed(others)):
            return _failure_reply(FailureKind.REFUSED, f'"{changed}" changed since it was checked')
        if hook.state:
            try:
                request.env = {**request.env, **self._containment.prepare_state(hook, request.event.session.id)}
            except OSError as problem:
                return Reply(failure=describe_state_problem(problem))
        is_shielded = hook.isolated or self._always_isolated or hook.containment.is_contained
        # the folders of its state are named by variables, which are those of a process
        uses_worker = is_shielded or hook.state or _needs_variables(request)
        call = self._call_worker if uses_worker else self._call_in_process
        reply = await call(hook, request, folders=folders, sealed=sources, timeout=timeout)
        if others and (changed := _find_changed(others)):
            return _failure_reply(FailureKind.REFUSED, f'"{changed}" changed while the hook ran')
        return reply

    async def close(self) -> None:
        """End all workers and idle threads, and forget all loaded modules."""
        running = asyncio.get_running_loop()
        pools = dict(self._pools)
        self._pools.clear()
        self._threads.close()
        self._modules.close()
        for loop, (pool, lifetime) in pools.items():
            if loop is running:
                await pool.close()
                await lifetime.aclose()
            else:
                pool.kill()
        self._containment.close()

    async def _call_in_process(
        self, hook: Hook, request: Request, *, folders: tuple[str, ...], sealed: Sealed | None, timeout: float
    ) -> Reply:
        # through JSON and back: a hook's own copy, and exactly what it would get in a worker
        document = json_codec.load(json_codec.dump(request.document))

        def job() -> CallResult:
            return call_function(
                self._modules,
                hook.module,
                function=hook.function,
                folders=folders,
                document=document,
                sealed=sealed,
            )

        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        result = await self._threads.run(job, owner=hook.id, timeout=timeout)
        if isinstance(result, Failure):
            is_late = result.kind is FailureKind.TIMEOUT
            notes = (f"the function still runs in a thread of this program; {_ISOLATE}",) if is_late else ()
            return Reply(failure=result, notes=notes)
        if isinstance(result.value, Awaitable):
            return await finish(result.value, timeout=max(0.0, deadline - loop.time()))
        return _reply(result)

    async def _call_worker(
        self, hook: Hook, request: Request, *, folders: tuple[str, ...], sealed: Sealed | None, timeout: float
    ) -> Reply:
        caller = caller_context.current()
        cwd = caller.folder if caller is not None else ""
        variables: Mapping[str, str] = request.env
        # a hook that did not ask for a process of its own gets the folder and variables of the calling process
        if hook.isolated:
            cwd = os.path.join(request.event.cwd or cwd, hook.working_directory)
            variables = {**request.env, **hook.env}
        cell_key = make_cell_key(
            hook,
            request.event.cwd or caller_context.folder(),
            is_long_lived=True,
            state=request.env.get(STATE, "") if hook.state else "",
        )
        whole = None if caller is None else caller.whole
        if cell_key is not None:
            with suppress(OSError):  # that folder was removed
                cwd = cwd or caller_context.folder()
            env = self._environment.with_layers(env_filter=EnvironmentAllowList(cell_key.sandbox.env))
            whole = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
        header = {
            "module": hook.module,
            "function": hook.function,
            "folders": folders,
            "cwd": cwd,
            "env": variables if whole is None else {**whole, **variables},
            # whether `env` replaces the environment that the worker was started with
            "whole": whole is not None,
        }
        pool = await self._pool_of_loop()
        key = GroupKey(self._interpreter, folders, approved=sealed is not None, cell_key=cell_key)
        message = (pack_header(header, sealed), json_codec.dump(request.document))
        response = await pool.call(key, message, timeout=timeout)
        return self._read_response(hook, response, timeout)

    async def _pool_of_loop(self) -> WorkerPool:
        loop = asyncio.get_running_loop()
        entry = self._pools.get(loop)
        if entry is not None:
            return entry[0]
        for other in [other for other in list(self._pools) if other.is_closed()]:
            # the loop of another thread may have removed it
            if gone := self._pools.pop(other, None):
                gone[0].kill()
        pool = WorkerPool(self._limits, self._containment)
        lifetime = tie_to_loop(pool)
        self._pools[loop] = (pool, lifetime)
        return await anext(lifetime)

    def _read_response(self, hook: Hook, response: WorkerResponse, timeout: float) -> Reply:
        if response.status is WorkerStatus.ANSWERED:
            try:
                reply = _reply(_parse_frame(response.frame))
            except ValueError as problem:
                reply = _failure_reply(FailureKind.INVALID_REPLY, f"the hook's answer is not JSON: {problem}")
        elif response.status is WorkerStatus.LIMITED:
            reply = Reply(failure=describe_limit(response.detail, hook.containment))
        elif response.status is WorkerStatus.NO_FREE_WORKER:
            what_now = f"all {self._limits.group} workers of its folder were busy"
            reply = Reply(failure=timeout_failure(timeout, what_now=what_now))
        elif response.status in _FAILURES:
            kind, text = _FAILURES[response.status]
            reply = _failure_reply(kind, text.format(detail=response.detail, interpreter=self._interpreter))
        else:
            reply = Reply(failure=timeout_failure(timeout))
        return replace(reply, stderr=response.noise, sandbox=response.layers)


def _needs_variables(request: Request) -> bool:
    """Return whether the dialect of a hook promises it variables of its event.

    The embedding program and hooks in its other threads must not see them. Those of ours only repeat the document.
    """
    return hasattr(os, "posix_spawn") and any(not name.startswith("HOOKLINE_") for name in request.env)


def _split_sealed(sealed: Sealed | None) -> tuple[Sealed | None, Sealed]:
    """Return the approved files that are imported, and those that are only read."""
    if sealed is None:
        return None, {}
    sources = {path: content for path, content in sealed.items() if path.endswith(".py")}
    return sources, {path: content for path, content in sealed.items() if path not in sources}


def _find_changed(files: Sealed) -> str:
    return next((path for path, content in files.items() if has_changed(path, content)), "")


def _failure_reply(kind: FailureKind, message: str) -> Reply:
    return Reply(failure=Failure(kind, message))


def _reply(result: CallResult) -> Reply:
    if result.failure:
        return _failure_reply(FailureKind(result.failure), result.message)
    return Reply(value=result.value)


def _parse_frame(frame: bytes) -> CallResult:
    """Parse the answer of a worker. The hook runs in that process, so the answer is not trusted."""
    match json_codec.load(frame):
        case {"value": value, "failure": str(failure), "message": str(message)}:
            return CallResult(value, FailureKind(failure).value if failure else "", message)
        case _:
            raise ValueError("not an answer of a worker")


class _WorkerThread:
    """A thread that runs one job after another; it does not keep the program from ending."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.thread = threading.Thread(target=_work, args=(self.jobs,), name="hookline-python", daemon=True)
        self.thread.start()


def _work(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        # otherwise the last document would stay alive until the next one
        del job


class _ThreadPool:
    """Threads for functions that may take long, or never return.

    The executor of the standard library waits for its threads when the program ends; one function that hangs would keep
    it alive for ever.
    """

    def __init__(self) -> None:
        self._idle: list[_WorkerThread] = []
        self._leaving: list[threading.Thread] = []
        self._hung: list[tuple[str, threading.Thread]] = []
        self._limiters: WeakKeyDictionary[AbstractEventLoop, ConcurrencyLimiter] = WeakKeyDictionary()

    async def run(self, job: Callable[[], CallResult], *, owner: str, timeout: float) -> CallResult | Failure:
        """Run a job and wait at most `timeout` seconds, also for a free thread."""
        self._hung = [(name, thread) for name, thread in self._hung if thread.is_alive()]
        if sum(name == owner for name, _ in self._hung) >= HUNG_LIMIT:
            text = f"not called: {HUNG_LIMIT} earlier calls of it still hang in this program; {_ISOLATE}"
            return Failure(FailureKind.REFUSED, text)
        loop = asyncio.get_running_loop()
        limiter = self._limiters.setdefault(loop, ConcurrencyLimiter(THREAD_LIMIT, patience=None))
        try:
            async with asyncio.timeout(timeout):
                await limiter.acquire()
                return await self._run(job, owner=owner, limiter=limiter)
        except TimeoutError:
            return timeout_failure(timeout, what_now="left running")
        except RuntimeError as problem:
            return Failure(FailureKind.INTERNAL, f"no thread to run the hook in: {problem}")

    def close(self) -> None:
        """End the threads that have nothing to do; those that hang are left alone."""
        idle, self._idle = self._idle, []
        self._limiters.clear()
        for worker in idle:
            self._dismiss(worker)
        for thread in self._leaving:
            thread.join(1.0)
        self._leaving.clear()

    async def _run(self, job: Callable[[], CallResult], *, owner: str, limiter: ConcurrencyLimiter) -> CallResult:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[CallResult] = loop.create_future()
        context = contextvars.copy_context()
        try:
            worker = self._idle.pop() if self._idle else _WorkerThread()
        except RuntimeError:
            limiter.release()
            raise

        def work() -> None:
            result = context.run(job)
            # on a closed loop, nothing waits for the result
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(deliver, result)

        def deliver(result: CallResult) -> None:
            limiter.release()
            if not done.done():
                done.set_result(result)
            elif isinstance(result.value, Coroutine):
                result.value.close()

        worker.jobs.put(work)
        try:
            result = await done
        except asyncio.CancelledError:
            worker.jobs.put(None)
            self._hung.append((owner, worker.thread))
            raise
        if len(self._idle) < IDLE_THREADS:
            self._idle.append(worker)
        else:
            self._dismiss(worker)
        return result

    def _dismiss(self, worker: _WorkerThread) -> None:
        worker.jobs.put(None)
        self._leaving = [thread for thread in self._leaving if thread.is_alive()]
        self._leaving.append(worker.thread)
