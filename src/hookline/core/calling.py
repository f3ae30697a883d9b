"""Calling plain functions on the spot: the flat passes that the short way is made of.

Each is one function made for one event name, tool and set of hooks, with everything that is known before in its
variables. One hook, which is most often, has a function of its own: without a loop it takes a tenth less.
"""

from asyncio import CancelledError
from collections.abc import Callable, Mapping
from time import perf_counter, time_ns
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.core.bus import MessageBus
from hookline.core.ids import COUNT, LAST, new_id
from hookline.core.runner import Execution, HookRunner
from hookline.core.sketch import ARGS, CUT, DATA, SEED, Silent, Sketch, rest, seed_of
from hookline.model.copying import kept, own_copy
from hookline.model.event import Event
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.plan import Plan
from hookline.model.session import Session
from hookline.model.verdict import Outcome, Verdict
from hookline.ports import Immediate

Fields = Mapping[str, object]

# the arguments of a call without any, for all of them: hooks get an empty dict of their own
_NOTHING: Final[dict[str, object]] = {}


class Left(Struct, frozen=True):
    """An event that is half answered: the hooks before said nothing, this one gave something."""

    event: Event
    plan: Plan
    done: tuple[Execution, ...]
    reply: Reply
    began: float
    started: float

    @property
    def hook(self) -> Hook:
        """The hook that gave something."""
        return self.plan.stages[len(self.done)][0]


# a function, the id of its hook, and whether it is only observed
_Call = tuple[Callable[..., object], str, bool]

# Answers an event, given its data, arguments, session and folder, or begins to, or says which hooks are to be asked. None
# means that nobody was asked, and the usual way is the one to go.
Way = Callable[[Fields | None, Fields | None, Session, str], Outcome | Left | Plan | None]


def usual(_data: Fields | None, _args: Fields | None, _session: Session, _cwd: str) -> None:
    """Leave it to the usual way."""


def known(tool: str, answer: Outcome | Plan) -> Way:
    """Make the way of events that no hook is about, with what they get, or of those with hooks that are to be asked."""

    def way(data: Fields | None, args: Fields | None, _session: Session, _cwd: str) -> Outcome | Plan | None:
        if data and (("args" in data and args is None) if tool else ("tool" in data or "tool_name" in data)):
            return None
        return answer

    return way


def calling(event: Event, plan: Plan, *, kind: Immediate, runner: HookRunner, bus: MessageBus) -> Way:
    """Make the way of events that the functions of a plan are called for; `event` has what all of them have in common."""
    hooks = plan.hooks
    asked = Silent(hooks, tuple(map(runner.observes, hooks)), plan.skipped)
    calls = [(hook.call, hook.id, runner.observes(hook)) for hook in hooks if hook.call is not None]
    return (_one if len(calls) == 1 else _several)(event, plan, asked, calls, kind, runner, bus)


def _one(
    event: Event,
    plan: Plan,
    asked: Silent,
    calls: list[_Call],
    kind: Immediate,
    runner: HookRunner,
    bus: MessageBus,
) -> Way:
    """Make the way of events that one function is called for."""
    name, tool, native, given = event.name, event.tool, event.native_tool, event.data
    ((call, hook, observed),) = calls
    skipped = asked.skipped

    def way(data: Fields | None, args: Fields | None, session: Session, cwd: str) -> Outcome | Left | None:
        # a tool call inside the data is for the usual way to take apart, and so is whatever somebody looks into
        if runner.tap is not None or (
            data and (("args" in data and args is None) if tool else ("tool" in data or "tool_name" in data))
        ):
            return None
        now = time_ns()
        milliseconds = now // 1_000_000
        known = LAST[0]
        # `new_id`, written out for events that come in crowds, and `put_aside` below: calls cost more than what is in them
        if known[0] == milliseconds:
            trace = f"{known[1]}{next(COUNT)}"
        else:
            trace = new_id(milliseconds)
            bus.wake_again()
        fields = {**data, **given} if data else {**given}
        arguments = dict(args) if args else _NOTHING
        sketch: Sketch = [name, tool, native, fields, arguments, session, cwd, now, trace, asked]
        late = bus.late
        late.append(sketch)
        if bus.woken is not late:
            bus.wake()
        began = perf_counter()
        try:
            copies: dict[int, object] = {}
            own = own_copy(fields, copies)
            own_arguments = own_copy(arguments, copies) if arguments else {}
            if copies:
                # something in it can be changed, also by the caller before the trace is written out
                sketch[DATA], sketch[ARGS] = own_copy(fields, {}), own_copy(arguments, {})
            value = call(
                Event(
                    name=name,
                    data=own,
                    tool=tool,
                    args=own_arguments,
                    session=session,
                    cwd=cwd,
                    timestamp=milliseconds,
                    native_tool=native,
                    id=trace,
                )
            )
        # nothing was awaited, so a cancellation seen here is the hook's own doing, as sys.exit() is
        except (Exception, SystemExit, CancelledError) as problem:  # noqa: BLE001 - a hook may raise anything
            return _left(_event(sketch, fields, arguments), plan, (), kind.fell_over(problem), began, began)
        if value is not None:
            return _left(_event(sketch, fields, arguments), plan, (), Reply(value=value), began, began)
        seconds = perf_counter() - began
        if bus.late is not late or late[-1] is not sketch:
            # the hook published something itself, which belongs between its start and its end
            sketch = rest(sketch)
            bus.put_aside(sketch)
        sketch.append(seconds)
        if sketch[SEED] is CUT:
            # the loop of another thread has read it before it was done
            bus.put_aside(rest(sketch))
        verdict = Verdict(hook=hook, observed=observed, duration=seconds)
        return Outcome(verdicts=(verdict,), skipped=skipped, trace=trace, duration=seconds)

    return way


