"""Every hook language under every agent: what a hook says arrives, or becomes what the tables declare.

Nothing here knows an agent. What a hook of one language prints is made with that language's own codec, read again as a
hook's answer, fitted to the agent, said in the agent's bytes, and read as the agent would read it.
"""

from collections.abc import Iterator
from typing import Final

import pytest
from msgspec.structs import replace

from hookline.debug.capability_matrix import MOMENTS, WishOutcome, abilities, can_express, translate_wish
from hookline.debug.samples import TOOLS, sample
from hookline.dialects import DIALECTS
from hookline.engine.degrade import degrade
from hookline.engine.merge import apply_changes, merge
from hookline.errors import DialectError
from hookline.model.dialect import MCP_PREFIX
from hookline.model.event import Ability, Event, EventName, Session, fallback_for
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, Verdict
from tests.helpers.each import each

AGENTS: Final = [name for name, one in DIALECTS.items() if one.SPEC.is_agent]
HOOK: Final = Hook(id="hook", command="hook")
ENDS: Final = frozenset({EventName.AFTER_AGENT, EventName.SUBAGENT_STOP})
REASON: Final = "because of the matrix"
TEXT: Final = "said by the matrix"

_WISHES: Final = {
    Ability.ALLOW: Outcome(decision=Decision.ALLOW, reasons=(REASON,)),
    Ability.BLOCK: Outcome(decision=Decision.DENY, reasons=(REASON,)),
    Ability.ASK: Outcome(decision=Decision.ASK, reasons=(REASON,)),
    Ability.STOP: Outcome(decision=Decision.STOP, reasons=(REASON,)),
    Ability.ARGS: Outcome(args={"command": TEXT}, effects=(Effect(EffectKind.REWRITE, TEXT, ("args", "command")),)),
    Ability.OUTPUT: Outcome(output=TEXT, effects=(Effect(EffectKind.REWRITE, TEXT, ("output",)),)),
    Ability.CONTEXT: Outcome(effects=(Effect(EffectKind.CONTEXT, TEXT),)),
    Ability.MESSAGE: Outcome(effects=(Effect(EffectKind.MESSAGE, TEXT),)),
    Ability.FOLLOW_UP: Outcome(effects=(Effect(EffectKind.ASK_AGENT, TEXT),)),
}


def happened(name: EventName, host: str) -> Event:
    """Make the moment as an agent says it: decoded from its own bytes."""
    dialect = DIALECTS[host]
    event = sample(name, cwd="/project")
    if event.tool:
        event = replace(event, tool="shell", native_tool="", args=dict(TOOLS["shell"]))
    event = replace(event, session=Session(id="s1"), id="", timestamp=0)
    body = dialect.encode_event(event, HOOK).body
    return replace(dialect.decode_event(body, dialect.SPEC.events[name]), host=host)


def answered(dialect: str, outcome: Outcome, event: Event) -> Verdict:
    """Print an outcome in a language, and read it as the answer of a hook of that language."""
    codec = DIALECTS[dialect]
    own = event if event.host == dialect else replace(event, host="", native_args=None)
    said = codec.encode_outcome(outcome, own)
    reply = Reply(stdout=said.stdout, stderr=said.stderr, exit_code=said.exit_code)
    return codec.decode_reply(reply, codec.encode_event(own, HOOK))


def has(wish: Ability, decision: Decision, effects: tuple[Effect, ...], event: Event) -> bool:
    """Say whether an answer still holds a wish."""
    texts = {kind: [str(one.value) for one in effects if one.kind is kind] for kind in EffectKind}
    found = {
        Ability.ALLOW: decision is Decision.ALLOW,
        Ability.BLOCK: decision >= Decision.DENY,
        Ability.ASK: decision is Decision.ASK,
        Ability.STOP: decision is Decision.STOP,
        Ability.ARGS: any(one.path == ("args", "command") and one.value == TEXT for one in effects),
        Ability.OUTPUT: any(one.path[:1] == ("output",) for one in effects),
        Ability.CONTEXT: any(TEXT in one or REASON in one for one in texts[EffectKind.CONTEXT]),
        Ability.MESSAGE: any(TEXT in one or REASON in one for one in texts[EffectKind.MESSAGE]),
        Ability.FOLLOW_UP: any(TEXT in one or REASON in one for one in texts[EffectKind.ASK_AGENT])
        or (event.name in ENDS and decision is Decision.DENY),
    }
    return found[wish]


