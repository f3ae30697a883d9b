import pytest

from hookline import json_codec
from hookline.dialects import hookline
from hookline.errors import DialectError
from hookline.model.event import Event, EventName
from hookline.model.exchange import Reply, Request
from hookline.model.verdict import Effect, EffectKind

REQUEST = Request(event=Event(name=EventName.BEFORE_TOOL))


def read(said: object) -> tuple[Effect, ...]:
    return hookline.decode_reply(Reply(stdout=json_codec.dump({"raise": said})), REQUEST).effects


@pytest.mark.spec("A-23")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, []),
        ([], []),
        ("custom:a", [("custom:a", {})]),
        ({"event": "custom:a", "data": {"n": 1}}, [("custom:a", {"n": 1})]),
        (["custom:a", {"event": "custom:b"}], [("custom:a", {}), ("custom:b", {})]),
    ],
)
def test_events_to_raise_are_a_name_an_object_or_a_list(said: object, expected: list[tuple[str, object]]) -> None:
    assert read(said) == tuple(Effect(EffectKind.RAISE, data, (name,)) for name, data in expected)


@pytest.mark.parametrize("said", [1, True, {}, {"event": ""}, {"event": 1}, {"event": "custom:a", "data": "x"}, [None]])
def test_what_names_no_event_cannot_be_read(said: object) -> None:
    with pytest.raises(DialectError, match="raise"):
        read(said)
