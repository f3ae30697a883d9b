"""The files beside a script that it loads by itself, as far as its text says so.

Read from the text with patterns, never by running it: what a script puts together when it runs stays unseen, and
is for `includes`.
"""
# asked before each run, where pathlib costs many times more
# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH122, PTH208

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from os.path import basename, dirname, isfile, join, normpath, splitext
from typing import Final

from msgspec import Struct

from hookline.core import lines
from hookline.core.programs import LONGEST_LINE, interpreters

_LONGEST: Final = 1_048_576

Look = Callable[[str], None]

_IMPORT: Final = re.compile(r"(?:^|[;:])[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM: Final = re.compile(
    r"(?:^|[;:])[ \t]*from[ \t]+(\.*)((?:\w[\w.]*)?)[ \t]+import[ \t]+(?:\(([^)]{0,4000})|([\w., \t]+|\*))",
    re.MULTILINE,
)
_CALLED: Final = re.compile(r"""\b(?:__import__|import_module)\(\s*["']([\w.]+)["']""")
_REQUIRED: Final = re.compile(r"""\b(?:from|import|require)\s*(?:\(\s*)?["'](\.[^"'\n]+)["']""")
_INCLUDED: Final = re.compile(r"^[ \t]*-?s?include[ \t]+([^#\n]+)", re.MULTILINE)
_MAKE_VARIABLE: Final = re.compile(r"\$[({]\w+[)}]")
_RECIPE: Final = re.compile(r"^[ \t]+[@+-]+", re.MULTILINE)
_NODE_ENDINGS: Final = ("", ".js", ".mjs", ".cjs", ".json", ".ts", "/index.js", "/package.json")


# Python looks for these by itself when it starts
_AT_START: Final = frozenset({"sitecustomize", "usercustomize"})


class Around(Struct, frozen=True):
    """Where a script finds what it loads: the folder of the one that was started, and the folder it runs in.

    `imports` are the folders in which Python was told to look for modules.
    """

    start: str
    base: str
    imports: tuple[str, ...] = ()


class Loads:
    """Says what scripts load, reading each text once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, str, tuple[str, ...]]] = {}

    def files(self, path: str, content: bytes, around: Around, looked: Look) -> Iterator[str]:
        """Name the files a script may load, there or not.

        `looked` is told every other place whose state decided about it.
        """
        known = self._known.get(path)
        if known is None or known[0] != content:
            language = _language(path, content) if len(content) <= _LONGEST else ""
            text = content.decode("utf-8", "replace") if language else ""
            known = self._known[path] = (content, language, tuple(dict.fromkeys(_NAMES[language](text))))
        return _FILES[known[1]](path, known[2], around, looked)


def _language(path: str, content: bytes) -> str:
    names = interpreters(content[:LONGEST_LINE])
    program = basename(names[-1]).rstrip("0123456789.") if names else ""
    name, ending = basename(path), splitext(path)[1]
    found = _BY_NAME.get(name) or _BY_ENDING.get(ending) or _BY_PROGRAM.get(program, "")
    # a script that says nothing about itself is one for a shell
    return found or ("" if ending or names or b"\0" in content else "sh")


def _python_names(text: str) -> Iterator[str]:
    """Give dotted names as they are imported; dots at the start count folders upwards."""
    text = text.replace("\\\n", " ")
    yield from _CALLED.findall(text)
    for found in _IMPORT.findall(text):
        yield from _first_words(found)
    for dots, module, many, few in _FROM.findall(text):
        yield from (f"{dots}{module}.{part}" if module else f"{dots}{part}" for part in _first_words(many or few))


def _first_words(text: str) -> list[str]:
    return [words[0] for part in text.split(",") if (words := part.split())]


def _python_files(path: str, names: Iterable[str], around: Around, looked: Look) -> Iterator[str]:
    listings: dict[str, dict[str, list[str]]] = {}

    def listed(folder: str) -> dict[str, list[str]]:
        if folder not in listings:
            looked(folder)
            listings[folder] = _by_stem(folder)
        return listings[folder]

    for name in names:
        bare = name.lstrip(".")
        dots = len(name) - len(bare)
        above = (normpath(join(dirname(path), *([".."] * (dots - 1)))),)
        for folder in dict.fromkeys(above if dots else (around.start, dirname(path), *around.imports)):
            place = folder
            for part in bare.split("."):
                yield from listed(place).get(part, ())
                place = join(place, part)
                yield from listed(place).get("__init__", ())
    # what comes with Python imports such modules for itself, and would find them beside the script first
    yield from (
        file for stem, files in listed(around.start).items() if stem in sys.stdlib_module_names for file in files
    )


def stand_ins(folder: str, looked: Look) -> Iterator[str]:
    """Name the files in a folder that Python would load by itself, if it looks for modules there."""
    looked(folder)
    for stem, files in _by_stem(folder).items():
        if stem in sys.stdlib_module_names or stem in _AT_START:
            yield from files
            looked(join(folder, stem))
            yield from _by_stem(join(folder, stem)).get("__init__", ())


def _by_stem(folder: str) -> dict[str, list[str]]:
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError):
        return {}
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition(".")[0], []).append(join(folder, name))
    return found


def _node_files(path: str, names: Iterable[str], _around: Around, looked: Look) -> Iterator[str]:
    for name in names:
        place = normpath(join(dirname(path), name))
        for file in (f"{place}{ending}" for ending in _NODE_ENDINGS):
            looked(file)
            if isfile(file):
                yield file


def _make_names(text: str) -> Iterator[str]:
    """Give what a Makefile includes, and what its recipes run; a variable is most often an interpreter."""
    for found in _INCLUDED.findall(text):
        yield from found.split()
    yield from lines.run_by(_MAKE_VARIABLE.sub("sh", _RECIPE.sub("", text)))


def _package_names(text: str) -> Iterator[str]:
    """Give what the scripts of a package.json run, and the file that the package is."""
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    for line in scripts.values() if isinstance(scripts, dict) else ():
        yield from lines.run_by(line) if isinstance(line, str) else ()
    main = package.get("main") if isinstance(package, dict) else None
    if isinstance(main, str):
        yield from (main, f"{main}.js", f"{main}/index.js")


def _shell_files(path: str, names: Iterable[str], around: Around, _looked: Look) -> Iterator[str]:
    for name in names:
        # beside the script, as it says in one of many ways, or in the folder it runs in
        yield normpath(join(dirname(path), name))
        yield normpath(join(around.base, name))


def _nothing(*_ignored: object) -> Iterator[str]:
    return iter(())


_NAMES: Final[dict[str, Callable[[str], Iterable[str]]]] = {
    "python": _python_names,
    "node": _REQUIRED.findall,
    "sh": lines.run_by,
    "make": _make_names,
    "package": _package_names,
    "": _nothing,
}
_FILES: Final[dict[str, Callable[[str, Iterable[str], Around, Look], Iterator[str]]]] = {
    "python": _python_files,
    "node": _node_files,
    **dict.fromkeys(("sh", "make", "package"), _shell_files),
    "": _nothing,
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
