"""Counters and histograms in the trace file: they are kept when the records that they count are removed.

The writer adds to them in the transaction that stores the records. The labels of a counter are a JSON list of texts.
"""

import json
import sqlite3
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final

from hookline.model.record import Step
from hookline.text import escape_all, redact

TABLE: Final = """CREATE TABLE counters (
    name TEXT NOT NULL, labels TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (name, labels)
) WITHOUT ROWID"""

# upper bounds of durations in seconds: a function takes microseconds, a process milliseconds, a model seconds
BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MOST_SERIES: Final = 10_000  # rows; later ones are added to those of OTHER
OTHER: Final = "(other)"
_LONGEST_LABEL: Final = 200
# in the details of runs that asked a language model
_USAGE: Final = '"usage"'

_BLOCKING: Final = {
    "deny": "enforced",
    "stop": "enforced",
    "observed deny": "observed",
    "observed stop": "observed",
}


class Counter(StrEnum):
    """The counters, and their labels in order."""

    CALLS = "calls"  # agent, event, decision
    RUNS = "runs"  # hook
    FAILURES = "failures"  # hook, kind
    DENIALS = "denials"  # hook, mode
    DURATIONS = "durations"  # hook, index of the bucket
    SECONDS = "seconds"  # hook
    TOKENS = "tokens"  # hook, direction: input or output
    COST = "cost"  # hook
    DROPPED = "dropped"  # what: records or telemetry


Labels = tuple[str, ...]
# what is left of a stored record: step, event, hook, detail, agent, decision, duration
CountedRow = tuple[str, str, str, str, str, str, float]


def count_rows(rows: Iterable[CountedRow]) -> Mapping[tuple[Counter, Labels], float]:
    """Return what rows of records add to the counters."""
    found: dict[tuple[Counter, Labels], float] = defaultdict(float)
    for step, event, hook, detail, host, decision, duration in rows:
        if step == Step.OUTCOME:
            found[Counter.CALLS, (host, event, decision)] += 1
        elif step in {Step.COMPLETED, Step.FAILED}:
            found[Counter.RUNS, (hook,)] += 1
            if duration > 0:
                # an answer from the cache has no duration
                found[Counter.DURATIONS, (hook, str(bisect_left(BUCKETS, duration)))] += 1
                found[Counter.SECONDS, (hook,)] += duration
            if _USAGE in detail:
                _count_usage(found, hook, _read(detail).get("usage"))
            if step == Step.FAILED:
                found[Counter.FAILURES, (hook, str(_read(detail).get("failure") or "unknown"))] += 1
            elif mode := _BLOCKING.get(decision):
                found[Counter.DENIALS, (hook, mode)] += 1
        elif step == Step.WARNING:
            loaded = _read(detail)
            for key, what in (("dropped", "records"), ("telemetry_dropped", "telemetry")):
                if isinstance(number := loaded.get(key), int) and number > 0:
                    found[Counter.DROPPED, (what,)] += number
    return found


def _count_usage(found: dict[tuple[Counter, Labels], float], hook: str, usage: object) -> None:
    """Add what a language model took for an answer."""
    numbers = usage if isinstance(usage, dict) else {}
    for name in ("input", "output"):
        if isinstance(number := numbers.get(name), int):
            found[Counter.TOKENS, (hook, name)] += number
    if isinstance(cost := numbers.get("cost"), int | float):
        found[Counter.COST, (hook,)] += cost


def _read(detail: str) -> Mapping[str, object]:
    try:
        loaded = json.loads(detail)
    except ValueError:
        return {}
    return loaded if isinstance(loaded, dict) else {}


def add_counts(connection: sqlite3.Connection, counts: Mapping[tuple[Counter, Labels], float]) -> None:
    """Add to the counters, in a transaction of the caller."""
    fresh: list[tuple[Counter, Labels, float]] = []
    for (name, labels), value in counts.items():
        clean = tuple(map(_clean_label, labels))
        if not _add(connection, name, clean, value):
            fresh.append((name, clean, value))
    if not fresh:
        return
    room = MOST_SERIES - connection.execute("SELECT count(*) FROM counters").fetchone()[0]
    for name, labels, value in fresh:
        # a program that names a hook anew for each call must not fill the file, nor the memory of a Prometheus
        kept = labels if room > 0 else (OTHER, *labels[1:])
        if not _add(connection, name, kept, value):
            connection.execute("INSERT INTO counters VALUES (?, ?, ?)", (name, json.dumps(kept), value))
            room -= 1


@lru_cache(maxsize=1_024)
def _clean_label(text: str) -> str:
    """Return a label that is safe to show; here and not where it is shown, so that two that become the same are one series."""
    return escape_all(redact(text))[:_LONGEST_LABEL]


def _add(connection: sqlite3.Connection, name: Counter, labels: Labels, value: float) -> bool:
    """Add to a counter; return whether it was there."""
    change = "UPDATE counters SET value = value + ? WHERE name = ? AND labels = ?"
    return connection.execute(change, (value, name, json.dumps(labels))).rowcount > 0


def read_counts(connection: sqlite3.Connection) -> dict[Counter, dict[Labels, float]]:
    """Return the values of all counters, by their labels."""
    found: dict[Counter, dict[Labels, float]] = {name: {} for name in Counter}
    for name, labels, value in connection.execute("SELECT name, labels, value FROM counters ORDER BY name, labels"):
        found[Counter(name)][tuple(json.loads(labels))] = value
    return found
