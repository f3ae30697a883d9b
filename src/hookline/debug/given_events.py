"""Events as far as a test describes them, completed with samples."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from hookline.debug.samples import SESSION, TOOLS, Fits, sample
from hookline.engine.event_factory import make_event
from hookline.errors import ConfigError
from hookline.model.event import EVENTS, READING, TOOL_SPECS, Event
from hookline.model.hook import Hook

# the time of every event in a test, so that a payload is the same in each run
TIME: Final = 1_767_225_600_000


def complete_event(
    name: str,
    *,
    tool: str = "",
    args: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
    cwd: str = "",
    hook: Hook | None = None,
    fits: Fits | None = None,
) -> Event:
    """Return an event as far as it is given, with the values of a sample for the rest.

    `name` is a canonical event or `custom:NAME`. Without a `tool`, it is the first that has all of the arguments and for which
    `fits` is true. A tool gets the arguments that it cannot do without.

    Raises:
        ConfigError: The event is no tool call and was given a tool or arguments, or no tool has all of the arguments.
    """
    plain = sample(name, hook=hook, cwd=cwd)
    fields = {**plain.data, **(data or {})}
    if EVENTS[plain.name].subject != "tool":
        if tool or args:
            raise ConfigError(f"{plain.name} is no tool call, so it has neither a tool nor arguments")
        return replace(plain, data=fields, timestamp=TIME)
    if tool:
        return _build_call(name, tool, args or {}, data=fields, cwd=cwd)
    names = sorted(TOOLS, key=lambda one: one not in READING) if hook is not None and hook.reads else TOOLS
    calls = [
        _build_call(name, one, args or {}, data=fields, cwd=cwd) for one in names if set(args or ()) <= _arguments(one)
    ]
    if not calls:
        raise ConfigError(f"no tool has all of the arguments {', '.join(args or ())}; name the tool")
    return next((call for call in calls if fits is None or fits(call)), calls[0])


def _build_call(name: str, tool: str, args: Mapping[str, object], *, data: Mapping[str, object], cwd: str) -> Event:
    call = make_event(name, data, tool=tool, args=args, session=SESSION, cwd=cwd, project=cwd)
    spec = TOOL_SPECS.get(call.tool)
    needed = {key: value for key, value in TOOLS.get(call.tool, {}).items() if spec and key in spec.arguments}
    return replace(call, args={**needed, **args}, id="", timestamp=TIME)


def _arguments(tool: str) -> set[str]:
    return {name.rstrip("?") for name in TOOL_SPECS[tool].arguments}
