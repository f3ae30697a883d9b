"""Find the vetted files in a command, and put their bytes in the place of their names.

What stands in a command as a word that can be known beforehand is handed over as bytes. All other vetted files keep
their place, and are compared right before the start and right after the end.
"""
# looked up before each run, where pathlib costs many times more
# ruff: noqa: PTH110, PTH113, PTH118, PTH202

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from os.path import join, normpath
from shlex import quote
from typing import Final

from msgspec import Struct

from hookline.kinds._expand import Variable, expand
from hookline.kinds._launch import (
    STARTED,
    Script,
    Words,
    each,
    inline_place,
    interpreter_line,
    script_place,
    start_words,
    stem,
)
from hookline.kinds._sealed import Seals, differs
from hookline.kinds.shell.commands import read
from hookline.kinds.shell.line import Command, Line, Shape, TemplateError, Word
from hookline.kinds.shell.programs import DECLARERS, NAMES_ONLY, ONLY_SHOW, WRAPPERS
from hookline.kinds.shell.words import ASSIGNMENT
from hookline.model.exchange import Sealed
from hookline.model.workspace import inside

FindProgram = Callable[[str], str]
"""Finds a program by its name; empty when there is none."""

# They close what they inherit.
_CLOSING: Final = each("sudo doas su runuser systemd-run")
# They have a way of their own to run a script, or run it where nothing of ours exists.
_RUNNING: Final = each("uv poetry pipenv hatch pdm rye npm pnpm yarn bundle pipx npx bunx uvx pnpx")
_FAR: Final = each("docker podman nerdctl kubectl oc ssh rsh mosh adb")
# They take bytes from anywhere; all others may look at a file's name.
_READING: Final = each(
    "cat jq yq gojq jaq awk gawk mawk sed grep egrep fgrep head tail sort uniq wc cut diff cmp sha256sum test [ . source"
)
_BUILT_IN: Final = each("exec command builtin time")
_CHANGING: Final = DECLARERS | NAMES_ONLY | each("eval . source set alias")
# options of wrappers after which relative names mean other files
_ELSEWHERE: Final = ("-C", "-D", "--chdir")
_ENTERING: Final = each("cd pushd popd")
_IMPLIED: Final = ("", ".js", ".json", ".node", "/index.js")
# They use a name and not what the file holds, or change the file itself.
_NAMING: Final = (
    ONLY_SHOW | _ENTERING | each("chmod chown touch rm mv cp ln ls stat git mkdir dirname basename realpath readlink")
)
_NO_IMPLIED: Final = ("",)

# Of a larger program only the hash is known: it runs from where it lies.
LARGEST: Final = 16 * 1024 * 1024

_BLANK: Final = " \t\n"

# the end of a word that can be known, though its beginning is made when it runs
_LAST_PART: Final = re.compile(r"/[\w.-]+[\"']?$")


class Refused(Exception):  # noqa: N818 - a decision, not an error
    """The command may not run, for the reason this says."""


