import builtins
import warnings
from collections.abc import Mapping, Sequence

import pytest

from hookline.config import yaml
from hookline.config.yaml import parse
from hookline.errors import ConfigError

HOOK = """\
# who wrote this
name: guard
matcher: bash*
command: |
  echo {{tool_name}}
  echo done
hooks:
  - type: command
    args: [a, b]
  - {type: webhook, timeout: 5}
"""


def test_every_part_keeps_its_line() -> None:
    document = parse(HOOK)
    paths: Sequence[tuple[str | int, ...]] = [
        ("name",),
        ("command",),
        ("hooks",),
        ("hooks", 0),
        ("hooks", 0, "args"),
        ("hooks", 0, "args", 1),
        ("hooks", 1, "timeout"),
        ("hooks", 1, "missing"),
    ]

    assert [document.line_of(path) for path in paths] == [2, 4, 7, 8, 9, 9, 10, 10]
    assert isinstance(document.value, Mapping)
    assert document.value["command"] == "echo {{tool_name}}\necho done\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("no", "no"),
        ("2026-01-01", "2026-01-01"),
        ("12:30", "12:30"),
        ("1.10.2", "1.10.2"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("5", 5),
        ("-7", -7),
        ("0x1F", 31),
        ("012", 12),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
    ],
)
def test_plain_words_mean_what_they_mean_in_yaml_1_2(text: str, value: object) -> None:
    assert parse(f"x: {text}\n").value == {"x": value}


def test_old_directive_does_not_turn_words_into_booleans() -> None:
    assert parse("%YAML 1.1\n---\non: yes\n").value == {"on": "yes"}


def test_alias_stands_for_what_it_names() -> None:
    assert parse("a: &tools [x, y]\nb: *tools\n").value == {"a": ["x", "y"], "b": ["x", "y"]}


def test_key_that_stands_twice_is_kept_for_the_report() -> None:
    document = parse("a: 1\nb: 2\na: 3\n")

    assert document.value == {"a": 3, "b": 2}
    assert document.repeated == ((("a",), 3),)


LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: 1\nb: [1,\n", 3, "expected"),
        ("a: 'x\n", 2, "end of stream"),
        ("a: *nobody\n", 1, "undefined alias"),
        ("a: 1\n---\nb: 2\n", 2, "single document"),
        ("a: 1\nb: !!python/object/apply:os.system [id]\n", 2, "is a tag"),
        ("b: !mine x\n", 1, "is a tag"),
        ("? [a]\n: 1\n", 1, "a key has to be a text"),
        ("x: &a [*a]\n", 1, "aliases"),
        (LAUGHS, 1, "aliases"),
        ("[" * 5000, 1, "nested too deeply"),
        ("- " * 5000, 1, "nested too deeply"),
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("a: \x00\n", 1, "unacceptable character"),
        ("a: b\n" * 14_000, 1, "larger than 64 KB"),
    ],
)
def test_what_is_broken_or_dangerous_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parse(text, path="pre-x.yaml")

    assert (caught.value.line, caught.value.path) == (line, "pre-x.yaml")


def test_missing_reader_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_yaml(name: str, *args: object, **more: object) -> object:
        if name.startswith("ruamel"):
            raise ImportError(name)
        return real(name, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_yaml)
    with pytest.raises(ConfigError, match=r"pip install 'hookline\[yaml\]'"):
        yaml.parse("a: 1\n")


def test_an_anchor_that_is_set_again_is_nothing_to_warn_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        assert parse("a: &x 1\nb: &x 2\nc: *x\n").value == {"a": 1, "b": 2, "c": 2}