def _several(
    event: Event,
    plan: Plan,
    asked: Silent,
    calls: list[_Call],
    kind: Immediate,
    runner: HookRunner,
    bus: MessageBus,
) -> Way:
    """Make the way of events that several functions are called for, one after another."""
    name, tool, native, given = event.name, event.tool, event.native_tool, event.data

    def way(data: Fields | None, args: Fields | None, session: Session, cwd: str) -> Outcome | Left | None:
        # each of these steps as above
        if runner.tap is not None or (
            data and (("args" in data and args is None) if tool else ("tool" in data or "tool_name" in data))
        ):
            return None
        now = time_ns()
        milliseconds = now // 1_000_000
        trace = new_id(milliseconds)
        fields = {**data, **given} if data else {**given}
        arguments = dict(args) if args else _NOTHING
        sketch: Sketch = [name, tool, native, kept(fields), kept(arguments), session, cwd, now, trace, asked]
        late = bus.put_aside(sketch)
        size = SEED
        total = 0.0
        verdicts: tuple[Verdict, ...] = ()
        reply: Reply | None = None
        began = started = perf_counter()
        for call, hook, observed in calls:
            try:
                copies: dict[int, object] = {}
                value = call(
                    Event(
                        name=name,
                        data=own_copy(fields, copies),
                        tool=tool,
                        args=own_copy(arguments, copies) if arguments else {},
                        session=session,
                        cwd=cwd,
                        timestamp=milliseconds,
                        native_tool=native,
                        id=trace,
                    )
                )
            except (Exception, SystemExit, CancelledError) as problem:  # noqa: BLE001 - the same
                reply = kind.fell_over(problem)
                break
            if value is not None:
                reply = Reply(value=value)
                break
            ended = perf_counter()
            seconds = ended - started
            if bus.late is not late or late[-1] is not sketch:
                # the hook published something itself, which belongs between what came before it and what comes after
                sketch = rest(sketch)
                size = len(sketch)
                late = bus.put_aside(sketch)
            sketch.append(seconds)
            size += 1
            total += seconds
            verdict = Verdict(hook=hook, observed=observed, duration=seconds)
            verdicts = (*verdicts, verdict) if verdicts else (verdict,)
            started = ended
        if len(sketch) != size:
            # the loop of another thread has read it before it was done
            bus.put_aside(rest(sketch))
        if reply is not None:
            return _left(_event(sketch, fields, arguments), plan, verdicts, reply, began, started)
        return Outcome(verdicts=verdicts, skipped=asked.skipped, trace=trace, duration=total)

    return way


def _event(sketch: Sketch, fields: Fields, arguments: Fields) -> Event:
    """Make the event that goes on from here, as the usual way would: what the trace shows is for nobody else to change."""
    # an empty one of its own, where there are none: what all events share is nothing that a hook may write into
    return replace(seed_of(sketch).event(), data=fields, args=arguments or {})


def _left(event: Event, plan: Plan, verdicts: tuple[Verdict, ...], reply: Reply, began: float, started: float) -> Left:
    done = tuple(
        Execution(hook=hook, verdict=verdict, reply=Reply(value=None), duration=verdict.duration)
        for hook, verdict in zip(plan.hooks, verdicts, strict=False)
    )
    return Left(event, plan, done, reply, began, started)
