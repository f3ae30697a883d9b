"""Make functions of what was read, once, so that asking a condition is only calling them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from hookline.core.conditions import syntax
from hookline.core.conditions.automaton import Automaton, automaton
from hookline.core.conditions.problems import hint, wrong
from hookline.core.conditions.syntax import Node, spelled
from hookline.core.conditions.values import (
    a,
    arithmetic,
    comparison,
    contained,
    equal,
    is_list,
    is_map,
    item_at,
    kind_of,
    negated,
    shown,
    size_of,
)
from hookline.errors import ConditionError, ConfigError

# How many items all loops of one answer may look at, as in the official library: a list in an event is as long as its
# sender likes.
MOST_ROUNDS: Final = 10_000
# Loops and patterns stop here. Whoever writes such a condition may be a stranger, and everybody waits for the answer.
MOST_SECONDS: Final = 1.0

Scope = Mapping[str, object]
Evaluate = Callable[[Scope], object]

# where a scope has its budget; no name in a condition can be spelled like this
BUDGET: Final = "\0"


class Budget:
    """What one answer may cost."""

    __slots__ = ("_end", "_rounds")

    def __init__(self, end: float | None = None) -> None:
        self._rounds = MOST_ROUNDS
        self._end = time.monotonic() + MOST_SECONDS if end is None else end

    def again(self) -> "Budget":
        """Give the budget of one more answer in the same time."""
        return Budget(self._end)

    def spend(self, rounds: int) -> None:
        """Take rounds of a loop from what is left.

        Raises:
            ConditionError: Nothing is left.
        """
        self._rounds -= rounds
        if self._rounds < 0:
            raise ConditionError(f"its loops would look at more than {MOST_ROUNDS} items")
        if time.monotonic() > self._end:
            raise ConditionError(f"its loops and patterns take longer than {MOST_SECONDS:g} s")


def compiled(node: Node, text: str) -> Evaluate:
    """Make the function that gives a word's value; it raises ConditionError where there is none.

    Where `costs` says so, the scope it is asked with has a budget.

    Raises:
        ConfigError: A regular expression in the text cannot be read.
    """
    make = _MAKERS[type(node)]
    return make(node, text)


def costs(node: Node) -> bool:
    """Say whether a word has loops or patterns in it, which need a budget."""
    return isinstance(node, syntax.Loop) or (
        (isinstance(node, syntax.Call) and node.function == "matches") or any(map(costs, syntax.children(node)))
    )


def _literal(node: syntax.Literal, _text: str) -> Evaluate:
    value = node.value
    return lambda _scope: value


def _name(node: syntax.Name, _text: str) -> Evaluate:
    name = node.name

    def found(scope: Scope) -> object:
        try:
            return scope[name]
        except KeyError:
            raise ConditionError(f'there is no "{name}" at this event{hint(name, scope)}') from None

    return found


def _select(node: syntax.Select, text: str) -> Evaluate:
    of, field, where = compiled(node.of, text), node.field, spelled(node.of) or "it"

    def found(scope: Scope) -> object:
        value = of(scope)
        if not is_map(value):
            raise ConditionError(f'{where} is {a(kind_of(value))} and has no "{field}"')
        try:
            return value[field]
        except KeyError:
            raise ConditionError(f'{where} has no "{field}"{hint(field, value)}') from None

    return found


def _has(node: syntax.Has, text: str) -> Evaluate:
    of, field, where = compiled(node.of, text), node.field, spelled(node.of) or "it"

    def found(scope: Scope) -> object:
        value = of(scope)
        if is_map(value):
            return field in value
        raise ConditionError(f"{where} is {a(kind_of(value))} and has no fields")

    return found


def _index(node: syntax.Index, text: str) -> Evaluate:
    of, key = compiled(node.of, text), compiled(node.key, text)
    return lambda scope: item_at(of(scope), key(scope))


def _operation(node: syntax.Operation, text: str) -> Evaluate:
    operands = [compiled(operand, text) for operand in node.operands]
    if node.operator == "==" and isinstance(other := node.operands[1], syntax.Literal) and type(other.value) is str:
        return _is_text(operands[0], other.value)
    if len(operands) == 1:
        (of,), change = operands, _UNARY[node.operator]
        return lambda scope: change(of(scope))
    (left, right), calculate = operands, _BINARY[node.operator]
    return lambda scope: calculate(left(scope), right(scope))


def _is_text(of: Evaluate, text: str) -> Evaluate:
    """Compare with a text in the condition: most conditions do, and only a text can be equal to it."""

    def same(scope: Scope) -> object:
        value = of(scope)
        return isinstance(value, str) and value == text

    return same


def _chain(node: syntax.Chain, text: str) -> Evaluate:
    """Ask each part until one decides; an error counts only where no part decides."""
    parts = tuple(compiled(part, text) for part in node.parts)
    operator, decides = node.operator, node.operator == "||"

    def decided(scope: Scope) -> object:
        trouble: ConditionError | None = None
        for part in parts:
            try:
                answer = part(scope)
            except ConditionError as problem:
                trouble = trouble or problem
                continue
            if answer is decides:
                return decides
            if answer is not True and answer is not False:
                trouble = trouble or _no_answer(operator, answer)
        if trouble is not None:
            raise trouble
        return not decides

    return decided


def _no_answer(operator: str, value: object) -> ConditionError:
    return ConditionError(f"{operator} needs true or false, not {a(kind_of(value))} ({shown(value)})")


def _not(value: object) -> object:
    if value is True or value is False:
        return not value
    raise _no_answer("!", value)


def _choice(node: syntax.Choice, text: str) -> Evaluate:
    asked, yes, no = (compiled(part, text) for part in (node.asked, node.yes, node.no))

    def chosen(scope: Scope) -> object:
        answer = asked(scope)
        if answer is True:
            return yes(scope)
        if answer is False:
            return no(scope)
        raise _no_answer("?", answer)

    return chosen


def _list_of(node: syntax.ListOf, text: str) -> Evaluate:
    items = tuple(compiled(item, text) for item in node.items)
    if all(isinstance(item, syntax.Literal) for item in node.items):
        fixed = [item(MappingProxyType({})) for item in items]
        return lambda _scope: fixed
    return lambda scope: [item(scope) for item in items]


def _map_of(node: syntax.MapOf, text: str) -> Evaluate:
    items = {key: compiled(item, text) for key, item in zip(node.keys, node.items, strict=True)}
    return lambda scope: {key: item(scope) for key, item in items.items()}


def _call(node: syntax.Call, text: str) -> Evaluate:
    if node.function == "size":
        of = compiled(node.arguments[0], text)
        return lambda scope: size_of(of(scope))
    if node.function == "matches":
        return _matches(node, text)
    left, right = (compiled(argument, text) for argument in node.arguments)
    function, ask = node.function, _TEXTS[node.function]

    def answered(scope: Scope) -> object:
        of, part = left(scope), right(scope)
        if isinstance(of, str) and isinstance(part, str):
            return ask(of, part)
        raise _no_text(function, of, part)

    return answered


def _no_text(function: str, *values: object) -> ConditionError:
    value = next(value for value in values if not isinstance(value, str))
    advice = '; an item of a list is found with "in"' if is_list(value) and function == "contains" else ""
    return ConditionError(f'"{function}" is about texts, not {a(kind_of(value))} ({shown(value)}){advice}')


def _matches(node: syntax.Call, text: str) -> Evaluate:
    of, pattern = (compiled(argument, text) for argument in node.arguments)
    known = _known_automaton(node.arguments[1], text)

    def found(scope: Scope) -> object:
        _budget(scope).spend(0)
        value = of(scope)
        if known is not None and isinstance(value, str):
            return known.found_in(value)
        expression = pattern(scope)
        if not isinstance(value, str) or not isinstance(expression, str):
            raise _no_text("matches", value, expression)
        try:
            machine = automaton(expression)
        except ConfigError as problem:
            raise ConditionError(problem.message) from None
        return machine.found_in(value)

    return found


def _known_automaton(node: Node, text: str) -> Automaton | None:
    """Read a pattern that stands in the condition itself, so that a broken one is found when it is loaded."""
    if not isinstance(node, syntax.Literal) or not isinstance(node.value, str):
        return None
    try:
        return automaton(node.value)
    except ConfigError as problem:
        raise wrong(text, node.at, problem.message) from None


def _loop(node: syntax.Loop, text: str) -> Evaluate:
    of, body = compiled(node.of, text), compiled(node.body, text)
    kept = compiled(node.kept, text) if node.kept is not None else None
    macro, variable, run = node.macro, node.variable, _LOOPS[node.macro]

    def answered(scope: Scope) -> object:
        items = of(scope)
        if not is_list(items) and not is_map(items):
            raise ConditionError(f'"{macro}" looks through a list or a map, not {a(kind_of(items))}')
        inner = dict(scope)
        rounds = _rounds(inner, variable, items)
        if kept is None:
            return run(rounds, body, inner)
        return [body(inner) for _ in rounds if _true_or_false(kept(inner), macro)]

    return answered


def _rounds(inner: dict[str, object], variable: str, items: Iterable[object]) -> Iterator[object]:
    """Put one item after the other in the place of the loop's variable."""
    budget = _budget(inner)
    for item in items:
        budget.spend(1)
        inner[variable] = item
        yield item


