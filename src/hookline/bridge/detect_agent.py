"""Detect which agent really called, and whether its settings call Hookline.

Agents run each other's settings files, and then the argv of an entry names another agent than the one that runs it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline import json_codec
from hookline.bridge.call import Call
from hookline.dialects import DIALECTS
from hookline.dialects._detect import detect_agent
from hookline.errors import EngineError
from hookline.user_dirs import UserDirs

# keys that payloads of an agent have, and those of an agent that runs its settings lack at events that can be denied
_OWN_KEYS: Final = {
    ("claude-code", "cursor"): ("permission_mode",),
    ("claude-code", "copilot-cli"): ("permission_mode", "tool_use_id"),
}


def with_detected_dialect(call: Call, environ: Mapping[str, str]) -> Call:
    """Return the call in the dialect it was made in: an agent is answered in its own, whatever file holds the entry."""
    try:
        document = json_codec.peek(call.raw)
    except ValueError:
        return call
    entry = call.dialect.SPEC.name
    name = detect_agent(document, environ, named=entry) if isinstance(document, dict) else entry
    # for an agent without a dialect, the one of the entry is the best guess
    if name is None or name == entry or name not in DIALECTS:
        return call
    # the entry's agent counts unless the other is known to run such entries, and no key in the document is the entry's own
    is_own = isinstance(document, dict) and any(key in document for key in _OWN_KEYS.get((entry, name), ()))
    if entry not in DIALECTS[name].SPEC.runs_files_of or is_own:
        return call
    return replace(call, dialect=DIALECTS[name])


# The imports below are inside the functions: settings files are read rarely, and the modules are slow to load.


def find_unasked(host: str, *, folders: UserDirs, project: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return one sentence for each settings file that lost entries of ours, naming their events."""
    from hookline.hosts import HOSTS, status  # noqa: PLC0415
    from hookline.hosts.host import HostEnvironment  # noqa: PLC0415

    if host not in HOSTS:
        return ()
    around = HostEnvironment(home=folders.home, data=folders.data, project=project, environ=environ)
    missing = status.find_missing_events(HOSTS[host], around)
    return tuple(
        f"{path} has no entry of ours at {', '.join(events)} any more, so that no hook is asked there; "
        f"`hookline install {host}` puts it back, `hookline doctor` says more"
        for path, events in missing.items()
    )


def was_installed(host: str, native: str, data: Path, *, home: Path, environ: Mapping[str, str]) -> bool:
    """Return whether `hookline install` put an entry for an event into the user's settings of an agent, at any time."""
    from hookline.hosts import HOSTS  # noqa: PLC0415
    from hookline.hosts.host import HostEnvironment, Scope  # noqa: PLC0415
    from hookline.hosts.status import recorded_events  # noqa: PLC0415

    if host not in HOSTS:
        return False
    around = HostEnvironment(home=home, data=data, project=home, environ=environ)
    return any(native in events for _, events in recorded_events(HOSTS[host], Scope.USER, around))


def calls_directly(host: str, native: str, *, folders: UserDirs, project: Path, environ: Mapping[str, str]) -> bool:
    """Return whether the user's own settings of an agent have it call us about an event.

    Settings of a project do not count: a clone could make us believe that the call is answered elsewhere. Two calls are better
    than none.
    """
    from hookline.hosts import HOSTS, status  # noqa: PLC0415
    from hookline.hosts.host import HostEnvironment, Scope  # noqa: PLC0415

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
