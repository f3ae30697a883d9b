"""Find the vetted files in a command, and put their bytes in the place of their names.

What stands in a command as a word that can be known beforehand is handed over as bytes. All other vetted files keep
their place, and are compared right before the start and right after the end.
"""
# looked up before each run, where pathlib costs many times more
# ruff: noqa: PTH110, PTH202

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from shlex import quote
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

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
    unknown_place,
    wrapped_places,
)
from hookline.kinds._sealed import Seals
from hookline.kinds._vetted import AS_NAMED, Vetted
from hookline.kinds.shell.commands import read
from hookline.kinds.shell.line import Command, Line, Shape, TemplateError, Word
from hookline.kinds.shell.programs import DECLARERS, NAMES_ONLY, ONLY_SHOW, WRAPPERS
from hookline.kinds.shell.words import ASSIGNMENT
from hookline.model.workspace import lies_in

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
    ONLY_SHOW
    | _ENTERING
    | each("chmod chown touch rm mv cp ln ls stat git mkdir dirname basename realpath readlink")
    | each("find fd tee truncate install rsync tar zip unzip patch ed du file")
)
_WRITING: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"sed": ("-i", "--in-place"), "sort": ("-o", "--output"), "yq": ("-i", "--inplace"), "perl": ("-i", "-pi")}
)
_SOURCING: Final = each(". source")
_SUBSTITUTED: Final = ("<(", ">(")

# Of a larger program only the hash is known: it runs from where it lies.
LARGEST: Final = 16 * 1024 * 1024

_BLANK: Final = " \t\n"


class Refused(Exception):  # noqa: N818 - a decision, not an error
    """The command may not run, for the reason this says."""


class Handover(Struct, frozen=True):
    """Where files go while a command is made ready: what is vetted, what the child gets, how programs are found.

    `foreign` are the folders in which nothing runs that is not vetted; `called` are the names of programs that are
    executed from elsewhere.
    """

    vetted: Vetted
    seals: Seals
    find: FindProgram
    variable: Variable
    foreign: tuple[str, ...] = ()
    called: dict[str, str] = field(default_factory=dict)


def seal_words(words: Sequence[str | None], handover: Handover, *, written: Sequence[str] = ()) -> Mapping[int, Words]:
    """Say which words of a command are replaced, and by what; None among the words is known only when it runs.

    `written` are the words as they stand in the line, where that is something else.

    Raises:
        Refused: It would run a script that nobody has checked, or one that cannot be started.
    """
    vetted, seals = handover.vetted, handover.seals
    start, apart, operands = _unwrapped(words, vetted)
    program = words[start] or ""
    name = stem(program)
    if (
        name in _FAR | _RUNNING
        or _leaves_names(name, words[start:])
        or {stem(word or "") for word in words[:start]} & _FAR
    ):
        return {}
    folder = _entered_by(words[:start])
    if folder is not None:
        _check_elsewhere(words, start, folder, vetted=vetted)
        seals.lasting = False  # as long as the file is not there, nobody can check it
        return {}
    replaced: dict[int, Words] = {}
    if "/" in program:
        # only the first word of all can be called by another name than the file it is executed from
        replaced = _run_program(program, start, handover=handover, apart=apart, exact=not start and not written)
    is_script = len(replaced.get(start, ())) > 1
    place = None if is_script else script_place(words[start:])
    inline = None if is_script else inline_place(words[start:])
    if inline is not None:
        replaced[start + inline] = (_seal_inline(words[start + inline] or "", handover),)
    if place is not None:
        replaced |= _run_script(words, start, start + place, handover=handover, apart=apart)
    hand_over = seals.opened if name in _READING and not apart else seals.copied
    for other in operands:
        word = words[other]
        found = vetted.find(word) if word and other not in replaced else None
        if found is not None:
            replaced[other] = (hand_over(vetted.hand(found).content, found.name),)
    if written:
        _check_unknown(words, written, start=start, replaced=replaced, vetted=vetted)
    return replaced


