"""The ledger: what agents asked us and what we answered, so that a call that did not come to us can be missed."""

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

from hookline.bridge.notices import append
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName

FOLDER: Final = "sessions"
CALLS: Final = ".calls"
TOLD: Final = ".told"
LARGEST: Final = 2 * 1024 * 1024  # bytes of one session; beyond that nothing is compared any more
KEPT: Final = 14 * 86_400.0  # seconds

_REMOVED_AT_ONCE: Final = 200

# at these we are told of a call before it runs
ABOUT_CALLS: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})


class Seen(Struct, frozen=True, omit_defaults=True):
    """One call: when, of which agent, its own name of the event and ours, and of a tool call its ids and its tool.

    `transcript` is where the agent writes down what it does. A call of a tool is written down when it comes, as `waiting`,
    and again when it is answered, `refused` if hooks said no: an agent that does not wait so long lets it run as if it
    had never asked.
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


# what agents call the id of a tool call: one of them has one of its own and hands the model's on beside it
_IDS: Final = ("call_id", "tool_call_id", "tool_use_id")


_DECODER: Final = msgspec.json.Decoder(Seen)
_ENCODER: Final = msgspec.json.Encoder()


def session_file(data: Path, event: Event) -> Path:
    """Give the ledger of the session of an event; calls without one are kept by folder and day."""
    session = event.session.id or f"{event.cwd}\0{time.strftime('%Y-%m-%d')}"
    return _file(data, event.host, session)


@lru_cache(maxsize=64)
def _file(data: Path, host: str, session: str) -> Path:
    digest = hashlib.sha256(f"{host}\0{session}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return data / FOLDER / f"{digest}{CALLS}"


@lru_cache(maxsize=64)
def told_file(calls: Path) -> Path:
    """Give the file beside a ledger in which is kept what the person was told."""
    return calls.with_suffix(TOLD)


def enter(path: Path, event: Event, spec: DialectSpec, *, waiting: bool = False, refused: bool = False) -> bool:
    """Write a call down; say whether it is there now."""
    ids, transcript = (event.data.get(key) for key in _IDS), event.data.get("transcript_path")
    seen = Seen(
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
    return append(path, _ENCODER.encode(seen) + b"\n", largest=LARGEST)


def read(path: Path) -> list[Seen]:
    """Read a ledger, the oldest call first; empty where there is none."""
    try:
        raw = path.read_bytes()
    except OSError:
        return []
    lines: list[Seen] = []
    for line in raw.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            lines.append(_DECODER.decode(line))
    return lines


def is_full(path: Path) -> bool:
    """Say whether calls may be missing because there was no room for them."""
    try:
        # a line that found no room was shorter than this
        return path.stat().st_size > LARGEST - 64 * 1024
    except OSError:
        return False


def ledgers(data: Path, *, since: float) -> Iterator[Path]:
    """List the ledgers that were written to since a time, the newest first."""
    found: list[tuple[float, str]] = []
    with contextlib.suppress(OSError), os.scandir(data / FOLDER) as entries:
        found += [
            (at, entry.path)
            for entry in entries
            if entry.name.endswith(CALLS) and (at := entry.stat().st_mtime) >= since
        ]
    return (Path(path) for _, path in sorted(found, reverse=True))


def prune(data: Path, *, now: float) -> None:
    """Remove what nobody has written to for long."""
    removed = 0
    with contextlib.suppress(OSError), os.scandir(data / FOLDER) as entries:
        for entry in entries:
            if entry.name.endswith((CALLS, TOLD)) and entry.stat().st_mtime < now - KEPT:
                Path(entry.path).unlink(missing_ok=True)
                removed += 1
            if removed >= _REMOVED_AT_ONCE:
                return
