"""Collect log warnings per call, to show them to the user: an agent does not show our stderr."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

MOST: Final = 50  # lines of one call


_CURRENT: Final[ContextVar[list[str] | None]] = ContextVar("call_log", default=None)


class _CallHandler(logging.Handler):
    """Assign each warning to the call it is about; those of background threads go to the next call."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.unassigned: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, with the exception if there is one."""
        problem = record.exc_info[1] if record.exc_info else None
        lines = _CURRENT.get()
        lines = self.unassigned if lines is None else lines
        line = f"{record.getMessage()}{f': {problem!r}' if problem is not None else ''}"
        # without repetitions and with a limit: refused callers must not fill the daemon's memory
        if len(lines) < MOST and line not in lines:
            lines.append(line)


@contextmanager
def capture() -> Iterator[list[str]]:
    """Collect the warnings of a call, and earlier ones that belong to no call."""
    root = logging.getLogger()
    handler = next((handler for handler in root.handlers if isinstance(handler, _CallHandler)), None)
    # a process that answers one call has no handler yet
    before = None if handler is not None else root.handlers[:]
    if handler is None:
        handler = _CallHandler()
        root.handlers[:] = [handler]
    lines = handler.unassigned
    if before is None:
        handler.unassigned = []
    token = _CURRENT.set(lines)
    try:
        yield lines
    finally:
        _CURRENT.reset(token)
        if before is not None:
            root.handlers[:] = before


def install() -> None:
    """Collect warnings from now on, and never print them: the daemon answers many calls at once."""
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if isinstance(handler, _CallHandler)] or [_CallHandler()]
