"""Hooks that run by the clock."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from time import time
from typing import Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from hookline.config.schedules import last_time, next_time
from hookline.model.hook import Hook

# A machine that slept does not count the time it slept: the clock is looked at again and again.
LONGEST_SLEEP: Final = 20.0
# A clock that goes back by more than this was wrong before: what it said then does not count. After less, nothing runs
# a second time.
_SET_BACK: Final = 3 * 3600.0

_LOCAL: Final = Path("/etc/localtime")
_ZONES: Final = "/zoneinfo/"

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]


class Due(Struct, frozen=True):
    """A hook whose time has come, and the time it was; after a pause the last of those that went by."""

    hook: Hook
    at: datetime

    def data(self) -> dict[str, object]:
        """Make the data of the event."""
        return {"hook": self.hook.id, "schedule": self.hook.schedule, "due": int(self.at.timestamp() * 1000)}


class Timetable:
    """Know when which hook is due. Times are those of the clock on the wall, also when summer time begins or ends."""

    def __init__(self, *, clock: Clock = time, zone: tzinfo | None = None) -> None:
        self._clock = clock
        self._zone = zone or local_zone()
        self._times: dict[str, tuple[Hook, datetime]] = {}
        self._seen = clock()

    def set(self, hooks: Iterable[Hook]) -> None:
        """Take these hooks from now on; the time of one that was there with the same schedule stays as it is."""
        now = self._now()
        wanted = {hook.id: hook for hook in hooks if hook.schedule and hook.enabled}
        known = self._times
        self._times = {}
        for name, hook in wanted.items():
            earlier = known.get(name)
            is_kept = earlier is not None and earlier[0].schedule == hook.schedule
            self._times[name] = (hook, earlier[1] if earlier and is_kept else next_time(hook.schedule, now))

    @property
    def times(self) -> Mapping[str, datetime]:
        """When each hook is due next."""
        return {name: at for name, (_, at) in self._times.items()}

    def due(self) -> list[Due]:
        """Give the hooks whose time has come, each once however often that was, the earliest first."""
        now = self._now()
        if now.timestamp() < self._seen - _SET_BACK:
            self._times = {name: (hook, next_time(hook.schedule, now)) for name, (hook, _) in self._times.items()}
        self._seen = now.timestamp()
        found: list[Due] = []
        for name, (hook, at) in self._times.items():
            if at > now:
                continue
            found.append(Due(hook, max(at, last_time(hook.schedule, now))))
            self._times[name] = (hook, next_time(hook.schedule, now))
        return sorted(found, key=lambda due: due.at)

    def pause(self) -> float:
        """Say for how many seconds nothing is due, as far as that can be said."""
        if not self._times:
            return LONGEST_SLEEP
        next_at = min(at for _, at in self._times.values())
        return min(max(next_at.timestamp() - self._clock(), 0.0), LONGEST_SLEEP)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC).astimezone(self._zone)


async def run(timetable: Timetable, start: Callable[[Due], None], *, sleep: Sleep = asyncio.sleep) -> None:
    """Start every hook at its times, for ever."""
    while True:
        await sleep(timetable.pause())
        for due in timetable.due():
            start(due)


def local_zone() -> tzinfo:
    """Find the time zone of this machine, with its summer time; without it where the system does not say."""
    with suppress(OSError, ValueError, KeyError):
        name = os.environ.get("TZ", "").removeprefix(":")
        if name:
            return ZoneInfo(name)
        real = os.path.realpath(_LOCAL)
        if _ZONES in real:
            return ZoneInfo(real.rpartition(_ZONES)[2])
        with _LOCAL.open("rb") as file:
            return ZoneInfo.from_file(file)
    return datetime.now().astimezone().tzinfo or UTC
