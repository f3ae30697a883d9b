import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from hookline.config import edit, yaml
from hookline.config.document import KeyPath
from hookline.errors import ConfigError

HOOK = """# my hook
matcher: Bash   # tools
command: "echo hi"
env:
   A: 1   # one
   # two
   B: x
args:
- a
- b

flow: {a: 1, b: [1, 2]}
timeout: 5 # seconds
"""


@pytest.mark.parametrize(
    ("pointer", "value", "old", "new"),
    [
        (("timeout",), 10, "timeout: 5", "timeout: 10"),
        (("command",), "it's: a", '"echo hi"', '"it\'s: a"'),
        (("enabled",), False, "seconds\n", "seconds\nenabled: false\n"),
        (("env", "A"), "no", "A: 1", 'A: "no"'),
        (("env", "C"), "z", "B: x\n", "B: x\n   C: z\n"),
        (("env",), {"D": 1}, "env:\n   A: 1   # one\n   # two\n   B: x\n", "env: {D: 1}\n"),
        (("args", 2), "c", "- b\n", "- b\n- c\n"),
        (("args", 0), "c", "- a\n", "- c\n"),
        (("flow", "c"), None, "[1, 2]}", "[1, 2], c: null}"),
        (("flow", "b", 1), 3, "[1, 2]", "[1, 3]"),
    ],
)
def test_only_what_is_asked_for_changes(pointer: KeyPath, value: object, old: str, new: str) -> None:
    assert yaml.put(HOOK, pointer, value) == HOOK.replace(old, new)


@pytest.mark.parametrize(
    ("pointer", "old", "new"),
    [
        (("timeout",), "timeout: 5 # seconds\n", ""),
        (("matcher",), "matcher: Bash   # tools\n", ""),
        (("env", "A"), "   A: 1   # one\n", ""),
        (("args", 1), "- b\n", ""),
        (("args",), "args:\n- a\n- b\n", ""),
        (("flow", "a"), "a: 1, ", ""),
        (("flow", "b"), ", b: [1, 2]", ""),
    ],
)
def test_a_key_or_an_element_goes_alone(pointer: KeyPath, old: str, new: str) -> None:
    assert yaml.drop(HOOK, pointer) == HOOK.replace(old, new)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
    )
)
def test_every_value_is_read_as_it_was_written(value: object) -> None:
    text = yaml.put(HOOK, ("timeout",), value)

    assert YAML(typ="safe", pure=True).load(text)["timeout"] == value
    assert text.startswith(HOOK[: HOOK.index("timeout")])


def test_an_empty_file_gets_its_first_key() -> None:
    assert yaml.put("", ("env", "A"), "b c") == "env: {A: b c}\n"
    assert yaml.put("# mine", (), {"a": 1, "b": "x"}) == "# mine\na: 1\nb: x\n"
    assert edit.append("", ("hooks",), {"a": 1}, path="x.yaml") == "hooks: [{a: 1}]\n"


def test_line_ends_and_a_missing_newline_stay() -> None:
    assert yaml.put("a: 1\r\nb: 2", ("c",), 3) == "a: 1\r\nb: 2\r\nc: 3"


@pytest.mark.parametrize("change", [lambda: yaml.drop(HOOK, ("none",)), lambda: yaml.put("a: [", ("b",), 1)])
def test_what_cannot_be_done_is_refused(change: object) -> None:
    with pytest.raises(ConfigError):
        change()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "added", "dropped"),
    [
        ("a: 1\nb: |\n  run\n  # text\n# aside\n", "a: 1\nb: |\n  run\n  # text\nc: 2\n# aside\n", "a: 1\n# aside\n"),
        ("a: 1\nb: |+\n  run\n\n", "a: 1\nb: |+\n  run\n\nc: 2\n", "a: 1\n"),
        ("a: 1\nb: >-\r\n  run\r\n  # text\r\n", "a: 1\nb: >-\r\n  run\r\n  # text\r\nc: 2\r\n", "a: 1\n"),
    ],
)
def test_a_line_of_a_block_of_text_that_looks_like_a_comment_is_text(text: str, added: str, dropped: str) -> None:
    assert yaml.put(text, ("c",), 2) == added
    assert yaml.drop(text, ("b",)) == dropped


def test_the_only_element_goes_and_leaves_its_key_behind() -> None:
    assert yaml.drop("hooks:\n  Stop:\n    - a: 1\nz: 2\n", ("hooks", "Stop")) == "hooks: {}\nz: 2\n"
