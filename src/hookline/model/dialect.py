"""What is fixed about a dialect, as data."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from hookline.model.event import EventName
from hookline.model.hook import OnError


class MatcherStyle(StrEnum):
    """How a matcher's text is read."""

    REGEX = "regex"
    PATTERN = "pattern"


class DialectSpec(Struct, frozen=True, kw_only=True):
    """The fixed facts of one dialect.

    `events` maps canonical names to the dialect's own; what is missing keeps its canonical name on the wire.
    `tools` maps a canonical tool to every name the dialect has for it, the one it sends first. `shell` says
    that a command is a shell line unless the hook says otherwise, `templates` that `{{…}}` is filled in.
    """

    name: str
    title: str
    events: Mapping[EventName, str]
    tools: Mapping[str, tuple[str, ...]] = {}
    timeout: float = 30.0
    on_error: OnError = OnError.CONTINUE
    shell: bool = False
    templates: bool = False
    matcher: MatcherStyle = MatcherStyle.REGEX
