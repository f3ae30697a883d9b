"""Parse a configured command: a program and its words, or a line for a shell."""

import re
import shlex
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.ollm_run_command import PROGRAMS
from hookline.model.templates import find_marks
from hookline.shell.templates import TemplateError, check_words, has_template

WHITELIST: Final = PROGRAMS
"""Programs a hook may name without their path."""

METACHARACTERS: Final = ";&|`$(){}[]<>"
"""Characters with a meaning to a shell; refused where there is no shell."""

_META: Final = re.compile(r"[;&|`$(){}\[\]<>\0]")

_NUL: Final = re.compile(r"\0")

# of a line: what means itself, and what only a shell replaces by the names of files
_QUOTED: Final = re.compile(r"""'[^']*'|"[^"]*"|\\.""", re.DOTALL)
_EXPANDED: Final = re.compile(r"\*|(?:^|\s)~")

# A line that means the same without a shell, if its first word is a path or a program that no shell has built in.
_SIMPLE: Final = re.compile(r"([\w.,:@%+/-]+)(?:[ \t]+[\w./,:=@%+-]+)*", re.ASCII)


class CommandLine(Struct, frozen=True, kw_only=True):
    """A configured command: its words, the text for a shell, or why it may not run."""

    words: tuple[str, ...] = ()
    script: str = ""
    refusal: str = ""


@lru_cache(maxsize=512)
def parse_shell_line(command: str, args: tuple[str, ...]) -> CommandLine:
    """Parse a line for a shell."""
    if args:
        return CommandLine(refusal="a shell line has no args: write them into the line, or leave shell out")
    if "\0" in command:
        return CommandLine(refusal="the command holds a NUL character")
    return CommandLine(script=command, words=tuple(command.split()) if _is_plain(command) else ())


@lru_cache(maxsize=512)
def can_isolate_python(words: tuple[str, ...], script: str) -> bool:
    """Return whether a variable keeps every Python that a command starts from modules in the folder where it runs."""
    if "py" not in script and not any("py" in word for word in words):
        return False
    from hookline.shell.script import script_of_words  # noqa: PLC0415 - few start Python like this
    from hookline.shell.walk import can_set_safe_path, walk_commands  # noqa: PLC0415

    if words:
        return can_set_safe_path(walk_commands(script_of_words(words)))
    from hookline.shell.reader import parse_script  # noqa: PLC0415 - loads a grammar

    return can_set_safe_path(walk_commands(parse_script(script)))


def _is_plain(command: str) -> bool:
    match = _SIMPLE.fullmatch(command)
    return match is not None and ("/" in match[1] or match[1] in WHITELIST)


@lru_cache(maxsize=512)
def parse_words(
    command: str,
    args: tuple[str, ...],
    *,
    templates: bool = False,
    literal: bool = False,
    folders: tuple[str, ...] = (),
) -> CommandLine:
    """Parse a program and its words, which no shell will see.

    `folders` are those that names were made absolute with: their names were not written by the user.
    With `templates`, words may hold `{{name}}`, and any program may be named without its path. The words of a `literal` command
    were written as a list: they mean what they are.
    """
    has_words = literal and bool(args)
    for what, text in (("command", command), *(("args", arg) for arg in args)):
        written = text
        for folder in folders:
            written = written.replace(f"{folder}/", "/")
        match = (_NUL if has_words else _META).search(_strip_templates(written) if templates else written)
        if match:
            return CommandLine(
                refusal=_metacharacter_refusal(what, match[0], is_unfilled=has_template(text) and not templates)
            )
    try:
        words = (command, *args) if args else tuple(shlex.split(command))
    except ValueError:
        return CommandLine(refusal=f"the command has a quote that is not closed: {command}")
    if not words or not words[0]:
        return CommandLine(refusal="the command is empty")
    if templates and (refusal := _template_refusal(words)):
        return CommandLine(refusal=refusal)
    if words[0] in WHITELIST or Path(words[0]).is_absolute():
        return CommandLine(words=words)
    if not templates or "/" in words[0]:
        return CommandLine(refusal=_unknown_program_refusal(words[0]))
    if not args and (pattern := _EXPANDED.search(_QUOTED.sub("", command))):
        return CommandLine(refusal=_pattern_refusal(pattern[0].strip()))
    return CommandLine(words=words)


def _template_refusal(words: tuple[str, ...]) -> str:
    if has_template(words[0]):
        return f"{words[0]} would choose the program: name it, and give it the value as an argument"
    try:
        if any(map(has_template, words)):
            check_words(words)
    except TemplateError as problem:
        return problem.message
    return ""


def _strip_templates(text: str) -> str:
    for mark in reversed(list(find_marks(text))):
        text = text[: mark.start()] + text[mark.end() :]
    return text


def _metacharacter_refusal(what: str, character: str, *, is_unfilled: bool) -> str:
    if character == "\0":
        return f"{what} holds a NUL character"
    advice = (
        "templates are filled in shell lines only; read"
        if is_unfilled
        else "let a shell run it (shell = true), or read"
    )
    return f'{what} holds "{character}", which is refused without a shell: {advice} what is needed from stdin'


def _pattern_refusal(pattern: str) -> str:
    return (
        f'the command holds "{pattern}", which only a shell replaces by the names of files: let a shell run it (shell = true), '
        "or put it into quotes"
    )


def _unknown_program_refusal(name: str) -> str:
    if "/" in name:
        return f'program "{name}" is a relative path: write the absolute one'
    return (
        f'program "{name}" is none of {", ".join(WHITELIST)}: write its absolute path, write the command as a list '
        f'(run = ["{name}", …]), or let a shell find it (shell = true)'
    )
