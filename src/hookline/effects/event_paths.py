"""List the files that an event names: the path of a file event, the files of a commit, those in the arguments of a tool.

Patches are parsed in the format that agents write, and as unified diffs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from hookline.model.event import Event, EventName

# patches

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


class PatchPart(Struct, frozen=True):
    """A change of one file: add, update, delete, or move, which has a second name; the text before and after.

    Of a long file only the changed places are there. The text is known only in the format that agents write.
    """

    op: str
    path: str
    to: str = ""
    old: str = ""
    new: str = ""


def parse_changes(patch: str) -> tuple[PatchPart, ...] | None:
    """Return every change of a patch; None when it cannot be read, so that it may change any file."""
    text = patch.strip()
    found = _parse_agent_patch(text) if BEGIN in text else _parse_unified(text)
    return tuple(found) if found else None


def _parse_agent_patch(text: str) -> list[PatchPart] | None:
    """Read the format with a beginning and an end; agents accept some text around it."""
    if text.count(BEGIN) != 1:
        return None
    inside = text.partition(BEGIN)[2]
    body, end, after = inside.partition(_END)
    # a second patch, or a header hidden behind the end
    if (end and "***" in after) or "***" in text.partition(BEGIN)[0]:
        return None
    found: list[PatchPart] = []
    # the rows of each file before and after
    texts: list[tuple[list[str], list[str]]] = []
    for row in body.split("\n"):
        bare, sign = row.strip(), row[:1]
        # added and removed rows have a sign before them
        if not bare.startswith("*** ") or sign in {"+", "-"}:
            if texts and sign in {"-", " "}:
                texts[-1][0].append(row[1:])
            if texts and sign in {"+", " "}:
                texts[-1][1].append(row[1:])
            continue
        header = _HEADER.fullmatch(bare)
        if header is None:
            # with a blank before it, it is a context row
            if bare != "*** End of File" and not row.startswith(" "):
                return None
            continue
        word, path = header[1], header[2].strip()
        if not path or (word == "Move to" and (not found or found[-1].op != "update")):
            return None
        if word == "Move to":
            found[-1] = PatchPart("move", found[-1].path, path)
        else:
            found.append(PatchPart(_OP[word], path))
            texts.append(([], []))
    return [
        structs.replace(one, old="\n".join(old), new="\n".join(new))
        for one, (old, new) in zip(found, texts, strict=True)
    ]


def _parse_unified(text: str) -> list[PatchPart] | None:
    """Read a unified diff, counting the rows of each hunk: a row that was taken away may look like a header."""
    found: list[PatchPart] = []
    old = ""
    # git began a file whose name cannot be read: only its mode changes, or it is binary
    is_nameless = False
    rows = iter(text.split("\n"))
    for row in rows:
        is_read = True
        if hunk := _HUNK.match(row):
            is_read = bool(found) and not old and _skip_hunk(rows, int(hunk[1] or 1), int(hunk[2] or 1))
        elif header := _OLD.fullmatch(row):
            old = header[1]
        elif header := _NEW.fullmatch(row):
            changes = _make_changes(old, header[1])
            found += changes
            old, is_nameless, is_read = "", False, bool(changes)
        elif header := _RENAMED.fullmatch(row):
            is_nameless, is_read = False, not header[3].startswith(_QUOTE)
            found.append(PatchPart("add" if header[1] == "copy" and header[2] == "to" else "delete", header[3]))
        elif row.startswith("diff --git "):
            is_nameless, is_read = True, not is_nameless
        else:
            is_read = _OTHER_DIFF.match(row) is None
        if not is_read:
            return None
    return found if not old and not is_nameless else None


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


def _make_changes(old: str, new: str) -> list[PatchPart]:
    """Return the changes of one file; none when its names cannot be read."""
    # diff writes the time behind a name
    before, after = (one.partition("\t")[0].strip() for one in (old, new))
    if _QUOTE in {old[:1], new[:1]} or not (before and after):
        return []
    # with and without git's prefix `a/`, since either may be stripped when it is applied
    files = [one for one in (before, after) if one != _NO_FILE]
    names = [name for one in files for name in (one, one.partition("/")[2] if not one.startswith("/") else "")]
    op = "add" if before == _NO_FILE else "delete" if after == _NO_FILE else "update"
    return [PatchPart(op, name) for name in dict.fromkeys(names) if name]


# events

# arguments in which tools take files
_PATH_KEYS: Final = (
    *("path", "file_path", "filePath", "filename", "file", "notebook_path", "paths", "files", "to", "save_to"),
)

FILE_EVENTS: Final = frozenset({EventName.FILE_CREATED, EventName.FILE_EDITED, EventName.FILE_DELETED})
TOOL_EVENTS: Final = frozenset(
    {EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST}
)

# tools that write exactly the files they name
WRITERS: Final = frozenset(
    {
        *("write_file", "edit_file", "multi_edit", "insert_text", "edit_lines", "notebook_edit"),
        *("apply_patch", "delete_file"),
    }
)


def list_event_paths(event: Event) -> tuple[str, ...]:
    """Return the files that an event names."""
    if event.name in FILE_EVENTS:
        return tuple(find_texts([event.data.get("path")]))
    if event.name is EventName.GIT_COMMIT:
        return tuple(find_texts([event.data.get("files")]))
    return list_argument_paths(event.args) if event.tool else ()


def list_argument_paths(args: Mapping[str, object]) -> tuple[str, ...]:
    """Return the files in the arguments of a tool, those of a patch among them."""
    found = list(find_texts(args[key] for key in _PATH_KEYS if key in args))
    for change in list_changes(args):
        found += find_texts(change[key] for key in _PATH_KEYS if key in change)
    patch = args.get("patch")
    if isinstance(patch, str) and (BEGIN in patch or "+++" in patch):
        found += (name for one in parse_changes(patch) or () for name in (one.path, one.to) if name)
    return tuple(dict.fromkeys(found))


def list_changes(args: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Yield the changes that a patch was split into."""
    listed = args.get("changes")
    for change in listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ():
        if isinstance(change, Mapping):
            yield change


def find_texts(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts among some values, and those in lists of them."""
    for value in values:
        if isinstance(value, str) and value:
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
            yield from (item for item in value if isinstance(item, str) and item)
