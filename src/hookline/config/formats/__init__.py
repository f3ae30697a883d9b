"""The configuration formats: one module and one row each."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.config import jsonc, toml, yaml
from hookline.config.document import Document, Problem
from hookline.config.formats import agent_files, agent_specs, grouped, native, ollm
from hookline.config.reader import FileOrigin
from hookline.errors import ConfigError
from hookline.model.hook import Hook

# turns a text and its `path` into a document that knows its lines; raises `ConfigError` when it is broken
Parse = Callable[..., Document]
# turns a document and its `origin` into hooks, and a problem for everything in it that is not in force
Read = Callable[..., tuple[list[Hook], list[Problem]]]


class Format(Struct, frozen=True):
    """One format: its parser, its reader, and the test that tells it from another one in the same place."""

    parse: Parse
    read: Read
    matches: Callable[[object], bool] = lambda _document: True


def _program(text: str, *, path: str = "") -> Document:  # noqa: ARG001 - as all parsers
    """Return the text of a program as it is: only its name is looked at."""
    return Document(text)


FORMATS: Final[Mapping[str, Format]] = {
    "grouped": Format(jsonc.parse, grouped.read, grouped.matches),
    "when_then": Format(jsonc.parse, ollm.read),
    "ollm": Format(jsonc.parse, ollm.read),
    "per_file": Format(jsonc.parse, grouped.read_per_file),
    "native": Format(toml.parse, native.read),
    **{
        name: Format(_program if spec.is_program else jsonc.parse, spec.read or partial(agent_files.read, spec=spec))
        for name, spec in agent_specs.FILE_SPECS.items()
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
