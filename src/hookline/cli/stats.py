"""`hookline stats`: how the hooks have done, and which of them are slow."""

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import asdict

from hookline.cli._command import JSON, CliCommand, argument, flag, parse_count, parse_moment
from hookline.cli._describe import format_cost
from hookline.cli._output import CellStyle, Line, Table, TextStyle, format_ago, format_span, render, write_bytes_exact
from hookline.cli._project import parse_dialect
from hookline.engine.metrics import SLOW
from hookline.stores.trace_queries import HookFigures, TraceFilter, TraceStats
from hookline.user_dirs import find_user_dirs

_HEAD: Final = ["hook", "runs", "succeeded", "blocked", "p50", "p95", "p99", "longest", "in all", "last run"]
# left out on a narrow terminal, the first one first
_OPTIONAL: Final = ("longest", "p99", "in all", "p50", "last run")
_FIGURES: Final = (
    *("runs", "success_rate", "failures", "denials", "observed_denials", "mean", "total", "last_run", "tokens", "cost"),
)
# what `--sort` puts first
_ORDERS: Final[Mapping[str, Callable[[HookFigures], float | str]]] = {
    "total": lambda one: -one.total,
    "runs": lambda one: -one.runs,
    "p95": lambda one: -one.times.p95,
    "failures": lambda one: -one.failed,
    "blocked": lambda one: -one.denials,
    "last": lambda one: -one.last_run,
    "name": lambda one: one.hook,
}
_STYLES: Final[Mapping[str, CellStyle]] = {
    "hook": TextStyle.BOLD,
    "succeeded": lambda cell: TextStyle.GOOD if cell == "100%" else TextStyle.BAD,
    "blocked": lambda cell: TextStyle.DIM if cell == "0" else TextStyle.WARN,
    "last run": TextStyle.DIM,
}
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
    if args.prometheus:
        from hookline.telemetry.prometheus import render_metrics  # noqa: PLC0415 - few calls want it

        write_bytes_exact(render_metrics(find_user_dirs().data).encode())
        return 0
    stats = TraceStats(find_user_dirs().data / "traces.db")
    wanted = TraceFilter(hook=args.hook, host=args.agent or "", since=args.since)
    events = stats.events(wanted)
    sort = _ORDERS[args.sort]
    hooks = sorted(stats.hooks(wanted), key=lambda one: (sort(one), one.hook))[: args.top or None]
    value = {
        "hooks": [
            {
                "id": one.hook,
                **{name: getattr(one, name) for name in _FIGURES},
                "typical": one.times.p50,
                **asdict(one.times),
                "last_error": one.last_error or None,
                "slow": one.times.p50 > args.slow,
            }
            for one in hooks
        ],
        "events": events,
    }
    if not hooks:
        return render(args, value, "no hook ran" if args.since or args.hook else "no hook ran yet")
    lines = []
    for one in hooks:
        if one.failures:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(one.failures.items()))
            times = "once" if one.failed == 1 else f"{one.failed} times"
            text = f'hook "{one.hook}" failed {times} ({kinds}); the last time: {one.last_error}'
            lines.append(Line(text, [(one.hook, TextStyle.BOLD), (f"failed {times}", TextStyle.BAD)]))
    for one in hooks:
        if one.times.p50 > args.slow:
            text = f'hook "{one.hook}" is slow, it usually takes {format_span(one.times.p50)}: {_WHAT_TO_DO}'
            lines.append(Line(text, [(one.hook, TextStyle.BOLD), ("is slow", TextStyle.WARN)]))
    lines.append(Line(f"runs by event: {', '.join(f'{event} {count}' for event, count in events.items())}"))
    # only where a hook asked a language model
    has_usage = any(one.tokens for one in hooks)
    rows = [
        [
            *(one.hook, str(one.runs), f"{one.success_rate:.0%}", str(one.denials)),
            *map(format_span, (one.times.p50, one.times.p95, one.times.p99, one.times.longest, one.total)),
            *((f"{one.tokens:,}", format_cost(one.cost) if one.cost is not None else "") if has_usage else ()),
            format_ago(one.last_run),
        ]
        for one in hooks
    ]
    head = [*_HEAD[:-1], *(("tokens", "cost") if has_usage else ()), _HEAD[-1]]
    return render(args, value, Table(head, rows, _STYLES, optional=_OPTIONAL), *lines)


COMMAND: Final = CliCommand(
    "show how often hooks ran, failed and blocked, how long they took, and which are slow",
    argument("--hook", "only this hook", default="", metavar="ID"),
    argument("--agent", "only in this agent", type=parse_dialect, metavar="NAME"),
    argument("--since", "only since 2h ago, or a date", type=parse_moment, default=0.0, metavar="WHEN"),
    argument(
        "--slow", "call a hook slow from here (default: 1000 ms)", type=_parse_milliseconds, default=SLOW, metavar="MS"
    ),
    argument("--sort", "what comes first (default: total)", choices=tuple(_ORDERS), default="total"),
    argument("--top", "at most so many", type=parse_count, default=0, metavar="N"),
    flag("--prometheus", "print the metrics of all hooks and agents for Prometheus, without the options above"),
    JSON,
    example="--since 7d",
    run=run,
)