def cells() -> Iterator[tuple[str, str, WishOutcome]]:
    for wanted, name in MOMENTS:
        for hook, dialect in DIALECTS.items():
            if can_express(dialect.SPEC, wanted, name):
                for host in AGENTS:
                    yield hook, host, translate_wish(DIALECTS[host].SPEC, wanted, name)


CELLS: Final = list(cells())


@each(
    ("hook", "host", "cell"),
    [cell for cell in CELLS if cell[2].happens],
    ids=lambda value: f"{value.wanted}@{value.event}" if isinstance(value, WishOutcome) else str(value),
)
def test_what_a_hook_says_arrives_or_becomes_what_is_declared(hook: str, host: str, cell: WishOutcome) -> None:
    event = happened(cell.event, host)
    verdict = answered(hook, _WISHES[cell.wanted], event)
    assert has(cell.wanted, verdict.decision, verdict.effects, event), "the hook could not even say it"
    outcome = merge(event, apply_changes(event, [verdict]), [verdict])
    able = DIALECTS[host].SPEC.able(event)
    fitted = degrade(outcome, event, able)
    if cell.is_whole:
        assert cell.wanted not in {loss.wanted for loss in fitted.losses}
    else:
        assert (_meant(cell.wanted, verdict), cell.became) in {(loss.wanted, loss.became) for loss in fitted.losses}
    if cell.became is None:
        return
    arrived = answered(host, fitted, event)
    assert has(cell.became, arrived.decision, arrived.effects, event)


def _meant(wanted: Ability, verdict: Verdict) -> Ability:
    """At the end of a turn, a prompt to go on is said as a no in the languages that have no other word for it."""
    is_no = wanted is Ability.FOLLOW_UP and verdict.decision is Decision.DENY
    return Ability.BLOCK if is_no else wanted


@pytest.mark.parametrize("host", AGENTS)
@each("wish", Ability)
def test_nothing_an_agent_is_told_is_wider_than_what_was_said(host: str, wish: Ability) -> None:
    spec = DIALECTS[host].SPEC
    for name in spec.events:
        if name not in {moment for _, moment in MOMENTS}:
            continue
        event = happened(name, host)
        arrived = answered(host, degrade(_WISHES[wish], event, spec.able(event)), event)
        able = abilities(spec, name)
        assert (arrived.decision is Decision.ALLOW) <= (wish is Ability.ALLOW), (name, arrived)
        if wish in {Ability.BLOCK, Ability.ASK, Ability.STOP, Ability.ARGS} and Ability.BLOCK in able:
            changed = any(one.path[:1] == ("args",) for one in arrived.effects)
            # a person is about to be asked there, so that saying nothing is asking
            is_asked_anyway = wish is Ability.ASK and name is EventName.PERMISSION_REQUEST
            assert arrived.decision >= Decision.ASK or changed or is_asked_anyway or _goes_on(name, arrived), (
                name,
                arrived,
            )


def _goes_on(name: EventName, arrived: Verdict) -> bool:
    """At the end of a turn a no is a prompt, in some languages under that name; and nothing there has arguments."""
    return name in ENDS and (
        any(one.kind is EffectKind.ASK_AGENT for one in arrived.effects) or arrived.decision is Decision.PASS
    )


@pytest.mark.parametrize("host", AGENTS)
def test_no_opinion_is_no_opinion_in_every_agents_bytes(host: str) -> None:
    for name in DIALECTS[host].SPEC.events:
        if name not in {moment for _, moment in MOMENTS}:
            continue
        event = happened(name, host)
        arrived = answered(host, Outcome(), event)
        assert arrived.decision in {Decision.PASS, Decision.ALLOW}
        assert arrived.effects == ()
        assert arrived.failure is None


# every event by every name an agent has for it, and calls of servers' tools, which can be answered otherwise


def every_name() -> Iterator[tuple[str, str, str]]:
    """Give each agent's own event names that are about moments of ours, with a tool that the event can be about."""
    for host in AGENTS:
        spec = DIALECTS[host].SPEC
        ours = {**{native: name for name, native in spec.events.items()}, **spec.more_events}
        for native, name in ours.items():
            if name not in _SUBJECTS:
                yield host, native, ""
                continue
            able = [tool for tool in (*_CALLS, MCP_TOOL) if is_about(native, name, tool, host)]
            assert able, (host, native)
            yield from ((host, native, tool) for tool in able)


