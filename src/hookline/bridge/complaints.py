"""What our own parts complain about while a call is answered: nobody could read it on stderr."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

MOST: Final = 50  # lines of one call


class Complaints:
    """The lines of one call."""

    def __init__(self) -> None:
        self.lines: list[str] = []


_OF_THE_CALL: Final[ContextVar[Complaints | None]] = ContextVar("complaints", default=None)


class _Desk(logging.Handler):
    """Take every complaint, and give it to the call that it is about; threads that work for all of them say none."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.strays = Complaints()

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, and of a bug what it was."""
        problem = record.exc_info[1] if record.exc_info else None
        taken = _OF_THE_CALL.get() or self.strays
        line = f"{record.getMessage()}{f': {problem!r}' if problem is not None else ''}"
        # nobody reads the same again and again, and a stranger who knocks all night must not fill our memory
        if len(taken.lines) < MOST and line not in taken.lines:
            taken.lines.append(line)


def begun() -> Complaints:
    """Collect what is complained about from here on in this context, which is for one call; somebody took all before."""
    desk = next(handler for handler in logging.getLogger().handlers if isinstance(handler, _Desk))
    mine = desk.strays
    desk.strays = Complaints()
    _OF_THE_CALL.set(mine)
    return mine


@contextmanager
def collected() -> Iterator[Complaints]:
    """Collect what is complained about while a call is answered, and what nobody was told of before."""
    root = logging.getLogger()
    desk = next((handler for handler in root.handlers if isinstance(handler, _Desk)), None)
    # who answers one call only has this desk for itself
    before = None if desk is not None else root.handlers[:]
    if desk is None:
        desk = _Desk()
        root.handlers[:] = [desk]
    mine = desk.strays
    desk.strays = mine if before is not None else Complaints()
    token = _OF_THE_CALL.set(mine)
    try:
        yield mine
    finally:
        _OF_THE_CALL.reset(token)
        if before is not None:
            root.handlers[:] = before


def take_all() -> None:
    """Have complaints collected from now on, and never shown: many calls are answered at once."""
    root = logging.getLogger()
    root.handlers[:] = [handler for handler in root.handlers if isinstance(handler, _Desk)] or [_Desk()]
