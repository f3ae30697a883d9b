"""What agents can do with answers, as tables: for one agent, and for all of them with the hooks of every system."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hookline.cli._about import SPECS
from hookline.cli._output import say, say_json, table
from hookline.config.vocabulary import hint, quoted
from hookline.debug.abilities import MOMENTS, Carried, carried, says
from hookline.errors import ConfigError
from hookline.model.ability import Ability, instead
from hookline.model.dialect import DialectSpec
from hookline.model.event import EventName

AGENTS: Final[Mapping[str, DialectSpec]] = {name: spec for name, spec in SPECS.items() if spec.is_agent}
_BY_WORD: Final = {word: spec for spec in AGENTS.values() for word in (spec.name, *spec.aliases)}


def agent_named(word: str) -> DialectSpec:
    """Find an agent by its name, or by a shorter one people have for it.

    Raises:
        ConfigError: There is none.
    """
    found = _BY_WORD.get(word.lower())
    if found is None:
        raise ConfigError(
            f"there is no agent {quoted(word)}{hint(word, _BY_WORD)}; there are {', '.join(sorted(AGENTS))}"
        )
    return found


def show(args: argparse.Namespace) -> int:
    """Say for each event of one agent what an answer can do there, and what becomes of the rest."""
    spec = agent_named(args.host)
    rows = list(_events(spec))
    if args.json:
        say_json(
            {
                "host": spec.name,
                "title": spec.title,
                "runs_files_of": [spec.name, *spec.runs_files_of],
                "events": [
                    {
                        "event": native,
                        "canonical": canonical,
                        "can": sorted(able),
                        "instead": {one: instead(one, able) for one in Ability if one not in able},
                    }
                    for native, canonical, able in rows
                ],
            }
        )
        return 0
    say(f"{spec.name}: {spec.title}")
    if spec.runs_files_of:
        say(f"It also runs the hooks in the settings of {', '.join(spec.runs_files_of)} by itself.")
    say()
    table(
        ("event", "ours", "an answer can", "what else it says becomes"),
        [(native, canonical, _listed(able), _becomes(able)) for native, canonical, able in rows],
    )
    return 0


def _events(spec: DialectSpec) -> Iterator[tuple[str, str, frozenset[Ability]]]:
    ours = {native: str(name) for name, native in reversed(list(spec.events.items()))}
    for native, able in (spec.abilities or {}).items():
        yield native, ours.get(native, EventName.CUSTOM), able


def _listed(able: frozenset[Ability]) -> str:
    return ", ".join(one for one in Ability if one in able) or "nothing"


def _becomes(able: frozenset[Ability]) -> str:
    """Group what is not carried by what it becomes."""
    groups: dict[str, list[str]] = {}
    for one in Ability:
        if one not in able:
            groups.setdefault(str(instead(one, able) or "lost"), []).append(one)
    return "; ".join(f"{', '.join(wanted)}: {became}" for became, wanted in groups.items())


def matrix(args: argparse.Namespace) -> int:
    """Print what becomes of each wish under each agent, and which hooks can say it."""
    if args.json:
        say_json([_described(*cell) for cell in _cells()])
        return 0
    say("What an answer becomes under each agent")
    say()
    heads = [f"{wanted} at {name}" for wanted, name in MOMENTS]
    table(("wish", *AGENTS), [(head, *row) for head, row in zip(heads, _carried_rows(), strict=True)])
    say()
    say("Which hooks can say it")
    say()
    table(
        ("wish", *SPECS),
        [
            (head, *("yes" if says(spec, wanted, name) else "-" for spec in SPECS.values()))
            for head, (wanted, name) in zip(heads, MOMENTS, strict=True)
        ],
    )
    return 0


def _carried_rows() -> Iterator[Sequence[str]]:
    for wanted, name in MOMENTS:
        yield [carried(host, wanted, name).word for host in AGENTS.values()]


def _cells() -> Iterator[tuple[DialectSpec, DialectSpec, Carried]]:
    for wanted, name in MOMENTS:
        for hook in SPECS.values():
            for host in AGENTS.values():
                if says(hook, wanted, name):
                    yield hook, host, carried(host, wanted, name)


def _described(hook: DialectSpec, host: DialectSpec, cell: Carried) -> Mapping[str, object]:
    return {
        "hook": hook.name,
        "host": host.name,
        "wish": cell.wanted,
        "event": cell.event,
        "happens": cell.happens,
        "becomes": cell.became,
    }
