import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pytest

from hookline.model.event import deep_copy, snapshot

Copy = Callable[[dict[str, object]], object]


def whole(value: dict[str, object]) -> object:
    return deep_copy(value, {})


def copy_fields(fields: dict[str, object], copies: dict[int, object]) -> dict[str, object]:
    made = deep_copy(fields, copies)
    assert isinstance(made, dict)
    return made


@pytest.mark.parametrize("copy", [whole, snapshot])
@pytest.mark.parametrize(
    "value",
    [{}, {"text": "a", "number": 1, "no": None}, {"deep": {"deeper": [1, {"deepest": []}]}, "flat": [1, 2]}],
    ids=["empty", "flat", "deep"],
)
def test_a_copy_is_equal_and_another_one(copy: Copy, value: dict[str, object]) -> None:
    made = copy(value)
    assert made == value
    assert made is not value


def test_dicts_and_lists_are_copied_however_deep_they_lie() -> None:
    value: dict[str, object] = {"a": [{"b": {"c": [1]}}]}
    made = copy_fields(value, {})
    made["a"][0]["b"]["c"].append(2)  # type: ignore[index]
    assert value == {"a": [{"b": {"c": [1]}}]}


def test_all_else_is_given_as_it_is() -> None:
    class Own(dict[str, object]):
        pass

    things: dict[str, object] = {
        "set": {1},
        "tuple": ([],),
        "own": Own(a=1),
        "object": object(),
        "bytes": bytearray(b"x"),
    }
    made = copy_fields(things, {})
    assert all(made[name] is thing for name, thing in things.items())
    assert deep_copy(things["own"], {}) is things["own"]


def test_what_is_shared_is_copied_once() -> None:
    shared = [1]
    copies: dict[int, object] = {}
    first: dict[str, object] = {"one": shared, "two": {"three": shared}}
    second: dict[str, object] = {"four": shared}
    data, args = copy_fields(first, copies), copy_fields(second, copies)
    assert data["one"] is args["four"]
    assert isinstance(data["two"], Mapping)
    assert data["two"]["three"] is data["one"]
    assert data["one"] is not shared


def test_what_contains_itself_is_copied_as_it_is() -> None:
    ring: dict[str, object] = {}
    ring["me"] = ring
    made = deep_copy(ring, {})
    assert isinstance(made, dict)
    assert made["me"] is made
    items: list[object] = []
    items.append(items)
    listed = copy_fields({"items": items}, {})["items"]
    assert isinstance(listed, list)
    assert listed[0] is listed
    assert listed is not items


def test_what_is_kept_for_later_does_not_change_with_what_it_was_made_from() -> None:
    fields: Mapping[str, object] = MappingProxyType({"deep": {"list": [1]}, "flat": 1})
    made = snapshot(fields)
    deep = fields["deep"]
    assert isinstance(deep, dict)
    deep["list"].append(2)
    assert made == {"deep": {"list": [1]}, "flat": 1}


def test_what_is_too_deep_to_be_copied_is_kept_as_it_is() -> None:
    nested: list[object] = []
    for _ in range(sys.getrecursionlimit() * 2):
        nested = [nested]
    fields = {"deep": nested}
    assert snapshot(fields) is fields
