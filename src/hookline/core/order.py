"""In which order hooks run: their rank, and what they say of each other with `after` and `before`. No I/O, no clock.

The hook that says so is the one that moves: with `after` it waits, with `before` it is drawn forward. All others keep
the order of their ranks. Orders that contradict each other cannot all be kept; those of the hooks that are trusted
least give way first. So does what a hook says that would make hooks which are trusted more change places, as one that
is to run before a guard and after everything else would: nobody can undo the order of a person's own hooks by adding
to it.
"""

import difflib
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from msgspec import Struct

from hookline.model.hook import Hook, Layer, Source

Rank = tuple[int, int, int]

MANAGED_RANK: Final = 1
SOURCE_RANK: Final = {
    Source.BUILTIN: 0,
    Source.USER: 2,
    Source.WORKSPACE: 3,
    Source.DOWNLOADED: 4,
    Source.EXTENSION: 4,
}


def standing(hook: Hook) -> int:
    """Say how near to the person a hook stands; the smallest is nearest."""
    return MANAGED_RANK if hook.layer is Layer.MANAGED else SOURCE_RANK[hook.source]


class Edge(Struct, frozen=True):
    """One hook that comes before another, and which of the two said so, or would have to be moved otherwise."""

    first: str
    then: str
    said_by: str
    is_said: bool = True


class Cycle(Struct, frozen=True):
    """Orders that contradict each other: each hook comes after the next, and the last one after the first.

    What hooks of this `standing` said was left out.
    """

    ids: tuple[str, ...]
    standing: int

    def told(self, first: str) -> str:
        """Tell the way round from one of its hooks on."""
        start = self.ids.index(first)
        return " after ".join(f'"{name}"' for name in (*self.ids[start:], *self.ids[:start], first))


class Order(Struct, frozen=True):
    """A place for every hook, the hooks that each has to wait for, and the contradictions that were found."""

    places: Mapping[str, int]
    waits: Mapping[str, frozenset[str]] = {}
    cycles: tuple[Cycle, ...] = ()

    def follows(self, hook: str, others: Iterable[str]) -> bool:
        """Say whether a hook has to wait for one of the others, be it through hooks between them."""
        firsts = self.waits.get(hook)
        if not firsts:
            # nearly all hooks: the others may be thousands, and nobody needs to look at them
            return False
        wanted = frozenset(others)
        asked = list(firsts)
        seen = set(asked)
        while asked:
            name = asked.pop()
            if name in wanted:
                return True
            more = self.waits.get(name, frozenset()) - seen
            seen |= more
            asked += more
        return False


class Names:
    """Find hooks by what people call them: the id, or a name that only one hook has.

    Whoever speaks of another hook means one that is trusted as much as itself, if there is one: nobody takes the place
    of a person's guard by taking its name.
    """

    def __init__(self, hooks: Iterable[Hook]) -> None:
        self._ids: dict[str, Hook] = {}
        self._named: dict[str, list[Hook]] = {}
        for hook in hooks:
            self._ids[hook.id] = hook
            if hook.name:
                self._named.setdefault(hook.name, []).append(hook)

    def find(self, name: str, *, by: Hook) -> Hook | None:
        """Give the hook that another one calls by this id or name; None when there is none, or more than one."""
        meant = self._meant(name, by)
        return meant[0] if len(meant) == 1 else None

    def _meant(self, name: str, by: Hook) -> Sequence[Hook]:
        known, named = self._ids.get(name), self._named.get(name, ())
        limit = standing(by)
        if known is not None and standing(known) <= limit:
            return (known,)
        near = [hook for hook in named if standing(hook) <= limit]
        return near or ((known,) if known is not None else named)

    def missing(self, name: str, *, by: Hook) -> str:
        """Say why there is no hook of this name, with the nearest one that there is."""
        several = self._meant(name, by)
        if several:
            return f'{len(several)} hooks have the name "{name}"; say the id: {", ".join(hook.id for hook in several)}'
        near = difflib.get_close_matches(name, [*self._ids, *self._named], n=1)
        return f'there is no hook "{name}"' + (f' (did you mean "{near[0]}"?)' if near else "")


def arrange(hooks: Sequence[Hook], *, rank: Callable[[Hook], Rank]) -> Order:
    """Put hooks in order; what `after` and `before` name and nobody has does not count."""
    by_id = {hook.id: hook for hook in hooks}
    ranks = {name: rank(hook) for name, hook in by_id.items()}
    ordered = [hook for hook in by_id.values() if hook.after or hook.before]
    if not ordered:
        return Order({name: place for place, name in enumerate(sorted(ranks, key=ranks.__getitem__))})
    said = _edges(ordered, Names(by_id.values()))
    edges: list[Edge] = []
    cycles: list[Cycle] = []
    placed = sorted(ranks, key=ranks.__getitem__)
    # from the nearest to the person on: what the next ones say must not move those that were placed before them
    for level in sorted({standing(hook) for hook in ordered}):
        edges += [edge for edge in said if standing(by_id[edge.said_by]) == level]
        kept = _kept([name for name in placed if standing(by_id[name]) < level], edges)
        left, found = _without_cycles([*edges, *kept], by_id)
        placed = list(_sorted(ranks, left))
        edges = [edge for edge in left if edge.is_said]
        cycles += found
    waits = _waits(edges)
    places = {name: place for place, name in enumerate(placed)}
    return Order(places, {name: frozenset(firsts) for name, firsts in waits.items()}, tuple(cycles))