class Vetted:
    """The vetted files of one call, where their names are counted from, and which of them were handed over."""

    __slots__ = ("_folders", "_meant", "_sealed", "handed")

    def __init__(self, sealed: Sealed, folder: str, *, entered: Sequence[str | None] = ()) -> None:
        self._sealed = sealed
        known = [join(folder, name) for name in entered if name is not None]
        # after a `cd` nobody can follow, only absolute names mean anything
        self._folders = (folder, *known) if len(known) == len(entered) else ()
        self.handed: set[str] = set()
        self._meant: set[str] = set()

    def find(self, word: str, *, endings: Sequence[str] = _NO_IMPLIED) -> Script | None:
        """Find the vetted file a word names; None when it names none, or one of several."""
        for ending in endings:
            possible = self._paths(word + ending)
            paths = [path for path in possible if path in self._sealed]
            contents = {self._sealed[path] for path in paths}
            # in the other folder there may be a file of this name that nobody has checked
            if len(contents) == 1 and (len(paths) == len(possible) or not self._unchecked(possible)):
                return Script(word, paths[0], self._sealed[paths[0]])
        return None

    def newcomer(self, word: str, *, endings: Sequence[str] = _NO_IMPLIED) -> str:
        """Name a file that this word means now, and that was not there when the hook was checked."""
        return self._unchecked([path for ending in endings for path in self._paths(word + ending)])

    def await_name(self, written: str) -> bool:
        """Note that a script's name is made when it runs, and say whether it can mean one of these files at all."""
        found = _LAST_PART.search(written)
        meant = [path for path in self._sealed if found is None or path.endswith(found[0].rstrip("\"'"))]
        self._meant.update(meant)
        return bool(meant)

    def hand(self, script: Script) -> Script:
        """Note that this file needs no comparing: its bytes are handed over."""
        self.handed.add(script.path)
        return script

    def rest(self) -> tuple[str, ...]:
        """Name the files that are used from where they lie."""
        return tuple(path for path in self._sealed if path not in self.handed or path in self._meant)

    def changed(self) -> str:
        """Name one of them that is not what it was; empty when all are."""
        if len(self.handed) == len(self._sealed):
            return ""
        return next((path for path in self.rest() if differs(path, self._sealed[path])), "")

    def _unchecked(self, paths: Sequence[str]) -> str:
        return next((path for path in paths if path not in self._sealed and os.path.isfile(path)), "")

    def _paths(self, word: str) -> list[str]:
        if not word or "\0" in word:
            return []
        folders = ("/",) if word.startswith("/") else self._folders
        paths = [join(folder, word) for folder in folders]
        # behind a link to a folder, ".." does not mean what the spelling says: then it was checked as it is spelled
        return list(dict.fromkeys(path if path in self._sealed else normpath(path) for path in paths))


class Handover(Struct, frozen=True):
    """Where files go while a command is made ready: what is vetted, what the child gets, how programs are found.

    `foreign` are the folders in which nothing runs that is not vetted.
    """

    vetted: Vetted
    seals: Seals
    find: FindProgram
    variable: Variable
    foreign: tuple[str, ...] = ()


def seal_words(words: Sequence[str | None], handover: Handover) -> Mapping[int, Words]:
    """Say which words of a command are replaced, and by what; None among the words is known only when it runs.

    Raises:
        Refused: It would run a script that nobody has checked, or one that cannot be started.
    """
    vetted, seals = handover.vetted, handover.seals
    start, apart = _unwrapped(words, vetted)
    program = words[start] or ""
    wrappers = {stem(word or "") for word in words[:start]}
    elsewhere = any((word or "").startswith(_ELSEWHERE) for word in words[:start])
    if elsewhere or stem(program) in _FAR | _RUNNING | _NAMING or wrappers & _FAR:
        return {}
    replaced = _run_program(program, start, handover=handover, apart=apart) if "/" in program else {}
    is_script = len(replaced.get(start, ())) > 1
    place = None if is_script else script_place(words[start:])
    inline = None if is_script else inline_place(words[start:])
    if inline is not None:
        replaced[start + inline] = (_seal_inline(words[start + inline] or "", handover),)
    if place is not None:
        replaced |= _run_script(words, start, start + place, handover=handover, apart=apart)
    hand_over = seals.opened if stem(program) in _READING and not apart else seals.copied
    for other, word in enumerate(words):
        found = vetted.find(word) if word and other != start and other not in replaced else None
        if found is not None:
            replaced[other] = (hand_over(vetted.hand(found).content, found.name),)
    return replaced


def _seal_inline(line: str, handover: Handover) -> str:
    # a folder it enters is not among those that names are counted from
    return line if entered_folders(line, handover.variable) else seal_line(line, handover)


def _unwrapped(words: Sequence[str | None], vetted: Vetted) -> tuple[int, bool]:
    """Find the program behind `env`, `timeout 5` and the like, and say whether it keeps our descriptors."""
    start, apart = 0, False
    while words[start] and stem(words[start] or "") in WRAPPERS:
        wrapper = stem(words[start] or "")
        known = None if wrapper in _RUNNING else vetted
        inner = next((place for place in range(start + 1, len(words)) if _is_program(words[place], known)), None)
        if inner is None:
            break
        apart = apart or wrapper in _CLOSING
        start = inner
    return start, apart


