"""Read a command the way a shell could: its simple commands, its words, and the folders it goes to.

Read with patterns and never run. Where a line can be read in two ways, both count.
"""
# ruff: noqa: PTH118 - words of a command are no paths until they turn out to be

import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from os.path import join, normpath
from typing import Final

from hookline import surroundings

LONGEST: Final = 65_536
"""More than a person reads before they say yes; what is longer is not looked through."""

MOST_FOLDERS: Final = 64

SYNTAX: Final = re.compile(r"[\s;&|()<>`$~='\"{}]")
_OPERATORS: Final = re.compile(r"[\s;&|()<>`='\"{},]+")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)(?::?[-=]([^{}$`]*)|[%#/:^,@][^{}]*)?\}|(\w+))")
_HERE: Final = re.compile(r"\$\(\s*pwd(?:\s+-[LP])?\s*\)|`\s*pwd\s*`")
_TILDE: Final = re.compile(r"(^|[\s=:'\"])~/")
_ASSIGNED: Final = re.compile(r"(?:^|[\s;&|(])(\w+)=(?:\"([^\"$`]*)\"|'([^']*)'|([^\s;&|()<>\"'$`]+))")
_PATH_GIVEN: Final = re.compile(r"(\bPATH=)(?:\"([^\"]*)\"|'([^']*)'|([^\s;&|()\"']+))")
# what only a shell knows when it runs: most often the folder of the project, or that of a script
_AT_RUN: Final = re.compile(r"(?:\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`|\$\{\w+[^{}]*\}|\$\w+)\"?(?=/)")

# where relative names are counted from afterwards
_ENTERED: Final = re.compile(
    r"(?:\b(?:cd|pushd)\s+(?:-[LP]\s+|--\s+)?|(?:^|\s)(?:-C\s*|--(?:chdir|directory|cwd|prefix|dir|project)(?:=|\s+)))"
    r"(?:\"([^\"]*)\"|'([^']*)'|([^\s;&|()<>\"'`-][^\s;&|()<>\"'`]*))"
)

# what a line only writes to is no part of what it runs, or a hook with a log would change by each run
_WRITTEN: Final = re.compile(r"(?:\d|&)?>>?[|&]?\s*(?:\"[^\"]*\"|'[^']*'|[^\s;&|()<>`\"'])+")

# the patterns of a `case`, which look like commands
_CASES: Final = re.compile(r"^[^()\n;&$`]*\)", re.MULTILINE)
_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#[^\n]*", re.MULTILINE)
_BETWEEN: Final = re.compile(r"[;&|(){}`\n]+|\b(?:then|do|else|if|elif|while|until)[ \t]")
_BEFORE: Final = re.compile(
    r"-\S*|\w+=.*|[\d.]+[smhd]?|!|exec|eval|command|env|sudo|nohup|nice|time|timeout|xargs|setsid|shell|npx|uv|run|poetry"
)
_RUNS_A_FILE: Final = re.compile(
    r"(?:\S*/)?(?:source|\.|(?:ba|da|z|k)?sh|(?:python|pypy)[\d.]*|node|nodejs|deno|bun|tsx|ruby|perl|php|lua)|\$.*"
)
_TRIED: Final = 2

_VALUE: Final = re.compile(r"(?:\w+=)?\$(?:\w+|\{\w+\})?")
_SEPARATOR: Final = re.compile(r"[;&|()<>]+")
_REDIRECTION: Final = re.compile(r"[<>]+[&|]?")


def simple_commands(line: str, depth: int) -> Iterator[list[str]]:
    """Give the words of each simple command of a line, and of lines within it; what is read with `<` is a word, too."""
    tokens = _tokens(line)
    if tokens is None:
        # nobody knows what it means, so each word of it may be a program
        yield from ([word] for word in _OPERATORS.split(line) if word)
        return
    words: list[str] = []
    operator = ""
    for token in (*tokens, ";"):
        if _REDIRECTION.fullmatch(token):
            operator = token
        elif _SEPARATOR.fullmatch(token):
            yield words
            for word in words if depth else ():
                # what a variable holds is not known here
                if SYNTAX.search(word) and not _VALUE.fullmatch(word):
                    yield from simple_commands(word, depth - 1)
            words, operator = [], ""
        elif not operator or operator == "<":
            words.append(token)
            operator = ""
        else:
            operator = ""


