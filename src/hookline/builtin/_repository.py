"""Say whether git can be asked in a folder without running programs that the folder names.

No clone brings along settings or hooks. A folder that was unpacked, copied or written by an agent does: there, the
settings of a repository can name programs that `git status` runs. So only settings that are known to be harmless count
as harmless, and nothing is guessed about repositories inside of repositories.
"""
# ruff: noqa: PTH112, PTH113, PTH114, PTH118, PTH120, PTH123, PTH207 - asked for each git command

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from glob import iglob
from types import MappingProxyType
from typing import Final

from hookline.core.effects.readers import each

_MOST_BYTES: Final = 64 * 1024
_MOST_INDEX_BYTES: Final = 64 * 1024 * 1024
# how an index writes that a name is a repository of its own, whose settings git would follow, too
_NESTED: Final = b"\0\0\xe0\0"
# git runs it whenever it has written down which files it has looked at
_HOOK: Final = "post-index-change"
_HEADER: Final = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\][ \t]*(.*)', re.DOTALL)
_ROW: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?", re.DOTALL)
_FOLDER: Final = re.compile(r"[\w./@+-]+", re.ASCII)
_SWITCH: Final = re.compile(r"(?i:true|false|yes|no|on|off|1|0)?")

# parts of the settings that no command that reads makes a program of, whatever they say
_PARTS: Final = each(
    "advice alias am apply author branch color column commit committer credential fetch gc gitflow github gui http init"
    " lfs maintenance merge pull push rebase receive rerere stash tag transfer url user"
)
_SETTINGS: Final = frozenset(
    f"{part}.{name}"
    for part, names in {
        "core": "abbrev autocrlf bare bigfilethreshold checkstat commentchar commitgraph compression editor eol filemode"
        " ignorecase logallrefupdates longpaths multipackindex precomposeunicode preloadindex protecthfs protectntfs"
        " quotepath repositoryformatversion safecrlf sharedrepository sparsecheckout sparsecheckoutcone sshcommand symlinks"
        " trustctime untrackedcache whitespace",
        "diff": "algorithm binary colormoved context indentheuristic mnemonicprefix noprefix renamelimit renames"
        " wordregex xfuncname",
        "extensions": "objectformat refstorage worktreeconfig",
        "feature": "experimental manyfiles",
        "index": "skiphash threads version",
        "log": "abbrevcommit date decorate follow mailmap",
        "remote": "fetch gh-resolved mirror prune push pushurl skipdefaultupdate skipfetchall tagopt url",
        "status": "aheadbehind branch relativepaths renames short showstash showuntrackedfiles",
        "submodule": "active branch fetchrecursesubmodules ignore update url",
    }.items()
    for name in names.split()
)


def is_harmless(folder: str, *, looks_inside: bool) -> bool:
    """Say whether git can be asked here; with `looks_inside`, to look into repositories inside of this one, too."""
    with suppress(OSError, ValueError):
        top = _top(folder)
        places = _places(top) if top else None
        return places is not None and _runs_nothing(top, *places, looks_inside=looks_inside)
    return False


def _top(folder: str) -> str:
    """Find the folder whose `.git` git would take.

    A folder that looks like a bare repository can be a part of a project, and its settings name programs to run.
    """
    while True:
        if os.path.lexists(f"{folder}/.git"):
            return folder
        if os.path.lexists(f"{folder}/HEAD") or os.path.dirname(folder) == folder:
            return ""
        folder = os.path.dirname(folder)


def _places(top: str) -> tuple[str, str] | None:
    """Give the folder of a work tree and the one with the settings; None when git might take other ones."""
    git = f"{top}/.git"
    if os.path.islink(git):
        return None
    if os.path.isdir(git):
        whole = os.path.isfile(f"{git}/HEAD") and os.path.isdir(f"{git}/objects") and os.path.isdir(f"{git}/refs")
        return (git, git) if whole and not os.path.lexists(f"{git}/commondir") else None
    # the file of a further work tree: the repository must know of it, or it could lead to anybody's
    tree = os.path.join(top, _text(git).removeprefix("gitdir:").strip())
    if os.path.realpath(_text(f"{tree}/gitdir").strip()) != os.path.realpath(git):
        return None
    return tree, os.path.realpath(os.path.join(tree, _text(f"{tree}/commondir").strip()))


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        text = file.read(_MOST_BYTES)
    if len(text) == _MOST_BYTES:
        message = f"{path} is too long to look at"
        raise ValueError(message)
    return text


def _runs_nothing(top: str, tree: str, common: str, *, looks_inside: bool) -> bool:
    files = [f"{common}/config", f"{tree}/config.worktree"]
    for file in files:
        if os.path.lexists(file) and not all(_is_known(name, value, top) for name, value in _rows(_text(file))):
            return False
    if os.path.lexists(f"{common}/hooks/{_HOOK}"):
        return False
    return not looks_inside or not any(map(_has_nested, (f"{tree}/index", *iglob(f"{tree}/sharedindex.*"))))


def _rows(text: str) -> Iterator[tuple[str, str]]:
    """Give each setting, as `core.bare`, and its value; an empty name for what cannot be read with certainty."""
    part = ""
    for written in text.split("\n"):
        row = written.strip(" \t\r")
        header = _HEADER.fullmatch(row)
        if header:
            part, row = header[1].lower(), header[2]
        if not row or row.startswith(("#", ";")):
            continue
        found = _ROW.fullmatch(row)
        # a backslash at the end lets a value go on in the next row
        certain = found is not None and not row.endswith("\\")
        yield (f"{part}.{found[1].lower()}", found[2] or "") if found and certain else ("", "")


def _is_known(name: str, value: str, top: str) -> bool:
    judge = _JUDGES.get(name)
    if judge:
        return judge(value, top)
    return name in _SETTINGS or name.partition(".")[0] in _PARTS


def _has_nested(path: str) -> bool:
    if not os.path.lexists(path):
        return False
    with open(path, "rb") as file:
        entries = file.read(_MOST_INDEX_BYTES)
    return len(entries) == _MOST_INDEX_BYTES or _NESTED in entries


def _is_switch(value: str, _top: str) -> bool:
    """Allow git's own watching of files; any other value is a program."""
    return _SWITCH.fullmatch(value) is not None


def _has_no_hook(value: str, top: str) -> bool:
    return _FOLDER.fullmatch(value) is not None and not os.path.lexists(os.path.join(top, value, _HOOK))


_JUDGES: Final[Mapping[str, Callable[[str, str], bool]]] = MappingProxyType(
    {"core.fsmonitor": _is_switch, "core.hookspath": _has_no_hook}
)
