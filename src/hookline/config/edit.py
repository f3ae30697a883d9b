"""Change one part of a configuration file's text, and nothing else: comments, layout and line ends stay."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final, Protocol

from hookline.config import jsonc, toml, yaml
from hookline.config.document import Document, KeyPath, spell
from hookline.errors import ConfigError

_MARK: Final = "\ufeff"


class Syntax(Protocol):
    """How one syntax is parsed and changed: text in, text out.

    Each raises `ConfigError` where the text is broken, or the place cannot be in it.
    """

    def parse(self, text: str, *, path: str = "") -> Document:
        """Parse one document."""

    def put(self, text: str, pointer: KeyPath, value: object) -> str:
        """Replace the value at a place, or add it there; the index after the last element adds one."""

    def drop(self, text: str, pointer: KeyPath) -> str:
        """Take a key or an element out."""


SYNTAXES: Final[Mapping[str, Syntax]] = {"json": jsonc, "toml": toml, "yaml": yaml}
_SYNTAX_BY_ENDING: Final[Mapping[str, str]] = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
_LEAST: Final = 2


def syntax_of(path: str) -> str:
    """Return how a file is written, by the ending of its name."""
    return _SYNTAX_BY_ENDING.get(PurePath(path).suffix.lower(), "json")


def value_of(text: str, *, path: str) -> object:
    """Read a text as plain values.

    Raises:
        ConfigError: It is broken; the message says where.
    """
    plain = text.removeprefix(_MARK)
    return SYNTAXES[syntax_of(path)].parse(plain, path=path).value if plain.strip() else {}


def put(text: str, pointer: KeyPath, value: object, *, path: str) -> str:
    """Replace the value at a place, or add it there.

    Raises:
        ConfigError: The text is broken, or nothing can stand at this place.
    """
    syntax = SYNTAXES[syntax_of(path)]
    wanted = _set_value(value_of(text, path=path), pointer, value)
    return _apply_checked(text, lambda plain: syntax.put(plain, pointer, value), wanted, path=path)


def append(text: str, pointer: KeyPath, value: object, *, path: str) -> str:
    """Add an element at the end of a list, and the list where there is none.

    Raises:
        ConfigError: The text is broken, or there is something else at this place.
    """
    found = value_at(value_of(text, path=path), pointer) if text.removeprefix(_MARK).strip() else None
    if found is not None and not isinstance(found, list):
        raise ConfigError(f"wanted a list at {spell(pointer)}; nothing was changed", path=path)
    return put(text, (*pointer, len(found or ())), value, path=path)


def drop(text: str, pointer: KeyPath, *, path: str, prune: bool = False) -> str:
    """Take a key or an element out; with `prune`, also what would be left empty around it.

    Raises:
        ConfigError: The text is broken, or there is nothing at this place.
    """
    syntax = SYNTAXES[syntax_of(path)]
    before = value_of(text, path=path)
    place = pointer
    # up as long as taking the place out would leave its owner empty, the outermost list excepted
    while prune and len(place) > _LEAST:
        owner = value_at(before, place[:-1])
        if not isinstance(owner, Mapping | list) or len(owner) > 1:
            break
        place = place[:-1]
        # a group without hooks is nothing, whatever else it says
        if place[-1] == "hooks" and len(place) > _LEAST:
            place = place[:-1]
    match value_at(before, place[:-1]), place[-1:]:
        case dict() as owner, (str() as step,) if step in owner:
            del owner[step]
        case list() as owner, (int() as step,) if 0 <= step < len(owner):
            del owner[step]
        case _:
            raise ConfigError(f"there is nothing at {spell(pointer)}; nothing was changed", path=path)
    return _apply_checked(text, lambda plain: syntax.drop(plain, place), before, path=path)


def _apply_checked(text: str, change: Callable[[str], str], wanted: object, *, path: str) -> str:
    """Apply a change, parse the result, and raise unless it is exactly the intended value."""
    mark = _MARK if text.startswith(_MARK) else ""
    try:
        changed = mark + change(text.removeprefix(_MARK))
        changed.encode()
        if _normalise(value_of(changed, path=path), path=path) == _normalise(wanted, path=path):
            return changed
    except UnicodeEncodeError:
        raise ConfigError("half a character cannot be written; nothing was changed", path=path) from None
    except ConfigError as problem:
        raise ConfigError(f"{problem.message}; nothing was changed", path=path, line=problem.line) from None
    raise ConfigError("this file is written in a way that is changed by hand only; nothing was changed", path=path)


def value_at(value: object, pointer: KeyPath) -> object:
    """Return what stands at a place of a document; None where nothing does."""
    for step in pointer:
        match value, step:
            case Mapping(), str():
                value = value.get(step)
            case list(), int() if 0 <= step < len(value):
                value = value[step]
            case _:
                return None
    return value


def _set_value(value: object, pointer: KeyPath, new: object) -> object:
    """Return the same values with one of them replaced or added."""
    if not pointer:
        return _plain(new)
    step, rest = pointer[0], pointer[1:]
    match step:
        case str():
            inside = dict(value) if isinstance(value, Mapping) else {}
            inside[step] = _set_value(inside.get(step), rest, new)
            return inside
        case _:
            items = list(value) if isinstance(value, list) else []
            items[step : step + 1] = [_set_value(items[step] if step < len(items) else None, rest, new)]
            return items


def _normalise(value: object, *, path: str) -> object:
    """Leave out what TOML cannot tell from nothing: a list of tables without tables."""
    if syntax_of(path) != "toml" or not isinstance(value, Mapping):
        return value
    return {key: one for key, one in value.items() if one != []}


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return {str(key): _plain(one) for key, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return value
