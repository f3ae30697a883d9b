"""Event fields as tables."""

from hookline.dialects._codec import Field, field_maps
from hookline.dialects._json_reader import JsonReader
from hookline.model.event import Session

TOOL = field_maps(
    {"tool": (Field("duration", "metrics.duration"), Field("at", "when", time=True))},
    taken=("tool",),
    marks={"tool": (("metrics.success", True),)},
    objects={"session": frozenset({"id"})},
)("tool")


def write(data: dict[str, object], body: dict[str, object]) -> dict[str, object]:
    TOOL.write(data, body, session=Session())
    return body


def read(body: dict[str, object]) -> dict[str, object]:
    return TOOL.read(body, "body", JsonReader("x"))


def test_data_go_to_their_places_and_back() -> None:
    data: dict[str, object] = {"duration": 1, "at": 0, "note": "n"}
    body: dict[str, object] = {
        "metrics": {"duration": 1, "success": True},
        "when": "1970-01-01T00:00:00.000Z",
        "note": "n",
    }

    assert write(data, {}) == body
    assert read(body) == data


def test_object_that_the_system_has_too_is_merged_where_nothing_collides() -> None:
    data: dict[str, object] = {"metrics": {"cost": 2}, "session": {"title": "t"}}
    body = {"session": {"id": "s", "title": "t"}, "metrics": {"success": True, "cost": 2}}

    assert write(data, {"session": {"id": "s"}}) == body
    assert read({"metrics": {"success": True, "cost": 2}, "session": {"title": "t"}}) == data


def test_data_that_would_pass_for_something_else_is_set_aside() -> None:
    data: dict[str, object] = {
        "tool": "forged",
        "metrics": {"success": False},
        "session": {"id": "forged"},
        "when": 1,
        "extra": {},
    }
    body = write(data, {"tool": "real", "session": {"id": "s"}})

    assert body == {
        "tool": "real",
        "session": {"id": "s"},
        "metrics": {"success": True},
        "extra": data,
    }
    assert read({"metrics": {"success": True}, "extra": dict(data)}) == data


def test_extra_of_a_host_does_not_replace_what_is_said_elsewhere() -> None:
    assert read({"note": "real", "extra": {"note": "forged", "more": 1}}) == {"note": "real", "more": 1}
    assert read({"extra": "text"}) == {"extra": "text"}


def test_mark_that_says_something_else_is_kept() -> None:
    assert read({"metrics": {"success": "mostly"}}) == {"metrics": {"success": "mostly"}}


def test_null_in_place_of_an_object_is_nothing() -> None:
    assert read({"metrics": None, "when": None}) == {"at": None}
