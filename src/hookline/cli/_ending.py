"""What becomes of running hooks when somebody ends this program."""

import asyncio
import signal
from contextlib import suppress
from typing import Final

TERMINATED: Final = 143


def end_hooks_with_us() -> None:
    """Let a host that gives up on us end our hooks, too: they run in groups of their own."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(NotImplementedError, AttributeError):
            loop.add_signal_handler(getattr(signal, name), task.cancel if task else loop.stop)
