"""`hookline queue`: what runs in the background, what went wrong there, and what waits for an agent."""

import argparse
import asyncio
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from hookline import wire
from hookline.cli._about import cut
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain, counted, say, say_json, table
from hookline.cli._project import add_json, add_project, project_of
from hookline.cli._terminal import open_terminal
from hookline.cli._times import ago, clock, span
from hookline.errors import ConfigError
from hookline.folders import here, person_folders
from hookline.model.job import Job, JobState, Letter
from hookline.stores import standby
from hookline.stores.queue import SqliteQueue

HELP: Final = "see, retry and drop background hooks, and what waits for an agent"
EXAMPLE: Final = "hookline queue list"

_JOBS: Final = 4
_MOST_JOBS: Final = 64
_SHORTEST: Final = 4  # characters of an id; fewer could be anybody's
_SHOWN: Final = 200  # characters of a letter in a list; `show` has the rest

Action = Callable[[argparse.Namespace], int]


class _Place(Struct, frozen=True):
    """Which queue, and which project's part of it: None for all of it."""

    data: Path
    queue: SqliteQueue
    project: str | None

    def jobs(self) -> list[Job]:
        """List the jobs that are meant."""
        return self.queue.jobs(self.project)

    def letters(self) -> list[Letter]:
        """List the letters that are meant; they lie where the folder really is."""
        return self.queue.letters(os.path.realpath(self.project) if self.project is not None else None)


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (act, text, example) in _ACTIONS.items():
        one = actions.add_parser(
            name,
            help=text,
            description=text,
            epilog=f"example:\n  hookline queue {name} {example}".rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        one.set_defaults(act=act)
        add_project(one)
        add_json(one)
        _ARGUMENTS[name](one)


def run(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    act: Action = args.act
    return act(args)


def _place(args: argparse.Namespace, *, everywhere: bool = False) -> _Place:
    root = (project_of(args) or here()).absolute()
    data = person_folders(root).data
    queue = SqliteQueue(data / "queue.db", wake=partial(standby.wake, data, str(root)))
    return _Place(data, queue, None if everywhere else str(root))


def _list(args: argparse.Namespace) -> int:
    place = _place(args, everywhere=args.all)
    jobs = [job for job in place.jobs() if not args.dead or job.state is JobState.DEAD]
    letters = [] if args.dead else place.letters()
    if args.json:
        say_json({"jobs": list(map(_described, jobs)), "letters": list(map(asdict, letters))})
        return 0
    if jobs:
        table(["job", "hook", "event", "state", "attempts", "due", "last error"], [_row(job) for job in jobs])
    if jobs and letters:
        say()
    if letters:
        say("for the next agent here:" if not args.all else "for the next agent of each project:")
        rows = [
            [letter.id, letter.hook or "-", letter.kind, ago(letter.created), cut(letter.text, _SHOWN)]
            for letter in letters
        ]
        table(["letter", "hook", "kind", "since", "text"], rows)
    if not jobs and not letters:
        where = "" if args.all else " of this project; --all looks at every project"
        say(f"nothing waits in the queue{where}")
    return 0


def _row(job: Job) -> list[str]:
    left = job.due - time.time()
    due = f"in {span(left)}" if left > 0 else "now"
    again = f" ({job.redelivered} redelivered)" if job.redelivered else ""
    return [
        job.id,
        job.hook,
        job.event.name,
        job.state,
        f"{job.attempts}{again}",
        due if job.state is JobState.WAITING else "-",
        job.error or "-",
    ]


def _described(job: Job) -> Mapping[str, object]:
    event = {"name": job.event.name, "trace": job.event.id or None, "session": job.event.session.id or None}
    facts = {**asdict(job), "event": event, "error": job.error or None, "worker": job.worker or None}
    # how a job finds its hook again is the queue's own business
    del facts["mark"]
    return facts


def _show(args: argparse.Namespace) -> int:
    place = _place(args, everywhere=True)
    found = _named(place, [args.id])[0]
    if isinstance(found, Letter):
        facts: dict[str, object] = asdict(found)
    else:
        facts = {**_described(found), "event": asdict(found.event)}
    if args.json:
        say_json(facts)
        return 0
    for name, value in facts.items():
        shown = clock(value) if name in {"created", "due"} and isinstance(value, float) else value
        if name == "event" and isinstance(value, dict):
            shown = wire.dump(value).decode()
        if shown not in (None, ""):
            say(f"  {name:<12}  {shown}")
    return 0


def _retry(args: argparse.Namespace) -> int:
    place, chosen = _chosen(args)
    jobs = [one for one in chosen if isinstance(one, Job)]
    for one in chosen:
        if isinstance(one, Letter):
            raise ConfigError(f"{one.id} is a letter for the agent, which is handed over by itself")
        if one.state is JobState.RUNNING:
            raise ConfigError(f"job {one.id} is running; what becomes of it is known when it ends")
    count = place.queue.retry(job.id for job in jobs)
    if args.json:
        say_json({"retried": [job.id for job in jobs]})
    else:
        say(f"{counted(count, 'job')} will run again")
    return 0


def _drop(args: argparse.Namespace) -> int:
    place, chosen = _chosen(args)
    running = [one.id for one in chosen if isinstance(one, Job) and one.state is JobState.RUNNING]
    if chosen and not args.yes and not asyncio.run(_is_sure(chosen)):
        complain("nothing was dropped")
        return 1
    count = place.queue.drop(one.id for one in chosen)
    if args.json:
        say_json({"dropped": [one.id for one in chosen]})
        return 0
    say(f"dropped {count}")
    for name in running:
        say(f"job {name} is running: it ends as it will, and is not tried again")
    return 0


async def _is_sure(chosen: list[Job | Letter]) -> bool:
    terminal = open_terminal(os.environ)
    if terminal is None:
        raise ConfigError("there is no terminal to ask at; look with `hookline queue list`, then drop with --yes")
    try:
        async with terminal.turn():
            what = [f"  {one.id}  {one.hook}" for one in chosen]
            terminal.show(["These are thrown away:", *what])
            return (await terminal.answer("Throw them away? [y] yes  [n] no  (n) ")) in {"y", "yes"}
    finally:
        terminal.close()


def _chosen(args: argparse.Namespace) -> tuple[_Place, list[Job | Letter]]:
    """Find what is meant: by id in every project, or everything of a kind in this one."""
    if bool(args.ids) == (args.dead or args.all):
        raise ConfigError(
            "name ids, or say --dead for the dead jobs of this project, or --all --dead for every project"
        )
    if args.ids:
        place = _place(args, everywhere=True)
        return place, _named(place, args.ids)
    if not args.dead:
        raise ConfigError("--all goes with --dead: name what waits or runs by its id")
    place = _place(args, everywhere=args.all)
    return place, [job for job in place.jobs() if job.state is JobState.DEAD]


def _named(place: _Place, names: Iterable[str]) -> list[Job | Letter]:
    known: list[Job | Letter] = [*place.jobs(), *place.letters()]
    found: dict[str, Job | Letter] = {}
    for name in names:
        meant = [one for one in known if one.id == name]
        if not meant and len(name) >= _SHORTEST:
            meant = [one for one in known if one.id.startswith(name)]
        if not meant:
            raise ConfigError(
                f'there is no job or letter "{name}"; it may be done. `hookline queue list --all` shows all'
            )
        if len(meant) > 1:
            raise ConfigError(f'{len(meant)} ids begin with "{name}"; give more of it')
        found[meant[0].id] = meant[0]
    return list(found.values())


def _status(args: argparse.Namespace) -> int:
    place = _place(args, everywhere=True)
    counts = place.queue.counts()
    letters = len(place.letters())
    alive = standby.workers(place.data)
    if args.json:
        say_json(
            {
                "queue": str(place.queue.path),
                "jobs": {str(state): count for state, count in counts.items()},
                "letters": letters,
                "workers": alive,
                "log": str(place.data / standby.LOG),
            }
        )
        return 0
    say(f"{counted(counts[JobState.WAITING], 'job')} waiting, {counts[JobState.RUNNING]} running")
    if counts[JobState.DEAD]:
        say(f"{counted(counts[JobState.DEAD], 'dead job')}: `hookline queue list --all --dead` says why")
    say(f"{counted(letters, 'letter')} for agents")
    say(f"{counted(len(alive), 'worker')} at work")
    if not alive and counts[JobState.WAITING] + counts[JobState.RUNNING]:
        say("no worker is there: the next background hook starts one, `hookline queue work` does it now")
    return 0


def _work(args: argparse.Namespace) -> int:
    if args.detached:
        _forget_who_started_us()
    try:
        return asyncio.run(_working(args))
    except asyncio.CancelledError:
        return TERMINATED


async def _working(args: argparse.Namespace) -> int:
    from hookline.background.worker import Until, Worker  # noqa: PLC0415 - the other actions need no engine

    end_hooks_with_us()
    worker = Worker(_place(args).data, jobs=args.jobs)
    until = Until.NOTHING_DUE if args.once else Until.EMPTY if args.until_empty else Until.ENDED
    await worker.work(Until.IDLE if args.detached else until, only_one=args.detached)
    tally = worker.tally
    if args.json:
        say_json(asdict(tally))
    elif not args.detached:
        say(f"{tally.done} done, {tally.later} put back, {tally.dead} given up")
    return 0


def _forget_who_started_us() -> None:
    """Take signals as a program does that was started by nobody: what an agent ignores or holds back is its own."""
    import signal  # noqa: PLC0415 - only a worker that started by itself needs it

    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _jobs_at_once(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_JOBS:
        raise argparse.ArgumentTypeError(f"{text} is no number of jobs, wanted 1 to {_MOST_JOBS}")
    return int(text)


def _list_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="of every project")
    parser.add_argument("--dead", action="store_true", help="only jobs that were given up")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a job or a letter, or the beginning of its id")


def _choose_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", metavar="ID", help="which, by id or the beginning of one")
    parser.add_argument("--dead", action="store_true", help="every dead job of this project")
    parser.add_argument("--all", action="store_true", help="with --dead: of every project")


def _drop_arguments(parser: argparse.ArgumentParser) -> None:
    _choose_arguments(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _work_arguments(parser: argparse.ArgumentParser) -> None:
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--once", action="store_true", help="run what is due now, and end")
    ends.add_argument("--until-empty", action="store_true", help="end when nothing is left that could still run")
    parser.add_argument("--jobs", type=_jobs_at_once, default=_JOBS, metavar="N", help="how many run at once (4)")
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)


def _no_more(_parser: argparse.ArgumentParser) -> None:
    """Take nothing more."""


_ACTIONS: Final[Mapping[str, tuple[Action, str, str]]] = {
    "list": (_list, "list jobs, and what waits for an agent, in this project", "--all"),
    "show": (_show, "show everything about a job or a letter", "3f9a"),
    "retry": (_retry, "run jobs again that failed", "--dead"),
    "drop": (_drop, "throw jobs or letters away", "3f9a --yes"),
    "work": (_work, "run what waits, of every project", "--until-empty"),
    "status": (_status, "count what waits, and say who works on it", ""),
}

_ARGUMENTS: Final[Mapping[str, Callable[[argparse.ArgumentParser], None]]] = {
    "list": _list_arguments,
    "show": _show_arguments,
    "retry": _choose_arguments,
    "drop": _drop_arguments,
    "work": _work_arguments,
    "status": _no_more,
}
