"""`hookline trace` and `hookline stats`: what happened, event by event, and how the hooks have done."""

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.cli._command import (
    ABSOLUTE,
    JSON,
    Argument,
    CliCommand,
    OneOf,
    argument,
    flag,
    parse_count,
    parse_dialect,
    parse_event,
    parse_moment,
    parse_span,
)
from hookline.cli._output import (
    CellStyle,
    Line,
    Table,
    TextStyle,
    format_ago,
    format_clock,
    format_span,
    format_time,
    has_reader,
    pluralise,
    print_line,
    render,
    style_word,
    to_json_line,
    write_bytes_exact,
)
from hookline.cli._project import describe_usage, format_cost, get_duration
from hookline.engine.metrics import SLOW
from hookline.errors import ConfigError
from hookline.model.language_models import ModelUsage
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision
from hookline.stores.record_chain import Break, Checked, read_receipt, write_receipt
from hookline.stores.sqlite import row_to_record
from hookline.stores.trace_queries import UNFINISHED, HookFigures, TraceFilter, TraceQueries, TraceStats
from hookline.user_dirs import find_user_dirs

# seconds between two polls of the file: short while records come, long while none do
_SHORTEST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
_LONGEST_VALUE: Final = 400
_HEAD: Final = ["time", "trace", "agent", "event", "tool", "decision", "by", "ran", "failed", "took", "about"]
# left out on a narrow terminal, the first one first
_OPTIONAL: Final = ("ran", "failed", "event", "took", "tool", "agent", "time")

_STYLES: Final[Mapping[str, CellStyle]] = {
    "time": TextStyle.DIM,
    "trace": TextStyle.DIM,
    "decision": style_word,
    "failed": lambda cell: TextStyle.DIM if cell == "0" else TextStyle.BAD,
}


def _open_traces() -> TraceQueries:
    return TraceQueries(find_user_dirs().data / "traces.db")


def _read_filter(args: argparse.Namespace) -> TraceFilter:
    return TraceFilter(
        session=args.session,
        hook=args.hook,
        event=parse_event(args.event) if args.event else "",
        host=args.agent or "",
        project=os.path.abspath(args.project) if args.project is not None else "",  # noqa: PTH100 - resolves no links
        decision=args.decision,
        text=args.text,
        since=args.since,
    )


def _list(args: argparse.Namespace) -> int:
    traces, wanted = _open_traces(), _read_filter(args)
    found = list(islice(traces.traces(wanted, failed=args.failed, blocked=args.blocked), args.limit))
    nothing = (
        "nothing was traced yet; `hookline install` lets agents ask the hooks, `hookline emit` raises an event by hand"
    )
    if wanted != TraceFilter() or args.failed or args.blocked:
        nothing = "no trace matches; an event outside agents leaves one only if a hook wanted it"
    rows = [
        [
            *(format_time(args, one.at), one.trace, one.host, one.event, one.tool, one.decision),
            *(", ".join(one.decided_by), str(one.ran), str(one.failed), format_span(one.duration), one.subject),
        ]
        for one in found
    ]
    table = Table(_HEAD, rows, _STYLES, optional=_OPTIONAL, nothing=nothing)
    return render(args, [{**asdict(summary), "blocked": summary.blocked} for summary in found], table)


def _show(args: argparse.Namespace) -> int:
    traces = _open_traces()
    trace = args.trace
    if trace == "last":
        newest = next(traces.traces(TraceFilter()), None)
        trace = newest.trace if newest is not None else ""
    records = traces.records(trace)
    if not records:
        nothing = "nothing was traced yet" if args.trace == "last" else f'there is no trace "{args.trace}"'
        raise ConfigError(f"{nothing}; `hookline trace list` shows the newest")
    return render(args, [asdict(record) for record in records], *lay_out_trace(records))


def lay_out_trace(records: Sequence[Record]) -> list[Line]:
    """Return the lines about one event: each record, and below it the details that its line does not contain."""
    start = records[0].at
    lines = [Line(f"trace {records[0].trace} of {format_clock(start)}", [(records[0].trace, TextStyle.BOLD)])]
    for record in records:
        since = f"{format_span(max(0.0, record.at - start)):>9}"
        lines.append(Line(f"  {since}  {_describe(record)}", [(since, TextStyle.DIM), *_mark(record)]))
        lines += [
            Line(f"             {name}: {_shorten(name, value)}", [(f"{name}:", TextStyle.DIM)])
            for name, value in record.detail.items()
            if name not in _IN_LINE and value
        ]
    return lines


