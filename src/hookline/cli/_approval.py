"""The question before a hook runs that nobody approved: asked at a terminal, and nowhere else."""

import argparse
import os
from typing import Final

from hookline.cli._terminal import Terminal, open_terminal
from hookline.core.approvals import Approval
from hookline.core.trust import ONCE, TrustedHooks
from hookline.display import exact, typed
from hookline.errors import EngineError
from hookline.model.hook import Hook

_EVENT: Final = "Run it? [y] once  [a] always, as it is now  [n] no  [s] show the script  [d] show all changes  (n) "
_STORE: Final = "Approve it, as it is now? [y] yes  [n] no  [s] show the script  [d] show all changes  (n) "

_YES: Final = {"y": "y", "yes": "y", "a": "a", "always": "a"}
_NO: Final = frozenset({"", "n", "no", "q", "quit"})


class Question:
    """Ask the person at the terminal about one hook after another.

    It is the `approve` of an engine; `about` tells it whose hooks it is asked about.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._trust = TrustedHooks()
        self._cwd = ""

    def about(self, trust: TrustedHooks, *, cwd: str = "") -> None:
        """Say where the facts about a hook are to be had, and in which folder it would run."""
        self._trust = trust
        self._cwd = cwd

    async def __call__(self, hook: Hook, digest: str) -> bool | str:
        """Ask whether the hook may run: once, always in this form, or not."""
        async with self._terminal.turn():
            answer = await self._asked(hook, digest, prompt=_EVENT)
            if answer == "a":
                self._remember(hook, digest)
        return ONCE if answer else False

    async def approved(self, hook: Hook, digest: str, *, note: str = "") -> Approval | None:
        """Ask whether the hook may run from now on, and remember a yes; None when it is a no.

        Raises:
            ConfigError: The hook changed while the person looked at it.
            StoreError: The approvals cannot be written.
        """
        async with self._terminal.turn():
            if not await self._asked(hook, digest, prompt=_STORE):
                return None
            return self._trust.approve(hook, cwd=self._cwd, digest=digest, note=note)

    def _remember(self, hook: Hook, digest: str) -> None:
        """Remember a yes for good while the turn lasts: a program that waits for it looks there before it asks."""
        try:
            self._trust.approve(hook, cwd=self._cwd, digest=digest)
        except EngineError as problem:
            # what was said holds for this run, unless the engine sees that it is about something else by now
            self._terminal.show([f"  not remembered: {exact(str(problem))}"])
        else:
            self._terminal.show([f"  approved; `hookline trust revoke {typed(hook.id)}` takes it back"])

    async def _asked(self, hook: Hook, digest: str, *, prompt: str) -> str:
        """Show the facts and wait for a word that is known; silence is a no."""
        from hookline.cli._facts import Screen  # noqa: PLC0415 - an event that asks nothing does not wait for it

        screen = Screen.of(hook, self._trust, cwd=self._cwd)
        if screen.digest != digest:
            return self._changed(hook)
        if not screen.clearance.objection:
            # the person approved it elsewhere while this program waited for its turn
            return "y"
        self._terminal.show(screen.question(self._terminal.columns - 1))
        while (answer := await self._terminal.answer(prompt)) is not None and answer not in _NO:
            if answer in _YES:
                # what was shown has to be what is there: the person took their time
                now = self._trust.identity(hook, cwd=self._cwd)
                return _YES[answer] if screen.shows(now) else self._changed(hook)
            more = screen.more(answer, self._terminal.columns - 1)
            await self._terminal.page(more or ["  please answer with one of the letters"])
        return ""

    def _changed(self, hook: Hook) -> str:
        self._terminal.show([f"hookline: {exact(hook.id)} changed while it was shown; it does not run"])
        return ""


def question(*, no_input: bool = False) -> Question | None:
    """Make the question for the person at the terminal; None when nobody can or should be asked."""
    terminal = None if no_input else open_terminal(os.environ)
    return Question(terminal) if terminal is not None else None


def add_no_input(parser: argparse.ArgumentParser) -> None:
    """Let the person say that nobody is to be asked."""
    parser.add_argument("--no-input", action="store_true", help="never ask; hooks that nobody approved do not run")


def hint(hook: Hook) -> str:
    """Say what a person can do about a hook that nobody approved."""
    name = typed(hook.id)
    return f"`hookline trust show {name}` shows it, `hookline trust approve {name}` allows it"
