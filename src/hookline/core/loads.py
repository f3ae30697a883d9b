"""The files beside a script that it loads by itself, as far as its text says so.

Read from the text with patterns, never by running it: what a script puts together when it runs stays unseen, and
is for `includes`.
"""
# asked before each run, where pathlib costs many times more
# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH122, PTH208

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from os.path import basename, dirname, isfile, join, normpath, splitext
from typing import Final

from hookline.core.programs import LONGEST_LINE, interpreters

_LONGEST: Final = 1_048_576

Look = Callable[[str], None]

_IMPORT: Final = re.compile(r"(?:^|[;:])[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM: Final = re.compile(
    r"(?:^|[;:])[ \t]*from[ \t]+(\.*)((?:\w[\w.]*)?)[ \t]+import[ \t]+(?:\(([^)]{0,4000})|([\w., \t]+))", re.MULTILINE
)
_CALLED: Final = re.compile(r"""\b(?:__import__|import_module)\(\s*["']([\w.]+)["']""")
_REQUIRED: Final = re.compile(r"""\b(?:from|import|require)\s*\(?\s*["'](\.[^"'\n]+)["']""")
_SOURCED: Final = re.compile(r"(?:^|[;&|({]|\bthen|\bdo|\belse)[ \t]*(?:source|\.)[ \t]+([^\n;&|]+)", re.MULTILINE)
_AT_RUN: Final = re.compile(r"^(?:\$\([^)]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+)/?")
_NODE_ENDINGS: Final = ("", ".js", ".mjs", ".cjs", ".json", ".ts", "/index.js", "/package.json")


class Loads:
    """Says what scripts load, reading each text once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, str, tuple[str, ...]]] = {}

    def files(self, path: str, content: bytes, start: str, looked: Look) -> Iterator[str]:
        """Name the files a script may load, there or not; `start` is the folder of the script that was started.

        `looked` is told every other place whose state decided about it.
        """
        known = self._known.get(path)
        if known is None or known[0] != content:
            language = _language(path, content) if len(content) <= _LONGEST else ""
            text = content.decode("utf-8", "replace") if language else ""
            known = self._known[path] = (content, language, tuple(dict.fromkeys(_NAMES[language](text))))
        return _FILES[known[1]](path, known[2], start, looked)


def _language(path: str, content: bytes) -> str:
    names = interpreters(content[:LONGEST_LINE])
    program = basename(names[-1]).rstrip("0123456789.") if names else ""
    return _BY_ENDING.get(splitext(path)[1]) or _BY_PROGRAM.get(program, "")


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


def _python_files(path: str, names: Iterable[str], start: str, looked: Look) -> Iterator[str]:
    listings: dict[str, dict[str, list[str]]] = {}

    def listed(folder: str) -> dict[str, list[str]]:
        if folder not in listings:
            looked(folder)
            listings[folder] = _by_stem(folder)
        return listings[folder]

    for name in names:
        bare = name.lstrip(".")
        dots = len(name) - len(bare)
        folders = (normpath(join(dirname(path), *([".."] * (dots - 1)))),) if dots else (start, dirname(path))
        for folder in dict.fromkeys(folders):
            place = folder
            for part in bare.split("."):
                yield from listed(place).get(part, ())
                place = join(place, part)
                yield from listed(place).get("__init__", ())
    # what comes with Python imports such modules for itself, and would find them beside the script first
    yield from (file for stem, files in listed(start).items() if stem in sys.stdlib_module_names for file in files)


def _by_stem(folder: str) -> dict[str, list[str]]:
    try:
        names = sorted(os.listdir(folder))
    except (OSError, ValueError):
        return {}
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(name.partition(".")[0], []).append(join(folder, name))
    return found


def _node_files(path: str, names: Iterable[str], _start: str, looked: Look) -> Iterator[str]:
    for name in names:
        place = normpath(join(dirname(path), name))
        for file in (f"{place}{ending}" for ending in _NODE_ENDINGS):
            looked(file)
            if isfile(file):
                yield file


def _shell_names(text: str) -> Iterator[str]:
    for found in _SOURCED.findall(text):
        name = found.replace('"', "").replace("'", "").strip()
        # most often the folder of the script itself, said in one of many ways
        yield _AT_RUN.sub("./", name).split(" ")[0]


def _shell_files(path: str, names: Iterable[str], _start: str, _looked: Look) -> Iterator[str]:
    return (normpath(join(dirname(path), name)) for name in names if name)


def _nothing(*_ignored: object) -> Iterator[str]:
    return iter(())


_NAMES: Final[dict[str, Callable[[str], Iterable[str]]]] = {
    "python": _python_names,
    "node": _REQUIRED.findall,
    "sh": _shell_names,
    "": _nothing,
}
_FILES: Final[dict[str, Callable[[str, Iterable[str], str, Look], Iterator[str]]]] = {
    "python": _python_files,
    "node": _node_files,
    "sh": _shell_files,
    "": _nothing,
}
_BY_ENDING: Final = {
    ".py": "python",
    **dict.fromkeys((".js", ".mjs", ".cjs", ".ts"), "node"),
    **dict.fromkeys((".sh", ".bash"), "sh"),
}
_BY_PROGRAM: Final = {
    "python": "python",
    **dict.fromkeys(("node", "nodejs", "bun", "deno"), "node"),
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), "sh"),
}