def _mark(record: Record) -> list[tuple[str, TextStyle]]:
    """Return the words in the line of a record that are styled: its hook, and how it ended."""
    hook = [(f'"{record.hook}"', TextStyle.BOLD)] if record.hook else []
    words = {
        Step.FAILED: ("failed", TextStyle.BAD),
        Step.WARNING: ("warning", TextStyle.WARN),
        Step.SKIPPED: ("left out", TextStyle.WARN),
    }
    return [*hook, words.get(record.step, (record.decision, style_word(record.decision)))]


def _tail(args: argparse.Namespace) -> int:
    """Follow the file until the user interrupts or stdout has no reader; wait for a file that does not exist yet."""
    traces, wanted = _open_traces(), _read_filter(args)
    number = 0 if args.since else traces.newest()
    pause = _SHORTEST_PAUSE
    while has_reader():
        new = traces.after(number, wanted)
        for number, record in new:  # noqa: B007 - the last number is where to go on
            if args.json:
                write_bytes_exact(to_json_line(asdict(record)))
            else:
                at = format_clock(record.at)
                print_line(f"{at}  {_describe(record)}", marks=[(at, TextStyle.DIM), *_mark(record)])
        # in a file that was replaced or pruned, the numbers start again
        if not new and traces.newest() < number:
            number = 0
        pause = _SHORTEST_PAUSE if new else min(pause * 1.5, _LONGEST_PAUSE)
        time.sleep(pause)
    return 0


def _export(args: argparse.Namespace) -> int:
    traces, wanted = _open_traces(), _read_filter(args)
    if args.receipt:
        lines = write_receipt(traces, lambda row: wanted.matches(row_to_record(row)))
    else:
        lines = (to_json_line(asdict(record)) for record in traces.matching(wanted))
    if args.output is None:
        for line in lines:
            write_bytes_exact(line)
        return 0
    try:
        with args.output.open("xb") as file:
            args.output.chmod(0o600)
            file.writelines(lines)
    except FileExistsError:
        raise ConfigError(f"{args.output} is there already; name another file") from None
    except OSError as problem:
        raise ConfigError(f"cannot write {args.output}: {problem.strerror}") from None
    return 0


def _verify(args: argparse.Namespace) -> int:
    """Follow the chain of this machine's records, or of a receipt; the exit code is 1 where it breaks."""
    traces = _open_traces()
    lines: list[str] = []
    value: dict[str, object] = {}
    if args.receipt is None:
        checked = traces.verify()
        chain = traces.chain_id()
        about = pluralise(checked.records, "record")
    else:
        try:
            with args.receipt.open("rb") as file:
                receipt = read_receipt(file)
        except OSError as problem:
            raise ConfigError(f"cannot read {args.receipt}: {problem.strerror}") from None
        except ConfigError as problem:
            raise ConfigError(problem.message, path=str(args.receipt), line=problem.line) from None
        checked, chain = receipt.checked, receipt.head.chain
        about = f"{pluralise(receipt.shown, 'record')} of {args.receipt}"
        value |= {"shown": receipt.shown, "left_out": receipt.left_out}
        if receipt.left_out:
            lines.append(f"{pluralise(receipt.left_out, 'record')} beside them are only there as digests")
        if chain == traces.chain_id():
            checked = _compare(checked, traces)
    lines += [
        f"record {one.number} {one.problem}{f' ({format_clock(one.at)})' if one.at else ''}" for one in checked.breaks
    ]
    if checked.unchained:
        lines.append(f"{pluralise(checked.unchained, 'record')} of an earlier version of Hookline are not in the chain")
    if not checked.records and not checked.breaks:
        summary = "no record is in the chain, so nothing is proved"
    elif checked.holds:
        last = f"the last is {checked.head.number}, {checked.head.hash.hex()}"
        summary = f"{about}: none was changed, removed or moved; {last}"
    else:
        summary = f"{about}: not as they were written, from record {checked.breaks[0].number} on"
    value |= {
        "holds": checked.holds,
        "records": checked.records,
        "unchained": checked.unchained,
        "chain": chain,
        "start": checked.first.number,
        "head": {"number": checked.head.number, "hash": checked.head.hash.hex()},
        "breaks": [asdict(one) for one in checked.breaks],
    }
    render(args, value, summary, *lines)
    return 0 if checked.holds else 1


