"""Tool calls of real agents: kept as they were said, judged as they are meant.

What an agent said is changed where a hook changed it and nowhere else: keys nobody knows, relative paths and odd types
go back as they came.
"""

import posixpath
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, Struct

from hookline import wire
from hookline.dialects._tools import Toolbox, final_args
from hookline.model.event import Event
from hookline.model.tools import OTHER, TOOLS
from hookline.model.verdict import Outcome

# arguments of our tools that are paths: absolute and without `..`, whatever the agent wrote
_PATHS: Final = ("path", "paths", "cwd", "to", "save_to")
# what an argument list is called that is no object: a plain text or list stands for this one
PLAIN: Final = "input"


class Call(Struct, frozen=True):
    """A tool call in our words, and the agent's own name of the tool where ours does not tell it."""

    tool: str
    args: dict[str, object]
    native_tool: str


def understood(tools: Toolbox, name: str, said: object, *, cwd: str) -> Call:
    """Give a call in our words: our tool, our names of its arguments, whole paths.

    A tool that the agent's table does not have is none of ours, even if somebody called it like one: nobody knows what
    it does.
    """
    given = said if isinstance(said, Mapping) else {PLAIN: said}
    tool, args, native = tools.understand(name, given)
    if tool in TOOLS and not tools.knows(name, given):
        tool, native = f"{OTHER}{tool}", name
    return Call(tool, absolute(args, cwd), native)


def resaid(tools: Toolbox, event: Event, *, dialect: str) -> tuple[str, object]:
    """Say an event's call to a hook: to one of the agent's own language, as the agent said it."""
    name, args = tools.call(event)
    if event.host != dialect or event.native_args is None:
        return name, args
    return event.native_tool or name, _changed(tools, event, event.args)


def rewritten(tools: Toolbox, outcome: Outcome, event: Event) -> object:
    """Give the whole call as the agent is to make it, UNSET where nothing was changed."""
    final = final_args(outcome, event)
    if final is None:
        return UNSET
    if event.native_args is None:
        return tools.native(event, final)
    changed = _changed(tools, event, final)
    return UNSET if wire.dump(changed) == wire.dump(event.native_args) else changed


def _changed(tools: Toolbox, event: Event, final: Mapping[str, object]) -> object:
    """Put what differs from what was said into what was said."""
    said = event.native_args
    name = event.native_tool or tools.call(event)[0]
    before = understood(tools, name, said, cwd=event.cwd).args
    if wire.dump(before) == wire.dump(final):
        return said
    old, new = tools.native(event, before), tools.native(event, final)
    whole = dict(said) if isinstance(said, Mapping) else {PLAIN: said}
    for key, value in new.items():
        if key not in old or wire.dump(old[key]) != wire.dump(value):
            whole[tools.spelling(event, key, whole)] = value
    for key in old.keys() - new.keys():
        whole.pop(tools.spelling(event, key, whole), None)
    if isinstance(said, Mapping):
        return whole
    # a plain value stays one, unless what was changed in it can only be said by name
    return whole[PLAIN] if whole.keys() == {PLAIN} else {key: whole[key] for key in whole if key != PLAIN or key in new}


def absolute(args: dict[str, object], cwd: str) -> dict[str, object]:
    """Give arguments whose paths are whole; a person's home and an unknown folder are not ours to fill in."""
    changed: dict[str, object] = {key: _whole(args[key], cwd) for key in _PATHS if key in args}
    return {**args, **changed} if changed else args


def _whole(value: object, cwd: str) -> object:
    if isinstance(value, list):
        return [_whole(item, cwd) for item in value]
    if not isinstance(value, str) or not value or value.startswith("~"):
        return value
    joined = posixpath.join(cwd, value)
    # two leading slashes mean the same as one everywhere we run
    return posixpath.normpath(joined).replace("//", "/") if joined.startswith("/") else value
