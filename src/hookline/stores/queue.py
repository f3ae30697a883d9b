"""Background hooks in SQLite: a run that was put here is owed until it is done, whoever is killed in between."""

import hashlib
import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import asdict

from hookline import wire
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.job import LONGEST_DEBOUNCE, Job, JobState, Letter, Moment, Ticket, unreadable
from hookline.stores import _letters
from hookline.stores._kept import Kept
from hookline.stores._sqlite_file import Layout, text_of

logger = logging.getLogger(__name__)

MOST_JOBS: Final = 100_000
MOST_DEAD: Final = 10_000  # of those that were given up the newest stay; they keep no other job out
MOST_REDELIVERIES: Final = 10  # a hook that takes its worker down each time is not tried for ever
BUSY_TIMEOUT: Final = 10.0  # whoever writes holds the file for moments; what takes longer is an error to report
INBOX_TIMEOUT: Final = 1.0  # a letter that cannot be had now is there the next time

_TABLES: Final = (
    """CREATE TABLE jobs (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        hook TEXT NOT NULL,
        source TEXT NOT NULL,
        project TEXT NOT NULL,
        event TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        redelivered INTEGER NOT NULL DEFAULT 0,
        created REAL NOT NULL,
        due REAL NOT NULL,
        error TEXT NOT NULL DEFAULT '',
        worker TEXT NOT NULL DEFAULT '',
        mark TEXT NOT NULL,
        lane TEXT NOT NULL,
        alone INTEGER NOT NULL
    )""",
    "CREATE INDEX jobs_by_turn ON jobs (state, due, number)",
    "CREATE INDEX jobs_waiting ON jobs (lane, due, number) WHERE state = 'waiting'",
    "CREATE INDEX jobs_running ON jobs (lane) WHERE state = 'running'",
    *_letters.TABLES,
)
# "hklq", in the place SQLite has for that
LAYOUT: Final = Layout(application=0x686B_6C71, schema=1, tables=_TABLES)

# as `_job` reads them
_COLUMNS: Final = "id, hook, source, project, event, state, attempts, redelivered, created, due, error, worker, mark"
# Unless it says that it may, a hook never runs beside itself in one project: two would undo each other's work. So its
# jobs wait in a lane of their own, and only the first of each lane is looked at: of one hook, ten thousand may wait.
_NEXT: Final = f"""
    WITH RECURSIVE lanes (lane) AS (
        SELECT min(lane) FROM jobs INDEXED BY jobs_waiting WHERE state = 'waiting'
        UNION ALL
        SELECT (SELECT min(lane) FROM jobs INDEXED BY jobs_waiting WHERE state = 'waiting' AND lane > lanes.lane)
        FROM lanes WHERE lane IS NOT NULL
    )
    SELECT {_COLUMNS} FROM jobs AS next WHERE number IN (
        SELECT (
            SELECT number FROM jobs WHERE state = 'waiting' AND lane = lanes.lane AND due <= ?
            ORDER BY due, number LIMIT 1
        ) FROM lanes
    ) AND (alone = 0 OR NOT EXISTS (SELECT 1 FROM jobs WHERE state = 'running' AND lane = next.lane))
    ORDER BY due, number LIMIT 1
"""  # noqa: S608 - constants only
_OWED: Final = "SELECT count(*) FROM jobs WHERE state IN ('waiting', 'running')"
_NEXT_DUE: Final = "SELECT min(due) FROM jobs WHERE state = 'waiting'"
_FORGET: Final = """
    DELETE FROM jobs WHERE state = 'dead' AND number <= (
        SELECT number FROM jobs WHERE state = 'dead' ORDER BY number DESC LIMIT 1 OFFSET ?
    )
"""
# what makes a hook the one it is, where it has no name but its place in a file
_DOES: Final = (
    *("on", "matcher", "files", "writes", "condition", "kind", "command", "args", "shell", "module", "function"),
    *("url", "method", "prompt", "steps", "raises"),
)
# only where a hook has them, so that one without is still the one it was before there were such keys
_ALSO_DOES: Final = ("deletes", "reads", "runs", "urls")
_NUMBERED: Final = re.compile(r":[0-9]+(-[0-9]+)?$")
_events: Final = msgspec.json.Decoder(Event)