def _compare(checked: Checked, traces: TraceQueries) -> Checked:
    """Add a break where this machine's own records are not those of a receipt: they were written anew since."""
    known = traces.hash_of(checked.head.number)
    removed = traces.links()[0]
    if known == checked.head.hash or (known is None and removed.number >= checked.head.number):
        return checked
    problem = "is in the receipt, and another one, or none, is in the traces of this machine"
    return replace(checked, breaks=(*checked.breaks, Break(checked.head.number, 0.0, problem)))


def _prune(args: argparse.Namespace) -> int:
    traces = _open_traces()
    older_than = time.time() - args.older_than if args.older_than is not None else 0.0
    removed = traces.prune(older_than=older_than, keep=args.keep or 0)
    left = traces.count()
    text = f"removed {pluralise(removed, 'record')}, {left} {'is' if left == 1 else 'are'} left"
    return render(args, {"removed": removed, "left": left}, text)


def _describe(record: Record) -> str:
    about = f'hook "{record.hook}"' if record.hook else record.event
    # a later version may have written a step that this one does not know
    describe = _DESCRIPTIONS.get(record.step)
    return f"{about} {describe(record.detail) if describe is not None else record.step}".rstrip()


def _describe_completion(detail: Mapping[str, object]) -> str:
    reason = f": {detail['reason']}" if detail.get("reason") else ""
    observed = " (only observed)" if detail.get("observed") else ""
    how = ", as it did before" if detail.get("cached") else _describe_duration(detail)
    return f"said {detail.get('decision', '?')}{observed}{how}{reason}"


def _describe_failure(detail: Mapping[str, object]) -> str:
    blocked = ", which blocks" if detail.get("blocked_by_failure") else ""
    return f"failed{_describe_duration(detail)}{blocked}: {detail.get('message') or detail.get('failure', '')}"


def _describe_duration(detail: Mapping[str, object]) -> str:
    duration = get_duration(detail)
    return f" after {format_span(duration)}" if duration is not None else ""


def _describe_outcome(detail: Mapping[str, object]) -> str:
    deciders, reasons = detail.get("decided_by"), detail.get("reasons")
    by = f" by {', '.join(map(str, deciders))}" if isinstance(deciders, list | tuple) and deciders else ""
    why = f": {'; '.join(map(str, reasons))}" if isinstance(reasons, list | tuple) and reasons else ""
    return f"ends with {detail.get('decision', '?')}{by}{_describe_duration(detail)}{why}"


_DESCRIPTIONS: Final[Mapping[Step, Callable[[Mapping[str, object]], str]]] = {
    Step.EVENT: lambda detail: f"{detail.get('tool', '')}".strip() and f"of tool {detail['tool']}",
    Step.SKIPPED: lambda detail: f"left out ({detail.get('gate', '?')}): {detail.get('reason', '')}",
    Step.STARTED: lambda detail: f"starts ({detail.get('dialect', '?')})",
    Step.COMPLETED: _describe_completion,
    Step.FAILED: _describe_failure,
    Step.QUEUED: lambda detail: f"put into the queue as job {detail.get('job', '?')}",
    Step.ASKED: lambda detail: f"asked the person, who said {'yes' if detail.get('allowed') else 'no'}",
    Step.OUTCOME: _describe_outcome,
    Step.WARNING: lambda detail: f"warning: {detail.get('message', '')}",
}
# details that the line of a record contains already
_IN_LINE: Final = frozenset(
    (
        *("gate", "reason", "dialect", "decision", "duration", "failure", "message", "reasons", "observed"),
        *("blocked_by_failure", "cached", "allowed", "tool", "job", "decided_by"),
    )
)


def _shorten(name: str, value: object) -> str:
    if name == "usage":
        with suppress(msgspec.ValidationError):
            value = describe_usage(msgspec.convert(value, ModelUsage))
    text = (value if isinstance(value, str) else json_codec.dump(value).decode()).strip()
    if len(text) <= _LONGEST_VALUE:
        return text
    return f"{text[:_LONGEST_VALUE]}… ({len(text)} characters; --json shows all)"


def _decision_option(*more: str) -> Argument:
    words = [*(one.word for one in Decision), *more]

    def parse(text: str) -> str:
        # the default is read as well, and is empty
        if wrong := [one for one in text.split(",") if text and one.strip() not in words]:
            raise argparse.ArgumentTypeError(f'there is no decision "{wrong[0]}"; there are {", ".join(words)}')
        return text

    return argument(
        "--decision", f"only with this decision: {', '.join(words)}", type=parse, default="", metavar="WORD"
    )


