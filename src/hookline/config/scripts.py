"""Scripts beside a configuration: a relative path means the same file wherever the agent happens to work."""

import functools
import os
import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline import surroundings
from hookline.model.hook import Hook, Layer

# Programs whose arguments are scripts, with the options after which comes program text or the name of a
# module instead. `-e` is such an option everywhere but in a shell.
_INTERPRETERS: Final = (
    (re.compile(r"(?:ba|da|z|k)?sh"), frozenset({"-c"})),
    (
        re.compile(r"(?:python[\d.]*|node|nodejs|deno|bun|ruby|perl|php)(?:\.exe)?"),
        frozenset({"-c", "-e", "-m", "-p", "--eval", "--print"}),
    ),
)

_SIMPLE: Final = re.compile(r"[^\s'\"\\]+(?: [^\s'\"\\]+)*")


def anchored(
    hook: Hook, folders: Sequence[str], *, shell_dialects: Collection[str], asked: dict[str, bool] | None = None
) -> Hook:
    """Make relative script paths of a command without a shell absolute; a shell line is the shell's to read.

    A path is looked for in the hook's working directory and in the folders, in order. A program that is
    nowhere yet belongs to the first of them, so that the message about the missing file names the place
    where it was expected. `asked` gets every file that was looked for, and whether it was there.
    """
    line_by_default = hook.dialect in shell_dialects and not hook.args
    uses_shell = hook.shell if hook.shell is not None else line_by_default
    if hook.kind != "command" or uses_shell:
        return hook
    words = [hook.command, *hook.args] if hook.args else _words(hook.command)
    if not words:
        return hook
    places = [_working_directory(hook, folders[0]), *folders] if hook.working_directory else folders
    program, *args = words
    files = _Files(places, asked if asked is not None else {})
    found = [_program(program, files), *_arguments(program, args, files)]
    if found == words:
        return hook
    return replace(hook, command=command_of(found[0], found[1:]), args=tuple(found[1:]))


def folders_of(path: str, *, layer: Layer, root: str) -> tuple[str, str]:
    """Say where the scripts of a configuration are looked for, in order.

    An agent's commands run in the project; a person's own scripts lie beside their configuration.
    """
    beside = path.rpartition("/")[0]
    return (root, beside) if layer is Layer.PROJECT or layer is Layer.LOCAL else (beside, root)


def command_of(program: str, args: Sequence[str]) -> str:
    """Give the `command` of a hook that runs this program: alone, it is read as a line, so it is quoted as one."""
    return program if args or _words(program) == [program] else shlex.quote(program)


def _working_directory(hook: Hook, folder: str) -> str:
    return str(Path(folder, surroundings.expanded(hook.working_directory)))


def _words(line: str) -> list[str]:
    # most lines are words and spaces, and reading a line as a shell does takes its time
    if _SIMPLE.fullmatch(line):
        return line.split(" ")
    try:
        return shlex.split(line)
    except ValueError:
        # unbalanced quotes: whoever runs the command says so
        return []


class _Files:
    """The files in some folders, and which of them somebody asked for."""

    def __init__(self, folders: Sequence[str], asked: dict[str, bool]) -> None:
        self._folders = folders
        self._asked = asked

    def find(self, word: str) -> str:
        """Give the first file of this name; empty when there is none."""
        for folder in self._folders:
            path = _joined(folder, word)
            # unlike the method of a path, this one does not raise, whatever the word is
            found = self._asked[path] = os.path.isfile(path)  # noqa: PTH113
            if found:
                return path
        return ""

    def expected(self, word: str) -> str:
        """Say where a file would be that is nowhere."""
        return _joined(self._folders[0], word)


def _program(word: str, files: _Files) -> str:
    if "/" not in word or word.startswith(("/", "~")) or Path(word).is_absolute():
        return word
    return files.find(word) or files.expected(word)


@functools.lru_cache(maxsize=64)
def _code_flags(program: str) -> frozenset[str] | None:
    return next((flags for pattern, flags in _INTERPRETERS if pattern.fullmatch(program)), None)


def _arguments(program: str, args: list[str], files: _Files) -> list[str]:
    code_flags = _code_flags(program.rpartition("/")[2])
    if code_flags is None:
        return args
    found: list[str] = []
    for place, word in enumerate(args):
        if word in code_flags:
            return [*found, *args[place:]]
        found.append(word if word.startswith(("-", "/")) else files.find(word) or word)
    return found


def _joined(folder: str, word: str) -> str:
    return os.path.normpath(f"{folder}/{word}")
