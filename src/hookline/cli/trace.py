"""`hookline trace`: what happened, event by event."""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline import wire
from hookline.cli._names import event_named
from hookline.cli._output import hand_over, is_read, json_escaped, say, say_json, table
from hookline.cli._times import clock, moment_of, seconds_of, span
from hookline.errors import ConfigError
from hookline.model.record import Record, Step
from hookline.stores.history import History, Question, Summary
from hookline.workspace import person_folders

HELP: Final = "see what happened: list traces, show one, watch them come, export or remove them"
EXAMPLE: Final = "hookline trace list --since 2h --blocked"

# how often the file is looked at: soon while things happen, seldom while nothing does
_SOON: Final = 0.1
_SELDOM: Final = 1.0
_LONGEST: Final = 400


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    one = actions.add_parser("list", help="the newest traces, one line each")
    one.add_argument("--limit", type=_count, default=20, metavar="N", help="at most so many (default: 20)")
    one.add_argument("--failed", action="store_true", help="only those in which a hook failed")
    one.add_argument("--blocked", action="store_true", help="only those in which the operation was blocked")
    _add_question(one)

    one = actions.add_parser("show", help="everything about one event")
    one.add_argument("trace", metavar="TRACE", help='its id, the beginning of it, or "last"')
    one.add_argument("--json", action="store_true", help="print JSON")

    one = actions.add_parser("tail", help="watch records as they come, of every program of yours")
    _add_question(one)

    one = actions.add_parser("export", help="every record as a line of JSON")
    one.add_argument("--output", type=Path, metavar="FILE", help="write to a file, which must not exist yet")
    _add_question(one, answers_json=False)

    one = actions.add_parser("prune", help="remove old records for good")
    which = one.add_mutually_exclusive_group(required=True)
    which.add_argument("--older-than", type=seconds_of, metavar="SPAN", help="those older than 30d, 12h …")
    which.add_argument("--keep", type=_count, metavar="N", help="all but the newest N records")
    one.add_argument("--json", action="store_true", help="print JSON")


def _add_question(parser: argparse.ArgumentParser, *, answers_json: bool = True) -> None:
    parser.add_argument("--session", default="", metavar="ID", help="only of this session")
    parser.add_argument("--hook", default="", metavar="ID", help="only about this hook")
    parser.add_argument("--event", default="", metavar="EVENT", help="only about this event")
    parser.add_argument("--since", type=moment_of, default=0.0, metavar="WHEN", help="only since 2h ago, or a date")
    if answers_json:
        parser.add_argument("--json", action="store_true", help="print JSON")


def _count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f'"{text}" is no whole number above 0')


def run(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    return _ACTIONS[args.action](args, History(person_folders().data / "traces.db"))


def _question(args: argparse.Namespace) -> Question:
    event = event_named(args.event) if args.event else ""
    return Question(session=args.session, hook=args.hook, event=event, since=args.since)


def _list(args: argparse.Namespace, history: History) -> int:
    found = list(islice(_wanted(args, history), args.limit))
    if args.json:
        say_json([{**asdict(summary), "blocked": summary.blocked} for summary in found])
    elif found:
        head = ["time", "trace", "event", "tool", "decision", "ran", "failed", "left out", "took"]
        table(head, [_row(summary) for summary in found])
    else:
        say("no such traces; an event that no hook wants leaves none")
    return 0


def _wanted(args: argparse.Namespace, history: History) -> Iterator[Summary]:
    for summary in history.traces(_question(args)):
        if (summary.failed or not args.failed) and (summary.blocked or not args.blocked):
            yield summary


def _row(summary: Summary) -> list[str]:
    return [
        clock(summary.at),
        summary.trace,
        summary.event,
        summary.tool,
        summary.decision,
        *map(str, (summary.ran, summary.failed, summary.skipped)),
        span(summary.duration),
    ]


def _show(args: argparse.Namespace, history: History) -> int:
    trace = args.trace
    if trace == "last":
        newest = next(history.traces(Question()), None)
        trace = newest.trace if newest is not None else ""
    records = history.records(trace)
    if not records:
        nothing = "nothing was traced yet" if args.trace == "last" else f'there is no trace "{args.trace}"'
        raise ConfigError(f"{nothing}; `hookline trace list` shows the newest")
    if args.json:
        say_json([asdict(record) for record in records])
        return 0
    say(f"trace {records[0].trace} of {clock(records[0].at)}")
    for record in records:
        say(f"  {span(max(0.0, record.at - records[0].at)):>9}  {_line(record)}")
        for name, value in _particulars(record):
            say(f"             {name}: {_shown(value)}")
    return 0


def _tail(args: argparse.Namespace, history: History) -> int:
    """Follow the file until the person interrupts or nobody reads; a file that is not there yet is waited for."""
    question = _question(args)
    number = 0 if args.since else history.newest()
    pause = _SOON
    while is_read():
        new = history.after(number, question)
        for number, record in new:  # noqa: B007 - the last number is where to go on
            if args.json:
                hand_over(_json_line(record))
            else:
                say(f"{clock(record.at)}  {_line(record)}")
        # a file that was moved away or pruned starts to count anew
        if not new and history.newest() < number:
            number = 0
        pause = _SOON if new else min(pause * 1.5, _SELDOM)
        time.sleep(pause)
    return 0


def _export(args: argparse.Namespace, history: History) -> int:
    lines = map(_json_line, history.matching(_question(args)))
    if args.output is None:
        for line in lines:
            hand_over(line)
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


def _json_line(record: Record) -> bytes:
    """Give a record for programs: nothing in it is masked or cut, and nothing steers a screen it gets to."""
    return json_escaped(wire.dump(asdict(record)).decode()).encode() + b"\n"


def _prune(args: argparse.Namespace, history: History) -> int:
    older_than = time.time() - args.older_than if args.older_than is not None else 0.0
    removed = history.prune(older_than=older_than, keep=args.keep or 0)
    if args.json:
        say_json({"removed": removed, "left": history.count()})
    else:
        say(f"removed {removed} records, {history.count()} are left")
    return 0


_ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace, History], int]]] = {
    "list": _list,
    "show": _show,
    "tail": _tail,
    "export": _export,
    "prune": _prune,
}


