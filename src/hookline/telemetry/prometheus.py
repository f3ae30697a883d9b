"""Metrics in the text format of Prometheus, version 0.0.4.

Counters and histograms come from counters that the writer of the trace file keeps, so none goes back when old records are
removed. `METRICS` has every metric; documents and the dashboard are compared with it.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.stores.counters import BUCKETS, Counter, Labels
from hookline.stores.queue import SqliteQueue
from hookline.stores.sqlite import LARGEST
from hookline.stores.trace_queries import TraceQueries, TraceStats
from hookline.version import __version__

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class _Figures(Struct, frozen=True, kw_only=True):
    """What one scrape reads from the files of a user."""

    totals: Mapping[Counter, Mapping[Labels, float]]
    jobs: Mapping[str, int]
    records: int
    newest: int
    file_size: int


Samples = Mapping[Labels, float]


class Metric(Struct, frozen=True):
    """One metric: its type, its labels, its help text, and the counter it shows, or how its samples are read."""

    name: str
    type: str
    labels: tuple[str, ...]
    about: str
    read: Counter | Callable[[_Figures], Samples]


METRICS: Final = (
    Metric("hookline_build_info", "gauge", ("version",), "The version of Hookline.", lambda _: {(__version__,): 1}),
    Metric(
        "hookline_calls_total",
        "counter",
        ("agent", "event", "decision"),
        "Calls of agents that were answered.",
        Counter.CALLS,
    ),
    Metric("hookline_hook_runs_total", "counter", ("hook",), "Runs of hooks.", Counter.RUNS),
    Metric(
        "hookline_hook_failures_total",
        "counter",
        ("hook", "kind"),
        "Runs of hooks that failed, by the kind of failure.",
        Counter.FAILURES,
    ),
    Metric(
        "hookline_hook_denials_total",
        "counter",
        ("hook", "mode"),
        "Calls that a hook blocked, or would have blocked without observe.",
        Counter.DENIALS,
    ),
    Metric(
        "hookline_hook_duration_seconds",
        "histogram",
        ("hook",),
        "How long runs of hooks took, without answers from the cache.",
        Counter.DURATIONS,
    ),
    Metric(
        "hookline_model_tokens_total",
        "counter",
        ("hook", "direction"),
        "Tokens that language models read (input) and wrote (output) for hooks.",
        Counter.TOKENS,
    ),
    Metric(
        "hookline_model_cost_total",
        "counter",
        ("hook",),
        "What hooks spent on language models, in the currency of the prices in the settings.",
        Counter.COST,
    ),
    Metric(
        "hookline_dropped_total",
        "counter",
        ("what",),
        "Records that could not be stored (records) or exported to OpenTelemetry (telemetry).",
        Counter.DROPPED,
    ),
    Metric(
        "hookline_queue_jobs",
        "gauge",
        ("state",),
        "Background jobs by state.",
        lambda figures: {(state,): count for state, count in figures.jobs.items()},
    ),
    Metric(
        "hookline_trace_records_total",
        "counter",
        (),
        "Records that were ever stored in the trace file.",
        lambda figures: {(): figures.newest},
    ),
    Metric("hookline_trace_records", "gauge", (), "Records in the trace file.", lambda figures: {(): figures.records}),
    Metric(
        "hookline_trace_file_bytes", "gauge", (), "Size of the trace file.", lambda figures: {(): figures.file_size}
    ),
    Metric(
        "hookline_trace_file_limit_bytes",
        "gauge",
        (),
        "Size of records beyond which the oldest are removed.",
        lambda _: {(): LARGEST},
    ),
)


def render_metrics(data_folder: Path) -> str:
    """Return the metrics of a user, for Prometheus.

    Raises:
        StoreError: The trace file or the queue cannot be read.
    """
    path = data_folder / "traces.db"
    queries = TraceQueries(path)
    figures = _Figures(
        totals=TraceStats(path).totals(),
        jobs={str(state): count for state, count in SqliteQueue(data_folder / "queue.db").counts().items()},
        records=queries.count(),
        newest=queries.newest(),
        file_size=path.stat().st_size if path.exists() else 0,
    )
    return "".join(f"{line}\n" for metric in METRICS for line in _render(metric, figures))


def _render(metric: Metric, figures: _Figures) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.about}"
    yield f"# TYPE {metric.name} {metric.type}"
    samples = figures.totals[metric.read] if isinstance(metric.read, Counter) else metric.read(figures)
    if metric.type == "histogram":
        yield from _render_histogram(metric.name, samples, figures.totals[Counter.SECONDS])
        return
    for labels, value in samples.items():
        yield _sample(metric.name, zip(metric.labels, labels, strict=True), value)


def _render_histogram(name: str, samples: Samples, sums: Samples) -> Iterator[str]:
    """Yield the buckets of each hook; each counts what is in those before it as well."""
    for hook in dict.fromkeys(hook for hook, _ in samples):
        count = 0.0
        for index, bound in enumerate((*map(str, BUCKETS), "+Inf")):
            count += samples.get((hook, str(index)), 0.0)
            yield _sample(f"{name}_bucket", [("hook", hook), ("le", bound)], count)
        yield _sample(f"{name}_sum", [("hook", hook)], sums.get((hook,), 0.0))
        yield _sample(f"{name}_count", [("hook", hook)], count)


def _sample(name: str, labels: Iterator[tuple[str, str]] | list[tuple[str, str]], value: float) -> str:
    pairs = ",".join(f'{label}="{_escape(text)}"' for label, text in labels)
    return f"{name}{{{pairs}}} {value:.15g}" if pairs else f"{name} {value:.15g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
