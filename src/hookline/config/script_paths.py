"""Make relative script paths absolute, so that they do not depend on the agent's working directory."""

import os
import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from hookline import caller_context
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


def anchor_scripts(
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
    places = (
        [str(Path(folders[0], caller_context.expand_home(hook.working_directory))), *folders]
        if hook.working_directory
        else folders
    )
    program, *args = words
    known = asked if asked is not None else {}

    def find(word: str) -> str:
        """Return the first file of this name; empty when there is none."""
        for path in (_join_path(folder, word) for folder in places):
            # unlike the method of a path, this one does not raise, whatever the word is
            known[path] = os.path.isfile(path)  # noqa: PTH113
            if known[path]:
                return path
        return ""

    found = [program]
    if "/" in program and not program.startswith(("/", "~")) and not Path(program).is_absolute():
        found = [find(program) or _join_path(places[0], program)]
    name = program.rpartition("/")[2]
    code_flags = next((flags for pattern, flags in _INTERPRETERS if pattern.fullmatch(name)), None)
    for place, word in enumerate(args):
        if code_flags is None or word in code_flags:
            found += args[place:]
            break
        found.append(word if word.startswith(("-", "/")) else find(word) or word)
    if found == words:
        return hook
    return replace(hook, command=quote_program(found[0], found[1:]), args=tuple(found[1:]))


def script_folders(path: str, *, layer: Layer, root: str) -> tuple[str, str]:
    """Return where the scripts of a configuration are looked for, in order.

    An agent's commands run in the project; a user's own scripts lie beside their configuration.
    """
    beside = path.rpartition("/")[0]
    return (root, beside) if layer is Layer.PROJECT or layer is Layer.LOCAL else (beside, root)


def quote_program(program: str, args: Sequence[str]) -> str:
    """Return the `command` of a hook that runs this program: alone, it is read as a line, so it is quoted as one."""
    return program if args or _words(program) == [program] else shlex.quote(program)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        # unbalanced quotes are reported when the command runs
        return []


def _join_path(folder: str, word: str) -> str:
    return os.path.normpath(f"{folder}/{word}")
