"""What a pattern becomes: steps that a search goes, and how parts are put together to them."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from hookline.core.conditions.characters import Test
from hookline.errors import ConfigError

# what a pattern may become; a search looks at each of them at worst, for each character
MOST_STEPS: Final = 4000


class Char(Struct, frozen=True):
    """One character that the test accepts, then go on."""

    test: Test
    then: int


class Look(Struct, frozen=True):
    """A place between characters, such as `^` or the border of a word, then go on."""

    place: str
    then: int


class Split(Struct, frozen=True):
    """Go on in all of these places."""

    ways: tuple[int, ...]


class Found(Struct, frozen=True):
    """The end: the pattern was found."""


Step: TypeAlias = Char | Look | Split | Found
# appends steps that go on at the place given, and says where they begin
Emit: TypeAlias = Callable[["Program", int], int]


class Program:
    """Steps, written from the last to the first."""

    def __init__(self) -> None:
        self.steps: list[Step] = [Found()]
        self._copies = 0

    def add(self, step: Step) -> int:
        """Add a step, and say where it stands."""
        self.steps.append(step)
        self._check(len(self.steps))
        return len(self.steps) - 1

    def count(self) -> None:
        """Count a copy: those of nothing add no step, and there could be a billion of them."""
        self._copies += 1
        self._check(self._copies)

    def _check(self, size: int) -> None:
        if size > MOST_STEPS:
            raise ConfigError("the pattern is too large; repeat less, or write a hook that decides")

    def replace(self, place: int, step: Step) -> None:
        """Put another step in the place of one."""
        self.steps[place] = step


def char(test: Test) -> Emit:
    """Take one character."""
    return lambda made, then: made.add(Char(test, then))


def look(place: str) -> Emit:
    """Go on only at such a place."""
    return lambda made, then: made.add(Look(place, then))


def in_row(parts: Sequence[Emit]) -> Emit:
    """Take all parts, one after the other."""

    def emit(made: Program, then: int) -> int:
        for part in reversed(parts):
            then = part(made, then)
        return then

    return emit


def one_of(ways: Sequence[Emit]) -> Emit:
    """Take any of the parts."""
    return lambda made, then: made.add(Split(tuple(way(made, then) for way in ways)))


def repeated(part: Emit, least: int, most: int | None) -> Emit:
    """Take a part several times; without `most`, as often as it is there."""

    def emit(made: Program, then: int) -> int:
        copies = least
        if most is None:
            again = made.add(Split((then,)))
            start = part(made, again)
            made.replace(again, Split((start, then)))
            # the last copy that has to be there is the one that may come again
            then, copies = (start, least - 1) if least else (again, 0)
        else:
            # each copy that may be left out leads to the end, not to the next copy
            end = then
            for _ in range(most - least):
                made.count()
                then = made.add(Split((part(made, then), end)))
        for _ in range(copies):
            made.count()
            then = part(made, then)
        return then

    return emit
