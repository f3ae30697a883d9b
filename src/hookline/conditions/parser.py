"""Split the text of a condition into tokens, and parse them with CEL's grammar into a syntax tree."""

import itertools
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from msgspec import Struct

from hookline.errors import ConfigError
from hookline.text import find_closest

# the syntax tree

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


# tokens

# a condition is a few lines; longer policies belong into a hook
LONGEST: Final = 4096
_LARGEST: Final = 2**63

_TOKEN: Final = re.compile(
    r"""
    (?P<space>(?:[\ \t\r\n\f]|//[^\n]*)+)
    |(?P<raw>[rR](?:'''(?P<raw_long1>.*?)'''|\"\"\"(?P<raw_long2>.*?)\"\"\"|'(?P<raw1>[^'\r\n]*)'|"(?P<raw2>[^"\r\n]*)"))
    |(?P<bytes>(?:[bB][rR]?|[rR][bB])(?=['"]))
    |(?P<text>'''(?P<long1>(?:[^\\]|\\.)*?)'''|\"\"\"(?P<long2>(?:[^\\]|\\.)*?)\"\"\"
        |'(?P<short1>(?:[^'\\\r\n]|\\.)*)'|"(?P<short2>(?:[^"\\\r\n]|\\.)*)")
    |(?P<double>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<unsigned>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[<>+\-*/%!?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_RAW: Final = ("raw_long1", "raw_long2", "raw1", "raw2")
_ESCAPED: Final = ("long1", "long2", "short1", "short2")
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<letter>[abfnrtv\\?\"'`])|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<bad>.|\Z))",
    re.DOTALL,
)
_SURROGATES: Final = range(0xD800, 0xE000)
_LETTERS: Final[Mapping[str, str]] = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_BASES: Final = {"x": 16, "u": 16, "U": 16, "octal": 8}
_SLIPS: Final[Mapping[str, str]] = {
    "=": '"=" alone is no operator; "==" compares',
    "&": '"&" alone is no operator; "&&" means and',
    "|": '"|" alone is no operator; "||" means or',
    "'": "this text has no end; it needs a closing '",
    '"': 'this text has no end; it needs a closing "',
}

# number of arguments, the receiver before the dot included
FUNCTIONS: Final[Mapping[str, int]] = {"contains": 2, "startsWith": 2, "endsWith": 2, "matches": 2, "size": 1}
# functions that may also be written without a dot
_BARE: Final = frozenset({"matches", "size"})
MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})
_CONSTANTS: Final[Mapping[str, object]] = {"true": True, "false": False, "null": None}
# reserved words of CEL; as a field behind a dot they are names like any other
_RESERVED: Final = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package"),
        *("namespace", "return", "var", "void", "while"),
    }
)
_PYTHON: Final[Mapping[str, str]] = {
    "True": "true",
    "False": "false",
    "None": "null",
    "and": "&&",
    "or": "||",
    "not": "!",
    "is": "==",
}
# precedence of operators
_LEVELS: Final[Mapping[str, int]] = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_CHAINED: Final = frozenset({"||", "&&"})
_SHOWN: Final = 60
# the sender of an event chooses how many names it has, and how long they are
_COMPARED: Final = 64
_DIFFERENCE: Final = 4


class BeyondError(ConfigError):
    """The text may be valid CEL, but uses more of it than Hookline supports by itself."""


def make_error(text: str, at: int, what: str) -> ConfigError:
    """Return the error for a position in the text."""
    return ConfigError(format_message(text, at, what))


def make_unsupported_error(text: str, at: int, what: str) -> BeyondError:
    """Return the error for a part of CEL that is not supported."""
    return BeyondError(format_message(text, at, what))


def format_message(text: str, at: int, what: str) -> str:
    """Return a message of one line: what is wrong, and where, with an arrow before the position."""
    line = text.count("\n", 0, at) + 1
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    before, after = text[start:at], text[at : end if end >= 0 else len(text)]
    where = f"line {line}, column {at - start + 1}" if "\n" in text else f"column {at - start + 1}"
    before = before if len(before) <= _SHOWN else f"…{before[-_SHOWN:]}"
    after = after if len(after) <= _SHOWN else f"{after[:_SHOWN]}…"
    return f"if: {what}, at {where}: {before}-->{after}"


def suggest_name(word: str, known: Iterable[object]) -> str:
    """Return ` (did you mean "…"?)` for a word that is close to a known one; only some are compared."""
    # fields of an event may have keys of any type
    near = (name for name in known if isinstance(name, str) and abs(len(name) - len(word)) <= _DIFFERENCE)
    return _find_similar(word, tuple(itertools.islice(near, _COMPARED)))


@lru_cache(maxsize=256)
def _find_similar(word: str, known: tuple[str, ...]) -> str:
    # cached: the same typo occurs at every event, and comparing takes longer than evaluating the condition
    near = find_closest(word, known, cutoff=0.7)
    return f' (did you mean "{near}"?)' if near else ""


class Token(Struct, frozen=True):
    """One token: its kind, position and value; `kind` is "end" after the last one."""

    kind: str
    at: int
    value: object = None

    def is_sign(self, *signs: str) -> bool:
        """Return whether it is one of these signs or words."""
        return self.kind in {"sign", "name"} and self.value in signs


def tokenize(text: str) -> list[Token]:
    """Split a text into tokens.

    Raises:
        ConfigError: A character that no token begins with, or a text that does not end.
        BeyondError: A number or text of a type that is not supported.
    """
    if len(text) > LONGEST:
        raise make_error(
            text, LONGEST, f"a condition has at most {LONGEST} characters; write a hook that decides instead"
        )
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise make_error(text, at, _SLIPS.get(text[at], f"{text[at]!r} has no meaning here"))
        if found.lastgroup != "space":
            tokens.append(_make_token(text, found))
        at = found.end()
    return [*tokens, Token("end", len(text))]


def _make_token(text: str, found: re.Match[str]) -> Token:
    kind, at, spelling = str(found.lastgroup), found.start(), found[0]
    match kind:
        case "int":
            number = int(spelling, 16 if spelling.startswith("0x") else 10)
            # one more than fits, because a minus may stand before it
            if number > _LARGEST:
                raise make_error(text, at, f"{spelling} does not fit into 64 bits")
            return Token(kind, at, number)
        case "double":
            return Token(kind, at, float(spelling))
        case "raw":
            return Token("text", at, next(found[group] for group in _RAW if found[group] is not None))
        case "text":
            group = next(group for group in _ESCAPED if found[group] is not None)
            return Token(kind, at, _unescape(text, found[group], found.start(group)))
        case "bytes":
            raise make_unsupported_error(text, at, "bytes are not read here; write the text without the b")
        case "unsigned":
            raise make_unsupported_error(text, at, "unsigned numbers are not read here; write the number without the u")
        case _:
            return Token(kind, at, spelling)


def _unescape(text: str, content: str, start: int) -> str:
    def replace_escape(found: re.Match[str]) -> str:
        group = str(found.lastgroup)
        if group == "letter":
            return _LETTERS.get(found[group], found[group])
        number = int(found[group], _BASES[group]) if group in _BASES else -1
        if not 0 <= number <= sys.maxunicode or number in _SURROGATES:
            advice = 'write r"…" for a text in which backslashes are just that'
            raise make_error(text, start + found.start(), f"{found[0]} is no character; {advice}")
        return chr(number)

    return _ESCAPE.sub(replace_escape, content)


# the grammar


def parse(text: str) -> Node:
    """Parse the text of a condition.

    Raises:
        ConfigError: It is not valid; the message says where.
        BeyondError: It may be valid CEL, but uses more than the supported part.
    """
    return _Parser(text).parse()


class _Parser:
    """A recursive-descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        if self._peek.kind == "end":
            raise make_error(self._text, 0, "the condition is empty; leave the key out, or say when the hook is meant")
        node = self._expression()
        if self._peek.kind != "end":
            raise self._unexpected_token("an operator such as && is missing before")
        _check_depth(self._text, node)
        return node

    @property
    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += token.kind != "end"
        return token

    def _accept(self, sign: str) -> bool:
        if self._peek.is_sign(sign):
            self._next += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected_token(f'"{sign}" is missing before')

    def _unexpected_token(self, what: str) -> Exception:
        token = self._peek
        if token.kind == "end":
            return make_error(self._text, token.at, f"{what} the end")
        python = _PYTHON.get(str(token.value)) if token.kind == "name" else None
        if python:
            return make_error(self._text, token.at, f'"{token.value}" is Python; a condition says "{python}"')
        shown = f'"{token.value}"' if token.kind in {"sign", "name"} else f"this {token.kind}"
        return make_error(self._text, token.at, f"{what} {shown}")

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _too_deep(self._text, self._peek.at)
        asked = self._binary(1)
        node = asked
        if self._peek.is_sign("?"):
            at = self._take().at
            yes = self._binary(1)
            self._expect(":")
            node = Choice(at, asked, yes, self._expression())
        self._depth -= 1
        return node

    def _binary(self, level: int) -> Node:
        """Parse operands joined by operators of at least this precedence."""
        left = self._unary()
        while True:
            token = self._peek
            here = _LEVELS.get(str(token.value), 0) if token.kind in {"sign", "name"} else 0
            if here < level:
                return left
            self._take()
            right = self._binary(here + 1)
            operator = str(token.value)
            if operator not in _CHAINED:
                left = Operation(token.at, operator, (left, right))
            elif isinstance(left, Chain) and left.operator == operator:
                left = Chain(left.at, operator, (*left.parts, right))
            else:
                left = Chain(token.at, operator, (left, right))

    def _unary(self) -> Node:
        token = self._peek
        if not token.is_sign("!", "-"):
            return self._members(self._primary())
        sign, count = str(token.value), 0
        while self._accept(sign):
            count += 1
        if sign == "-" and self._peek.kind in {"int", "double"}:
            # the sign belongs to the number: the smallest one has no positive counterpart
            return self._members(self._number(negative=count % 2 == 1))
        inner = self._members(self._primary())
        # an even number of signs has no effect, also not on the type
        return Operation(token.at, f"{sign}_", (inner,)) if count % 2 else inner

    def _number(self, *, negative: bool) -> Node:
        token = self._take()
        value = token.value
        if value == _LARGEST and token.kind == "int" and not negative:
            raise make_error(self._text, token.at, f"{value} does not fit into 64 bits")
        return Literal(token.at, -value if negative and isinstance(value, int | float) else value)

    def _members(self, node: Node) -> Node:
        """Parse the fields, indexes and calls behind a value."""
        while True:
            token = self._peek
            if self._accept("."):
                node = self._field(node, token.at)
            elif self._accept("["):
                if self._peek.is_sign("?"):
                    raise make_unsupported_error(self._text, self._peek.at, "optional indexes are not read here")
                node = Index(token.at, node, self._expression())
                self._expect("]")
            elif token.is_sign("{") and isinstance(node, Name | Select):
                raise make_unsupported_error(self._text, token.at, "messages are not read here")
            else:
                return node

    def _field(self, of: Node, at: int) -> Node:
        token = self._peek
        if token.is_sign("?"):
            raise make_unsupported_error(self._text, token.at, "optional fields are not read here")
        if token.kind != "name" or token.is_sign("in", *_CONSTANTS):
            raise self._unexpected_token("the name of a field is missing before")
        name = str(self._take().value)
        if not self._accept("("):
            return Select(at, of, name)
        if name in MACROS:
            return self._loop(token, of)
        arguments = self._list_until(")")
        if name in FUNCTIONS:
            self._check_count(token, FUNCTIONS[name] - 1, len(arguments))
            return FunctionCall(token.at, name, (of, *arguments))
        raise self._unknown_function(token, [*FUNCTIONS, *MACROS])

    def _loop(self, token: Token, of: Node) -> Node:
        macro = str(token.value)
        arguments = self._list_until(")")
        if len(arguments) not in ({2, 3} if macro == "map" else {2}):
            # CEL has more macros, with an index and a value
            raise make_unsupported_error(
                self._text, token.at, f'"{macro}" takes a name and what to ask, as in {macro}(x, x == 1)'
            )
        variable = arguments[0]
        if not isinstance(variable, Name):
            raise make_error(self._text, variable.at, f'"{macro}" begins with a name, as in {macro}(x, x == 1)')
        kept = arguments[1] if len(arguments) > 2 else None  # noqa: PLR2004 - name, what to keep, what to make of it
        return Loop(token.at, macro, of, variable.name, kept, arguments[-1])

    def _primary(self) -> Node:
        token = self._peek
        if token.kind in {"int", "double"}:
            return self._number(negative=False)
        if token.kind == "text":
            return Literal(self._take().at, token.value)
        if token.kind == "name" and not token.is_sign("in"):
            return self._parse_name(self._take())
        if self._accept("("):
            node = self._expression()
            self._expect(")")
            return node
        if self._accept("["):
            # a lone comma is an empty list to CEL
            if not self._accept(","):
                return ListOf(token.at, tuple(self._list_until("]", comma_may_end=True)))
            self._expect("]")
            return ListOf(token.at, ())
        if self._accept("{"):
            return self._map(token)
        raise self._unexpected_token("a value is missing before")

    def _parse_name(self, token: Token) -> Node:
        name = str(token.value)
        if name in _CONSTANTS:
            return Literal(token.at, _CONSTANTS[name])
        if self._accept("("):
            return self._parse_call(token)
        if name in _PYTHON:
            raise make_error(self._text, token.at, f'"{name}" is Python; a condition says "{_PYTHON[name]}"')
        if name in _RESERVED:
            raise make_error(self._text, token.at, f'CEL keeps the word "{name}" for itself; write data.{name}')
        return Name(token.at, name)

    def _parse_call(self, token: Token) -> Node:
        name = str(token.value)
        arguments = self._list_until(")")
        if name == "has":
            self._check_count(token, 1, len(arguments))
            if not isinstance(field := arguments[0], Select):
                raise make_error(self._text, token.at, '"has" asks for a field, as in has(args.timeout)')
            return Has(token.at, field.of, field.field)
        if name in _BARE:
            self._check_count(token, FUNCTIONS[name], len(arguments))
            return FunctionCall(token.at, name, tuple(arguments))
        if name in FUNCTIONS or name in MACROS:
            raise make_error(self._text, token.at, f'"{name}" comes after a dot, as in args.x.{name}(…)')
        raise self._unknown_function(token, ["has", *FUNCTIONS])

    def _check_count(self, token: Token, wanted: int, found: int) -> None:
        if wanted != found:
            arguments = "1 argument" if wanted == 1 else f"{wanted or 'no'} arguments"
            raise make_error(self._text, token.at, f'"{token.value}" takes {arguments}, not {found}')

    def _unknown_function(self, token: Token, known: list[str]) -> Exception:
        name = str(token.value)
        return make_unsupported_error(self._text, token.at, f'unknown function "{name}"{suggest_name(name, known)}')

    def _list_until(self, closing: str, *, comma_may_end: bool = False) -> list[Node]:
        found: list[Node] = []
        if self._accept(closing):
            return found
        while True:
            if self._peek.is_sign("?"):
                raise make_unsupported_error(self._text, self._peek.at, "optional values are not read here")
            found.append(self._expression())
            if not self._accept(","):
                self._expect(closing)
                return found
            if comma_may_end and self._accept(closing):
                return found

    def _map(self, opening: Token) -> Node:
        keys: list[str] = []
        items: list[Node] = []
        if self._accept(",") and not self._peek.is_sign("}"):
            raise self._unexpected_token('"}" is missing before')
        while not self._accept("}"):
            if self._peek.kind != "text":
                raise make_unsupported_error(self._text, self._peek.at, "only texts are read here as keys of a map")
            key = self._take()
            self._expect(":")
            if key.value in keys:
                raise make_error(self._text, key.at, f'"{key.value}" is a key of this map already')
            keys.append(str(key.value))
            items.append(self._expression())
            if not self._peek.is_sign("}"):
                self._expect(",")
        return MapOf(opening.at, tuple(keys), tuple(items))


def _check_depth(text: str, root: Node) -> None:
    """Reject a tree that is too deep though the text is not nested, as a long sum is."""
    layer: list[Node] = [root]
    for _ in range(DEEPEST):
        layer = [child for node in layer for child in list_children(node)]
        if not layer:
            return
    raise _too_deep(text, layer[0].at)


def _too_deep(text: str, at: int) -> Exception:
    return make_error(text, at, f"more than {DEEPEST} levels inside each other; write a hook that decides instead")
