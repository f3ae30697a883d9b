"""How the value of one key is read. Each function raises ValueError with what was wanted."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from hookline.config.vocabulary import quoted
from hookline.model.hook import OnError, Priority

# an hour: a hook that may take longer was probably given milliseconds
LONG: Final = 3600
# a year, in which nobody can tell seconds from eternity
LONGEST: Final = 31_536_000


class Key(Struct, frozen=True):
    """One key of a format.

    `field` is the field of `Hook` it sets; a key without one is read by its format. A `vital` key decides
    what runs and when: a hook whose vital key cannot be read is not loaded, because guessing would run
    something nobody wrote. Every other key falls back to its default.
    """

    read: Callable[[object], object]
    field: str = ""
    vital: bool = False


def text(value: object) -> str:
    """Read a text."""
    if isinstance(value, str) and "\0" not in value:
        return value
    raise ValueError(f"wanted a text, got {describe(value)}")


def version(value: object) -> str:
    """Read a version, which people also write as a number."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else text(value)


def flag(value: object) -> bool:
    """Read true or false."""
    if isinstance(value, bool):
        return value
    raise ValueError(f"wanted true or false, got {describe(value)}")


def seconds(value: object) -> float:
    """Read a time."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LONGEST:
        return float(value)
    raise ValueError(f"wanted a number of seconds above 0 and below a year, got {describe(value)}")


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts."""
    if isinstance(value, list):
        return tuple(text(item) for item in value)
    raise ValueError(f"wanted a list of texts, got {describe(value)}")


def one_or_more_texts(value: object) -> tuple[str, ...]:
    """Read one text, or a list of them that is not empty."""
    found = (text(value),) if isinstance(value, str) else texts(value)
    if not all(found) or not found:
        raise ValueError("wanted at least one name, got nothing")
    return found


def table(value: object) -> Mapping[str, str]:
    """Read names with texts; numbers are taken as they are written."""
    if not isinstance(value, Mapping):
        raise ValueError(f"wanted names with texts, got {describe(value)}")  # noqa: TRY004 - one error for all
    return {text(name): version(item) for name, item in value.items()}


def on_error(value: object) -> OnError:
    """Read what a failure means."""
    try:
        return OnError(text(value).lower())
    except ValueError:
        raise ValueError(f'wanted "block" or "continue", got {describe(value)}') from None


def priority(value: object) -> int:
    """Read a place in the order: a name or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.upper() in Priority.__members__:
        return Priority[value.upper()]
    raise ValueError(f"wanted critical, high, normal, low or a whole number, got {describe(value)}")


def ignored(value: object) -> object:
    """Take whatever stands there: the key is for people or for other programs."""
    return value


def describe(value: object) -> str:
    """Say what a value is, in the words of the file it stands in."""
    if value is None:
        return "nothing"
    for kind, say in _DESCRIPTIONS:
        if isinstance(value, kind):
            return say(value)
    return f"a {type(value).__name__}"


_DESCRIPTIONS: Final[tuple[tuple[type, Callable[[object], str]], ...]] = (
    (bool, lambda value: "true" if value else "false"),
    (str, lambda value: f"the text {quoted(str(value))}"),
    (int, lambda value: f"the number {str(value)[:20]}"),
    (float, lambda value: f"the number {value}"),
    (list, lambda _value: "a list"),
    (Mapping, lambda _value: "an object"),
)


def words(values: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Give the texts that were read for a key; none when it is not there."""
    found = values.get(key)
    return found if isinstance(found, tuple) else ()


def slug(name: str) -> str:
    """Make an id out of a name: "Lint on Save" becomes "lint-on-save"."""
    return re.sub(r"[^\w.:]+", "-", name.lower()).strip("-")


# what every format calls the same
SHARED: Final[Mapping[str, Key]] = {
    "id": Key(text),
    "name": Key(text),
    "matcher": Key(text, "matcher", vital=True),
    "timeout": Key(seconds, "timeout"),
    "env": Key(table, "env", vital=True),
    "headers": Key(table, "headers", vital=True),
    "method": Key(text, "method", vital=True),
    "shell": Key(flag, "shell", vital=True),
    "isolated": Key(flag, "isolated", vital=True),
    "on_error": Key(on_error, "on_error"),
    "priority": Key(priority, "priority"),
    "parallel": Key(flag, "parallel"),
    "observe": Key(flag, "observe", vital=True),
    "enabled": Key(flag, "enabled", vital=True),
    "version": Key(version, "version"),
    "description": Key(ignored),
}
