"""List the files that a script loads or starts, as far as its text says so.

The text is parsed and never run: Python with `ast`, shell scripts and Makefiles with the shell package, JavaScript by its
quoted paths. A name that a script computes at run time is a doubt, which the approval screen shows, and needs `includes`.
"""
# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH122, PTH208 - called for every script before each run

import ast
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from os.path import basename, dirname, isfile, join, normpath, splitext
from typing import Final

from msgspec import Struct

from hookline.shell.reader import parse_script
from hookline.shell.walk import walk_commands
from hookline.trust.files_and_programs import LONGEST_SHEBANG, parse_shebang
from hookline.trust.reachability import Started, list_started

_LONGEST: Final = 1_048_576

Look = Callable[[str], None]

# the functions that import by a name, and those that run a file
_IMPORTING: Final = frozenset({"__import__", "import_module", "find_spec", "run_module", "reload", "lazy_import"})
_LOADING: Final = frozenset({"exec", "eval", "compile", "execfile", "run_path", "exec_module", "load_module"})
_SCRIPT: Final = re.compile(r"(?:\.{1,2}/|/)?[\w./ +@-]+\.(?:py|pyc|sh|bash|js|mjs|cjs|ts|rb|pl|so)|\.{1,2}/[\w./+@-]+")
_IDENTIFIER: Final = re.compile(r"[^\W\d][\w.]*")
_MOST_WORDS: Final = 5_000
# any quoted text that is a path, loaded or not
_QUOTED: Final = re.compile(r"""(?=["'`](\.{1,2}(?:/[^"'`\n]*)?|/[^"'`\n]+)["'`])""")
_DYNAMIC: Final = re.compile(
    r"""\b(?:require|import)\s*\(\s*(?!["'`])\S|\b(?:require|import)\s*\(\s*`[^`]*\$\{|\beval\s*\("""
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]+)\}|(.))")
_ASSIGNED: Final = re.compile(r"^(?:export[ \t]+|override[ \t]+)?([\w.-]+)[ \t]*(?:::?:?|\?|\+|!)?=[ \t]*(.*)$")
_INCLUDED: Final = re.compile(r"^[ ]*-?s?include[ \t]+(.+)$")
_MAKE_VARIABLE: Final = re.compile(r"\$[({]([\w.-]+)[)}]|\$(\w)")
_FILE: Final = "\0"
_NODE_ENDINGS: Final = ("", ".js", ".mjs", ".cjs", ".json", ".ts", "/index.js", "/package.json")


# modules that Python imports when it starts
_AT_START: Final = frozenset({"sitecustomize", "usercustomize"})


class ImportContext(Struct, frozen=True):
    """Where a script finds what it loads: the folder of the script that was started, and the working directory.

    `imports` are the folders of Python's module path.
    """

    start: str
    base: str
    imports: tuple[str, ...] = ()


def list_imports(path: str, content: bytes, context: ImportContext, look: Look) -> Iterator[str]:
    """Yield the files that a script may load, whether they exist or not.

    `look` is called with every other path whose state decided about it.
    """
    language = _find_language(path, content) if len(content) <= _LONGEST else ""
    if not language:
        return iter(())
    return _LANGUAGES[language].list_files(path, _parse_names(language, content), context, look)


def list_doubts(path: str, content: bytes) -> list[str]:
    """Return why a script may load more than its text says."""
    language = _LANGUAGES.get(_find_language(path, content))
    if len(content) > _LONGEST or language is None or language.list_doubts is None:
        return []
    return list(dict.fromkeys(language.list_doubts(content.decode("utf-8", "replace"))))


@lru_cache(maxsize=256)
def _parse_names(language: str, content: bytes) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_LANGUAGES[language].list_names(content.decode("utf-8", "replace"))))


def _find_language(path: str, content: bytes) -> str:
    names = parse_shebang(content[:LONGEST_SHEBANG])
    program = basename(names[-1]).rstrip("0123456789.") if names else ""
    name, ending = basename(path), splitext(path)[1]
    found = _BY_NAME.get(name) or _BY_ENDING.get(ending) or _BY_PROGRAM.get(program, "")
    # a text without an ending and an interpreter line is run by a shell
    return found or ("" if ending or names or b"\0" in content else "sh")


def _parse_python(text: str) -> ast.Module | None:
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.parse(text)
    # a script for another version of Python may be no text of this one
    return None


def _python_names(text: str) -> Iterator[str]:
    """Yield dotted names as they are imported, with leading dots for folders upwards, and files behind a NUL."""
    tree = _parse_python(text)
    if tree is None:
        yield from _IDENTIFIER.findall(text)[:_MOST_WORDS]
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                start = "." * level + (f"{module}." if module else "")
                yield from (f"{start}{alias.name}" for alias in names)
            case ast.Constant(value=str() as text) if _SCRIPT.fullmatch(text):
                yield _FILE + text
            case ast.Call(args=[ast.Constant(value=str() as text), *_]) if _name_called(node) in _IMPORTING:
                yield text


def _name_called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _python_doubts(text: str) -> Iterator[str]:
    """Yield what a script loads by a name that is only known at run time."""
    tree = _parse_python(text)
    if tree is None:
        yield "cannot be read as Python"
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = _name_called(node)
        is_literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
        if (name in _IMPORTING and not is_literal) or name in _LOADING - {"compile"}:
            yield f"line {node.lineno} loads what {name}() is given"
        elif isinstance(node.func, ast.Attribute) and ast.unparse(node.func).startswith("sys.path."):
            yield f"line {node.lineno} changes sys.path"


