"""`hookline replay`: what the hooks as they are now would decide about what happened before."""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline.cli._command import COMMON, CliCommand, argument, flag, parse_count, parse_dialect, parse_moment
from hookline.cli._output import Table, format_clock, format_span, pluralise, print_error, progress, render
from hookline.cli._project import get_project_dir
from hookline.cli._run_hooks import run_until_terminated
from hookline.errors import ConfigError
from hookline.replay.recording import Recording, read_recording, read_records
from hookline.replay.replay import HookChoice, ReplayReport, replay
from hookline.stores.trace_queries import TraceFilter, TraceQueries
from hookline.user_dirs import find_user_dirs

CHANGED: Final = 1
_DAY: Final = 86_400.0
_MOST_ROWS: Final = 100
_HEAD: Final = ("time", "agent", "subject", "was", "would be", "hook", "reason")


async def _replay(args: argparse.Namespace) -> int:
    recording = Recording() if args.files else _read_traces(args)
    for path in args.files:
        recording.add(read_recording(path))
    recording.select(session=args.session, agent=args.agent or "", since=args.since or 0.0, limit=args.limit or 0)
    choice = HookChoice(project=get_project_dir(args), config=args.config, only=args.hook, uncontained=args.uncontained)
    if args.config is not None and not args.config.is_dir():
        raise ConfigError(f"--config: there is no folder {args.config}")
    with progress(len(recording.events), "replaying", args=args) as bar:
        report = await replay(recording, choice, on_progress=bar.advance)
    for note in (*report.notes, *report.problems):
        print_error(f"hookline: {note}")
    value = {"changed": len(report.changes), **asdict(report)}
    value["changes"] = [asdict(change) for change in report.changes]
    value["skipped"] = [asdict(one) for one in report.skipped]
    render(args, value, *_describe(report))
    if not args.expect_no_change:
        return 0
    if not report.events:
        print_error("hookline: no event was replayed, so nothing is known about a change")
    return CHANGED if report.changes or report.problems or not report.events else 0


def _read_traces(args: argparse.Namespace) -> Recording:
    root = get_project_dir(args)
    traces = TraceQueries(find_user_dirs(root).data / "traces.db")
    since = args.since or (0.0 if args.session else time.time() - _DAY)
    project = str(root) if root is not None else ""
    wanted = TraceFilter(session=args.session, host=args.agent or "", since=since, project=project)
    return read_records(traces.matching(wanted))


def _describe(report: ReplayReport) -> Iterator[str | Table]:
    if not report.events and not report.skipped:
        yield "there is no such event to replay; `hookline trace list` shows what was recorded"
        return
    total = f"{report.events:,}"
    events = f"{total} {'event' if report.events == 1 else 'events'}"
    yield f"{events} replayed against {pluralise(report.hooks, 'hook')} in {format_span(report.seconds)}"
    for change, count in report.counts.items():
        was, _, now = change.partition(" -> ")
        yield f"was {was}, would be {now}: {count:,} of {total}"
    if not report.changes:
        yield "nothing would be decided otherwise"
    else:
        yield ""
        rows = [
            (format_clock(one.at), one.agent, one.subject or one.event, one.was, one.now, one.hook, one.reason)
            for one in report.changes[:_MOST_ROWS]
        ]
        yield Table(_HEAD, rows)
        if len(report.changes) > _MOST_ROWS:
            yield f"and {len(report.changes) - _MOST_ROWS:,} more; --json has all of them"
    for one in report.skipped:
        what = f'hook "{one.hook}" was not replayed at {pluralise(one.events, "event")}' if one.hook else ""
        yield f"{what or f'{one.events:,} not replayed'}: {one.reason}"


COMMAND: Final = CliCommand(
    "run recorded events against the hooks as they are now, contained and without effects, and show what would be decided "
    "otherwise; exit 1 with --expect-no-change when anything would",
    argument(
        "files",
        "transcripts of Claude Code, Codex CLI or Gemini CLI, or exports of `hookline trace export`; "
        "without any, the traces of the last day",
        nargs="*",
        type=Path,
        metavar="FILE",
    ),
    argument("--since", "only events since then: 2h, 30d, or a date", type=parse_moment, metavar="WHEN"),
    argument("--session", "only events of this session", default="", metavar="S"),
    argument("--agent", "only events of this agent", type=parse_dialect, metavar="NAME"),
    argument("--hook", "compare what this one hook decides", default="", metavar="H"),
    argument("--config", "the hooks of the hookline.toml in this folder, and no others", type=Path, metavar="DIR"),
    argument("--limit", "only the newest N events", type=parse_count, metavar="N"),
    flag(
        "--expect-no-change",
        "exit 1 when anything would be decided otherwise, nothing was replayed, or the configuration has errors",
    ),
    flag("--uncontained", "run the processes of hooks even where this machine cannot contain them"),
    *COMMON,
    example="--since 7d --hook no-force-push",
    run=lambda args: run_until_terminated(_replay(args)),
)
