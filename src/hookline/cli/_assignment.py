"""`KEY=VALUE` as people type it: as JSON where the key takes it so, else as the text it is."""

import json
from contextlib import suppress

from hookline.config.values import Key
from hookline.config.vocabulary import quoted
from hookline.errors import ConfigError


def split(assignment: str) -> tuple[str, str]:
    """Tell the key from the value.

    Raises:
        ConfigError: There is no `=`, or nothing before it.
    """
    name, equals, word = assignment.partition("=")
    if not equals or not name:
        raise ConfigError(f"wanted KEY=VALUE, got {quoted(assignment)}")
    return name, word


def value_of(name: str, word: str, key: Key | None) -> object:
    """Give a value as a file would hold it; without a key, whatever it looks like.

    Raises:
        ConfigError: The key takes neither of the two readings.
    """
    candidates: list[object] = [word]
    with suppress(ValueError, RecursionError):
        candidates.insert(0, json.loads(word, parse_constant=_refused))
    if key is None:
        return candidates[0]
    reason = ""
    for candidate in candidates:
        try:
            key.read(candidate)
        except ValueError as problem:
            reason = reason or str(problem)
        else:
            return candidate
    raise ConfigError(f"{name}: {reason}")


def _refused(constant: str) -> object:
    """Take NaN and its like for the words they are: no file can hold them as numbers."""
    raise ValueError(constant)