def _python_files(path: str, names: Iterable[str], context: ImportContext, look: Look) -> Iterator[str]:
    listings: dict[str, dict[str, list[str]]] = {}

    def list_stems(folder: str) -> dict[str, list[str]]:
        if folder not in listings:
            look(folder)
            listings[folder] = _group_by_stem(folder)
        return listings[folder]

    for name in names:
        if name.startswith(_FILE):
            yield from (normpath(join(folder, name[1:])) for folder in dict.fromkeys((dirname(path), context.base)))
            continue
        bare = name.lstrip(".")
        dots = len(name) - len(bare)
        above = (normpath(join(dirname(path), *([".."] * (dots - 1)))),)
        for folder in dict.fromkeys(above if dots else (context.start, dirname(path), *context.imports)):
            place = folder
            for part in bare.split("."):
                yield from list_stems(place).get(part, ())
                place = join(place, part)
                yield from list_stems(place).get("__init__", ())
    # the standard library imports its own modules, and would find these beside the script first
    yield from (
        file for stem, files in list_stems(context.start).items() if stem in sys.stdlib_module_names for file in files
    )


def list_stand_ins(folder: str, look: Look) -> Iterator[str]:
    """Yield the files in a folder that Python would load instead of standard modules, if it looks for modules there."""
    look(folder)
    for stem, files in _group_by_stem(folder).items():
        if stem in sys.stdlib_module_names or stem in _AT_START:
            yield from files
            look(join(folder, stem))
            yield from _group_by_stem(join(folder, stem)).get("__init__", ())


def _group_by_stem(folder: str) -> dict[str, list[str]]:
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError):
        return {}
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition(".")[0], []).append(join(folder, name))
    return found


def _node_files(path: str, names: Iterable[str], _context: ImportContext, look: Look) -> Iterator[str]:
    for name in names:
        place = normpath(join(dirname(path), name))
        for file in (f"{place}{ending}" for ending in _NODE_ENDINGS):
            look(file)
            if isfile(file):
                yield file


def _node_names(text: str) -> Iterator[str]:
    """Yield every quoted text that is a path, whatever loads it."""

    def unescape(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        return chr(min(int(code, 16), sys.maxunicode)) if code else found[4]

    yield from (_ESCAPE.sub(unescape, found) for found in _QUOTED.findall(text))


def _node_doubts(text: str) -> Iterator[str]:
    for found in _DYNAMIC.finditer(text):
        yield f"line {text.count(chr(10), 0, found.start()) + 1} loads what is only known when it runs"


def _make_names(text: str) -> Iterator[str]:
    """Yield the files that a Makefile includes, its shell, and what its recipes start."""
    variables = {"MAKE": "make"}
    recipes: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            recipes.append(_fill_variables(line.lstrip("\t @+-"), variables).replace("$$", "$"))
        elif included := _INCLUDED.match(line):
            yield from _fill_variables(included[1], variables).split()
        elif assigned := _ASSIGNED.match(line):
            variables[assigned[1]] = _fill_variables(assigned[2].partition(" #")[0].strip(), variables)
    if "SHELL" in variables:
        yield from variables["SHELL"].split()[:1]
    yield from _shell_names("\n".join(recipes))


def _fill_variables(text: str, variables: Mapping[str, str]) -> str:
    return _MAKE_VARIABLE.sub(lambda found: variables.get(found[1] or found[2], f"${found[1] or found[2]}"), text)


def _shell_names(text: str) -> Iterator[str]:
    """Yield the files that a shell script starts or sources, as they are written."""
    started = _walk(text)
    yield from (*started.files, *started.operands)


def _walk(text: str) -> Started:
    return list_started([walk_commands(parse_script(text))], "", is_line=True)


def _package_names(text: str) -> Iterator[str]:
    """Yield the files that the scripts of a package.json run, and the main file of the package."""
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    for line in scripts.values() if isinstance(scripts, dict) else ():
        yield from _shell_names(line) if isinstance(line, str) else ()
    main = package.get("main") if isinstance(package, dict) else None
    if isinstance(main, str):
        yield from (main, f"{main}.js", f"{main}/index.js")


def _shell_files(path: str, names: Iterable[str], context: ImportContext, _look: Look) -> Iterator[str]:
    for name in names:
        # counted from the folder of the script, or from the working directory
        yield normpath(join(dirname(path), name))
        yield normpath(join(context.base, name))


class _ScriptLanguage(Struct, frozen=True):
    """How names are found in a text, which files they mean, and why there may be more."""

    list_names: Callable[[str], Iterable[str]]
    list_files: Callable[[str, Iterable[str], ImportContext, Look], Iterator[str]]
    list_doubts: Callable[[str], Iterable[str]] | None = None


_LANGUAGES: Final[Mapping[str, _ScriptLanguage]] = {
    "python": _ScriptLanguage(_python_names, _python_files, _python_doubts),
    "node": _ScriptLanguage(_node_names, _node_files, _node_doubts),
    "sh": _ScriptLanguage(_shell_names, _shell_files, lambda text: _walk(text).doubts),
    "make": _ScriptLanguage(_make_names, _shell_files),
    "package": _ScriptLanguage(_package_names, _shell_files),
}
_BY_NAME: Final = {
    **dict.fromkeys(("GNUmakefile", "makefile", "Makefile", "justfile", "Justfile", ".justfile"), "make"),
    "package.json": "package",
}
_BY_ENDING: Final = {
    ".mk": "make",
    ".py": "python",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts"), "node"),
    **dict.fromkeys((".sh", ".bash"), "sh"),
}
_BY_PROGRAM: Final = {
    "python": "python",
    **dict.fromkeys(("node", "nodejs", "bun", "deno"), "node"),
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), "sh"),
}
