"""Detect changes of a project's files: notifications of the system, checked against the files.

A notification is only a hint where to look: what is reported follows from comparing each file with its last known
state. So a file that was written twice is one change, one that came and went is none, an editor that replaces the file
edits it, and a lost notification is made up for when everything is compared. Symbolic links are not followed: a link is
neither a file nor a folder here, so there is no way out of the project.
"""

import asyncio
import errno
import hashlib
import os
import re
import stat
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from difflib import unified_diff
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.errors import EngineError
from hookline.files import read_regular_file
from hookline.model.event import EventName
from hookline.sources.gitignore import RULES, GitIgnore
from hookline.trust.files_and_programs import decode_text

# seconds of quiet before changes are looked at (debounce), and the longest wait for it
QUIET: Final = 0.1
LONGEST: Final = 1.0
# seconds between two comparisons where the system sends no notifications
POLLING: Final = 2.0

# From so many hints on, the system may have dropped some: its queue is bounded.
_MANY_HINTS: Final = 512
_SETTLED: Final = 1.0
# On Linux each folder is watched by itself: a recursive watch would follow links and enter ignored folders.
_RECURSIVE: Final = not sys.platform.startswith("linux")

# bytes of one file that is read, and of all cached contents
LARGEST: Final = 262_144
ROOM: Final = 64 * 1024 * 1024

# context lines of a diff, and the most pairs of lines to compare, which bounds its time
_DIFF_CONTEXT: Final = 3
_MOST_PAIRS: Final = 4_000_000

_HUNK_NUMBER: Final = re.compile(r"(?<=[-+])[0-9]+")

# the notified paths, or None where the system sends none, and the round in which they came
Hints = asyncio.Queue[tuple[set[str] | None, int]]
Tell = Callable[[str], None]


class FileStamp(Struct, frozen=True):
    """The metadata of a file: its size in bytes, and its modification time in nanoseconds."""

    size: int
    changed: int


class TreeState(Struct, frozen=True):
    """All files and folders below the watched paths at one moment, relative to the project."""

    files: dict[str, FileStamp]
    folders: frozenset[str]


class FileTree:
    """The files of a project: `known` is their last reported state.

    `paths` restrict the project, and are relative to it.
    """

    def __init__(self, root: str, ignoring: GitIgnore, paths: Iterable[str] = ()) -> None:
        self.root = root
        self.ignoring = ignoring
        self.known: dict[str, FileStamp] = {}
        self.folders: frozenset[str] = frozenset()
        self._paths = tuple(dict.fromkeys(paths)) or ("",)

    def absolute(self, path: str) -> str:
        """Return the absolute path."""
        return f"{self.root}/{path}" if path else self.root

    def walk(self) -> TreeState:
        """Return the present state."""
        files: dict[str, FileStamp] = {}
        folders: set[str] = set()
        for path in self._paths:
            if os.path.isdir(self.absolute(path)):  # noqa: PTH112 - texts all the way down
                self._enter(path, files, folders)
            elif (found := self.stamp(path)) is not None:
                files[path] = found
            if path:
                # the nearest folder is watched as well: the path may be replaced, or removed and created again
                above = _above(path)
                folders.add(next(one for one in above if not one or os.path.isdir(self.absolute(one))))  # noqa: PTH112
        return TreeState(files, frozenset(folders))

    def _enter(self, start: str, files: dict[str, FileStamp], folders: set[str]) -> None:
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            folders.add(folder)
            entries: list[os.DirEntry[str]] = []
            # a folder may be unreadable
            with suppress(OSError), os.scandir(self.absolute(folder)) as scan:
                entries = list(scan)
            for entry in entries:
                name = f"{folder}/{entry.name}" if folder else entry.name
                # a file may have been removed meanwhile
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if not self.ignoring.ignores(name, is_folder=True):
                            waiting.append(name)
                    elif entry.is_file(follow_symlinks=False) and not self.ignoring.ignores(name):
                        files[name] = _stamp(entry.stat(follow_symlinks=False))

    def stamp(self, path: str) -> FileStamp | None:
        """Return the metadata of one file, or None where there is none or it is ignored."""
        try:
            found = os.lstat(self.absolute(path))
        except (OSError, ValueError):
            return None
        return _stamp(found) if stat.S_ISREG(found.st_mode) and not self.ignoring.ignores(path) else None

    def find_changed(self, seen: TreeState) -> set[str]:
        """Return the files that differ from their known state."""
        changed = {path for path, found in seen.files.items() if self.known.get(path) != found}
        return changed | (self.known.keys() - seen.files.keys())

    def find_suspects(self, paths: Iterable[str]) -> set[str]:
        """Return the files that may have changed when files or folders at these paths did."""
        found: set[str] = set()
        gone: set[str] = set()
        for path in paths:
            if path in self.known:
                found.add(path)
            elif path in self.folders:
                gone.add(path)
            elif self._is_within(path) and self.stamp(path) is not None:
                found.add(path)
        if gone:
            found.update(path for path in self.known if any(above in gone for above in _above(path)))
        return found

    def is_new_folder(self, path: str) -> bool:
        """Return whether there is a folder at a path that has to be watched."""
        if not os.path.isdir(self.absolute(path)) or os.path.islink(self.absolute(path)):  # noqa: PTH112, PTH114 - texts
            return False
        # a parent of a watched path may have been created again
        is_meant = self._is_within(path) or any(top.startswith(f"{path}/") for top in self._paths)
        return is_meant and not self.ignoring.ignores(path, is_folder=True)

    def is_removed_folder(self, path: str) -> bool:
        """Return whether a watched folder at a path was removed."""
        return path in self.folders and not os.path.isdir(self.absolute(path))  # noqa: PTH112 - texts

    def _is_within(self, path: str) -> bool:
        return any(not top or path == top or path.startswith(f"{top}/") for top in self._paths)

    def set_rules(self, ignoring: GitIgnore) -> None:
        """Set the rules: files that are no longer ignored count as known, and newly ignored ones are forgotten."""
        before, self.ignoring = self.ignoring, ignoring
        for path, found in self.walk().files.items():
            if path not in self.known and before.ignores(path):
                self.known[path] = found
        # this runs in a thread, and the event loop may change `known` meanwhile
        for path in [path for path in list(self.known) if ignoring.ignores(path)]:
            self.known.pop(path, None)


