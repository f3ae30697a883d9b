"""The facts of dialects, each looked up when somebody asks."""

from collections.abc import Iterator, Mapping

import pytest

from hookline.core.specs import Specs
from hookline.dialects import DIALECTS
from hookline.ports import Dialect


class _Watched(Mapping[str, Dialect]):
    """The table of dialects, and who was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getitem__(self, name: str) -> Dialect:
        self.asked.append(name)
        return DIALECTS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(DIALECTS)

    def __len__(self) -> int:
        return len(DIALECTS)


def test_only_the_dialect_that_is_spoken_is_asked_and_once() -> None:
    table = _Watched()
    specs = Specs(table)
    assert specs["kiro"].name == "kiro"
    assert specs.get("kiro") is DIALECTS["kiro"].SPEC
    assert table.asked == ["kiro"]


def test_it_is_the_whole_table() -> None:
    specs = Specs(DIALECTS)
    assert dict(specs) == {name: dialect.SPEC for name, dialect in DIALECTS.items()}
    assert len(specs) == len(DIALECTS)


def test_a_dialect_that_is_not_there_is_missing_in_the_usual_way() -> None:
    specs = Specs(DIALECTS)
    assert "nobody" not in specs
    assert specs.get("nobody") is None
    with pytest.raises(KeyError):
        _ = specs["nobody"]
