"""Search with regular expressions in linear time, with RE2: CEL defines `matches` by it.

Python's `re` backtracks, so a pattern and a text can be chosen for which a search does not end.
"""

from functools import lru_cache
from typing import Final, Protocol

from hookline.errors import ConditionError, ConfigError

LONGEST_PATTERN: Final = 4096
# Instructions of the compiled pattern times characters of the text. RE2 needs 1 to 30 ns for each of them in the worst
# case, when its automaton has too many states to be kept.
MOST_WORK: Final = 100_000_000


class _Compiled(Protocol):
    """What is used of a pattern that RE2 has compiled."""

    programsize: int

    def search(self, text: str, /) -> object: ...


class Regex:
    """A compiled pattern."""

    def __init__(self, compiled: _Compiled) -> None:
        self._compiled = compiled

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches some part of a text.

        Raises:
            ConditionError: The pattern is too costly for a text of this length.
        """
        if len(text) * self._compiled.programsize > MOST_WORK:
            raise ConditionError(f"a text of {len(text)} characters is too long for this pattern")
        try:
            return self._compiled.search(text) is not None
        except UnicodeEncodeError:
            # half of a surrogate pair, which JSON can hold and UTF-8 cannot
            return self._compiled.search(text.encode("utf-8", "replace").decode()) is not None


@lru_cache(maxsize=256)
def compile_regex(pattern: str) -> Regex:
    """Compile a pattern in RE2's syntax.

    Raises:
        ConfigError: It is no regular expression, or RE2 does not support it.
    """
    import re2  # type: ignore[import-untyped] # noqa: PLC0415 - few hooks need it

    if len(pattern) > LONGEST_PATTERN:
        raise ConfigError(f"a regular expression has at most {LONGEST_PATTERN} characters, not {len(pattern)}")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return Regex(re2.compile(pattern, options))
    except UnicodeEncodeError:
        raise ConfigError(f"{pattern!r} is no regular expression: it holds half of a surrogate pair") from None
    except re2.error as problem:
        (why,) = problem.args
        text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise ConfigError(f"{pattern!r} is no regular expression: {text}") from None
