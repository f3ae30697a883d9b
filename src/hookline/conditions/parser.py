"""Parse conditions with CEL's grammar."""

from collections.abc import Callable, Mapping
from typing import Final

from hookline.conditions.ast import (
    DEEPEST,
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
)
from hookline.conditions.errors import make_error, make_unsupported_error, suggest_name
from hookline.conditions.lexer import Token, tokenize

# number of arguments, the receiver before the dot included
FUNCTIONS: Final[Mapping[str, int]] = {"contains": 2, "startsWith": 2, "endsWith": 2, "matches": 2, "size": 1}
# functions that may also be written without a dot
_BARE: Final = frozenset({"matches", "size"})
MACROS: Final = frozenset({"all", "exists", "exists_one", "filter", "map"})
_CONSTANTS: Final[Mapping[str, object]] = {"true": True, "false": False, "null": None}
# reserved words of CEL; as a field behind a dot they are names like any other
_RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
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
_MOST: Final = 2**63


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
        self._openings: Mapping[str, Callable[[Token], Node]] = {
            "(": self._in_parentheses,
            "[": self._list,
            "{": self._map,
        }

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
        while (here := self._level()) >= level:
            token = self._take()
            right = self._binary(here + 1)
            operator = str(token.value)
            if operator not in _CHAINED:
                left = Operation(token.at, operator, (left, right))
            elif isinstance(left, Chain) and left.operator == operator:
                left = Chain(left.at, operator, (*left.parts, right))
            else:
                left = Chain(token.at, operator, (left, right))
        return left

    def _level(self) -> int:
        token = self._peek
        return _LEVELS.get(str(token.value), 0) if token.kind in {"sign", "name"} else 0

    def _unary(self) -> Node:
        token = self._peek
        if not token.is_sign("!", "-"):
            return self._member()
        sign, count = str(token.value), 0
        while self._accept(sign):
            count += 1
        if sign == "-" and self._peek.kind in {"int", "double"}:
            # the sign belongs to the number: the smallest one has no positive counterpart
            return self._members(self._number(negative=count % 2 == 1))
        inner = self._member()
        # an even number of signs has no effect, also not on the type
        return Operation(token.at, f"{sign}_", (inner,)) if count % 2 else inner

    def _number(self, *, negative: bool) -> Node:
        token = self._take()
        value = token.value
        if value == _MOST and token.kind == "int" and not negative:
            raise make_error(self._text, token.at, f"{value} does not fit into 64 bits")
        return Literal(token.at, -value if negative and isinstance(value, int | float) else value)

    def _member(self) -> Node:
        return self._members(self._primary())

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
        return Loop(token.at, macro, of, variable.name, arguments[-1], kept)

    def _primary(self) -> Node:
        token = self._peek
        if token.kind in {"int", "double"}:
            return self._number(negative=False)
        if token.kind == "text":
            return Literal(self._take().at, token.value)
        if token.kind == "name" and not token.is_sign("in"):
            return self._parse_name(self._take())
        parse_opening = self._openings.get(str(token.value)) if token.kind == "sign" else None
        if parse_opening is None:
            raise self._unexpected_token("a value is missing before")
        return parse_opening(self._take())

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
            raise make_error(self._text, token.at, f'"{name}" stands behind a dot, as in args.x.{name}(…)')
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

    def _in_parentheses(self, _opening: Token) -> Node:
        node = self._expression()
        self._expect(")")
        return node

    def _list(self, opening: Token) -> Node:
        if self._accept(","):
            # a lone comma is an empty list to CEL
            self._expect("]")
            return ListOf(opening.at, ())
        return ListOf(opening.at, tuple(self._list_until("]", comma_may_end=True)))

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
