import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config import edit, toml
from hookline.errors import ConfigError

KEYS = [
    'name = "a"   # the name',
    "  on = 'before_tool'",
    'on = ["before_tool",  "after_tool"]',
    'run = [\n  "x", # not [[hook]]\n\n  "y",\n]',
    'ask = """\n[[hook]]\n# text\n"""',
    "timeout=5.50",
    "big = 1_000",
    'env = { A = "1" }',
    '"odd key" = true',
    'headers.X = "1"',
    'prompt = """\n# text"""',
    "note = 'a\u2028b' # \x85 one line",
    "# enabled = false",
    "",
]


@st.composite
def blocks(draw: st.DrawFn, header: str = "[[hook]]") -> str:
    """One table as people write it, with what stands above and below it."""
    lines = draw(st.lists(st.sampled_from(KEYS), unique_by=lambda line: line.split("=")[0].strip()[:3], max_size=6))
    above = draw(st.sampled_from(["", "# about it\n", "\n\n# about it\n# and more\n", "\n"]))
    below = draw(st.sampled_from(["", "\n", "\n[hook.sub]\nx = 1\n" if header == "[[hook]]" else "\n"]))
    if lines and lines[-1].startswith("#"):
        # right above the next table, a comment would be about that one
        below = "\n"
    space = draw(st.sampled_from(["", " # one", "  "]))
    return above + header + space + "\n" + "".join(f"{line}\n" for line in lines) + below


@st.composite
def documents(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    """Tables of which some are hooks, and the places of the hooks."""
    hooks = draw(st.lists(blocks(), min_size=1, max_size=4))
    place = draw(st.integers(0, len(hooks)))
    texts = [*hooks[:place], draw(blocks("[settings]")), *hooks[place:]]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    texts = ["# file\n\n", *texts]
    return [text.replace("\n", newline) for text in texts], [
        n for n, text in enumerate(texts) if "[[hook]]" in heads(text)
    ]


def heads(text: str) -> list[str]:
    return [line.split("#")[0].strip() for line in text.splitlines() if line.startswith("[")][:1]


@given(documents(), st.data())
def test_a_new_key_changes_one_table_only(document: tuple[list[str], list[int]], data: st.DataObject) -> None:
    texts, hooks = document
    number = data.draw(st.integers(0, len(hooks) - 1))
    before = "".join(texts)

    after = toml.put(before, ("hook", number, "fresh"), ["a", 1])

    expected = tomllib.loads(before)
    expected["hook"][number]["fresh"] = ["a", 1]
    assert tomllib.loads(after) == expected
    assert after.startswith("".join(texts[: hooks[number]]))
    assert after.endswith("".join(texts[hooks[number] + 1 :]))
    assert toml.drop(after, ("hook", number, "fresh")) == before


@given(documents(), st.data())
def test_a_hook_goes_with_its_comment_and_leaves_all_others_alone(
    document: tuple[list[str], list[int]], data: st.DataObject
) -> None:
    texts, hooks = document
    number = data.draw(st.integers(0, len(hooks) - 1))
    before = "".join(texts)

    after = toml.drop(before, ("hook", number))

    expected = tomllib.loads(before)
    del expected["hook"][number]
    assert tomllib.loads(after) == {key: value for key, value in expected.items() if value != []}
    kept = [text.strip() for place, text in enumerate(texts) if place != hooks[number]]
    assert [text for text in kept if text not in after] == []
    assert "about it" in after or "about it" not in "".join(kept)


@given(documents())
def test_a_new_hook_stands_at_the_end_and_everything_before_it_stays(document: tuple[list[str], list[int]]) -> None:
    before = "".join(document[0])

    after = edit.append(before, ("hook",), {"name": "new", "env": {"A": "b"}}, path="x.toml")

    assert after.startswith(before)
    assert tomllib.loads(after)["hook"] == [*tomllib.loads(before)["hook"], {"name": "new", "env": {"A": "b"}}]
    assert ("\r\n" in after) == ("\r\n" in before)


CONFIG = """# my hooks

[[hook]] # one
name = "a"   # the name
on = "before_tool"
run = [
  "x", # y
]
# timeout = 5

# the second
[[hook]]
name = 'b'
env.A = "1"
[hook.headers]
X = "1"
"""


@pytest.mark.parametrize(
    ("pointer", "value", "old", "new"),
    [
        (("hook", 0, "name"), "c", 'name = "a"   # the name', 'name = "c"   # the name'),
        (("hook", 0, "run"), "x", 'run = [\n  "x", # y\n]', 'run = "x"'),
        (("hook", 0, "timeout"), 3, "]\n# timeout", "]\ntimeout = 3\n# timeout"),
        (("hook", 1, "env", "A"), "2", 'env.A = "1"', 'env.A = "2"'),
        (("hook", 1, "env", "B"), "2", 'env.A = "1"\n', 'env.A = "1"\nenv.B = "2"\n'),
        (("hook", 1, "env"), {"C": "3"}, 'env.A = "1"', 'env = {C = "3"}'),
        (("hook", 1, "headers", "Y"), "2", 'X = "1"\n', 'X = "1"\nY = "2"\n'),
        (("hook", 1, "enabled"), False, 'env.A = "1"\n', 'env.A = "1"\nenabled = false\n'),
    ],
)
def test_only_the_statement_that_is_asked_for_changes(
    pointer: tuple[str | int, ...], value: object, old: str, new: str
) -> None:
    assert toml.put(CONFIG, pointer, value) == CONFIG.replace(old, new)


def test_a_comment_right_below_the_last_key_goes_with_its_table() -> None:
    assert toml.drop(CONFIG, ("hook", 0)) == "# my hooks\n\n# the second" + CONFIG.partition("# the second")[2]


def test_the_comment_at_the_very_top_is_about_the_file() -> None:
    assert toml.drop("# mine\n[[hook]]\nname = 'a'\n", ("hook", 0)) == "# mine\n"


def test_the_last_table_leaves_no_blank_lines_behind() -> None:
    assert toml.drop("[a]\nx = 1\n\n# b\n[[hook]]\ny = 1\n", ("hook", 0)) == "[a]\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[[hook]]\nname = "x"\n'),
        ("# head\n", '# head\n\n[[hook]]\nname = "x"\n'),
        ("[a]\nb = 1", '[a]\nb = 1\n\n[[hook]]\nname = "x"'),
        ("[[hook]]\n\tname = 'a'\n", "[[hook]]\n\tname = 'a'\n\n[[hook]]\n\tname = \"x\"\n"),
        ("hook = [{name='a'}]\n", "hook = [{name='a'}, {name = \"x\"}]\n"),
    ],
)
def test_a_first_or_next_table_suits_the_file(text: str, expected: str) -> None:
    assert edit.append(text, ("hook",), {"name": "x"}, path="x.toml") == expected


@pytest.mark.parametrize("pointer", [("hook", 7), ("nothing",), ("hook", 0, "name", "deeper")])
def test_what_is_not_there_is_not_dropped(pointer: tuple[str | int, ...]) -> None:
    with pytest.raises(ConfigError):
        toml.drop(CONFIG, pointer)


def test_a_key_inside_a_table_that_is_not_there_yet_brings_the_table() -> None:
    assert toml.put('hook = [{name = "a", on = "error"}]\n', ("hook", 0, "env", "A"), "1") == (
        'hook = [{name = "a", on = "error", env = {A = "1"}}]\n'
    )
