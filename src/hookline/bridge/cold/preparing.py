"""Make ready what the quick way needs; run by a process that nobody waits for, or by a person who installs us."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hookline.bridge.cold import bundle, bundling, snapshots
from hookline.folders import person_folders

# Seconds. What does not last, as where a variable is another at each call, is not made again and again.
_REST: Final = 20.0
# and after these, a change would show
_SETTLED: Final = 2.1


def prepare(words: Sequence[str]) -> int:
    """Make the bundle, and the snapshots of the projects that the words name; the exit code says whether all was made."""
    with _alone() as is_alone:
        made = not is_alone or bundling.is_fresh() or bundling.build()
    for root in map(Path, words):
        if _is_our_turn(root):
            made = snapshots.remember(root) and made
    return 0 if made else 1


@contextmanager
def _alone() -> Iterator[bool]:
    """Keep others from making the same bundle meanwhile; False where somebody does. It ends with whoever holds it."""
    import fcntl  # noqa: PLC0415 - not on Windows, where no launcher starts us

    try:
        handle = os.open(bundle.MARK, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        # where nothing can be written, nothing is made
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def _is_our_turn(root: Path) -> bool:
    """Say whether nobody prepared a project of this person a moment ago, or does so now."""
    mark = person_folders(root).data / snapshots.FOLDER / ".prepared"
    with suppress(OSError):
        if time.time() - mark.stat().st_mtime < _REST:
            return False
    with suppress(OSError):
        is_new = not mark.parent.parent.exists()
        for folder in (mark.parent.parent, mark.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_new:
            # The folders above it have just changed, and what has just changed is looked through at each call. This
            # is the first time for a person, and nobody waits for it.
            time.sleep(_SETTLED)
        handle = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.utime(handle)
        os.close(handle)
    return True
