"""Names that people type: any dialect's spelling will do, and a wrong one gets the nearest right one."""

from hookline.config.vocabulary import hint, quoted
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.wiring import native_names


def events_named(name: str) -> tuple[EventName, ...]:
    """Give the canonical events a person means; some dialects have one name for several.

    Raises:
        ConfigError: There is no such event.
    """
    if name in set(EventName):
        return (EventName(name),)
    spelled = {native: events for names in native_names().values() for native, events in names.items()}
    if name in spelled:
        return tuple(EventName(event) for event in spelled[name])
    nearest = hint(name, [*EventName, *spelled])
    raise ConfigError(f"there is no event {quoted(name)}{nearest}; `hookline events` lists them")


def event_named(name: str) -> EventName:
    """Give the one canonical event a person means.

    Raises:
        ConfigError: There is no such event, or a dialect's name stands for several.
    """
    events = events_named(name)
    if len(events) == 1:
        return events[0]
    raise ConfigError(f"{quoted(name)} stands for {' and '.join(events)}; name one of them")
