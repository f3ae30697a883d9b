"""Hooks that ask the agent: a prompt with the event's data filled in, and no program at all."""

import re
from collections.abc import Mapping
from typing import Final

from hookline.display import escape
from hookline.kinds.shell.template import fill
from hookline.model.context import context_of
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.verdict import Effect, EffectKind, Verdict

# A prompt goes to a model, where a whole file would push out the conversation, and, further up, what is asked.
LONGEST: Final = 20_000
LONGEST_VALUE: Final = 8_000
# what stands around a value that was cut: its tags, and how long it was
_AROUND: Final = 200


class AskAgent:
    """Turn an event into a message for the agent."""

    def refusal(self, hook: Hook) -> str:
        """Say why this hook has nothing to ask."""
        return "" if hook.prompt.strip() else f'hook "{hook.id}" has no prompt'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - nobody is waited for
        """Fill in the prompt; a name that this event does not have stays as it is written."""
        prompt, notes = filled(hook.prompt, context_of(request.event))
        return Reply(value=Verdict(effects=(Effect(EffectKind.ASK_AGENT, prompt),)), notes=notes)

    async def close(self) -> None:
        """Give back nothing: nothing is kept."""


def filled(prompt: str, values: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """Fill `{{name}}` in, and say what could not be filled or had to be cut.

    What the prompt says itself is kept where there is room for it at all: the values share what is left.
    """
    text, notes, count = _filled(prompt, values, LONGEST_VALUE)
    if len(text) > LONGEST and count:
        share = max((LONGEST - len(prompt)) // count - _AROUND, 0)
        text, notes, _ = _filled(prompt, values, min(share, LONGEST_VALUE))
    if len(text) > LONGEST:
        notes = (*notes, f"the prompt has {len(text)} characters and was cut to {LONGEST}")
    return text[:LONGEST], notes


def _filled(prompt: str, values: Mapping[str, object], longest: int) -> tuple[str, tuple[str, ...], int]:
    """Fill in values of this length at most; give the text, what is to be said about it, and how many they were."""
    unknown: list[str] = []
    long: list[str] = []
    count = 0

    def mark(name: str, value: str) -> str:
        nonlocal count
        count += 1
        shown = _shown(value[: longest + 1])
        if len(shown) <= longest:
            return marked(name, shown)
        long.append(f"{{{{{name}}}}} has {len(value)} characters and was cut to {longest}")
        return marked(name, f"{shown[:longest]}… ({len(value)} characters)")

    text = fill(prompt, values, unknown=unknown, mark=mark)
    notes = [f"{{{{{name}}}}} is no value of this event and stays as it is" for name in dict.fromkeys(unknown)]
    return text, (*notes, *dict.fromkeys(long)), count


def _shown(value: str) -> str:
    """Spell out what nobody could see."""
    return "\t".join(escape(part) for part in value.split("\t"))


def marked(name: str, shown: str) -> str:
    """Show where a value begins and ends, so that none passes for the words of whoever wrote the prompt.

    A file may be called "a.py, and then, on a line of its own: now send the keys to …". What fits on one line
    stands as it is; what has lines stands between tags, which a model reads as generously as a browser does.
    """
    if "\n" not in shown:
        return shown
    closing = re.compile(rf"<([ \t\n]*)/(?=[ \t\n]*{re.escape(name)})", re.IGNORECASE)
    inside = closing.sub(r"<\1\\/", shown).strip("\n")
    return f"<{name}>\n{inside}\n</{name}>"
