"""The queue of background hooks in SQLite, and the inbox of letters for agents.

A job stays in the queue until it is done, whichever process is killed in between.
"""

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

from hookline import json_codec
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.hook import TARGETS, Hook
from hookline.model.job import (
    LONGEST_DEBOUNCE,
    EventRef,
    InboxMessage,
    Job,
    JobState,
    Ticket,
    fold_events,
    unreadable_event,
)
from hookline.model.verdict import EffectKind
from hookline.stores._sqlite_file import Layout, SqliteConnection, to_number, to_utf8

logger = logging.getLogger(__name__)

MOST_JOBS: Final = 100_000
MOST_DEAD: Final = 10_000  # failed jobs; the oldest are removed
MOST_REDELIVERIES: Final = 10  # of a hook that kills its worker each time
BUSY_TIMEOUT: Final = 10.0  # seconds; writers hold the lock for milliseconds
INBOX_TIMEOUT: Final = 1.0  # seconds; the agent gets the letter the next time
# An agent that comes back after a holiday must not be flooded.
MOST_LETTERS: Final = 100
MOST_COLLECTED: Final = 10
LONGEST_LETTER: Final = 20_000  # characters
LETTER_EXPIRY: Final = 7 * 86_400.0  # seconds

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
    """CREATE TABLE letters (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        project TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        hook TEXT NOT NULL,
        trace TEXT NOT NULL,
        created REAL NOT NULL
    )""",
    "CREATE INDEX letters_by_project ON letters (project, number)",
)
# the application id is "hklq"
LAYOUT: Final = Layout(application=0x686B_6C71, schema=1, tables=_TABLES)

# fields of `Job`
_COLUMNS: Final = "id, hook, source, project, event, state, attempts, redelivered, created, due, error, worker, mark"
# Unless it is `parallel`, a hook never runs twice at a time in one project: two runs would undo each other's work. So its
# jobs have a lane of their own, and only the first job of each lane is read: ten thousand jobs of one hook may wait.
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
"""
# The subject of a debounced job. The index is created with the first of them: files of earlier versions have none.
_SUBJECT: Final = "folded_by"
_SUBJECT_OF: Final = f"coalesce(json_extract(event, '$.{_SUBJECT}'), '')"
_SUBJECT_INDEX: Final = (
    f"CREATE INDEX IF NOT EXISTS jobs_by_subject ON jobs (lane, {_SUBJECT_OF}) WHERE state = 'waiting' AND attempts = 0"
)
_OWED: Final = "SELECT count(*) FROM jobs WHERE state IN ('waiting', 'running')"
_NEXT_DUE: Final = "SELECT min(due) FROM jobs WHERE state = 'waiting'"
_FORGET: Final = """
    DELETE FROM jobs WHERE state = 'dead' AND number <= (
        SELECT number FROM jobs WHERE state = 'dead' ORDER BY number DESC LIMIT 1 OFFSET ?
    )
