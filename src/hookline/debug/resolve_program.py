"""Find the program, script or module that a hook would start, and whether it exists."""

import ast
import os
import re
import shlex
import shutil
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.hook import Hook, Source
from hookline.text import suggest

# programs whose first argument is a script, unless one of the options in _CODE comes first
_INTERPRETER: Final = re.compile(r"(?:(?:ba|da|z|k)?sh|python[\d.]*|node|nodejs|deno|bun|ruby|perl|php)(?:\.exe)?")
_CODE: Final = frozenset({"-c", "-e", "-m", "-p", "--eval", "--print"})
# a line with any of these needs a shell to be resolved
_SHELL_SYNTAX: Final = re.compile(r"[;&|`$(){}\[\]<>*?~#=\n]")
_SHEBANG: Final = b"#!"
_LONGEST_LINE: Final = 512

# a module with one of these may define any name
_IS_OPEN: Final = frozenset({"*", "__getattr__", "globals", "exec", "vars", "setattr"})

# a longer module takes too long to parse
_LONGEST_MODULE: Final = 1_000_000

_EXECUTABLE: Final = "chmod +x it, or name its interpreter first"
_MISSING_SCRIPT: Final = "script {} does not exist"
_FIRST_LINE: Final = "does not exist, which is named in the first line of"


class ResolvedProgram(Struct, frozen=True, kw_only=True):
    """The program and the script of a hook, as far as known; `trouble` is why it cannot start."""

    program: str = ""
    script: str = ""
    trouble: str = ""


def find_program(hook: Hook, *, shell: bool, cwd: str) -> ResolvedProgram:
    """Find what a command hook would start in this folder; other kinds start nothing."""
    if hook.kind != "command":
        return ResolvedProgram()
    folder = os.path.expanduser(hook.working_directory)  # noqa: PTH111 - does not raise for an unknown person
    folder = os.path.join(cwd or str(Path.cwd()), folder)  # noqa: PTH118 - the same
    if not os.path.isdir(folder):  # noqa: PTH112 - does not raise, whatever the text is
        return ResolvedProgram(trouble=f"there is no folder {folder} to run in")
    words = [hook.command, *hook.args]
    if not hook.args:
        try:
            needs_shell = shell and _SHELL_SYNTAX.search(hook.command)
            words = [] if needs_shell else shlex.split(hook.command)
        except ValueError:
            words = []
    if not words:
        return ResolvedProgram()
    program = shutil.which(words[0]) if "/" not in words[0] else os.path.join(folder, words[0])  # noqa: PTH118 - words of strangers
    if program is None:
        # may be a builtin of the shell
        return ResolvedProgram() if shell else ResolvedProgram(trouble=f'program "{words[0]}" not found on PATH')
    script = _find_script(words, folder)
    trouble = _find_trouble(program, script)
    if trouble == _MISSING_SCRIPT.format(script) and script not in words and hook.source is Source.USER:
        # users expect it beside the file that names it
        beside = Path(hook.source_path).parent / os.path.relpath(script, folder)
        trouble = f"{_MISSING_SCRIPT.format(beside)}, nor is it in {folder.rstrip('/')}"
    return ResolvedProgram(program=program, script=script, trouble=trouble)


def find_module(hook: Hook, path: str) -> ResolvedProgram:
    """Check the module of a Python hook, whose file is `path`; without one it has to be installed.

    Nothing is imported: the code may be untrusted.
    """
    if path:
        return ResolvedProgram(script=path, trouble=_find_module_trouble(hook, path))
    name = hook.module.partition(".")[0]
    if name in sys.stdlib_module_names or PathFinder.find_spec(name) is not None:
        return ResolvedProgram()
    return ResolvedProgram(
        trouble=f'module "{hook.module}" is neither beside {hook.source_path or "the program"} nor installed'
    )


def _find_module_trouble(hook: Hook, path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as below
            raw = file.read(_LONGEST_MODULE + 1)
        if len(raw) > _LONGEST_MODULE:
            return ""
        names = _list_names(ast.parse(raw))
    except SyntaxError as problem:
        return f"{path}:{problem.lineno or 1}: {problem.msg}"
    except (OSError, ValueError, RecursionError, MemoryError):
        return f"{path} cannot be read as Python"
    name = hook.function.partition(".")[0]
    if not name or name in names or _IS_OPEN & names:
        return ""
    return f'{path} has no "{name}"{suggest(name, sorted(names))}'


def _list_names(tree: ast.Module) -> set[str]:
    """Return every name that is bound or used anywhere in a module."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
    return found


def _find_script(words: list[str], folder: str) -> str:
    """Return the script that an interpreter would run; empty if it runs something else."""
    name = words[0].rpartition("/")[2]
    if not _INTERPRETER.fullmatch(name):
        return ""
    for word in words[1:]:
        if word in _CODE:
            return ""
        if not word.startswith("-"):
            return os.path.join(folder, word)  # noqa: PTH118 - words of strangers
    return ""


def _find_trouble(program: str, script: str) -> str:
    # unlike the methods of Path, these never raise
    exists, is_folder, is_file = os.path.exists, os.path.isdir, os.path.isfile
    interpreter = _find_interpreter(program) if is_file(program) else ""
    objections = (
        (not exists(program), f"program {program} does not exist"),
        (is_folder(program), f"program {program} is a folder"),
        (not is_file(program), f"program {program} is no file"),
        (not _can_access(program, os.X_OK), f"program {program} may not be executed: {_EXECUTABLE}"),
        (bool(interpreter) and shutil.which(interpreter) is None, f'"{interpreter}" {_FIRST_LINE} {program}'),
        (bool(script) and not exists(script), _MISSING_SCRIPT.format(script)),
        (is_folder(script), f"script {script} is a folder"),
        (bool(script) and not _can_access(script, os.R_OK), f"script {script} may not be read"),
    )
    return next((text for applies, text in objections if applies), "")


def _can_access(path: str, mode: int) -> bool:
    try:
        return os.access(path, mode)
    except ValueError:
        return False


def _find_interpreter(program: str) -> str:
    """Return the interpreter in the first line of a script; X of `/usr/bin/env X`."""
    try:
        with open(program, "rb") as file:  # noqa: PTH123 - words of strangers
            line = file.readline(_LONGEST_LINE)
    except (OSError, ValueError):
        return ""
    if not line.startswith(_SHEBANG):
        return ""
    words = line.removeprefix(_SHEBANG).decode("utf-8", "replace").split()
    if words and words[0].rpartition("/")[2] == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else ""
