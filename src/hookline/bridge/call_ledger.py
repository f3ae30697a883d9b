"""The ledger of a session: the calls that reached us and their answers, to find tool calls that did not reach us."""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from hookline.bridge.notices import append_lines, read_lines
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName

FOLDER: Final = "sessions"
CALLS: Final = ".calls"
NOTICES: Final = ".told"
LARGEST: Final = 2 * 1024 * 1024  # bytes of one session; a longer one is not compared
_LIFE: Final = 14 * 86_400.0  # seconds

_REMOVED_AT_ONCE: Final = 200

# events of a tool call before it runs
ABOUT_CALLS: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})


class LedgerEntry(Struct, frozen=True, omit_defaults=True):
    """One call: when, of which agent, its native and our name of the event, and of a tool call its ids and its tool.

    `transcript` is the agent's own log. A tool call is recorded as `waiting` when it arrives, and again when it is answered,
    `refused` if it was denied: an agent that does not wait that long runs the tool as if it had never asked.
    """

    at: float
    host: str
    event: str
    moment: str = ""
    session: str = ""
    calls: tuple[str, ...] = ()
    tool: str = ""
    transcript: str = ""
    waiting: bool = False
    refused: bool = False


# keys of a tool call's id: one agent has an id of its own and passes the model's on beside it
_IDS: Final = ("call_id", "tool_call_id", "tool_use_id")


_ENCODER: Final = msgspec.json.Encoder()


def session_file(data: Path, event: Event) -> Path:
    """Return the ledger of an event's session; calls without a session share one by folder and day."""
    session = event.session.id or f"{event.cwd}\0{time.strftime('%Y-%m-%d')}"
    return _file(data, event.host, session)


@lru_cache(maxsize=64)
def _file(data: Path, host: str, session: str) -> Path:
    digest = hashlib.sha256(f"{host}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return data / FOLDER / f"{digest}{CALLS}"


@lru_cache(maxsize=64)
def notices_file(ledger: Path) -> Path:
    """Return the file beside a ledger that lists the notices shown in its session."""
    return ledger.with_suffix(NOTICES)


def record_call(path: Path, event: Event, spec: DialectSpec, *, waiting: bool = False, refused: bool = False) -> bool:
    """Append a call to a ledger; return whether it is there now."""
    ids, transcript = (event.data.get(key) for key in _IDS), event.data.get("transcript_path")
    entry = LedgerEntry(
        at=time.time(),
        host=event.host,
        event=spec.native(event),
        moment=event.name,
        session=event.session.id,
        calls=tuple(call for call in ids if isinstance(call, str) and call),
        tool=event.native_tool or (spec.tools.get(event.tool) or (event.tool,))[0],
        transcript=transcript if isinstance(transcript, str) else "",
        waiting=waiting,
        refused=refused,
    )
    return append_lines(path, _ENCODER.encode(entry) + b"\n", largest=LARGEST)


def read(path: Path) -> list[LedgerEntry]:
    """Return the entries of a ledger, the oldest first; empty where there is none."""
    return read_lines(path, LedgerEntry)


def is_full(path: Path) -> bool:
    """Return whether calls may be missing because there was no room for them."""
    try:
        # no entry is longer than this
        return path.stat().st_size > LARGEST - 64 * 1024
    except OSError:
        return False


def list_ledgers(data: Path, *, since: float) -> Iterator[Path]:
    """List the ledgers that were written to since a time, the newest first."""
    found: list[tuple[float, Path]] = []
    for path in (data / FOLDER).glob(f"*{CALLS}"):
        with contextlib.suppress(OSError):
            found.append((path.stat().st_mtime, path))
    return (path for at, path in sorted(found, reverse=True) if at >= since)


def prune(data: Path, *, now: float) -> None:
    """Remove ledgers that have not been written to for long."""
    removed = 0
    with contextlib.suppress(OSError), os.scandir(data / FOLDER) as entries:
        for entry in entries:
            if entry.name.endswith((CALLS, NOTICES)) and entry.stat().st_mtime < now - _LIFE:
                Path(entry.path).unlink(missing_ok=True)
                removed += 1
            if removed >= _REMOVED_AT_ONCE:
                return
