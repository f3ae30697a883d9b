"""The fixed facts of dialects, by name; the module of each is imported when somebody asks for its facts."""

from collections.abc import Iterator, Mapping

from hookline.model.dialect import DialectSpec
from hookline.ports import Dialect


class Specs(Mapping[str, DialectSpec]):
    """What is fixed about each dialect: a view of their table, so that the one that is spoken is the one imported."""

    __slots__ = ("_dialects", "_known")

    def __init__(self, dialects: Mapping[str, Dialect]) -> None:
        self._dialects = dialects
        self._known: dict[str, DialectSpec] = {}

    def __getitem__(self, name: str) -> DialectSpec:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._dialects[name].SPEC
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._dialects

    def __iter__(self) -> Iterator[str]:
        return iter(self._dialects)

    def __len__(self) -> int:
        return len(self._dialects)
