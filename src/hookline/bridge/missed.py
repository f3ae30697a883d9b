"""Tools that ran and that we were never asked about: a guard that did not run is an alarm."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hookline.bridge import ledger
from hookline.bridge.ledger import ABOUT_CALLS, Seen
from hookline.bridge.transcripts import READERS, Ran, tools_that_ran

_NAMED: Final = 3


def missed(path: Path, *, is_installed: Callable[[], bool]) -> str:
    """Compare a ledger with what the agent wrote down; say which calls never reached us, empty when all did.

    Calls from before our first line are not missed: we were not there yet. Where no call ever reached us, it depends on
    whether the agent was told to ask us (`is_installed`).
    """
    lines = [] if ledger.is_full(path) else ledger.read(path)
    if not lines:
        return ""
    host, transcript = lines[0].host, next((line.transcript for line in reversed(lines) if line.transcript), "")
    reader = READERS.get(host)
    ran = tools_that_ran(host, transcript) if transcript and reader is not None else None
    if not ran or reader is None:
        return ""
    since = min(line.at for line in lines)
    ran = [one for one in ran if one.at > since]
    asked = [line for line in lines if line.moment in ABOUT_CALLS]
    if not asked and not is_installed():
        return ""
    answered = [line for line in asked if not line.waiting]
    absent = _by_id(ran, answered) if reader.by_id else _by_count(ran, answered)
    return _alarm(absent, host) if absent else ""


def _by_id(ran: list[Ran], answered: list[Seen]) -> list[Ran]:
    known = {call for line in answered for call in line.calls}
    return [one for one in ran if one.call not in known]


def _by_count(ran: list[Ran], answered: list[Seen]) -> list[Ran]:
    """Count calls for each tool, without those that were refused; which of them it was cannot be told."""
    left = Counter(line.tool for line in answered if not line.refused)
    absent = []
    for one in ran:
        if left[one.tool] > 0:
            left[one.tool] -= 1
        else:
            absent.append(one)
    return absent


def _alarm(absent: list[Ran], host: str) -> str:
    named = ", ".join(f"{one.tool} {one.call}" for one in absent[:_NAMED])
    more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    what = f"{len(absent)} tool calls ran" if len(absent) > 1 else "a tool call ran"
    return (
        f"{what} that {host} never asked us about, or did not wait for us to answer, so no hook could stop it: "
        f"{named}{more}; `hookline doctor` says why"
    )
