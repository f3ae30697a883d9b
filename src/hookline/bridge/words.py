"""The words of a call, read by hand: it is made for every step of an agent, and a slip must not mean "blocked"."""

from collections.abc import Sequence
from typing import Final

from hookline.bridge.call import Call, IfBroken, is_known
from hookline.dialects import DIALECTS
from hookline.ports import Dialect

OPTION: Final = "--if-broken"
USAGE: Final = f"wanted: hookline hook [{OPTION} block|allow] HOST EVENT"


def understood(words: Sequence[str]) -> tuple[Call | None, IfBroken | None, str]:
    """Read the words: the call, the policy as far as there is one, and what is wrong with them."""
    policy, names, wrong = _parsed(words)
    dialect = _dialect(names[0]) if names else None
    if not wrong and dialect is None:
        known = ", ".join(sorted(name for name, module in DIALECTS.items() if module.SPEC.is_agent))
        wrong = f"there is no agent {names[0]!r}; there are {known}" if names else "wanted: hookline hook HOST EVENT"
    if not wrong and dialect is not None and not is_known(dialect, names[1]):
        known = ", ".join(dialect.SPEC.abilities or ())
        wrong = f"{dialect.SPEC.title} has no event {names[1]!r}; it has {known}"
    if wrong or dialect is None:
        return None, policy, wrong
    return Call(dialect=dialect, native=names[1], raw=b"", if_broken=policy), policy, ""


def _parsed(words: Sequence[str]) -> tuple[IfBroken | None, list[str], str]:
    policy: IfBroken | None = None
    names: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == OPTION or word.startswith(f"{OPTION}="):
            value = word.partition("=")[2] if "=" in word else left.pop(0) if left else ""
            if value not in {*IfBroken}:
                return policy, names, f"{OPTION} is {value!r}, wanted block or allow"
            policy = IfBroken(value)
        elif word.startswith("-"):
            return policy, names, f"there is no option {word!r}"
        else:
            names.append(word)
    return policy, names, "" if len(names) == 2 else USAGE  # noqa: PLR2004


def _dialect(name: str) -> Dialect | None:
    """Find an agent by its name, or by another word for it."""
    if name in DIALECTS:
        return DIALECTS[name] if DIALECTS[name].SPEC.is_agent else None
    agents = (module for module in DIALECTS.values() if module.SPEC.is_agent)
    return next((module for module in agents if name in module.SPEC.aliases), None)
