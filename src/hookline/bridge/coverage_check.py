"""Compare an agent's transcript with the ledger: a tool call that never reached us means that no guard was asked."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hookline.bridge import call_ledger
from hookline.bridge.call_ledger import ABOUT_CALLS, LedgerEntry
from hookline.bridge.transcripts import READERS, ToolRun, list_tool_runs
from hookline.model.event import EventName

_NAMED: Final = 3


def find_missed_calls(path: Path, *, is_installed: Callable[[], bool]) -> str:
    """Return a warning that names the tool calls of a transcript that are not in the ledger; empty when all are.

    Calls from before the first entry do not count: we were not installed yet. Where no call ever reached us, it depends on
    `is_installed`.
    """
    lines = [] if call_ledger.is_full(path) else call_ledger.read(path)
    if not lines:
        return ""
    host, transcript = lines[0].host, next((line.transcript for line in reversed(lines) if line.transcript), "")
    reader = READERS.get(host)
    ran = list_tool_runs(host, transcript) if transcript and reader is not None else None
    if not ran or reader is None:
        return ""
    since = min(line.at for line in lines)
    ran = [call for call in ran if call.at > since]
    asked = [line for line in lines if line.moment in ABOUT_CALLS]
    if not asked and not is_installed():
        return ""
    # An agent that stops waiting ends our process and the hook's: an answer may still come of it, which the agent ignores.
    done = {call for line in lines if line.moment == EventName.AFTER_TOOL for call in line.calls}
    answered = [line for line in asked if not line.waiting and not (line.refused and done.intersection(line.calls))]
    absent = _by_id(ran, answered) if reader.by_id else _by_count(ran, answered)
    return _describe(absent, host) if absent else ""


def _by_id(ran: list[ToolRun], answered: list[LedgerEntry]) -> list[ToolRun]:
    known = {call for line in answered for call in line.calls}
    return [call for call in ran if call.call not in known]


def _by_count(ran: list[ToolRun], answered: list[LedgerEntry]) -> list[ToolRun]:
    """Count the calls of each tool that were not refused; which of them are missing is not known."""
    left = Counter(line.tool for line in answered if not line.refused)
    absent = []
    for call in ran:
        if left[call.tool] > 0:
            left[call.tool] -= 1
        else:
            absent.append(call)
    return absent


def _describe(absent: list[ToolRun], host: str) -> str:
    named = ", ".join(f"{call.tool} {call.call}" for call in absent[:_NAMED])
    more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    what = f"{len(absent)} tool calls ran" if len(absent) > 1 else "a tool call ran"
    return (
        f"{what} that {host} never asked us about, or did not wait for us to answer, so no hook could stop it: "
        f"{named}{more}; `hookline doctor` says why"
    )
