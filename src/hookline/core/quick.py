"""The short way for functions of this program: one flat pass from the event to the outcome.

Most events of a program reach nobody, or a few plain functions that have nothing to say. For these, nobody has to be
asked for trust, no limits hold, nothing is translated and nothing is waited for. Which hooks an event has is worked out
once, made into one function, and holds until a hook is registered or taken away.

Whatever is not plain goes the usual way: a hook of another kind before any is asked, and one that answers, raises or
has to be awaited from there on, with what it gave. No function is ever called twice. What hooks and callers see, and
what stands in the trace, is the same on both ways.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final, Protocol

from msgspec.structs import replace

from hookline.core.bus import MessageBus
from hookline.core.calling import Fields, Left, Way, calling, known, usual
from hookline.core.moments import Moments
from hookline.core.planner import MEMORY, HookPlanner
from hookline.core.registry import HookRegistry
from hookline.core.runner import HookRunner
from hookline.core.trust import TrustedHooks
from hookline.errors import ConfigError
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.hook import Hook, Source
from hookline.model.plan import Plan
from hookline.model.session import Session
from hookline.model.verdict import Outcome
from hookline.ports import Immediate, Kind

# what an event without hooks gets; one object for all of them
QUIET: Final = Outcome()
# the dialect in which a function that gives None has said nothing
_OWN: Final = "hookline"


class Host(Protocol):
    """The engine whose events are answered."""

    registry: HookRegistry
    planner: HookPlanner
    runner: HookRunner
    trust: TrustedHooks
    bus: MessageBus

    @property
    def handle(self) -> Callable[..., Awaitable[Outcome]]:
        """Answer an event the usual way."""


class Quick:
    """Find the short way for an event by its name and its tool: `ways` has those that were found."""

    def __init__(
        self,
        host: Host,
        *,
        moments: Moments,
        kinds: Mapping[str, Kind],
        ready: Mapping[str, bool],
        except_at: Collection[str],
        handle: Callable[..., Awaitable[Outcome]],
    ) -> None:
        self._host = host
        self._handle = handle
        self._registry = host.registry
        self._planner = host.planner
        self._runner = host.runner
        self._bus = host.bus
        self._moments = moments
        self._kind = kinds.get("function")
        self._ready = ready
        self._except_at = except_at
        self.ways: dict[tuple[str, str], Way] = {}
        # the events that nobody wants, as far as they came up: most emits end here
        self.silent: dict[str, Outcome] = {}
        host.registry.clear_with_changes(self.ways)
        host.registry.clear_with_changes(self.silent)

    def silence(self, name: str) -> Outcome:
        """Remember that nobody wants the events of this name, and give what they get."""
        self.silent[name] = QUIET
        if self._ready[name]:
            # another thread has brought a hook meanwhile: looked at after it was put down, as below
            self.silent.pop(name, None)
        return QUIET

    def find(self, name: str, tool: str) -> Way:
        """Find the way for an event of this name, about this tool."""
        if len(self.ways) >= MEMORY:
            self.ways.clear()
        version = self._registry.version
        way = self.ways[name, tool] = self._found(name, tool)
        if self._registry.version != version:
            # Somebody changed the hooks meanwhile, and cleared the ways maybe before this one came. Looked at after it
            # was put down, so that one of both sees the other: a guard must not be left out of all events to come.
            self.ways.pop((name, tool), None)
        return way

    def _found(self, name: str, tool: str) -> Way:
        try:
            event = self._moments.event(name, None, tool=tool, args={}, session=Session(), cwd="", at=0.0, id="")
        except ConfigError:
            return usual
        if not self._is_open() or event.name in self._except_at:
            return usual
        if not self._ready[event.name]:
            return known(tool, Outcome())
        field = EVENTS[event.name].subject
        if field == "tool":
            field = "" if tool else "operation"
        # where the name says what matchers look at, as in `custom:NAME`, or there is no matcher, data has nothing to add
        listening = self._registry.get_hooks_for_event(event.name)
        if (
            field
            and (event.name is EventName.CUSTOM or any(hook.matcher for hook in listening))
            and field not in event.data
        ):
            return self._by_subject(event, field)
        return self._course(event)

    def _is_open(self) -> bool:
        """Say whether nobody looks at trust in another way, or counts the time of all hooks together."""
        vet = getattr(self._host.trust.vet, "__func__", None)
        return vet is TrustedHooks.vet and self._runner.budget() is None

    def _by_subject(self, event: Event, field: str) -> Way:
        """Make the way of events whose data says what matchers look at."""
        courses: dict[str, Way] = {}

        def way(data: Fields | None, args: Fields | None, session: Session, cwd: str) -> Outcome | Left | Plan | None:
            found = data.get(field, "") if data else ""
            subject = found if type(found) is str else str(found)
            course = courses.get(subject)
            if course is None:
                if len(courses) >= MEMORY:
                    courses.clear()
                course = courses[subject] = self._course(replace(event, data={field: subject}), given={})
            return course(data, args, session, cwd)

        return way

    def _course(self, event: Event, given: Fields | None = None) -> Way:
        """Make the way of all events with the name, the tool and the subject of this one."""
        plan, kind = self._planner.plan(event), self._kind
        if not self._planner.remembers(event):
            return usual
        if not plan.stages:
            return known(event.tool, Outcome(skipped=plan.skipped))
        if isinstance(kind, Immediate) and all(map(self._is_plain, plan.stages)):
            common = event if given is None else replace(event, data=given)
            return calling(common, plan, kind=kind, runner=self._runner, bus=self._bus)
        # a program that answers events in a way of its own does so for all that hooks are asked about
        is_ours = getattr(self._host.handle, "__func__", None) is self._handle
        return known(event.tool, plan) if is_ours else usual

    def _is_plain(self, stage: tuple[Hook, ...]) -> bool:
        """Say whether all there is to do at a stage is to call one function."""
        hook = stage[0]
        keeper = self._runner.doorkeeper
        return (
            len(stage) == 1
            and hook.kind == "function"
            and hook.source is Source.BUILTIN
            and hook.dialect == _OWN
            and not hook.background
            and not self._runner.refusal(hook)
            and (keeper is None or not keeper.concerns(hook))
        )
