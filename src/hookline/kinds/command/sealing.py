"""Find the files in a command, and replace the names of approved ones by descriptors of their bytes.

A word whose value is known before the command runs is replaced. All other approved files are used in place, and compared
right before the start and right after the end.

Which scripts a command names also tells a hook that blocks from an interpreter that did not find its script:
`python3 missing.py` exits with 2, which many dialects read as a decision to block. A check before each start would cost
every run, so the check comes afterwards, and only when a run ended in a way that a missing script would explain.
"""
# runs before each start, where pathlib costs many times more
# ruff: noqa: PTH110, PTH112, PTH113, PTH118, PTH202

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from os.path import exists, isdir, isfile, join, normpath
from pathlib import Path
from shlex import quote
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from hookline import caller_context
from hookline.model.exchange import Failure, FailureKind, Reply, Sealed
from hookline.model.hook import Hook
from hookline.model.workspace_paths import is_inside_real
from hookline.process.bootstrap import (
    INTERPRETERS,
    ApprovedScript,
    LentDescriptors,
    Replacement,
    bootstrap_words,
    dynamic_script_index,
    inline_code_index,
    is_wrapper,
    parse_shebang,
    program_stem,
    script_index,
    split_names,
    wrapped_indexes,
)
from hookline.process.environment import get_variable
from hookline.process.result import EXIT_NOT_FOUND, EXIT_NOT_STARTED
from hookline.process.spec import EXACT_NAME, ApprovedFileSet, ProcessSpec
from hookline.shell.expand import Variable, expand
from hookline.shell.script import Compound, SimpleCommand, Word, find_nodes

FindProgram = Callable[[str], str]
"""Returns the path of a program, or ""."""

# They close inherited descriptors.
_CLOSE_DESCRIPTORS: Final = split_names("sudo doas su runuser systemd-run")
# They run a script in their own way, or on another machine, where our descriptors do not exist.
_RUNNERS: Final = split_names("uv poetry pipenv hatch pdm rye npm pnpm yarn bundle pipx npx bunx uvx pnpx")
_REMOTE: Final = split_names("docker podman nerdctl kubectl oc ssh rsh mosh adb")
# They read bytes from anywhere; all others may look at the name of a file.
_READERS: Final = split_names(
    "cat jq yq gojq jaq awk gawk mawk sed grep egrep fgrep head tail sort uniq wc cut diff cmp sha256sum test [ . source"
)
_BUILT_IN: Final = split_names("exec command builtin time")
_SET_VARIABLES: Final = split_names(
    "declare typeset local export readonly read mapfile readarray unset getopts wait eval . source set alias"
)
# options of wrappers that change the folder of relative names
_CHDIR_OPTIONS: Final = ("-C", "-D", "--chdir")
_CHANGE_FOLDER: Final = split_names("cd pushd popd")
_NODE_SUFFIXES: Final = ("", ".js", ".json", ".node", "/index.js")
# They use the name of a file and not its content, or change the file itself.
_USE_NAMES: Final = (
    _CHANGE_FOLDER
    | split_names("echo printf logger notify-send : true false say wall")
    | split_names("chmod chown touch rm mv cp ln ls stat git mkdir dirname basename realpath readlink")
    | split_names("find fd tee truncate install rsync tar zip unzip patch ed du file")
)
_IN_PLACE_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "sed": ("-i", "--in-place"),
    "sort": ("-o", "--output"),
    "yq": ("-i", "--inplace"),
    "perl": ("-i", "-pi"),
}
_SOURCING: Final = split_names(". source")
_PROCESS_SUBSTITUTION: Final = ("<(", ">(")

# Of a larger program only the hash is known: it is used in place.
_LARGEST: Final = 16 * 1024 * 1024

_BLANK: Final = b" \t\n"
# compound commands whose parts run at most once, and see the variables of the line
_RUN_ONCE: Final = split_names("subshell group if while arithmetic")

# the exit codes of node and ruby, of python, perl and sh, and of bash
_POSSIBLE_CODES: Final = frozenset({1, 2, 126, 127})
# Not every bash reports it in English, but its exit codes 126 and 127 do not block anyway.
_MISSING_TEXT: Final = re.compile(rb"No such file|[Cc]an(?:'|no)t (?:open|find)|not found|[Pp]ermission denied")
_HANDLED: Final = re.compile(r"\|\||\b(?:exit|return|trap|if|while|until|case)\b|!")


