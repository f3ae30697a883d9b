"""The configuration formats: one module and one row each."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.config import jsonc, toml, yaml
from hookline.config.document import Document, Problem
from hookline.config.formats import agents, grouped, native, ollm, per_file, when_then
from hookline.config.reader import FileOrigin
from hookline.errors import ConfigError
from hookline.model.hook import Hook

# turns a text and its `path` into a document that knows its lines; raises `ConfigError` when it is broken
Parse = Callable[..., Document]
# turns a document and its `origin` into hooks, and a problem for everything in it that is not in force
Read = Callable[..., tuple[list[Hook], list[Problem]]]


class Format(Struct, frozen=True):
    """One format: its parser, the test that recognises it, and its reader."""

    parse: Parse
    matches: Callable[[object], bool]
    read: Read


def _program(text: str, *, path: str = "") -> Document:  # noqa: ARG001 - as all parsers
    """Return the text of a program as it is: only its name is looked at."""
    return Document(text)


FORMATS: Final[Mapping[str, Format]] = {
    "grouped": Format(jsonc.parse, grouped.matches, grouped.read),
    "when_then": Format(jsonc.parse, when_then.matches, when_then.read),
    "ollm": Format(jsonc.parse, ollm.matches, ollm.read),
    "per_file": Format(jsonc.parse, per_file.matches, per_file.read),
    "native": Format(toml.parse, native.matches, native.read),
    **{
        name: Format(
            _program if spec.is_program else jsonc.parse,
            lambda _document: True,
            spec.read or partial(agents.reader.read, spec=spec),
        )
        for name, spec in agents.FILE_SPECS.items()
    },
}


# what a file's ending says about its text, whatever the format
_PARSERS: Final[Mapping[str, Parse]] = {"yaml": yaml.parse, "yml": yaml.parse, "toml": toml.parse}


def read(
    text: str, *, origin: FileOrigin, formats: tuple[str, ...], document: Document | None = None
) -> tuple[list[Hook], list[Problem]]:
    """Read a text in the first of these formats that it looks like, else in the last one.

    All of them must share one way of parsing. A broken text is a problem, too. `document` is the text parsed, if the caller
    has it.
    """
    parse = _PARSERS.get(origin.path.rpartition(".")[2].lower(), FORMATS[formats[0]].parse)
    try:
        document = document or parse(text, path=origin.path)
    except ConfigError as problem:
        return [], [Problem(origin.path, problem.line, f"{problem.message}; nothing in this file is in force")]
    chosen = next((name for name in formats if FORMATS[name].matches(document.value)), formats[-1])
    return FORMATS[chosen].read(document, origin=replace(origin, format=chosen))
