import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.config import edit, jsonc
from hookline.config.document import KeyPath
from hookline.errors import ConfigError

GAPS = [
    "",
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n   ",
    "\n\t",
    " // why, [not] {this}\n",
    '/* a " comment */',
    "\n  /* two\n lines */\n ",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text('ab"\\/é,:{}[]', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@dataclass
class Written:
    """A document in an odd layout, and where each part starts, where its value starts, and where it ends."""

    text: str = ""
    spans: dict[KeyPath, tuple[int, int, int]] = field(default_factory=dict)


def write(draw: st.DrawFn, out: Written, value: object, path: KeyPath, start: int) -> None:
    begin = len(out.text)
    if isinstance(value, dict | list) and value:
        out.text += "{" if isinstance(value, dict) else "["
        for place, step in enumerate(value if isinstance(value, dict) else range(len(value))):
            out.text += ("," if place else "") + draw(st.sampled_from(GAPS))
            inner = len(out.text)
            if isinstance(value, dict):
                out.text += json.dumps(step) + draw(st.sampled_from([":", ": ", " : "]))
            write(draw, out, value[step], (*path, step), inner)
            out.text += draw(st.sampled_from(GAPS))
        out.text += draw(st.sampled_from(["", ",", ",\n"])) + ("}" if isinstance(value, dict) else "]")
    else:
        out.text += json.dumps(value, ensure_ascii=False)
    out.spans[path] = (start, begin, len(out.text))


@st.composite
def documents(draw: st.DrawFn) -> tuple[object, Written]:
    value = draw(VALUES.filter(lambda value: isinstance(value, dict | list)))
    out = Written(draw(st.sampled_from(GAPS)))
    write(draw, out, value, (), len(out.text))
    out.text += draw(st.sampled_from(["", "\n", "\r\n", " // end\n"]))
    return value, out


def put_at(value: object, pointer: KeyPath, new: object) -> object:
    if not pointer:
        return new
    copy = value.copy()  # type: ignore[attr-defined]
    copy[pointer[0]] = put_at(copy[pointer[0]], pointer[1:], new)
    return copy


@given(documents(), VALUES, st.data())
def test_replacing_a_value_keeps_every_other_character(
    document: tuple[object, Written], new: object, data: st.DataObject
) -> None:
    value, written = document
    pointer = data.draw(st.sampled_from(sorted(written.spans, key=str)))
    _, start, end = written.spans[pointer]

    text = jsonc.put(written.text, pointer, new)

    assert jsonc.parse(text).value == put_at(value, pointer, new)
    assert text.startswith(written.text[:start])
    assert text.endswith(written.text[end:])


@given(documents(), VALUES, st.data())
def test_adding_keeps_everything_before_the_last_neighbour_and_after_the_bracket(
    document: tuple[object, Written], new: object, data: st.DataObject
) -> None:
    value, written = document
    owners = {path: inside for path in written.spans if isinstance(inside := at(value, path), dict | list)}
    pointer = data.draw(st.sampled_from(sorted(owners, key=str)))
    owner = owners[pointer]
    step = "fresh" if isinstance(owner, dict) else len(owner)
    last = max((written.spans[(*pointer, one)][2] for one in steps(owner)), default=written.spans[pointer][1])

    text = jsonc.put(written.text, (*pointer, step), new)

    grown = {**owner, "fresh": new} if isinstance(owner, dict) else [*owner, new]
    assert jsonc.parse(text).value == put_at(value, pointer, grown)
    assert text.startswith(written.text[:last])
    assert text.endswith(written.text[written.spans[pointer][2] - 1 :])
    if isinstance(owner, list):
        assert edit.append(written.text, pointer, new, path="x.json") == text


@given(documents(), st.data())
def test_dropping_keeps_both_neighbours_and_everything_around_them(
    document: tuple[object, Written], data: st.DataObject
) -> None:
    value, written = document
    parts = [path for path in written.spans if path]
    if not parts:
        return
    pointer = data.draw(st.sampled_from(sorted(parts, key=str)))
    owner = at(value, pointer[:-1])
    siblings = steps(owner)
    place = siblings.index(pointer[-1])
    whole = written.spans[pointer[:-1]]
    before = written.spans[(*pointer[:-1], siblings[place - 1])][2] if place else whole[1] + 1
    after = written.spans[(*pointer[:-1], siblings[place + 1])][0] if place + 1 < len(siblings) else whole[2] - 1

    text = jsonc.drop(written.text, pointer)

    shrunk = owner.copy()  # type: ignore[attr-defined]
    del shrunk[pointer[-1]]
    assert jsonc.parse(text).value == put_at(value, pointer[:-1], shrunk)
    assert text.startswith(written.text[:before])
    assert text.endswith(written.text[after:])


def at(value: object, pointer: KeyPath) -> object:
    for step in pointer:
        value = value[step]  # type: ignore[index]
    return value


def steps(owner: object) -> list[str | int]:
    return list(owner) if isinstance(owner, dict) else list(range(len(owner)))  # type: ignore[arg-type]


SETTINGS = """{
   // settings
   "model": "x", // mine
   "hooks": {
      "PreToolUse": [
         {
            "matcher": "Bash",
            "hooks": [
               { "type": "command", "command": "a" }, // first
               // the second one
               { "type": "command", "command": "b" } /* last */
            ]
         }
      ],
   },
}
"""
HOOKS: KeyPath = ("hooks", "PreToolUse", 0, "hooks")


def test_the_comment_right_above_an_object_goes_with_it() -> None:
    assert jsonc.drop(SETTINGS, (*HOOKS, 1)) == SETTINGS.replace(
        """               { "type": "command", "command": "a" }, // first
               // the second one
               { "type": "command", "command": "b" } /* last */
""",
        """               { "type": "command", "command": "a" } // first
""",
    )


def test_the_comment_of_a_neighbour_stays() -> None:
    dropped = jsonc.drop(SETTINGS, (*HOOKS, 0))

    assert dropped == SETTINGS.replace('               { "type": "command", "command": "a" }, // first\n', "")


def test_a_comment_above_a_plain_value_stays_since_it_may_be_about_others() -> None:
    assert jsonc.drop('{\n  // about both\n  "a": 1,\n  "b": 2\n}', ("a",)) == '{\n  // about both\n  "b": 2\n}'


def test_a_new_key_of_a_line_stands_on_that_line() -> None:
    assert '"command": "b", "enabled": false } /* last */' in jsonc.put(SETTINGS, (*HOOKS, 1, "enabled"), False)  # noqa: FBT003


def test_a_new_element_stands_on_one_line_where_its_neighbours_do() -> None:
    text = edit.append(SETTINGS, HOOKS, {"type": "command", "command": "c"}, path="x.json")

    assert text == SETTINGS.replace(
        """ } /* last */
""",
        """ }, /* last */
               {"type": "command", "command": "c"}
""",
    )


def test_a_new_object_takes_the_indentation_and_the_trailing_comma_of_its_neighbours() -> None:
    text = jsonc.put(SETTINGS, ("extra",), {"a": {"b": 1}})

    assert text == SETTINGS[:-2] + '   "extra": {\n      "a": {\n         "b": 1\n      }\n   },\n}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "a": [\n    {\n      "b": 1\n    }\n  ]\n}\n'),
        ("{}", '{\n  "a": [\n    {\n      "b": 1\n    }\n  ]\n}'),
        ('{"c":1}', '{"c":1,"a":[{"b":1}]}'),
        ('{"c": 1}\n', '{"c": 1, "a": [{"b": 1}]}\n'),
        ('{\r\n\t"c": 1\r\n}', '{\r\n\t"c": 1,\r\n\t"a": [\r\n\t\t{\r\n\t\t\t"b": 1\r\n\t\t}\r\n\t]\r\n}'),
        ("{ // empty\n}\n", '{ // empty\n  "a": [\n    {\n      "b": 1\n    }\n  ]\n}\n'),
    ],
)
def test_a_list_that_is_not_there_is_made_in_the_layout_of_the_file(text: str, expected: str) -> None:
    assert edit.append(text, ("a",), {"b": 1}, path="x.json") == expected


def test_of_a_key_that_stands_twice_the_last_one_counts_as_for_every_reader() -> None:
    assert jsonc.put('{"a": 1, "a": 2}', ("a",), 3) == '{"a": 1, "a": 3}'


@pytest.mark.parametrize(
    "change",
    [
        lambda text: jsonc.drop(text, ("b",)),
        lambda text: jsonc.drop(text, ("a", 0)),
        lambda text: edit.append(text, ("a",), 1, path="x.json"),
        lambda text: jsonc.put(text, ("a", "b"), 1),
        lambda text: jsonc.put(text, (0,), 1),
    ],
)
def test_what_cannot_be_there_is_refused(change: object) -> None:
    with pytest.raises(ConfigError):
        change('{"a": 1}')  # type: ignore[operator]
