"""Search with a regular expression in linear time, whatever the text: all ways are gone at once.

What was found out about a set of places and a character is remembered, so that a search mostly is one look into a
dictionary for each character.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from hookline.core.conditions.patterns import program
from hookline.core.conditions.steps import Char, Found, Look, Split, Step
from hookline.errors import ConditionError

# Steps that one search may look at: about a second. Only a pattern with large counts comes near to it.
MOST_WORK: Final = 4_000_000
# About a second, too, for what is found out already.
LONGEST_TEXT: Final = 16 * 1024 * 1024
# How much is remembered of one pattern, before it is forgotten and found out again: some megabytes at most. A state
# weighs as much as the steps in it.
_MOST_WEIGHT: Final = 100_000
_LEAST_WEIGHT: Final = 8

_EDGE, _NEWLINE, _WORD, _OTHER = range(4)
_WORDS: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")


class _State:
    """Where a search may be: the steps it goes on with, and what stands before them."""

    __slots__ = ("at_end", "before", "next", "steps")

    def __init__(self, steps: frozenset[int], before: int) -> None:
        self.steps = steps
        self.before = before
        self.next: dict[str, _State] = {}
        self.at_end: bool | None = None


_FOUND: Final = _State(frozenset(), _OTHER)


class Automaton:
    """A pattern that texts are searched with."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._first = len(steps) - 1
        # a pattern that can only begin where the text does need not begin again at every character
        self._begins_once = _begins_once(steps, self._first)
        # where nothing looks at its neighbours, what stands before a place makes no difference
        self._looks = any(isinstance(step, Look) for step in steps)
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._weight = 0
        self._start = self._state(frozenset({self._first}), _EDGE)

    def found_in(self, text: str) -> bool:
        """Say whether the pattern matches some part of a text.

        Raises:
            ConditionError: The pattern is too costly for this text.
        """
        if len(text) > LONGEST_TEXT:
            raise ConditionError(f"a text of {len(text)} characters is too long to be searched")
        state = self._start
        work = 0
        for char in text:
            follower = state.next.get(char)
            if follower is None:
                follower = self._step(state, char)
                work += len(self._steps)
                if work > MOST_WORK:
                    raise ConditionError(f"a pattern of {len(self._steps)} steps is too costly for this long text")
            if follower is _FOUND:
                return True
            state = follower
            if not state.steps:
                return False
        if state.at_end is None:
            state.at_end = self._closed(state, _EDGE)[1]
        return state.at_end

    def _state(self, steps: frozenset[int], before: int) -> _State:
        key = (steps, before if self._looks else _OTHER)
        found = self._states.get(key)
        if found is None:
            found = self._states[key] = _State(*key)
        return found

    def _step(self, state: _State, char: str) -> _State:
        kind = _kind(char)
        closed, found = self._closed(state, kind)
        if found:
            follower = _FOUND
        else:
            reached = {step.then for step in closed if step.test(char)}
            if not self._begins_once:
                reached.add(self._first)
            follower = self._state(frozenset(reached), kind)
        self._weight += _LEAST_WEIGHT + len(follower.steps)
        if self._weight > _MOST_WEIGHT:
            self._weight = 0
            self._states = {}
            self._start = self._state(frozenset({self._first}), _EDGE)
            return follower if follower is _FOUND else self._state(follower.steps, kind)
        state.next[char] = follower
        return follower

    def _closed(self, state: _State, after: int) -> tuple[list[Char], bool]:
        """Give the characters that may come next, and whether the pattern ends before them."""
        seen: set[int] = set()
        waiting = list(state.steps)
        chars: list[Char] = []
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            match self._steps[place]:
                case Char() as step:
                    chars.append(step)
                case Split(ways=ways):
                    waiting.extend(ways)
                case Look(place=look, then=then):
                    if _holds(look, state.before, after):
                        waiting.append(then)
                case Found():
                    return [], True
        return chars, False


@lru_cache(maxsize=64)
def automaton(pattern: str) -> Automaton:
    """Make what searches with a pattern.

    Raises:
        ConfigError: It is no regular expression that can be searched for in linear time.
    """
    return Automaton(program(pattern))


def _kind(char: str) -> int:
    return _NEWLINE if char == "\n" else _WORD if char in _WORDS else _OTHER


def _holds(place: str, before: int, after: int) -> bool:
    match place:
        case "start":
            return before == _EDGE
        case "end":
            return after == _EDGE
        case "line start":
            return before in {_EDGE, _NEWLINE}
        case "line end":
            return after in {_EDGE, _NEWLINE}
        case "border":
            return (before == _WORD) != (after == _WORD)
        case _:
            return (before == _WORD) == (after == _WORD)


def _begins_once(steps: Sequence[Step], first: int) -> bool:
    """Say whether every way from the first step passes the start of the text before it takes a character."""
    return all(isinstance(step, Look) and step.place == "start" for step in _beginnings(steps, first))


def _beginnings(steps: Sequence[Step], first: int) -> Iterable[Step]:
    seen: set[int] = set()
    waiting = [first]
    while waiting:
        place = waiting.pop()
        step = steps[place]
        if place in seen:
            continue
        seen.add(place)
        if isinstance(step, Split):
            waiting.extend(step.ways)
        else:
            yield step
