"""Translate between the engine and a hook's dialect: encode requests, and turn replies into verdicts.

A reply is decoded, its texts are sanitized, and the failure policy is applied: the one place that decides whether a failed
hook blocks. What hooks of others tell the model is fenced, so that it cannot pass for words of the user.
"""

import re
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import json_codec
from hookline.engine.call_splitting import COMPOUND_TOOLS, split_call
from hookline.engine.event_factory import event_of
from hookline.engine.matchers import matcher_for
from hookline.errors import DialectError
from hookline.model.event import Event, EventName
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, Layer, OnError, Source
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict
from hookline.model.workspace_paths import USER_SOURCES
from hookline.ports import Dialect
from hookline.text import escape_all, fence, sanitize, shell_quote

# What a program prints goes to a model, which has no room for a whole log. The end tells the result.
LONGEST_TEXT: Final = 20_000
# characters of what the user is shown, of a reason, which the model reads as well, and of what is only for the model
LONGEST_MESSAGE: Final = 2_000
LONGEST_REASON: Final = 10_000
LONGEST_CONTEXT: Final = 20_000

_LONGEST: Final = {
    EffectKind.MESSAGE: LONGEST_MESSAGE,
    EffectKind.CONTEXT: LONGEST_CONTEXT,
    EffectKind.ASK_AGENT: LONGEST_CONTEXT,
}
# Linux takes 128 KiB in one argument of a program. A shell reports what it could not start with this exit code.
_LONG_VALUE: Final = 100_000
_NOT_STARTED: Final = 126
_TOO_LONG: Final = b"Argument list too long"
# at these events, what a hook would change has already happened
_PAST: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP, EventName.AFTER_MODEL, EventName.AFTER_TOOL})
_WORDS: Final[Mapping[str, Decision]] = {
    **dict.fromkeys(("deny", "denied", "block", "blocked", "reject", "refuse", "forbid", "no"), Decision.DENY),
    **dict.fromkeys(("allow", "allowed", "approve", "approved", "permit", "yes"), Decision.ALLOW),
    **dict.fromkeys(("ask", "confirm"), Decision.ASK),
    **dict.fromkeys(("stop",), Decision.STOP),
    **dict.fromkeys(("pass", "continue", "none", ""), Decision.PASS),
}
_PAIR: Final = 2
_LONGEST_SHOWN: Final = 120


# the command that helps with each kind of failure: a hook that could not run has to be repaired, others are tried out
_CHECK: Final = "`hookline check` says what is wrong, `hookline show {0}` shows the hook"
_TEST: Final = "`hookline test {0}` runs it and shows what it says"
_REMEDIES: Final[Mapping[FailureKind, str]] = {
    **dict.fromkeys(FailureKind, _TEST),
    FailureKind.NOT_FOUND: _CHECK,
    FailureKind.REFUSED: _CHECK,
    FailureKind.UNAVAILABLE: "`hookline why {0}` says what is missing, `hookline limits` what is used up",
    FailureKind.INTERNAL: "`hookline doctor` says more",
}
_MARK: Final = "`hookline "

# how a fence calls the hooks of each source that is not the user's own
_ORIGINS: Final[Mapping[Source, str]] = {
    Source.WORKSPACE: "of this project",
    Source.DOWNLOADED: "that was downloaded",
    Source.EXTENSION: "of an extension",
}
# kinds whose texts stand in their definition, or that say nothing themselves
_CONSTANT: Final = frozenset({"rule", "ask_agent", "steps"})
_LONGEST_NAME: Final = 64
# quotes and brackets would end the name or the line of the fence
_UNSAFE: Final = re.compile(r"[^\w .:/@+-]")

# effects that a model reads as part of the conversation
_SPOKEN: Final = frozenset({EffectKind.CONTEXT, EffectKind.ASK_AGENT})
# git shows the reason to the user who typed the command; a model reads it as the output of a tool
_SHOWN_BY_GIT: Final = frozenset(
    {EventName.GIT_COMMIT, EventName.GIT_MESSAGE, EventName.GIT_PUSH, EventName.GIT_CHECKOUT}
)


def failed_verdict(failure: Failure, *, notes: tuple[str, ...] = ()) -> Verdict:
    """Return the verdict of a hook without a usable answer, before the failure policy is applied."""
    return Verdict(failure=failure, notes=notes)


