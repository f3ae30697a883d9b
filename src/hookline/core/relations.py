"""What is wrong with what hooks say of each other: orders in a circle, and lists that do not end."""

from collections.abc import Container, Iterable, Iterator

from hookline.core import composition
from hookline.core.composition import Objection
from hookline.core.order import Cycle, Order, standing
from hookline.core.planner import HookPlanner
from hookline.errors import ConfigError
from hookline.model.hook import Hook


def objections(hooks: Iterable[Hook], planner: HookPlanner) -> Iterator[Objection]:
    """Find everything that is wrong between hooks that are registered."""
    related = [hook for hook in hooks if mentions(hook)]
    if related:
        yield from (circle for circle, _ in _contradictions(related, planner.order()))
        yield from composition.objections(related, planner.names())


def refuse_entangled(hooks: Iterable[Hook], planner: HookPlanner, mentioned: Container[str]) -> None:
    """Refuse what can never be mended by registering another hook: a circle that one of these hooks is part of.

    `mentioned` are the names that other hooks speak of: a hook that says nothing itself may close their circle.

    Raises:
        ConfigError: There is one.
    """
    wrong = _entangled(hooks, planner, mentioned)
    if wrong is not None:
        hook = wrong.hook
        raise ConfigError(f'hook "{hook.id}" {wrong.message}', path=hook.source_path, line=hook.source_line)


def _entangled(hooks: Iterable[Hook], planner: HookPlanner, mentioned: Container[str]) -> Objection | None:
    related = [hook for hook in hooks if mentions(hook) or hook.id in mentioned or hook.name in mentioned]
    if not related:
        return None
    for circle, cycle in _contradictions(related, planner.order()):
        # where those who are trusted less have to give way, nothing is wrong with these
        if standing(circle.hook) >= cycle.standing:
            return circle
    names = planner.names()
    return next((Objection(hook, wrong) for hook in related if (wrong := composition.tangle(hook, names))), None)


def mentions(hook: Hook) -> tuple[str, ...]:
    """Give the names of other hooks that a hook speaks of."""
    return (*hook.after, *hook.before, *hook.steps)


def _contradictions(hooks: Iterable[Hook], order: Order) -> Iterator[tuple[Objection, Cycle]]:
    hooks = list(hooks)
    for cycle in order.cycles:
        members = [hook for hook in hooks if hook.id in cycle.ids]
        if members:
            # whose orders are left out is the one to mend them
            last = max(members, key=standing)
            yield Objection(last, f"cannot be put in order: {cycle.told(last.id)}"), cycle
