"""What `hookline top` reads, and the commands that it runs."""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

from rich.text import Text

from hookline.cli._loosening import refuse_agents
from hookline.cli._output import Line, TextStyle
from hookline.cli._project import decide_trust, load_from_args
from hookline.cli.trace import lay_out_trace
from hookline.errors import ConfigError
from hookline.project import Project
from hookline.stores.trace_queries import HookFigures, TraceFilter, TraceQueries, TraceStats
from hookline.text import sanitize
from hookline.ui.live_calls import LiveCalls, LiveSnapshot
from hookline.ui.terminal import HookPage, HookState
from hookline.user_dirs import find_user_dirs
from hookline.views import HookView, find_hook
from hookline.views.approval_screen import ApprovalScreen

_TIMEOUT: Final = 60  # seconds that a command has
_STYLES: Final = {
    TextStyle.NONE: "",
    TextStyle.BOLD: "bold",
    TextStyle.DIM: "dim",
    TextStyle.BAD: "bold red",
    TextStyle.GOOD: "green",
    TextStyle.WARN: "bold yellow",
}
# lines of a difference on the approval screen, and its warnings
_CHANGES: Final = (
    (re.compile(r"\s*(?:changed)?\s*\| \+"), "green"),
    (re.compile(r"\s*(?:changed)?\s*\| -"), "red"),
    (re.compile(r"\s*(?:beware)?\s*! "), "bold yellow"),
    (re.compile(r"hookline: "), "bold"),
)


class TopView:
    """Reads the user's traces and the hooks of a project, and runs the commands that change a hook."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        path = find_user_dirs(args.project).data / "traces.db"
        self._since = args.since
        self._calls = LiveCalls(path, since=time.time() - args.since)
        self._queries = TraceQueries(path)
        self._stats = TraceStats(path)
        # the approval screen that the user looks at
        self._screen: ApprovalScreen | None = None

    def read_calls(self, wanted: TraceFilter) -> LiveSnapshot:
        """Return the calls and lanes of now."""
        return self._calls.read(wanted)

    def read_figures(self, wanted: TraceFilter) -> Sequence[HookFigures]:
        """Return the figures of the hooks that ran."""
        return self._stats.hooks(TraceFilter(host=wanted.host, since=time.time() - self._since))

    def list_hooks(self) -> Sequence[HookState]:
        """Return the hooks of the project."""
        project = self._load()
        shown = [(hook, HookView(hook, project, decide_trust(hook, project))) for hook in project.hooks]
        return [
            HookState(
                id=hook.id,
                state=view.state,
                is_on=hook.enabled,
                needs_approval=hook.enabled and view.trust is not None and bool(view.trust.reason_denied),
            )
            for hook, view in shown
        ]

    def lay_out_trace(self, trace: str) -> Sequence[Text]:
        """Return the lines about one call."""
        records = self._queries.records(trace)
        if not records:
            raise ConfigError(f'there is no trace "{trace}" any more')
        return [_style_line(line) for line in lay_out_trace(records)]

    def open_hook(self, hook: str, *, columns: int) -> HookPage:
        """Return the approval screen of a hook, with its files and its changes."""
        project = self._load()
        found = find_hook(project, hook)
        screen = ApprovalScreen.build(found, project.trust, cwd=str(project.root))
        self._screen = screen
        if not screen.clearance.reason_denied:
            lines = [
                f"{found.id} may run: {HookView(found, project, screen.clearance).state}",
                *screen.lay_out_question(columns)[2:],
            ]
            return HookPage(hook=found.id, lines=tuple(map(Text, lines)))
        lines = screen.lay_out_question(columns)[1:]
        # a long difference is shortened there
        details = ("d", "s") if any("[d] show" in line for line in lines) else ("s",)
        for word in details:
            lines += ["", *screen.lay_out_details(word, columns)]
        last = "y approves it, as it is now; escape goes back" if screen.digest else "it cannot be approved"
        shown = [_style_change(line) for line in lines]
        return HookPage(hook=found.id, lines=(*shown, Text(), Text(last, "bold")), digest=screen.digest)

    def approve(self, page: HookPage) -> str:
        """Approve a hook as the page shows it."""
        project = self._load()
        refuse_agents(("trust", "approve"), os.environ)
        now = project.trust.fingerprint(find_hook(project, page.hook), cwd=str(project.root))
        # also compares the programs, which the digest leaves out
        if self._screen is None or self._screen.digest != page.digest or not self._screen.is_current(now):
            raise ConfigError(f'hook "{page.hook}" changed while it was shown; it was not approved')
        return self._run("trust", "approve", "--digest", page.digest, page.hook)

    def toggle(self, hook: str, *, on: bool) -> str:
        """Switch a hook on or off."""
        return self._run("enable" if on else "disable", hook)

    def _load(self) -> Project:
        return load_from_args(self._args)

    def _run(self, *words: str) -> str:
        """Run a command as the user would; it refuses an agent by itself.

        Raises:
            ConfigError: It failed.
        """
        *options, hook = words
        project = ["--project", str(self._args.project)] if self._args.project is not None else []
        command = [sys.executable, "-P", "-m", "hookline", *options, *project, "--color", "never", "--", hook]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise ConfigError(f"`hookline {' '.join(words)}` could not be run: {problem}") from None
        if done.returncode:
            raise ConfigError(done.stderr.strip().removeprefix("hookline: ") or f"exit code {done.returncode}")
        return done.stdout.strip()


def _style_line(line: Line) -> Text:
    shown = Text(sanitize(line.text).replace("\n", " "))
    place = 0
    for word, style in line.marks:
        clean = sanitize(word)
        start = shown.plain.find(clean, place) if clean else -1
        if start >= 0:
            place = start + len(clean)
            shown.stylize(_STYLES[style], start, place)
    return shown


def _style_change(line: str) -> Text:
    return Text(line, next((style for pattern, style in _CHANGES if pattern.match(line)), ""))
