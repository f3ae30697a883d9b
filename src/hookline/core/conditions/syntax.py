"""The words of a condition once it was read."""

from typing import Final, TypeAlias

from msgspec import Struct

# How many words may stand inside each other: each is a call on Python's stack when the condition is asked.
DEEPEST: Final = 60


class Literal(Struct, frozen=True):
    """A value that stands in the text itself."""

    at: int
    value: object


class Name(Struct, frozen=True):
    """Something of the event, or the variable of a loop."""

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
    """Parts with the same `&&` or `||` between them, however many: a long policy must not be a deep one."""

    at: int
    operator: str
    parts: tuple["Node", ...]


class Choice(Struct, frozen=True):
    """`asked ? yes : no`."""

    at: int
    asked: "Node"
    yes: "Node"
    no: "Node"


class Call(Struct, frozen=True):
    """A function with its arguments; the first is what stands before the dot, where there is one."""

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
    """`of.macro(variable, body)`; `kept` is the middle of `map(variable, kept, body)`."""

    at: int
    macro: str
    of: "Node"
    variable: str
    body: "Node"
    kept: "Node | None" = None


Node: TypeAlias = Literal | Name | Select | Index | Has | Operation | Chain | Choice | Call | ListOf | MapOf | Loop


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911 - one line for each shape
    """Give what stands directly inside a word."""
    match node:
        case Literal() | Name():
            return ()
        case Select(of=of) | Has(of=of):
            return (of,)
        case Index(of=of, key=key):
            return (of, key)
        case Operation(operands=parts) | Chain(parts=parts) | Call(arguments=parts):
            return parts
        case ListOf(items=parts) | MapOf(items=parts):
            return parts
        case Choice(asked=asked, yes=yes, no=no):
            return (asked, yes, no)
        case Loop(of=of, body=body, kept=kept):
            return (of, body) if kept is None else (of, kept, body)


def spelled(node: Node) -> str:
    """Spell a name with the fields behind it, as `args.command`; empty for anything else."""
    match node:
        case Name(name=name):
            return name
        case Select(of=of, field=field):
            before = spelled(of)
            return f"{before}.{field}" if before else ""
        case Index(of=of, key=Literal(value=str() | int() as key)):
            before = spelled(of)
            return f"{before}[{key!r}]" if before else ""
        case _:
            return ""
