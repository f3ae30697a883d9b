"""What happens to a project's files: told by the system, and checked against what is there.

The system's word is only a hint where to look: what is reported follows from comparing each file with what was last
told of it. So a file that was written twice is one change, one that came and went is none, an editor that puts a new
file in the place of the old one edits it, and a hint that got lost is found when everything is compared.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from hookline.errors import EngineError
from hookline.model.event import EventName
from hookline.sources import contents
from hookline.sources.contents import Contents
from hookline.sources.ignoring import Ignoring
from hookline.sources.tree import Stamp, Tree, is_rule

# how long it has to be quiet before changes are looked at, and how long that is waited for at most, in seconds
QUIET: Final = 0.1
LONGEST: Final = 1.0
# how often everything is compared where the system tells nothing
POLLING: Final = 2.0

# From so many hints on the system may have dropped some without a word: its queue has an end.
_MANY: Final = 512
_SETTLED: Final = 1.0
# On Linux each folder is watched by itself: the system's own way down would follow links, and enter what is ignored.
_RECURSIVE: Final = not sys.platform.startswith("linux")

# what the system said, None where it says nothing, and the round in which it did
Hints = asyncio.Queue[tuple[set[str] | None, int]]
Tell = Callable[[str], None]


class Batch(Struct, frozen=True):
    """Files that may have changed, the round of hooks in which the hint came, and whether there was one at all."""

    paths: set[str]
    number: int
    is_hint: bool = False


class Change(Struct, frozen=True, kw_only=True):
    """One file that is not as it was: what an event about it says. `changed` counts milliseconds since the epoch."""

    event: EventName
    path: str
    changed: int
    size: int | None = None
    before: bytes | None = None
    now: bytes | None = None
    is_read: bool = True

    def data(self) -> dict[str, object]:
        """Make the data of the event, with the text and what is different in it; what is left out is said."""
        made: dict[str, object] = {"path": self.path, "changed": self.changed}
        if self.size is None:
            return made
        made["size"] = self.size
        text = contents.text_of(self.now) if self.now is not None else None
        if text is None:
            return made | ({"content_omitted": self._why_no_content()} if self.is_read else {})
        made["content"] = text
        if self.event is not EventName.FILE_EDITED:
            return made
        before = contents.text_of(self.before) if self.before is not None else None
        if before is None:
            return made | {"diff_omitted": "what the file said before is not known"}
        return made | {"diff": contents.diff(self.path, before, text)}

    def _why_no_content(self) -> str:
        if self.now is not None:
            return "it is not text"
        is_large = self.size is not None and self.size > contents.LARGEST
        return f"it is larger than {contents.LARGEST // 1024} KB" if is_large else "it cannot be read"


class Files:
    """The files of a project that are watched.

    `number` says in which round of hooks a change comes, and `tell` takes a line about what is wrong.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        rules: Callable[[], Ignoring],
        number: Callable[[], int],
        tell: Tell,
        quiet: float = QUIET,
        room: int = contents.ROOM,
    ) -> None:
        self._tree = tree
        self._rules = rules
        self._number = number
        self._tell = tell
        self._quiet = quiet
        self._contents = Contents(room)

    async def start(self, *, read: bool) -> int:
        """Take what is there for known, with `read` also what is in it; give how many files there are."""
        seen = await asyncio.to_thread(self._tree.walk)
        self._tree.known = dict(seen.files)
        self._tree.folders = seen.folders
        if read:
            await self.read_all()
        return len(seen.files)

    async def read_all(self) -> None:
        """Read what is not too large, as long as there is room: the first edit has a diff, too."""
        for path, found in sorted(self._tree.known.items()):
            if self._contents.is_full:
                return
            if found.size <= contents.LARGEST and self._contents.before(path) is None:
                raw = await asyncio.to_thread(contents.read, self._tree.whole(path))
                # what changed in between is told as a change
                if raw is not None and self._tree.known.get(path) == self._tree.stamp(path):
                    self._contents.keep(path, raw)

    async def look(self, path: str, *, read: bool) -> Change | None:
        """Compare a file with what was told of it, and take what is there now for told; None when it is the same.

        With `read` also its content is looked at, which says of a file that was only touched that it is the same.
        """
        found = self._tree.stamp(path)
        raw = None
        if found is not None and read and found.size <= contents.LARGEST:
            raw = await asyncio.to_thread(contents.read, self._tree.whole(path))
        told = self._tree.known.get(path)
        if found is None:
            return self._gone(path) if told is not None else None
        before = self._contents.before(path)
        if told is not None and self._is_same(path, told, found, raw):
            self._tree.known[path] = found
            return None
        self._tree.known[path] = found
        self._remember(path, raw)
        return Change(
            event=EventName.FILE_CREATED if told is None else EventName.FILE_EDITED,
            path=path,
            changed=found.changed // 1_000_000,
            size=len(raw) if raw is not None else found.size,
            before=before,
            now=raw,
            is_read=read,
        )

    def event_of(self, path: str) -> EventName | None:
        """Say what an event about a file would be called, from outside; None when there is nothing to say."""
        told, found = self._tree.known.get(path), self._tree.stamp(path)
        if found is None:
            return EventName.FILE_DELETED if told is not None else None
        return EventName.FILE_CREATED if told is None else EventName.FILE_EDITED

    def _gone(self, path: str) -> Change:
        self._tree.known.pop(path, None)
        self._contents.forget(path)
        return Change(event=EventName.FILE_DELETED, path=path, changed=int(time.time() * 1000))

    def _is_same(self, path: str, told: Stamp, found: Stamp, raw: bytes | None) -> bool:
        same = self._contents.is_same(path, raw) if raw is not None else None
        return told == found if same is None else same

    def _remember(self, path: str, raw: bytes | None) -> None:
        if raw is None:
            self._contents.forget(path)
        else:
            self._contents.keep(path, raw)

    async def changes(self) -> AsyncGenerator[Batch, None]:
        """Name the files that may have changed, as it happens, until nobody wants to know any more.

        Raises:
            EngineError: The project is not there any more.
        """
        number = 0
        while True:
            hints: Hints = asyncio.Queue()
            listening = asyncio.create_task(self._listen(hints))
            try:
                # the watch is set before everything is compared: what happens in between is in one of the two
                await asyncio.sleep(0)
                started, watched = time.monotonic(), self._tree.folders
                yield Batch(await self._compare(), number)
                if self._tree.folders <= watched:
                    async for batch in self._heard(hints):
                        yield batch
                        number = batch.number
                # folders came: not more than once a second, whatever makes them
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
        return tree.different(seen)

    async def _listen(self, hints: Hints) -> None:
        """Hand on what the system says; where it cannot, say None now and then."""
        from watchfiles import awatch  # noqa: PLC0415 - only whoever watches files needs it

        folders = [""] if _RECURSIVE else sorted(self._tree.folders)
        try:
            async for changes in awatch(
                *map(self._tree.whole, folders),
                watch_filter=None,
                debounce=int(max(LONGEST, self._quiet) * 1000),
                step=int(self._quiet * 1000),
                recursive=_RECURSIVE,
                ignore_permission_denied=True,
            ):
                hints.put_nowait(({path for _, path in changes}, self._number()))
        except (FileNotFoundError, ExceptionGroup):
            # A folder went between looking and watching, or a file came whose name the library cannot say: everything
            # is looked at again.
            hints.put_nowait(({self._tree.root}, self._number()))
        except (OSError, RuntimeError) as problem:
            self._tell(f"the system does not tell of changes ({problem}); files are compared every {POLLING:g} seconds")
            while True:
                await asyncio.sleep(POLLING)
                hints.put_nowait((None, self._number()))

    async def _heard(self, hints: Hints) -> AsyncGenerator[Batch, None]:
        """Turn hints into files, until there are folders that have to be watched, too."""
        doubtful, number, root = False, 0, _identity(self._tree.root)
        while True:
            try:
                async with asyncio.timeout(_SETTLED if doubtful else POLLING):
                    heard, number = await hints.get()
            except TimeoutError:
                if _identity(self._tree.root) != root:
                    # as long as a program is in it, the system keeps the old folder, and says nothing
                    yield Batch(await self._compare(), number)
                    return
                if not doubtful:
                    continue
                doubtful = False
                yield Batch(await self._compare(), number)
                continue
            if heard is None:
                changed = await self._compare()
                yield Batch(changed, number)
                await self._obey(changed)
                continue
            paths = self._counted(heard)
            yield Batch(self._tree.suspects(paths), number, is_hint=True)
            is_other = await self._obey(paths) or "" in paths
            if is_other or any(self._tree.is_news(path) or self._tree.is_gone(path) for path in paths):
                yield Batch(await self._compare(), number)
                return
            doubtful = doubtful or len(heard) >= _MANY or hints.qsize() > 0

    async def _obey(self, paths: Iterable[str]) -> bool:
        """Take other rules about what to ignore, if there are any."""
        if not any(map(is_rule, paths)):
            return False
        rules = self._rules()
        await asyncio.to_thread(self._tree.obey, rules)
        return True

    def _counted(self, paths: Iterable[str]) -> set[str]:
        top = f"{self._tree.root}/"
        return {path.removeprefix(top) if path != self._tree.root else "" for path in paths}


def _identity(path: str) -> tuple[int, int] | None:
    """Tell a folder from another one that has its name later."""
    try:
        found = os.stat(path)  # noqa: PTH116 - one look at a text
    except OSError:
        return None
    return found.st_dev, found.st_ino
