"""`hookline stats`: how the hooks have done, and which of them are slow."""

import argparse
from collections import Counter
from typing import Final

from hookline.cli._command import JSON, CliCommand, argument, parse_moment
from hookline.cli._output import Table, format_ago, format_span, render
from hookline.engine.metrics import SLOW, HookDebugger, HookMetrics
from hookline.stores.trace_queries import TraceFilter, TraceQueries
from hookline.user_dirs import find_user_dirs

_HEAD: Final = ["hook", "runs", "succeeded", "blocked", "typical", "slowest 5 %", "longest", "in all", "last run"]
_FIGURES: Final = (
    *("runs", "success_rate", "failures", "denials", "observed_denials", "typical", "longest", "mean", "total"),
)
_WHAT_TO_DO: Final = "make it do less, let it run less often (`matcher`, `files`), or give it a shorter `timeout`"


def _parse_milliseconds(text: str) -> float:
    try:
        number = float(text.removesuffix("ms"))
    except ValueError:
        number = 0.0
    if 0 < number < float("inf"):
        return number / 1000
    raise argparse.ArgumentTypeError(f'"{text}" is no number of milliseconds above 0')


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    debugger = HookDebugger(keep=0)
    last: dict[str, float] = {}
    events: Counter[str] = Counter()
    traces = TraceQueries(find_user_dirs().data / "traces.db")
    for record in traces.runs(TraceFilter(hook=args.hook, since=args.since)):
        debugger(record)
        last[record.hook] = record.at
        events[record.event] += 1
    hooks = sorted((debugger.metrics(hook) for hook in debugger.hooks()), key=lambda one: (-one.total, one.hook))
    value = {
        "hooks": [
            {
                "id": one.hook,
                **{name: getattr(one, name) for name in _FIGURES},
                "p95": _get_p95(one),
                "last_run": last[one.hook],
                "last_error": one.last_error or None,
                "slow": one.typical > args.slow,
            }
            for one in hooks
        ],
        "events": dict(events.most_common()),
    }
    if not hooks:
        return render(args, value, "no hook ran" if args.since or args.hook else "no hook ran yet")
    lines = []
    for one in hooks:
        if one.failures:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(one.failures.items()))
            times = "once" if one.failed == 1 else f"{one.failed} times"
            lines.append(f'hook "{one.hook}" failed {times} ({kinds}); the last time: {one.last_error}')
    lines += [
        f'hook "{one.hook}" is slow, it usually takes {format_span(one.typical)}: {_WHAT_TO_DO}'
        for one in hooks
        if one.typical > args.slow
    ]
    lines.append(f"runs by event: {', '.join(f'{event} {count}' for event, count in events.most_common())}")
    rows = [
        [
            *(one.hook, str(one.runs), f"{one.success_rate:.0%}", str(one.denials)),
            *map(format_span, (one.typical, _get_p95(one), one.longest, one.total)),
            format_ago(last[one.hook]),
        ]
        for one in hooks
    ]
    return render(args, value, Table(_HEAD, rows), *lines)


def _get_p95(metrics: HookMetrics) -> float:
    """Return the 95th percentile of recent run times."""
    ordered = sorted(metrics.recent)
    return ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)] if ordered else 0.0


COMMAND: Final = CliCommand(
    "show how often hooks ran, failed and blocked, how long they took, and which are slow",
    argument("--hook", "only this hook", default="", metavar="ID"),
    argument("--since", "only since 2h ago, or a date", type=parse_moment, default=0.0, metavar="WHEN"),
    argument(
        "--slow", "call a hook slow from here (default: 1000 ms)", type=_parse_milliseconds, default=SLOW, metavar="MS"
    ),
    JSON,
    example="--since 7d",
    run=run,
)
