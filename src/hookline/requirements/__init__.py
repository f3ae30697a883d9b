"""Check what a hook requires besides its event: programs, files, services and environment variables.

All checks run concurrently, and results are cached briefly: a hook that runs at every tool call does not ask git for its
version each time, and a service that was just started is found soon.

Checks have effects: they start programs and open connections. So the caller checks trust first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from typing import Final

from hookline.model.hook import Hook
from hookline.model.requirements import parse_variable
from hookline.requirements import files, services, tools
from hookline.requirements._run_dir import RunDir, run_dir_of
from hookline.text import escape_all

PRESENT: Final = 10.0
"""Seconds for which a fulfilled requirement is cached."""

MISSING: Final = 2.0
"""Seconds for which a missing requirement is cached."""

_CACHE_SIZE: Final = 1024
_SHOWN: Final = 200

_CacheKey = tuple[str, str, RunDir]
_cache: Final[dict[_CacheKey, tuple[float, str]]] = {}


async def _check_variable(text: str, run_dir: RunDir) -> str:
    name = parse_variable(text)
    return "" if run_dir.variable(name) else f"the variable {name} is not set: set it, or give it in the hook's env"


CHECKS: Final[Mapping[str, Callable[[str, RunDir], Awaitable[str]]]] = {
    "tools": tools.check,
    "files": files.check,
    "services": services.check,
    "env": _check_variable,
}
"""The check of each list in `Needs`: returns what is missing and what to do, or ""."""


async def find_missing(hook: Hook, cwd: str) -> str:
    """Return everything that is missing for a hook that runs in this folder, or "".

    Relative files are resolved against the project, which is the root of a project's hook; a user's own hook runs where
    the agent does. Nothing is raised: what cannot be checked is missing.
    """
    wanted = [(kind, text) for kind in CHECKS for text in getattr(hook.needs, kind, ())]
    if not wanted:
        return ""
    run_dir = run_dir_of(hook, cwd)
    async with asyncio.TaskGroup() as group:
        checks = [group.create_task(_check((kind, text, run_dir))) for kind, text in wanted]
    return "; ".join(filter(None, (check.result() for check in checks)))


def clear_cache() -> None:
    """Check everything again that is asked for next."""
    _cache.clear()


async def _check(key: _CacheKey) -> str:
    expires, missing = _cache.get(key, (0.0, ""))
    if monotonic() < expires:
        return missing
    kind, text, run_dir = key
    try:
        missing = await CHECKS[kind](text, run_dir)
    except ValueError as problem:  # names what is wrong, without what may be secret
        missing = f"{kind} in needs cannot be looked for: {problem}"
    except OSError as problem:
        missing = f'"{escape_all(text[:_SHOWN])}" in needs cannot be looked for: {problem.strerror or problem}'
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    # a variable is cheap to check, and may be set at any time
    if kind != "env":
        _cache[key] = (monotonic() + (MISSING if missing else PRESENT), missing)
    return missing