def _is_program(word: str | None, vetted: Vetted | None) -> bool:
    if not word:
        return False
    return stem(word) in STARTED or stem(word) in WRAPPERS or (vetted is not None and vetted.find(word) is not None)


def _run_script(
    words: Sequence[str | None], start: int, place: int, *, handover: Handover, apart: bool
) -> dict[int, Words]:
    program, word = words[start] or "", words[place]
    if word is None:
        return {}
    endings = _IMPLIED if stem(program) in {"node", "nodejs"} else _NO_IMPLIED
    script = handover.vetted.find(word, endings=endings)
    if script is not None:
        return {place: start_words(program, handover.vetted.hand(script), handover.seals, apart=apart)}
    newcomer = handover.vetted.newcomer(word, endings=endings)
    if newcomer:
        raise Refused(f'"{newcomer}" was not there when the hook was checked')
    handover.seals.lasting = False  # it may be there the next time
    return {}


def _run_program(word: str, start: int, *, handover: Handover, apart: bool) -> dict[int, Words]:
    """Start a file the way the system would: as a program, by its `#!` line, or as a script for sh."""
    script = handover.vetted.find(word)
    if script is None:
        newcomer = handover.vetted.newcomer(word)
        if newcomer and _lies_in(newcomer, handover.foreign) and os.path.getsize(newcomer) <= LARGEST:
            raise Refused(f'"{newcomer}" was not there when the hook was checked')
        return {}
    if os.path.exists(script.path) and not os.access(script.path, os.X_OK):
        raise Refused(f'"{script.path}" may not be executed: chmod +x it, or name its interpreter first')
    handover.vetted.hand(script)
    seals = handover.seals
    if _is_native(script.content):
        return {start: ((seals.copied if apart else seals.opened)(script.content, script.name),)}
    line = interpreter_line(script.content) or ("sh",)
    return {
        start: (_interpreter(line[0], script, handover), *line[1:], *start_words(line[0], script, seals, apart=apart))
    }


def _lies_in(path: str, folders: tuple[str, ...]) -> bool:
    return inside(path, folders) or inside(os.path.realpath(path), folders)


def _is_native(content: bytes) -> bool:
    """Tell a program from a script, as shells do: by a NUL in the first line."""
    return b"\0" in content.partition(b"\n")[0][:256]


def _interpreter(name: str, script: Script, handover: Handover) -> str:
    if "/" not in name:
        return _found(name, handover)
    own = handover.vetted.find(name)
    if own is None:
        return name
    if not _is_native(own.content):
        raise Refused(f'the interpreter of "{script.path}" is itself a script of the project: name a program there')
    return handover.seals.opened(handover.vetted.hand(own).content, own.name)


def _found(name: str, handover: Handover) -> str:
    program = handover.find(name)
    if not program:
        raise Refused(f'program "{name}" not found on PATH')
    return program


def seal_argv(argv: tuple[str, ...], handover: Handover) -> tuple[str, tuple[str, ...]]:
    """Give the program to start, empty for the one that is named, and its words.

    Raises:
        Refused: As `seal_words`.
    """
    replaced = seal_words(argv, handover)
    words = [
        text if text is not None else word for place, word in enumerate(argv) for text in replaced.get(place, (word,))
    ]
    if 0 not in replaced:
        return "", tuple(words)
    # a program is called by the name it was given, an interpreter by its own name
    return words[0], (argv[0] if len(replaced[0]) == 1 else words[0], *words[1:])


class _Reading(Struct, frozen=True):
    """What is known of a line before it runs: its parts, the folders it enters, the variables nobody changes."""

    line: Line
    entered: tuple[str | None, ...]
    fixed: bool
    assigned: frozenset[str]


