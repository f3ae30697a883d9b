"""The condition of a hook: compiled once, evaluated at every event."""

from collections.abc import Iterator, Mapping
from typing import Final

from hookline.conditions import ast
from hookline.conditions.ast import Index, Loop, Name, Node, Select, list_children, spell_path
from hookline.conditions.compiler import BUDGET, EvaluationBudget, compile_node, needs_budget
from hookline.conditions.parser import make_error, parse
from hookline.conditions.values import format_value, kind_of, with_article
from hookline.errors import ConditionError

_COUNTS: Final = frozenset({"+", "-", "*", "/", "%", "-_"})
_MOST_FACTS: Final = 4


class PolicyCondition:
    """A condition in the supported part of CEL; `names` are the names of the event that it uses."""

    def __init__(self, text: str) -> None:
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
            answer = self._evaluate({**context, BUDGET: _renew_budget(context)} if self._costs else context)
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


def _renew_budget(context: Mapping[str, object]) -> EvaluationBudget:
    """Return the budget of one evaluation; several may share their time."""
    shared = context.get(BUDGET)
    return shared.renew() if isinstance(shared, EvaluationBudget) else EvaluationBudget()


def compile_condition(text: str) -> PolicyCondition:
    """Compile a condition.

    Raises:
        ConfigError: It is not valid; the message says what is wrong and where.
        BeyondError: It may be valid CEL, but uses more than the supported part.
    """
    return PolicyCondition(text)


def _find_wrong_type(node: Node) -> str:
    """Return the type of a condition that can never be true or false, or ""."""
    match node:
        case ast.Literal(value=value) if not isinstance(value, bool):
            return with_article(kind_of(value))
        case ast.ListOf() | ast.Loop(macro="filter" | "map"):
            return "a list"
        case ast.MapOf():
            return "a map"
        case ast.FunctionCall(function="size"):
            return "an int"
        case ast.Operation(operator=operator) if operator in _COUNTS:
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
    if isinstance(node, ast.Has):
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
