"""What files say: read when one changed, remembered to tell what is different the next time."""

import hashlib
import os
import stat
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Final

# of one file that is read, and of all contents that are remembered
LARGEST: Final = 262_144
ROOM: Final = 64 * 1024 * 1024

# lines around what is different, and how many pairs of lines are compared at most: the time that takes has no other bound
_CONTEXT: Final = 3
_MOST: Final = 4_000_000

_Group = list[tuple[str, int, int, int, int]]


class Contents:
    """The contents of files as they were told of, the ones that were not used for longest forgotten first.

    That two contents are the same is known from a digest, which stays when a content is forgotten.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._used = 0
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._digests: dict[str, bytes] = {}

    @property
    def is_full(self) -> bool:
        """Whether one more content could push out another one."""
        return self._used + LARGEST > self._room

    def before(self, path: str) -> bytes | None:
        """Give what a file said when it was told of; None when that is not known."""
        return self._texts.get(path)

    def is_same(self, path: str, raw: bytes) -> bool | None:
        """Say whether a file still says what it said; None when that is not known."""
        digest = self._digests.get(path)
        return digest == _digest(raw) if digest is not None else None

    def keep(self, path: str, raw: bytes) -> None:
        """Remember what a file says."""
        self.forget(path)
        self._digests[path] = _digest(raw)
        self._texts[path] = raw
        self._used += len(raw)
        while self._used > self._room:
            _, oldest = self._texts.popitem(last=False)
            self._used -= len(oldest)

    def forget(self, path: str) -> None:
        """Forget a file that is gone, or that changed without being read."""
        self._digests.pop(path, None)
        self._used -= len(self._texts.pop(path, b""))


def read(path: str) -> bytes | None:
    """Read a file that is not too large; None when it cannot be read, or is no file."""
    # a pipe would keep us waiting, and a link could lead anywhere
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        raw = os.read(handle, LARGEST + 1)
    except OSError:
        return None
    finally:
        os.close(handle)
    return raw if len(raw) <= LARGEST else None


def text_of(raw: bytes) -> str | None:
    """Give the text in a file; None when it is not text."""
    if b"\0" in raw:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def diff(path: str, before: str, now: str) -> str:
    """Say what is different, as `diff -u` does; where nearly everything is, as one piece taken out and one put in."""
    old, new = _lines(before), _lines(now)
    if old == new:
        return ""
    head = _alike(old, new)
    tail = min(_alike(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    # what is the same at both ends is only looked at as far as it is shown
    start, lead, trail = max(head - _CONTEXT, 0), min(head, _CONTEXT), min(tail, _CONTEXT)
    old, new = old[start : len(old) - tail + trail], new[start : len(new) - tail + trail]
    if len(old) * len(new) <= _MOST:
        groups: Iterable[_Group] = SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT)
    else:
        groups = [_at_once(len(old), len(new), lead, trail)]
    shown = [line for group in groups for line in _hunk(group, old, new, start)]
    lines = [f"--- a/{path}\n", f"+++ b/{path}\n", *shown]
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    # a line ends where a program that reads the diff thinks so, not at every mark that Unicode has for it
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _alike(one: list[str], other: list[str]) -> int:
    """Count the lines that are the same from the first one on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _at_once(old: int, new: int, lead: int, trail: int) -> _Group:
    same, left, right = ("equal", 0, lead, 0, lead), old - trail, new - trail
    return [same, ("replace", lead, left, lead, right), ("equal", left, old, right, new)]


def _hunk(group: _Group, old: list[str], new: list[str], start: int) -> Iterator[str]:
    (_, left, _, right, _), (_, _, left_end, _, right_end) = group[0], group[-1]
    yield f"@@ -{_span(start + left, left_end - left)} +{_span(start + right, right_end - right)} @@\n"
    for what, first, end, other, other_end in group:
        if what == "equal":
            yield from (f" {line}" for line in old[first:end])
            continue
        yield from (f"-{line}" for line in old[first:end])
        yield from (f"+{line}" for line in new[other:other_end])


def _span(start: int, count: int) -> str:
    if count == 1:
        return str(start + 1)
    # an empty piece stands behind the line before it
    return f"{start + 1 if count else start},{count}"


def _digest(raw: bytes) -> bytes:
    return hashlib.blake2b(raw, digest_size=16).digest()
