"""`hookline queue`: jobs of background hooks, and messages that wait for an agent."""

import argparse
import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import asdict

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, OneOf, argument, flag, number
from hookline.cli._output import (
    ProgressBar,
    Table,
    format_ago,
    format_clock,
    format_span,
    pluralise,
    print_error,
    progress,
    render,
)
from hookline.cli._project import find_root, truncate
from hookline.cli._run_hooks import run_until_terminated
from hookline.cli._terminal import confirm
from hookline.errors import ConfigError
from hookline.model.job import InboxMessage, Job, JobState
from hookline.stores import worker_registry
from hookline.stores.queue import SqliteQueue
from hookline.user_dirs import find_user_dirs

_JOBS: Final = 4
_MOST_JOBS: Final = 64
_NEXT_COUNT: Final = 0.5  # seconds between two looks at the queue
_SHORTEST_ID: Final = 4  # characters of an id that is abbreviated
_SHOWN: Final = 200  # characters of a letter in a list; `show` has the rest


class _QueueView(NamedTuple):
    """The queue with its jobs and letters, of a project or of all."""

    data: Path
    queue: SqliteQueue
    jobs: list[Job]
    letters: list[InboxMessage]


def _open_queue(args: argparse.Namespace, *, everywhere: bool = False) -> _QueueView:
    root = find_root(args)
    data = find_user_dirs(root).data
    queue = SqliteQueue(data / "queue.db", wake=partial(worker_registry.ensure_worker, data, str(root)))
    # letters are stored under the real path of the project
    letters = queue.letters(None if everywhere else os.path.realpath(root))
    return _QueueView(data, queue, queue.jobs(None if everywhere else str(root)), letters)


def _list(args: argparse.Namespace) -> int:
    place = _open_queue(args, everywhere=args.all)
    jobs = [job for job in place.jobs if not args.dead or job.state is JobState.DEAD]
    letters = [] if args.dead else place.letters
    text: list[str | Table] = []
    if jobs:
        head = ["job", "hook", "event", "state", "attempts", "due", "last error"]
        rows = []
        for job in jobs:
            left = job.due - time.time()
            due = "-" if job.state is not JobState.WAITING else f"in {format_span(left)}" if left > 0 else "now"
            attempts = f"{job.attempts}{f' ({job.redelivered} redelivered)' if job.redelivered else ''}"
            rows.append([job.id, job.hook, job.event.name, job.state, attempts, due, job.error or "-"])
        text.append(Table(head, rows))
    if jobs and letters:
        text.append("")
    if letters:
        rows = [
            [letter.id, letter.hook or "-", letter.kind, format_ago(letter.created), truncate(letter.text, _SHOWN)]
            for letter in letters
        ]
        text.append("for the next agent here:" if not args.all else "for the next agent of each project:")
        text.append(Table(["letter", "hook", "kind", "since", "text"], rows))
    where = "" if args.all else " of this project; --all looks at every project"
    value = {"jobs": list(map(_job_to_json, jobs)), "letters": list(map(asdict, letters))}
    return render(args, value, *(text or [f"nothing waits in the queue{where}"]))


def _job_to_json(job: Job) -> Mapping[str, object]:
    event = {"name": job.event.name, "trace": job.event.id or None, "session": job.event.session.id or None}
    facts = {**asdict(job), "event": event, "error": job.error or None, "worker": job.worker or None}
    # internal: how the queue finds the hook again
    del facts["mark"]
    return facts


def _show(args: argparse.Namespace) -> int:
    place = _open_queue(args, everywhere=True)
    item = _find(place, [args.id])[0]
    if isinstance(item, InboxMessage):
        facts: dict[str, object] = asdict(item)
    else:
        facts = {**_job_to_json(item), "event": asdict(item.event)}
    lines = []
    for name, value in facts.items():
        shown = format_clock(value) if name in {"created", "due"} and isinstance(value, float) else value
        if name == "event" and isinstance(value, dict):
            shown = json_codec.dump(value).decode()
        if shown not in (None, ""):
            lines.append(f"  {name:<12}  {shown}")
    return render(args, facts, *lines)


def _retry(args: argparse.Namespace) -> int:
    place, chosen = _choose(args)
    for one in chosen:
        if isinstance(one, InboxMessage):
            raise ConfigError(f"{one.id} is a letter for the agent, which is handed over by itself")
        if one.state is JobState.RUNNING:
            raise ConfigError(f"job {one.id} is running; what becomes of it is known when it ends")
    names = [one.id for one in chosen]
    count = place.queue.retry(names)
    return render(args, {"retried": names}, f"{pluralise(count, 'job')} will run again")


def _drop(args: argparse.Namespace) -> int:
    place, chosen = _choose(args)
    running = [one.id for one in chosen if isinstance(one, Job) and one.state is JobState.RUNNING]
    shown = ["These are thrown away:", *(f"  {one.id}  {one.hook}" for one in chosen)]
    otherwise = "look with `hookline queue list`, then drop with --yes"
    if chosen and not args.yes and not asyncio.run(confirm(shown, "Throw them away?", otherwise=otherwise)):
        print_error("nothing was dropped")
        return 1
    count = place.queue.drop(one.id for one in chosen)
    return render(
        args,
        {"dropped": [one.id for one in chosen]},
        f"dropped {count}",
        *(f"job {name} is running: it ends as it will, and is not tried again" for name in running),
    )


