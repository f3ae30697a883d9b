"""The approval prompt: asks at the terminal, and nowhere else, before an unapproved hook runs."""

import argparse
import os
from typing import Final

from hookline.cli._terminal import Terminal, open_terminal
from hookline.errors import EngineError
from hookline.model.hook import Hook
from hookline.text import escape_all, shell_quote
from hookline.trust.approval_store import Approval
from hookline.trust.policy import ONCE, TrustedHooks

_ASK_TO_RUN: Final = (
    "Run it? [y] once  [a] always, as it is now  [n] no  [s] show the script  [d] show all changes  (n) "
)
_ASK_TO_STORE: Final = "Approve it, as it is now? [y] yes  [n] no  [s] show the script  [d] show all changes  (n) "

_YES: Final = {"y": "y", "yes": "y", "a": "a", "always": "a"}
_NO: Final = frozenset({"", "n", "no", "q", "quit"})


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
            if answer == "a":
                self._store(hook, digest)
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

    def _store(self, hook: Hook, digest: str) -> None:
        """Store an approval while the terminal is locked: another process that waits for it looks there first."""
        try:
            self._trust.approve(hook, cwd=self._cwd, digest=digest)
        except EngineError as problem:
            # the answer still counts for this run, unless the engine sees that the hook has changed
            self._terminal.show([f"  not remembered: {escape_all(str(problem))}"])
        else:
            self._terminal.show([f"  approved; `hookline trust revoke {shell_quote(hook.id)}` takes it back"])

    async def _ask(self, hook: Hook, digest: str, *, prompt: str) -> str:
        """Show the approval screen and wait for a known answer: "y", "a", or "" for no."""
        from hookline.cli._approval_screen import ApprovalScreen  # noqa: PLC0415 - most events ask nothing

        screen = ApprovalScreen.build(hook, self._trust, cwd=self._cwd)
        if screen.digest != digest:
            return self._refuse_changed(hook)
        if not screen.clearance.reason_denied:
            # approved elsewhere while this process waited for the terminal
            return "y"
        self._terminal.show(screen.lay_out_question(self._terminal.columns - 1))
        while (answer := await self._terminal.ask(prompt)) is not None and answer not in _NO:
            if answer in _YES:
                # TOCTOU: the files may have changed while the user looked at them
                now = self._trust.fingerprint(hook, cwd=self._cwd)
                return _YES[answer] if screen.is_current(now) else self._refuse_changed(hook)
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


def add_no_input_option(parser: argparse.ArgumentParser) -> None:
    """Add `--no-input`."""
    parser.add_argument("--no-input", action="store_true", help="never ask; hooks that nobody approved do not run")