def is_rules_file(path: str) -> bool:
    """Return whether a file holds rules about ignored files."""
    return path.rpartition("/")[2] == RULES


def _stamp(found: os.stat_result) -> FileStamp:
    return FileStamp(found.st_size, found.st_mtime_ns)


def _above(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


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


def read_content(path: str) -> bytes | None:
    """Return the content of a file, or None where it is too large, cannot be read, or is no regular file."""
    # a link could lead anywhere
    raw = read_regular_file(path, LARGEST + 1, follow_link=False)
    return raw if raw is not None and len(raw) <= LARGEST else None


def diff(path: str, before: str, now: str) -> str:
    """Return a diff as `diff -u` prints it; very large differences are one replaced piece."""
    old, new = _lines(before), _lines(now)
    if old == new:
        return ""
    head = _alike(old, new)
    tail = min(_alike(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    # of equal lines at both ends only those are compared that are shown
    start, lead, trail = max(head - _DIFF_CONTEXT, 0), min(head, _DIFF_CONTEXT), min(tail, _DIFF_CONTEXT)
    old, new = old[start : len(old) - tail + trail], new[start : len(new) - tail + trail]
    if len(old) * len(new) <= _MOST_PAIRS:
        shown = [*unified_diff(old, new, n=_DIFF_CONTEXT)][2:]
        # its line numbers count from the first line that is compared
        shown = [
            _HUNK_NUMBER.sub(lambda found: str(int(found[0]) + start), line) if line[0] == "@" else line
            for line in shown
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


class Batch(Struct, frozen=True):
    """Files that may have changed, the round of hooks in which the hint came, and whether there was a hint at all."""

    paths: set[str]
    number: int
    is_hint: bool = False


class Change(Struct, frozen=True, kw_only=True):
    """One change of a file, with the data of its event. `changed` is in milliseconds since the epoch."""

    event: EventName
    path: str
    changed: int
    size: int | None = None
    before: bytes | None = None
    now: bytes | None = None
    is_read: bool = True

    def data(self) -> dict[str, object]:
        """Return the data of the event, with content and diff, or the reason why one is omitted."""
        made: dict[str, object] = {"path": self.path, "changed": self.changed}
        if self.size is None:
            return made
        made["size"] = self.size
        text = decode_text(self.now)
        if text is None:
            why = "it is not text" if self.now is not None else "it cannot be read"
            if self.now is None and self.size > LARGEST:
                why = f"it is larger than {LARGEST // 1024} KB"
            return made | ({"content_omitted": why} if self.is_read else {})
        made["content"] = text
        if self.event is not EventName.FILE_EDITED:
            return made
        before = decode_text(self.before)
        if before is None:
            return made | {"diff_omitted": "what the file said before is not known"}
        return made | {"diff": diff(self.path, before, text)}


class FileMonitor:
    """Watches the files of a project.

    `number` returns the round of hooks in which a change arrives, and `tell` gets messages about problems.
    """

    def __init__(
        self,
        tree: FileTree,
        *,
        rules: Callable[[], GitIgnore],
        number: Callable[[], int],
        tell: Tell,
        quiet: float = QUIET,
        room: int = ROOM,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._number = number
        self._tell = tell
        self._quiet = quiet
        self._cache = ContentCache(room)

    async def start(self, *, read: bool) -> int:
        """Take the present state as known, with `read` also the contents; return the number of files."""
        seen = await asyncio.to_thread(self._tree.walk)
        self._tree.known = dict(seen.files)
        self._tree.folders = seen.folders
        if read:
            await self.read_all()
        return len(seen.files)

    async def read_all(self) -> None:
        """Cache the contents of files as long as there is room, so that the first edit has a diff."""
        for path, found in sorted(self._tree.known.items()):
            if self._cache.is_full:
                return
            if found.size <= LARGEST and self._cache.before(path) is None:
                raw = await asyncio.to_thread(read_content, self._tree.absolute(path))
                # a change in between is reported as a change
                if raw is not None and self._tree.known.get(path) == self._tree.stamp(path):
                    self._cache.keep(path, raw)

    async def look(self, path: str, *, read: bool) -> Change | None:
        """Compare a file with its known state and update that; return the change, or None.

        With `read` its content is compared, so that a file that was only touched has not changed.
        """
        found = self._tree.stamp(path)
        raw = None
        if found is not None and read and found.size <= LARGEST:
            raw = await asyncio.to_thread(read_content, self._tree.absolute(path))
        known = self._tree.known.get(path)
        if found is None:
            self._tree.known.pop(path, None)
            self._cache.forget(path)
            if known is None:
                return None
            return Change(event=EventName.FILE_DELETED, path=path, changed=int(time.time() * 1000))
        before = self._cache.before(path)
        same = self._cache.is_same(path, raw) if raw is not None else None
        self._tree.known[path] = found
        if known is not None and (known == found if same is None else same):
            return None
        if raw is None:
            self._cache.forget(path)
        else:
            self._cache.keep(path, raw)
        return Change(
            event=EventName.FILE_CREATED if known is None else EventName.FILE_EDITED,
            path=path,
            changed=found.changed // 1_000_000,
            size=len(raw) if raw is not None else found.size,
            before=before,
            now=raw,
            is_read=read,
        )

    def event_name(self, path: str) -> EventName | None:
        """Return the event for a file, judged by its metadata, or None where it has not existed."""
        known, found = self._tree.known.get(path), self._tree.stamp(path)
        if found is None:
            return EventName.FILE_DELETED if known is not None else None
        return EventName.FILE_CREATED if known is None else EventName.FILE_EDITED

    async def changes(self) -> AsyncGenerator[Batch, None]:
        """Yield the files that may have changed, as it happens.

        Raises:
            EngineError: The project was removed.
        """
        number = 0
        while True:
            hints: Hints = asyncio.Queue()
            listening = asyncio.create_task(self._listen(hints))
            try:
                # the watch starts before the comparison: a change in between is seen by one of the two
                await asyncio.sleep(0)
                started, watched = time.monotonic(), self._tree.folders
                yield Batch(await self._compare(), number)
                if self._tree.folders <= watched:
                    async for batch in self._batches(hints):
                        yield batch
                        number = batch.number
                # folders were added: restart at most once a second
                await asyncio.sleep(max(0.0, _SETTLED - (time.monotonic() - started)))
            finally:
                listening.cancel()
                with suppress(asyncio.CancelledError):
                    await listening

    async def _compare(self) -> set[str]:
        tree = self._tree
        if not os.path.isdir(tree.root):  # noqa: PTH112, ASYNC240 - one look at a text
            raise EngineError(f"{tree.root} is not there any more; nothing is watched")
        seen = await asyncio.to_thread(tree.walk)
        tree.folders = seen.folders
        return tree.find_changed(seen)

    async def _listen(self, hints: Hints) -> None:
        """Queue the notifications of the system; where there are none, queue None periodically."""
        from watchfiles import awatch  # noqa: PLC0415 - takes time to import

        folders = [self._tree.absolute(folder) for folder in ([""] if _RECURSIVE else sorted(self._tree.folders))]
        before = _inotify_watches()
        try:
            watching = awatch(
                *folders,
                watch_filter=None,
                debounce=int(max(LONGEST, self._quiet) * 1000),
                step=int(self._quiet * 1000),
                recursive=_RECURSIVE,
                ignore_permission_denied=True,
            )
            async with aclosing(watching):
                first = asyncio.ensure_future(anext(watching, None))
                # the first step of the generator starts the watch before it waits
                await asyncio.sleep(0)
                try:
                    if before is not None and not first.done():
                        _check_watches(folders, before)
                    changes = await first
                finally:
                    first.cancel()
                    with suppress(asyncio.CancelledError, StopAsyncIteration):
                        await first
                while changes is not None:
                    hints.put_nowait(({path for _, path in changes}, self._number()))
                    changes = await anext(watching, None)
        except (FileNotFoundError, ExceptionGroup):
            # a folder was removed before it was watched, or the library cannot decode a name: compare everything
            hints.put_nowait(({self._tree.root}, self._number()))
        except (OSError, RuntimeError) as problem:
            self._tell(f"the system does not tell of changes ({problem}); files are compared every {POLLING:g} seconds")
            while True:
                await asyncio.sleep(POLLING)
                hints.put_nowait((None, self._number()))

    async def _batches(self, hints: Hints) -> AsyncGenerator[Batch, None]:
        """Yield the files behind the hints, until other folders have to be watched."""
        may_have_missed, number, root = False, 0, _identity(self._tree.root)
        while True:
            try:
                async with asyncio.timeout(_SETTLED if may_have_missed else POLLING):
                    hinted, number = await hints.get()
            except TimeoutError:
                if _identity(self._tree.root) != root:
                    # a replaced root sends no notifications as long as a process keeps the old one open
                    yield Batch(await self._compare(), number)
                    return
                if not may_have_missed:
                    continue
                may_have_missed = False
                yield Batch(await self._compare(), number)
                continue
            if hinted is None:
                changed = await self._compare()
                yield Batch(changed, number)
                await self._apply_rules(changed)
                continue
            paths = self._relative(hinted)
            yield Batch(self._tree.find_suspects(paths), number, is_hint=True)
            is_other = await self._apply_rules(paths) or "" in paths
            if is_other or any(self._tree.is_new_folder(path) or self._tree.is_removed_folder(path) for path in paths):
                yield Batch(await self._compare(), number)
                return
            may_have_missed = may_have_missed or len(hinted) >= _MANY_HINTS or hints.qsize() > 0

    async def _apply_rules(self, paths: Iterable[str]) -> bool:
        """Reload the rules about ignored files where one of their files changed; return whether."""
        if not any(map(is_rules_file, paths)):
            return False
        rules = self._rules()
        await asyncio.to_thread(self._tree.set_rules, rules)
        return True

    def _relative(self, paths: Iterable[str]) -> set[str]:
        top = f"{self._tree.root}/"
        return {path.removeprefix(top) if path != self._tree.root else "" for path in paths}


def _inotify_watches() -> dict[str, int] | None:
    """Return how many folders the system watches for this program, by descriptor; None where the system does not say."""
    if not sys.platform.startswith("linux"):
        return None
    counts: dict[str, int] = {}
    try:
        for file in Path("/proc/self/fdinfo").iterdir():
            with suppress(FileNotFoundError):
                if count := file.read_bytes().count(b"inotify wd:"):
                    counts[file.name] = count
    except OSError:
        return None
    return counts


def _check_watches(folders: Sequence[str], before: Mapping[str, int]) -> None:
    """Check that the system watches every folder: at its limit it leaves some out silently.

    Raises:
        OSError: It does not watch all of them.
    """
    # a folder may have two names, and an unreadable folder cannot be watched
    wanted = {_identity(folder) for folder in folders if os.access(folder, os.R_OK)} - {None}
    watched = sum(count for name, count in (_inotify_watches() or {}).items() if name not in before)
    if watched < len(wanted):
        raise OSError(
            errno.ENOSPC, f"{watched} of {len(wanted)} folders are watched, see /proc/sys/fs/inotify/max_user_watches"
        )


def _identity(path: str) -> tuple[int, int] | None:
    """Return device and inode, which tell a folder from a later one of the same name."""
    try:
        found = os.stat(path)  # noqa: PTH116 - one look at a text
    except OSError:
        return None
    return found.st_dev, found.st_ino
