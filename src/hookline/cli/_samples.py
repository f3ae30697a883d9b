"""The event a hook is tried with: as the person gives it, or a sample that fits the hook."""

from time import time
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.cli._names import event_named
from hookline.debug.samples import SESSION, TOOLS, sample
from hookline.errors import ConfigError
from hookline.model.event import CUSTOM_PREFIX, Event
from hookline.model.hook import Hook
from hookline.model.plan import Gate
from hookline.wiring import native_names
from hookline.workspace import Opened

_FITTING: Final = frozenset({Gate.MATCHER, Gate.FILES, Gate.WRITES})


class Given(Struct, frozen=True, kw_only=True):
    """What the person said of the event."""

    tool: str = ""
    data: dict[str, object] | None = None
    args: dict[str, object] | None = None

    @property
    def empty(self) -> bool:
        """Whether everything is left to the sample."""
        return not self.tool and self.data is None and self.args is None


def given_event(project: Opened, hook: Hook, name: str, given: Given) -> Event:
    """Make the event: what the person gave, and a sample for what they did not.

    Raises:
        ConfigError: There is no such event, or it is no tool call and was given a tool.
    """
    engine = project.engine
    canonical = _canonical(hook, name)
    wanted = hook if canonical in hook.on else None
    made = sample(canonical, hook=wanted, cwd=engine.cwd, fits=lambda event: _fits(project, hook, event))
    if (given.tool or given.args is not None) and not made.tool:
        raise ConfigError(f"{canonical} is no tool call, so --tool and --args mean nothing there")
    if not given.empty:
        tool = given.tool or ("" if _names_tool(given.data) else made.tool)
        known = TOOLS.get(tool) if given.tool else made.args
        args = given.args if given.args is not None else None if _names_tool(given.data) else known
        made = engine.event(
            canonical,
            given.data if given.data is not None else made.data,
            tool=tool,
            args=args,
            session=SESSION,
        )
    return replace(made, id="sample", timestamp=int(time() * 1000))


def _canonical(hook: Hook, name: str) -> str:
    """Give the event a person means, who thinks in the words of the hook's own system."""
    own = native_names().get(hook.dialect, {}).get(name, ())
    if own:
        return next((event for event in own if event in hook.on), own[0])
    return name if name.startswith(CUSTOM_PREFIX) else str(event_named(name))


def _names_tool(data: dict[str, object] | None) -> bool:
    return data is not None and ("tool" in data or "tool_name" in data)


def _fits(project: Opened, hook: Hook, event: Event) -> bool:
    return all(one.passed for one in project.engine.planner.gates(hook, event) if one.gate in _FITTING)