def _kept(placed: Iterable[str], edges: Iterable[Edge]) -> list[Edge]:
    """Give edges that keep hooks in the order in which they stand, as far as others speak of them or they of others."""
    spoken_of = {name for edge in edges for name in (edge.first, edge.then)}
    standing_still = [name for name in placed if name in spoken_of]
    # nobody said these, so they are told from all others, and draw nobody forward
    return [Edge(first, then, then, is_said=False) for first, then in pairwise(standing_still)]


def _waits(edges: Iterable[Edge]) -> dict[str, set[str]]:
    waits: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        waits[edge.then].add(edge.first)
    return waits


def _edges(hooks: Iterable[Hook], names: Names) -> list[Edge]:
    edges: dict[Edge, None] = {}
    for hook in hooks:
        find = partial(names.find, by=hook)
        for other in filter(None, map(find, hook.after)):
            edges[Edge(other.id, hook.id, hook.id)] = None
        for other in filter(None, map(find, hook.before)):
            edges[Edge(hook.id, other.id, hook.id)] = None
    return list(edges)


def _sorted(ranks: Mapping[str, Rank], edges: Sequence[Edge]) -> Iterator[str]:
    """Sort by rank, each after all it waits for."""
    ranks = _drawn_forward(ranks, edges)
    left = {name: len(firsts) for name, firsts in _waits(edges).items()}
    followers: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        followers[edge.first].add(edge.then)
    ready = [(rank, name) for name, rank in ranks.items() if not left.get(name)]
    heapq.heapify(ready)
    while ready:
        _, name = heapq.heappop(ready)
        yield name
        for follower in followers.get(name, ()):
            left[follower] -= 1
            if not left[follower]:
                heapq.heappush(ready, (ranks[follower], follower))


def _drawn_forward(ranks: Mapping[str, Rank], edges: Iterable[Edge]) -> dict[str, Rank]:
    """Give a hook that says `before` another the other's rank, where that is smaller."""
    drawn = dict(ranks)
    pulls: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge.said_by == edge.first:
            pulls[edge.then].append(edge.first)
    # from the smallest rank on: whoever is reached first is reached by the smallest
    queue = [(drawn[name], name) for name in pulls]
    heapq.heapify(queue)
    while queue:
        rank, name = heapq.heappop(queue)
        for first in pulls.get(name, ()):
            if rank < drawn[first]:
                drawn[first] = rank
                heapq.heappush(queue, (rank, first))
    return drawn


def _without_cycles(edges: list[Edge], hooks: Mapping[str, Hook]) -> tuple[list[Edge], list[Cycle]]:
    """Leave out edges until no hook waits for itself, those of the least trusted hooks first."""
    cycles: list[Cycle] = []
    while True:
        followers: dict[str, list[str]] = defaultdict(list)
        for edge in edges:
            followers[edge.first].append(edge.then)
        tangles = list(_tangles(followers))
        if not tangles:
            return edges, cycles
        tangle_of = {name: number for number, tangle in enumerate(tangles) for name in tangle}
        inner = [edge for edge in edges if tangle_of.get(edge.first, -1) == tangle_of.get(edge.then, -2)]
        worst: dict[int, int] = defaultdict(int)
        for edge in inner:
            number = tangle_of[edge.then]
            worst[number] = max(worst[number], standing(hooks[edge.said_by]))
        cycles += [Cycle(_way_round(tangle, followers), worst[number]) for number, tangle in enumerate(tangles)]
        dropped = {edge for edge in inner if standing(hooks[edge.said_by]) == worst[tangle_of[edge.then]]}
        edges = [edge for edge in edges if edge not in dropped]


def _way_round(tangle: frozenset[str], followers: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Name one way round in a tangle, in which every hook has a follower."""
    name = min(tangle)
    way: dict[str, None] = {}
    while name not in way:
        way[name] = None
        name = next(follower for follower in followers[name] if follower in tangle)
    walked = list(way)
    # people say who comes after whom, so the way is told from its end
    return tuple(reversed(walked[walked.index(name) :]))


def _tangles(followers: Mapping[str, Sequence[str]]) -> Iterator[frozenset[str]]:
    """Find the hooks that wait for each other in a circle: the strongly connected components, as Kosaraju finds them."""
    firsts: dict[str, list[str]] = defaultdict(list)
    for first, thens in followers.items():
        for then in thens:
            firsts[then].append(first)
    seen: set[str] = set()
    left_last = [name for root in followers for name in _left(root, followers, seen)]
    taken: set[str] = set()
    for name in reversed(left_last):
        component = frozenset(_left(name, firsts, taken))
        if len(component) > 1 or (component and name in followers.get(name, ())):
            yield component


def _left(root: str, graph: Mapping[str, Sequence[str]], seen: set[str]) -> Iterator[str]:
    """Walk into depth where nobody was, and name each hook when all behind it were visited."""
    if root in seen:
        return
    seen.add(root)
    work = [(root, iter(graph.get(root, ())))]
    while work:
        name, rest = work[-1]
        fresh = next((other for other in rest if other not in seen), None)
        if fresh is None:
            work.pop()
            yield name
        else:
            seen.add(fresh)
            work.append((fresh, iter(graph.get(fresh, ()))))
