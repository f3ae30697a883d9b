"""What a hook would start: its program, its script or its module, and whether they are there."""

import ast
import difflib
import os
import re
import shlex
import shutil
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.model.hook import Hook

# Programs whose first argument is a script, unless one of these options hands them code or a module.
_INTERPRETER: Final = re.compile(r"(?:(?:ba|da|z|k)?sh|python[\d.]*|node|nodejs|deno|bun|ruby|perl|php)(?:\.exe)?")
_CODE: Final = frozenset({"-c", "-e", "-m", "-p", "--eval", "--print"})
# A line with any of these has to be read by a shell before anybody can say what it names.
_SHELL_SYNTAX: Final = re.compile(r"[;&|`$(){}\[\]<>*?~#=\n]")
_SHEBANG: Final = b"#!"
_LONGEST_LINE: Final = 512

# A module that has one of these may have any name.
_IS_OPEN: Final = frozenset({"*", "__getattr__", "globals", "exec", "vars", "setattr"})

# One that is longer was hardly written by hand, and takes long to read.
_LONGEST_MODULE: Final = 1_000_000

_EXECUTABLE: Final = "chmod +x it, or name its interpreter first"
_FIRST_LINE: Final = "does not exist, which is named in the first line of"


class Program(Struct, frozen=True, kw_only=True):
    """The program and the script a hook starts, as far as can be told; `trouble` says what is not there."""

    program: str = ""
    script: str = ""
    trouble: str = ""


def find_program(hook: Hook, *, shell: bool, cwd: str) -> Program:
    """Look for what a command hook would start from this folder; other kinds start nothing."""
    if hook.kind != "command":
        return Program()
    folder = _folder(hook, cwd)
    if not os.path.isdir(folder):  # noqa: PTH112 - does not raise, whatever the text is
        return Program(trouble=f"there is no folder {folder} to run in")
    words = _words(hook, shell=shell)
    if not words:
        return Program()
    program = shutil.which(words[0]) if "/" not in words[0] else os.path.join(folder, words[0])  # noqa: PTH118 - words of strangers
    if program is None:
        # what no PATH knows may be built into the shell
        return Program() if shell else Program(trouble=f'program "{words[0]}" not found on PATH')
    script = _script(words, folder)
    return Program(program=program, script=script, trouble=_trouble(program, script))


def find_module(hook: Hook, path: str) -> Program:
    """Look at the module a Python hook calls, of which `path` is the file; without one it has to be installed.

    Nothing is imported: the code may be somebody's whom nobody trusts yet.
    """
    if path:
        return Program(script=path, trouble=_module_trouble(hook, path))
    name = hook.module.partition(".")[0]
    if name in sys.stdlib_module_names or PathFinder.find_spec(name) is not None:
        return Program()
    return Program(
        trouble=f'module "{hook.module}" is neither beside {hook.source_path or "the program"} nor installed'
    )


def _module_trouble(hook: Hook, path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as below
            raw = file.read(_LONGEST_MODULE + 1)
        if len(raw) > _LONGEST_MODULE:
            return ""
        tree = ast.parse(raw)
    except SyntaxError as problem:
        return f"{path}:{problem.lineno or 1}: {problem.msg}"
    except (OSError, ValueError, RecursionError, MemoryError):
        return f"{path} cannot be read as Python"
    name = hook.function.partition(".")[0]
    if not name or name in _names(tree) or _IS_OPEN & _names(tree):
        return ""
    near = difflib.get_close_matches(name, sorted(_names(tree)), n=1)
    return f'{path} has no "{name}"' + (f' (did you mean "{near[0]}"?)' if near else "")


def _names(tree: ast.Module) -> set[str]:
    """Give every name that a module may have, wherever in it something is bound to one."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
    return found


def _folder(hook: Hook, cwd: str) -> str:
    folder = os.path.expanduser(hook.working_directory)  # noqa: PTH111 - does not raise for an unknown person
    return os.path.join(cwd or str(Path.cwd()), folder)  # noqa: PTH118 - the same


def _words(hook: Hook, *, shell: bool) -> list[str]:
    if hook.args:
        return [hook.command, *hook.args]
    if shell and _SHELL_SYNTAX.search(hook.command):
        return []
    try:
        return shlex.split(hook.command)
    except ValueError:
        return []


def _script(words: list[str], folder: str) -> str:
    """Give the script an interpreter is told to run; empty where it is told something else."""
    name = words[0].rpartition("/")[2]
    if not _INTERPRETER.fullmatch(name):
        return ""
    for word in words[1:]:
        if word in _CODE:
            return ""
        if not word.startswith("-"):
            return os.path.join(folder, word)  # noqa: PTH118 - words of strangers
    return ""


def _trouble(program: str, script: str) -> str:
    # unlike the methods of a path, these do not raise, whatever the text is
    exists, is_folder, is_file = os.path.exists, os.path.isdir, os.path.isfile
    interpreter = _interpreter(program) if is_file(program) else ""
    objections = (
        (not exists(program), f"program {program} does not exist"),
        (is_folder(program), f"program {program} is a folder"),
        (not is_file(program), f"program {program} is no file"),
        (not _may(program, os.X_OK), f"program {program} may not be executed: {_EXECUTABLE}"),
        (bool(interpreter) and shutil.which(interpreter) is None, f'"{interpreter}" {_FIRST_LINE} {program}'),
        (bool(script) and not exists(script), f"script {script} does not exist"),
        (is_folder(script), f"script {script} is a folder"),
        (bool(script) and not _may(script, os.R_OK), f"script {script} may not be read"),
    )
    return next((text for applies, text in objections if applies), "")


def _may(path: str, mode: int) -> bool:
    try:
        return os.access(path, mode)
    except ValueError:
        return False


def _interpreter(program: str) -> str:
    """Give the program that the first line of a script names; of `/usr/bin/env X` that is X."""
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
