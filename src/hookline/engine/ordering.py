"""The order of hooks: priority, `after` and `before`, and the steps of lists. No I/O, no clock.

The hook that names another one is the hook that moves: with `after` it waits, with `before` it is drawn forward. All
others keep the order of their ranks. Contradicting orders cannot all be kept: those of the least trusted hooks are
dropped first. An order that would make more trusted hooks change places is dropped as well, such as "before a guard and
after everything else": adding a hook must not reorder the hooks of a user.
"""

import heapq
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source
from hookline.text import suggest

Rank = tuple[int, int, int]

MANAGED_RANK: Final = 1
SOURCE_RANK: Final = {
    Source.BUILTIN: 0,
    Source.USER: 2,
    Source.WORKSPACE: 3,
    Source.DOWNLOADED: 4,
    Source.EXTENSION: 4,
}

# how deep lists of steps may be nested, and how many hooks one list may come to
MAX_LIST_DEPTH: Final = 8
MAX_STEPS: Final = 256


def trust_rank(hook: Hook) -> int:
    """Return how trusted the origin of a hook is; the smallest rank is trusted most."""
    return MANAGED_RANK if hook.layer is Layer.MANAGED else SOURCE_RANK[hook.source]


def is_untrusted(hook: Hook) -> bool:
    """Return whether a hook needs approval; it is matched with events before it has one."""
    return trust_rank(hook) >= SOURCE_RANK[Source.WORKSPACE]


class Edge(Struct, frozen=True):
    """One hook that comes before another; implicit edges keep the current order, and no hook declared them."""

    first: str
    then: str
    declared_by: str
    is_declared: bool = True


class Cycle(Struct, frozen=True):
    """Orders that contradict each other: each hook comes after the next, and the last one after the first.

    The orders that hooks of this trust rank declared were dropped.
    """

    ids: tuple[str, ...]
    rank: int

    def describe(self, first: str) -> str:
        """Return the cycle in words, starting with one of its hooks."""
        start = self.ids.index(first)
        return " after ".join(f'"{name}"' for name in (*self.ids[start:], *self.ids[:start], first))


class Order(Struct, frozen=True):
    """The position of every hook, the hooks that each has to wait for, and the contradictions."""

    places: Mapping[str, int]
    waits: Mapping[str, frozenset[str]] = {}
    cycles: tuple[Cycle, ...] = ()

    def follows(self, hook: str, others: Iterable[str]) -> bool:
        """Return whether a hook has to wait for one of the others, directly or through hooks between them."""
        firsts = self.waits.get(hook)
        if not firsts:
            return False
        wanted = frozenset(others)
        stack = list(firsts)
        seen = set(stack)
        while stack:
            name = stack.pop()
            if name in wanted:
                return True
            more = self.waits.get(name, frozenset()) - seen
            seen |= more
            stack += more
        return False


class HookNames:
    """Find hooks by their id, or by a name that only one hook has.

    A hook that names another one means a hook that is trusted at least as much as itself, if there is one: a project
    cannot replace a user's guard by taking its name.
    """

    def __init__(self, hooks: Iterable[Hook]) -> None:
        self._by_id: dict[str, Hook] = {}
        self._by_name: dict[str, list[Hook]] = {}
        for hook in hooks:
            self._by_id[hook.id] = hook
            if hook.name:
                self._by_name.setdefault(hook.name, []).append(hook)

    def find(self, name: str, *, by: Hook) -> Hook | None:
        """Return the hook that another one calls by this id or name, or None when there is none or several."""
        candidates = self._candidates(name, by)
        return candidates[0] if len(candidates) == 1 else None

    def _candidates(self, name: str, by: Hook) -> Sequence[Hook]:
        same_id, same_name = self._by_id.get(name), self._by_name.get(name, ())
        limit = trust_rank(by)
        if same_id is not None and trust_rank(same_id) <= limit:
            return (same_id,)
        trusted = [hook for hook in same_name if trust_rank(hook) <= limit]
        return trusted or ((same_id,) if same_id is not None else same_name)

    def describe_missing(self, name: str, *, by: Hook) -> str:
        """Return why there is no hook of this name, with the nearest name that exists."""
        several = self._candidates(name, by)
        if several:
            return f'{len(several)} hooks have the name "{name}"; say the id: {", ".join(hook.id for hook in several)}'
        return f'there is no hook "{name}"{suggest(name, [*self._by_id, *self._by_name])}'

    def describe_missing_steps(self, hook: Hook) -> str:
        """Return which steps of a hook do not exist, or ""."""
        missing = [step for step in dict.fromkeys(hook.steps) if self.find(step, by=hook) is None]
        return "; ".join(self.describe_missing(step, by=hook) for step in missing)

    def steps_of(self, hook: Hook) -> list[Hook]:
        """Return the existing steps of a hook, in order."""
        return list(filter(None, map(partial(self.find, by=hook), hook.steps)))


