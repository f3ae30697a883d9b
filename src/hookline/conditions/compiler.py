"""Compile a syntax tree into nested functions, so that evaluating a condition is one call."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from hookline.conditions import ast
from hookline.conditions.ast import Node, spell_path
from hookline.conditions.parser import make_error, suggest_name
from hookline.conditions.regex import compile_regex
from hookline.conditions.values import (
    are_equal,
    format_value,
    is_contained,
    is_list,
    is_map,
    item_at,
    kind_of,
    make_arithmetic,
    make_comparison,
    negate,
    size_of,
    with_article,
)
from hookline.errors import ConditionError, ConfigError, MissingValueError

# items that all loops of one evaluation may visit, as in the official library: the sender of an event chooses its lists
MOST_ROUNDS: Final = 10_000
# time for loops and patterns: the author of a condition may be an unknown project, and the agent waits for the answer
MOST_SECONDS: Final = 1.0

Scope = Mapping[str, object]
Evaluate = Callable[[Scope], object]

# the key of the budget in a scope; no name in a condition can be spelled like this
BUDGET: Final = "\0"


class EvaluationBudget:
    """The loop rounds and the time of one evaluation."""

    __slots__ = ("_end", "_rounds")

    def __init__(self, end: float | None = None) -> None:
        self._rounds = MOST_ROUNDS
        self._end = time.monotonic() + MOST_SECONDS if end is None else end

    def renew(self) -> "EvaluationBudget":
        """Return a budget for another evaluation within the same time."""
        return EvaluationBudget(self._end)

    def spend(self, rounds: int) -> None:
        """Use up rounds of a loop.

        Raises:
            ConditionError: The budget is used up.
        """
        self._rounds -= rounds
        if self._rounds < 0:
            raise ConditionError(f"its loops would look at more than {MOST_ROUNDS} items")
        if time.monotonic() > self._end:
            raise ConditionError(f"its loops and patterns take longer than {MOST_SECONDS:g} s")


def compile_node(node: Node, text: str) -> Evaluate:
    """Return the function that evaluates a node; it raises ConditionError where there is no value.

    Where `needs_budget` is true, the scope has to hold a budget.

    Raises:
        ConfigError: A regular expression in the text cannot be read.
    """
    return _COMPILERS[type(node)](node, text)


def needs_budget(node: Node) -> bool:
    """Return whether a node contains loops or patterns, which need a budget."""
    return isinstance(node, ast.Loop) or (
        (isinstance(node, ast.FunctionCall) and node.function == "matches")
        or any(map(needs_budget, ast.list_children(node)))
    )


def _compile_literal(node: ast.Literal, _text: str) -> Evaluate:
    value = node.value
    return lambda _scope: value


def _compile_name(node: ast.Name, _text: str) -> Evaluate:
    name = node.name

    def evaluate(scope: Scope) -> object:
        try:
            return scope[name]
        except KeyError:
            raise MissingValueError(f'there is no "{name}" at this event{suggest_name(name, scope)}') from None

    return evaluate


def _compile_select(node: ast.Select, text: str) -> Evaluate:
    of, field, where = compile_node(node.of, text), node.field, spell_path(node.of) or "it"

    def evaluate(scope: Scope) -> object:
        value = of(scope)
        if not is_map(value):
            raise ConditionError(f'{where} is {with_article(kind_of(value))} and has no "{field}"')
        try:
            return value[field]
        except KeyError:
            raise MissingValueError(f'{where} has no "{field}"{suggest_name(field, value)}') from None

    return evaluate


def _compile_has(node: ast.Has, text: str) -> Evaluate:
    of, field, where = compile_node(node.of, text), node.field, spell_path(node.of) or "it"

    def evaluate(scope: Scope) -> object:
        value = of(scope)
        if is_map(value):
            return field in value
        raise ConditionError(f"{where} is {with_article(kind_of(value))} and has no fields")

    return evaluate


def _compile_index(node: ast.Index, text: str) -> Evaluate:
    of, key = compile_node(node.of, text), compile_node(node.key, text)
    return lambda scope: item_at(of(scope), key(scope))


def _compile_operation(node: ast.Operation, text: str) -> Evaluate:
    operands = [compile_node(operand, text) for operand in node.operands]
    left, right = operands[0], operands[-1]
    if node.operator == "==" and isinstance(other := node.operands[1], ast.Literal) and type(other.value) is str:
        # most conditions compare with a literal text; only a text can be equal to it
        wanted = other.value
        return lambda scope: isinstance(value := left(scope), str) and value == wanted
    if len(operands) == 1:
        change = _UNARY[node.operator]
        return lambda scope: change(left(scope))
    calculate = _BINARY[node.operator]
    return lambda scope: calculate(left(scope), right(scope))


def _compile_chain(node: ast.Chain, text: str) -> Evaluate:
    """Evaluate the parts until one decides; an error counts only where no part decides."""
    parts = tuple(compile_node(part, text) for part in node.parts)
    operator, decides = node.operator, node.operator == "||"

    def evaluate(scope: Scope) -> object:
        first_error: ConditionError | None = None
        for part in parts:
            try:
                answer = part(scope)
            except ConditionError as error:
                first_error = first_error or error
                continue
            if answer is decides:
                return decides
            if answer is not True and answer is not False:
                first_error = first_error or _make_type_error(operator, answer)
        if first_error is not None:
            raise first_error
        return not decides

    return evaluate


def _make_type_error(operator: str, value: object) -> ConditionError:
    return ConditionError(f"{operator} needs true or false, not {with_article(kind_of(value))} ({format_value(value)})")


def _compile_choice(node: ast.Choice, text: str) -> Evaluate:
    asked, yes, no = (compile_node(part, text) for part in (node.asked, node.yes, node.no))

    return lambda scope: yes(scope) if _check_bool(asked(scope), "?") else no(scope)


def _compile_list_of(node: ast.ListOf, text: str) -> Evaluate:
    items = tuple(compile_node(item, text) for item in node.items)
    if all(isinstance(item, ast.Literal) for item in node.items):
        fixed = [item(MappingProxyType({})) for item in items]
        return lambda _scope: fixed
    return lambda scope: [item(scope) for item in items]


def _compile_map_of(node: ast.MapOf, text: str) -> Evaluate:
    items = {key: compile_node(item, text) for key, item in zip(node.keys, node.items, strict=True)}
    return lambda scope: {key: item(scope) for key, item in items.items()}


def _compile_call(node: ast.FunctionCall, text: str) -> Evaluate:
    if node.function == "size":
        of = compile_node(node.arguments[0], text)
        return lambda scope: size_of(of(scope))
    if node.function == "matches":
        return _compile_matches(node, text)
    left, right = (compile_node(argument, text) for argument in node.arguments)
    function, ask = node.function, _TEXTS[node.function]

    def evaluate(scope: Scope) -> object:
        of, part = left(scope), right(scope)
        if isinstance(of, str) and isinstance(part, str):
            return ask(of, part)
        raise _make_text_error(function, of, part)

    return evaluate


def _make_text_error(function: str, *values: object) -> ConditionError:
    value = next(value for value in values if not isinstance(value, str))
    advice = '; an item of a list is found with "in"' if is_list(value) and function == "contains" else ""
    return ConditionError(
        f'"{function}" is about texts, not {with_article(kind_of(value))} ({format_value(value)}){advice}'
    )


def _compile_matches(node: ast.FunctionCall, text: str) -> Evaluate:
    of, pattern = (compile_node(argument, text) for argument in node.arguments)
    literal, known = node.arguments[1], None
    if isinstance(literal, ast.Literal) and isinstance(literal.value, str):
        # compiled here, so that a broken pattern is reported when the condition is loaded
        try:
            known = compile_regex(literal.value)
        except ConfigError as problem:
            raise make_error(text, literal.at, problem.message) from None

    def evaluate(scope: Scope) -> object:
        _get_budget(scope).spend(0)
        value = of(scope)
        if known is not None and isinstance(value, str):
            return known.matches(value)
        expression = pattern(scope)
        if not isinstance(value, str) or not isinstance(expression, str):
            raise _make_text_error("matches", value, expression)
        try:
            regex = compile_regex(expression)
        except ConfigError as problem:
            raise ConditionError(problem.message) from None
        return regex.matches(value)

    return evaluate


def _compile_loop(node: ast.Loop, text: str) -> Evaluate:
    of, body = compile_node(node.of, text), compile_node(node.body, text)
    kept = compile_node(node.kept, text) if node.kept is not None else None
    macro, variable, run = node.macro, node.variable, _LOOPS[node.macro]

    def evaluate(scope: Scope) -> object:
        items = of(scope)
        if not is_list(items) and not is_map(items):
            raise ConditionError(f'"{macro}" looks through a list or a map, not {with_article(kind_of(items))}')
        inner = dict(scope)
        rounds = _bind_items(inner, variable, items)
        if kept is None:
            return run(rounds, body, inner)
        return [body(inner) for _ in rounds if _check_bool(kept(inner), macro)]

    return evaluate


def _bind_items(inner: dict[str, object], variable: str, items: Iterable[object]) -> Iterator[object]:
    """Bind the loop variable to one item after the other."""
    budget = _get_budget(inner)
    for item in items:
        budget.spend(1)
        inner[variable] = item
        yield item


def _get_budget(scope: Scope) -> EvaluationBudget:
    return cast("EvaluationBudget", scope[BUDGET])


def _make_quantifier(decides: bool, sign: str) -> "Run":  # noqa: FBT001 - both stand in a table, one line each
    """Combine the items as `||` or `&&` would, errors included."""

    def run(rounds: Iterator[object], body: Evaluate, inner: Scope) -> object:
        first_error: ConditionError | None = None
        for _ in rounds:
            try:
                answer = _check_bool(body(inner), sign)
            except ConditionError as error:
                first_error = first_error or error
                continue
            if answer is decides:
                return decides
        if first_error is not None:
            raise first_error
        return not decides

    return run


def _check_bool(value: object, who: str) -> bool:
    if value is True or value is False:
        return value
    raise _make_type_error(who, value)


Run = Callable[[Iterator[object], Evaluate, Scope], object]
_LOOPS: Final[Mapping[str, Run]] = {
    "all": _make_quantifier(False, "all"),  # noqa: FBT003 - what decides
    "exists": _make_quantifier(True, "exists"),  # noqa: FBT003 - what decides
    "exists_one": lambda rounds, body, inner: sum(_check_bool(body(inner), "exists_one") for _ in rounds) == 1,
    "filter": lambda rounds, body, inner: [item for item in rounds if _check_bool(body(inner), "filter")],
    "map": lambda rounds, body, inner: [body(inner) for _ in rounds],
}
_TEXTS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "contains": lambda of, part: part in of,
    "startsWith": lambda of, part: of.startswith(part),
    "endsWith": lambda of, part: of.endswith(part),
}
_UNARY: Final[Mapping[str, Callable[[object], object]]] = {
    "!_": lambda value: not _check_bool(value, "!"),
    "-_": negate,
}
_BINARY: Final[Mapping[str, Callable[[object, object], object]]] = {
    "==": are_equal,
    "!=": lambda left, right: not are_equal(left, right),
    "in": is_contained,
    **{sign: make_comparison(sign) for sign in ("<", "<=", ">", ">=")},
    **{sign: make_arithmetic(sign) for sign in ("+", "-", "*", "/", "%")},
}
_COMPILERS: Final[Mapping[type, Callable[[Any, str], Evaluate]]] = {
    ast.Literal: _compile_literal,
    ast.Name: _compile_name,
    ast.Select: _compile_select,
    ast.Has: _compile_has,
    ast.Index: _compile_index,
    ast.Operation: _compile_operation,
    ast.Chain: _compile_chain,
    ast.Choice: _compile_choice,
    ast.FunctionCall: _compile_call,
    ast.ListOf: _compile_list_of,
    ast.MapOf: _compile_map_of,
    ast.Loop: _compile_loop,
}
