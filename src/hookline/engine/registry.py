"""The hooks of an engine, by event."""

import itertools
import threading
from collections.abc import Mapping
from typing import Final

import msgspec

from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, EventName
from hookline.model.hook import Hook
from hookline.model.scope import ONCE_PER_TURN
from hookline.text import suggest

_NAMES: Final = frozenset(str(name) for name in EventName)


def event_key(name: str) -> str:
    """Check an event's name: a canonical one, or `custom:NAME` for one custom event.

    Raises:
        ConfigError: There is no such event; the message names the nearest one.
    """
    if name in _NAMES or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX)):
        return str(name)
    hint = suggest(name, EventName) or f' (for an event of your own say "{CUSTOM_PREFIX}{name}")'
    raise ConfigError(f'unknown event "{name}"{hint}')


class HookRegistry:
    """Hold hooks by event, in the order they were registered."""

    def __init__(self) -> None:
        # Threads may change the hooks at the same time: without the lock, `listening` could lose an event with a guard.
        self._changing = threading.RLock()
        # by event, then by id
        self._by_event: dict[str, dict[str, Hook]] = {}
        self._events_of: dict[str, list[str]] = {}
        self._order: dict[str, int] = {}
        self._registered = 0
        self._numbers: dict[str, itertools.count[int]] = {}
        # incremented by every change; caches derived from the hooks compare it
        self.version = 0
        # the events with hooks, and those that an emit answers at once; both are changed in place
        self.listening: set[str] = set()
        self.idle: set[str] = set(_NAMES)
        self._always_handled: frozenset[str] = frozenset()
        # whether a hook was registered that runs once per turn
        self.has_turn_limits = False
        # whether a hook was registered that can be taken back
        self.has_undo = False
        # whether a hook was registered that asks for facts
        self.has_facts = False

    def handle_always(self, events: frozenset[str]) -> None:
        """Keep these events out of `idle`, whether or not they have hooks."""
        with self._changing:
            self._always_handled = events
            self._update_events()

    def register_hook(self, event: str, hook: Hook | Mapping[str, object]) -> None:
        """Register a hook for one event; a mapping is read as the fields of a `Hook`.

        A mapping with a command and a source, as the OLLM document writes it, is a hook of the dialect `ollm` unless it
        says otherwise.

        Raises:
            ConfigError: The event is unknown, the definition is not a hook's, or another hook has this id.
        """
        key = event_key(event)
        made = hook if isinstance(hook, Hook) else _read_hook(hook)
        with self._changing:
            known = self.get_hook(made.id)
            if known is not None and not _is_same_hook(known, made):
                raise ConfigError(f'another hook has the id "{made.id}"', path=made.source_path, line=made.source_line)
            listed = self._by_event.setdefault(key, {})
            if made.id in listed:
                return
            self._registered += 1
            self.has_facts = self.has_facts or bool(made.facts)
            self.has_undo = self.has_undo or made.has_undo
            self.has_turn_limits = self.has_turn_limits or made.once == ONCE_PER_TURN
            self._order.setdefault(made.id, self._registered)
            listed[made.id] = made
            self._events_of.setdefault(made.id, []).append(key)
            # not _update_events(): with a thousand hooks, scanning all events for each would be quadratic
            self.listening.add(_event_name(key))
            self.idle.discard(_event_name(key))
            self.version += 1

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
        """Remove a hook from every event, and return whether it was there."""
        with self._changing:
            events = self._events_of.pop(hook_id, [])
            for event in events:
                del self._by_event[event][hook_id]
            self._order.pop(hook_id, None)
            self._update_events()
            return bool(events)

    def get_all_hooks(self) -> dict[str, list[Hook]]:
        """List all hooks by event."""
        with self._changing:
            return {event: list(hooks.values()) for event, hooks in self._by_event.items() if hooks}

    def clear_event(self, event: str) -> None:
        """Remove the hooks of one event."""
        with self._changing:
            for hook_id in self._by_event.pop(event, {}):
                events = self._events_of[hook_id]
                events.remove(event)
                if not events:
                    del self._events_of[hook_id], self._order[hook_id]
            self._update_events()

    def clear(self) -> None:
        """Remove all hooks."""
        with self._changing:
            self._by_event.clear()
            self._events_of.clear()
            self._order.clear()
            self._update_events()

    def get_hook_count(self) -> int:
        """Count the hooks; one that listens to two events counts once."""
        return len(self._events_of)

    def has_hook(self, hook_id: str) -> bool:
        """Return whether there is a hook with this id."""
        return self.get_hook(hook_id) is not None

    def free_id(self, name: str) -> str:
        """Return an id that no hook has: the name, or the name with a number appended."""
        if not self.has_hook(name):
            return name
        # continues from the last number: a thousand lambdas have the same name
        numbers = self._numbers.setdefault(name, itertools.count(2))
        return next(free for number in numbers if not self.has_hook(free := f"{name}-{number}"))

    def get_hook(self, hook_id: str) -> Hook | None:
        """Return the hook with this id, or None."""
        with self._changing:
            events = self._events_of.get(hook_id)
            return self._by_event[events[0]][hook_id] if events else None

    def events(self) -> frozenset[str]:
        """Return the events that have hooks."""
        with self._changing:
            return frozenset(event for event, hooks in self._by_event.items() if hooks)

    def position(self, hook: Hook) -> int:
        """Return the registration number of a hook, for ordering."""
        return self._order.get(hook.id, self._registered)

    def _update_events(self) -> None:
        listening = {_event_name(event) for event in self.events()}
        self.idle -= listening | self._always_handled
        self.idle |= _NAMES - listening - self._always_handled
        self.listening |= listening
        self.listening &= listening
        self.version += 1


def check_types(hook: Hook) -> None:
    """Check the types of a hook that a program constructed.

    Raises:
        ConfigError: A field has a value of another type.
    """
    fields = {name: getattr(hook, name) for name in hook.__struct_fields__ if name != "call"}
    try:
        msgspec.convert(fields, Hook)
    except msgspec.ValidationError as problem:
        raise ConfigError(f'hook "{hook.id}": {problem}') from None


def _event_name(key: str) -> str:
    return EventName.CUSTOM if key.startswith(CUSTOM_PREFIX) else key


def _is_same_hook(first: Hook, second: Hook) -> bool:
    # `on` grows when a hook is registered for several events one after another
    return msgspec.structs.replace(first, on=()) == msgspec.structs.replace(second, on=())


def _read_hook(fields: Mapping[str, object]) -> Hook:
    # `sourcePath` is how the OLLM document spells it
    renamed = {{"sourcePath": "source_path"}.get(key, key): value for key, value in fields.items()}
    known = {field.name for field in msgspec.structs.fields(Hook)}
    for key in renamed:
        if key not in known:
            raise ConfigError(f'unknown key "{key}" in hook "{fields.get("id", "?")}"{suggest(key, known)}')
    if "command" in renamed and "source" in renamed:
        # as the OLLM document registers programs, which use its wire format
        renamed.setdefault("dialect", "ollm")
    call = renamed.pop("call", None)
    try:
        made = msgspec.convert({**renamed, **({"kind": "function"} if call else {})}, Hook)
    except msgspec.ValidationError as problem:
        raise ConfigError(f'hook "{fields.get("id", "?")}": {problem}') from None
    if callable(call):
        return msgspec.structs.replace(made, call=call)
    return made
