"""Compile a condition into nested functions, so that evaluating it is one call.

Values and operators have CEL's semantics: only booleans are true or false, and types are not mixed.
"""

import math
import operator
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, Final, TypeGuard, cast

from hookline.conditions.parser import (
    Chain,
    Choice,
    FunctionCall,
    Has,
    Index,
    ListOf,
    Literal,
    Loop,
    MapOf,
    Name,
    Node,
    Operation,
    Select,
    list_children,
    make_error,
    parse,
    spell_path,
    suggest_name,
)
from hookline.conditions.regex import compile_regex
from hookline.errors import ConditionError, ConfigError, MissingValueError
from hookline.text import redact

# values and operators

# more than texts and lists of events have; a condition must not exhaust the memory
LARGEST: Final = 16 * 1024 * 1024

_KINDS: Final[Mapping[type, str]] = {
    NoneType: "null",
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    list: "list",
    tuple: "list",
    dict: "map",
}
_KINDS_OF_BASES: Final = ((str, "string"), (int, "int"), (float, "double"), (Mapping, "map"), ((list, tuple), "list"))
_NUMBERS: Final = frozenset({"int", "double"})
# types that can be ordered and be keys of a map
_SCALARS: Final = frozenset({"bool", "int", "double", "string"})
_SMALLEST, _BIGGEST = -(2**63), 2**63 - 1
_SHOWN: Final = 60
_READ: Final = 4096
_LONGEST_NUMBER: Final = 1024