def fails_closed(hook: Hook, default: OnError, failure: Failure | None = None) -> bool:
    """Return whether a failure of the hook blocks: its own `on_error` decides, else its dialect's default.

    The agent chooses the length of a value. So unless the hook sets `on_error`, a value that is too long for its program
    blocks: otherwise a long command would bypass every guard.
    """
    if hook.on_error is None and failure is not None and failure.kind is FailureKind.TOO_LONG:
        return True
    return (hook.on_error or default) is OnError.BLOCK


def apply_failure_policy(verdict: Verdict, *, hook: Hook, default: OnError) -> Verdict:
    """Deny where the hook failed and fails closed; the reason names the failure and the command that helps.

    A denial of the hook itself stands: a failure is not a way to take it back. An allow or a question beside a failure
    does not stand where the hook fails closed.
    """
    if verdict.failure is None or verdict.blocks or not fails_closed(hook, default, verdict.failure):
        return verdict
    reason = f'hook "{escape_all(hook.name or hook.id)}" failed: {verdict.failure.message}'
    if _MARK not in verdict.failure.message:
        reason = f"{reason}; {_REMEDIES[verdict.failure.kind].format(shell_quote(hook.id))}"
    return replace(verdict, decision=Decision.DENY, reason=reason)


class HookTranslator:
    """Encode events for hooks and decode their replies, each in the hook's own dialect."""

    def __init__(self, dialects: Mapping[str, Dialect]) -> None:
        self._dialects = dialects

    def to_hook_input(self, event: str, data: Mapping[str, object] | None = None) -> Event:
        """Build an event from a name and its fields; `tool_name` and `args` become the tool call."""
        return event_of(event, data)

    def knows(self, hook: Hook) -> bool:
        """Return whether the hook's dialect exists."""
        return hook.dialect in self._dialects

    def timeout(self, hook: Hook, setting: float | None) -> float:
        """Return how long a hook may take: its own timeout, else the setting, else its dialect's default."""
        if hook.timeout is not None:
            return hook.timeout
        return setting if setting is not None else self._dialects[hook.dialect].SPEC.timeout

    def default_on_error(self, hook: Hook) -> OnError:
        """Return what a failure means where the hook does not set `on_error`; an unknown dialect fails closed."""
        dialect = self._dialects.get(hook.dialect)
        return dialect.SPEC.on_error if dialect else OnError.BLOCK

    def split_event(self, event: Event, hook: Hook) -> tuple[Event, ...]:
        """Return the events a hook gets in place of one: a call its dialect has no name for is split."""
        if event.tool not in COMPOUND_TOOLS or hook.dialect not in self._dialects:
            return (event,)
        spec = self._dialects[hook.dialect].SPEC

        def matches(name: str) -> bool:
            return matcher_for(spec.matcher, hook.matcher, is_untrusted=True)(name)

        return split_call(event, spec, matches)

    def encode(self, event: Event, hook: Hook) -> Request:
        """Encode an event in the hook's dialect."""
        return self._dialects[hook.dialect].encode_event(event, hook)

    def read(self, reply: Reply, request: Request, hook: Hook) -> Verdict:
        """Decode a hook's reply; one that cannot be decoded is a failure."""
        event = request.event
        if reply.exit_code == _NOT_STARTED or _TOO_LONG in reply.stderr:
            reply = _fail_too_long(reply, event)
        if reply.failure is not None:
            verdict = failed_verdict(reply.failure, notes=reply.notes)
        else:
            try:
                verdict = self._decode(reply, request, hook)
            except DialectError as problem:
                verdict = failed_verdict(Failure(FailureKind.INVALID_REPLY, str(problem)), notes=reply.notes)
            is_late = hook.background or not event.spec.can_block
            if reply.exit_code and verdict.failure is None and is_late and verdict.decision >= Decision.DENY:
                # a denial by exit code, at an event that cannot be denied any more
                message = f"ended with exit code {reply.exit_code}" + (f": {verdict.reason}" if verdict.reason else "")
                verdict = failed_verdict(Failure(FailureKind.EXIT_CODE, message), notes=verdict.notes)
        if verdict.effects and verdict.decision < Decision.DENY:
            verdict = _fail_misplaced_rewrites(verdict, event, hook)
        verdict = sanitize_verdict(verdict)
        if verdict.failure is None:
            return verdict
        return apply_failure_policy(verdict, hook=hook, default=self.default_on_error(hook))

    def _decode(self, reply: Reply, request: Request, hook: Hook) -> Verdict:
        if reply.value is not UNSET and reply.value is not None:
            # only Python functions return values, whatever the hook's dialect is
            returned = read_returned(reply.value, dialect=hook.dialect)
            if isinstance(returned, Verdict):
                _check_effects(returned, hook.dialect)
                return replace(returned, notes=(*returned.notes, *reply.notes))
            reply = replace(reply, value=returned)
        dialect = self._dialects[hook.dialect]
        if not hook.plain or reply.exit_code or reply.value is not UNSET:
            return dialect.decode_reply(reply, request)
        if json_codec.find_last_object(reply.stdout)[0] is None:
            return _plain_text(reply)
        try:
            return dialect.decode_reply(reply, request)
        except DialectError as problem:
            if problem.is_answer:
                raise
            # JSON of another kind, such as a linter's report
            return _plain_text(reply)


