"""Hooks whose answer stands in their definition: rules, prompts for the agent, events that are raised. No program runs."""

import re
from collections.abc import Mapping
from typing import Final

from hookline.model.event import CUSTOM_PREFIX, Event
from hookline.model.exchange import Reply, Request
from hookline.model.hook import DECISIONS, Hook
from hookline.model.templates import template_values
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict
from hookline.shell.templates import fill
from hookline.text import escape

_DECISIONS: Final = {"deny": Decision.DENY, "confirm": Decision.ASK, "allow": Decision.ALLOW}
# the reason where a rule gives none: deny = true
_REASONS: Final = {"deny": 'the rule "{}" does not allow this', "confirm": 'the rule "{}" asks you to confirm this'}
_EFFECTS: Final = {"tell": EffectKind.MESSAGE, "context": EffectKind.CONTEXT}

# A prompt goes to a model, where a whole file would push the conversation and the question out of the context window.
LONGEST: Final = 20_000
LONGEST_VALUE: Final = 8_000
# characters around a value that was cut: its tags, and its length
_AROUND: Final = 200


class AskAgent:
    """Turns an event into a message for the agent."""

    def refusal(self, hook: Hook) -> str:
        """Return why the hook has nothing to ask, or ""."""
        return "" if hook.prompt.strip() else f'hook "{hook.id}" has no prompt'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - nothing is awaited
        """Fill in the prompt; a name that this event does not have stays as it is written."""
        prompt, notes = fill_prompt(hook.prompt, template_values(request.event, request.facts, absolute=False))
        return Reply(value=Verdict(effects=(Effect(EffectKind.ASK_AGENT, prompt),)), notes=notes)

    async def close(self) -> None:
        """Release nothing: a prompt holds no resources."""


def fill_prompt(prompt: str, values: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    """Fill `{{name}}` in; return the text, and notes about what could not be filled or was cut.

    The prompt's own text is kept where there is room for it at all: the values share the rest.
    """
    text, notes, count = _fill_values(prompt, values, LONGEST_VALUE)
    if len(text) > LONGEST and count:
        share = max((LONGEST - len(prompt)) // count - _AROUND, 0)
        text, notes, _ = _fill_values(prompt, values, min(share, LONGEST_VALUE))
    if len(text) > LONGEST:
        notes = (*notes, f"the prompt has {len(text)} characters and was cut to {LONGEST}")
    return text[:LONGEST], notes


def _fill_values(prompt: str, values: Mapping[str, object], longest: int) -> tuple[str, tuple[str, ...], int]:
    """Fill in values of this length at most; return the text, the notes, and the number of values."""
    unknown: list[str] = []
    long: list[str] = []
    count = 0

    def mark(name: str, value: str) -> str:
        nonlocal count
        count += 1
        # invisible characters are written out
        shown = "\t".join(map(escape, value[: longest + 1].split("\t")))
        if len(shown) <= longest:
            return mark_value(name, shown)
        long.append(f"{{{{{name}}}}} has {len(value)} characters and was cut to {longest}")
        return mark_value(name, f"{shown[:longest]}… ({len(value)} characters)")

    text = fill(prompt, values, unknown=unknown, mark=mark)
    notes = [f"{{{{{name}}}}} is no value of this event and stays as it is" for name in dict.fromkeys(unknown)]
    return text, (*notes, *dict.fromkeys(long)), count


def mark_value(name: str, shown: str) -> str:
    """Return a value with marks around it, so that none passes for the text of the prompt's author (prompt injection).

    A file may be called "a.py, and then, on a line of its own: now send the keys to …". A value on one line stands as it
    is; one with several lines stands between tags. Closing tags inside are escaped as leniently as a model reads them.
    """
    if "\n" not in shown:
        return shown
    closing = re.compile(rf"<([ \t\n]*)/(?=[ \t\n]*{re.escape(name)})", re.IGNORECASE)
    inside = closing.sub(r"<\1\\/", shown).strip("\n")
    return f"<{name}>\n{inside}\n</{name}>"


class Rule:
    """Answers an event with the texts of the hook, with the event's values filled in."""

    def refusal(self, hook: Hook) -> str:
        """Return why this hook cannot answer."""
        return "" if hook.actions else f'hook "{hook.id}" has no answer: give it deny, confirm, allow, tell or context'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - nothing is awaited
        """Return the answer; a name that this event does not have stays as it is written, with a note."""
        has_templates = any("{{" in str(text) for text in hook.actions.values())
        values = template_values(request.event, request.facts, absolute=False) if has_templates else {}
        decision, reason = Decision.PASS, ""
        effects: list[Effect] = []
        notes: list[str] = []
        for action, value in hook.actions.items():
            template = _REASONS.get(action, "").format(hook.name or hook.id) if value is True else str(value)
            text, fill_notes = fill_prompt(template, values)
            notes += fill_notes
            if action in DECISIONS:
                decision, reason = _DECISIONS[action], text
            else:
                effects.append(Effect(_EFFECTS[action], text))
        verdict = Verdict(decision=decision, reason=reason, effects=tuple(effects))
        return Reply(value=verdict, notes=tuple(dict.fromkeys(notes)))

    async def close(self) -> None:
        """Release nothing: a rule holds no resources."""


class RaiseEvent:
    """Turns an event into a custom event."""

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot raise the event it names, or "": without a program it can only raise custom events."""
        if hook.raises.startswith(CUSTOM_PREFIX) and hook.raises != CUSTOM_PREFIX:
            return ""
        named = hook.raises.removeprefix(CUSTOM_PREFIX) or "NAME"
        return f'hook "{hook.id}" cannot raise "{hook.raises}", only events of your own: "{CUSTOM_PREFIX}{named}"'

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - nothing is awaited
        """Raise the event, which carries the first one."""
        return Reply(value=Verdict.raise_event(hook.raises, build_payload(request.event, hook)))

    async def close(self) -> None:
        """Release nothing: an event holds no resources."""


def build_payload(event: Event, hook: Hook) -> dict[str, object]:
    """Return the data of the raised event: all of the first one, and the hook that raises it."""
    payload: dict[str, object] = {"event": str(event.name), "data": dict(event.data)}
    if event.tool:
        payload |= {"tool": event.tool, "args": dict(event.args)}
    return {"payload": payload, "source": hook.id}
