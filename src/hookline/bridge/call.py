"""One call of an agent: its argv, its event as far as the name tells, and the project it is about."""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.dialects import DIALECTS
from hookline.model.event import Event, EventName
from hookline.model.names import AGENT_ALIASES
from hookline.model.plan import Plan
from hookline.model.verdict import Outcome
from hookline.ports import Dialect
from hookline.project import Project
from hookline.user_dirs import working_folder

OPTION: Final = "--if-broken"
USAGE: Final = f"wanted: hookline hook [{OPTION} block|allow] HOST EVENT"

# The variables in which agents name the folder they were started in. Their working folder may be far below it, and a project
# that is no repository could not be found from there.
PROJECT_VARIABLES: Final[Mapping[str, str]] = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
    "factory-droid": "FACTORY_PROJECT_DIR",
    "gemini-cli": "GEMINI_PROJECT_DIR",
    "qwen-code": "QWEN_PROJECT_DIR",
}


class IfBroken(StrEnum):
    """The answer to an agent when its hooks could not be asked."""

    BLOCK = "block"
    ALLOW = "allow"


class Call(Struct, frozen=True, kw_only=True):
    """The payload of an agent, its dialect, and `native`, the agent's own name of the event.

    Without `if_broken`, the failure policies of the configured hooks decide.
    """

    dialect: Dialect
    native: str
    raw: bytes
    if_broken: IfBroken | None = None


class CallState(Struct):
    """What is known of a call so far.

    `call` is in the dialect of the agent that called, `entry` is the agent whose settings hold the entry. `trouble` is why the
    hooks could not be asked: the event is unreadable (`is_unread`), the agents are nested too deeply (`is_too_deep`), or something
    failed. Without a `plan`, hooks may have to be asked. `note` is what was odd about the payload.
    """

    call: Call
    entry: str
    event: Event
    trouble: str = ""
    note: str = ""
    is_unread: bool = False
    is_too_deep: bool = False
    project: Project | None = None
    plan: Plan | None = None
    outcome: Outcome | None = None

    @property
    def has_hooks(self) -> bool:
        """Whether hooks have to be asked, as far as that is known."""
        return self.plan is None or bool(self.plan.stages)


def parse_argv(words: Sequence[str]) -> tuple[Call | None, IfBroken | None, str]:
    """Return the call, the policy as far as there is one, and the reason why the words cannot be used.

    Parsed by hand rather than by argparse: a call is made for every step of an agent, and an exit code of 2, with which argparse
    reports a typing error, would block it.
    """
    policy: IfBroken | None = None
    names: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == OPTION or word.startswith(f"{OPTION}="):
            value = word.partition("=")[2] if "=" in word else left.pop(0) if left else ""
            if value not in {*IfBroken}:
                return None, policy, f"{OPTION} is {value!r}, wanted block or allow"
            policy = IfBroken(value)
        elif word.startswith("-"):
            return None, policy, f"there is no option {word!r}"
        else:
            names.append(word)
    if len(names) != 2:  # noqa: PLR2004
        return None, policy, USAGE
    name, native = names
    dialect = DIALECTS.get(AGENT_ALIASES.get(name, name))
    if dialect is None or not dialect.SPEC.is_agent:
        known = ", ".join(sorted(name for name, module in DIALECTS.items() if module.SPEC.is_agent))
        return None, policy, f"there is no agent {name!r}; there are {known}"
    spec = dialect.SPEC
    if not (native in spec.abilities or native in spec.events.values() or native in spec.more_events):
        return None, policy, f"{spec.title} has no event {native!r}; it has {', '.join(spec.abilities)}"
    return Call(dialect=dialect, native=native, raw=b"", if_broken=policy), policy, ""


def event_from_name(dialect: Dialect, native: str) -> Event:
    """Return the event that a native name alone tells of, for a payload that could not be read."""
    spec = dialect.SPEC
    usual = next((name for name, own in spec.events.items() if own == native), None)
    if usual is not None:
        return Event(name=usual, host=spec.name)
    more = spec.more_events.get(native)
    if more is not None:
        return Event(name=more, native_name=native, host=spec.name)
    return Event(name=EventName.CUSTOM, data={"event_name": native}, native_name=native, host=spec.name)


def find_project_root(event: Event | None, *, host: str, environ: Mapping[str, str]) -> Path:
    """Return the folder that the agent names as its project, if it works inside it, else its working folder."""
    cwd = event.cwd if event is not None and os.path.isdir(event.cwd) else str(working_folder())  # noqa: PTH112 - a text
    named = environ.get(PROJECT_VARIABLES.get(host, ""), "")
    if named and os.path.isabs(named) and os.path.isdir(named):  # noqa: PTH112, PTH117
        real = Path(os.path.realpath(cwd))
        return _path(named) if real.is_relative_to(os.path.realpath(named)) else _path(cwd)
    return _path(cwd)


# an agent works in one folder for long, and parsing a path costs more than a lookup
_path = lru_cache(maxsize=64)(Path)
