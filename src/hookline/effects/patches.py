"""Parse patches: the format that agents write, and unified diffs."""

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


class FileChange(Struct, frozen=True):
    """A change of one file: add, update, delete, or move, which has a second name."""

    op: str
    path: str
    to: str = ""


def parse_changes(patch: str) -> tuple[FileChange, ...] | None:
    """Return every change of a patch; None when it cannot be read, so that it may change any file."""
    text = patch.strip()
    found = _parse_agent_patch(text) if BEGIN in text else _parse_unified(text)
    return tuple(found) if found else None


def _parse_agent_patch(text: str) -> list[FileChange] | None:
    """Read the format with a beginning and an end; agents accept some text around it."""
    if text.count(BEGIN) != 1:
        return None
    inside = text.partition(BEGIN)[2]
    body, end, after = inside.partition(_END)
    # a second patch, or a header hidden behind the end
    if (end and "***" in after) or "***" in text.partition(BEGIN)[0]:
        return None
    found: list[FileChange] = []
    for row in body.split("\n"):
        bare = row.strip()
        # added and removed rows have a sign before them
        if not bare.startswith("*** ") or row.startswith(("+", "-")):
            continue
        header = _HEADER.fullmatch(bare)
        if header is None:
            # with a blank before it, it is a context row
            if bare != "*** End of File" and not row.startswith(" "):
                return None
            continue
        if not _add_header(found, header[1], header[2].strip()):
            return None
    return found


def _add_header(found: list[FileChange], word: str, path: str) -> bool:
    if not path:
        return False
    if word != "Move to":
        found.append(FileChange(_OP[word], path))
        return True
    if not found or found[-1].op != "update":
        return False
    found[-1] = FileChange("move", found[-1].path, path)
    return True


def _parse_unified(text: str) -> list[FileChange] | None:
    """Read a unified diff, counting the rows of each hunk: a row that was taken away may look like a header."""
    diff = _DiffReader()
    rows = iter(text.split("\n"))
    for row in rows:
        if hunk := _HUNK.match(row):
            if not diff.found or diff.old or not _skip_hunk(rows, int(hunk[1] or 1), int(hunk[2] or 1)):
                return None
        elif not diff.read_row(row):
            return None
    return diff.found if not diff.old and not diff.is_nameless else None


class _DiffReader:
    """The state of reading a diff between its hunks."""

    def __init__(self) -> None:
        self.found: list[FileChange] = []
        self.old = ""
        # git began a file whose name cannot be read: only its mode changes, or it is binary
        self.is_nameless = False

    def read_row(self, row: str) -> bool:
        """Read one row; return False when it cannot be read."""
        if header := _OLD.fullmatch(row):
            self.old = header[1]
        elif header := _NEW.fullmatch(row):
            changes = _make_changes(self.old, header[1])
            self.found += changes
            self.old, self.is_nameless = "", False
            return bool(changes)
        elif header := _RENAMED.fullmatch(row):
            self.is_nameless = False
            self.found.append(FileChange("add" if header[1] == "copy" and header[2] == "to" else "delete", header[3]))
            return not header[3].startswith(_QUOTE)
        elif row.startswith("diff --git "):
            was_nameless, self.is_nameless = self.is_nameless, True
            return not was_nameless
        return _OTHER_DIFF.match(row) is None


def _skip_hunk(rows: Iterator[str], old: int, new: int) -> bool:
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


def _make_changes(old: str, new: str) -> list[FileChange]:
    """Return the changes of one file; none when its names cannot be read."""
    before, after = _strip_time(old), _strip_time(new)
    if _QUOTE in {old[:1], new[:1]} or not (before and after):
        return []
    # with and without git's prefix `a/`, since either may be stripped when it is applied
    names = dict.fromkeys(name for one in (before, after) if one != _NO_FILE for name in _list_spellings(one))
    op = "add" if before == _NO_FILE else "delete" if after == _NO_FILE else "update"
    return [FileChange(op, name) for name in names]


def _strip_time(header: str) -> str:
    """Remove the time that diff writes behind a name."""
    return header.partition("\t")[0].strip()


def _list_spellings(name: str) -> list[str]:
    _, slash, rest = name.partition("/")
    return [name, rest] if slash and rest and not name.startswith("/") else [name]


class PatchPart(Struct, frozen=True):
    """One file of a patch: the operation, its other name where it is moved, and the text before and after.

    Of a long file only the changed places are there. The text is known only in the format that agents write.
    """

    op: str
    path: str
    to: str = ""
    old: str = ""
    new: str = ""


def parse_parts(patch: str) -> tuple[PatchPart, ...] | None:
    """Return every part of a patch; None when it cannot be read."""
    changes = parse_changes(patch)
    if changes is None:
        return None
    texts = _split_texts(patch) if BEGIN in patch else []
    if len(texts) != len(changes):
        texts = [("", "")] * len(changes)
    return tuple(PatchPart(one.op, one.path, one.to, old, new) for one, (old, new) in zip(changes, texts, strict=True))


def _split_texts(patch: str) -> list[tuple[str, str]]:
    """Return the text before and after, file by file."""
    found: list[tuple[list[str], list[str]]] = []
    for row in patch.split("\n"):
        sign, rest = row[:1], row[1:]
        if sign not in {"+", "-"} and row.strip().startswith("*** "):
            if row.strip().split(" ", 2)[1] in {"Add", "Update", "Delete"}:
                found.append(([], []))
        elif found and not row.startswith("@@"):
            old, new = found[-1]
            if sign in {"-", " "}:
                old.append(rest)
            if sign in {"+", " "}:
                new.append(rest)
    return [("\n".join(old), "\n".join(new)) for old, new in found]
