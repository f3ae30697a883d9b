"""Tell a hook that said no from an interpreter that did not find its script.

`python3 missing.py` exits with 2, which many dialects take for a deliberate no. To look before each start would cost
every run; so it is looked afterwards, and only when a run ended in a way that a missing script would explain.
"""
# ruff: noqa: PTH110, PTH118

import os
import re
from collections.abc import Container, Sequence
from os.path import exists, join, normpath
from typing import Final

from msgspec.structs import replace

from hookline.kinds._expand import Variable
from hookline.kinds._replies import EXIT_NOT_FOUND, EXIT_NOT_STARTED
from hookline.kinds._sealing import entered_folders, script_words
from hookline.model.exchange import Failure, FailureKind, Reply

# of node and ruby, of python, perl and sh, and of bash
_POSSIBLE: Final = frozenset({1, 2, 126, 127})
# Not every bash says it in English; what it exits with is nobody's no, though.
_SAID: Final = re.compile(rb"No such file|[Cc]an(?:'|no)t (?:open|find)|not found|[Pp]ermission denied")
_FORESEEN: Final = re.compile(r"\|\||\b(?:exit|return|trap|if|while|until|case)\b|!")


def with_absence(
    reply: Reply, words: Sequence[str], line: str, *, folder: str, variable: Variable, vetted: Container[str]
) -> Reply:
    """Give the reply back, as a failure if all it says is that a script is not there.

    `vetted` are files that were handed over as bytes: they were there, whatever has become of them.
    """
    if reply.failure is not None or reply.exit_code not in _POSSIBLE or reply.stdout or not reply.stderr:
        return reply
    # an author who wrote what is to happen then has the last word
    if _SAID.search(reply.stderr) is None or (not words and _FORESEEN.search(line)):
        return reply
    folders = _folders(folder, () if words else entered_folders(line, variable))
    for word, endings in script_words(words, line, variable):
        # each interpreter names the script it cannot open
        if os.fsencode(word.rpartition("/")[2]) not in reply.stderr:
            continue
        places = ("/",) if word.startswith("/") else folders
        paths = [normpath(join(place, word + ending)) for place in places for ending in endings]
        if paths and not any(path in vetted or os.access(path, os.R_OK) for path in paths):
            return _failed(reply, paths)
    return reply


def _folders(folder: str, entered: Sequence[str | None]) -> list[str]:
    """Give the folders a name may be counted from; none when the line enters one that nobody can know."""
    if None in entered:
        return []
    return [folder, *(join(folder, name) for name in entered if name is not None)]


def _failed(reply: Reply, paths: Sequence[str]) -> Reply:
    there = next((path for path in paths if exists(path)), "")
    if there:
        failure = Failure(FailureKind.REFUSED, f'script "{there}" may not be read by this user')
        return replace(reply, failure=failure, exit_code=EXIT_NOT_STARTED)
    failure = Failure(FailureKind.NOT_FOUND, f'script "{paths[0]}" does not exist')
    return replace(reply, failure=failure, exit_code=EXIT_NOT_FOUND)
