"""Measure candidates side by side, so that whatever else the machine does hits all of them alike.

Each round runs every candidate once. p10 is nearly undisturbed, and ratios to a floor measured in the same
run are what carries over to other machines.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

Timings = dict[str, list[float]]


def p10(seconds: Sequence[float]) -> float:
    """Give the time that a tenth of the rounds stayed below."""
    return sorted(seconds)[len(seconds) // 10]


def median(seconds: Sequence[float]) -> float:
    """Give the middle."""
    return sorted(seconds)[len(seconds) // 2]


async def interleave(
    candidates: Mapping[str, Callable[[], Awaitable[object] | object]], rounds: int, *, warm_up: int = 10
) -> Timings:
    """Time every candidate once per round; one that gives an awaitable is awaited."""
    timings: Timings = {name: [] for name in candidates}
    for number in range(rounds + warm_up):
        for name, candidate in candidates.items():
            started = time.perf_counter()
            result = candidate()
            if isinstance(result, Awaitable):
                await result
            elapsed = time.perf_counter() - started
            if number >= warm_up:
                timings[name].append(elapsed)
    return timings


async def interleave_loops(
    candidates: Mapping[str, Callable[[int], Awaitable[None]]], rounds: int, *, inner: int
) -> Timings:
    """Time candidates too quick for one call: each runs itself `inner` times. CPU time, not wall time."""
    timings: Timings = {name: [] for name in candidates}
    for number in range(rounds + 2):
        for name, candidate in candidates.items():
            started = time.process_time()
            await candidate(inner)
            elapsed = (time.process_time() - started) / inner
            if number > 1:
                timings[name].append(elapsed)
    return timings


def report(title: str, timings: Timings, *, floor: str, goals: Mapping[str, float] | None = None) -> None:
    """Print p10, median and the ratio of the p10 to the floor's, with the goal where there is one."""
    base = p10(timings[floor])
    unit, scale = ("ms", 1e3) if base > 1e-4 else ("ns", 1e9)
    print(f"\n{title} ({len(timings[floor])} rounds)")  # noqa: T201 - printing is what a benchmark is for
    print(f"  {'':52} {'p10 ' + unit:>9} {'median':>9} {'x floor':>8}  goal")  # noqa: T201
    for name, seconds in timings.items():
        ratio = p10(seconds) / base
        goal = (goals or {}).get(name)
        verdict = "" if goal is None else f"<= {goal:.2f} {'met' if ratio <= goal else 'MISSED'}"
        print(f"  {name:52} {p10(seconds) * scale:9.3f} {median(seconds) * scale:9.3f} {ratio:8.2f}  {verdict}")  # noqa: T201


def main(measure: Callable[[], Awaitable[None]]) -> None:
    """Run one benchmark file."""

    async def run() -> None:
        await measure()

    asyncio.run(run())