@lru_cache(maxsize=256)
def _read(text: str) -> _Reading | None:
    try:
        line = read(text, ())
    except TemplateError:
        return None
    heads = [(command.words[0].literal or "") if command.words else "" for command in line.commands]
    entering = [command for command, head in zip(line.commands, heads, strict=True) if head in _ENTERING]
    fixed = not line.functions and all(
        command.shape is Shape.SIMPLE and head not in _CHANGING
        for command, head in zip(line.commands, heads, strict=True)
    )
    assigned = {
        found[1]
        for command in line.commands
        for word in command.assignments
        if (found := ASSIGNMENT.match(text, word.start))
    }
    entered = tuple(_target(text, command) for command in entering)
    return _Reading(line, entered, fixed, frozenset(assigned | ({"PWD", "OLDPWD"} if entering else set())))


def _target(text: str, command: Command) -> str | None:
    """Give the folder a `cd` names, as it is written; None for the last one, the home, or one from a stack."""
    last = command.words[-1]
    written = text[last.start : last.end]
    return None if len(command.words) == 1 or written.startswith(("-", "+")) else written


def _known(reading: _Reading, variable: Variable) -> Variable:
    """Leave out the variables that the line itself may set."""

    def known(name: str) -> str | None:
        return variable(name) if reading.fixed and name not in reading.assigned else None

    return known


def entered_folders(text: str, variable: Variable) -> tuple[str | None, ...]:
    """Name the folders a line changes into; None stands for one that is known only when it runs."""
    reading = _read(text)
    if reading is None:
        return ()
    known = _known(reading, variable)
    return tuple(word if word is None else expand(word, known) for word in reading.entered)


def simple_words(text: str, variable: Variable) -> tuple[str, ...] | None:
    """Give the words of a line that is one program and its arguments; None when a shell has more to do."""
    reading = _read(text)
    if reading is None or len(reading.line.commands) != 1 or not reading.fixed:
        return None
    (command,) = reading.line.commands
    if command.redirects or command.assignments or not _is_all(text, command.words):
        return None
    words: list[str] = []
    for word in command.words:
        expanded = expand(text[word.start : word.end], variable)
        if expanded is None:
            return None
        words.append(expanded)
    name = stem(words[0])
    known = "/" in words[0] or name in STARTED or (name in WRAPPERS and name not in _BUILT_IN)
    return tuple(words) if known else None


def _is_all(text: str, words: Sequence[Word]) -> bool:
    """Say whether there is nothing but these words in a line: no `!`, no `( )`, no `&`."""
    end = 0
    for word in words:
        if text[end : word.start].strip(_BLANK):
            return False
        end = word.end
    return not text[end:].strip(_BLANK)


def seal_line(text: str, handover: Handover) -> str:
    """Give the line with the names of vetted files replaced wherever they can be known.

    Raises:
        Refused: As `seal_words`.
    """
    reading = _read(text)
    if reading is None:
        return text
    known = _known(reading, handover.variable)
    changes: list[tuple[int, int, str]] = []
    for command in reading.line.commands:
        changes += _changes(text, command, variable=known, handover=handover)
    for start, end, new in sorted(changes, reverse=True):
        text = f"{text[:start]}{new}{text[end:]}"
    return text


def _changes(text: str, command: Command, *, variable: Variable, handover: Handover) -> Iterator[tuple[int, int, str]]:
    spans = [(word.start, word.end) for word in command.words]
    words = [expand(text[word.start : word.end], variable) for word in command.words]
    if words and command.shape is Shape.SIMPLE:
        for place, new in seal_words(words, handover).items():
            start, end = spans[place]
            yield start, end, " ".join(text[start:end] if part is None else quote(part) for part in new)
    for redirect in command.redirects:
        target = redirect.target
        word = expand(text[target.start : target.end], variable) if redirect.operator == "<" else None
        found = handover.vetted.find(word) if word else None
        if found is not None:
            path = handover.seals.opened(handover.vetted.hand(found).content, found.name)
            yield target.start, target.end, quote(path)


def describe(vetted: Vetted) -> str:
    """Say in words what is sealed and what is not."""
    sentences = []
    if vetted.handed:
        sentences.append(f"runs from the bytes that were checked: {', '.join(sorted(vetted.handed))}")
    if vetted.rest():
        names = ", ".join(sorted(vetted.rest()))
        sentences.append(f"runs from where it lies, compared before and after each run: {names}")
    return "; ".join(sentences) or "no file of its own"
