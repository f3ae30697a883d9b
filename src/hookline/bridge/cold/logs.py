"""What our modules use of logging, for one call in a process of its own: a warning goes to whoever takes warnings.

To import logging takes as long as half of the interpreter's own start. This stands in its place, under its name.
"""

import sys
from types import TracebackType
from typing import Final, TypeAlias

Info: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]

DEBUG: Final = 10
INFO: Final = 20
WARNING: Final = 30
ERROR: Final = 40


class LogRecord:
    """One complaint."""

    __slots__ = ("args", "exc_info", "levelno", "msg", "name")

    def __init__(self, name: str, level: int, text: str, args: tuple[object, ...], info: Info | None) -> None:
        self.name = name
        self.levelno = level
        self.msg = text
        self.args = args
        self.exc_info = info

    def getMessage(self) -> str:  # noqa: N802 - logging's own name
        """Give the text with what belongs into it."""
        return str(self.msg) % self.args if self.args else str(self.msg)


class Handler:
    """Takes complaints."""

    def __init__(self, level: int = 0) -> None:
        self.level = level

    def emit(self, record: LogRecord) -> None:
        """Take one."""


class Logger:
    """Complains to the handlers of the root."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.handlers: list[Handler] = []

    def debug(self, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Say what nobody asked for: dropped, as by logging itself where nobody did."""

    info = debug

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - logging's own name
        """Say whether anybody would hear it."""
        return level >= WARNING

    def warning(self, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Say that something is wrong."""
        self._say(WARNING, text, args, exc_info)

    def error(self, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Say that something failed."""
        self._say(ERROR, text, args, exc_info)

    def exception(self, text: str, *args: object) -> None:
        """Say that something failed, and how."""
        self._say(ERROR, text, args, sys.exc_info()[1])

    def _say(self, level: int, text: str, args: tuple[object, ...], problem: BaseException | None) -> None:
        info = None if problem is None else (type(problem), problem, problem.__traceback__)
        record = LogRecord(self.name, level, text, args, info)
        for handler in _ROOT.handlers:
            if level >= handler.level:
                handler.emit(record)


_ROOT: Final = Logger("root")


def getLogger(name: str = "") -> Logger:  # noqa: N802 - logging's own name
    """Give who complains under a name."""
    return Logger(name) if name else _ROOT