def _fail_too_long(reply: Reply, event: Event) -> Reply:
    """Fail a reply where a hook's shell could not pass a long value to the program that was to judge it."""
    values = (*event.args.values(), *event.data.values())
    longest = max((len(value) for value in values if isinstance(value, str)), default=0)
    if longest < _LONG_VALUE or reply.failure is not None:
        return reply
    message = (
        f"a value of {longest} characters is too long for an argument of a program, so the hook could not judge it: "
        "have the hook read the event from stdin"
    )
    return replace(reply, failure=Failure(FailureKind.TOO_LONG, message))


def _fail_misplaced_rewrites(verdict: Verdict, event: Event, hook: Hook) -> Verdict:
    """Remove rewrites that the event does not support, which is a failure of the hook.

    A call that the hook wanted to change must not run unchanged: it is blocked, unless the hook sets
    `on_error = "continue"`.
    """
    rewrites = event.spec.rewrites
    misplaced = [one for one in verdict.effects if one.kind is EffectKind.REWRITE and one.path[0] != rewrites]
    if not misplaced:
        return verdict
    what = "arguments" if misplaced[0].path[0] == "args" else "result"
    message = f"the hook changes the {what}, and there is none that could be changed at {event.name.value}"
    can_block = what == "arguments" and event.spec.can_block and event.name not in _PAST
    is_denied = can_block and hook.on_error is not OnError.CONTINUE
    return replace(
        verdict,
        decision=Decision.DENY if is_denied else verdict.decision,
        reason=message if is_denied else verdict.reason,
        effects=tuple(effect for effect in verdict.effects if effect not in misplaced),
        failure=verdict.failure or Failure(FailureKind.INVALID_REPLY, message),
    )


def _plain_text(reply: Reply) -> Verdict:
    """Return what a program printed as context for the conversation."""
    text = reply.stdout.decode("utf-8", "replace").strip()
    notes = reply.notes
    if len(text) > LONGEST_TEXT:
        notes = (*notes, f"it printed {len(text)} characters, the last {LONGEST_TEXT} are given on")
        text = text[-LONGEST_TEXT:]
    return Verdict(effects=(Effect(EffectKind.CONTEXT, text),) if text else (), notes=notes)


def read_returned(value: object, *, dialect: str) -> Verdict | Mapping[str, object] | None:
    """Read what a Python function returned; a mapping is left to the hook's dialect.

    False denies; True and None are no opinion. A text is a decision, alone or with a reason: "deny: no force pushes". A
    decision may also stand before its reason in a tuple.

    Raises:
        DialectError: The value is not an answer.
    """
    match value:
        case None | True:
            return None
        case False:
            return Verdict.deny("the function returned False")
        case Verdict() | Mapping():
            return value
        case Decision():
            return Verdict(decision=value, ends=value is Decision.STOP)
        case str():
            word, _, reason = value.partition(":")
            decision = _WORDS.get(word.strip().lower())
            if decision is not None:
                return Verdict(decision=decision, reason=reason.strip(), ends=decision is Decision.STOP)
        case [bool() | str() | Decision() as first, str() as reason] if len(value) == _PAIR:
            verdict = read_returned(first, dialect=dialect)
            if not isinstance(verdict, Verdict):
                return verdict
            return Verdict(decision=verdict.decision, reason=reason, ends=verdict.decision is Decision.STOP)
    shown = f"the text {value!r}" if isinstance(value, str) else f"{type(value).__name__} {value!r}"
    shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"
    raise DialectError(
        f"the function returned {shown}, which is no answer: return a Verdict, a dict, False to deny, "
        'a text such as "deny: reason", or None',
        dialect=dialect,
    )