def _choose(args: argparse.Namespace) -> tuple[_QueueView, list[Job | InboxMessage]]:
    """Return the jobs and letters with these ids in any project, or the dead jobs."""
    if bool(args.ids) == (args.dead or args.all):
        raise ConfigError(
            "name ids, or say --dead for the dead jobs of this project, or --all --dead for every project"
        )
    if args.ids:
        place = _open_queue(args, everywhere=True)
        return place, _find(place, args.ids)
    if not args.dead:
        raise ConfigError("--all goes with --dead: name what waits or runs by its id")
    place = _open_queue(args, everywhere=args.all)
    return place, [job for job in place.jobs if job.state is JobState.DEAD]


def _find(place: _QueueView, names: Iterable[str]) -> list[Job | InboxMessage]:
    known: list[Job | InboxMessage] = [*place.jobs, *place.letters]
    found: dict[str, Job | InboxMessage] = {}
    for name in names:
        matches = [one for one in known if one.id == name]
        if not matches and len(name) >= _SHORTEST_ID:
            matches = [one for one in known if one.id.startswith(name)]
        if not matches:
            raise ConfigError(
                f'there is no job or letter "{name}"; it may be done. `hookline queue list --all` shows all'
            )
        if len(matches) > 1:
            raise ConfigError(f'{len(matches)} ids begin with "{name}"; give more of it')
        found[matches[0].id] = matches[0]
    return list(found.values())


def _status(args: argparse.Namespace) -> int:
    place = _open_queue(args, everywhere=True)
    counts = place.queue.counts()
    letters = len(place.letters)
    alive = worker_registry.list_workers(place.data)
    value = {
        "queue": str(place.queue.path),
        "jobs": {str(state): count for state, count in counts.items()},
        "letters": letters,
        "workers": alive,
        "log": str(place.data / worker_registry.LOG),
    }
    lines = [f"{pluralise(counts[JobState.WAITING], 'job')} waiting, {counts[JobState.RUNNING]} running"]
    if counts[JobState.DEAD]:
        lines.append(f"{pluralise(counts[JobState.DEAD], 'dead job')}: `hookline queue list --all --dead` says why")
    lines += [f"{pluralise(letters, 'letter')} for agents", f"{pluralise(len(alive), 'worker')} at work"]
    if not alive and counts[JobState.WAITING] + counts[JobState.RUNNING]:
        lines.append("no worker is there: the next background hook starts one, `hookline queue work` does it now")
    return render(args, value, *lines)


def _work(args: argparse.Namespace) -> int:
    if args.detached:
        import signal  # noqa: PLC0415 - only a detached worker needs it

        # the default signal handling: a detached worker inherits what an agent blocks or ignores
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
    return run_until_terminated(_run_worker(args))


async def _run_worker(args: argparse.Namespace) -> int:
    from hookline.worker import Tally, Until, Worker  # noqa: PLC0415 - the other actions need no engine

    data = find_user_dirs(find_root(args)).data
    worker = Worker(data, jobs=args.jobs)
    until = Until.NOTHING_DUE if args.once else Until.EMPTY if args.until_empty else Until.ENDED
    if until is Until.ENDED:
        await worker.work(Until.IDLE if args.detached else until, only_one=args.detached)
    else:
        with progress(0, "jobs", args=args) as bar:
            counting = asyncio.create_task(_count_jobs(data, bar, lambda: worker.tally.done + worker.tally.dead))
            try:
                await worker.work(until)
            finally:
                counting.cancel()
    tally = worker.tally
    others = f", {tally.elsewhere} ended by other workers" if tally.elsewhere else ""
    done = f"{tally.done} done, {tally.later} put back, {tally.dead} given up{others}"
    lines = [] if args.detached else ["nothing to do" if tally == Tally() else done]
    return render(args, asdict(tally), *lines)


async def _count_jobs(data: Path, bar: ProgressBar, count_done: Callable[[], int]) -> None:
    """Tell the progress bar how many jobs are done, and how many there are."""
    queue = SqliteQueue(data / "queue.db")
    while True:
        counts = await asyncio.to_thread(queue.counts)
        done = count_done()
        bar.advance(done=done, total=done + counts[JobState.WAITING] + counts[JobState.RUNNING])
        await asyncio.sleep(_NEXT_COUNT)


_CHOICE: Final = (
    argument("ids", "which, by id or the beginning of one", nargs="*", metavar="ID"),
    flag("--dead", "every dead job of this project"),
    flag("--all", "with --dead: of every project"),
)
COMMAND: Final = CliCommand(
    "see, retry and drop background hooks, and what waits for an agent",
    *COMMON,
    example="list",
    default_action="list",
    actions={
        "list": CliCommand(
            "list jobs, and what waits for an agent, in this project",
            flag("--all", "of every project"),
            flag("--dead", "only jobs that were given up"),
            example="--all",
            run=_list,
        ),
        "show": CliCommand(
            "show everything about a job or a letter",
            argument("id", "a job or a letter, or the beginning of its id"),
            example="3f9a",
            run=_show,
        ),
        "retry": CliCommand("run jobs again that failed", *_CHOICE, example="--dead", run=_retry),
        "drop": CliCommand(
            "throw jobs or letters away", *_CHOICE, flag("--yes", "do not ask"), example="3f9a --yes", run=_drop
        ),
        "work": CliCommand(
            "run what waits, of every project",
            OneOf(
                (
                    flag("--once", "run what is due now, and end"),
                    flag("--until-empty", "end when nothing is left that could still run"),
                )
            ),
            argument(
                "--jobs",
                "how many run at once (4)",
                type=number(f"number of jobs, wanted 1 to {_MOST_JOBS}", most=_MOST_JOBS),
                default=_JOBS,
                metavar="N",
            ),
            flag("--detached", argparse.SUPPRESS),
            example="--until-empty",
            run=_work,
        ),
        "status": CliCommand("count what waits, and say who works on it", run=_status),
    },
)
