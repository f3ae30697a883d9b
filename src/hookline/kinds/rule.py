"""Hooks that are constant answers: deny, confirm, allow, tell, context. No program runs."""

from typing import Final

from hookline.kinds.ask_agent import fill_prompt
from hookline.model.exchange import Reply, Request
from hookline.model.hook import DECISIONS, Hook
from hookline.model.templates import template_values
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict

_DECISIONS: Final = {"deny": Decision.DENY, "confirm": Decision.ASK, "allow": Decision.ALLOW}
# the reason where a rule gives none: deny = true
_REASONS: Final = {"deny": 'the rule "{}" does not allow this', "confirm": 'the rule "{}" asks you to confirm this'}
_EFFECTS: Final = {"tell": EffectKind.MESSAGE, "context": EffectKind.CONTEXT}


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
