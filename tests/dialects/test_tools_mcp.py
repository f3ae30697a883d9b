"""Names of servers' tools, and JSON in texts."""

import pytest

from hookline.dialects import _tools


@pytest.mark.parametrize(("server", "tool"), [("files", "put"), ("", "put"), ("a", "b__c")])
def test_names_go_there_and_back(server: str, tool: str) -> None:
    assert _tools.split_name(_tools.join_name(server, tool)) == (server, tool)


def test_other_names_are_of_no_server() -> None:
    assert _tools.split_name("shell") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1]", [1]),
        ("{broken", "{broken"),
        ("7", "7"),
        ("", ""),
        (None, None),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_only_objects_and_lists_are_read_from_texts(text: object, value: object) -> None:
    assert _tools.parse_text(text) == value


def test_text_is_repeated_as_it_was_until_its_value_changes() -> None:
    assert _tools.to_same_text({"a": 1}, text='{ "a": 1 }') == '{ "a": 1 }'
    assert _tools.to_same_text({"a": 2}, text='{ "a": 1 }') == '{"a":2}'
    assert _tools.to_same_text("plain", text="plain") == "plain"
    assert _tools.to_same_text({"a": 1}, text=None) == '{"a":1}'


def test_json_deeper_than_can_be_read_stays_a_text() -> None:
    deep = "[" * 100_000

    assert _tools.parse_text(deep) == deep
