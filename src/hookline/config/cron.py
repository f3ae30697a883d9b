"""Cron schedules of hooks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from hookline.errors import ConfigError

# words that cron has for common lines
_WORDS: Final[Mapping[str, str]] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS: Final = "minute, hour, day of the month, month and day of the week"


def next_time(schedule: str, after: datetime) -> datetime:
    """Return the first time after a moment that a line names, in the time zone of that moment.

    Raises:
        ConfigError: It is no line of cron, or it names no time at all.
    """
    return _time(schedule, after, is_backwards=False)


def last_time(schedule: str, until: datetime) -> datetime:
    """Return the last time up to a moment that a line names.

    Raises:
        ConfigError: It is no line of cron, or it names no time at all.
    """
    # going backwards, the moment itself does not count
    return _time(schedule, until.replace(microsecond=until.microsecond or 1), is_backwards=True)


def _time(schedule: str, moment: datetime, *, is_backwards: bool) -> datetime:
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 - most hooks have no schedule

    line = _WORDS.get(schedule.strip().lower(), schedule)
    try:
        return next(CronSim(line, moment, reverse=is_backwards))
    except CronSimError as problem:
        why = str(problem).lower()
        raise ConfigError(f'schedule "{schedule}" cannot be read: {why}; wanted are {_FIELDS}: "*/5 * * * *"') from None
    except StopIteration:
        raise ConfigError(f'schedule "{schedule}" names a day that never comes') from None
