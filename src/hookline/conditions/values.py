"""Values and operators with CEL's semantics: only booleans are true or false, and types are not mixed."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Final, TypeGuard

from hookline.errors import ConditionError, MissingValueError
from hookline.text import redact

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
