import asyncio

import pytest

from hookline.kinds.rule import RaiseEvent, build_payload
from hookline.model.event import Event, EventName
from hookline.model.exchange import Request
from hookline.model.hook import Hook
from hookline.model.verdict import Verdict


@pytest.mark.parametrize(
    ("raises", "says"),
    [
        ("custom:deploy", ""),
        ("deploy", 'hook "h" cannot raise "deploy", only events of your own: "custom:deploy"'),
        ("before_tool", 'only events of your own: "custom:before_tool"'),
        ("custom:", 'only events of your own: "custom:NAME"'),
    ],
)
def test_only_an_event_of_ones_own_is_raised_without_a_program(raises: str, says: str) -> None:
    refusal = RaiseEvent().refusal(Hook(id="h", raises=raises))

    assert says in refusal
    assert bool(refusal) is bool(says)


@pytest.mark.spec("A-23")
def test_event_is_asked_for_with_all_of_the_first_one() -> None:
    hook = Hook(id="h", raises="custom:deploy")
    event = Event(name=EventName.FILE_EDITED, data={"path": "a.py"})

    reply = asyncio.run(RaiseEvent().call(hook, Request(event=event), timeout=1))

    data = {"payload": {"event": "file_edited", "data": {"path": "a.py"}}, "source": "h"}
    assert build_payload(event, hook) == data
    assert reply.value == Verdict.raise_event("custom:deploy", data)
