"""The hooks an engine knows, by event."""

import difflib
import itertools
import threading
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, EventName
from hookline.model.hook import Hook

K = TypeVar("K")
V = TypeVar("V")

_NAMES: Final = frozenset(str(name) for name in EventName)


def event_key(name: str) -> str:
    """Check an event's name: a canonical one, or `custom:NAME` for one custom event.

    Raises:
        ConfigError: There is no such event; the message names the nearest one.
    """
    if name in _NAMES or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX)):
        return str(name)
    near = difflib.get_close_matches(name, [*EventName], n=1)
    hint = f'did you mean "{near[0]}"?' if near else f'for an event of your own say "{CUSTOM_PREFIX}{name}"'
    raise ConfigError(f'unknown event "{name}" ({hint})')


def nothing_ready() -> dict[str, bool]:
    """Give the table of an engine without hooks."""
    return {str(name): False for name in EventName}


class HookRegistry:
    """Hold hooks by event, in the order they were registered."""

    def __init__(self) -> None:
        # Threads may change the hooks at once: a guard must not get lost where two of them count which events have any.
        self._changing = threading.RLock()
        # by event, then by id
        self._by_event: dict[str, dict[str, Hook]] = {}
        self._events_of: dict[str, list[str]] = {}
        self._order: dict[str, int] = {}
        self._registered = 0
        self._numbers: dict[str, itertools.count[int]] = {}
        # whoever derives something from the hooks compares this number instead of the hooks
        self.version = 0
        self._cleared: list[dict[Any, Any]] = []
        # whether an event has hooks at all: what an emit asks first, so it is kept ready, and changed in place
        self.ready = nothing_ready()

    def register_hook(self, event: str, hook: Hook | Mapping[str, object]) -> None:
        """Register a hook for one event; a mapping is read as the fields of a `Hook`.

        Raises:
            ConfigError: The event is unknown, the definition is not a hook's, or another hook has this id.
        """
        key = event_key(event)
        made = hook if isinstance(hook, Hook) else _read(hook)
        with self._changing:
            known = self.get_hook(made.id)
            if known is not None and not _same_hook(known, made):
                raise ConfigError(f'another hook has the id "{made.id}"', path=made.source_path, line=made.source_line)
            listed = self._by_event.setdefault(key, {})
            if made.id in listed:
                return
            self._registered += 1
            self._order.setdefault(made.id, self._registered)
            listed[made.id] = made
            self._events_of.setdefault(made.id, []).append(key)
            # one more hook makes nothing else ready, and a thousand are registered one by one
            self.ready[_moment(key)] = True
            self._count()

    def add(self, hook: Hook) -> None:
        """Register a hook for every event it names in `on`."""
        if not hook.on:
            raise ConfigError(f'hook "{hook.id}" names no event', path=hook.source_path, line=hook.source_line)
        for event in [event_key(event) for event in hook.on]:
            self.register_hook(event, hook)

    def get_hooks_for_event(self, event: str) -> list[Hook]:
        """List the hooks of one event, in the order they were registered."""
        return list(self._by_event.get(event, {}).values())

    def unregister_hook(self, hook_id: str) -> bool:
        """Take a hook out of every event; say whether it was there."""
        with self._changing:
            events = self._events_of.pop(hook_id, [])
            for event in events:
                del self._by_event[event][hook_id]
            self._order.pop(hook_id, None)
            self._changed()
            return bool(events)

    def get_all_hooks(self) -> dict[str, list[Hook]]:
        """List all hooks by event."""
        with self._changing:
            return {event: list(hooks.values()) for event, hooks in self._by_event.items() if hooks}

    def clear_event(self, event: str) -> None:
        """Forget the hooks of one event."""
        with self._changing:
            for hook_id in self._by_event.pop(event, {}):
                left = self._events_of[hook_id]
                left.remove(event)
                if not left:
                    del self._events_of[hook_id], self._order[hook_id]
            self._changed()

    def clear(self) -> None:
        """Forget everything."""
        with self._changing:
            self._by_event.clear()
            self._events_of.clear()
            self._order.clear()
            self._changed()

    def get_hook_count(self) -> int:
        """Count the hooks; one that listens to two events counts once."""
        return len(self._events_of)

    def has_hook(self, hook_id: str) -> bool:
        """Say whether there is a hook with this id."""
        return self.get_hook(hook_id) is not None

    def free_id(self, name: str) -> str:
        """Give an id that no hook has: the name, or the name with a number behind it."""
        if not self.has_hook(name):
            return name
        # counted on from the last one of this name: a thousand lambdas are all called the same
        numbers = self._numbers.setdefault(name, itertools.count(2))
        return next(free for number in numbers if not self.has_hook(free := f"{name}-{number}"))

    def get_hook(self, hook_id: str) -> Hook | None:
        """Find a hook by its id."""
        with self._changing:
            events = self._events_of.get(hook_id)
            return self._by_event[events[0]][hook_id] if events else None

    def events(self) -> frozenset[str]:
        """Name the events that have hooks."""
        with self._changing:
            return frozenset(event for event, hooks in self._by_event.items() if hooks)

    def position(self, hook: Hook) -> int:
        """Say when a hook was registered, for ordering."""
        return self._order.get(hook.id, self._registered)

    def clear_with_changes(self, memory: dict[K, V]) -> None:
        """Clear a memory whenever a hook comes or goes: who is asked at every emit has no time to compare numbers."""
        self._cleared.append(memory)

    def _changed(self) -> None:
        listening = {_moment(event) for event in self.events()}
        for name in self.ready:
            self.ready[name] = name in listening
        self._count()

    def _count(self) -> None:
        self.version += 1
        for memory in self._cleared:
            memory.clear()


def _moment(key: str) -> str:
    return EventName.CUSTOM if key.startswith(CUSTOM_PREFIX) else key


def _same_hook(first: Hook, second: Hook) -> bool:
    # `on` grows when one hook is registered for several events one after another
    return msgspec.structs.replace(first, on=()) == msgspec.structs.replace(second, on=())


def _read(fields: Mapping[str, object]) -> Hook:
    # `sourcePath` is how the OLLM document spells it
    spelled = {{"sourcePath": "source_path"}.get(key, key): value for key, value in fields.items()}
    known = {field.name for field in msgspec.structs.fields(Hook)}
    for key in spelled:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f' (did you mean "{near[0]}"?)' if near else ""
            raise ConfigError(f'unknown key "{key}" in hook "{fields.get("id", "?")}"{hint}')
    call = spelled.pop("call", None)
    try:
        made = msgspec.convert({**spelled, **({"kind": "function"} if call else {})}, Hook)
    except msgspec.ValidationError as problem:
        raise ConfigError(f'hook "{fields.get("id", "?")}": {problem}') from None
    if callable(call):
        return msgspec.structs.replace(made, call=call)
    return made