class SealingRefusedError(Exception):
    """The command may not run; the message is the reason."""


class SealContext(Struct, frozen=True):
    """The approved files of a command, what is lent to its process, and how to find programs and variables.

    In `untrusted_dirs`, only approved files run. `argv0` maps the descriptors of interpreters to the names they are called
    by.
    """

    approved: ApprovedFileSet
    lent: LentDescriptors
    find: FindProgram
    variable: Variable
    untrusted_dirs: tuple[str, ...] = ()
    argv0: dict[str, str] = field(default_factory=dict)


class SealedCommand(Struct, frozen=True, kw_only=True):
    """A command whose approved files were replaced by descriptors of their bytes; `contents` are in `descriptors`."""

    files: Sealed
    contents: tuple[bytes, ...]
    descriptors: tuple[int, ...]
    spec: ProcessSpec
    approved: ApprovedFileSet


class PreparedCommand(Struct, kw_only=True):
    """What the calls of one hook have in common; valid as long as `key`, everything it was made of, stays equal.

    `sealed` is the last result of sealing it, valid for the same approved files until a call fails.
    """

    key: tuple[object, ...]
    spec: ProcessSpec
    sealed: SealedCommand | None = None

    @property
    def display_argv(self) -> tuple[str, ...]:
        """The words that a user knows the command by."""
        return self.spec.argv or ("sh", "-c", self.spec.script)


