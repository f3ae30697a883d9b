"""How an agent writes its hooks down, as data: one `Style` for each kind of file."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.config.document import KeyPath
from hookline.config.reading import Reading
from hookline.config.values import LONG, SHARED, Key, describe, filled, flag, ignored, seconds, table, text

# canonical tools by what agents call "to run", "to read" and "to write"
RUNS: Final = ("shell",)
READS: Final = ("read_file", "read_files", "list_dir", "glob", "grep")
WRITES: Final = (
    *("write_file", "edit_file", "multi_edit", "insert_text", "edit_lines"),
    *("apply_patch", "delete_file", "notebook_edit"),
)
MCP: Final = ("mcp__.*",)
WEB: Final = ("web_fetch", "web_search")


class Aim(StrEnum):
    """What the matcher of a hook is compared with at an event."""

    SUBJECT = "subject"  # the tool, or whatever the event is about
    WORD = "word"  # the same, but the matcher is one word and no pattern
    COMMAND = "command"  # the command that would run
    PATH = "path"  # the path of a file
    FILES = "files"  # the names of files in the folder the agent works in, listed with |
    CONSTANT = "constant"  # always the same word
    NOTHING = "nothing"  # it is not looked at


class Moment(Struct, frozen=True, kw_only=True):
    """An agent's own event, where it is more than another name for one of ours.

    `on` are the canonical events; without any, those the dialect has. `tools` are the only tools it is about. `aim`
    says what matchers look at there, and `constant` is the word they find if it is always the same one.
    """

    on: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    aim: Aim = Aim.SUBJECT
    constant: str = ""


UNMATCHED: Final = Moment(aim=Aim.NOTHING)
WORD: Final = Moment(aim=Aim.WORD)


class Entry(Struct, frozen=True, kw_only=True):
    """One hook as it stands in a file: its keys as they were read, and what it is called in a message."""

    event: str
    values: dict[str, object]
    where: KeyPath
    owner: str


# Fields of a hook made of an entry; None when it cannot be one, which was reported.
Finish = Callable[[Reading, Entry, dict[str, object]], dict[str, object] | None]
# how a field of a hook is written: the key, and the value as files have it
Spelling = tuple[str, Callable[[object], object]]


def as_it_is(_reading: Reading, _entry: Entry, fields: dict[str, object]) -> dict[str, object] | None:
    """Leave the fields of a hook as its keys say them."""
    return fields


class Style(Struct, frozen=True, kw_only=True):
    """How one agent's file holds hooks.

    `wrapper` is the key its events stand under; empty where they are at the top. `keys` are a hook's and `group_keys` a
    group's; a style without the latter has no groups, and `alone` says that hooks may stand without one. `types` maps
    each type to the key it needs, and `default_type` is meant where none is given; `elsewhere` says of the other types
    why only the agent can run them. `moments` are events that need a word more than a name. `defaults` are fields that
    all hooks of the agent have. `finish` sees to what one key alone does not decide. `off` says, from the file as a
    whole, why its hooks are switched off, and `is_off` whether one of them is.

    `spelled` is the way back: which fields can be written, and how. `around` is what a new file holds besides.
    """

    keys: Mapping[str, Key]
    wrapper: str = "hooks"
    group_keys: Mapping[str, Key] = MappingProxyType({})
    alone: bool = False
    types: Mapping[str, str] = MappingProxyType({"command": "command"})
    default_type: str = "command"
    elsewhere: Mapping[str, str] = MappingProxyType({})
    moments: Mapping[str, Moment] = MappingProxyType({})
    defaults: Mapping[str, object] = MappingProxyType({})
    finish: Finish = as_it_is
    off: Callable[[Mapping[str, object]], str] = lambda _settings: ""
    is_off: Callable[[Mapping[str, object], Mapping[str, object]], bool] = lambda _settings, _entry: False
    spelled: Mapping[str, Spelling] = MappingProxyType({})
    around: Mapping[str, object] = MappingProxyType({})


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


def as_said(value: object) -> object:
    """Write a value as it is."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def is_blocking(value: object) -> object:
    """Write what a failure means where there is only a switch for it."""
    return value == "block"


PLAIN: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "type": Key(text, vital=True, about="How it is reached."),
        "command": Key(filled, "command", vital=True, about="The line to run."),
        "timeout": Key(whole_seconds, "timeout", about="How long it may take, in seconds."),
    }
)
GROUP: Final[Mapping[str, Key]] = MappingProxyType(
    {
        "matcher": SHARED["matcher"],
        "hooks": Key(ignored, about="The hooks of this group."),
        "description": SHARED["description"],
    }
)
ENV: Final = Key(table, "env", vital=True, about="Environment variables it gets on top.")
NAME: Final = Key(text, "name", about="What people call it.")
SWITCH: Final = Key(flag, "enabled", vital=True, about="Whether it runs at all.")
ASIDE: Final = Key(ignored, about="For the agent; it means nothing elsewhere.")
LATER: Final = Key(flag, "background", about="Nobody waits for it.")
COMMAND: Final[Spelling] = ("command", as_said)
SECONDS: Final[Spelling] = ("timeout", as_seconds)


def all_off(settings: Mapping[str, object]) -> str:
    """Say that the file switches its hooks off, as Claude Code and others have it."""
    return '"disableAllHooks" switches its hooks off' if settings.get("disableAllHooks") is True else ""
