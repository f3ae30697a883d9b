"""The limits beyond those of the kernel: how many hook processes run at once, and what each may use with all it starts.

The kernel limits single processes only. `GroupWatch` looks at the process group of a contained hook from time to time; all its processes stay in there.
"""

import asyncio
import functools
import os
from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from typing import Final

from hookline.model.sandbox import Sandbox

PERIOD: Final = 0.1
"""Seconds between two looks at a hook that runs for one event."""

LONG_LIVED_PERIOD: Final = 0.5
"""Seconds between two looks at a process that waits for events most of the time."""

# Windows has neither, and nothing is measured there
_PAGE: Final = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
# the fields of /proc/PID/stat behind the name of the program
_GROUP, _USER_TICKS, _PAGES = 2, 11, 21
# the unit in which the size of a file on its device is counted
_BLOCK: Final = 512

# Twice the cores keeps them busy while some hooks wait for a disk or a network; more only makes all of them slow. On
# small machines, waiting costs more than sharing a core.
LIMIT: Final = max(8, 2 * (os.cpu_count() or 1))

# A hook may wait for an agent whose hooks wait here. After this many seconds a hook runs regardless of the limit, so that
# hooks cannot deadlock until their timeouts.
PATIENCE: Final = 2.0
# a timer may fire this much too early
_TIMER_RESOLUTION: Final = 0.0005


class GroupWatch:
    """Looks at a group until it is cancelled, and calls a function once with the limit that the group exceeds."""

    def __init__(
        self, group: int, sandbox: Sandbox, on_exceeded: Callable[[str], None], *, period: float = PERIOD
    ) -> None:
        self._group = group
        self._sandbox = sandbox
        self._on_exceeded = on_exceeded
        self._period = period
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle = self._loop.call_soon(self._look)

    def cancel(self) -> None:
        """Look no more."""
        self._timer.cancel()

    def _look(self) -> None:
        if limit := find_exceeded(self._group, self._sandbox):
            self._on_exceeded(limit)
        else:
            self._timer = self._loop.call_later(self._period, self._look)


def find_exceeded(group: int, sandbox: Sandbox) -> str:
    """Return the name of the limit that a group exceeds, or ""."""
    found = list(_list_members(group))
    if sandbox.processes and len(found) > sandbox.processes:
        return "processes"
    # children that have ended count for their parents
    ticks = sum(int(field) for _pid, fields in found for field in fields[_USER_TICKS : _USER_TICKS + 4])
    if sandbox.cpu and ticks / _TICKS > sandbox.cpu:
        return "cpu"
    if sandbox.memory:
        files = _measure_memory_files(group)
        # pages that processes share count for each of them; they are counted once where it matters, because that takes long
        pages = sum(int(fields[_PAGES]) for _pid, fields in found)
        if pages * _PAGE + files > sandbox.memory and _measure_memory(group, files) > sandbox.memory:
            return "memory"
    return ""


def _list_members(group: int) -> Iterator[tuple[int, list[bytes]]]:
    wanted = b"%d" % group
    for name in os.listdir("/proc"):  # noqa: PTH208 - only names are needed
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - opened for every process of the system
                    # the name, in parentheses, may hold anything
                    fields = file.read().rpartition(b") ")[2].split()
            except OSError:
                continue
            if len(fields) > _PAGES and fields[_GROUP] == wanted:
                yield int(name), fields


def _measure_memory(group: int, files: int) -> int:
    """Return the memory of a group, with pages that processes share counted once, and those of files in memory."""
    mapped = shared = 0
    for pid, _fields in _list_members(group):
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123 - as above
                sizes = {
                    line[: line.index(b":")]: int(line.split()[1]) << 10 for line in file if line.startswith(b"Pss")
                }
        except OSError:
            continue
        mapped += sizes.get(b"Pss", 0)
        shared += sizes.get(b"Pss_Shmem", 0)
    # a file that is also mapped counts once
    return mapped - shared + max(shared, files)


@functools.cache
def _find_memory_device() -> int:
    """Return the device of files that exist in memory only."""
    descriptor = os.memfd_create("hookline")
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


def _measure_memory_files(group: int) -> int:
    """Return the memory of the files in memory that a group has open: they count for no process unless it maps them."""
    device, sizes = _find_memory_device(), dict[int, int]()
    for pid, _fields in _list_members(group):
        try:
            for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - only names are needed
                status = os.stat(f"/proc/{pid}/fd/{name}")  # noqa: PTH116 - as above
                if status.st_dev == device:
                    sizes[status.st_ino] = status.st_blocks * _BLOCK
        except OSError:
            continue
    return sum(sizes.values())


class ConcurrencyLimiter:
    """A semaphore, first come, first served, that lets waiters in after some time. Belongs to one event loop."""

    def __init__(self, limit: int = LIMIT, *, patience: float | None = PATIENCE) -> None:
        """Take how many may run at once, and how long one waits at most; None to wait as long as it takes."""
        self._limit = limit
        self._patience = patience
        self._running = 0
        self._waiters: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._has_timer = False

    def try_acquire(self) -> bool:
        """Acquire a slot without waiting; each success is followed by one `release`."""
        if self._running >= self._limit:
            return False
        self._running += 1
        return True

    async def acquire(self) -> None:
        """Wait for a slot; each `acquire` that returns is followed by one `release`."""
        if self.try_acquire():
            return
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        due = inf if self._patience is None else loop.time() + self._patience
        self._waiters.append((due, waiter))
        if due < inf and not self._has_timer:
            # one timer for all: most waiters get their slot long before
            self._has_timer = True
            loop.call_at(due, self._admit_overdue, loop)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the slot to the next waiter."""
        self._running -= 1
        while self._waiters and self._running < self._limit:
            self._admit_next()

    def _admit_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time() + _TIMER_RESOLUTION
        while self._waiters and self._waiters[0][0] <= now:
            self._admit_next()
        self._has_timer = bool(self._waiters)
        if self._waiters:
            loop.call_at(self._waiters[0][0], self._admit_overdue, loop)

    def _admit_next(self) -> None:
        waiter = self._waiters.popleft()[1]
        if not waiter.done():
            self._running += 1
            waiter.set_result(None)