Wake = Callable[[], object]


def mark_of(hook: Hook) -> str:
    """Tell a hook from others that may come to its place in a file; empty for one that has a name of its own."""
    if _NUMBERED.search(hook.id) is None:
        return ""
    also = [(name, value) for name in _ALSO_DOES if (value := getattr(hook, name))]
    return _digest([*(getattr(hook, name) for name in _DOES), *also])


class SqliteQueue:
    """Keep jobs and letters in one file.

    `wake` is called after something was put that a worker has to see to. An emitter's queue is `durable`: a job it
    has put survives a power cut. A worker's is not: a power cut may make it forget that a job is done, which is then
    run once more.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        wake: Wake | None = None,
        durable: bool = True,
        busy_timeout: float = BUSY_TIMEOUT,
    ) -> None:
        self._kept = Kept(path, LAYOUT, busy_timeout=busy_timeout, durable=durable)
        # whoever waits for an answer does not wait long for what others would add to it
        self._inbox = Kept(path, LAYOUT, busy_timeout=min(busy_timeout, INBOX_TIMEOUT), durable=durable)
        self._wake = wake
        self.path = self._kept.path

    def put(self, hook: Hook, event: Event, *, project: str) -> Ticket:
        """Keep a hook's run for later; with a debounce, one that still waits takes the newer event instead.

        Raises:
            StoreError: It cannot be kept, or too many wait already.
        """
        now = time.time()
        mark = mark_of(hook)
        lane = _digest([mark or hook.id, hook.source_path, project])
        written = wire.dump({**asdict(event), "session": asdict(event.session)}).decode()
        with self._kept.transaction() as connection:
            ticket = _folded(connection, lane, written, now, hook.debounce) if hook.debounce else None
            if ticket is None:
                if connection.execute(_OWED).fetchone()[0] >= MOST_JOBS:
                    raise StoreError(
                        f"{self.path}: {MOST_JOBS} jobs are in the queue already; see `hookline queue status`"
                    )
                ticket = Ticket(id=os.urandom(6).hex())
                whose = (text_of(hook.id), text_of(hook.source_path), text_of(project), mark, lane)
                connection.execute(
                    "INSERT INTO jobs (id, hook, source, project, mark, lane, event, state, created, due, alone) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?)",
                    (ticket.id, *whose, written, now, now + hook.debounce, not hook.parallel),
                )
        self._woken()
        return ticket

    def claim(self, worker: str, most: int = 1) -> list[Job]:
        """Give a worker the jobs whose turn it is; they are its own until it says what became of them.

        Raises:
            StoreError: The file cannot be used.
        """
        now = time.time()
        with self._kept.reading() as connection:
            # looked at first without a lock: a worker asks far more often than there is something to do
            if most < 1 or connection.execute(_NEXT, (now,)).fetchone() is None:
                return []
        claimed: list[Job] = []
        with self._kept.transaction() as connection:
            while len(claimed) < most and (row := connection.execute(_NEXT, (now,)).fetchone()) is not None:
                connection.execute(
                    "UPDATE jobs SET state = 'running', worker = ?, attempts = attempts + 1 WHERE id = ?",
                    (worker, row[0]),
                )
                job = _job(row)
                claimed.append(
                    msgspec.structs.replace(job, state=JobState.RUNNING, worker=worker, attempts=job.attempts + 1)
                )
        return claimed

    def done(self, job: Job, letters: Sequence[Letter] = ()) -> None:
        """Forget a job that was done, and keep what its hook had to say: both or neither.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.transaction() as connection:
            gone = connection.execute("DELETE FROM jobs WHERE id = ? AND worker = ?", (job.id, job.worker))
            # somebody who took us for dead has it now, and will say the same
            if gone.rowcount:
                _letters.post(connection, letters)

    def put_back(self, job: Job, error: str, *, due: float, began: bool = True, is_redelivery: bool = False) -> None:
        """Let a job wait for another attempt; one that never `began` does not count.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = 'waiting', worker = '', due = ?, error = ?, redelivered = redelivered + ?, "
                "attempts = attempts - ? WHERE id = ? AND worker = ?",
                (due, text_of(error), is_redelivery, not began, job.id, job.worker),
            )

    def bury(self, job: Job, error: str) -> None:
        """Give a job up; it is kept until a person retries or drops it.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = 'dead', worker = '', error = ? WHERE id = ? AND worker = ?",
                (text_of(error), job.id, job.worker),
            )
            gone = connection.execute(_FORGET, (MOST_DEAD,)).rowcount
        if gone:
            logger.warning("%d jobs that were given up first are forgotten: %d are the most", gone, MOST_DEAD)

    def workers(self) -> list[str]:
        """Name the workers that have jobs.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.reading() as connection:
            return [name for (name,) in connection.execute("SELECT DISTINCT worker FROM jobs WHERE state = 'running'")]

    def release(self, worker: str) -> int:
        """Take the jobs of a dead worker back: they may have run, so they are marked when they are given out again.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.transaction() as connection:
            return connection.execute(
                "UPDATE jobs SET worker = '', due = ?, redelivered = redelivered + 1, error = 'its worker died', "
                "state = CASE WHEN redelivered + 1 >= ? THEN 'dead' ELSE 'waiting' END "
                "WHERE state = 'running' AND worker = ?",
                (time.time(), MOST_REDELIVERIES, worker),
            ).rowcount

    def set_clock_right(self) -> int:
        """Let jobs run that wait for a time that was written by a clock which has been set back since; say how many.

        Raises:
            StoreError: The file cannot be used.
        """
        now = time.time()
        late = "state = 'waiting' AND due > ? AND created > ?"
        with self._kept.reading() as connection:
            if connection.execute(f"SELECT 1 FROM jobs WHERE {late} LIMIT 1", (now, now)).fetchone() is None:  # noqa: S608
                return 0
        with self._kept.transaction() as connection:
            return connection.execute(
                f"UPDATE jobs SET due = ?, created = ? WHERE {late}",  # noqa: S608
                (now, now, now, now),
            ).rowcount

    def is_there(self) -> bool:
        """Say whether anything was ever put here.

        Raises:
            StoreError: The folder cannot be looked into.
        """
        return self._kept.is_there()

    def next_due(self) -> float | None:
        """Say when the next job is due, as seconds since the epoch; None when none waits.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.reading() as connection:
            due: float | None = connection.execute(_NEXT_DUE).fetchone()[0]
            return due

    def counts(self) -> Mapping[JobState, int]:
        """Count the jobs in each state.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.reading() as connection:
            found = dict(connection.execute("SELECT state, count(*) FROM jobs GROUP BY state"))
        return {state: found.get(str(state), 0) for state in JobState}

    def jobs(self, project: str | None = None, *, limit: int = -1) -> list[Job]:
        """List jobs of a project, or of all, in the order they came.

        Raises:
            StoreError: The file cannot be used.
        """
        where, values = ("WHERE project = ?", (text_of(project),)) if project is not None else ("", ())
        query = f"SELECT {_COLUMNS} FROM jobs {where} ORDER BY number LIMIT ?"  # noqa: S608 - constants only
        with self._kept.reading() as connection:
            return [_job(row) for row in connection.execute(query, (*values, limit))]

    def unfinished(self) -> frozenset[str]:
        """Name the jobs that are still to run or run just now, without looking at what they are about.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.reading() as connection:
            rows = connection.execute("SELECT id FROM jobs WHERE state <> ?", (JobState.DEAD,))
            return frozenset(str(found) for (found,) in rows)

    def retry(self, ids: Iterable[str]) -> int:
        """Let jobs run as if they had never failed: dead ones, and those that wait for a later attempt.

        Raises:
            StoreError: The file cannot be used.
        """
        now = time.time()
        with self._kept.transaction() as connection:
            changed = connection.executemany(
                # what may have run before still may have: only the hook's own failures are forgiven
                "UPDATE jobs SET state = 'waiting', attempts = min(redelivered, 1), redelivered = min(redelivered, 1), "
                "due = ? WHERE id = ? AND state <> 'running'",
                [(now, one) for one in ids],
            ).rowcount
        self._woken()
        return changed

    def drop(self, ids: Iterable[str]) -> int:
        """Throw jobs and letters away; give how many there were.

        Raises:
            StoreError: The file cannot be used.
        """
        chosen = list(ids)
        with self._kept.transaction() as connection:
            gone = connection.executemany("DELETE FROM jobs WHERE id = ?", [(one,) for one in chosen]).rowcount
            return gone + _letters.drop(connection, chosen)

    def post(self, letters: Sequence[Letter]) -> None:
        """Keep letters for the next agent in their projects.

        Raises:
            StoreError: They cannot be kept.
        """
        with self._kept.transaction() as connection:
            _letters.post(connection, letters)

    def collect(self, project: str) -> list[Letter]:
        """Hand over the oldest letters of a project.

        Whoever collects is an agent at work, so jobs that a reboot left behind are seen to as well.

        Raises:
            StoreError: The file cannot be used.
        """
        # most agents never have any, and a file is not made to find that out
        if not self.is_there():
            return []
        with self._inbox.reading() as connection:
            due = connection.execute(_NEXT_DUE).fetchone()[0]
            is_empty = not _letters.listed(connection, project)
        if due is not None and due <= time.time():
            self._woken()
        if is_empty:
            return []
        with self._inbox.transaction() as connection:
            return _letters.collect(connection, project)

    def letters(self, project: str | None = None) -> list[Letter]:
        """List the letters that wait in a project, or in all.

        Raises:
            StoreError: The file cannot be used.
        """
        with self._kept.reading() as connection:
            return _letters.listed(connection, project)

    def close(self) -> None:
        """Give the file back."""
        self._kept.close()
        self._inbox.close()

    def _woken(self) -> None:
        if self._wake is None:
            return
        try:
            self._wake()
        except OSError as problem:
            # what was put is safe all the same, and somebody else will see to it
            logger.warning("no worker could be started, `hookline queue work` does it by hand: %s", problem)


def _digest(values: Sequence[object]) -> str:
    return hashlib.sha256(wire.dump(values)).hexdigest()[:32]


def _folded(connection: sqlite3.Connection, lane: str, written: str, now: float, debounce: float) -> Ticket | None:
    """Put a newer event in the place of one that still waits; None when none does."""
    # one that failed before is about what happened then, and has its own times
    row = connection.execute(
        "SELECT id, event, created FROM jobs WHERE state = 'waiting' AND attempts = 0 "
        "AND lane = ? ORDER BY number LIMIT 1",
        (lane,),
    ).fetchone()
    if row is None:
        return None
    identifier, before, created = row
    due = min(now + debounce, created + debounce * LONGEST_DEBOUNCE)
    connection.execute("UPDATE jobs SET event = ?, due = ? WHERE id = ?", (written, due, identifier))
    earlier = _event(before)
    return Ticket(id=identifier, instead_of=Moment(trace=earlier.id, name=earlier.name, session=earlier.session.id))


def _job(row: sqlite3.Row | tuple[str, ...]) -> Job:
    identifier, hook, source, project, event, state, attempts, redelivered, created, due, error, worker, mark = row
    return Job(
        id=identifier,
        hook=hook,
        source=source,
        project=project,
        event=_event(event),
        mark=mark,
        state=JobState(state),
        attempts=int(attempts),
        redelivered=int(redelivered),
        created=float(created),
        due=float(due),
        error=error,
        worker=worker,
    )


def _event(written: str) -> Event:
    try:
        return _events.decode(written)
    except msgspec.DecodeError:
        # Hookline of another version may have events that this one does not know
        return unreadable(written)