class OrderSource(Protocol):
    """Where the order and the names of all registered hooks come from: the planner."""

    def order(self) -> Order:
        """Return the order of all hooks."""
        ...

    def names(self) -> HookNames:
        """Return the names of all hooks."""
        ...


class RelationProblem(NamedTuple):
    """What is wrong with a hook's references to other hooks."""

    hook: Hook
    message: str


def find_relation_problems(hooks: Iterable[Hook], planner: OrderSource) -> Iterator[RelationProblem]:
    """Find everything that is wrong between registered hooks: cycles, missing steps, and lists without an end."""
    related = [hook for hook in hooks if references(hook)]
    if not related:
        return
    yield from (problem for problem, _ in _find_cycles(related, planner.order()))
    names = planner.names()
    for hook in related:
        if missing := names.describe_missing_steps(hook):
            yield RelationProblem(hook, f"cannot run all of its steps: {missing}")
        if problem := check_list(hook, names):
            yield RelationProblem(hook, problem)


def refuse_cycles(hooks: Iterable[Hook], planner: OrderSource, referenced: Container[str]) -> None:
    """Refuse a cycle that one of these hooks is part of: registering another hook can never repair it.

    `referenced` are the names that other hooks use: a hook without references may close their cycle.

    Raises:
        ConfigError: There is a cycle, or a list of steps that is too deep or too long.
    """
    related = [hook for hook in hooks if references(hook) or hook.id in referenced or hook.name in referenced]
    if not related:
        return
    cycles, names = _find_cycles(related, planner.order()), planner.names()
    # a cycle whose dropped orders are those of less trusted hooks is not the fault of these
    wrong = next((problem for problem, cycle in cycles if trust_rank(problem.hook) >= cycle.rank), None)
    if wrong is None:
        wrong = next((RelationProblem(hook, problem) for hook in related if (problem := check_list(hook, names))), None)
    if wrong is not None:
        hook = wrong.hook
        raise ConfigError(f'hook "{hook.id}" {wrong.message}', path=hook.source_path, line=hook.source_line)


def references(hook: Hook) -> tuple[str, ...]:
    """Return the names of other hooks that a hook uses."""
    return (*hook.after, *hook.before, *hook.steps)


def _find_cycles(hooks: Sequence[Hook], order: Order) -> Iterator[tuple[RelationProblem, Cycle]]:
    for cycle in order.cycles:
        members = [hook for hook in hooks if hook.id in cycle.ids]
        if members:
            # reported at the least trusted hook, whose orders were dropped
            last = max(members, key=trust_rank)
            yield RelationProblem(last, f"cannot be put in order: {cycle.describe(last.id)}"), cycle


class _ListError(Exception):
    """Ends the walk through a list at the first problem."""


def check_list(hook: Hook, names: HookNames) -> str:
    """Return why a list of steps would not end, or not soon, or ""."""
    sizes: dict[str, int] = {}

    def measure(inner: Hook, path: tuple[str, ...]) -> int:
        if inner.id in path:
            way = (*path[path.index(inner.id) :], inner.id)
            raise _ListError("contains itself: " + " → ".join(f'"{name}"' for name in way))
        if len(path) > MAX_LIST_DEPTH:
            raise _ListError(f"has more than {MAX_LIST_DEPTH} lists inside each other: " + " → ".join(path))
        if inner.id not in sizes:
            steps = names.steps_of(inner)
            sizes[inner.id] = sum(measure(step, (*path, inner.id)) for step in steps) if inner.steps else 1
        return sizes[inner.id]

    try:
        steps = measure(hook, ())
    except _ListError as problem:
        return str(problem)
    return f"comes to {steps} steps, and {MAX_STEPS} are the most" if steps > MAX_STEPS else ""


def arrange(hooks: Sequence[Hook], *, rank: Callable[[Hook], Rank]) -> Order:
    """Put hooks in order; names in `after` and `before` that no hook has are ignored."""
    by_id = {hook.id: hook for hook in hooks}
    ranks = {name: rank(hook) for name, hook in by_id.items()}
    placed = sorted(ranks, key=ranks.__getitem__)
    ordered = [hook for hook in by_id.values() if hook.after or hook.before]
    if not ordered:
        return Order({name: place for place, name in enumerate(placed)})
    names = HookNames(by_id.values())
    declared: dict[Edge, None] = {}
    for hook in ordered:
        find = partial(names.find, by=hook)
        declared |= {Edge(other.id, hook.id, hook.id): None for other in filter(None, map(find, hook.after))}
        declared |= {Edge(hook.id, other.id, hook.id): None for other in filter(None, map(find, hook.before))}
    edges: list[Edge] = []
    cycles: list[Cycle] = []
    # most trusted level first: the orders of the next level must not move hooks that are already placed
    for level in sorted({trust_rank(hook) for hook in ordered}):
        edges += [edge for edge in declared if trust_rank(by_id[edge.declared_by]) == level]
        mentioned = {name for edge in edges for name in (edge.first, edge.then)}
        fixed = [name for name in placed if trust_rank(by_id[name]) < level and name in mentioned]
        implicit = [Edge(first, then, then, is_declared=False) for first, then in pairwise(fixed)]
        remaining, found = _drop_cycles([*edges, *implicit], by_id)
        placed = list(_sort(ranks, remaining))
        edges = [edge for edge in remaining if edge.is_declared]
        cycles += found
    waits = {name: frozenset(firsts) for name, firsts in _predecessors(edges).items()}
    return Order({name: place for place, name in enumerate(placed)}, waits, tuple(cycles))


