"""Who really calls: agents run each other's settings files, and then the command line names somebody else."""

import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from hookline import wire
from hookline.bridge.call import Call
from hookline.dialects import DIALECTS
from hookline.dialects._caller import caller
from hookline.errors import EngineError
from hookline.folders import Folders


def spoken(call: Call, environ: Mapping[str, str]) -> Call:
    """Give the call in the language it was made in: an agent is answered in its own, whatever file it found us in."""
    try:
        document = wire.load(call.raw)
    except ValueError:
        return call
    said = call.dialect.SPEC.name
    name = caller(document, environ, said=said) if isinstance(document, dict) else said
    # of an agent whose language nobody knows, the one it was told to speak is the best guess
    if name is None or name == said or name not in DIALECTS:
        return call
    return replace(call, dialect=DIALECTS[name])


def asks_by_itself(host: str, native: str, *, folders: Folders, project: Path, environ: Mapping[str, str]) -> bool:
    """Say whether the person's own settings of an agent have it ask us about an event.

    Those of a project do not count: a clone could make us believe that somebody else answers. Being asked twice is
    better than not at all.
    """
    # seldom asked, and all about settings files
    from hookline.hosts import HOSTS, status  # noqa: PLC0415
    from hookline.hosts.host import Around, Scope  # noqa: PLC0415

    around = Around(home=folders.home, data=folders.data, project=project, environ=environ)
    try:
        files = status.found(HOSTS[host], around, others=False) if host in HOSTS else []
    except (EngineError, OSError):
        return False
    return any(
        entry.host == host and entry.event == native and entry.python == sys.executable
        for file in files
        if file.scope not in {Scope.PROJECT, Scope.LOCAL}
        for entry in file.ours
    )