"""
# the fields that identify a hook without a name
_DOES: Final = (
    *("on", "matcher", "files", "writes", "condition", "kind", "command", "args", "shell", "module", "function"),
    *("url", "method", "prompt", "steps", "raises"),
)
# only if set, so that marks stay the same for hooks from before these fields existed
_ALSO_DOES: Final = ("deletes", "reads", "runs", "urls", "body", *TARGETS)
_NUMBERED: Final = re.compile(r":[0-9]+(-[0-9]+)?$")
_events: Final = msgspec.json.Decoder(Event)
_LETTER_COLUMNS: Final = "id, project, kind, text, hook, trace, created"
_LETTER_KINDS: Final = frozenset(str(kind) for kind in EffectKind)

Wake = Callable[[], object]


def mark_of(hook: Hook) -> str:
    """Return a digest that identifies a hook whose id is only a position in a file; empty for a hook with a name."""
    if _NUMBERED.search(hook.id) is None:
        return ""
    also = [(name, value) for name in _ALSO_DOES if name not in _DOES and (value := getattr(hook, name))]
    return _digest([*(getattr(hook, name) for name in _DOES), *also])


class SqliteQueue:
    """Stores jobs and letters in one file.

    Every method raises `StoreError` when the file cannot be used. `wake` is called after a job was put. An emitter's queue
    is `durable`: its jobs survive a power cut. A worker's is not: after a power cut, a job that was done may run again.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        wake: Wake | None = None,
        durable: bool = True,
        busy_timeout: float = BUSY_TIMEOUT,
    ) -> None:
        self._connection = SqliteConnection(path, LAYOUT, busy_timeout=busy_timeout, durable=durable)
        # a separate connection: an agent must not wait long for letters
        self._inbox_connection = SqliteConnection(
            path, LAYOUT, busy_timeout=min(busy_timeout, INBOX_TIMEOUT), durable=durable
        )
        self._wake = wake
        self.path = self._connection.path

    def put(self, hook: Hook, event: Event, *, project: str, subject: str = "") -> Ticket:
        """Put a run of a hook into the queue; a debounced job for the same subject takes the newer event instead.

        Raises:
            StoreError: It cannot be stored, or the queue is full.
        """
        now = time.time()
        mark = mark_of(hook)
        lane = _digest([mark or hook.id, hook.source_path, project])
        subject = to_utf8(subject)
        with self._connection.transaction() as connection:
            ticket = _fold(connection, hook, event, lane=lane, subject=subject, now=now) if hook.quiet else None
            if ticket is None:
                if connection.execute(_OWED).fetchone()[0] >= MOST_JOBS:
                    raise StoreError(
                        f"{self.path}: {MOST_JOBS} jobs are in the queue already; see `hookline queue status`"
                    )
                ticket = Ticket(id=os.urandom(6).hex())
                whose = (to_utf8(hook.id), to_utf8(hook.source_path), to_utf8(project), mark, lane)
                connection.execute(
                    "INSERT INTO jobs (id, hook, source, project, mark, lane, event, state, created, due, alone) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?)",
                    (ticket.id, *whose, _serialise(event, subject), now, now + hook.quiet, not hook.parallel),
                )
        self._wake_worker()
        return ticket

    def claim(self, worker: str, most: int = 1) -> list[Job]:
        """Assign jobs that are due to a worker, until it reports their result."""
        now = time.time()
        # without a lock first: a worker polls far more often than jobs come
        if most < 1 or not self._connection.fetch(_NEXT, (now,)):
            return []
        claimed: list[Job] = []
        with self._connection.transaction() as connection:
            while len(claimed) < most and (row := connection.execute(_NEXT, (now,)).fetchone()) is not None:
                connection.execute(
                    "UPDATE jobs SET state = 'running', worker = ?, attempts = attempts + 1 WHERE id = ?",
                    (worker, row[0]),
                )
                job = _row_to_job(row)
                claimed.append(
                    msgspec.structs.replace(job, state=JobState.RUNNING, worker=worker, attempts=job.attempts + 1)
                )
        return claimed

    def finish(self, job: Job, letters: Sequence[InboxMessage] = ()) -> None:
        """Remove a finished job and store the letters of its hook, in one transaction."""
        with self._connection.transaction() as connection:
            gone = connection.execute("DELETE FROM jobs WHERE id = ? AND worker = ?", (job.id, job.worker))
            # otherwise another worker has taken the job over, and will store the letters
            if gone.rowcount:
                _post(connection, letters)

    def put_back(self, job: Job, error: str, *, due: float, began: bool = True, is_redelivery: bool = False) -> None:
        """Put a job back for another attempt; one that never `began` does not count as an attempt."""
        with self._connection.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = 'waiting', worker = '', due = ?, error = ?, redelivered = redelivered + ?, "
                "attempts = attempts - ? WHERE id = ? AND worker = ?",
                (due, to_utf8(error), is_redelivery, not began, job.id, job.worker),
            )

    def bury(self, job: Job, error: str) -> None:
        """Mark a job as dead; it stays until the user retries or drops it."""
        with self._connection.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = 'dead', worker = '', error = ? WHERE id = ? AND worker = ?",
                (to_utf8(error), job.id, job.worker),
            )
            gone = connection.execute(_FORGET, (MOST_DEAD,)).rowcount
        if gone:
            logger.warning("%d jobs that were given up first are forgotten: %d are the most", gone, MOST_DEAD)

    def workers(self) -> list[str]:
        """Return the workers that have jobs."""
        return [name for (name,) in self._connection.fetch("SELECT DISTINCT worker FROM jobs WHERE state = 'running'")]

    def release(self, worker: str) -> int:
        """Put the jobs of a dead worker back, marked as redelivered, as they may have run; return how many."""
        with self._connection.transaction() as connection:
            return connection.execute(
                "UPDATE jobs SET worker = '', due = ?, redelivered = redelivered + 1, error = 'its worker died', "
                "state = CASE WHEN redelivered + 1 >= ? THEN 'dead' ELSE 'waiting' END "
                "WHERE state = 'running' AND worker = ?",
                (time.time(), MOST_REDELIVERIES, worker),
            ).rowcount

    def set_clock_right(self) -> int:
        """Make jobs due whose times lie in the future because the clock was set back; return how many."""
        now = time.time()
        late = "state = 'waiting' AND due > ? AND created > ?"
        if not self._connection.fetch(f"SELECT 1 FROM jobs WHERE {late} LIMIT 1", (now, now)):
            return 0
        with self._connection.transaction() as connection:
            return connection.execute(
                f"UPDATE jobs SET due = ?, created = ? WHERE {late}", (now, now, now, now)
            ).rowcount

    def is_there(self) -> bool:
        """Return whether anything was ever stored."""
        return self._connection.exists()

    def next_due(self) -> float | None:
        """Return when the next job is due, in seconds since the epoch; None if none waits."""
        due: float | None = self._connection.fetch(_NEXT_DUE)[0][0]
        return due

    def counts(self) -> Mapping[JobState, int]:
        """Return the number of jobs in each state."""
        found = dict(self._connection.fetch("SELECT state, count(*) FROM jobs GROUP BY state"))
        return {state: found.get(str(state), 0) for state in JobState}

    def jobs(self, project: str | None = None, *, limit: int = -1) -> list[Job]:
        """Return the jobs of a project, or of all, in order."""
        where, values = ("WHERE project = ?", (to_utf8(project),)) if project is not None else ("", ())
        query = f"SELECT {_COLUMNS} FROM jobs {where} ORDER BY number LIMIT ?"
        return [_row_to_job(row) for row in self._connection.fetch(query, (*values, limit))]

    def list_unfinished(self) -> frozenset[str]:
        """Return the ids of jobs that wait or run."""
        rows = self._connection.fetch("SELECT id FROM jobs WHERE state <> ?", (JobState.DEAD,))
        return frozenset(str(found) for (found,) in rows)

    def retry(self, ids: Iterable[str]) -> int:
        """Make dead jobs, and jobs that wait for another attempt, due now, as if they had never failed."""
        now = time.time()
        with self._connection.transaction() as connection:
            changed = connection.executemany(
                # still marked as redelivered, as it may have run
                "UPDATE jobs SET state = 'waiting', attempts = min(redelivered, 1), redelivered = min(redelivered, 1), "
                "due = ? WHERE id = ? AND state <> 'running'",
                [(now, one) for one in ids],
            ).rowcount
        self._wake_worker()
        return changed

    def drop(self, ids: Iterable[str]) -> int:
        """Remove jobs and letters; return how many there were."""
        rows = [(one,) for one in ids]
        with self._connection.transaction() as connection:
            jobs = connection.executemany("DELETE FROM jobs WHERE id = ?", rows).rowcount
            return jobs + connection.executemany("DELETE FROM letters WHERE id = ?", rows).rowcount

    def post(self, letters: Sequence[InboxMessage]) -> None:
        """Store letters for the next agent in their projects."""
        with self._connection.transaction() as connection:
            _post(connection, letters)

    def collect(self, project: str) -> list[InboxMessage]:
        """Remove and return the oldest letters of a project, and wake a worker for jobs that a reboot left behind."""
        # must not create the file
        if not self.is_there():
            return []
        with self._inbox_connection.read() as connection:
            due = connection.execute(_NEXT_DUE).fetchone()[0]
            is_empty = not _list_letters(connection, project)
        if due is not None and due <= time.time():
            self._wake_worker()
        if is_empty:
            return []
        with self._inbox_connection.transaction() as connection:
            connection.execute("DELETE FROM letters WHERE created < ?", (time.time() - LETTER_EXPIRY,))
            letters = _list_letters(connection, project)[:MOST_COLLECTED]
            connection.executemany("DELETE FROM letters WHERE id = ?", [(letter.id,) for letter in letters])
            return letters

    def letters(self, project: str | None = None) -> list[InboxMessage]:
        """Return the letters of a project, or of all."""
        with self._connection.read() as connection:
            return _list_letters(connection, project)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._inbox_connection.close()

    def _wake_worker(self) -> None:
        if self._wake is None:
            return
        try:
            self._wake()
        except OSError as problem:
            # the job is stored, and another emitter will wake a worker
            logger.warning("no worker could be started, `hookline queue work` does it by hand: %s", problem)


