"""The contract of a hook: under every agent it answers, and what it denies is denied."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import DialectError, EngineError
from hookline.model.event import EVENTS, Ability, Event
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision
from hookline.testing.builders import event as build_event
from hookline.testing.hook_run import HookRun, Testable, read_testable, run_hook_async, wait_for
from hookline.testing.payloads import find_dialect, list_agents
from hookline.testing.recording_engine import RecordingEngine

# processes of hooks that run together
_TOGETHER: Final = 4
_LONG: Final = "x" * 100_000
_ODD_TEXT: Final = "\u202e'\"`$(touch /tmp/x)\n\t{{args.command}} \U0001f512 \\u0000"


class ContractReport(Struct, frozen=True, kw_only=True):
    """What a contract test found: the runs of the hook, and a line for each breach."""

    runs: tuple[HookRun, ...]
    breaches: tuple[str, ...] = ()


def check_hook_contract(
    hook: Testable,
    events: Sequence[Event] = (),
    *,
    name: str = "",
    dialect: str = "",
    agents: Sequence[str] = (),
    cwd: str | Path | None = None,
) -> ContractReport:
    """Run a hook under every agent, and raise an AssertionError for each breach of its contract.

    Each of the events, or a sample of each event of the hook, is sent as each agent sends it that has the event. The hook must
    give an answer that the agent understands; what it denies for one agent it must deny for all, and so must the answer that
    the agent reads. It must also answer to odd events: without arguments, with a tool that it does not know, with very long
    texts.

    Raises:
        AssertionError: The hook breaks its contract; the message has a line for each breach.
        ConfigError: There is no such hook or agent, or its definition has a mistake.
    """
    report = wait_for(_check(hook, tuple(events), name=name, dialect=dialect, agents=tuple(agents), cwd=cwd))
    if report.breaches:
        raise AssertionError("\n".join((f"{len(report.breaches)} breaches of the hook's contract:", *report.breaches)))
    return report


async def _check(
    hook: Testable,
    events: tuple[Event, ...],
    *,
    name: str,
    dialect: str,
    agents: tuple[str, ...],
    cwd: str | Path | None,
) -> ContractReport:
    if not events:
        tried = read_testable(hook, RecordingEngine(), build_event("before_tool"), name=name, dialect=dialect)
        events = tuple(build_event(str(one)) for one in tried.on)
    limit = asyncio.Semaphore(_TOGETHER)

    async def run(event: Event, agent: str) -> HookRun:
        async with limit:
            return await run_hook_async(hook, event, name=name, dialect=dialect, agent=agent, cwd=cwd)

    runs: list[HookRun] = []
    breaches: list[str] = []
    for event in events:
        spoken = [agent for agent in list_agents(event.name) if not agents or agent in agents]
        first, *others = await asyncio.gather(run(event, ""), *(run(event, agent) for agent in spoken))
        runs += [first, *others]
        for agent, one in zip(("", *spoken), (first, *others), strict=True):
            breaches += (f"{agent or 'hookline'}, {event.name}: {line}" for line in _find_breaches(one, agent, first))
    odd = await asyncio.gather(*(run(event, "") for event in list_odd_events(events)))
    for one in odd:
        if one.failure is not None:
            breaches.append(f"odd event: {'; '.join(one.describe())[:500]}")
    return ContractReport(runs=(*runs, *odd), breaches=tuple(breaches))


def _find_breaches(run: HookRun, agent: str, first: HookRun) -> Iterator[str]:
    if run.failure is not None:
        yield "; ".join(run.describe())
        return
    denied = first.outcome.decision >= Decision.DENY
    able = find_dialect(agent).SPEC.able(run.event) if agent else None
    can_block = able is None or Ability.BLOCK in able
    if denied and can_block and run.outcome.decision < Decision.DENY:
        yield f"the hook denies this in Hookline's words, and here it says {run.decision}; {'; '.join(run.describe())}"
    if run.answer is None:
        return
    try:
        request = find_dialect(agent).encode_event(run.event, Hook(id="contract", kind="command", command="contract"))
        reply = Reply(stdout=run.answer.stdout, stderr=run.answer.stderr, exit_code=run.answer.exit_code)
        read = find_dialect(agent).decode_reply(reply, request)
    except (DialectError, EngineError) as problem:
        yield f"the agent cannot read the answer {run.answer.stdout!r}: {problem}"
        return
    if run.outcome.decision >= Decision.DENY and can_block and not read.blocks:
        yield f"the hook says {run.decision}, and the agent reads {read.decision} from {run.answer.stdout!r}"


def list_odd_events(events: Sequence[Event]) -> Iterator[Event]:
    """Yield events that no agent sends as a rule, and that a hook must not fail at."""
    for event in {event.name: event for event in events}.values():
        yield replace(event, data={})
        yield replace(event, data={**event.data, **dict.fromkeys(EVENTS[event.name].fields, _ODD_TEXT)})
        yield replace(event, data={**event.data, "unknown_field": [None, {"deep": [[[]]]}, 1e300]})
        if EVENTS[event.name].subject == "tool":
            yield replace(event, args={})
            yield replace(event, tool="mcp__unknown__tool", args={"input": _ODD_TEXT})
            yield replace(event, args=dict.fromkeys(event.args, _LONG))
            yield replace(event, args=dict.fromkeys(event.args))