def _leaves_names(program: str, words: Sequence[str | None]) -> bool:
    """Say whether a program uses the names of files and not what they hold, or changes the files themselves."""
    options = _WRITING.get(program, ())
    return program in _NAMING or any((word or "").startswith(options) for word in words[1:] if options)


def _entered_by(wrappers: Sequence[str | None]) -> str | None:
    """Give the folder that a wrapper enters before it starts its program; None when it stays."""
    for place, word in enumerate(wrappers):
        option = next((option for option in _ELSEWHERE if word and word.startswith(option)), "")
        if option:
            given = (word or "")[len(option) :].removeprefix("=")
            return given or (wrappers[place + 1] if place + 1 < len(wrappers) else "") or ""
    return None


def _check_elsewhere(words: Sequence[str | None], start: int, folder: str, *, vetted: Vetted) -> None:
    """See to it that what is named from a folder only a wrapper enters was checked; it is compared."""
    place = start if "/" in (words[start] or "") else start + (script_place(words[start:]) or 0)
    word = words[place] or ""
    newcomer = vetted.newcomer(f"{folder}/{word}") if place > start or "/" in word else ""
    if newcomer and not word.startswith("/"):
        raise Refused(
            f'"{newcomer}" was not checked, because only {words[0]} enters its folder: write cd {folder} && … instead'
        )


def _check_unknown(
    words: Sequence[str | None], written: Sequence[str], *, start: int, replaced: Mapping[int, Words], vetted: Vetted
) -> None:
    """See to it that a script whose name is made when it runs is one of the vetted files, which are then compared."""
    place = start
    if words[start] is not None:
        found = unknown_place(words[start:])
        place = -1 if found is None else start + found
    if place < 0 or written[place].startswith(_SUBSTITUTED) or (place == start and len(replaced) > 0):
        return
    if not vetted.await_name(written[place]):
        raise Refused(
            f"{written[place]} is known only when it runs, so it was not checked: write the name out, or add the file"
            " to includes"
        )


def _seal_inline(line: str, handover: Handover) -> str:
    # a folder it enters is not among those that names are counted from
    return line if entered_folders(line, handover.variable) else seal_line(line, handover)


def _unwrapped(words: Sequence[str | None], vetted: Vetted) -> tuple[int, bool, Sequence[int]]:
    """Find the program behind `env`, `timeout 5` and the like, and the places of its arguments.

    Says, too, whether it does without our descriptors.
    """
    start, apart = 0, False
    operands: Sequence[int] = range(1, len(words))
    while words[start] and stem(words[start] or "") in WRAPPERS:
        wrapper = stem(words[start] or "")
        operands = wrapped_places(words, start)
        known = None if wrapper in _RUNNING else vetted
        inner = next((place for place in operands if _is_program(words[place], known)), None)
        if inner is None:
            break
        apart = apart or wrapper in _CLOSING
        start, operands = inner, range(inner + 1, len(words))
    return start, apart, operands


def _is_program(word: str | None, vetted: Vetted | None) -> bool:
    if not word:
        return False
    known = stem(word) in STARTED or stem(word) in WRAPPERS or word in _SOURCING
    return known or (vetted is not None and vetted.find(word) is not None)


def _run_script(
    words: Sequence[str | None], start: int, place: int, *, handover: Handover, apart: bool
) -> dict[int, Words]:
    program, word = words[start] or "", words[place]
    if word is None:
        return {}
    endings = _endings(program)
    script = handover.vetted.find(word, endings=endings)
    if script is not None:
        new = start_words(program, handover.vetted.hand(script), handover.seals, apart=apart)
        # ours may be options, which would be none after a "--"
        return {place: new, **({place - 1: ()} if words[place - 1] in {"--", "-"} else {})}
    _refuse_newcomer(word, handover, endings=endings)
    handover.seals.lasting = False  # it may be there the next time
    return {}


def _endings(program: str) -> Sequence[str]:
    return _IMPLIED if stem(program) in {"node", "nodejs"} else AS_NAMED