def is_plain(line: str) -> bool:
    """Say whether it can be told where the words of a line begin and end."""
    return _tokens(line) is not None


def _tokens(line: str) -> list[str] | None:
    lexer = shlex.shlex(line.replace("\n", " ; ").replace("`", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return None


def words(text: str, variables: Mapping[str, str]) -> list[str]:
    """Give a text as it is and, where a shell could read it otherwise, everything it could be read as."""
    if not SYNTAX.search(text):
        return [text] if text and "\0" not in text else []
    found: dict[str, None] = {text: None}
    for reading in readings(text, variables):
        try:
            split = shlex.split(reading)
        except ValueError:
            split = []
        found |= dict.fromkeys(split)
        for piece in (reading, *split):
            found |= dict.fromkeys(_OPERATORS.split(piece))
    found.pop("", None)
    return list(found)


def readings(text: str, variables: Mapping[str, str]) -> list[str]:
    """Give a line with the values of its variables, and what is only known when it runs read as the folder here."""
    read = _WRITTEN.sub(" ", filled(text, variables))
    return list(dict.fromkeys((read, _AT_RUN.sub(".", read))))


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Put the values of variables in: those given, those the line sets itself, and those of our environment."""
    text = text.replace("\0", "")
    own = {name: double or single or bare for name, double, single, bare in _ASSIGNED.findall(text)}
    known = {**variables, **{name: value for name, value in own.items() if name != "PATH"}}

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[3]
        # a default without a value is how most people write one
        return known.get(name) or surroundings.environ().get(name) or found[2] or found[0]

    text = _VARIABLE.sub(value, _HERE.sub(lambda _: known["PWD"], text))
    return _TILDE.sub(lambda found: f"{found[1]}{known['HOME']}/", text)


def folders(texts: Sequence[str], base: str, variables: Mapping[str, str]) -> list[str]:
    """Give every folder that relative names may be counted from: one `cd` may follow another, or not."""
    found = [base]
    for text in texts:
        for parts in _ENTERED.findall(filled(text, variables)):
            target = next(filter(None, parts), "")
            for target_read in dict.fromkeys((target, _AT_RUN.sub(".", target))):
                found = list(dict.fromkeys((*found, *(normpath(join(folder, target_read)) for folder in found))))
            if len(found) > MOST_FOLDERS:
                return found
    return found


def search_folders(texts: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """Give the folders that a line itself puts on its search path."""
    found: list[str] = []
    for text in texts:
        for _, double, single, bare in _PATH_GIVEN.findall(text):
            value = filled((double or single or bare).replace("${PATH}", "").replace("$PATH", ""), variables)
            found += [_AT_RUN.sub(".", folder) for folder in value.split(os.pathsep) if folder]
    return found


def run_by(script: str) -> Iterator[str]:
    """Give the relative names of what a script for a shell plainly runs or sources.

    Only words in the place of a command, and those behind an interpreter: a script that mentions a file to protect
    it must not change with that file.
    """
    text = _COMMENT.sub("", _CASES.sub("", script.replace("\\\n", " ")))
    text = _AT_RUN.sub(".", text).replace('"', "").replace("'", "")
    for part in _BETWEEN.split(text):
        rest = [word for word in part.split() if word[:1] not in {"<", ">"}]
        head, *rest = (*itertools.dropwhile(_BEFORE.fullmatch, rest),) or ("",)
        if _RUNS_A_FILE.fullmatch(head):
            # an option may have a value of its own
            found = [word for word in rest if word[:1] not in {"-", "+"}][:_TRIED]
        else:
            # a program by its whole path is none of the hook's own files
            found = [head] if "/" in head and not head.startswith("/") else []
        yield from (word for word in found if not word.startswith(("$", "~")) and "\0" not in word)