def _predecessors(edges: Iterable[Edge]) -> dict[str, set[str]]:
    predecessors: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        predecessors[edge.then].add(edge.first)
    return predecessors


def _sort(ranks: Mapping[str, Rank], edges: Sequence[Edge]) -> Iterator[str]:
    """Sort by rank, each hook after all it waits for."""
    ranks = _draw_forward(ranks, edges)
    waiting = {name: len(firsts) for name, firsts in _predecessors(edges).items()}
    followers: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        followers[edge.first].add(edge.then)
    ready = [(rank, name) for name, rank in ranks.items() if not waiting.get(name)]
    heapq.heapify(ready)
    while ready:
        _, name = heapq.heappop(ready)
        yield name
        for follower in followers.get(name, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (ranks[follower], follower))


def _draw_forward(ranks: Mapping[str, Rank], edges: Iterable[Edge]) -> dict[str, Rank]:
    """Give a hook that declares `before` the rank of the other hook, where that is smaller."""
    drawn = dict(ranks)
    pulls: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        if edge.declared_by == edge.first:
            pulls[edge.then].append(edge.first)
    # smallest rank first: the first visit of a hook is with the smallest rank
    queue = [(drawn[name], name) for name in pulls]
    heapq.heapify(queue)
    while queue:
        rank, name = heapq.heappop(queue)
        for first in pulls.get(name, ()):
            if rank < drawn[first]:
                drawn[first] = rank
                heapq.heappush(queue, (rank, first))
    return drawn


def _drop_cycles(edges: list[Edge], hooks: Mapping[str, Hook]) -> tuple[list[Edge], list[Cycle]]:
    """Drop edges until no hook waits for itself, those of the least trusted hooks first."""
    cycles: list[Cycle] = []
    while True:
        followers: dict[str, list[str]] = defaultdict(list)
        for edge in edges:
            followers[edge.first].append(edge.then)
        components = list(_cyclic_components(followers))
        if not components:
            return edges, cycles
        component_of = {name: number for number, component in enumerate(components) for name in component}
        inner = [edge for edge in edges if component_of.get(edge.first, -1) == component_of.get(edge.then, -2)]
        worst: dict[int, int] = defaultdict(int)
        for edge in inner:
            number = component_of[edge.then]
            worst[number] = max(worst[number], trust_rank(hooks[edge.declared_by]))
        cycles += [Cycle(_walk_cycle(one, followers), worst[number]) for number, one in enumerate(components)]
        dropped = {edge for edge in inner if trust_rank(hooks[edge.declared_by]) == worst[component_of[edge.then]]}
        edges = [edge for edge in edges if edge not in dropped]


def _walk_cycle(component: frozenset[str], followers: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Return one cycle in a component, in which every hook has a follower."""
    name = min(component)
    way: dict[str, None] = {}
    while name not in way:
        way[name] = None
        name = next(follower for follower in followers[name] if follower in component)
    walked = list(way)
    # described as "A after B", so from the end
    return tuple(reversed(walked[walked.index(name) :]))


def _cyclic_components(followers: Mapping[str, Sequence[str]]) -> Iterator[frozenset[str]]:
    """Find the hooks that wait for each other: the strongly connected components, by Kosaraju's algorithm."""
    firsts: dict[str, list[str]] = defaultdict(list)
    for first, thens in followers.items():
        for then in thens:
            firsts[then].append(first)
    seen: set[str] = set()
    post_order = [name for root in followers for name in _walk_post_order(root, followers, seen)]
    assigned: set[str] = set()
    for name in reversed(post_order):
        component = frozenset(_walk_post_order(name, firsts, assigned))
        if len(component) > 1 or (component and name in followers.get(name, ())):
            yield component


def _walk_post_order(root: str, graph: Mapping[str, Sequence[str]], seen: set[str]) -> Iterator[str]:
    """Walk depth first through unseen nodes, and yield each after all behind it."""
    if root in seen:
        return
    seen.add(root)
    stack = [(root, iter(graph.get(root, ())))]
    while stack:
        name, rest = stack[-1]
        fresh = next((other for other in rest if other not in seen), None)
        if fresh is None:
            stack.pop()
            yield name
        else:
            seen.add(fresh)
            stack.append((fresh, iter(graph.get(fresh, ()))))
