"""The user's terminal: shows text and asks questions, apart from stdin and stdout."""

import asyncio
import locale
import os
import select
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

from hookline.text import escape, wrap

_DEVICE: Final = "/dev/tty"
_NEXT_LOOK: Final = 0.05
_LONGEST_ANSWER: Final = 4096
_NARROWEST: Final = 40
_USUAL: Final = (100, 30)
_NO: Final = frozenset({"", "0", "false", "no"})


class Terminal:
    """The controlling terminal. Stdin and stdout are left alone: they may carry data of other programs."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @property
    def columns(self) -> int:
        """How wide a line may be."""
        return max(_NARROWEST, self._size()[0])

    @property
    def rows(self) -> int:
        """How many lines fit."""
        return max(10, self._size()[1])

    def _size(self) -> tuple[int, int]:
        try:
            columns, rows = os.get_terminal_size(self._handle)
        except OSError:
            return _USUAL
        return (columns or _USUAL[0], rows or _USUAL[1])

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Lock the terminal: of two processes that ask at once, one could get the other's answer."""
        import fcntl  # noqa: PLC0415 - not on Windows, where no terminal is opened

        while not self._flock(fcntl.LOCK_EX | fcntl.LOCK_NB):  # noqa: ASYNC110 - another process holds the lock
            await asyncio.sleep(_NEXT_LOOK)
        try:
            yield
        finally:
            self._flock(fcntl.LOCK_UN)

    def _flock(self, how: int) -> bool:
        import fcntl  # noqa: PLC0415 - not on Windows, where no terminal is opened

        try:
            fcntl.flock(self._handle, how)
        except BlockingIOError:
            return False
        except OSError:
            # a system that cannot lock terminals: rather ask than wait forever
            return True
        return True

    def show(self, lines: Iterable[str]) -> None:
        """Show lines, escaped and wrapped."""
        for line in lines:
            self._write("".join(f"{piece}\n" for piece in wrap(_one_line(line), self.columns - 1)))

    async def page(self, lines: list[str]) -> None:
        """Show lines page by page; the user turns the pages."""
        step = self.rows - 2
        for start in range(0, len(lines), step):
            self.show(lines[start : start + step])
            left = len(lines) - start - step
            if left > 0 and (await self.ask(f"-- {left} more lines: Enter goes on, q ends -- ")) not in {"", "n"}:
                return

    async def ask(self, prompt: str) -> str | None:
        """Print a prompt and return the line that the user types; None when the terminal is gone.

        Input that was typed before the prompt is discarded: it is no answer to it.
        """
        import termios  # noqa: PLC0415 - not on Windows, where no terminal is opened

        with suppress(termios.error):
            termios.tcflush(self._handle, termios.TCIFLUSH)
        self._write(_one_line(prompt))
        # polled from the event loop, not read in a thread, so that a signal can end the program
        while not select.select([self._handle], [], [], 0)[0]:  # noqa: ASYNC110 - not every loop can watch a terminal
            await asyncio.sleep(_NEXT_LOOK)
        try:
            raw = os.read(self._handle, _LONGEST_ANSWER)
        except OSError:
            raw = b""
        if not raw:
            self._write("\n")
            return None
        return raw.split(b"\n")[0].decode("utf-8", "replace").strip().lower()

    def close(self) -> None:
        """Close the terminal."""
        os.close(self._handle)

    def _write(self, text: str) -> None:
        # in the terminal's encoding: bytes of another encoding could be control characters in it
        raw = text.encode(locale.getencoding(), "backslashreplace")
        with suppress(OSError):
            while raw:
                raw = raw[os.write(self._handle, raw) :]


def _one_line(text: str) -> str:
    return escape(text).replace("\n", " ")


def open_terminal(environ: Mapping[str, str]) -> Terminal | None:
    """Open the controlling terminal; None when the user cannot be asked.

    That is so in CI, in the background, where reading would stop the process, and while a full-screen program, such as
    an agent, has the terminal in raw mode.
    """
    if environ.get("CI", "").lower() not in _NO:
        return None
    try:
        import termios  # noqa: PLC0415 - not on Windows

        handle = os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    try:
        is_foreground = os.tcgetpgrp(handle) == os.getpgrp()
        is_canonical = bool(termios.tcgetattr(handle)[3] & termios.ICANON)
    except (OSError, termios.error):
        is_foreground = is_canonical = False
    if is_foreground and is_canonical:
        return Terminal(handle)
    os.close(handle)
    return None