def _line(record: Record) -> str:
    about = f'hook "{record.hook}"' if record.hook else record.event
    return f"{about} {_SAID[record.step](record.detail)}".rstrip()


def _ended(detail: Mapping[str, object]) -> str:
    reason = f": {detail['reason']}" if detail.get("reason") else ""
    observed = " (only observed)" if detail.get("observed") else ""
    how = ", as it did before" if detail.get("cached") else _took(detail)
    return f"said {detail.get('decision', '?')}{observed}{how}{reason}"


def _failed(detail: Mapping[str, object]) -> str:
    blocked = ", which blocks" if detail.get("blocked_by_failure") else ""
    return f"failed{_took(detail)}{blocked}: {detail.get('message') or detail.get('failure', '')}"


def _took(detail: Mapping[str, object]) -> str:
    duration = detail.get("duration")
    return f" after {span(duration)}" if isinstance(duration, int | float) else ""


def _outcome(detail: Mapping[str, object]) -> str:
    reasons = detail.get("reasons")
    why = f": {'; '.join(map(str, reasons))}" if isinstance(reasons, list | tuple) and reasons else ""
    return f"ends with {detail.get('decision', '?')}{_took(detail)}{why}"


# a step that a later version knows and this one does not is still worth a line
class _Sayings(dict[Step, Callable[[Mapping[str, object]], str]]):
    def __missing__(self, step: Step) -> Callable[[Mapping[str, object]], str]:
        return lambda _detail: str(step)


_SAID: Final = _Sayings(
    {
        Step.EVENT: lambda detail: f"{detail.get('tool', '')}".strip() and f"of tool {detail['tool']}",
        Step.SKIPPED: lambda detail: f"left out ({detail.get('gate', '?')}): {detail.get('reason', '')}",
        Step.STARTED: lambda detail: f"starts ({detail.get('dialect', '?')})",
        Step.COMPLETED: _ended,
        Step.FAILED: _failed,
        Step.QUEUED: lambda detail: f"put into the queue as job {detail.get('job', '?')}",
        Step.ASKED: lambda detail: f"asked the person, who said {'yes' if detail.get('allowed') else 'no'}",
        Step.OUTCOME: _outcome,
        Step.WARNING: lambda detail: f"warning: {detail.get('message', '')}",
    }
)
# what is said in the line itself
_IN_LINE: Final = frozenset(
    (
        *("gate", "reason", "dialect", "decision", "duration", "failure", "message", "reasons", "observed"),
        *("blocked_by_failure", "cached", "allowed", "tool", "job"),
    )
)


def _particulars(record: Record) -> Iterator[tuple[str, object]]:
    for name, value in record.detail.items():
        if name not in _IN_LINE and value not in ({}, [], "", None):
            yield name, value


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else wire.dump(value).decode()
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters; --json shows all)"
