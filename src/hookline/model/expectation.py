"""What a test expects of the answer to an event, and how an answer differs from it."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hookline.model.verdict import Decision, Outcome

# the words of decisions; `confirm` is the key of hookline.toml that asks
DECISION_WORDS: Final[Mapping[str, Decision]] = {**{one.word: one for one in Decision}, "confirm": Decision.ASK}


class Expectation(Struct, frozen=True, kw_only=True):
    """What a test expects: a decision, or None for any, parts of texts, and arguments after all changes.

    An answer of hooks that failed is never the expected one: a guard that crashes blocks, and so would pass its tests.
    """

    decision: Decision | None = None
    reason: str = ""
    args: Mapping[str, object] = {}
    context: str = ""
    message: str = ""

    def find_differences(self, outcome: Outcome) -> list[str]:
        """Return a line for each part of an outcome that is not as expected; none where all are."""
        lines = [
            f"hook {one.hook} failed: {one.failure.message}" for one in outcome.verdicts if one.failure is not None
        ]
        if self.decision not in {None, outcome.decision}:
            why = f": {outcome.reason}" if outcome.reason else ""
            lines.append(f"expected {self.decision}, got {outcome.decision}{why}")
        texts = {
            "reason": (self.reason, outcome.reason),
            "context": (self.context, "\n".join(outcome.context)),
            "message": (self.message, "\n".join(outcome.messages)),
        }
        lines += [
            f"expected {wanted!r} in the {part}, got {found!r}"
            for part, (wanted, found) in texts.items()
            if wanted not in found
        ]
        args = outcome.args or {}
        for name, value in self.args.items():
            if outcome.args is None or name not in args:
                lines.append(f"expected {name} to be changed to {value!r}, got no change")
            elif args[name] != value:
                lines.append(f"expected {name} to be changed to {value!r}, got {args[name]!r}")
        return lines

    def __str__(self) -> str:
        words = [str(self.decision)] if self.decision is not None else []
        texts = ("reason", "context", "message")
        words += [f"{name} with {text!r}" for name in texts if (text := getattr(self, name))]
        words += [f"{name} = {value!r}" for name, value in self.args.items()]
        return ", ".join(words) or "any answer"
