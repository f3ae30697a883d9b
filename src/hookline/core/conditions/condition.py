"""A hook's condition: read once, asked at every event."""

from collections.abc import Iterator, Mapping
from typing import Final

from hookline.core.conditions import syntax
from hookline.core.conditions.compiler import BUDGET, Budget, compiled, costs
from hookline.core.conditions.parser import parse
from hookline.core.conditions.problems import wrong
from hookline.core.conditions.syntax import Index, Loop, Name, Node, Select, children, spelled
from hookline.core.conditions.values import a, kind_of, shown
from hookline.errors import ConditionError

_COUNTS: Final = frozenset({"+", "-", "*", "/", "%", "-_"})
_MOST_FACTS: Final = 4


class PolicyCondition:
    """A condition in the part of CEL that is read here; `names` are those it wants to know of an event."""

    def __init__(self, text: str) -> None:
        root = parse(text)
        kind = _never_an_answer(root)
        if kind:
            raise wrong(text, root.at, f"a condition is true or false, but this is {kind}")
        self._evaluate = compiled(root, text)
        self._costs = costs(root)
        named = dict(_named(root, hidden=frozenset()))
        self.names = frozenset(map(_root, named.values()))
        self._facts = {name: compiled(node, text) for name, node in named.items()}

    def __call__(self, context: Mapping[str, object]) -> bool:
        """Say whether an event, told in the words of `model/context.py`, is meant.

        Raises:
            ConditionError: It cannot be decided.
        """
        try:
            answer = self._evaluate({**context, BUDGET: _budget(context)} if self._costs else context)
        except RecursionError:
            raise ConditionError("a value of the event is nested too deeply to be compared") from None
        except ConditionError:
            raise
        except Exception as problem:
            # a program may put anything into its events, and that may do anything when it is compared
            raise ConditionError(f"a value of the event cannot be compared: {type(problem).__name__}") from problem
        if answer is True or answer is False:
            return answer
        raise ConditionError(f"it gives {a(kind_of(answer))} ({shown(answer)}), not true or false")

    def facts(self, context: Mapping[str, object]) -> str:
        """Say what the event has for the names in the condition, as `tool is 'shell'`."""
        found: list[str] = []
        for name, evaluate in self._facts.items():
            try:
                found.append(f"{name} is {shown(evaluate(context))}")
            except ConditionError:
                found.append(f"there is no {name}")
            except Exception as problem:  # noqa: BLE001 - as above: it may do anything when it is looked at, too
                found.append(f"{name} cannot be shown ({type(problem).__name__})")
            if len(found) == _MOST_FACTS:
                break
        return ", ".join(found)


def _budget(context: Mapping[str, object]) -> Budget:
    """Give what this answer may cost; several may have to share their time."""
    shared = context.get(BUDGET)
    return shared.again() if isinstance(shared, Budget) else Budget()


def compile_condition(text: str) -> PolicyCondition:
    """Read a condition.

    Raises:
        ConfigError: It is none; the message says what is wrong and where.
        BeyondError: It may be one, but uses more of CEL than is read here.
    """
    return PolicyCondition(text)


def _never_an_answer(node: Node) -> str:
    """Name what a condition gives that can never give true or false; empty for all others."""
    match node:
        case syntax.Literal(value=value) if not isinstance(value, bool):
            return a(kind_of(value))
        case syntax.ListOf() | syntax.Loop(macro="filter" | "map"):
            return "a list"
        case syntax.MapOf():
            return "a map"
        case syntax.Call(function="size"):
            return "an int"
        case syntax.Operation(operator=operator) if operator in _COUNTS:
            return "a value that was calculated"
        case _:
            return ""


def _named(node: Node, *, hidden: frozenset[str]) -> Iterator[tuple[str, Node]]:
    """Give what a condition names of the event, with the fields it looks at; variables of loops are not of the event."""
    if isinstance(node, Name | Select | Index):
        name = spelled(node)
        if name:
            if _root(node) not in hidden:
                yield name, node
            return
    if isinstance(node, syntax.Has):
        field = Select(node.at, node.of, node.field)
        yield from _named(field, hidden=hidden)
        return
    inside = hidden | {node.variable} if isinstance(node, Loop) else hidden
    for child in children(node):
        yield from _named(child, hidden=hidden if isinstance(node, Loop) and child is node.of else inside)


def _root(node: Node) -> str:
    while isinstance(node, Select | Index):
        node = node.of
    return node.name if isinstance(node, Name) else ""
