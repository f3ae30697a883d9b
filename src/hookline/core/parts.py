"""What an engine is put together from."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from msgspec import Struct

from hookline.model.policy import Needs
from hookline.ports import Dialect, Kind

# whether a path, which may be relative to the folder given with it, is one that the patterns mean
FileMatch = Callable[[str, str], bool]
CompilePatterns = Callable[[Sequence[str]], FileMatch]
# whether an event, told in the words of `model/context.py`, is one that is meant; raises ConditionError
Condition = Callable[[Mapping[str, object]], bool]
# raises ConfigError, with the position, for what is no condition
CompileCondition = Callable[[str], Condition]
# says what is missing for a hook that works in this folder; empty when everything is there
FindMissing = Callable[[Needs, str], Awaitable[str]]


class Parts(Struct, frozen=True):
    """What an engine works with: how to speak to hooks, how to reach them, and how to read what they ask for."""

    dialects: Mapping[str, Dialect]
    kinds: Mapping[str, Kind]
    file_patterns: CompilePatterns | None = None
    conditions: CompileCondition | None = None
    missing: FindMissing | None = None


def default_parts() -> Parts:
    """Give everything Hookline ships."""
    # The one door upwards: whoever uses a part by itself gets the same tables as the whole engine.
    from hookline.wiring import make_parts  # noqa: PLC0415

    return make_parts()
