"""Verdicts of hooks, the merged outcome, and what a test expects of it."""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import asdict, force_setattr

from hookline.model.event import Degradation
from hookline.model.exchange import Failure
from hookline.model.language_models import ModelUsage
from hookline.model.plan import Skip


class Decision(IntEnum):
    """What a hook wants to happen; the strongest of several wins."""

    PASS = 0
    ALLOW = 1
    ASK = 2
    DENY = 3
    STOP = 4

    word: str

    def __init__(self, _value: int) -> None:
        """Precompute the word of the decision."""
        self.word = self._name_.lower()

    def __str__(self) -> str:
        return self.word

    def __format__(self, spec: str) -> str:
        return format(self.word, spec)


class OutcomeCode(StrEnum):
    """Why the engine itself decided, for programs; what hooks say has no code."""

    NO_HOOK = "no_hook"
    CONFLICT = "conflict"
    DISAGREEMENT = "disagreement"
    UNANSWERED = "unanswered"
    ASK_FAILED = "ask_failed"
    REFUSED = "refused"
    OTHER_DIGEST = "other_digest"
    NO_CHANGE = "no_change"


class EffectKind(StrEnum):
    """What a hook may ask for besides a decision."""

    REWRITE = "rewrite"
    CONTEXT = "context"
    MESSAGE = "message"
    ASK_AGENT = "ask_agent"
    DATA = "data"
    RAISE = "raise"


class Effect(Struct, frozen=True):
    """One thing a hook asked for.

    `path` says what is set: ("args", "command") or ("output",) for a rewrite, (key,) for data handed to the
    next hook, (event,) for an event to raise with the value as its data; the other kinds have none and carry text.
    """

    kind: EffectKind
    value: object
    path: tuple[str, ...] = ()


class Verdict(Struct, frozen=True, kw_only=True, gc=False):
    """The answer of one hook.

    `failure` is set when the hook failed, or reported an error of its own. `ends` keeps later hooks from
    running. `observed` marks what was recorded but not enforced. `notes` are for the trace: noise on stdout
    and other oddities. `metadata` is whatever else the hook wanted to be kept. `cached` marks an answer that was given
    before, `job` one that is still to come: the place of a background hook in the queue. `raised` names the events that
    it had raised. `code` is an `OutcomeCode` where the engine decided in place of the hook. `origin` names a hook that is
    not the user's own, in the words of the fence around its texts. `usage` is what a language model took for it.
    """

    hook: str = ""
    decision: Decision = Decision.PASS
    reason: str = ""
    effects: tuple[Effect, ...] = ()
    failure: Failure | None = None
    ends: bool = False
    observed: bool = False
    notes: tuple[str, ...] = ()
    metadata: Mapping[str, object] = {}
    duration: float = 0.0
    cached: bool = False
    job: str = ""
    raised: tuple[str, ...] = ()
    code: str = ""
    origin: str = ""
    usage: ModelUsage | None = None

    def __post_init__(self) -> None:
        """Accept the word of a decision, and refuse what is none.

        Raises:
            TypeError: The decision or the reason is of another type.
            ValueError: There is no such decision.
        """
        if type(self.decision) is not Decision:
            word: object = self.decision
            if not isinstance(word, str):
                raise TypeError(f"the decision of a verdict is a Decision or its name, not {word!r}")
            if word.upper() not in Decision.__members__:
                words = ", ".join(one.word for one in Decision)
                raise ValueError(f"there is no decision {word!r}; there are {words}")
            force_setattr(self, "decision", Decision[word.upper()])
        if type(self.reason) is not str and not isinstance(self.reason, str):
            raise TypeError(f"the reason of a verdict is a text, not {self.reason!r}")

    @property
    def blocks(self) -> bool:
        """Whether the operation may not go on."""
        return self.decision >= Decision.DENY

    @classmethod
    def allow(cls, reason: str = "") -> "Verdict":
        """Allow without asking the user."""
        return cls(decision=Decision.ALLOW, reason=reason)

    @classmethod
    def deny(cls, reason: str) -> "Verdict":
        """Block the operation."""
        return cls(decision=Decision.DENY, reason=reason)

    @classmethod
    def ask(cls, reason: str) -> "Verdict":
        """Let a user decide."""
        return cls(decision=Decision.ASK, reason=reason)

    @classmethod
    def stop(cls, reason: str) -> "Verdict":
        """End the agent's run."""
        return cls(decision=Decision.STOP, reason=reason, ends=True)

    @classmethod
    def rewrite(cls, args: Mapping[str, object]) -> "Verdict":
        """Change these arguments of the tool call, leave the others as they are."""
        return cls(effects=tuple(Effect(EffectKind.REWRITE, value, ("args", key)) for key, value in args.items()))

    @classmethod
    def replace_output(cls, output: object) -> "Verdict":
        """Return the agent another result than the tool's."""
        return cls(effects=(Effect(EffectKind.REWRITE, output, ("output",)),))

    @classmethod
    def add_context(cls, text: str) -> "Verdict":
        """Add text to the conversation, for the model."""
        return cls(effects=(Effect(EffectKind.CONTEXT, text),))

    @classmethod
    def tell(cls, text: str) -> "Verdict":
        """Show text to the user."""
        return cls(effects=(Effect(EffectKind.MESSAGE, text),))

    @classmethod
    def raise_event(cls, name: str, data: Mapping[str, object] | None = None) -> "Verdict":
        """Raise another event; what its hooks say counts as said by this one."""
        return cls(effects=(Effect(EffectKind.RAISE, dict(data or {}), (name,)),))