def engine_folder() -> str:
    """Return the working folder of this program, or "" where it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - Path.cwd() is ten times as slow, and this runs at each call
    except OSError:
        return ""


def run_folder(hook: Hook, cwd: str, engine_cwd: str) -> str:
    """Return the folder the hook runs in, or "" for that of this program."""
    folder = hook.working_directory
    if folder:
        with suppress(RuntimeError):  # there is no such home: reported as a folder that does not exist
            folder = caller_context.expand_home(folder)
        folder = str(Path(cwd, folder))
    folder = folder or cwd
    if folder and not folder.startswith("/"):
        folder = str(Path(engine_cwd, folder))
    return "" if folder == engine_cwd else folder


def shell_variable(spec: ProcessSpec, folder: str, name: str) -> str | None:
    """Return a variable as a shell that runs the command in this folder would see it."""
    return folder if name == "PWD" else get_variable(spec.env, name)


def seal_words(
    words: Sequence[str | None], context: SealContext, *, written: Sequence[str] = ()
) -> Mapping[int, Replacement]:
    """Return the words of a command that are replaced, by index; None among the words is known only at run time.

    `written` are the words as they stand in a shell line.

    Raises:
        SealingRefusedError: It would run a script that was not approved, or one that cannot be started.
    """
    approved, lent = context.approved, context.lent
    start, apart, operands = _unwrap(words, approved)
    program = words[start] or ""
    name = program_stem(program)
    if (
        name in _REMOTE | _RUNNERS
        or _uses_names(name, words[start:])
        or {program_stem(word or "") for word in words[:start]} & _REMOTE
    ):
        return {}
    folder = _wrapper_folder(words[:start])
    if folder is not None:
        _check_elsewhere(words, start, folder, approved=approved)
        lent.is_reusable = False  # a file that does not exist yet was not approved
        return {}
    replaced: dict[int, Replacement] = {}
    if "/" in program:
        # only the first word of all can be called by another name than the file it is executed from
        replaced = _run_program(program, start, context=context, apart=apart, exact=not start and not written)
    is_script = len(replaced.get(start, ())) > 1
    place = None if is_script else script_index(words[start:])
    inline = None if is_script else inline_code_index(words[start:])
    if inline is not None:
        replaced[start + inline] = (_seal_inline(words[start + inline] or "", context),)
    if place is not None:
        replaced |= _run_script(words, start, start + place, context=context, apart=apart)
    hand_over = lent.lend if name in _READERS and not apart else lent.lend_copy
    for other in operands:
        word = words[other]
        found = approved.find(word) if word and other not in replaced else None
        if found is not None:
            replaced[other] = (hand_over(approved.mark_lent(found).content, found.name),)
    if written:
        _check_dynamic(words, written, start=start, replaced=replaced, approved=approved)
    return replaced


def _uses_names(program: str, words: Sequence[str | None]) -> bool:
    """Return whether a program uses the names of files and not their content, or changes the files themselves."""
    options = _IN_PLACE_OPTIONS.get(program, ())
    return program in _USE_NAMES or any((word or "").startswith(options) for word in words[1:] if options)


def _wrapper_folder(wrappers: Sequence[str | None]) -> str | None:
    """Return the folder that a wrapper changes into before it starts its program, or None."""
    for place, word in enumerate(wrappers):
        option = next((option for option in _CHDIR_OPTIONS if word and word.startswith(option)), "")
        if option:
            given = (word or "")[len(option) :].removeprefix("=")
            return given or (wrappers[place + 1] if place + 1 < len(wrappers) else "") or ""
    return None


def _check_elsewhere(words: Sequence[str | None], start: int, folder: str, *, approved: ApprovedFileSet) -> None:
    """Refuse an unapproved file in a folder that only a wrapper changes into; approved ones are compared."""
    place = start if "/" in (words[start] or "") else start + (script_index(words[start:]) or 0)
    word = words[place] or ""
    unapproved = approved.find_unapproved(f"{folder}/{word}") if place > start or "/" in word else ""
    if unapproved and not word.startswith("/"):
        raise SealingRefusedError(
            f'"{unapproved}" was not checked, because only {words[0]} enters its folder: write cd {folder} && … instead'
        )


def _check_dynamic(
    words: Sequence[str | None],
    written: Sequence[str],
    *,
    start: int,
    replaced: Mapping[int, Replacement],
    approved: ApprovedFileSet,
) -> None:
    """Refuse a script whose name is known only at run time, unless it is one of the approved files, which are then compared."""
    place = start
    if words[start] is not None:
        found = dynamic_script_index(words[start:])
        place = -1 if found is None else start + found
    if place < 0 or written[place].startswith(_PROCESS_SUBSTITUTION) or (place == start and len(replaced) > 0):
        return
    if not approved.mark_dynamic(written[place]):
        raise SealingRefusedError(
            f"{written[place]} is known only when it runs, so it was not checked: write the name out, or add the file"
            " to includes"
        )


def _seal_inline(line: str, context: SealContext) -> str:
    # names would be relative to a folder that the inner line changes into
    return line if entered_folders(line, context.variable) else seal_line(line, context)


def _unwrap(words: Sequence[str | None], approved: ApprovedFileSet) -> tuple[int, bool, Sequence[int]]:
    """Return the index of the program behind `env`, `timeout 5` and the like, and the indexes of its arguments.

    Between them: whether it does without descriptors of ours.
    """
    start, apart = 0, False
    operands: Sequence[int] = range(1, len(words))
    while words[start] and is_wrapper(words[start] or ""):
        wrapper = program_stem(words[start] or "")
        operands = wrapped_indexes(words, start)
        known = None if wrapper in _RUNNERS else approved
        inner = next((place for place in operands if _is_program(words[place], known)), None)
        if inner is None:
            break
        apart = apart or wrapper in _CLOSE_DESCRIPTORS
        start, operands = inner, range(inner + 1, len(words))
    return start, apart, operands


def _is_program(word: str | None, approved: ApprovedFileSet | None) -> bool:
    if not word:
        return False
    known = program_stem(word) in INTERPRETERS or is_wrapper(word) or word in _SOURCING
    return known or (approved is not None and approved.find(word) is not None)


def _run_script(
    words: Sequence[str | None], start: int, place: int, *, context: SealContext, apart: bool
) -> dict[int, Replacement]:
    program, word = words[start] or "", words[place]
    if word is None:
        return {}
    endings = _script_suffixes(program)
    script = context.approved.find(word, endings=endings)
    if script is not None:
        new = bootstrap_words(program, context.approved.mark_lent(script), context.lent, as_copy=apart)
        # the bootstrap may add options, which must not follow a "--"
        return {place: new, **({place - 1: ()} if words[place - 1] in {"--", "-"} else {})}
    _refuse_unapproved(word, context, endings=endings)
    context.lent.is_reusable = False  # it may be there the next time
    return {}


def _script_suffixes(program: str) -> Sequence[str]:
    return _NODE_SUFFIXES if program_stem(program) in {"node", "nodejs"} else EXACT_NAME


def _run_program(word: str, start: int, *, context: SealContext, apart: bool, exact: bool) -> dict[int, Replacement]:
    """Start a file as the system would: as a program, by its `#!` line, or as a script for sh.

    With `exact`, it can be called by its own name, which an interpreter needs to find the files around it.
    """
    script = context.approved.find(word)
    if script is None:
        _refuse_unapproved(word, context)
        return {}
    if os.path.exists(script.path) and not os.access(script.path, os.X_OK):
        raise SealingRefusedError(f'"{script.path}" may not be executed: chmod +x it, or name its interpreter first')
    lent, is_native = context.lent, _is_native(script.content)
    if is_native and program_stem(word) in INTERPRETERS and not exact:
        return {}
    context.approved.mark_lent(script)
    if is_native:
        return {start: ((lent.lend_copy if apart else lent.lend)(script.content, script.name),)}
    line = parse_shebang(script.content) or ("sh",)
    interpreter = _interpreter(line[0], script, context, exact=exact)
    return {start: (interpreter, *line[1:], *bootstrap_words(line[0], script, lent, as_copy=apart))}


def _refuse_unapproved(word: str, context: SealContext, *, endings: Sequence[str] = EXACT_NAME) -> None:
    """Refuse a file of the project that appeared after the approval."""
    unapproved = context.approved.find_unapproved(word, endings=endings)
    if unapproved and is_inside_real(unapproved, context.untrusted_dirs) and os.path.getsize(unapproved) <= _LARGEST:
        raise SealingRefusedError(f'"{unapproved}" was not there when the hook was checked')
    if any(
        is_inside_real(path, context.untrusted_dirs) for path in context.approved.candidate_paths(word, endings=endings)
    ):
        context.lent.is_reusable = False  # it may be there the next time


def _is_native(content: bytes) -> bool:
    """Return whether a file is a program and not a script, as shells do: by a NUL in the first line."""
    return b"\0" in content.partition(b"\n")[0][:256]


def _interpreter(name: str, script: ApprovedScript, context: SealContext, *, exact: bool) -> str:
    if "/" not in name:
        if program := context.find(name):
            return program
        raise SealingRefusedError(f'program "{name}" not found on PATH')
    own = context.approved.find(name)
    if own is None:
        _refuse_unapproved(name, context)
        return name
    if not _is_native(own.content):
        raise SealingRefusedError(
            f'the interpreter of "{script.path}" is itself a script of the project: name a program there'
        )
    if not exact:
        return name
    place = context.lent.lend(context.approved.mark_lent(own).content, own.name)
    context.argv0[place] = name
    return place


def seal_argv(argv: tuple[str, ...], context: SealContext) -> tuple[str, tuple[str, ...]]:
    """Return the program to start, or "" for the one that is named, and its words.

    Raises:
        SealingRefusedError: As `seal_words`.
    """
    replaced = seal_words(argv, context)
    words = [
        text if text is not None else word for place, word in enumerate(argv) for text in replaced.get(place, (word,))
    ]
    if 0 not in replaced:
        return "", tuple(words)
    # a program is called by the name it was given, an interpreter by its own name
    name = argv[0] if len(replaced[0]) == 1 else context.argv0.get(words[0], words[0])
    return words[0], (name, *words[1:])


class _LineAnalysis(Struct, frozen=True):
    """What is known of a line before it runs: its commands, the folders it changes into, the variables it assigns.

    In a line that `is_fixed`, each command runs once, and a variable changes only by an assignment.
    """

    commands: tuple[SimpleCommand, ...]
    entered: tuple[str | None, ...]
    is_fixed: bool
    assigned: frozenset[str]


@lru_cache(maxsize=256)
def _analyse(text: str) -> _LineAnalysis | None:
    from hookline.shell.reader import parse_script  # noqa: PLC0415 - loads a grammar

    script = parse_script(text)
    if script.doubts:
        return None
    nodes = [_as_command(node) for node in find_nodes(script, in_place=True)]
    commands = tuple(node for node in nodes if isinstance(node, SimpleCommand))
    heads = [command.words[0].text if command.words else "" for command in commands]
    entering = [command for command, head in zip(commands, heads, strict=True) if head in _CHANGE_FOLDER]
    is_fixed = _SET_VARIABLES.isdisjoint(heads) and all(
        isinstance(node, SimpleCommand) or node.kind in _RUN_ONCE for node in nodes
    )
    assigned = {one.name.partition("[")[0] for command in commands for one in command.assignments}
    return _LineAnalysis(
        commands,
        tuple(map(_cd_target, entering)),
        is_fixed,
        frozenset(assigned | ({"PWD", "OLDPWD"} if entering else set())),
    )


def _as_command(node: SimpleCommand | Compound) -> SimpleCommand | Compound:
    """Return a command in which braces stand for one word; `[ … ]` is a command like others."""
    words = node.words
    if isinstance(node, Compound):
        if node.kind != "test" or node.text.startswith("[["):
            return node
        words = (Word("[", "[", node.start, node.start + 1), *words)
    spans = {word.start: word for word in reversed(words)}
    first = replace(node) if isinstance(node, SimpleCommand) else SimpleCommand(redirects=node.redirects)
    return replace(first, words=tuple(spans[start] for start in sorted(spans)))


def _cd_target(command: SimpleCommand) -> str | None:
    """Return the folder a `cd` names, as it is written; None for the last one, the home, or one from a stack."""
    written = command.words[-1].raw
    return None if len(command.words) == 1 or written.startswith(("-", "+")) else written


def _static_variables(analysis: _LineAnalysis, variable: Variable) -> Variable:
    """Return a lookup without the variables that the line itself may set."""

    def look_up(name: str) -> str | None:
        return variable(name) if analysis.is_fixed and name not in analysis.assigned else None

    return look_up


def entered_folders(text: str, variable: Variable) -> tuple[str | None, ...]:
    """Return the folders a line changes into; None stands for one that is known only at run time."""
    analysis = _analyse(text)
    if analysis is None:
        return ()
    known = _static_variables(analysis, variable)
    return tuple(word if word is None else expand(word, known) for word in analysis.entered)


def simple_words(text: str, variable: Variable) -> tuple[str, ...] | None:
    """Return the words of a line that is one program and its arguments, or None where it needs a shell."""
    analysis = _analyse(text)
    if analysis is None or len(analysis.commands) != 1 or not analysis.is_fixed:
        return None
    (command,) = analysis.commands
    if command.redirects or command.assignments or not _covers_line(text, command.words):
        return None
    words: list[str] = []
    for word in command.words:
        expanded = expand(word.raw, variable)
        if expanded is None:
            return None
        words.append(expanded)
    name = program_stem(words[0])
    known = "/" in words[0] or name in INTERPRETERS or (name not in _BUILT_IN and is_wrapper(name))
    return tuple(words) if known else None


def script_words(words: Sequence[str], text: str, variable: Variable) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the names of the scripts that interpreters run, each with the suffixes it may have.

    `text` is the line if it is one for a shell, and `words` are empty.
    """
    commands: list[Sequence[str | None]] = [words] if words else []
    analysis = None if words else _analyse(text)
    if analysis is not None:
        known = _static_variables(analysis, variable)
        commands += [
            [expand(word.raw, known) for word in command.words] for command in analysis.commands if command.words
        ]
    for command in commands:
        start = _unwrap(command, ApprovedFileSet({}, ""))[0]
        place, inline = script_index(command[start:]), inline_code_index(command[start:])
        inner = command[start + inline] or "" if inline is not None else ""
        if inner and not entered_folders(inner, variable):
            yield from script_words((), inner, variable)
        if place is not None and _wrapper_folder(command[:start]) is None:
            yield command[start + place] or "", _script_suffixes(command[start] or "")


