"""What hooks may cost before anybody approved them: they are matched with events first, and vetted only then.

A project brings its hooks along, and file names as well. Whoever opens it must not wait for ever because a pattern of
it takes for ever, so what could is searched for in linear time, or refused when it is loaded.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hookline.core.order import SOURCE_RANK, standing
from hookline.errors import ConditionError, ConfigError
from hookline.model.hook import Hook, Source

# each of them may try every place in a name, for every place that the others try
MOST_REPEATS: Final = 2
MOST_STARS: Final = 3

_BEFORE: Final = "hooks that need approval are matched before they have it"
_NEAREST: Final = SOURCE_RANK[Source.WORKSPACE]
# `\*` and `[*+]` count, too: rather one too many
_REPEAT: Final = re.compile(r"(?<!\()[*+?{][?+]?")
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")
_STARS: Final = re.compile(r"\*+")


def is_stranger(hook: Hook) -> bool:
    """Say whether a hook is one that somebody has to approve before it runs."""
    return standing(hook) >= _NEAREST


class LinearMatcher:
    """A regular expression for names that takes no longer than the name is long."""

    def __init__(self, expression: str) -> None:
        """Read it.

        Raises:
            ConfigError: It can only be searched for by trying one way after the other.
        """
        from hookline.core.conditions.automaton import automaton  # noqa: PLC0415 - few matchers need it

        try:
            # by itself first: a parenthesis too many must not close what is put around it
            automaton(expression)
            self._machine = automaton(rf"(?is)\A(?:{expression})\z")
        except ConfigError:
            raise ConfigError(
                f"matcher {expression!r} may take for ever, and {_BEFORE}: "
                f"repeat at most {MOST_REPEATS} times and no groups, or look neither around nor back"
            ) from None

    def __call__(self, name: str) -> bool:
        """Say whether a name is meant; where that is not known, the hook is asked rather once too often."""
        # letters of other alphabets count as letters for Python, and not here
        if not name.isascii():
            return True
        try:
            return self._machine.found_in(name)
        except ConditionError:
            return True


def within_one_time(context: Mapping[str, object]) -> Mapping[str, object]:
    """Give what conditions are asked about, with one time for all that are asked with it."""
    from hookline.core.conditions.compiler import BUDGET, Budget  # noqa: PLC0415 - there by now, where there are any

    return {**context, BUDGET: Budget()}


def is_quick(expression: str) -> bool:
    """Say whether Python tries few ways only to match a regular expression."""
    return not _REPEATED_GROUP.search(expression) and len(_REPEAT.findall(expression)) <= MOST_REPEATS


def check_patterns(patterns: Iterable[str]) -> None:
    """Refuse file patterns that take for ever where a name was chosen for it.

    Raises:
        ConfigError: One has too many stars.
    """
    for pattern in patterns:
        parts = pattern.split("/")
        if parts.count("**") > MOST_STARS or any(len(_STARS.findall(part)) > MOST_STARS for part in parts):
            raise ConfigError(
                f'file pattern "{pattern}" may take for ever, and {_BEFORE}: '
                f'write at most {MOST_STARS} stars into one name, and "**" at most {MOST_STARS} times'
            )
