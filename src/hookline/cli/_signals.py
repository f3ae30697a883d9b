"""How commands run hooks: a terminated command ends its hooks, too."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

TERMINATED: Final = 143


def run_until_terminated(command: Coroutine[Any, Any, int]) -> int:
    """Run a command that runs hooks and return its exit code, 143 after SIGTERM or SIGHUP.

    Hooks run in process groups of their own, so a signal to this process does not reach them.
    """

    async def run() -> int:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            with suppress(NotImplementedError, AttributeError):
                loop.add_signal_handler(getattr(signal, name), task.cancel if task else loop.stop)
        return await command

    try:
        return asyncio.run(run())
    except asyncio.CancelledError:
        return TERMINATED
