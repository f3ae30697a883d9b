"""`hookline stats`: how the hooks have done, and which of them are slow."""

import argparse
from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hookline.cli._output import say, say_json, table
from hookline.cli._times import ago, moment_of, span
from hookline.core.debugger import SLOW, HookDebugger, HookMetrics
from hookline.stores.history import History, Question
from hookline.workspace import person_folders

HELP: Final = "show how often hooks ran, failed and blocked, how long they took, and which are slow"
EXAMPLE: Final = "hookline stats --since 7d"

_WHAT_TO_DO: Final = "make it do less, let it run less often (`matcher`, `files`), or give it a shorter `timeout`"


class _Figures(Struct, frozen=True, kw_only=True):
    """What the traces say: figures of each hook, when each ran last, and the runs of each event."""

    hooks: tuple[HookMetrics, ...]
    last: Mapping[str, float]
    events: Mapping[str, int]


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("--hook", default="", metavar="ID", help="only this hook")
    parser.add_argument("--since", type=moment_of, default=0.0, metavar="WHEN", help="only since 2h ago, or a date")
    parser.add_argument(
        "--slow", type=_milliseconds, default=SLOW, metavar="MS", help="call a hook slow from here (default: 1000 ms)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _milliseconds(text: str) -> float:
    try:
        number = float(text.removesuffix("ms"))
    except ValueError:
        number = 0.0
    if 0 < number < float("inf"):
        return number / 1000
    raise argparse.ArgumentTypeError(f'"{text}" is no number of milliseconds above 0')


def run(args: argparse.Namespace) -> int:
    """Print the figures."""
    history = History(person_folders().data / "traces.db")
    figures = _figures(history, Question(hook=args.hook, since=args.since))
    if args.json:
        say_json(_described(figures, slow=args.slow))
    elif figures.hooks:
        _tell(figures, slow=args.slow)
    else:
        say("no hook ran" if args.since or args.hook else "no hook ran yet")
    return 0


def _figures(history: History, question: Question) -> _Figures:
    debugger = HookDebugger(keep=0)
    last: dict[str, float] = {}
    events: Counter[str] = Counter()
    for record in history.runs(question):
        debugger(record)
        last[record.hook] = record.at
        events[record.event] += 1
    hooks = sorted((debugger.metrics(hook) for hook in debugger.hooks()), key=lambda one: (-one.total, one.hook))
    return _Figures(hooks=tuple(hooks), last=last, events=dict(events.most_common()))


def _tell(figures: _Figures, *, slow: float) -> None:
    head = ["hook", "runs", "succeeded", "blocked", "typical", "slowest 5 %", "longest", "in all", "last run"]
    table(head, [_row(one, figures.last[one.hook]) for one in figures.hooks])
    for one in figures.hooks:
        if one.failures:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(one.failures.items()))
            times = "once" if one.failed == 1 else f"{one.failed} times"
            say(f'hook "{one.hook}" failed {times} ({kinds}); the last time: {one.last_error}')
    for one in figures.hooks:
        if one.typical > slow:
            say(f'hook "{one.hook}" is slow, it usually takes {span(one.typical)}: {_WHAT_TO_DO}')
    say(f"runs by event: {', '.join(f'{event} {count}' for event, count in figures.events.items())}")


def _row(one: HookMetrics, last: float) -> list[str]:
    return [
        one.hook,
        str(one.runs),
        f"{one.success_rate:.0%}",
        str(one.denials),
        *(span(seconds) for seconds in (one.typical, _slowest_twentieth(one), one.longest, one.total)),
        ago(last),
    ]


def _slowest_twentieth(one: HookMetrics) -> float:
    """Give the time that 95 of a hundred recent runs stayed within."""
    ordered = sorted(one.recent)
    return ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)] if ordered else 0.0


def _described(figures: _Figures, *, slow: float) -> dict[str, object]:
    hooks = [
        {
            "id": one.hook,
            "runs": one.runs,
            "success_rate": one.success_rate,
            "failures": one.failures,
            "denials": one.denials,
            "observed_denials": one.observed_denials,
            "typical": one.typical,
            "p95": _slowest_twentieth(one),
            "longest": one.longest,
            "mean": one.mean,
            "total": one.total,
            "last_run": figures.last[one.hook],
            "last_error": one.last_error or None,
            "slow": one.typical > slow,
        }
        for one in figures.hooks
    ]
    return {"hooks": hooks, "events": figures.events}
