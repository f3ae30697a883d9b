"""The formats configurations come in: one module and one row each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hookline.config import jsonc, toml
from hookline.config.document import Document
from hookline.config.formats import grouped, native, ollm, per_file, when_then
from hookline.config.problem import Problem
from hookline.config.reading import Origin
from hookline.errors import ConfigError
from hookline.model.hook import Hook


class Parse(Protocol):
    """Turn text into a document that knows its lines; raise `ConfigError` when it is broken."""

    def __call__(self, text: str, *, path: str = "") -> Document:
        """Parse one text."""


class Read(Protocol):
    """Turn a document into hooks, and a problem for everything in it that is not in force."""

    def __call__(self, document: Document, *, origin: Origin) -> tuple[list[Hook], list[Problem]]:
        """Read one document."""


class Format(Struct, frozen=True):
    """One format: how its text is parsed, how it is told from others, and how hooks are read from it."""

    parse: Parse
    matches: Callable[[object], bool]
    read: Read


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "grouped": Format(jsonc.parse, grouped.matches, grouped.read),
        "when_then": Format(jsonc.parse, when_then.matches, when_then.read),
        "ollm": Format(jsonc.parse, ollm.matches, ollm.read),
        "per_file": Format(jsonc.parse, per_file.matches, per_file.read),
        "native": Format(toml.parse, native.matches, native.read),
    }
)


def _yaml(text: str, *, path: str = "") -> Document:
    from hookline.config import yaml  # noqa: PLC0415 - few configurations are YAML

    return yaml.parse(text, path=path)


# what a file's ending says about its text, whatever the format
_PARSERS: Final[Mapping[str, Parse]] = MappingProxyType({"yaml": _yaml, "yml": _yaml})


def read(text: str, *, origin: Origin, formats: tuple[str, ...]) -> tuple[list[Hook], list[Problem]]:
    """Read a text in the first of these formats that it looks like, else in the last one.

    All of them must share one way of parsing. A broken text is a problem, too.
    """
    parse = _PARSERS.get(origin.path.rpartition(".")[2].lower(), FORMATS[formats[0]].parse)
    try:
        document = parse(text, path=origin.path)
    except ConfigError as problem:
        return [], [Problem(origin.path, problem.line, f"{problem.message}; nothing in this file is in force")]
    chosen = next((name for name in formats if FORMATS[name].matches(document.value)), formats[-1])
    return FORMATS[chosen].read(document, origin=replace(origin, format=chosen))
