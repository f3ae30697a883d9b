"""Write our words down as `marshal` knows them, and read them back: no decoder has to be made for every class first."""

import sys
from collections.abc import Callable, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path, PurePath
from typing import Final

from msgspec import Struct
from msgspec.structs import fields

_PLAIN: Final = (type(None), bool, int, float, str, bytes)


def packed(value: object) -> object:
    """Give a value in plain words.

    Raises:
        TypeError: It is nothing that could be written down, as a function.
    """
    if isinstance(value, Enum):
        return ("enum", _home(type(value)), value.value)
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Struct):
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        return ("struct", _home(type(value)), {name: packed(one) for name, one in given.items()})
    if isinstance(value, PurePath):
        return ("path", str(value))
    if isinstance(value, Mapping):
        return ("map", [(packed(key), packed(one)) for key, one in value.items()])
    for name, kind in (("tuple", tuple), ("list", list), ("set", frozenset)):
        if type(value) is kind:
            return (name, [packed(one) for one in value])
    raise TypeError(f"{value!r} cannot be written down")


def unpacked(value: object) -> object:
    """Give back a value that `packed` wrote.

    Raises:
        ValueError: Nobody of ours wrote it.
    """
    if type(value) is not tuple:
        return value
    word, *rest = value
    read = _READERS.get(word)
    if read is None:
        raise ValueError(f"nothing is written as {word!r}")
    return read(*rest)


def _home(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(home: str) -> Callable[..., object]:
    module, _, name = home.partition(":")
    if not module.startswith("hookline."):
        raise ValueError(f"{home} is none of our words")
    found: Callable[..., object] = getattr(sys.modules.get(module) or import_module(module), name)
    return found


def _struct(home: str, given: dict[str, object]) -> object:
    return _class(home)(**{name: unpacked(one) for name, one in given.items()})


_READERS: Final[Mapping[str, Callable[..., object]]] = {
    "enum": lambda home, value: _class(home)(value),
    "struct": _struct,
    "path": Path,
    "map": lambda pairs: {unpacked(key): unpacked(one) for key, one in pairs},
    "tuple": lambda items: tuple(map(unpacked, items)),
    "list": lambda items: list(map(unpacked, items)),
    "set": lambda items: frozenset(map(unpacked, items)),
}
