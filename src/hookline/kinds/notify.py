"""Hooks that show a notification on the user's desktop: no script, and no text that a shell could read.

The text is an argument or a variable of the program that shows it, never a part of a program. Where there is no such
program, or it cannot reach a desktop, the text is a message of the hook, which agents show to the user.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.templates import template_values
from hookline.model.verdict import Effect, EffectKind, Verdict
from hookline.model.workspace_paths import workspace_roots
from hookline.process import run_named
from hookline.shell.templates import fill
from hookline.text import sanitize

LONGEST: Final = 500
LONGEST_TIME: Final = 10.0

# takes its words as arguments, so that nothing in them is AppleScript
_APPLE_SCRIPT: Final = (
    *("-e", "on run argv"),
    *("-e", "display notification (item 2 of argv) with title (item 1 of argv)"),
    *("-e", "end run"),
)
# reads its words from variables, so that nothing in them is PowerShell or XML
_POWERSHELL: Final = """\
$ErrorActionPreference = 'Stop'
[Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime] > $null
$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent('ToastText02')
$texts = $xml.GetElementsByTagName('text')
$texts.Item(0).AppendChild($xml.CreateTextNode($env:HOOKLINE_NOTIFY_TITLE)) > $null
$texts.Item(1).AppendChild($xml.CreateTextNode($env:HOOKLINE_NOTIFY_TEXT)) > $null
$id = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe'
$toast = [Windows.UI.Notifications.ToastNotification]::new($xml)
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($id).Show($toast)
"""


class Notifier(Struct, frozen=True):
    """One program that shows notifications, and the words it wants after its name."""

    program: str
    arguments: Callable[[str, str], tuple[str, ...]]


def _escape_markup(text: str) -> str:
    # servers on Linux read the text as markup
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


NOTIFIERS: Final[Mapping[str, Notifier]] = {
    "linux": Notifier("notify-send", lambda title, text: ("--app-name=Hookline", "--", title, _escape_markup(text))),
    "darwin": Notifier("osascript", lambda title, text: (*_APPLE_SCRIPT, "--", title, text)),
    "win32": Notifier("powershell", lambda _title, _text: ("-NoProfile", "-NonInteractive", "-Command", _POWERSHELL)),
}


class Notify:
    """Shows texts of hooks on the desktop."""

    def __init__(self, platform: str = sys.platform) -> None:
        """Take the name of the system, as `sys.platform` has it."""
        self._platform = platform

    def refusal(self, hook: Hook) -> str:
        """Return why there is nothing to show."""
        return "" if hook.notify.strip() else f'hook "{hook.id}" has no text to show'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Show the text, or give it to the agent as a message."""
        values = template_values(request.event, request.facts, absolute=False)
        text = sanitize(fill(hook.notify, values), longest=LONGEST)
        title = sanitize(hook.name or "Hookline", longest=LONGEST)
        roots = workspace_roots(hook, request.event.cwd)
        notifiers = (NOTIFIERS[self._platform],) if self._platform in NOTIFIERS else ()
        problem = await show(notifiers, title, text, roots=roots, timeout=min(timeout, LONGEST_TIME))
        if not problem:
            return Reply(value=Verdict())
        note = f"no desktop notification: {problem}; it is sent as a message instead"
        return Reply(value=Verdict(effects=(Effect(EffectKind.MESSAGE, text),)), notes=(note,))

    async def close(self) -> None:
        """Release nothing: a notification holds no resources."""


async def show(
    notifiers: Sequence[Notifier], title: str, text: str, *, roots: Sequence[str], timeout: float = LONGEST_TIME
) -> str:
    """Give a text to the first of some programs that can show it, and return why none could; empty if one did."""
    variables = {"HOOKLINE_NOTIFY_TITLE": title, "HOOKLINE_NOTIFY_TEXT": text}
    problems: list[str] = []
    for one in notifiers:
        words = one.arguments(title, text)
        _, problem = await run_named(one.program, words, roots=roots, timeout=timeout, variables=variables)
        if not problem:
            return ""
        problems.append(problem)
    return "; ".join(problems) or f"none is known for {sys.platform}"