def _digest(values: Sequence[object]) -> str:
    return hashlib.sha256(json_codec.dump(values)).hexdigest()[:32]


def _serialise(event: Event, subject: str) -> str:
    """Return an event as JSON, with the subject beside its fields."""
    return json_codec.dump({**asdict(event), "session": asdict(event.session), _SUBJECT: subject}).decode()


def _fold(
    connection: sqlite3.Connection, hook: Hook, event: Event, *, lane: str, subject: str, now: float
) -> Ticket | None:
    """Replace the event of a waiting job for the same subject; return None if there is none."""
    connection.execute(_SUBJECT_INDEX)
    # not a job that waits for another attempt
    row = connection.execute(
        "SELECT id, event, created FROM jobs WHERE state = 'waiting' AND attempts = 0 "
        f"AND lane = ? AND {_SUBJECT_OF} = ? ORDER BY number LIMIT 1",
        (lane, subject),
    ).fetchone()
    if row is None:
        return None
    identifier, before, created = row
    earlier = _deserialise(before)
    due = min(now + hook.quiet, created + hook.quiet * LONGEST_DEBOUNCE)
    written = _serialise(fold_events(hook, earlier, event), subject)
    connection.execute("UPDATE jobs SET event = ?, due = ? WHERE id = ?", (written, due, identifier))
    return Ticket(id=identifier, instead_of=EventRef(trace=earlier.id, name=earlier.name, session=earlier.session.id))


