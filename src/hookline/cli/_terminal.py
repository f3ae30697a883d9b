"""The person at the terminal: shown text, asked, and never taken for a program."""

import asyncio
import locale
import os
import select
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

from hookline.display import escape, wrapped

_DEVICE: Final = "/dev/tty"
_NEXT_LOOK: Final = 0.05
_LONGEST_ANSWER: Final = 4096
_NARROWEST: Final = 40
_USUAL: Final = (100, 30)
_NO: Final = frozenset({"", "0", "false", "no"})


class Terminal:
    """A terminal that a person sits at. Stdin and stdout are left alone: they may be somebody's data."""

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
    async def turn(self) -> AsyncIterator[None]:
        """Have the terminal to ourselves: of two programs that ask at once, one could get the other's answer."""
        import fcntl  # noqa: PLC0415 - not on Windows, where no terminal is opened

        while not self._taken(fcntl.LOCK_EX | fcntl.LOCK_NB):  # noqa: ASYNC110 - another program lets go of it
            await asyncio.sleep(_NEXT_LOOK)
        try:
            yield
        finally:
            self._taken(fcntl.LOCK_UN)

    def _taken(self, how: int) -> bool:
        import fcntl  # noqa: PLC0415 - not on Windows, where no terminal is opened

        try:
            fcntl.flock(self._handle, how)
        except BlockingIOError:
            return False
        except OSError:
            # a system that locks no terminals; better to ask than to wait forever
            return True
        return True

    def show(self, lines: Iterable[str]) -> None:
        """Show lines; what is not on them when they come here does not get on the screen."""
        for line in lines:
            self._write("".join(f"{piece}\n" for piece in wrapped(_one_line(line), self.columns - 1)))

    async def page(self, lines: list[str]) -> None:
        """Show lines as they fit, and go on when the person says so."""
        step = self.rows - 2
        for start in range(0, len(lines), step):
            self.show(lines[start : start + step])
            left = len(lines) - start - step
            if left > 0 and (await self.answer(f"-- {left} more lines: Enter goes on, q ends -- ")) not in {"", "n"}:
                return

    async def answer(self, prompt: str) -> str | None:
        """Ask, and wait for a line; None when there is nobody any more.

        What was typed before the question was there is no answer to it.
        """
        self._forget_typed()
        self._write(_one_line(prompt))
        # looked at from the loop, not from a thread: whoever ends the program must not wait for an answer
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
        """Let go of the terminal."""
        os.close(self._handle)

    def _forget_typed(self) -> None:
        import termios  # noqa: PLC0415 - not on Windows, where no terminal is opened

        with suppress(termios.error):
            termios.tcflush(self._handle, termios.TCIFLUSH)

    def _write(self, text: str) -> None:
        # in the terminal's own encoding: bytes of another one could be control characters of this one
        raw = text.encode(locale.getencoding(), "backslashreplace")
        with suppress(OSError):
            while raw:
                raw = raw[os.write(self._handle, raw) :]


def _one_line(text: str) -> str:
    return escape(text).replace("\n", " ")


def open_terminal(environ: Mapping[str, str]) -> Terminal | None:
    """Open the terminal of the person who waits for this program; None when there is none.

    Nobody is asked in CI, from the background, where reading would stop the program, or while another program
    has the screen for itself, as agents with a full-screen interface do.
    """
    if environ.get("CI", "").lower() not in _NO:
        return None
    try:
        import termios  # noqa: PLC0415 - not on Windows

        handle = os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    try:
        in_front = os.tcgetpgrp(handle) == os.getpgrp()
        in_lines = bool(termios.tcgetattr(handle)[3] & termios.ICANON)
    except (OSError, termios.error):
        in_front = in_lines = False
    if in_front and in_lines:
        return Terminal(handle)
    os.close(handle)
    return None
