"""What a hook needs besides its event, and whether it is there.

Everything is looked for side by side, and what was found is remembered for a moment: a hook that runs at every tool
call does not ask git for its version each time, and a service that was just started is found soon.

To look has effects: programs are asked for their version, connections are made. So whoever asks has made sure that the
hook is trusted.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Final

from hookline import surroundings
from hookline.display import exact
from hookline.model.hook import Hook
from hookline.model.workspace import OF_THE_PERSON, grounds
from hookline.needs import files, services, tools, variables
from hookline.needs._place import Place

PRESENT: Final = 10.0
"""Seconds for which something that was there counts as there."""

MISSING: Final = 2.0
"""Seconds for which something that was missing counts as missing."""

_REMEMBERED: Final = 1024
_SHOWN: Final = 200

LOOKS: Final[Mapping[str, Callable[[str, Place], Awaitable[str]]]] = MappingProxyType(
    {"tools": tools.look, "files": files.look, "services": services.look, "env": variables.look}
)
"""How each list of `Needs` is looked for; each function says what is missing and what to do, or nothing."""

_Key = tuple[str, str, Place]
_seen: Final[dict[_Key, tuple[float, str]]] = {}


async def find_missing(hook: Hook, cwd: str) -> str:
    """Say everything that is missing for a hook that works in this folder; empty when all of it is there.

    Relative files are counted from the project, which is the root of a project's hook; a person's own hook works
    wherever the agent does. Nothing is raised: what cannot be looked for is missing.
    """
    if hook.needs is None:
        return ""
    place = _place(hook, cwd)
    wanted = [(kind, text) for kind in LOOKS for text in getattr(hook.needs, kind)]
    if not wanted:
        return ""
    async with asyncio.TaskGroup() as group:
        looks = [group.create_task(_look((kind, text, place))) for kind, text in wanted]
    return "; ".join(filter(None, (look.result() for look in looks)))


def forget() -> None:
    """Look anew for everything that is asked for next."""
    _seen.clear()


def _place(hook: Hook, cwd: str) -> Place:
    try:
        here = cwd or surroundings.folder()
        foreign = grounds(hook, cwd)
    except OSError:  # our own folder was removed, so nothing lies in it
        here, foreign = "/", ()
    is_own = hook.source in OF_THE_PERSON
    folder = hook.root if hook.root and not is_own else here
    # what a project says of its programs was approved with its hooks, and with nothing of the person's own
    asked_in = "/" if is_own else folder
    return Place(folder=folder, asked_in=asked_in, foreign=foreign, env=tuple(sorted(hook.env.items())))


async def _look(key: _Key) -> str:
    known = _seen.get(key)
    if known is not None and monotonic() < known[0]:
        return known[1]
    kind, text, place = key
    try:
        missing = await LOOKS[kind](text, place)
    except ValueError as problem:  # it says itself what was wrong, and leaves out what may be secret
        missing = f"{kind} in needs cannot be looked for: {problem}"
    except OSError as problem:
        missing = f'"{exact(text[:_SHOWN])}" in needs cannot be looked for: {problem.strerror or problem}'
    if len(_seen) >= _REMEMBERED:
        _seen.clear()
    # variables cost nothing to look up, and may be set at any moment
    if kind != "env":
        _seen[key] = (monotonic() + (MISSING if missing else PRESENT), missing)
    return missing
