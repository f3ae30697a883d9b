"""Hooks that show a notification on the user's desktop: no script, and no text that a shell could read.

The text is an argument or a variable of the program that shows it, never a part of a program. Where there is no such
program, or it cannot reach a desktop, the text is a message of the hook, which agents show to the user.
"""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from hookline import caller_context
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.template_context import template_values
from hookline.model.verdict import Effect, EffectKind, Verdict
from hookline.model.workspace_paths import find_program, workspace_roots
from hookline.process import run
from hookline.process.environment import Environment
from hookline.process.result import ExitReason, ProcessResult
from hookline.process.spec import ProcessSpec
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
        self._notifier = NOTIFIERS.get(platform)
        self._environment = Environment()

    def refusal(self, hook: Hook) -> str:
        """Return why there is nothing to show."""
        return "" if hook.notify.strip() else f'hook "{hook.id}" has no text to show'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Show the text, or give it to the agent as a message."""
        values = template_values(request.event, request.facts, absolute=False)
        text = sanitize(fill(hook.notify, values), longest=LONGEST)
        problem = await self._show(hook, request, text, timeout=min(timeout, LONGEST_TIME))
        if not problem:
            return Reply(value=Verdict())
        note = f"no desktop notification: {problem}; it is told as a message instead"
        return Reply(value=Verdict(effects=(Effect(EffectKind.MESSAGE, text),)), notes=(note,))

    async def close(self) -> None:
        """Release nothing: a notification holds no resources."""

    async def _show(self, hook: Hook, request: Request, text: str, *, timeout: float) -> str:
        """Return why the text could not be shown; empty if it was."""
        notifier = self._notifier
        if notifier is None:
            return f"none is known for {sys.platform}"
        cwd = request.event.cwd
        path = caller_context.environ().get("PATH", os.defpath)
        program = find_program(notifier.program, path, workspace_roots(hook, cwd))
        if not program:
            return f"there is no {notifier.program}"
        title = sanitize(hook.name or "Hookline", longest=LONGEST)
        variables = {"HOOKLINE_NOTIFY_TITLE": title, "HOOKLINE_NOTIFY_TEXT": text}
        argv = (notifier.program, *notifier.arguments(title, text))
        env = self._environment.with_layers(variables)
        try:
            finished = await run(ProcessSpec(program=program, argv=argv, env=env), stdin=b"", timeout=timeout)
        except (OSError, ValueError) as problem:
            return f"{notifier.program} could not be started: {problem}"
        return _describe_failure(notifier.program, finished)


def _describe_failure(program: str, finished: ProcessResult) -> str:
    if finished.reason is ExitReason.TIMED_OUT:
        return f"{program} did not end"
    message = finished.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return f"{program} failed: {message or finished.exit_code}" if finished.exit_code else ""
