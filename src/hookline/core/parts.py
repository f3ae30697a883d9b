"""What an engine is put together from."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from hookline.ports import Dialect, Kind

# whether a path, which may be relative to the folder given with it, is one that the patterns mean
FileMatch = Callable[[str, str], bool]
CompilePatterns = Callable[[Sequence[str]], FileMatch]


class Parts(Struct, frozen=True):
    """What an engine works with: how to speak to hooks, how to reach them, and how to read patterns for files."""

    dialects: Mapping[str, Dialect]
    kinds: Mapping[str, Kind]
    file_patterns: CompilePatterns | None = None


def default_parts() -> Parts:
    """Give everything Hookline ships."""
    # The one door upwards: whoever uses a part by itself gets the same tables as the whole engine.
    from hookline.wiring import make_parts  # noqa: PLC0415

    return make_parts()
