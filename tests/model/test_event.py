import pytest

from hookline.model.event import EVENTS, Event, EventName


def test_every_event_has_its_row() -> None:
    assert set(EVENTS) == set(EventName)


@pytest.mark.parametrize("name", list(EventName))
def test_subject_is_a_field_of_the_event(name: EventName) -> None:
    spec = EVENTS[name]

    assert spec.subject in {"", "tool", "source", *spec.fields}
    assert not spec.output or spec.output in spec.fields


def test_subject_of_a_tool_event_is_the_tool() -> None:
    assert Event(name=EventName.BEFORE_TOOL, tool="shell").subject == "shell"
    assert Event(name=EventName.PERMISSION_REQUEST, data={"operation": "delete"}).subject == "delete"
    assert Event(name=EventName.FILE_EDITED, data={"path": "a.py"}).subject == "a.py"
    assert Event(name=EventName.BEFORE_AGENT).subject == ""