def _check_effects(verdict: Verdict, dialect: str) -> None:
    """Refuse effects that cannot be applied in a verdict that a function built without any type check."""
    for effect in verdict.effects:
        match effect:
            case Effect(kind=EffectKind.REWRITE, path=("args", str()) | ("output",) | ("output", str())):
                continue
            case Effect(kind=EffectKind.DATA, path=(str(),)):
                continue
            case Effect(kind=EffectKind.RAISE, path=(str(),), value=Mapping()):
                continue
            case Effect(kind=EffectKind.CONTEXT | EffectKind.MESSAGE | EffectKind.ASK_AGENT, path=()):
                continue
        raise DialectError(f"{effect!r} is no effect that can be applied", dialect=dialect, where="effects")


def sanitize_verdict(verdict: Verdict) -> Verdict:
    """Return the verdict with every text in it safe to pass on to a user, a model or a terminal.

    Every verdict goes through here once, so that no interface (agents, CLI, HTTP, git, the embedding program) passes on
    terminal escapes, hidden characters, secrets, or texts of any length. Changed arguments and outputs are data and stay
    unchanged.
    """
    if not (verdict.reason or verdict.effects or verdict.failure):
        return verdict
    reason = sanitize(verdict.reason, longest=LONGEST_REASON, tabs=True)
    failure = verdict.failure
    if failure is not None:
        failure = Failure(failure.kind, sanitize(failure.message, longest=LONGEST_MESSAGE))
    effects = tuple(_sanitize_effect(effect, verdict, reason) for effect in verdict.effects)
    return replace(verdict, reason=reason, effects=effects, failure=failure)


def _sanitize_effect(effect: Effect, verdict: Verdict, reason: str) -> Effect:
    longest = _LONGEST.get(effect.kind)
    if longest is None:
        # a reason that replaces a result is still a reason
        is_reason = effect.kind is EffectKind.REWRITE and effect.value == verdict.reason != ""
        return Effect(effect.kind, reason, effect.path) if is_reason else effect
    text = sanitize(str(effect.value), longest=longest, tabs=effect.kind is not EffectKind.MESSAGE)
    return Effect(effect.kind, text, effect.path)


def describe_origin(hook: Hook) -> str:
    """Return how a fence names a hook that is not the user's own, or "" for one whose texts are passed on as they are.

    Hooks that the running program registered are its own, unless the program says that they were packaged by others. A
    list of steps says nothing itself: what its steps say is fenced as theirs. Constant texts are part of what was approved.
    """
    is_registered = hook.layer is Layer.PROGRAM and not hook.source_path and hook.source is Source.WORKSPACE
    if hook.kind in _CONSTANT or hook.source in USER_SOURCES or is_registered:
        return ""
    name = _UNSAFE.sub("_", escape_all(hook.id[:_LONGEST_NAME]))[:_LONGEST_NAME]
    return f'hook "{name}" {_ORIGINS[hook.source]}'


def fence_verdict(verdict: Verdict, event: Event, origin: str) -> Verdict:
    """Return the verdict with a fence around each text that a model reads as part of the conversation.

    Those are the reason, added context and prompts for the agent. Changed arguments and results are data of the call, and
    messages are for the user: they stay unchanged. `origin` is kept for a result that reaches the model as context.
    """
    if not (verdict.reason or verdict.effects):
        return verdict
    reason = verdict.reason
    if reason and event.name not in _SHOWN_BY_GIT:
        reason = fence(reason, origin)
    effects = tuple(_fence_effect(effect, verdict, reason, origin) for effect in verdict.effects)
    return replace(verdict, reason=reason, effects=effects, origin=origin)


def _fence_effect(effect: Effect, verdict: Verdict, reason: str, origin: str) -> Effect:
    if effect.kind in _SPOKEN and effect.value:
        return Effect(effect.kind, fence(str(effect.value), origin), effect.path)
    # a reason that replaces a result is still a reason
    is_reason = effect.kind is EffectKind.REWRITE and effect.value == verdict.reason != ""
    return Effect(effect.kind, reason, effect.path) if is_reason else effect
