"""Ask the user at the terminal, and nowhere else, apart from stdin and stdout: also for approval of a hook."""

import asyncio
import locale
import os
import select
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from hookline.cli._command import flag
from hookline.errors import ConfigError, EngineError
from hookline.model.hook import Hook
from hookline.text import escape, escape_all, shell_quote, wrap
from hookline.trust.approval_store import Approval
from hookline.trust.policy import ONCE, TrustedHooks

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


_ASK_TO_RUN: Final = (
    "Run it? [y] once  [a] always, as it is now  [n] no  [s] show the script  [d] show all changes  (n) "
)
_ASK_TO_STORE: Final = "Approve it, as it is now? [y] yes  [n] no  [s] show the script  [d] show all changes  (n) "

_CHOICES: Final = {"y": "y", "yes": "y", "a": "a", "always": "a"}
_REFUSALS: Final = frozenset({"", "n", "no", "q", "quit"})


NO_INPUT: Final = flag("--no-input", "never ask; hooks without an approval do not run")


class ApprovalPrompt:
    """Ask the user at the terminal about one hook after another.

    An engine takes it as its `approve`; `set_context` names the trust policy and the folder to ask about.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._trust = TrustedHooks()
        self._cwd = ""

    def set_context(self, trust: TrustedHooks, *, cwd: str = "") -> None:
        """Set the trust policy that knows the hooks, and the folder they would run in."""
        self._trust = trust
        self._cwd = cwd

    async def __call__(self, hook: Hook, digest: str) -> bool | str:
        """Ask whether the hook may run: once, always in this form, or not."""
        async with self._terminal.lock():
            answer = await self._ask(hook, digest, prompt=_ASK_TO_RUN)
            # stored while the terminal is locked: another process that waits for it looks there first
            if answer == "a":
                try:
                    self._trust.approve(hook, cwd=self._cwd, digest=digest)
                    text = f"approved; `hookline trust revoke {shell_quote(hook.id)}` takes it back"
                except EngineError as problem:
                    # the answer still counts for this run, unless the engine sees that the hook has changed
                    text = f"not remembered: {escape_all(str(problem))}"
                self._terminal.show([f"  {text}"])
        return ONCE if answer else False

    async def ask_to_store(self, hook: Hook, digest: str, *, note: str = "") -> Approval | None:
        """Ask whether the hook may run from now on, and store a yes; return None for a no.

        Raises:
            ConfigError: The hook changed while the user looked at it.
            StoreError: The approvals cannot be written.
        """
        async with self._terminal.lock():
            if not await self._ask(hook, digest, prompt=_ASK_TO_STORE):
                return None
            return self._trust.approve(hook, cwd=self._cwd, digest=digest, note=note)

    async def _ask(self, hook: Hook, digest: str, *, prompt: str) -> str:
        """Show the approval screen and wait for a known answer: "y", "a", or "" for no."""
        from hookline.views.approval_screen import ApprovalScreen  # noqa: PLC0415 - most events ask nothing

        screen = ApprovalScreen.build(hook, self._trust, cwd=self._cwd)
        if screen.digest != digest:
            return self._refuse_changed(hook)
        if not screen.clearance.reason_denied:
            # approved elsewhere while this process waited for the terminal
            return "y"
        self._terminal.show(screen.lay_out_question(self._terminal.columns - 1))
        while (answer := await self._terminal.ask(prompt)) is not None and answer not in _REFUSALS:
            if answer in _CHOICES:
                # TOCTOU: the files may have changed while the user looked at them
                now = self._trust.fingerprint(hook, cwd=self._cwd)
                return _CHOICES[answer] if screen.is_current(now) else self._refuse_changed(hook)
            details = screen.lay_out_details(answer, self._terminal.columns - 1)
            await self._terminal.page(details or ["  please answer with one of the letters"])
        return ""

    def _refuse_changed(self, hook: Hook) -> str:
        self._terminal.show([f"hookline: {escape_all(hook.id)} changed while it was shown; it does not run"])
        return ""


def open_prompt(*, no_input: bool = False) -> ApprovalPrompt | None:
    """Return a prompt at the user's terminal; None when there is none or the user must not be asked."""
    terminal = None if no_input else open_terminal(os.environ)
    return ApprovalPrompt(terminal) if terminal is not None else None


async def confirm(shown: Sequence[str], question: str, *, otherwise: str) -> bool:
    """Show lines, and return whether the user says yes.

    Raises:
        ConfigError: There is no terminal; `otherwise` says what to do then.
    """
    terminal = open_terminal(os.environ)
    if terminal is None:
        raise ConfigError(f"there is no terminal to ask at; {otherwise}")
    try:
        async with terminal.lock():
            terminal.show(shown)
            return (await terminal.ask(f"{question} [y] yes  [n] no  (n) ")) in {"y", "yes"}
    finally:
        terminal.close()