def _covers_line(text: str, words: Sequence[Word]) -> bool:
    """Return whether there is nothing but these words in a line: no `!`, no `( )`, no `&`."""
    source, end = text.encode("utf-8", "surrogatepass"), 0
    for word in words:
        if source[end : word.start].strip(_BLANK):
            return False
        end = word.end
    return not source[end:].strip(_BLANK)


def seal_line(text: str, context: SealContext) -> str:
    """Return the line with the names of approved files replaced wherever they are known.

    Raises:
        SealingRefusedError: As `seal_words`.
    """
    analysis = _analyse(text)
    if analysis is None:
        return text
    known = _static_variables(analysis, context.variable)
    changes: list[tuple[int, int, str]] = []
    for command in analysis.commands:
        changes += _seal_command(command, variable=known, context=context)
    source = text.encode("utf-8", "surrogatepass")
    for start, end, new in sorted(changes, reverse=True):
        source = source[:start] + new.encode("utf-8", "surrogatepass") + source[end:]
    return source.decode("utf-8", "surrogatepass")


def _seal_command(
    command: SimpleCommand, *, variable: Variable, context: SealContext
) -> Iterator[tuple[int, int, str]]:
    words = [expand(word.raw, variable) for word in command.words]
    if words:
        written = [word.raw for word in command.words]
        for place, new in seal_words(words, context, written=written).items():
            word = command.words[place]
            yield word.start, word.end, " ".join(word.raw if part is None else quote(part) for part in new)
    for redirect in command.redirects:
        target = redirect.target
        name = expand(target.raw, variable) if target is not None and redirect.operator == "<" else None
        found = context.approved.find(name) if name else None
        if found is not None and target is not None:
            path = context.lent.lend(context.approved.mark_lent(found).content, found.name)
            yield target.start, target.end, quote(path)


