"""Tell a hook that blocks from an interpreter that did not find its script.

`python3 missing.py` exits with 2, which many dialects read as a decision to block. A check before each start would cost
every run, so the check comes afterwards, and only when a run ended in a way that a missing script would explain.
"""
# ruff: noqa: PTH110, PTH112, PTH113, PTH118

import os
import re
from collections.abc import Container, Sequence
from os.path import exists, isdir, isfile, join, normpath
from typing import Final

from msgspec.structs import replace

from hookline.kinds.command.sealing import entered_folders, script_words
from hookline.model.exchange import Failure, FailureKind, Reply
from hookline.process.result import EXIT_NOT_FOUND, EXIT_NOT_STARTED
from hookline.shell.expand import Variable

# the exit codes of node and ruby, of python, perl and sh, and of bash
_POSSIBLE_CODES: Final = frozenset({1, 2, 126, 127})
# Not every bash reports it in English, but its exit codes 126 and 127 do not block anyway.
_MISSING_TEXT: Final = re.compile(rb"No such file|[Cc]an(?:'|no)t (?:open|find)|not found|[Pp]ermission denied")
_HANDLED: Final = re.compile(r"\|\||\b(?:exit|return|trap|if|while|until|case)\b|!")


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
