"""The files in which agents keep hooks: one module and one row each."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.config.document import Document
from hookline.config.formats.agents import (
    antigravity,
    claude_code,
    cline,
    codex_cli,
    copilot_cli,
    cursor,
    entries,
    factory_droid,
    gemini_cli,
    kiro,
    qwen_code,
    windsurf,
)
from hookline.config.formats.agents.style import Style
from hookline.config.problem import Problem
from hookline.config.reading import Origin
from hookline.model.hook import Hook


class Form(Struct, frozen=True):
    """One kind of file: how its hooks are written, and how they are read."""

    style: Style
    read: Callable[..., tuple[list[Hook], list[Problem]]]


def _of(style: Style) -> Form:
    return Form(style, partial(entries.read, style=style))


FORMS: Final[Mapping[str, Form]] = MappingProxyType(
    {
        "claude-code": _of(claude_code.STYLE),
        "gemini-cli": _of(gemini_cli.STYLE),
        "qwen-code": _of(qwen_code.STYLE),
        "codex-cli": _of(codex_cli.STYLE),
        "cursor": _of(cursor.STYLE),
        "copilot-cli": _of(copilot_cli.STYLE),
        "windsurf": _of(windsurf.STYLE),
        "kiro": Form(kiro.STYLE, kiro.read),
        "kiro-agent": _of(kiro.AGENT),
        "kiro-legacy": Form(kiro.LEGACY, kiro.read_legacy),
        "cline": Form(cline.STYLE, cline.read),
        "factory-droid": Form(factory_droid.STYLE, factory_droid.read),
        "antigravity": Form(antigravity.STYLE, antigravity.read),
    }
)


def read(document: Document, *, origin: Origin, form: str) -> tuple[list[Hook], list[Problem]]:
    """Read a file of one of these kinds."""
    return FORMS[form].read(document, origin=origin)
