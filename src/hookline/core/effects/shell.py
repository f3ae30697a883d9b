"""What a shell line does: exactly, where it consists of plain commands that are known, and else as far as it shows."""

import re
from collections.abc import Sequence
from typing import Final

from hookline.core.effects.found import Found, spelled
from hookline.core.effects.patches import changes_of
from hookline.core.effects.programs import Call, program_of
from hookline.core.effects.readers import each
from hookline.core.effects.urls import urls_in
from hookline.core.effects.words import LONGEST, Command, Redirect, Word, lined

_MOST_FOLDERS: Final = 8
_DEEPEST: Final = 3
_DESCRIPTOR: Final = re.compile(r"[0-9]+-?|-")
_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
# bash puts values into their target a second time after quotes are taken off: `>&'$(reboot)'` reboots
_TWICE: Final = frozenset({">&", "<&"})
_NAME: Final = re.compile(r"[\w./,:@%+=-]+")
# bash opens a connection where it reads from or writes to these
_CONNECTION: Final = re.compile(r"/dev/(?:tcp|udp)(?:/|$)")

# they run what stands behind them, in their own way
_WRAPPERS: Final = each(
    "command builtin exec env sudo doas nohup nice time timeout stdbuf setsid ionice xargs if then else elif while until"
    " do eval"
)
_OF_A_WRAPPER: Final = re.compile(r"-.*|\w+=.*|[0-9.]+[smhd]?", re.DOTALL)
_ASSIGNMENT: Final = re.compile(r"\w+\+?=.*", re.DOTALL)
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_LINKING: Final = frozenset({"ln", "mv"})
_PATCHERS: Final = frozenset({"apply_patch", "applypatch"})


def read_line(text: str, cwd: str, found: Found, *, depth: int = _DEEPEST) -> None:
    """Add everything a line does."""
    found.add("runs", (text,))
    found.add("urls", urls_in(text))
    if len(text) > LONGEST or not depth:
        found.unsure()
        return
    line = lined(text)
    if not line.certain:
        found.unsure()
    bases: tuple[str, ...] = (cwd,)
    # a `cd` that failed, or of which nobody knows whether it was reached, leaves the folder as it was
    ever = dict.fromkeys(bases)
    piped = is_choice = False
    for command in line.commands:
        # to sh, `&>` sends all of the list before it into the background, where a `cd` leads nowhere
        is_split = any(one.operator.startswith("&") for one in command.redirects)
        # they are opened before the command runs, and so before a `cd` has gone anywhere
        _redirected(command.redirects, tuple(ever) if is_split else bases, found)
        if command.words and command.words[0].text == "cd":
            found.add("runs", (_said(command.words),))
            new = () if piped or command.then == "|" else _entered(command, bases)
            if not new:
                found.unsure()
            ever |= dict.fromkeys(new)
            bases = new or bases
        else:
            _do(command, bases, found, depth=depth)
        # behind `||`, a `cd` may be left out, and what follows it happens all the same
        is_choice = command.then == "||" or (is_choice and command.then in {"&&", "|"})
        if command.then != "&&" or is_split or is_choice:
            bases = tuple(ever)
        if len(bases) > _MOST_FOLDERS:
            found.unsure()
            return
        piped = command.then == "|"
    # what is linked here is not there yet when somebody looks whether a name is a link
    if any(map(_may_link, line.commands[:-1])):
        found.unsure()


def _may_link(command: Command) -> bool:
    """Say whether a command may bring a link to a place where there was none."""
    name = program_of(command.words[0])[0] if command.words else ""
    # without options, a copy is never a link
    return name in _LINKING or (name == "cp" and any(word.text.startswith("-") for word in command.words))


def _said(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)


def _entered(command: Command, bases: tuple[str, ...]) -> tuple[str, ...]:
    """Give the folders that a `cd` may lead to; none where nobody knows."""
    match command.words[1:]:
        case []:
            return ("~",)
        case [Word(certain=True, pattern=False) as word] if not word.text.startswith("-") and word.text:
            return tuple(dict.fromkeys(path for base in bases for path in Call((), (base,), Found()).paths(word)))
        case _:
            return ()


def _do(command: Command, bases: tuple[str, ...], found: Found, *, depth: int) -> None:
    words = command.words
    if not words:
        return
    name, program = program_of(words[0])
    found.add("runs", (_said([Word(name), *words[1:]]),))
    call = Call(words[1:], bases, found)
    # a shell looks into a folder to find what stands for a pattern
    call.patterns(words, "reads")
    if program is None or not all(word.certain for word in words) or not program(call):
        found.unsure()
    if program is None:
        _look_inside(name, command, call, depth=depth)


def _look_inside(name: str, command: Command, call: Call, *, depth: int) -> None:
    """Find what shows of a command that is not known: it may do more than that."""
    words = call.words
    if name in _WRAPPERS or _ASSIGNMENT.fullmatch(name):
        start = next((place for place, word in enumerate(words) if not _OF_A_WRAPPER.fullmatch(word.text)), len(words))
        if depth > 1:
            _do(Command(list(words[start:]), command.redirects), call.bases, call.found, depth=depth - 1)
    elif name in _SHELLS:
        for place, word in enumerate(words[:-1]):
            if re.fullmatch(r"-[a-z]*c", word.text):
                for base in call.bases:
                    read_line(words[place + 1].text, base, call.found, depth=depth - 1)
    elif name in _PATCHERS:
        for text in (*(word.text for word in words), *(redirect.body for redirect in command.redirects)):
            for base in call.bases:
                patched(text, base, call.found)


def patched(text: str, cwd: str, found: Found) -> bool:
    """Add the files that a patch changes; gives False when it cannot be read."""
    changes = changes_of(text)
    for change in changes or ():
        found.writes(*spelled(cwd, change.path))
        if change.op in {"delete", "move"}:
            found.deletes(*spelled(cwd, change.path))
        if change.to:
            found.writes(*spelled(cwd, change.to))
    return changes is not None


def _redirected(redirects: Sequence[Redirect], bases: tuple[str, ...], found: Found) -> None:
    call = Call((), bases, found)
    for redirect in redirects:
        target, operator = redirect.target, redirect.operator
        if operator == "<<":
            continue
        if not target.certain or target.pattern:
            found.unsure()
        if operator == "<<<" or (operator in _TWICE and _DESCRIPTOR.fullmatch(target.text)):
            continue
        if operator in _TWICE and not _NAME.fullmatch(target.text):
            found.unsure()
        if operator in _WRITES or operator == ">&":
            call.writes([target])
        if operator in {"<", "<>", "<&"}:
            call.reads([target])
        if any(_CONNECTION.match(path) for path in (target.text, *call.paths(target))):
            found.unsure()
