import pytest

from hookline.config import edit
from hookline.errors import ConfigError

GROUPED = """{
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"command": "a"}]},
      {"hooks": [{"command": "b"}]}
    ],
    "Stop": [{"hooks": [{"command": "c"}]}]
  }
}
"""


def test_the_ending_of_the_name_says_how_a_file_is_written() -> None:
    assert [edit.syntax_of(name) for name in ("a.toml", "b.YAML", "c.yml", "d.json", "e")] == [
        "toml",
        "yaml",
        "yaml",
        "json",
        "json",
    ]


def test_pruning_leaves_no_empty_group_behind() -> None:
    text = edit.drop(GROUPED, ("hooks", "PreToolUse", 0, "hooks", 0), path="a.json", prune=True)

    assert text == GROUPED.replace('      {"matcher": "Bash", "hooks": [{"command": "a"}]},\n', "")


def test_pruning_leaves_no_empty_event_behind() -> None:
    text = edit.drop(GROUPED, ("hooks", "Stop", 0, "hooks", 0), path="a.json", prune=True)

    assert text == GROUPED.replace('    ],\n    "Stop": [{"hooks": [{"command": "c"}]}]\n', "    ]\n")


def test_pruning_stops_at_the_outermost_list() -> None:
    assert edit.drop(
        '{"hooks": {"Stop": [{"hooks": [{}]}]}}', ("hooks", "Stop", 0, "hooks", 0), path="", prune=True
    ) == ('{"hooks": {}}')


@pytest.mark.parametrize("path", ["a.json", "a.toml"])
def test_a_byte_order_mark_stays(path: str) -> None:
    text = {"a.json": '\ufeff{"a": 1}', "a.toml": "\ufeffa = 1\n"}[path]

    assert edit.put(text, ("a",), 2, path=path) == text.replace("1", "2")


def test_a_broken_text_is_refused_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"^a\.json:2: .*") as caught:
        edit.put('{\n  "a": }', ("b",), 1, path="a.json")

    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("path", "text", "pointer"),
    [
        # the table goes on after another one, so that its keys stand in two places
        ("a.toml", '[[hook]]\nname = "a"\n[other]\nx = 1\n[hook.env]\nA = "1"\n', ("hook", 0)),
        # both names stand for one value
        ("a.yaml", "a: &x {b: 1}\nc: *x\n", ("c", "b")),
    ],
)
def test_a_change_that_would_come_out_different_is_refused(
    path: str, text: str, pointer: tuple[str | int, ...]
) -> None:
    with pytest.raises(ConfigError, match="nothing was changed"):
        edit.drop(text, pointer, path=path)


def test_the_last_table_of_a_list_goes_however_it_is_written() -> None:
    assert edit.drop("hook = [{name = 'a'}]\n", ("hook", 0), path="a.toml") == "hook = []\n"
    assert edit.drop("x = 1\n\n[[hook]]\nname = 'a'\n", ("hook", 0), path="a.toml") == "x = 1\n"


@pytest.mark.parametrize("pointer", [("b",), ("a", 1), ("a", "x"), ("a", 0, "x")])
def test_what_is_not_there_cannot_be_taken_out(pointer: tuple[str | int, ...]) -> None:
    with pytest.raises(ConfigError, match="nothing was changed"):
        edit.drop('{"a": [1]}', pointer, path="a.json")


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ConfigError, match="half a character"):
        edit.put("{}", ("a",), "\udcff", path="a.json")


def test_an_empty_file_holds_nothing() -> None:
    assert edit.value_of("\ufeff\n", path="a.json") == {}
