"""Values as CEL sees them: nothing is true or false but booleans, and types are not mixed."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Final, TypeGuard

from hookline.errors import ConditionError
from hookline.redact import redact

# Longer texts and lists than events have; a condition must not fill the memory.
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
_ORDERED: Final = frozenset({"bool", "int", "double", "string"})
_KEYS: Final = frozenset({"bool", "int", "double", "string"})
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
    """Name CEL's type of a value; what CEL does not have is named as Python does."""
    found = _KINDS.get(type(value))
    if found is not None:
        return found
    return next((kind for base, kind in _KINDS_OF_BASES if isinstance(value, base)), type(value).__name__)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Say whether a value is a list to CEL; a text is none."""
    return kind_of(value) == "list"


def is_map(value: object) -> TypeGuard[Mapping[object, object]]:
    """Say whether a value is a map to CEL."""
    return kind_of(value) == "map"


def shown(value: object) -> str:
    """Show a value to a person, short."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if is_list(value) or is_map(value):
        return f"a {kind_of(value)} of {len(value)}"
    if isinstance(value, str):
        # what is cut no longer looks like a key, so it is masked before
        masked = redact(value[:_READ])
        return repr(masked) if len(masked) <= _SHOWN else f"{masked[:_SHOWN]!r}…"
    if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER:
        # Python refuses to write down what is too long, as a text that takes a while to make
        return f"a number of {value.bit_length()} bits"
    # what CEL does not have is named only: a program's values may do anything when they are shown
    return str(value)[:_SHOWN] if isinstance(value, int | float) else f"a {type(value).__name__}"


def equal(left: object, right: object) -> bool:
    """Compare values of any types; other types are not equal, but numbers are by their value."""
    if is_list(left) and is_list(right):
        return len(left) == len(right) and all(map(equal, left, right))
    if is_map(left) and is_map(right):
        return len(left) == len(right) and all(has_key(right, key) and equal(left[key], right[key]) for key in left)
    kind, other = kind_of(left), kind_of(right)
    if kind != other:
        return kind in _NUMBERS and other in _NUMBERS and _double(left) == _double(right)
    return left == right


def comparison(sign: str) -> Compare:
    """Give what `<` and its like do."""
    compare = _COMPARISONS[sign]

    def ordered(left: object, right: object) -> bool:
        kind, other = kind_of(left), kind_of(right)
        if kind == other and kind in _ORDERED:
            return compare(left, right)
        if kind in _NUMBERS and other in _NUMBERS:
            return compare(_double(left), _double(right))
        raise ConditionError(f"{sign} does not compare {a(kind)} ({shown(left)}) with {a(other)} ({shown(right)})")

    return ordered


def contained(item: object, of: object) -> bool:
    """Say whether a list has an equal item, or a map the key."""
    if is_list(of):
        return any(equal(item, one) for one in of)
    if is_map(of) and kind_of(item) in _KEYS:
        return has_key(of, item)
    advice = '; a part of a text is found with "contains"' if isinstance(of, str) else ""
    raise ConditionError(f'"in" does not look for {a(kind_of(item))} in {a(kind_of(of))}{advice}')


def has_key(of: Mapping[object, object], key: object) -> bool:
    """Say whether a map has a key; Python takes `1` and `True` for the same, CEL does not."""
    if type(key) is str:
        return key in of
    return any(equal(key, one) for one in of)


def item_at(of: object, key: object) -> object:
    """Give an item of a list or a map.

    Raises:
        ConditionError: There is none.
    """
    if is_map(of):
        if kind_of(key) not in _KEYS:
            raise ConditionError(f"{a(kind_of(key))} is no key of a map")
        if type(key) is not str:
            key = next((one for one in of if equal(key, one)), None)
        if key not in of:
            raise ConditionError(f"there is no key {shown(key)}")
        return of[key]
    if is_list(of):
        return of[_position(key, len(of))]
    raise ConditionError(f"{a(kind_of(of))} has no items")


def _position(key: object, size: int) -> int:
    kind = kind_of(key)
    whole = key if kind == "int" else int(key) if isinstance(key, float) and key.is_integer() else None
    if not isinstance(whole, int):
        raise ConditionError(f"the index of a list is an int, not {a(kind)}")
    if not 0 <= whole < size:
        raise ConditionError(f"there is no item {whole} in a list of {size}")
    return whole


def size_of(value: object) -> int:
    """Count characters, items or keys."""
    if isinstance(value, str) or is_list(value) or is_map(value):
        return len(value)
    raise ConditionError(f'"size" does not count {a(kind_of(value))}')


def negated(value: object) -> object:
    """Give what `-` before a value means."""
    kind = kind_of(value)
    if kind in _NUMBERS and isinstance(value, int | float):
        return _fitting(-value)
    raise ConditionError(f"- needs a number, not {a(kind)}")


def arithmetic(sign: str) -> Callable[[object, object], object]:
    """Give what `+` and its like do; both sides are of one type."""
    by_kind = _ARITHMETIC[sign]

    def calculated(left: object, right: object) -> object:
        kind, other = kind_of(left), kind_of(right)
        found = by_kind.get(kind) if kind == other else None
        if found is None:
            advice = "; write 1.0 for a double" if {kind, other} == _NUMBERS else ""
            raise ConditionError(f"{sign} does not take {a(kind)} and {a(other)}{advice}")
        return found(left, right)

    return calculated


def a(kind: str) -> str:
    """Give a kind its article."""
    return "null" if kind == "null" else f"an {kind}" if kind == "int" else f"a {kind}"


def _double(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise ConditionError(f"{shown(value)} does not fit into a double") from None


def _fitting(value: object) -> object:
    if isinstance(value, int) and not _SMALLEST <= value <= _BIGGEST:
        raise ConditionError("the result does not fit into 64 bits")
    return value


def _fits(calculate: Callable[..., object]) -> Callable[..., object]:
    return lambda left, right: _fitting(calculate(left, right))


def _joined(left: str, right: str) -> str:
    _check_size(len(left) + len(right))
    return left + right


def _concatenated(left: list[object], right: list[object]) -> list[object]:
    _check_size(len(left) + len(right))
    return [*left, *right]


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise ConditionError(f"the result of + would have {size} characters or items, more than {LARGEST}")


def _divided(left: int, right: int) -> int:
    if not right:
        raise ConditionError("division by zero")
    # towards zero, as everywhere but in Python
    whole = abs(left) // abs(right)
    return whole if (left < 0) == (right < 0) else -whole


def _rest(left: int, right: int) -> int:
    whole = _divided(left, right)
    # CEL has no rest where the quotient does not fit
    _fitting(whole)
    return left - right * whole


def _divided_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


_ARITHMETIC: Final[Mapping[str, Mapping[str, Callable[..., object]]]] = {
    "+": {"int": _fits(operator.add), "double": operator.add, "string": _joined, "list": _concatenated},
    "-": {"int": _fits(operator.sub), "double": operator.sub},
    "*": {"int": _fits(operator.mul), "double": operator.mul},
    "/": {"int": _fits(_divided), "double": _divided_doubles},
    "%": {"int": _rest},
}