def _run_program(word: str, start: int, *, handover: Handover, apart: bool, exact: bool) -> dict[int, Words]:
    """Start a file the way the system would: as a program, by its `#!` line, or as a script for sh.

    `exact` says that it can be called by its own name, which an interpreter needs to find what lies around it.
    """
    script = handover.vetted.find(word)
    if script is None:
        _refuse_newcomer(word, handover)
        return {}
    if os.path.exists(script.path) and not os.access(script.path, os.X_OK):
        raise Refused(f'"{script.path}" may not be executed: chmod +x it, or name its interpreter first')
    seals, is_native = handover.seals, _is_native(script.content)
    if is_native and stem(word) in STARTED and not exact:
        return {}
    handover.vetted.hand(script)
    if is_native:
        return {start: ((seals.copied if apart else seals.opened)(script.content, script.name),)}
    line = interpreter_line(script.content) or ("sh",)
    interpreter = _interpreter(line[0], script, handover, exact=exact)
    return {start: (interpreter, *line[1:], *start_words(line[0], script, seals, apart=apart))}


def _refuse_newcomer(word: str, handover: Handover, *, endings: Sequence[str] = AS_NAMED) -> None:
    """Let nothing of the project run that was not there when it was checked."""
    newcomer = handover.vetted.newcomer(word, endings=endings)
    if newcomer and lies_in(newcomer, handover.foreign) and os.path.getsize(newcomer) <= LARGEST:
        raise Refused(f'"{newcomer}" was not there when the hook was checked')
    if any(lies_in(path, handover.foreign) for path in handover.vetted.possible(word, endings=endings)):
        handover.seals.lasting = False  # it may be there the next time


def _is_native(content: bytes) -> bool:
    """Tell a program from a script, as shells do: by a NUL in the first line."""
    return b"\0" in content.partition(b"\n")[0][:256]


def _interpreter(name: str, script: Script, handover: Handover, *, exact: bool) -> str:
    if "/" not in name:
        return _found(name, handover)
    own = handover.vetted.find(name)
    if own is None:
        _refuse_newcomer(name, handover)
        return name
    if not _is_native(own.content):
        raise Refused(f'the interpreter of "{script.path}" is itself a script of the project: name a program there')
    if not exact:
        return name
    place = handover.seals.opened(handover.vetted.hand(own).content, own.name)
    handover.called[place] = name
    return place


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
    name = argv[0] if len(replaced[0]) == 1 else handover.called.get(words[0], words[0])
    return words[0], (name, *words[1:])


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


def script_words(words: Sequence[str], text: str, variable: Variable) -> Iterator[tuple[str, Sequence[str]]]:
    """Give the scripts that interpreters are to run, as they are named, each with the endings it may have.

    `text` is the line if it is one for a shell, and `words` are empty.
    """
    commands: list[Sequence[str | None]] = [words] if words else []
    reading = None if words else _read(text)
    if reading is not None:
        known = _known(reading, variable)
        commands += [
            [expand(text[word.start : word.end], known) for word in command.words]
            for command in reading.line.commands
            if command.words and command.shape is Shape.SIMPLE
        ]
    for command in commands:
        start = _unwrapped(command, Vetted({}, ""))[0]
        place, inline = script_place(command[start:]), inline_place(command[start:])
        inner = command[start + inline] or "" if inline is not None else ""
        if inner and not entered_folders(inner, variable):
            yield from script_words((), inner, variable)
        if place is not None and _entered_by(command[:start]) is None:
            yield command[start + place] or "", _endings(command[start] or "")


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
        written = [text[start:end] for start, end in spans]
        for place, new in seal_words(words, handover, written=written).items():
            start, end = spans[place]
            yield start, end, " ".join(text[start:end] if part is None else quote(part) for part in new)
    for redirect in command.redirects:
        target = redirect.target
        word = expand(text[target.start : target.end], variable) if redirect.operator == "<" else None
        found = handover.vetted.find(word) if word else None
        if found is not None:
            path = handover.seals.opened(handover.vetted.hand(found).content, found.name)
            yield target.start, target.end, quote(path)