_FILTER_OPTIONS: Final = (
    argument("--session", "only of this session", default="", metavar="ID"),
    argument("--hook", "only about this hook", default="", metavar="ID"),
    argument("--event", "only about this event", default=""),
    argument("--agent", "only of this agent", type=parse_dialect, metavar="NAME"),
    argument("--project", "only of this project", type=Path, metavar="DIR"),
    argument("--text", "only with this in the subject, the tool, the hook or the session", default=""),
    argument("--since", "only since 2h ago, or a date", type=parse_moment, default=0.0, metavar="WHEN"),
)


_STATS_HEAD: Final = ["hook", "runs", "succeeded", "blocked", "p50", "p95", "p99", "longest", "in all", "last run"]
# left out on a narrow terminal, the first one first
_STATS_OPTIONAL: Final = ("longest", "p99", "in all", "p50", "last run")
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
_STATS_STYLES: Final[Mapping[str, CellStyle]] = {
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


def _stats(args: argparse.Namespace) -> int:
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
    head = [*_STATS_HEAD[:-1], *(("tokens", "cost") if has_usage else ()), _STATS_HEAD[-1]]
    return render(args, value, Table(head, rows, _STATS_STYLES, optional=_STATS_OPTIONAL), *lines)


COMMANDS: Final = {
    "trace": CliCommand(
        "see what happened: list traces, show one, watch them come, export, verify or remove them",
        example="list --since 2h --blocked",
        default_action="list",
        actions={
            "list": CliCommand(
                "the newest traces, one line each",
                argument("--limit", "at most so many (default: 20)", type=parse_count, default=20, metavar="N"),
                ABSOLUTE,
                flag("--failed", "only those in which a hook failed"),
                flag("--blocked", "only those in which the operation was blocked"),
                *_FILTER_OPTIONS,
                _decision_option(UNFINISHED),
                JSON,
                example="--blocked",
                run=_list,
            ),
            "show": CliCommand(
                "everything about one event",
                argument("trace", 'its id, the beginning of it, or "last" (the default)', nargs="?", default="last"),
                JSON,
                example="last",
                run=_show,
            ),
            "tail": CliCommand(
                "watch records as they come, of every program of yours",
                *_FILTER_OPTIONS,
                _decision_option(),
                JSON,
                run=_tail,
            ),
            "export": CliCommand(
                "every record as a line of JSON",
                argument("--output", "write to a file, which must not exist yet", type=Path, metavar="FILE"),
                flag("--receipt", "with hashes, so that `hookline trace verify FILE` proves them elsewhere"),
                *_FILTER_OPTIONS,
                _decision_option(),
                run=_export,
            ),
            "verify": CliCommand(
                "prove that no record was changed, removed or moved",
                argument(
                    "receipt", "a receipt, instead of the traces of this machine", type=Path, nargs="?", metavar="FILE"
                ),
                JSON,
                run=_verify,
            ),
            "prune": CliCommand(
                "remove old records for good",
                OneOf(
                    (
                        argument("--older-than", "those older than 30d, 12h …", type=parse_span, metavar="SPAN"),
                        argument("--keep", "all but the newest N records", type=parse_count, metavar="N"),
                    ),
                    required=True,
                ),
                JSON,
                example="--older-than 30d",
                run=_prune,
            ),
        },
    ),
    "stats": CliCommand(
        "show how often hooks ran, failed and blocked, how long they took, and which are slow",
        argument("--hook", "only this hook", default="", metavar="ID"),
        argument("--agent", "only in this agent", type=parse_dialect, metavar="NAME"),
        argument("--since", "only since 2h ago, or a date", type=parse_moment, default=0.0, metavar="WHEN"),
        argument(
            "--slow",
            "call a hook slow from here (default: 1000 ms)",
            type=_parse_milliseconds,
            default=SLOW,
            metavar="MS",
        ),
        argument("--sort", "what comes first (default: total)", choices=tuple(_ORDERS), default="total"),
        argument("--top", "at most so many", type=parse_count, default=0, metavar="N"),
        flag("--prometheus", "print the metrics of all hooks and agents for Prometheus, without the options above"),
        JSON,
        example="--since 7d",
        run=_stats,
    ),
}
