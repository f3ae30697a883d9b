"""The parts of the built-in hooks `completion` and `notification` that use this machine: desktop, sound and speech.

They run from the queue. A machine without such a program, or without a desktop, shows and plays nothing: a text that comes
later is of no use, and the log has it.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Final

from hookline.builtin.catalogue import BuiltinScope, Judge, Options
from hookline.kinds.notify import LONGEST, NOTIFIERS, Notifier, show
from hookline.model.event import Event
from hookline.model.templates import CallFacts, template_values
from hookline.model.verdict import Verdict
from hookline.model.workspace_paths import project_roots
from hookline.shell.templates import fill
from hookline.text import sanitize

_SPEECH: Final = "Add-Type -AssemblyName System.Speech; [System.Speech.Synthesis.SpeechSynthesizer]::new().Speak($env:HOOKLINE_NOTIFY_TEXT)"
_POWERSHELL: Final = ("-NoProfile", "-NonInteractive", "-Command")
# the text is an argument or a variable, never a part of a program
SPEAKERS: Final[Mapping[str, tuple[Notifier, ...]]] = {
    "linux": tuple(Notifier(name, lambda _title, text: ("--", text)) for name in ("spd-say", "espeak-ng", "espeak")),
    "darwin": (Notifier("say", lambda _title, text: ("--", text)),),
    "win32": (Notifier("powershell", lambda _title, _text: (*_POWERSHELL, _SPEECH)),),
}
_FREEDESKTOP: Final = "/usr/share/sounds/freedesktop/stereo/complete.oga"
_GLASS: Final = "/System/Library/Sounds/Glass.aiff"
_CHIME: Final = "(New-Object Media.SoundPlayer $env:HOOKLINE_NOTIFY_TEXT).PlaySync()"
# the text is the file that is played; without one, a sound of the system
PLAYERS: Final[Mapping[str, tuple[Notifier, ...]]] = {
    "linux": (
        Notifier("canberra-gtk-play", lambda _title, file: (f"--file={file}",) if file else ("--id=complete",)),
        *(Notifier(name, lambda _title, file: (file or _FREEDESKTOP,)) for name in ("pw-play", "paplay", "aplay")),
    ),
    "darwin": (Notifier("afplay", lambda _title, file: (file or _GLASS,)),),
    "win32": (
        Notifier(
            "powershell", lambda _t, file: (*_POWERSHELL, _CHIME if file else "[Media.SystemSounds]::Asterisk.Play()")
        ),
    ),
}


def make_desktop(_scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that shows the message on the desktop."""
    notifiers = (NOTIFIERS[sys.platform],) if sys.platform in NOTIFIERS else ()
    return _make(notifiers, lambda event: _fill(options, event))


def make_speech(_scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that says the message aloud."""
    return _make(SPEAKERS.get(sys.platform, ()), lambda event: _fill(options, event))


def make_sound(scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that plays a sound: the file that the option names, or one of the system."""
    sound = options.get("sound")
    file = sound.replace("~", scope.home, 1) if isinstance(sound, str) and sound.startswith("~/") else sound
    return _make(PLAYERS.get(sys.platform, ()), lambda _event: file if isinstance(file, str) else "")


def _make(
    programs: Sequence[Notifier], find_text: Callable[[Event], str]
) -> Callable[[Event], Awaitable[Verdict | None]]:
    async def judge(event: Event) -> Verdict | None:
        title = sanitize(event.host or "Hookline", longest=LONGEST)
        problem = await show(programs, title, find_text(event), roots=project_roots(event.cwd))
        return Verdict(metadata={"not_shown": problem}) if problem else None

    return judge


def _fill(options: Options, event: Event) -> str:
    facts = CallFacts(folder=str(PurePath(event.project or event.cwd)))
    return sanitize(fill(str(options["message"]), template_values(event, facts, absolute=False)), longest=LONGEST)