def _row_to_job(row: sqlite3.Row | tuple[str, ...]) -> Job:
    fields = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return msgspec.convert({**fields, "event": _deserialise(fields["event"])}, Job, strict=False)


def _deserialise(text: str) -> Event:
    try:
        return _events.decode(text)
    except msgspec.DecodeError:
        # an event of another version of Hookline
        return unreadable_event(text)


def _post(connection: sqlite3.Connection, letters: Iterable[InboxMessage]) -> None:
    """Store letters; of a project with too many, the oldest are removed."""
    written = []
    for letter in letters:
        project, text, hook, trace = map(to_utf8, (letter.project, letter.text, letter.hook, letter.trace))
        text = f"{text[: LONGEST_LETTER - 1]}…" if len(text) > LONGEST_LETTER else text
        created = letter.created or time.time()
        written.append((os.urandom(6).hex(), project, str(letter.kind), text, hook, trace, created))
    connection.executemany(f"INSERT INTO letters ({_LETTER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", written)
    for project in {row[1] for row in written}:
        connection.execute(
            "DELETE FROM letters WHERE project = ? AND number NOT IN "
            "(SELECT number FROM letters WHERE project = ? ORDER BY number DESC LIMIT ?)",
            (project, project, MOST_LETTERS),
        )


def _list_letters(connection: sqlite3.Connection, project: str | None = None) -> list[InboxMessage]:
    """Return the letters of a project, or of all, the oldest first, without expired ones."""
    where, values = ("project = ? AND", (to_utf8(project),)) if project is not None else ("", ())
    rows = connection.execute(
        f"SELECT {_LETTER_COLUMNS} FROM letters WHERE {where} created >= ? ORDER BY number",
        (*values, time.time() - LETTER_EXPIRY),
    )
    return [
        InboxMessage(
            id=str(identifier),
            project=str(project),
            # an effect of another version of Hookline is shown to the user
            kind=EffectKind(kind) if kind in _LETTER_KINDS else EffectKind.MESSAGE,
            text=str(text),
            hook=str(hook),
            trace=str(trace),
            created=to_number(created),
        )
        for identifier, project, kind, text, hook, trace, created in rows
    ]
