"""Run hooks without effects: processes are contained, whatever their definition says, and nothing leaves the machine.

A replayed process reads what it could read, writes only a temporary folder of its own, and has no network. Kinds that exist for
their effect are not run at all; a replay says what they would have done.
"""

import copy
import os
from contextvars import ContextVar
from functools import cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.engine.components import Components
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.sandbox import PRIVATE, READ_ONLY, Sandbox
from hookline.model.verdict import Verdict
from hookline.ports import Kind
from hookline.process.containment import describe_lacking, find_layers, list_lacking
from hookline.wiring import make_components

_CONTAINED: Final = ("command", "python")
_WITHOUT_EFFECT: Final = frozenset({"rule", "function", "raise_event"})


class Unasked(Struct, frozen=True):
    """A hook that was not run in a replay, and why; where it `decides`, the outcome could be another one."""

    hook: str
    reason: str
    decides: bool = False


unasked_hooks: Final[ContextVar[list[Unasked]]] = ContextVar("hookline_unasked_hooks")
"""The hooks that were not run for the event that is replayed."""


def make_contained_components(
    folder: str, *, protected: tuple[str, ...], state_root: str, uncontained: bool
) -> Components:
    """Return the components of an engine without effects; processes of a folder that is gone run in `folder`.

    With `uncontained`, processes run even where this machine cannot contain them.
    """
    components = make_components(always_isolated=True, protected=protected, state_root=state_root)
    machine = find_layers()
    refusal = ""
    if not machine.can_contain and not uncontained:
        lacking = describe_lacking(list_lacking(Sandbox(level=READ_ONLY)))
        refusal = f"it cannot be contained here ({lacking}); --uncontained runs it all the same"
    kinds: dict[str, Kind] = {}
    for name, kind in components.kinds.items():
        if name in _CONTAINED:
            kinds[name] = ContainedKind(kind, folder, refusal=refusal, required=not uncontained)
        else:
            kinds[name] = kind if name in _WITHOUT_EFFECT else UnperformedKind(kind)
    return replace(components, kinds=kinds)


class ContainedKind:
    """Runs the processes of hooks contained."""

    def __init__(self, kind: Kind, folder: str, *, refusal: str, required: bool) -> None:
        self._kind = kind
        self._folder = folder
        self._refusal = refusal
        self._required = required
        # by id; the same object each time, as kinds cache what they prepare for a hook
        self._hooks: dict[str, tuple[Hook, Hook]] = {}
        self.refusal = kind.refusal
        self.close = kind.close
        self._exists = cache(os.path.isdir)
        self.missing_folders: set[str] = set()

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Run the hook contained, unless it would run in the background or cannot be contained."""
        if hook.background:
            return _leave_out(hook, "it would run in the background, after the answer")
        if self._refusal:
            return _leave_out(hook, self._refusal, decides=True)
        cwd = request.event.cwd
        if cwd and not self._exists(cwd):
            self.missing_folders.add(cwd)
            request = self._move(request)
        return await self._kind.call(self._contain(hook), request, timeout=timeout)

    def _contain(self, hook: Hook) -> Hook:
        known = self._hooks.get(hook.id)
        if known is None or known[0] is not hook:
            own = hook.containment
            # a hook of the user's own sees all variables, and keeps them: it cannot tell them to anyone
            sandbox = own if own.is_contained else Sandbox(env=tuple(caller_context.environ()))
            sandbox = replace(sandbox, level=READ_ONLY, write=(), net=False, tmp=PRIVATE, required=self._required)
            known = self._hooks[hook.id] = (hook, replace(hook, sandbox=sandbox))
        return known[1]

    def _move(self, request: Request) -> Request:
        """Return the request for a process that runs in another folder; what it is told about the event stays the same."""
        _ = request.document, request.values
        moved = copy.copy(request)
        moved.event = replace(request.event, cwd=self._folder)
        return moved


class UnperformedKind:
    """Stands for a kind that exists for its effect: a request to a server, a question to the agent, a notification."""

    def __init__(self, kind: Kind) -> None:
        self.refusal = kind.refusal
        self.close = kind.close

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - the protocol's
        """Note what the hook would have done."""
        if hook.kind == "webhook":
            # without the path and the user, which may hold secrets
            server = hook.url.partition("://")[2].partition("/")[0].rpartition("@")[2]
            return _leave_out(hook, f"it would post to {server}", decides=True)
        if hook.kind == "mcp":
            return _leave_out(hook, f"it would call the MCP tool {hook.mcp}", decides=True)
        if hook.kind == "judge":
            return _leave_out(hook, f"it would ask the language model {hook.model}", decides=True)
        return _leave_out(hook, _WOULD.get(hook.kind, f"it is of the kind {hook.kind}"))


_WOULD: Final = {"ask_agent": "it would ask the agent", "notify": "it would show a notification"}


def _leave_out(hook: Hook, reason: str, *, decides: bool = False) -> Reply:
    # a hook in the background decides nothing, whatever its kind is
    unasked_hooks.get().append(Unasked(hook.id, reason, decides and not hook.background))
    return Reply(value=Verdict())
