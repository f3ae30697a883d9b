"""Measure candidates side by side, so that whatever else the machine does hits all of them alike.

Each round runs every candidate once. p10 is nearly undisturbed, and ratios to a floor measured in the same
run are what carries over to other machines.
"""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tests.bench.rows import Row, Section, Who, text_of

Timings = dict[str, list[float]]
Clock = Callable[[], float]
Measure = Callable[[], Awaitable[Sequence[Section]]]

TERMINATED: Final = 128 + signal.SIGTERM
ENOUGH: Final = 100  # rounds; fewer are for a quick look only


def rounds(usual: int = ENOUGH) -> int:
    """Say how many rounds to run: as many as usual, or as `BENCH_ROUNDS` says."""
    return max(1, number_in("BENCH_ROUNDS", usual))


def number_in(variable: str, usual: int) -> int:
    """Read a number out of a variable; one that is none ends the benchmark."""
    text = os.environ.get(variable) or str(usual)
    if not text.isdecimal():
        raise SystemExit(f"{variable} is {text!r}, wanted a number")
    return int(text)


def p10(figures: Sequence[float]) -> float:
    """Give the figure that a tenth of the rounds stayed below."""
    return sorted(figures)[len(figures) // 10]


def median(figures: Sequence[float]) -> float:
    """Give the middle."""
    return sorted(figures)[len(figures) // 2]


async def interleave(
    candidates: Mapping[str, Callable[[], Awaitable[object] | object]], rounds: int, *, warm_up: int = 10
) -> Timings:
    """Time every candidate once per round; one that gives an awaitable is awaited.

    A candidate that gives a float has timed itself.
    """
    timings: Timings = {name: [] for name in candidates}
    for number in range(rounds + warm_up):
        for name, candidate in candidates.items():
            started = time.perf_counter()
            result = candidate()
            if isinstance(result, Awaitable):
                result = await result
            elapsed = time.perf_counter() - started
            # what was put off until later is done before the next one starts
            await asyncio.sleep(0)
            if number >= warm_up:
                timings[name].append(result if isinstance(result, float) else elapsed)
    return timings


async def interleave_loops(
    candidates: Mapping[str, Callable[[int], Awaitable[None]]],
    rounds: int,
    *,
    inner: int,
    clock: Clock = time.process_time,
    between: Callable[[], object] | None = None,
) -> Timings:
    """Time candidates too quick for one call: each runs itself `inner` times. CPU time, not wall time.

    `between` is called after each, untimed.
    """
    timings: Timings = {name: [] for name in candidates}
    for number in range(rounds + 2):
        for name, candidate in candidates.items():
            started = clock()
            await candidate(inner)
            elapsed = (clock() - started) / inner
            # what was put off until later is done before the next one starts
            await asyncio.sleep(0)
            if between is not None:
                between()
            if number > 1:
                timings[name].append(elapsed)
    return timings


def row(
    timings: Timings,
    name: str,
    *,
    floor: str = "",
    what: str = "",
    goal: str = "",
    most: float | None = None,
    who: Who = "",
) -> Row:
    """Make a row of one candidate, against another one."""
    figures = timings[name]
    return Row(
        what=what or name,
        value=p10(figures),
        median=median(figures),
        floor=p10(timings[floor]) if floor else None,
        against=floor,
        rounds=len(figures),
        goal=goal,
        most=most,
        who=who,
    )


def rows(
    timings: Timings,
    *,
    floor: str,
    goals: Mapping[str, str] | None = None,
    most: Mapping[str, float] | None = None,
    peers: Sequence[str] = (),
) -> tuple[Row, ...]:
    """Make rows of all candidates, against one of them."""
    return tuple(
        row(
            timings,
            name,
            floor=floor,
            goal=(goals or {}).get(name, ""),
            most=(most or {}).get(name),
            who="floor" if name == floor else "peer" if name in peers else "ours",
        )
        for name in timings
    )


def report(section: Section) -> str:
    """Write a section as a person reads it in a terminal."""
    lines = [f"\n{section.title}", f"  {'':64} {'p10':>10} {'median':>10} {'x floor':>8}"]
    for each in section.rows:
        if each.value is None:
            lines.append(f"  {each.what:64} {each.missing}")
            continue
        ratio = "" if each.ratio is None else f"{each.ratio:.2f}"
        bound = "" if each.most is None or each.ratio is None else _bound(each.ratio, each.most)
        figures = f"{text_of(each.value, each.unit):>10} {text_of(each.median, each.unit):>10} {ratio:>8}"
        lines.append(f"  {each.what:64} {figures}{bound}".rstrip())
    return "\n".join(lines) + "\n"


def _bound(ratio: float, most: float) -> str:
    return f"  <= {most:g} {'met' if ratio <= most else 'MISSED'}"


def main(measure: Measure) -> None:
    """Run one benchmark file: print what it finds, and write it to a file for `tests.bench.run`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    wanted = parser.parse_args()

    async def run() -> Sequence[Section]:
        return await measure()

    # whoever ends it wants it to clear away what it started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    sections = asyncio.run(run())
    for section in sections:
        sys.stdout.write(report(section))
    if wanted.json:
        wanted.json.write_bytes(msgspec.json.format(msgspec.json.encode(list(sections)), indent=1))