_SUBJECTS: Final = frozenset(
    {EventName.BEFORE_TOOL, EventName.AFTER_TOOL, EventName.TOOL_FAILED, EventName.PERMISSION_REQUEST}
)
_CALLS: Final = ("shell", "read_file", "write_file", "multi_edit")
MCP_TOOL: Final = "mcp__files__put"


def moment(native: str, name: EventName, tool: str, host: str) -> Event:
    """Make an event as an agent says it under one of its names."""
    dialect = DIALECTS[host]
    event = sample(name, cwd="/project")
    if tool:
        args = {"text": "hello"} if tool == MCP_TOOL else dict(TOOLS[tool])
        event = replace(event, tool=tool, native_tool="", args=args)
    event = replace(event, session=Session(id="s1"), id="", timestamp=0)
    body = dialect.encode_event(event, replace(HOOK, native_event=native)).body
    return replace(dialect.decode_event(body, native), host=host)


def is_about(native: str, name: EventName, tool: str, host: str) -> bool:
    """Tell whether an agent's event can be about a tool."""
    try:
        event = moment(native, name, tool, host)
    except DialectError:
        return False
    spec = DIALECTS[host].SPEC
    # another spelling of an event, which can do the same, is read as the usual one
    names = {native} if native in spec.abilities else {native, spec.events[name]}
    # not every agent says whose tool it is
    is_that = event.tool == tool or (tool == MCP_TOOL and event.tool.startswith(MCP_PREFIX))
    return is_that and spec.native(event) in names


def wish_at(wish: Ability, event: Event) -> Outcome | None:
    """Give a wish as it can be said at an event; None where the moment has no room for it."""
    if wish is Ability.ARGS:
        key = next((key for key, value in event.args.items() if isinstance(value, str)), None)
        if event.spec.rewrites != "args" or key is None or event.spec.input:
            return None
        # where a person is about to be asked, a call can only be changed together with a yes
        decision = Decision.ALLOW if event.name is EventName.PERMISSION_REQUEST else Decision.PASS
        effects = (Effect(EffectKind.REWRITE, TEXT, ("args", key)),)
        return Outcome(decision=decision, args={**event.args, key: TEXT}, effects=effects)
    if wish is Ability.OUTPUT and event.spec.rewrites != "output":
        return None
    return _WISHES[wish]


NAMES: Final = list(every_name())


@each(("host", "native", "tool"), NAMES)
def test_every_event_of_every_agent_does_what_its_table_says(host: str, native: str, tool: str) -> None:
    spec = DIALECTS[host].SPEC
    ours = {**{one: name for name, one in spec.events.items()}, **spec.more_events}
    event = moment(native, ours[native], tool, host)
    for wish in Ability:
        wished = wish_at(wish, event)
        if wished is not None:
            check_wish(host, event, wish, wished)


def check_wish(host: str, event: Event, wish: Ability, wished: Outcome) -> None:
    able = DIALECTS[host].SPEC.able(event)
    assert able is not None
    fitted = degrade(wished, event, able)
    became = fallback_for(wish, able)
    if became is None:
        assert fitted.losses
        assert not fitted.effects
        assert fitted.decision is Decision.PASS
        return

    arrived = answered(host, fitted, event)

    if not is_said_by_saying_nothing(became, event):
        assert is_there(became, arrived, event), (wish, became, arrived)
    assert (arrived.decision is Decision.ALLOW) <= (wished.decision is Decision.ALLOW), wish


def is_there(wish: Ability, arrived: Verdict, event: Event) -> bool:
    if wish is Ability.ARGS:
        return any(one.path[:1] == ("args",) and one.value == TEXT for one in arrived.effects)
    return has(wish, arrived.decision, arrived.effects, event)


def is_said_by_saying_nothing(wish: Ability, event: Event) -> bool:
    """A person is asked anyway where permission is asked, and an agent rests that is not sent back to work."""
    return (wish is Ability.ASK and event.name is EventName.PERMISSION_REQUEST) or (
        wish is Ability.STOP and event.name in ENDS
    )


def test_all_names_and_all_answers_of_server_tools_are_tried() -> None:
    tried = {(host, native) for host, native, _ in NAMES}
    for host in AGENTS:
        spec = DIALECTS[host].SPEC
        assert {(host, native) for native in (*spec.events.values(), *spec.more_events)} <= tried
        assert {(host, native, MCP_TOOL) for native in spec.of_mcp} <= set(NAMES)
