"""The agent's inbox: what hooks said while no agent listened, until one comes by."""

import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Final

from hookline.model.job import Letter
from hookline.model.verdict import EffectKind
from hookline.stores._sqlite_file import number_of, text_of

TABLES: Final = (
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

# An agent that comes back after a holiday is not to be buried in what was on other people's minds.
MOST: Final = 100
MOST_AT_ONCE: Final = 10
LONGEST: Final = 20_000  # characters of one letter
OLDEST: Final = 7 * 86_400.0  # seconds

_COLUMNS: Final = "id, project, kind, text, hook, trace, created"
_KINDS: Final = frozenset(str(kind) for kind in EffectKind)


def post(connection: sqlite3.Connection, letters: Iterable[Letter]) -> None:
    """Keep letters; of a project that has too many, the oldest go."""
    written = [
        (
            os.urandom(6).hex(),
            text_of(letter.project),
            str(letter.kind),
            _shortened(text_of(letter.text)),
            text_of(letter.hook),
            text_of(letter.trace),
            letter.created or time.time(),
        )
        for letter in letters
    ]
    connection.executemany(f"INSERT INTO letters ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", written)  # noqa: S608
    for project in {row[1] for row in written}:
        connection.execute(
            "DELETE FROM letters WHERE project = ? AND number NOT IN "
            "(SELECT number FROM letters WHERE project = ? ORDER BY number DESC LIMIT ?)",
            (project, project, MOST),
        )


def collect(connection: sqlite3.Connection, project: str) -> list[Letter]:
    """Take the oldest letters of a project out; what nobody came for in time goes with them."""
    connection.execute("DELETE FROM letters WHERE created < ?", (time.time() - OLDEST,))
    taken = connection.execute(
        f"SELECT number, {_COLUMNS} FROM letters WHERE project = ? ORDER BY number LIMIT ?",  # noqa: S608
        (text_of(project), MOST_AT_ONCE),
    ).fetchall()
    connection.executemany("DELETE FROM letters WHERE number = ?", [(row[0],) for row in taken])
    return [_letter(row[1:]) for row in taken]


def listed(connection: sqlite3.Connection, project: str | None = None) -> list[Letter]:
    """List the letters of a project, or of all, the oldest first; those that are too old count no more."""
    where, values = ("project = ? AND", (text_of(project),)) if project is not None else ("", ())
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM letters WHERE {where} created >= ? ORDER BY number",  # noqa: S608
        (*values, time.time() - OLDEST),
    )
    return [_letter(row) for row in rows]


def drop(connection: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Throw letters away; give how many there were."""
    return connection.executemany("DELETE FROM letters WHERE id = ?", [(one,) for one in ids]).rowcount


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _letter(row: Sequence[object]) -> Letter:
    identifier, project, kind, text, hook, trace, created = row
    return Letter(
        id=str(identifier),
        project=str(project),
        # Hookline of another version writes the same file; what it has no word for is shown to the person
        kind=EffectKind(str(kind)) if kind in _KINDS else EffectKind.MESSAGE,
        text=str(text),
        hook=str(hook),
        trace=str(trace),
        created=number_of(str(created)),
    )