def _budget(scope: Scope) -> Budget:
    return cast("Budget", scope[BUDGET])


def _any_or_all(decides: bool, sign: str) -> "Run":  # noqa: FBT001 - both stand in a table, one line each
    """Ask the items as `||` or `&&` would between them, errors included."""

    def run(rounds: Iterator[object], body: Evaluate, inner: Scope) -> object:
        trouble: ConditionError | None = None
        for _ in rounds:
            try:
                answer = _true_or_false(body(inner), sign)
            except ConditionError as problem:
                trouble = trouble or problem
                continue
            if answer is decides:
                return decides
        if trouble is not None:
            raise trouble
        return not decides

    return run


def _one(rounds: Iterator[object], body: Evaluate, inner: Scope) -> object:
    return sum(_true_or_false(body(inner), "exists_one") for _ in rounds) == 1


def _filter(rounds: Iterator[object], body: Evaluate, inner: Scope) -> object:
    return [item for item in rounds if _true_or_false(body(inner), "filter")]


def _map(rounds: Iterator[object], body: Evaluate, inner: Scope) -> object:
    return [body(inner) for _ in rounds]


def _true_or_false(value: object, who: str) -> bool:
    if value is True or value is False:
        return value
    raise _no_answer(who, value)


Run = Callable[[Iterator[object], Evaluate, Scope], object]
_LOOPS: Final[Mapping[str, Run]] = {
    "all": _any_or_all(False, "all"),  # noqa: FBT003 - what decides
    "exists": _any_or_all(True, "exists"),  # noqa: FBT003 - what decides
    "exists_one": _one,
    "filter": _filter,
    "map": _map,
}
_TEXTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "contains": lambda of, part: part in of,
    "startsWith": lambda of, part: of.startswith(part),
    "endsWith": lambda of, part: of.endswith(part),
}
_UNARY: Final[Mapping[str, Callable[[object], object]]] = {"!_": _not, "-_": negated}
_BINARY: Final[Mapping[str, Callable[[object, object], object]]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "in": contained,
    **{sign: comparison(sign) for sign in ("<", "<=", ">", ">=")},
    **{sign: arithmetic(sign) for sign in ("+", "-", "*", "/", "%")},
}
_MAKERS: Final[Mapping[type, Callable[[Any, str], Evaluate]]] = {
    syntax.Literal: _literal,
    syntax.Name: _name,
    syntax.Select: _select,
    syntax.Has: _has,
    syntax.Index: _index,
    syntax.Operation: _operation,
    syntax.Chain: _chain,
    syntax.Choice: _choice,
    syntax.Call: _call,
    syntax.ListOf: _list_of,
    syntax.MapOf: _map_of,
    syntax.Loop: _loop,
}
