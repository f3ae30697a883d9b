"""Names for what happens: they sort by time, and two processes, or one after a fork, never give the same."""

import itertools
import os
from typing import Final

# counts for all engines of this program, whose traces may share a database
COUNT: Final = itertools.count(1)

_NONE: Final = (-1, "")
# the last millisecond that had a name, and how all names of it begin: one item, so that threads agree
LAST: Final = [_NONE]


def _forget() -> None:
    LAST[0] = _NONE


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def new_id(milliseconds: int) -> str:
    """Make a name for something that happens now, in milliseconds since the epoch."""
    known = LAST[0]
    if known[0] != milliseconds:
        # the number of a process costs a call of the system, and events come in crowds
        known = LAST[0] = (milliseconds, f"{milliseconds:x}-{os.getpid():x}-")
    return f"{known[1]}{next(COUNT)}"