Compare = Callable[[object, object], bool]
_COMPARISONS: Final[Mapping[str, Callable[..., bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def kind_of(value: object) -> str:
    """Return the name of a value's type in CEL; that of Python for types that CEL does not have."""
    return _KINDS.get(type(value)) or next(
        (kind for base, kind in _KINDS_OF_BASES if isinstance(value, base)), type(value).__name__
    )


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether a value is a list in CEL; a text is none."""
    return kind_of(value) == "list"


def is_map(value: object) -> TypeGuard[Mapping[object, object]]:
    """Return whether a value is a map in CEL."""
    return kind_of(value) == "map"


def format_value(value: object) -> str:
    """Return a short text for a value, with secrets masked."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if is_list(value) or is_map(value):
        return f"a {kind_of(value)} of {len(value)}"
    if isinstance(value, str):
        # masked before it is cut: a part of a key no longer looks like one
        masked = redact(value[:_READ])
        return repr(masked) if len(masked) <= _SHOWN else f"{masked[:_SHOWN]!r}…"
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        # Python refuses to convert longer numbers to text, which takes quadratic time
        return f"a number of {value.bit_length()} bits"
    # other objects are only named: their methods may do anything
    return str(value)[:_SHOWN] if isinstance(value, int | float) else f"a {type(value).__name__}"


def are_equal(left: object, right: object) -> bool:
    """Return whether two values are equal; values of different types are not, except numbers."""
    if is_list(left) and is_list(right):
        return len(left) == len(right) and all(map(are_equal, left, right))
    if is_map(left) and is_map(right):
        return len(left) == len(right) and all(has_key(right, key) and are_equal(left[key], right[key]) for key in left)
    kind, other = kind_of(left), kind_of(right)
    if kind != other:
        return kind in _NUMBERS and other in _NUMBERS and _double(left) == _double(right)
    return left == right


def make_comparison(sign: str) -> Compare:
    """Return the function of `<`, `<=`, `>` or `>=`."""
    compare = _COMPARISONS[sign]

    def compare_values(left: object, right: object) -> bool:
        kind, other = kind_of(left), kind_of(right)
        if kind == other and kind in _SCALARS:
            return compare(left, right)
        if kind in _NUMBERS and other in _NUMBERS:
            return compare(_double(left), _double(right))
        raise ConditionError(
            f"{sign} does not compare {with_article(kind)} ({format_value(left)}) with {with_article(other)} ({format_value(right)})"
        )

    return compare_values


def is_contained(item: object, of: object) -> bool:
    """Return whether a list has an equal item, or a map the key."""
    if is_list(of):
        return any(are_equal(item, one) for one in of)
    if is_map(of) and kind_of(item) in _SCALARS:
        return has_key(of, item)
    advice = '; a part of a text is found with "contains"' if isinstance(of, str) else ""
    raise ConditionError(f'"in" does not look for {with_article(kind_of(item))} in {with_article(kind_of(of))}{advice}')


def has_key(of: Mapping[object, object], key: object) -> bool:
    """Return whether a map has a key; `1` and `True` are the same in Python, and not in CEL."""
    if type(key) is str:
        return key in of
    return any(are_equal(key, one) for one in of)


def item_at(of: object, key: object) -> object:
    """Return an item of a list or a map.

    Raises:
        ConditionError: There is none.
    """
    if is_map(of):
        if kind_of(key) not in _SCALARS:
            raise ConditionError(f"{with_article(kind_of(key))} is no key of a map")
        if type(key) is not str:
            key = next((one for one in of if are_equal(key, one)), None)
        if key not in of:
            raise MissingValueError(f"there is no key {format_value(key)}")
        return of[key]
    if is_list(of):
        return of[_position(key, len(of))]
    raise ConditionError(f"{with_article(kind_of(of))} has no items")


def _position(key: object, size: int) -> int:
    kind = kind_of(key)
    whole = key if kind == "int" else int(key) if isinstance(key, float) and key.is_integer() else None
    if not isinstance(whole, int):
        raise ConditionError(f"the index of a list is an int, not {with_article(kind)}")
    if not 0 <= whole < size:
        raise MissingValueError(f"there is no item {whole} in a list of {size}")
    return whole


def size_of(value: object) -> int:
    """Return the number of characters, items or keys."""
    if isinstance(value, str) or is_list(value) or is_map(value):
        return len(value)
    raise ConditionError(f'"size" does not count {with_article(kind_of(value))}')


def negate(value: object) -> object:
    """Return the negative of a number."""
    kind = kind_of(value)
    if kind in _NUMBERS and isinstance(value, int | float):
        return _check_range(-value)
    raise ConditionError(f"- needs a number, not {with_article(kind)}")


def make_arithmetic(sign: str) -> Callable[[object, object], object]:
    """Return the function of `+`, `-`, `*`, `/` or `%`; both sides have one type."""
    by_kind = _ARITHMETIC[sign]

    def calculate(left: object, right: object) -> object:
        kind, other = kind_of(left), kind_of(right)
        function = by_kind.get(kind) if kind == other else None
        if function is None:
            advice = "; write 1.0 for a double" if {kind, other} == _NUMBERS else ""
            raise ConditionError(f"{sign} does not take {with_article(kind)} and {with_article(other)}{advice}")
        return function(left, right)

    return calculate


def with_article(kind: str) -> str:
    """Return a type name with its article."""
    return "null" if kind == "null" else f"an {kind}" if kind == "int" else f"a {kind}"


def _double(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise ConditionError(f"{format_value(value)} does not fit into a double") from None


def _check_range(value: object) -> object:
    if isinstance(value, int) and not _SMALLEST <= value <= _BIGGEST:
        raise ConditionError("the result does not fit into 64 bits")
    return value


def _in_range(calculate: Callable[..., object]) -> Callable[..., object]:
    return lambda left, right: _check_range(calculate(left, right))


def _join(left: Sequence[object], right: Sequence[object]) -> object:
    size = len(left) + len(right)
    if size > LARGEST:
        raise ConditionError(f"the result of + would have {size} characters or items, more than {LARGEST}")
    return left + right if isinstance(left, str) and isinstance(right, str) else [*left, *right]


def _divide(left: int, right: int) -> int:
    if not right:
        raise ConditionError("division by zero")
    # towards zero, unlike Python
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _remainder(left: int, right: int) -> int:
    whole = _divide(left, right)
    # CEL has no remainder where the quotient overflows
    _check_range(whole)
    return left - right * whole


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


_ARITHMETIC: Final[Mapping[str, Mapping[str, Callable[..., object]]]] = {
    "+": {"int": _in_range(operator.add), "double": operator.add, "string": _join, "list": _join},
    "-": {"int": _in_range(operator.sub), "double": operator.sub},
    "*": {"int": _in_range(operator.mul), "double": operator.mul},
    "/": {"int": _in_range(_divide), "double": _divide_doubles},
    "%": {"int": _remainder},
}


# the functions of a syntax tree

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
    return isinstance(node, Loop) or (
        (isinstance(node, FunctionCall) and node.function == "matches") or any(map(needs_budget, list_children(node)))
    )


def _compile_literal(node: Literal, _text: str) -> Evaluate:
    value = node.value
    return lambda _scope: value


def _compile_name(node: Name, _text: str) -> Evaluate:
    name = node.name

    def evaluate(scope: Scope) -> object:
        try:
            return scope[name]
        except KeyError:
            raise MissingValueError(f'there is no "{name}" at this event{suggest_name(name, scope)}') from None

    return evaluate


def _compile_field(node: Select | Has, text: str) -> Evaluate:
    of, field, where = compile_node(node.of, text), node.field, spell_path(node.of) or "it"
    is_question = isinstance(node, Has)

    def evaluate(scope: Scope) -> object:
        value = of(scope)
        if not is_map(value):
            lacks = "no fields" if is_question else f'no "{field}"'
            raise ConditionError(f"{where} is {with_article(kind_of(value))} and has {lacks}")
        if is_question:
            return field in value
        try:
            return value[field]
        except KeyError:
            raise MissingValueError(f'{where} has no "{field}"{suggest_name(field, value)}') from None

    return evaluate


def _compile_index(node: Index, text: str) -> Evaluate:
    of, key = compile_node(node.of, text), compile_node(node.key, text)
    return lambda scope: item_at(of(scope), key(scope))


def _compile_operation(node: Operation, text: str) -> Evaluate:
    operands = [compile_node(operand, text) for operand in node.operands]
    left, right = operands[0], operands[-1]
    if node.operator == "==" and isinstance(other := node.operands[1], Literal) and type(other.value) is str:
        # most conditions compare with a literal text; only a text can be equal to it
        wanted = other.value
        return lambda scope: isinstance(value := left(scope), str) and value == wanted
    if len(operands) == 1:
        change = _UNARY[node.operator]
        return lambda scope: change(left(scope))
    calculate = _BINARY[node.operator]
    return lambda scope: calculate(left(scope), right(scope))


def _compile_chain(node: Chain, text: str) -> Evaluate:
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


def _compile_choice(node: Choice, text: str) -> Evaluate:
    asked, yes, no = (compile_node(part, text) for part in (node.asked, node.yes, node.no))

    return lambda scope: yes(scope) if _check_bool(asked(scope), "?") else no(scope)


def _compile_list_of(node: ListOf, text: str) -> Evaluate:
    items = tuple(compile_node(item, text) for item in node.items)
    if all(isinstance(item, Literal) for item in node.items):
        fixed = [item(MappingProxyType({})) for item in items]
        return lambda _scope: fixed
    return lambda scope: [item(scope) for item in items]


def _compile_map_of(node: MapOf, text: str) -> Evaluate:
    items = {key: compile_node(item, text) for key, item in zip(node.keys, node.items, strict=True)}
    return lambda scope: {key: item(scope) for key, item in items.items()}


def _compile_call(node: FunctionCall, text: str) -> Evaluate:
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


def _compile_matches(node: FunctionCall, text: str) -> Evaluate:
    of, pattern = (compile_node(argument, text) for argument in node.arguments)
    literal, known = node.arguments[1], None
    if isinstance(literal, Literal) and isinstance(literal.value, str):
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


def _compile_loop(node: Loop, text: str) -> Evaluate:
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
    **{sign: make_comparison(sign) for sign in _COMPARISONS},
    **{sign: make_arithmetic(sign) for sign in _ARITHMETIC},
}
_COMPILERS: Final[Mapping[type, Callable[[Any, str], Evaluate]]] = {
    Literal: _compile_literal,
    Name: _compile_name,
    Select: _compile_field,
    Has: _compile_field,
    Index: _compile_index,
    Operation: _compile_operation,
    Chain: _compile_chain,
    Choice: _compile_choice,
    FunctionCall: _compile_call,
    ListOf: _compile_list_of,
    MapOf: _compile_map_of,
    Loop: _compile_loop,
}


# the condition of a hook

_COUNTS: Final = frozenset({"+", "-", "*", "/", "%", "-_"})
_MOST_FACTS: Final = 4


class PolicyCondition:
    """A condition in the supported part of CEL; `names` are the names of the event that it uses."""

    def __init__(self, text: str) -> None:
        """Compile a condition.

        Raises:
            ConfigError: It is not valid; the message says what is wrong and where.
            BeyondError: It may be valid CEL, but uses more than the supported part.
        """
        root = parse(text)
        kind = _find_wrong_type(root)
        if kind:
            raise make_error(text, root.at, f"a condition is true or false, but this is {kind}")
        self._evaluate = compile_node(root, text)
        self._costs = needs_budget(root)
        nodes = dict(_find_names(root, hidden=frozenset()))
        self.names = frozenset(map(_get_root, nodes.values()))
        self._facts = {name: compile_node(node, text) for name, node in nodes.items()}

    def __call__(self, context: Mapping[str, object]) -> bool:
        """Return whether the condition holds for an event, given as a context of `model/templates.py`.

        Raises:
            ConditionError: It cannot be evaluated.
        """
        try:
            if self._costs:
                # several evaluations may share their time
                shared = context.get(BUDGET)
                budget = shared.renew() if isinstance(shared, EvaluationBudget) else EvaluationBudget()
                context = {**context, BUDGET: budget}
            answer = self._evaluate(context)
        except RecursionError:
            raise ConditionError("a value of the event is nested too deeply to be compared") from None
        except ConditionError:
            raise
        except Exception as problem:
            # a program may put any object into its events, and its methods may raise anything
            raise ConditionError(f"a value of the event cannot be compared: {type(problem).__name__}") from problem
        if answer is True or answer is False:
            return answer
        raise ConditionError(f"it gives {with_article(kind_of(answer))} ({format_value(answer)}), not true or false")

    def facts(self, context: Mapping[str, object]) -> str:
        """Return the values of the event for the names in the condition, as `tool is 'shell'`."""
        found: list[str] = []
        for name, evaluate in self._facts.items():
            try:
                found.append(f"{name} is {format_value(evaluate(context))}")
            except ConditionError:
                found.append(f"there is no {name}")
            except Exception as problem:  # noqa: BLE001 - as above
                found.append(f"{name} cannot be shown ({type(problem).__name__})")
            if len(found) == _MOST_FACTS:
                break
        return ", ".join(found)


def _find_wrong_type(node: Node) -> str:
    """Return the type of a condition that can never be true or false, or ""."""
    match node:
        case Literal(value=value) if not isinstance(value, bool):
            return with_article(kind_of(value))
        case ListOf() | Loop(macro="filter" | "map"):
            return "a list"
        case MapOf():
            return "a map"
        case FunctionCall(function="size"):
            return "an int"
        case Operation(operator=operator) if operator in _COUNTS:
            return "a value that was calculated"
        case _:
            return ""


def _find_names(node: Node, *, hidden: frozenset[str]) -> Iterator[tuple[str, Node]]:
    """Yield the names of the event in a condition, with their fields; loop variables are left out."""
    if isinstance(node, Name | Select | Index):
        name = spell_path(node)
        if name:
            if _get_root(node) not in hidden:
                yield name, node
            return
    if isinstance(node, Has):
        field = Select(node.at, node.of, node.field)
        yield from _find_names(field, hidden=hidden)
        return
    inside = hidden | {node.variable} if isinstance(node, Loop) else hidden
    for child in list_children(node):
        yield from _find_names(child, hidden=hidden if isinstance(node, Loop) and child is node.of else inside)


def _get_root(node: Node) -> str:
    while isinstance(node, Select | Index):
        node = node.of
    return node.name if isinstance(node, Name) else ""
