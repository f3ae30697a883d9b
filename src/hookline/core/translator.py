"""Between our words and a hook's: which dialect encodes, which decodes, and what a broken answer means."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from hookline import wire
from hookline.core.failure import failed, settle
from hookline.core.matchers import matcher_for
from hookline.core.registry import event_key
from hookline.core.unfolding import FOLDED, unfolded
from hookline.errors import ConfigError, DialectError
from hookline.model.dialect import DialectSpec
from hookline.model.event import CUSTOM_PREFIX, Event, EventName
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, OnError
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict
from hookline.ports import Dialect

# what a program prints goes to a model, which has no room for a whole log; the end says how it went
LONGEST_TEXT: Final = 20_000


def take_tool(fields: dict[str, object], tool: str = "") -> tuple[str, dict[str, object]]:
    """Take the tool call out of an event's fields: `tool_name` or `tool` unless it is known, and `args`.

    Raises:
        ConfigError: The arguments are neither an object nor the JSON of one. A guard would see nothing of them.
    """
    tool = tool or str(fields.pop("tool_name", "") or fields.pop("tool", ""))
    args = fields.pop("args", {}) if tool else {}
    if isinstance(args, str | bytes):
        # models give arguments as text
        with suppress(ValueError):
            args = wire.load(args)
    if args is None or isinstance(args, Mapping):
        return tool, dict(args or {})
    raise ConfigError(f"the arguments of {tool} are {type(args).__name__}, wanted an object or the JSON of one")


def event_of(name: str, data: Mapping[str, object] | None = None) -> Event:
    """Make an event out of a name and its fields; `tool_name` and `args` become the tool call.

    Raises:
        ConfigError: There is no such event, or the arguments are none.
    """
    fields = dict(data or {})
    tool, args = take_tool(fields)
    key = event_key(name)
    if key.startswith(CUSTOM_PREFIX):
        key, fields["event_name"] = EventName.CUSTOM, key.removeprefix(CUSTOM_PREFIX)
    return Event(name=EventName(key), data=fields, tool=tool, args=args)


class HookTranslator:
    """Speak to each hook in its own dialect."""

    def __init__(self, dialects: Mapping[str, Dialect]) -> None:
        # not a copy: that would import every dialect for the one that is spoken
        self._dialects = MappingProxyType(dialects)
        # those that were; looked up five times for each hook
        self._spoken: dict[str, Dialect] = {}

    def to_hook_input(self, event: str, data: Mapping[str, object] | None = None) -> Event:
        """Make an event out of a name and its fields; `tool_name` and `args` become the tool call."""
        return event_of(event, data)

    def knows(self, hook: Hook) -> bool:
        """Say whether there is a dialect of the hook's name."""
        return hook.dialect in self._dialects

    def timeout(self, hook: Hook, setting: float | None) -> float:
        """Say how long a hook may take: its own time, else the person's setting, else its dialect's."""
        if hook.timeout is not None:
            return hook.timeout
        if setting is not None:
            return setting
        return (self._spoken.get(hook.dialect) or self._speak(hook.dialect)).SPEC.timeout

    def default_on_error(self, hook: Hook) -> OnError:
        """Say what a failure means where the hook does not."""
        dialect = self._spoken.get(hook.dialect) or self._dialects.get(hook.dialect)
        # what nobody knows is treated like a guard
        return dialect.SPEC.on_error if dialect else OnError.BLOCK

    def told(self, event: Event, hook: Hook) -> tuple[Event, ...]:
        """Give the events a hook is told in place of one: a call its system has no word for is told in its own."""
        if event.tool not in FOLDED:
            return (event,)
        dialect = self._spoken.get(hook.dialect) or self._dialects.get(hook.dialect)
        return unfolded(event, dialect.SPEC, partial(_is_for, hook, dialect.SPEC)) if dialect is not None else (event,)

    def encode(self, event: Event, hook: Hook) -> Request:
        """Say an event to a hook."""
        return self.encoder(hook)(event, hook)

    def encoder(self, hook: Hook) -> Callable[[Event, Hook], Request]:
        """Give the function that says events to a hook."""
        return (self._spoken.get(hook.dialect) or self._speak(hook.dialect)).encode_event

    def _speak(self, name: str) -> Dialect:
        found = self._spoken[name] = self._dialects[name]
        return found

    def read(self, reply: Reply, request: Request, hook: Hook) -> Verdict:
        """Read a hook's answer; one that cannot be read is a failure."""
        if reply.failure is not None:
            verdict = failed(reply.failure, notes=reply.notes)
        else:
            try:
                verdict = self._answer(reply, request, hook)
            except DialectError as problem:
                verdict = failed(Failure(FailureKind.INVALID_REPLY, str(problem)), notes=reply.notes)
        return verdict if verdict.failure is None else settle(verdict, hook=hook, default=self.default_on_error(hook))

    def _answer(self, reply: Reply, request: Request, hook: Hook) -> Verdict:
        if reply.value is not UNSET and isinstance(reply.value, Verdict):
            # said in our own words, whatever the hook's dialect is
            _check(reply.value, hook.dialect)
            return replace(reply.value, notes=(*reply.value.notes, *reply.notes))
        if not hook.plain or reply.exit_code or reply.value is not UNSET:
            return (self._spoken.get(hook.dialect) or self._speak(hook.dialect)).decode_reply(reply, request)
        if wire.last_object(reply.stdout)[0] is None:
            return _plain_text(reply)
        try:
            return self._dialects[hook.dialect].decode_reply(reply, request)
        except DialectError:
            # JSON of its own, such as a linter's report
            return _plain_text(reply)


def _plain_text(reply: Reply) -> Verdict:
    """Take what a program printed as text for the conversation."""
    text = reply.stdout.decode("utf-8", "replace").strip()
    notes = reply.notes
    if len(text) > LONGEST_TEXT:
        notes = (*notes, f"it printed {len(text)} characters, the last {LONGEST_TEXT} are given on")
        text = text[-LONGEST_TEXT:]
    return Verdict(effects=(Effect(EffectKind.CONTEXT, text),) if text else (), notes=notes)


def _is_for(hook: Hook, spec: DialectSpec, name: str) -> bool:
    """Tell whether a hook's matcher is for a tool of this name."""
    return matcher_for(spec.matcher, hook.matcher, is_strangers=True)(name)


def _check(verdict: Verdict, dialect: str) -> None:
    """Look at a verdict that a function made by hand: nobody checked its types."""
    decision: object = verdict.decision
    if not isinstance(decision, Decision):
        raise DialectError(f"{decision!r} is no Decision", dialect=dialect, where="decision")
    reason: object = verdict.reason
    if not isinstance(reason, str):
        raise DialectError(f"{reason!r} is no text", dialect=dialect, where="reason")
    for effect in verdict.effects:
        if not _has_place(effect):
            raise DialectError(f"{effect!r} is no effect that can be applied", dialect=dialect, where="effects")


def _has_place(effect: object) -> bool:
    if not isinstance(effect, Effect):
        return False
    match effect.kind, effect.path:
        case EffectKind.REWRITE, ("args", str()) | ("output",) | ("output", str()):
            return True
        case EffectKind.DATA, (str(),):
            return True
        case EffectKind.RAISE, (str(),):
            return isinstance(effect.value, Mapping)
        case EffectKind.CONTEXT | EffectKind.MESSAGE | EffectKind.ASK_AGENT, ():
            return True
    return False
