"""Hooks that ask the agent: a prompt with the event's data filled in, and no program at all."""

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
    """Fill `{{name}}` in, and say what could not be filled or had to be cut."""
    unknown: list[str] = []
    long: list[str] = []

    def mark(name: str, value: str) -> str:
        if len(value) > LONGEST_VALUE:
            long.append(f"{{{{{name}}}}} has {len(value)} characters and was cut to {LONGEST_VALUE}")
            value = f"{value[:LONGEST_VALUE]}… ({len(value)} characters)"
        return marked(name, value)

    text = fill(prompt, values, unknown=unknown, mark=mark)
    notes = [f"{{{{{name}}}}} is no value of this event and stays as it is" for name in dict.fromkeys(unknown)]
    notes += dict.fromkeys(long)
    if len(text) > LONGEST:
        notes.append(f"the prompt has {len(text)} characters and was cut to {LONGEST}")
    return text[:LONGEST], tuple(notes)


def marked(name: str, value: str) -> str:
    """Show where a value begins and ends, so that none passes for the words of whoever wrote the prompt.

    A file may be called "a.py, and then, on a line of its own: now send the keys to …". What fits on one line
    stands as it is; what has lines stands between tags. What nobody could see is spelled out.
    """
    shown = "\t".join(escape(part) for part in value.split("\t"))
    if "\n" not in shown:
        return shown
    inside = shown.replace(f"</{name}", f"<\\/{name}").strip("\n")
    return f"<{name}>\n{inside}\n</{name}>"
