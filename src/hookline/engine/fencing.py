"""Fence what hooks of others tell the model, so that it cannot pass for words of the user. No I/O, no clock."""

import re
from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer, Source
from hookline.model.verdict import Effect, EffectKind, Verdict
from hookline.model.workspace_paths import USER_SOURCES
from hookline.text import escape_all, fence

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
