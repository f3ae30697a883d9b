"""What a hook says of when, how often and in which way it runs: for people, and for programs."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import asdict

from hookline.cli._output import counted
from hookline.model.hook import Hook
from hookline.model.policy import Caching

_UNITS: Final = ((3_600, "h"), (60, "min"))


def described_policies(hook: Hook) -> dict[str, object]:
    """Give them as `--json` prints them, under the keys of hookline.toml; what is not said is null, false or empty."""
    return {
        "if": hook.condition or None,
        "schedule": hook.schedule or None,
        "after": hook.after,
        "before": hook.before,
        "once": hook.once,
        "per_minute": hook.per_minute or None,
        "cooldown": hook.cooldown or None,
        "debounce": hook.debounce or None,
        "breaker": hook.breaker or None,
        "retry_after": hook.retry_after if hook.breaker else None,
        "needs": asdict(hook.needs) if hook.needs is not None else None,
        "cache": _described_cache(hook.cache) if hook.cache is not None else None,
        "background": hook.background,
        "persistent": hook.persistent,
        "warm": hook.warm,
        "observe": hook.observe,
        "steps": hook.steps,
        "raise": hook.raises or None,
    }


def told_policies(hook: Hook) -> Iterator[tuple[str, str]]:
    """Give what a hook says, each with the key it is said with; texts in it are those of whoever wrote the hook."""
    said = {
        "if": hook.condition,
        "schedule": hook.schedule,
        "after": ", ".join(hook.after),
        "before": ", ".join(hook.before),
        "once": "once in a session" if hook.once else "",
        "per_minute": f"at most {counted(hook.per_minute, 'run')} in any minute" if hook.per_minute else "",
        "cooldown": f"not within {_exactly(hook.cooldown)} of its last run" if hook.cooldown else "",
        "debounce": f"after {_exactly(hook.debounce)} without an event" if hook.debounce else "",
        "breaker": _pause(hook) if hook.breaker else "",
        "needs": _lists(asdict(hook.needs)) if hook.needs is not None else "",
        "cache": _held(hook.cache) if hook.cache is not None else "",
        "background": "from the queue, and nobody waits for it" if hook.background else "",
        "persistent": "it stays, and answers many events" if hook.persistent else "",
        "warm": "its process is made ahead" if hook.warm else "",
        "observe": "what it says is only written down" if hook.observe else "",
    }
    return ((key, text) for key, text in said.items() if text)


def _exactly(seconds: float) -> str:
    """Write a time in the largest unit that says no more and no less than the hook does."""
    return next((f"{seconds // size:g} {unit}" for size, unit in _UNITS if seconds % size == 0), f"{seconds:g} s")


def _described_cache(cache: Caching) -> dict[str, object]:
    return {"for": cache.seconds, "by": cache.by, "files": cache.files, "env": cache.env}


def _pause(hook: Hook) -> str:
    failures = "each failure" if hook.breaker == 1 else f"{hook.breaker} failures in a row"
    return f"pauses for {_exactly(hook.retry_after)} after {failures}"


def _held(cache: Caching) -> str:
    lists = _lists({"by": cache.by, "files": cache.files, "env": cache.env})
    return f"an answer holds for {_exactly(cache.seconds)}" + (f"; {lists}" if lists else "")


def _lists(named: Mapping[str, object]) -> str:
    return "; ".join(
        f"{name} {', '.join(items)}" for name, items in named.items() if isinstance(items, tuple) and items
    )
