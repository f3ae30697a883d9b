"""`KEY=VALUE` as people type it: as JSON or TOML where the key takes it so, else as the text it is."""

import json
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from hookline.config.values import Key
from hookline.config.vocabulary import quoted
from hookline.errors import ConfigError

# what a table or a list begins with
_OPENING: Final = ("{", "[")


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
        ConfigError: The key takes none of the readings.
    """
    candidates: list[object] = [*_readings(word), word]
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
    is_broken = word.startswith(_OPENING) and len(candidates) == 1
    raise ConfigError(f"{name}: {reason}" + (", which is neither JSON nor TOML" if is_broken else ""))


def _readings(word: str) -> Iterator[object]:
    with suppress(ValueError, RecursionError):
        yield json.loads(word, parse_constant=_refused)
        return
    # a table or a list, as it would stand in hookline.toml
    if word.startswith(_OPENING):
        with suppress(ValueError, RecursionError):
            document = tomllib.loads(f"value = {word}")
            if len(document) == 1:
                yield document["value"]


def _refused(constant: str) -> object:
    """Take NaN and its like for the words they are: no file can hold them as numbers."""
    raise ValueError(constant)
