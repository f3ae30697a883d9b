"""Which files a patch changes: the format that agents write, and unified diffs."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

BEGIN: Final = "*** Begin Patch"
_END: Final = "*** End Patch"
# one file each; `Move to` stands below the file that is moved
_HEADER: Final = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): *(.*)")
_OP: Final = {"Add File": "add", "Update File": "update", "Delete File": "delete"}

_OLD: Final = re.compile(r"--- (.*)")
_NEW: Final = re.compile(r"\+\+\+ (.*)")
_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_RENAMED: Final = re.compile(r"(rename|copy) (from|to) (.+)")
# other kinds of diffs, and other ways to name a file, which `patch` reads as well
_OTHER_DIFF: Final = re.compile(r"Index:|Prereq:|\*\*\* |[0-9]+(?:,[0-9]+)?[acds]|GIT binary patch|Binary files ")
_NO_FILE: Final = "/dev/null"
# git writes other names in quotes, with escapes in them
_QUOTE: Final = '"'


class Change(Struct, frozen=True):
    """What happens to one file: add, update, delete, or move, which has a second name."""

    op: str
    path: str
    to: str = ""


def changes_of(patch: str) -> tuple[Change, ...] | None:
    """Give every change of a patch; None when it cannot be read, so that it may change any file."""
    text = patch.strip()
    found = _agents(text) if BEGIN in text else _unified(text)
    return tuple(found) if found else None


def _agents(text: str) -> list[Change] | None:
    """Read the format with a beginning and an end; agents accept some text around it."""
    if text.count(BEGIN) != 1:
        return None
    inside = text.partition(BEGIN)[2]
    body, end, after = inside.partition(_END)
    # a second patch, or a header that somebody hid behind the end
    if (end and "***" in after) or "***" in text.partition(BEGIN)[0]:
        return None
    found: list[Change] = []
    for row in body.split("\n"):
        bare = row.strip()
        # what is added and taken away has a sign before it, so that it cannot be a header
        if not bare.startswith("*** ") or row.startswith(("+", "-")):
            continue
        header = _HEADER.fullmatch(bare)
        if header is None:
            # with a blank before it, it is a row that stays as it is
            if bare != "*** End of File" and not row.startswith(" "):
                return None
            continue
        if not _add(found, header[1], header[2].strip()):
            return None
    return found


def _add(found: list[Change], word: str, path: str) -> bool:
    if not path:
        return False
    if word != "Move to":
        found.append(Change(_OP[word], path))
        return True
    if not found or found[-1].op != "update":
        return False
    found[-1] = Change("move", found[-1].path, path)
    return True


def _unified(text: str) -> list[Change] | None:
    """Read a unified diff, counting the rows of each hunk: a row that was taken away may look like a header."""
    diff = _Diff()
    rows = iter(text.split("\n"))
    for row in rows:
        if hunk := _HUNK.match(row):
            if not diff.found or diff.old or not _skip(rows, int(hunk[1] or 1), int(hunk[2] or 1)):
                return None
        elif not diff.take(row):
            return None
    return diff.found if not diff.old and not diff.is_nameless else None


class _Diff:
    """What was read of a diff between its hunks."""

    def __init__(self) -> None:
        self.found: list[Change] = []
        self.old = ""
        # whether git began a file of which no name can be read: its mode alone changes, or it is not a text
        self.is_nameless = False

    def take(self, row: str) -> bool:
        """Read one row; give False when it cannot be read."""
        if header := _OLD.fullmatch(row):
            self.old = header[1]
        elif header := _NEW.fullmatch(row):
            changes = _pair(self.old, header[1])
            self.found += changes
            self.old, self.is_nameless = "", False
            return bool(changes)
        elif header := _RENAMED.fullmatch(row):
            self.is_nameless = False
            self.found.append(Change("add" if header[1] == "copy" and header[2] == "to" else "delete", header[3]))
            return not header[3].startswith(_QUOTE)
        elif row.startswith("diff --git "):
            was_nameless, self.is_nameless = self.is_nameless, True
            return not was_nameless
        return _OTHER_DIFF.match(row) is None


def _skip(rows: Iterator[str], old: int, new: int) -> bool:
    """Skip the rows of one hunk."""
    while old > 0 or new > 0:
        row = next(rows, None)
        if row is None:
            return False
        sign = row[:1]
        if sign in {"", " "}:
            old, new = old - 1, new - 1
        elif sign == "-":
            old -= 1
        elif sign == "+":
            new -= 1
        elif sign != "\\":
            return False
    return old == new == 0


def _pair(old: str, new: str) -> list[Change]:
    """Give the changes of one file; none when its names cannot be read."""
    before, after = _name(old), _name(new)
    if _QUOTE in {old[:1], new[:1]} or not (before and after):
        return []
    # with and without the letter that git puts before it: whoever applies it may take off either
    names = dict.fromkeys(name for one in (before, after) if one != _NO_FILE for name in _spelled(one))
    op = "add" if before == _NO_FILE else "delete" if after == _NO_FILE else "update"
    return [Change(op, name) for name in names]


def _name(said: str) -> str:
    """Take off the time that diff writes behind a name."""
    return said.partition("\t")[0].strip()


def _spelled(name: str) -> list[str]:
    _, slash, rest = name.partition("/")
    return [name, rest] if slash and rest and not name.startswith("/") else [name]