def mark_missing_script(
    reply: Reply, words: Sequence[str], line: str, *, folder: str, variable: Variable, approved: Container[str]
) -> Reply:
    """Return the reply, as a failure if all it says is that a script is missing.

    `approved` are files that were lent as bytes: they were there, whatever has become of them.
    """
    if reply.failure is not None or reply.stdout:
        return reply
    if not reply.exit_code and not reply.stderr:
        return _mark_folder(reply, words, line, folder=folder, variable=variable)
    if reply.exit_code not in _POSSIBLE_CODES or not reply.stderr:
        return reply
    # a line that handles the error itself has the last word
    if _MISSING_TEXT.search(reply.stderr) is None or (not words and _HANDLED.search(line)):
        return reply
    folders = _folders(folder, () if words else entered_folders(line, variable))
    for word, endings in script_words(words, line, variable):
        # each interpreter names the script it cannot open
        if os.fsencode(word.rpartition("/")[2]) not in reply.stderr:
            continue
        places = ("/",) if word.startswith("/") else folders
        paths = [normpath(join(place, word + ending)) for place in places for ending in endings]
        if paths and not any(path in approved or os.access(path, os.R_OK) for path in paths):
            return _mark_unreadable(reply, paths)
    return reply


def _mark_folder(reply: Reply, words: Sequence[str], line: str, *, folder: str, variable: Variable) -> Reply:
    """Return the reply as a failure if its script is a folder: some shells read nothing there, and exit with 0."""
    entered = () if words else entered_folders(line, variable)
    if None in entered:
        return reply
    for word, _ in script_words(words, line, variable):
        paths = [normpath(join(place, word)) for place in _folders(folder, entered)] if word else []
        if paths and isdir(paths[-1]) and not any(isfile(path) for path in paths):
            failure = Failure(FailureKind.NOT_FOUND, f'script "{paths[-1]}" is a folder')
            return replace(reply, failure=failure, exit_code=EXIT_NOT_FOUND)
    return reply


def _folders(folder: str, entered: Sequence[str | None]) -> list[str]:
    """Return the folders a name may be relative to; none when the line enters one that is known only at run time."""
    if None in entered:
        return []
    return [folder, *(join(folder, name) for name in entered if name is not None)]


def _mark_unreadable(reply: Reply, paths: Sequence[str]) -> Reply:
    there = next((path for path in paths if exists(path)), "")
    if there:
        failure = Failure(FailureKind.REFUSED, f'script "{there}" may not be read by this user')
        return replace(reply, failure=failure, exit_code=EXIT_NOT_STARTED)
    failure = Failure(FailureKind.NOT_FOUND, f'script "{paths[0]}" does not exist')
    return replace(reply, failure=failure, exit_code=EXIT_NOT_FOUND)
