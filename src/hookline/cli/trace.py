"""`hookline trace`: what happened, event by event."""

import argparse
import time
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.cli._command import JSON, CliCommand, OneOf, argument, flag, parse_moment, parse_span
from hookline.cli._describe import get_duration
from hookline.cli._output import (
    Table,
    format_clock,
    format_span,
    has_reader,
    print_line,
    render,
    to_json_line,
    write_bytes_exact,
)
from hookline.cli._project import parse_event
from hookline.errors import ConfigError
from hookline.model.record import Record, Step
from hookline.stores.trace_queries import TraceFilter, TraceQueries
from hookline.user_dirs import find_user_dirs

# seconds between two polls of the file: short while records come, long while none do
_SHORTEST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
_LONGEST_VALUE: Final = 400
_HEAD: Final = ["time", "trace", "event", "tool", "decision", "ran", "failed", "left out", "took"]


def _parse_count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f'"{text}" is no whole number above 0')


def _open_traces() -> TraceQueries:
    return TraceQueries(find_user_dirs().data / "traces.db")


def _read_filter(args: argparse.Namespace) -> TraceFilter:
    event = parse_event(args.event) if args.event else ""
    return TraceFilter(session=args.session, hook=args.hook, event=event, since=args.since)


def _list(args: argparse.Namespace) -> int:
    traces = _open_traces()
    matching = (
        summary
        for summary in traces.traces(_read_filter(args), failed=args.failed, blocked=args.blocked)
        if (summary.failed or not args.failed) and (summary.blocked or not args.blocked)
    )
    found = list(islice(matching, args.limit))
    text = (
        Table(
            _HEAD,
            [
                [
                    *(format_clock(one.at), one.trace, one.event, one.tool, one.decision),
                    *map(str, (one.ran, one.failed, one.skipped)),
                    format_span(one.duration),
                ]
                for one in found
            ],
        )
        if found
        else "no such traces; an event that no hook wants leaves none"
    )
    return render(args, [{**asdict(summary), "blocked": summary.blocked} for summary in found], text)


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
    start = records[0].at
    lines = [f"trace {records[0].trace} of {format_clock(start)}"]
    for record in records:
        lines.append(f"  {format_span(max(0.0, record.at - start)):>9}  {_describe(record)}")
        lines += [
            f"             {name}: {_shorten(value)}"
            for name, value in record.detail.items()
            if name not in _IN_LINE and value not in ({}, [], "", None)
        ]
    return render(args, [asdict(record) for record in records], *lines)


def _tail(args: argparse.Namespace) -> int:
    """Follow the file until the user interrupts or stdout has no reader; wait for a file that does not exist yet."""
    traces = _open_traces()
    wanted = _read_filter(args)
    number = 0 if args.since else traces.newest()
    pause = _SHORTEST_PAUSE
    while has_reader():
        new = traces.after(number, wanted)
        for number, record in new:  # noqa: B007 - the last number is where to go on
            if args.json:
                write_bytes_exact(to_json_line(asdict(record)))
            else:
                print_line(f"{format_clock(record.at)}  {_describe(record)}")
        # in a file that was replaced or pruned, the numbers start again
        if not new and traces.newest() < number:
            number = 0
        pause = _SHORTEST_PAUSE if new else min(pause * 1.5, _LONGEST_PAUSE)
        time.sleep(pause)
    return 0


def _export(args: argparse.Namespace) -> int:
    traces = _open_traces()
    lines = (to_json_line(asdict(record)) for record in traces.matching(_read_filter(args)))
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


def _prune(args: argparse.Namespace) -> int:
    traces = _open_traces()
    older_than = time.time() - args.older_than if args.older_than is not None else 0.0
    removed = traces.prune(older_than=older_than, keep=args.keep or 0)
    left = traces.count()
    text = f"removed {removed} records, {left} are left"
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
    reasons = detail.get("reasons")
    why = f": {'; '.join(map(str, reasons))}" if isinstance(reasons, list | tuple) and reasons else ""
    return f"ends with {detail.get('decision', '?')}{_describe_duration(detail)}{why}"


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
        *("blocked_by_failure", "cached", "allowed", "tool", "job"),
    )
)


def _shorten(value: object) -> str:
    text = (value if isinstance(value, str) else json_codec.dump(value).decode()).strip()
    if len(text) <= _LONGEST_VALUE:
        return text
    return f"{text[:_LONGEST_VALUE]}… ({len(text)} characters; --json shows all)"


_FILTER_OPTIONS: Final = (
    argument("--session", "only of this session", default="", metavar="ID"),
    argument("--hook", "only about this hook", default="", metavar="ID"),
    argument("--event", "only about this event", default=""),
    argument("--since", "only since 2h ago, or a date", type=parse_moment, default=0.0, metavar="WHEN"),
)
COMMAND: Final = CliCommand(
    "see what happened: list traces, show one, watch them come, export or remove them",
    example="list --since 2h --blocked",
    actions={
        "list": CliCommand(
            "the newest traces, one line each",
            argument("--limit", "at most so many (default: 20)", type=_parse_count, default=20, metavar="N"),
            flag("--failed", "only those in which a hook failed"),
            flag("--blocked", "only those in which the operation was blocked"),
            *_FILTER_OPTIONS,
            JSON,
            example="--blocked",
            run=_list,
        ),
        "show": CliCommand(
            "everything about one event",
            argument("trace", 'its id, the beginning of it, or "last"'),
            JSON,
            example="last",
            run=_show,
        ),
        "tail": CliCommand("watch records as they come, of every program of yours", *_FILTER_OPTIONS, JSON, run=_tail),
        "export": CliCommand(
            "every record as a line of JSON",
            argument("--output", "write to a file, which must not exist yet", type=Path, metavar="FILE"),
            *_FILTER_OPTIONS,
            run=_export,
        ),
        "prune": CliCommand(
            "remove old records for good",
            OneOf(
                (
                    argument("--older-than", "those older than 30d, 12h …", type=parse_span, metavar="SPAN"),
                    argument("--keep", "all but the newest N records", type=_parse_count, metavar="N"),
                ),
                required=True,
            ),
            JSON,
            example="--older-than 30d",
            run=_prune,
        ),
    },
)
