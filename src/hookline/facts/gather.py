"""Gather the facts that hooks ask for: each once per event, all at the same time, none longer than a few seconds."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from hookline.facts.git import read_diff, read_git
from hookline.facts.transcript import read_transcript
from hookline.model.event import Event
from hookline.model.requirements import NOTES, FactError

SECONDS: Final = 5.0

READERS: Final[Mapping[str, Callable[[Event], Awaitable[object]]]] = {
    "git": read_git,
    "transcript": read_transcript,
    "diff": read_diff,
}


async def gather_facts(wanted: Collection[str], event: Event) -> Mapping[str, object]:
    """Return the facts by their names; one that cannot be had is None, and a note says why."""
    names = [name for name in READERS if name in wanted]
    found = await asyncio.gather(*(_read(name, event) for name in names), return_exceptions=True)
    facts: dict[str, object] = {}
    notes: list[str] = []
    for name, fact in zip(names, found, strict=True):
        facts[name] = None if isinstance(fact, BaseException) else fact
        if isinstance(fact, BaseException):
            notes.append(f"{name}: {_explain(fact)}")
    return {**facts, NOTES: notes}


async def _read(name: str, event: Event) -> object:
    async with asyncio.timeout(SECONDS):
        return await READERS[name](event)


def _explain(problem: BaseException) -> str:
    if isinstance(problem, TimeoutError):
        return f"not there after {SECONDS:g} seconds"
    return str(problem) if isinstance(problem, FactError) else repr(problem)
