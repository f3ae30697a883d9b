"""Who was started by this process and is not reaped yet; others than those that a test is about may be among them."""

from contextlib import suppress
from pathlib import Path


def children() -> set[int]:
    """Give the numbers of all children of this process, dead ones included; none where there is no /proc."""
    found: set[int] = set()
    for thread in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # it has ended meanwhile
            found.update(map(int, (thread / "children").read_text("utf-8").split()))
    return found
