"""The settings formats of agents as data: one `AgentFileSpec` for each kind of file."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.config.document import KeyPath, Problem
from hookline.config.keys import LONG, SHARED, Key, anything, describe, flag, nonempty_text, seconds, table, text
from hookline.config.reader import FileReader
from hookline.model.hook import Hook
from hookline.model.tools import READING, WRITING

# canonical tools by what agents call "to run", "to read" and "to write"
RUNS: Final = ("shell",)
READS: Final = READING
WRITES: Final = WRITING
MCP: Final = ("mcp__.*",)
WEB: Final = ("web_fetch", "web_search")


class MatchTarget(StrEnum):
    """What the matcher of a hook is compared with at an event."""

    SUBJECT = "subject"  # the tool, or whatever the event is about
    WORD = "word"  # the same, but the matcher is one word and no pattern
    COMMAND = "command"  # the command that would run
    PATH = "path"  # the path of a file
    FILES = "files"  # the names of files in the folder the agent works in, listed with |
    CONSTANT = "constant"  # always the same word
    NOTHING = "nothing"  # it is not looked at


class AgentEvent(Struct, frozen=True, kw_only=True):
    """An agent's own event, where it is more than another name for one of ours.

    `on` are the canonical events; without any, those the dialect has. `tools` are the only tools it is about. `aim`
    says what matchers look at there, and `constant` is the word they find if it is always the same one.
    """

    on: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    matches: MatchTarget = MatchTarget.SUBJECT
    constant: str = ""


UNMATCHED: Final = AgentEvent(matches=MatchTarget.NOTHING)
WORD: Final = AgentEvent(matches=MatchTarget.WORD)


class ConfigEntry(Struct, frozen=True, kw_only=True):
    """One hook as it stands in a file: its keys as they were read, and what it is called in a message."""

    event: str
    values: dict[str, object]
    where: KeyPath
    owner: str


# Fields of a hook made of an entry; None when it cannot be one, which was reported.
Finish = Callable[[FileReader, ConfigEntry, dict[str, object]], dict[str, object] | None]
# how a field of a hook is written: the key, and the value as files have it
KeyWriter = tuple[str, Callable[[object], object]]


def keep_fields(_reading: FileReader, _entry: ConfigEntry, fields: dict[str, object]) -> dict[str, object] | None:
    """Leave the fields of a hook as its keys say them."""
    return fields


class AgentFileSpec(Struct, frozen=True, kw_only=True):
    """The format of one kind of file in which an agent keeps hooks.

    `wrapper` is the key its events stand under; empty where they are at the top. `keys` are a hook's and `group_keys` a
    group's; a spec without the latter has no groups, and `alone` says that hooks may stand without one. `types` maps
    each type to the key it needs, and `default_type` is meant where none is given; `elsewhere` says of the other types
    why only the agent can run them. `moments` are events that need a word more than a name. `defaults` are fields that
    all hooks of the agent have. `finish` sees to what one key alone does not decide. `off` says, from the file as a
    whole, why its hooks are switched off, and `is_off` whether one of them is.

    `spelled` is the way back: which fields can be written, and how. `around` is what a new file holds besides.

    `local`, `project` and `home` are the paths of such files in a project and in a home folder, where a star stands for
    any name; new hooks go to the first path, and `stem` takes the place of the star. `read` reads a file that is more
    than events with their hooks; one that `is_program` is the hook itself.
    """

    keys: Mapping[str, Key]
    wrapper: str = "hooks"
    group_keys: Mapping[str, Key] = {}
    allows_ungrouped: bool = False
    types: Mapping[str, str] = MappingProxyType({"command": "command"})
    default_type: str = "command"
    agent_only: Mapping[str, str] = {}
    events: Mapping[str, AgentEvent] = {}
    defaults: Mapping[str, object] = {}
    finish: Finish = keep_fields
    why_disabled: Callable[[Mapping[str, object]], str] = lambda _settings: ""
    is_disabled: Callable[[Mapping[str, object], Mapping[str, object]], bool] = lambda _settings, _entry: False
    writers: Mapping[str, KeyWriter] = {}
    header: Mapping[str, object] = {}
    local: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    stem: str = "hooks"
    is_program: bool = False
    read: Callable[..., tuple[list[Hook], list[Problem]]] | None = None


def milliseconds(value: object) -> float:
    """Read a time that the agent counts in thousandths of a second."""
    return _above_zero(value, 0.001, "milliseconds")


def whole_seconds(value: object) -> float:
    """Read a time that the agent counts in seconds; units are not known there."""
    return _above_zero(value, 1.0, "seconds")


def seconds_or_milliseconds(value: object) -> float:
    """Read a time as Qwen Code does: a thousand seconds and more were milliseconds once, and still are."""
    return _above_zero(value, 0.001 if isinstance(value, int | float) and value >= 1000 else 1.0, "seconds")  # noqa: PLR2004


def seconds_or_never(value: object) -> float:
    """Read a time of which 0 means that the hook may take as long as it likes."""
    return float(LONG) if value == 0 and not isinstance(value, bool) else whole_seconds(value)


def _above_zero(value: object, unit: float, name: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return seconds(value * unit)
    raise ValueError(f"wanted {name} above 0, got {describe(value)}")


def as_milliseconds(value: object) -> object:
    """Write a time in milliseconds."""
    return round(float(str(value)) * 1000)


def as_seconds(value: object) -> object:
    """Write a time in seconds, whole ones without a point."""
    number = float(str(value))
    return int(number) if number == int(number) else number


def as_is(value: object) -> object:
    """Write a value as it is."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def is_blocking(value: object) -> object:
    """Write what a failure means where there is only a switch for it."""
    return value == "block"


PLAIN: Final[Mapping[str, Key]] = {
    "type": Key(text, vital=True, about="How it is reached."),
    "command": Key(nonempty_text, "command", vital=True, about="The line to run."),
    "timeout": Key(whole_seconds, "timeout", about="How long it may take, in seconds."),
}
GROUP: Final[Mapping[str, Key]] = {
    "matcher": SHARED["matcher"],
    "hooks": Key(anything, about="The hooks of this group."),
    "description": SHARED["description"],
}
ENV: Final = Key(table, "env", vital=True, about="Environment variables it gets on top.")
NAME: Final = Key(text, "name", about="What people call it.")
ENABLED: Final = Key(flag, "enabled", vital=True, about="Whether it runs at all.")
IGNORED: Final = Key(anything, about="For the agent; it means nothing elsewhere.")
BACKGROUND: Final = Key(flag, "background", about="Nobody waits for it.")
COMMAND: Final[KeyWriter] = ("command", as_is)
SECONDS: Final[KeyWriter] = ("timeout", as_seconds)


def why_all_disabled(settings: Mapping[str, object]) -> str:
    """Return why a file with `disableAllHooks` has no active hooks, or ""."""
    return '"disableAllHooks" switches its hooks off' if settings.get("disableAllHooks") is True else ""
