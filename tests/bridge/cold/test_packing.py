"""What a snapshot is written in."""

import marshal
from pathlib import Path

import pytest

from hookline.bridge.cold.packing import packed, unpacked
from hookline.config.stamps import Stamps
from hookline.model.hook import Hook, Layer, Source
from hookline.model.policy import Needs
from hookline.model.settings import Settings


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        7,
        1.5,
        "tëxt",
        b"\xff",
        (),
        ("a", ("b",)),
        [1, [2]],
        frozenset({"x"}),
        {"a": (1,), 2: None},
        Path("/somewhere/else"),
        Layer.MANAGED,
        Settings(trusted_workspaces=("/a",)),
        Stamps(files=(("/a", (1, 2)),), names=(("/b", True),), at=3),
        Hook(id="one", on=("before_tool",), command="true", source=Source.USER, env={"A": "b"}, needs=Needs()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_was_written_is_read_back(value: object) -> None:
    again = unpacked(marshal.loads(marshal.dumps(packed(value))))  # type: ignore[arg-type] # noqa: S302

    assert again == value
    assert type(again) is type(value)


def test_a_function_cannot_be_written_down() -> None:
    with pytest.raises(TypeError, match="cannot be written down"):
        packed(Hook(id="one", on=("before_tool",), call=print))


@pytest.mark.parametrize("value", [("struct", "os:system", {}), ("enum", "builtins:eval", "1"), ("odd", 1), ()])
def test_what_nobody_of_ours_wrote_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"none of our words|nothing is written|not enough values"):
        unpacked(value)
