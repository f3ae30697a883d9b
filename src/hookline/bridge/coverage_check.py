"""Whether an agent asks us about every tool call: what its settings say, and its transcript compared with the ledger.

A tool call that never reached us means that no guard was asked. Only calls that ran count, and only of tools that are known to
ask hooks first: a false alarm makes users ignore the next one. Settings are read rarely, and slow to load: the import of this
module waits until then.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hookline.bridge import call_ledger
from hookline.bridge.call_ledger import ABOUT_CALLS
from hookline.bridge.transcripts import FORMATS, list_tool_runs
from hookline.errors import EngineError
from hookline.hosts import HOSTS, status
from hookline.hosts.host import HostEnvironment, Scope
from hookline.model.event import EventName
from hookline.user_dirs import UserDirs

_NAMED: Final = 3


def find_unasked(host: str, *, folders: UserDirs, project: Path, environ: Mapping[str, str]) -> list[str]:
    """Return one sentence for each settings file that lost entries of ours, naming their events."""
    if host not in HOSTS:
        return []
    around = HostEnvironment(home=folders.home, data=folders.data, project=project, environ=environ)
    return [
        f"{path} has no entry of ours at {', '.join(events)} any more, so that no hook is asked there; "
        f"`hookline install {host}` puts it back, `hookline doctor` says more"
        for path, events in status.find_missing_events(HOSTS[host], around).items()
    ]


def was_installed(host: str, native: str, data: Path, *, home: Path, environ: Mapping[str, str]) -> bool:
    """Return whether `hookline install` put an entry for an event into the user's settings of an agent, at any time."""
    if host not in HOSTS:
        return False
    around = HostEnvironment(home=home, data=data, project=home, environ=environ)
    return any(native in events for _, events in status.recorded_events(HOSTS[host], Scope.USER, around))


def calls_directly(host: str, native: str, *, folders: UserDirs, project: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the user's own settings of an agent have it call us about an event.

    Settings of a project do not count: a clone could make us believe that the call is answered elsewhere. Two calls are better
    than none.
    """
    around = HostEnvironment(home=folders.home, data=folders.data, project=project, environ=environ)
    try:
        files = status.find_settings(HOSTS[host], around, others=False) if host in HOSTS else []
    except (EngineError, OSError):
        return False
    return any(
        entry.host == host and entry.event == native and entry.python == sys.executable
        for file in files
        if file.scope not in {Scope.PROJECT, Scope.LOCAL}
        for entry in file.ours
    )


def find_missed_calls(path: Path, *, is_installed: Callable[[], bool]) -> str:
    """Return a warning that names the tool calls of a transcript that are not in the ledger; empty when all are.

    Calls from before the first entry do not count: we were not installed yet. Where no call ever reached us, it depends on
    `is_installed`.
    """
    lines = [] if call_ledger.is_full(path) else call_ledger.read(path)
    host = lines[0].host if lines else ""
    transcript = next((line.transcript for line in reversed(lines) if line.transcript), "")
    since = min((line.at for line in lines), default=0.0)
    asked = [line for line in lines if line.moment in ABOUT_CALLS]
    ran = list_tool_runs(host, transcript) if transcript else None
    if not ran or (not asked and not is_installed()):
        return ""
    ran = [call for call in ran if call.at > since]
    # An agent that stops waiting ends our process and the hook's: an answer may still come of it, which the agent ignores.
    done = {call for line in lines if line.moment == EventName.AFTER_TOOL for call in line.calls}
    answered = [line for line in asked if not line.waiting and not (line.refused and done.intersection(line.calls))]
    if FORMATS[host].by_id:
        known = {call for line in answered for call in line.calls}
        absent = [call for call in ran if call.call not in known]
    else:
        # the calls of each tool that were not refused are counted; which of them are missing is not known
        left = Counter(line.tool for line in answered if not line.refused)
        absent = []
        for call in ran:
            left[call.tool] -= 1
            if left[call.tool] < 0:
                absent.append(call)
    if not absent:
        return ""
    named = ", ".join(f"{call.tool} {call.call}" for call in absent[:_NAMED])
    more = f" and {len(absent) - _NAMED} more" if len(absent) > _NAMED else ""
    what = f"{len(absent)} tool calls ran" if len(absent) > 1 else "a tool call ran"
    return (
        f"{what} that {host} never asked us about, or did not wait for us to answer, so no hook could stop it: "
        f"{named}{more}; `hookline doctor` says why"
    )
