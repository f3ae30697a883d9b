"""Scopes of a hook: the agents, branches and hours in which it applies."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from msgspec import Struct

from hookline.model.names import AGENT_ALIASES, EVENT_NAMES, resolve_agent
from hookline.text import suggest

# `once`: in a session, or in a turn of the agent, which begins with a prompt
ONCE_PER_TURN: Final = "turn"
# what `branches` compares where no branch is checked out, as git itself calls it
DETACHED: Final = "HEAD"

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONG_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAY_MINUTES: Final = 24 * 60
_CLOCK: Final = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")
_HOURS: Final = re.compile(r"\s*-\s*")
_DAY: Final = "(?:" + "|".join(f"[{long[0].upper()}{long[0]}]{long[1:3]}(?:{long[3:]})?" for long in _LONG_DAYS) + ")"
_TIME: Final = r"(?:[01]?[0-9]|2[0-4]):[0-5][0-9]"
_SOME_DAYS: Final = rf"{_DAY}(?: ?- ?{_DAY})?(?: ?, ?{_DAY}(?: ?- ?{_DAY})?)*"
# for editors; `parse_window` accepts a little more
WINDOW_PATTERN: Final = rf"^(?:{_SOME_DAYS}|(?:{_SOME_DAYS} )?{_TIME} ?- ?{_TIME})$"
_WANTED: Final = 'wanted hours such as "09:00-18:00", days such as "mon-fri", or both, "mon-fri 09:00-18:00"'


class TimeWindow(Struct, frozen=True):
    """Hours of some days of the week, in minutes since midnight; one that ends at or before its start ends on the next day."""

    days: frozenset[int]
    start: int = 0
    end: int = _DAY_MINUTES

    def includes(self, moment: datetime) -> bool:
        """Return whether a moment is in the window; the day of a window over midnight is the one it starts on."""
        minute, day = moment.hour * 60 + moment.minute, moment.weekday()
        if self.start < self.end:
            return day in self.days and self.start <= minute < self.end
        return (day in self.days and minute >= self.start) or ((day - 1) % 7 in self.days and minute < self.end)


@lru_cache(256)
def parse_window(text: str) -> TimeWindow:
    """Parse `between`: hours, days, or both.

    Raises:
        ValueError: It cannot be read.
    """
    days, _, hours = text.strip().lower().rpartition(" ") if ":" in text else (text.strip().lower(), "", "")
    if ":" in days:
        # blanks around the dash
        found = re.match(r"(.*?)\s*(\d?\d:.*)$", text.strip().lower())
        days, hours = (found[1], found[2]) if found else (days, hours)
    if not days and not hours:
        raise ValueError(f"{_WANTED}, got nothing")
    some = frozenset(_parse_days(days)) if days else frozenset(range(7))
    if not hours:
        return TimeWindow(some)
    clocks = [_CLOCK.fullmatch(one) for one in _HOURS.split(hours)]
    minutes = [int(one[1]) * 60 + int(one[2]) for one in clocks if one is not None]
    if len(clocks) != 2 or len(minutes) != 2 or max(minutes) > _DAY_MINUTES:  # noqa: PLR2004 - from and to
        raise ValueError(f'{_WANTED}, got "{text}"')
    start, end = minutes
    if start == end:
        raise ValueError(f'"{text}" ends when it starts; for whole days, leave the hours out')
    return TimeWindow(some, start % _DAY_MINUTES, end)


def _parse_days(text: str) -> Iterable[int]:
    for part in re.split(r"\s*,\s*", text):
        first, dash, last = part.partition("-")
        start = _parse_day(first.strip())
        end = _parse_day(last.strip()) if dash else start
        yield from ((start + step) % 7 for step in range((end - start) % 7 + 1))


def _parse_day(word: str) -> int:
    for days in (DAYS, _LONG_DAYS):
        if word in days:
            return days.index(word)
    raise ValueError(f'there is no day "{word}"{suggest(word, (*DAYS, *_LONG_DAYS))}; {_WANTED}')


def match_branch(patterns: Sequence[str], branch: str) -> bool:
    """Return whether a branch is one of those that patterns name; `*` is any text, and `!` in front excludes."""
    named = [pattern for pattern in patterns if not pattern.startswith("!")]
    if any(fnmatchcase(branch, pattern[1:]) for pattern in patterns if pattern.startswith("!")):
        return False
    return not named or any(fnmatchcase(branch, pattern) for pattern in named)


def find_agent(name: str) -> str:
    """Return the agent, or the other system, of a name or of another word for it.

    Raises:
        ValueError: There is none.
    """
    word = name.casefold().replace("_", "-")
    found = resolve_agent(name) or (word if word in EVENT_NAMES else "")
    if not found:
        raise ValueError(f'there is no agent "{name}"{suggest(word, (*EVENT_NAMES, *AGENT_ALIASES))}')
    return found


def is_for_agent(agents: Sequence[str], agent: str) -> bool:
    """Return whether a hook for these agents, or for all where none is named, is for this one."""
    return not agents or agent in agents or agent in {resolve_agent(name) for name in agents}
