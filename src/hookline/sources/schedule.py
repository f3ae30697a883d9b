"""Hooks that run on a schedule."""

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

from hookline.config.cron import last_time, next_time
from hookline.model.hook import Hook

# Timers do not count the time that a machine was suspended: the clock is checked at least this often.
LONGEST_SLEEP: Final = 20.0
# A clock that is set back by more than this was wrong before, and all times are computed anew. After less, nothing runs
# a second time.
_SET_BACK: Final = 3 * 3600.0

_LOCAL: Final = Path("/etc/localtime")
_ZONES: Final = "/zoneinfo/"

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]


class DueHook(Struct, frozen=True):
    """A hook that is due, and the time it was due at; after a pause the last of the missed times."""

    hook: Hook
    at: datetime

    def data(self) -> dict[str, object]:
        """Return the data of the event."""
        return {"hook": self.hook.id, "schedule": self.hook.schedule, "due": int(self.at.timestamp() * 1000)}


class Timetable:
    """Knows when each hook is due. Times are local wall-clock times, also across daylight saving changes."""

    def __init__(self, *, clock: Clock = time, zone: tzinfo | None = None) -> None:
        self._clock = clock
        self._zone = zone or local_zone()
        self._times: dict[str, tuple[Hook, datetime]] = {}
        self._seen = clock()

    def set(self, hooks: Iterable[Hook]) -> None:
        """Replace the hooks; a hook with an unchanged schedule keeps its next time."""
        now = self._now()
        wanted = {hook.id: hook for hook in hooks if hook.schedule and hook.enabled}
        before = self._times
        self._times = {}
        for name, hook in wanted.items():
            earlier = before.get(name)
            is_unchanged = earlier is not None and earlier[0].schedule == hook.schedule
            self._times[name] = (hook, earlier[1] if earlier and is_unchanged else next_time(hook.schedule, now))

    @property
    def times(self) -> Mapping[str, datetime]:
        """The next time of each hook."""
        return {name: at for name, (_, at) in self._times.items()}

    def due(self) -> list[DueHook]:
        """Return the hooks that are due, the earliest first; each once, even if it missed several times."""
        now = self._now()
        if now.timestamp() < self._seen - _SET_BACK:
            self._times = {name: (hook, next_time(hook.schedule, now)) for name, (hook, _) in self._times.items()}
        self._seen = now.timestamp()
        due: list[DueHook] = []
        for name, (hook, at) in self._times.items():
            if at > now:
                continue
            due.append(DueHook(hook, max(at, last_time(hook.schedule, now))))
            self._times[name] = (hook, next_time(hook.schedule, now))
        return sorted(due, key=lambda due: due.at)

    def pause(self) -> float:
        """Return the seconds until the next hook is due, or the longest sleep."""
        if not self._times:
            return LONGEST_SLEEP
        next_at = min(at for _, at in self._times.values())
        return min(max(next_at.timestamp() - self._clock(), 0.0), LONGEST_SLEEP)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC).astimezone(self._zone)


async def run(timetable: Timetable, start: Callable[[DueHook], None], *, sleep: Sleep = asyncio.sleep) -> None:
    """Start every hook at its times, for ever."""
    while True:
        await sleep(timetable.pause())
        for due in timetable.due():
            start(due)


def local_zone() -> tzinfo:
    """Return the time zone of this machine; where the system does not name it, the present offset."""
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
