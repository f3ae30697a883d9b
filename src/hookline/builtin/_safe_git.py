"""Decide whether git can run in a directory without starting programs that the directory configures.

A clone comes without settings and hooks. A directory that was unpacked, copied or written by an agent may have them: the settings
of a repository can name programs that `git status` runs. So only known settings count as harmless, and nothing is assumed about
repositories inside of repositories.
"""
# ruff: noqa: PTH112, PTH114, PTH118, PTH120, PTH123, PTH207 - called for each git command

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from glob import iglob
from typing import Final

from hookline.shell.program import split_names

_MOST_BYTES: Final = 64 * 1024
_MOST_INDEX_BYTES: Final = 64 * 1024 * 1024
# the mode of an index entry that is a repository of its own, whose settings git follows as well
_NESTED: Final = b"\0\0\xe0\0"
# git runs it after it has refreshed the index
_HOOK: Final = "post-index-change"
_HEADER: Final = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]+"(?:[^"\\]|\\.)*")?\][ \t]*(.*)', re.DOTALL)
_ROW: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?", re.DOTALL)
_FOLDER: Final = re.compile(r"[\w./@+-]+", re.ASCII)
_HEAD: Final = re.compile(r"(?:ref: refs/[!-~]+|[0-9a-f]{40}|[0-9a-f]{64})\n?")
_SWITCH: Final = re.compile(r"(?i:true|false|yes|no|on|off|1|0)?")

# sections whose settings no reading command runs as a program
_PARTS: Final = split_names(
    "advice alias am apply author branch color column commit committer credential fetch gc gitflow github gui http init"
    " maintenance merge pull push rebase receive rerere stash tag transfer url user"
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
        # not its extensions, which are programs
        "lfs": "access concurrenttransfers fetchexclude fetchinclude locksverify pushurl repositoryformatversion url",
        "log": "abbrevcommit date decorate follow mailmap",
        "remote": "fetch gh-resolved mirror prune push pushurl skipdefaultupdate skipfetchall tagopt url",
        "status": "aheadbehind branch relativepaths renames short showstash showuntrackedfiles",
        "submodule": "active branch fetchrecursesubmodules ignore update url",
    }.items()
    for name in names.split()
)


def is_harmless(folder: str, *, looks_inside: bool) -> bool:
    """Return whether git runs no program here; with `looks_inside`, the command also enters nested repositories."""
    with suppress(OSError, ValueError):
        top = _find_top(folder)
        folders = _find_git_folders(top) if top else None
        return folders is not None and _runs_nothing(top, *folders, looks_inside=looks_inside)
    return False


def _find_top(folder: str) -> str:
    """Return the directory whose `.git` git would use, empty where that is uncertain.

    A directory that looks like a bare repository can be a part of a project, and its settings name programs to run. Git also uses
    it beside an invalid `.git`.
    """
    while True:
        if os.path.lexists(f"{folder}/HEAD") and (
            os.path.lexists(f"{folder}/objects") or not os.path.lexists(f"{folder}/.git")
        ):
            return ""
        if os.path.lexists(f"{folder}/.git"):
            return folder
        if os.path.dirname(folder) == folder:
            return ""
        folder = os.path.dirname(folder)


def _find_git_folders(top: str) -> tuple[str, str] | None:
    """Return the directory of a work tree and the one with the settings, None when git might use others."""
    git = f"{top}/.git"
    if os.path.islink(git):
        return None
    if os.path.isdir(git):
        whole = _is_head(f"{git}/HEAD") and os.path.isdir(f"{git}/objects") and os.path.isdir(f"{git}/refs")
        return (git, git) if whole and not os.path.lexists(f"{git}/commondir") else None
    # the file of a linked work tree: the repository must list it, or it could refer to any repository
    tree = os.path.join(top, _read_text(git).removeprefix("gitdir:").strip())
    if os.path.realpath(_read_text(f"{tree}/gitdir").strip()) != os.path.realpath(git) or not _is_head(f"{tree}/HEAD"):
        return None
    return tree, os.path.realpath(os.path.join(tree, _read_text(f"{tree}/commondir").strip()))


def _is_head(path: str) -> bool:
    """Return whether a file is a valid HEAD; with another one, git looks for a repository above."""
    return not os.path.islink(path) and _HEAD.fullmatch(_read_text(path)) is not None


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        text = file.read(_MOST_BYTES)
    if len(text) == _MOST_BYTES:
        raise ValueError(f"{path} is too long to read")
    return text


def _runs_nothing(top: str, tree: str, common: str, *, looks_inside: bool) -> bool:
    files = [file for file in (f"{common}/config", f"{tree}/config.worktree") if os.path.lexists(file)]
    settings = [one for file in files for one in _parse_settings(_read_text(file))]
    if os.path.lexists(f"{common}/hooks/{_HOOK}") or not all(_is_known(*one, top) for one in settings):
        return False
    return not looks_inside or not any(map(_has_nested, (f"{tree}/index", *iglob(f"{tree}/sharedindex.*"))))


def _parse_settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield each setting, as `core.bare`, and its value; the name is empty for a line that cannot be read with certainty."""
    part = ""
    for line in text.split("\n"):
        row = line.strip(" \t\r")
        header = _HEADER.fullmatch(row)
        if header:
            part, row = header[1].lower(), header[2]
        if not row or row.startswith(("#", ";")):
            continue
        setting = _ROW.fullmatch(row)
        # a backslash at the end continues a value on the next line
        is_certain = setting is not None and not row.endswith("\\")
        yield (f"{part}.{setting[1].lower()}", setting[2] or "") if setting and is_certain else ("", "")


def _is_known(name: str, value: str, top: str) -> bool:
    if name == "core.fsmonitor":
        # git's own file system monitor; any other value is a program
        return _SWITCH.fullmatch(value) is not None
    if name == "core.hookspath":
        return _FOLDER.fullmatch(value) is not None and not os.path.lexists(os.path.join(top, value, _HOOK))
    return name in _SETTINGS or name.partition(".")[0] in _PARTS


def _has_nested(path: str) -> bool:
    if not os.path.lexists(path):
        return False
    with open(path, "rb") as file:
        entries = file.read(_MOST_INDEX_BYTES)
    return len(entries) == _MOST_INDEX_BYTES or _NESTED in entries
