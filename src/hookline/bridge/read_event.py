"""Read the payload of an agent. The entry in its settings names the agent and the event, whatever the payload calls them.

A new version of an agent that renames an event, or a payload that is damaged on its way, must not switch guards off: at an event
that can be denied, a payload that disagrees with the entry is read as the entry's event.
"""

import json
import re
from collections import Counter
from functools import cache
from typing import Final

from msgspec.structs import replace

from hookline import json_codec
from hookline.bridge.call import Call, CallState, event_from_name
from hookline.bridge.fallback import GUARDED
from hookline.dialects import DIALECTS, detect_agent
from hookline.errors import DialectError
from hookline.json_codec import Payload
from hookline.model.event import Event, EventName
from hookline.model.names import EVENT_NAMES
from hookline.text import sanitize

# the keys under which agents write the name of an event
_NAMES: Final = ("hook_event_name", "hookEventName", "agent_action_name", "hookName", "hook")
_MOST_KEYS: Final = 2_000
_KEY_ENDS: Final = re.compile(rb'"\s*:')
_SHOWN: Final = 80


def read_call(entry: Call) -> CallState:
    """Read a call that an entry in the settings of an agent made."""
    entry = replace(entry, raw=Payload(entry.raw))
    name = entry.dialect.SPEC.name

    def unread(why: str) -> CallState:
        event = event_from_name(entry.dialect, entry.native)
        return CallState(call=entry, entry=name, event=event, trouble=why, is_unread=bool(why))

    wanted = _find_events(name, entry.native)
    is_guarded = bool(wanted & GUARDED)
    # before a decoder takes the parsed document
    duplicate = _find_duplicate(entry.raw) if is_guarded else ""
    call = _detect_dialect(entry)
    event, trouble = _decode(call, call.raw)
    if not is_guarded:
        return CallState(call=call, entry=name, event=event, trouble=trouble, is_unread=bool(trouble))
    # a dialect may tell two events of one native name apart, such as a prompt and a request without one
    if not trouble and (event.name in wanted or event.native_name == entry.native):
        if not duplicate:
            return CallState(call=call, entry=name, event=event)
        shown = sanitize(duplicate, longest=_SHOWN)
        return unread(f'the key "{shown}" is in it twice, and it is not known which one counts')
    # without the name of the event, it is read as the entry's
    try:
        document = json_codec.load(entry.raw)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not any(name in document for name in _NAMES):
        return unread(trouble)
    unnamed = {key: value for key, value in document.items() if key not in _NAMES}
    event, trouble = _decode(entry, json_codec.dump(unnamed))
    if trouble or event.name not in wanted:
        return unread(trouble or f"it is no {entry.native} event")
    title = entry.dialect.SPEC.title
    note = f"{title} says another event than {entry.native}, at which its settings call us; {entry.native} was answered"
    return CallState(call=entry, entry=name, event=event, note=note)


def _detect_dialect(call: Call) -> Call:
    """Return the call in the dialect it was made in.

    Agents run each other's settings files, and then the argv of an entry names another agent than the one that runs it: it is
    answered in its own dialect all the same.
    """
    try:
        document = json_codec.peek(call.raw)
    except ValueError:
        return call
    agent = detect_agent(document, named=call.dialect.SPEC.name) if isinstance(document, dict) else None
    return call if agent is None else replace(call, dialect=DIALECTS[agent])


@cache
def _find_events(host: str, native: str) -> frozenset[EventName]:
    """Return the events that an agent's own name stands for."""
    known = EVENT_NAMES.get(host, {}).get(native, ())
    return frozenset({event_from_name(DIALECTS[host], native).name, *(EventName(name) for name in known)})


def _decode(call: Call, raw: bytes) -> tuple[Event, str]:
    try:
        return call.dialect.decode_event(raw, call.native), ""
    except DialectError as problem:
        why = str(problem)
    except Exception as problem:  # noqa: BLE001 - a bug in a decoder must not become an answer by accident
        why = f"reading what the agent said shows a bug in hookline ({problem!r}); please report it"
    return event_from_name(call.dialect, call.native), why


def _find_duplicate(raw: bytes) -> str:
    """Return a key that stands twice in an object of a payload; empty where none does."""
    try:
        document = json_codec.peek(raw)
    except ValueError:
        # a payload that the dialect can repair is not refused
        return ""
    # every key is followed by a colon, and quotes inside of texts can only add to the count
    left, count = [document], 0
    while left and count < _MOST_KEYS:
        value = left.pop()
        if isinstance(value, dict):
            count += len(value)
            left += value.values()
        elif isinstance(value, list):
            left += value
    if count == len(_KEY_ENDS.findall(raw)):
        return ""
    duplicates: list[str] = []

    def check(pairs: list[tuple[str, object]]) -> None:
        names = Counter(name for name, _ in pairs)
        duplicates.extend(name for name, count in names.items() if count > 1)

    try:
        json.loads(raw, object_pairs_hook=check)
    except (ValueError, RecursionError):
        return ""
    return duplicates[0] if duplicates else ""
