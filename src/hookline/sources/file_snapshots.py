"""The contents of watched files: cached, so that the next change has a diff."""

import hashlib
import re
from collections import OrderedDict
from difflib import unified_diff
from typing import Final

from hookline.trust.file_cache import read_regular_file

# bytes of one file that is read, and of all cached contents
LARGEST: Final = 262_144
ROOM: Final = 64 * 1024 * 1024

# context lines of a diff, and the most pairs of lines to compare, which bounds its time
_CONTEXT: Final = 3
_MOST: Final = 4_000_000

_NUMBER: Final = re.compile(r"(?<=[-+])[0-9]+")


class ContentCache:
    """Cache of the last reported contents, the least recently stored evicted first.

    Equality is decided by a digest, which stays when a content is evicted.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._used = 0
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._digests: dict[str, bytes] = {}

    @property
    def is_full(self) -> bool:
        """Whether one more content could evict another one."""
        return self._used + LARGEST > self._room

    def before(self, path: str) -> bytes | None:
        """Return the last reported content of a file, or None where it is not cached."""
        return self._texts.get(path)

    def is_same(self, path: str, raw: bytes) -> bool | None:
        """Return whether a file still has its last reported content, or None where that is not known."""
        digest = self._digests.get(path)
        return digest == _digest(raw) if digest is not None else None

    def keep(self, path: str, raw: bytes) -> None:
        """Store the content of a file."""
        self.forget(path)
        self._digests[path] = _digest(raw)
        self._texts[path] = raw
        self._used += len(raw)
        while self._used > self._room:
            _, oldest = self._texts.popitem(last=False)
            self._used -= len(oldest)

    def forget(self, path: str) -> None:
        """Remove a file that was deleted, or that changed without being read."""
        self._digests.pop(path, None)
        self._used -= len(self._texts.pop(path, b""))


def read(path: str) -> bytes | None:
    """Return the content of a file, or None where it is too large, cannot be read, or is no regular file."""
    # a link could lead anywhere
    raw = read_regular_file(path, LARGEST + 1, follow_link=False)
    return raw if raw is not None and len(raw) <= LARGEST else None


def decode_text(raw: bytes) -> str | None:
    """Return the text of a content, or None where it is not text."""
    if b"\0" in raw:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def diff(path: str, before: str, now: str) -> str:
    """Return a diff as `diff -u` prints it; very large differences are one replaced piece."""
    old, new = _lines(before), _lines(now)
    if old == new:
        return ""
    head = _alike(old, new)
    tail = min(_alike(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    # of equal lines at both ends only those are compared that are shown
    start, lead, trail = max(head - _CONTEXT, 0), min(head, _CONTEXT), min(tail, _CONTEXT)
    old, new = old[start : len(old) - tail + trail], new[start : len(new) - tail + trail]
    if len(old) * len(new) <= _MOST:
        shown = [*unified_diff(old, new, n=_CONTEXT)][2:]
        # its line numbers count from the first line that is compared
        shown = [
            _NUMBER.sub(lambda found: str(int(found[0]) + start), line) if line[0] == "@" else line for line in shown
        ]
    else:
        shown = [f"@@ -{start + 1},{len(old)} +{start + 1},{len(new)} @@\n"]
        shown += [f" {line}" for line in old[:lead]]
        shown += [f"-{line}" for line in old[lead : len(old) - trail]]
        shown += [f"+{line}" for line in new[lead : len(new) - trail]]
        shown += [f" {line}" for line in old[len(old) - trail :]]
    lines = [f"--- a/{path}\n", f"+++ b/{path}\n", *shown]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    # not splitlines(): programs that read a diff know no line ends but "\n"
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _alike(one: list[str], other: list[str]) -> int:
    """Return the number of equal lines from the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=16).digest()
