"""The formats configurations come in: one module and one row each."""

from collections.abc import Callable, Mapping
from functools import partial
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


# kinds of files in which agents keep hooks; `formats/agents` has one row each
OF_AGENTS: Final = (
    *("claude-code", "gemini-cli", "qwen-code", "codex-cli", "cursor", "copilot-cli", "windsurf"),
    *("kiro", "kiro-agent", "kiro-legacy", "factory-droid", "antigravity"),
)


def _agents_file(document: Document, *, origin: Origin, form: str) -> tuple[list[Hook], list[Problem]]:
    from hookline.config.formats import agents  # noqa: PLC0415 - many tables, which few projects need

    return agents.read(document, origin=origin, form=form)


def _is_any(_document: object) -> bool:
    return True


def _program(text: str, *, path: str = "") -> Document:  # noqa: ARG001 - the name is looked at by who reads it
    return Document(text)


FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "grouped": Format(jsonc.parse, grouped.matches, grouped.read),
        "when_then": Format(jsonc.parse, when_then.matches, when_then.read),
        "ollm": Format(jsonc.parse, ollm.matches, ollm.read),
        "per_file": Format(jsonc.parse, per_file.matches, per_file.read),
        "native": Format(toml.parse, native.matches, native.read),
        **{name: Format(jsonc.parse, _is_any, partial(_agents_file, form=name)) for name in OF_AGENTS},
        "cline": Format(_program, _is_any, partial(_agents_file, form="cline")),
    }
)


def _yaml(text: str, *, path: str = "") -> Document:
    from hookline.config import yaml  # noqa: PLC0415 - few configurations are YAML

    return yaml.parse(text, path=path)


# what a file's ending says about its text, whatever the format
_PARSERS: Final[Mapping[str, Parse]] = MappingProxyType({"yaml": _yaml, "yml": _yaml, "toml": toml.parse})


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
