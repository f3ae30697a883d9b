"""Names that people type: any dialect's spelling will do, and a wrong one gets the nearest right one."""

from hookline.config.vocabulary import hint, quoted
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.wiring import native_names


def event_named(name: str) -> EventName:
    """Give the canonical event a person means.

    Raises:
        ConfigError: There is no such event, or a dialect's name stands for several.
    """
    if name in set(EventName):
        return EventName(name)
    spelled = {native: events for names in native_names().values() for native, events in names.items()}
    events = spelled.get(name, ())
    if len(events) == 1:
        return EventName(events[0])
    if events:
        raise ConfigError(f"{quoted(name)} stands for {' and '.join(events)}; name one of them")
    nearest = hint(name, [*EventName, *spelled])
    raise ConfigError(f"there is no event {quoted(name)}{nearest}; `hookline events` lists them")