class Outcome(Struct, frozen=True, kw_only=True, gc=False):
    """The engine's one answer.

    `args` and `output` are whole and final when a hook rewrote them, and None or UNSET when none did.
    `effects` are those that apply, in plan order. `trace` finds the records of this event. `losses` are what the agent
    that is answered cannot carry, with what became of it: the rest of the outcome is as it can. `code` is an
    `OutcomeCode` where the engine decided and not a hook.
    """

    decision: Decision = Decision.PASS
    reasons: tuple[str, ...] = ()
    code: str = ""
    effects: tuple[Effect, ...] = ()
    args: Mapping[str, object] | None = None
    output: object = UNSET
    verdicts: tuple[Verdict, ...] = ()
    skipped: tuple[Skip, ...] = ()
    losses: tuple[Degradation, ...] = ()
    trace: str = ""
    duration: float = 0.0

    @property
    def blocked(self) -> bool:
        """Whether the operation may not go on. An unanswered question blocks, too."""
        return self.decision >= Decision.ASK

    @property
    def is_silent(self) -> bool:
        """Whether there is nothing to pass on to the agent."""
        return self.decision is Decision.PASS and not (
            self.reasons or self.effects or self.args is not None or self.output is not UNSET
        )

    @property
    def stopped(self) -> bool:
        """Whether the agent's whole run is to end."""
        return self.decision is Decision.STOP

    @property
    def reason(self) -> str:
        """All reasons of the winning decision, a line each."""
        return "\n".join(self.reasons)

    @property
    def context(self) -> tuple[str, ...]:
        """What to add to the conversation."""
        return self._texts(EffectKind.CONTEXT)

    @property
    def messages(self) -> tuple[str, ...]:
        """What to show to the user."""
        return self._texts(EffectKind.MESSAGE)

    @property
    def follow_ups(self) -> tuple[str, ...]:
        """What to ask the agent next."""
        return self._texts(EffectKind.ASK_AGENT)

    @property
    def output_origin(self) -> str:
        """The hook that changed the output, as a fence names it; "" where it is the user's own or the fence is there."""
        if self.output is UNSET or (isinstance(self.output, str) and self.output in self.reasons):
            return ""
        origins = (
            verdict.origin
            for verdict in self.verdicts
            if verdict.origin and any(effect.path[:1] == ("output",) for effect in verdict.effects)
        )
        return next(origins, "")

    @property
    def deciders(self) -> tuple[str, ...]:
        """The ids of the hooks with the strongest decision; empty where hooks had no opinion or it did not count."""
        if self.decision is Decision.PASS:
            return ()
        counted = [verdict for verdict in self.verdicts if not verdict.observed]
        strongest = max((verdict.decision for verdict in counted), default=Decision.PASS)
        return tuple(verdict.hook for verdict in counted if verdict.decision is strongest and strongest)

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """The verdicts of hooks that failed, whether that blocked or not."""
        return tuple(verdict for verdict in self.verdicts if verdict.failure is not None)

    def _texts(self, kind: EffectKind) -> tuple[str, ...]:
        return tuple(str(effect.value) for effect in self.effects if effect.kind is kind) if self.effects else ()


def outcome_to_json(outcome: Outcome) -> Mapping[str, object]:
    """Return an outcome as the object that programs read: `emit --json` prints it, and HTTP answers with it."""
    return {
        "decision": outcome.decision.word,
        "blocked": outcome.blocked,
        "reasons": outcome.reasons,
        "context": outcome.context,
        "messages": outcome.messages,
        "follow_ups": outcome.follow_ups,
        "args": outcome.args,
        "output": None if outcome.output is UNSET else outcome.output,
        "hooks": [
            {
                "id": verdict.hook,
                "verdict": verdict.decision.word,
                "reason": verdict.reason or None,
                "duration": verdict.duration,
                "failure": {"kind": failure.kind, "message": failure.message} if (failure := verdict.failure) else None,
                "observed": verdict.observed,
                "cached": verdict.cached,
                "job": verdict.job or None,
                "notes": verdict.notes,
                "usage": asdict(verdict.usage) if verdict.usage is not None else None,
            }
            for verdict in outcome.verdicts
        ],
        "skipped": [{"id": skip.hook.id, "gate": skip.gate, "reason": skip.reason} for skip in outcome.skipped],
        "losses": [{"wanted": one.wanted, "became": one.became, "message": one.message} for one in outcome.losses],
        "trace": outcome.trace or None,
        "duration": outcome.duration,
    }


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
