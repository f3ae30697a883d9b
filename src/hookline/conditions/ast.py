"""The syntax tree of a condition."""

from typing import Final, TypeAlias

from msgspec import Struct

# levels of nesting: each is a call on Python's stack when the condition is evaluated
DEEPEST: Final = 60


class Literal(Struct, frozen=True):
    """A literal value."""

    at: int
    value: object


class Name(Struct, frozen=True):
    """A name of the event, or the variable of a loop."""

    at: int
    name: str


class Select(Struct, frozen=True):
    """`of.field`."""

    at: int
    of: "Node"
    field: str


class Index(Struct, frozen=True):
    """`of[key]`."""

    at: int
    of: "Node"
    key: "Node"


class Has(Struct, frozen=True):
    """`has(of.field)`."""

    at: int
    of: "Node"
    field: str


class Operation(Struct, frozen=True):
    """An operator with one operand or two."""

    at: int
    operator: str
    operands: tuple["Node", ...]


class Chain(Struct, frozen=True):
    """Any number of parts joined by `&&` or by `||`: a long policy must not be a deep tree."""

    at: int
    operator: str
    parts: tuple["Node", ...]


class Choice(Struct, frozen=True):
    """`asked ? yes : no`."""

    at: int
    asked: "Node"
    yes: "Node"
    no: "Node"


class FunctionCall(Struct, frozen=True):
    """A function with its arguments; the first is the receiver before the dot, where there is one."""

    at: int
    function: str
    arguments: tuple["Node", ...]


class ListOf(Struct, frozen=True):
    """`[a, b]`."""

    at: int
    items: tuple["Node", ...]


class MapOf(Struct, frozen=True):
    """`{"a": b}`; keys are texts."""

    at: int
    keys: tuple[str, ...]
    items: tuple["Node", ...]


class Loop(Struct, frozen=True):
    """`of.macro(variable, body)`; `kept` is the second argument of `map(variable, kept, body)`."""

    at: int
    macro: str
    of: "Node"
    variable: str
    kept: "Node | None"
    body: "Node"


Node: TypeAlias = (
    Literal | Name | Select | Index | Has | Operation | Chain | Choice | FunctionCall | ListOf | MapOf | Loop
)


def list_children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below a node."""
    values = (getattr(node, field) for field in node.__struct_fields__)
    parts = (part for value in values for part in (value if isinstance(value, tuple) else (value,)))
    return tuple(part for part in parts if isinstance(part, Node))


def spell_path(node: Node) -> str:
    """Return a name with its fields, as `args.command`; "" for any other node."""
    match node:
        case Name(name=name):
            return name
        case Select(of=of, field=field):
            before = spell_path(of)
            return f"{before}.{field}" if before else ""
        case Index(of=of, key=Literal(value=str() | int() as key)):
            before = spell_path(of)
            return f"{before}[{key!r}]" if before else ""
        case _:
            return ""
