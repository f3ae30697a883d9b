"""What an engine is put together from."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from hookline.model.hook import Hook
from hookline.ports import Dialect, Kind, StateStore


class FileMatch(Protocol):
    """Whether a path, which may be relative to the folder given with it, is one that the patterns mean."""

    def __call__(self, path: str, folder: str, *, above: bool = False) -> bool:
        """Answer; `above`, also for the path as it is seen from the repositories that the folder lies in."""
        ...


CompilePatterns = Callable[[Sequence[str]], FileMatch]
# gives the path that a path leads to, all links followed
FollowLinks = Callable[[str], str]
# says what is missing for a hook that works in this folder; empty when everything is there
FindMissing = Callable[[Hook, str], Awaitable[str]]


class Condition(Protocol):
    """Whether an event is one that is meant, told in the words of `model/context.py`."""

    def __call__(self, context: Mapping[str, object], /) -> bool:
        """Answer; raises ConditionError where it cannot be decided."""
        ...

    def facts(self, context: Mapping[str, object], /) -> str:
        """Say what the event has for the names in the condition; empty where nobody can say."""
        ...


# raises ConfigError, with the position, for what is no condition
CompileCondition = Callable[[str], Condition]


class Parts(Struct, frozen=True):
    """What an engine works with: how to speak to hooks, how to reach them, and how to read what they ask for."""

    dialects: Mapping[str, Dialect]
    kinds: Mapping[str, Kind]
    file_patterns: CompilePatterns | None = None
    follow_links: FollowLinks | None = None
    conditions: CompileCondition | None = None
    missing: FindMissing | None = None


def default_parts() -> Parts:
    """Give everything Hookline ships."""
    # The one door upwards: whoever uses a part by itself gets the same tables as the whole engine.
    from hookline.wiring import make_parts  # noqa: PLC0415

    return make_parts()


def default_state() -> StateStore:
    """Give a place for what is remembered between events, for one program alone."""
    from hookline.wiring import make_state  # noqa: PLC0415 - the same door

    return make_state()
