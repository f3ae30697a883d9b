"""Get an agent to ask us, and back: every file as it is and as it shall be, before anything is written."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.config.journal import Change, Journal, read_bytes
from hookline.errors import ConfigError
from hookline.hosts.host import SECONDS, Around, Call, Host, Scope, Shape
from hookline.hosts.kept import Kept, digest, folders_for, forget, recall, remember
from hookline.hosts.line import line, words

_EXECUTABLE: Final = 0o755


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be done for one agent in one scope.

    `files` are those that ours are in, `changes` what has to change in them; `records` are files of our own. `urls` are the
    events at which a URL is called.
    """

    host: str
    scope: Scope
    files: tuple[str, ...]
    events: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    records: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


class _File(Struct, frozen=True, kw_only=True):
    """One file that ours go into, and what goes there."""

    path: str
    shape: Shape
    calls: tuple[Call, ...] = ()
    mode: int | None = None


class _Step(Struct, frozen=True, kw_only=True):
    """One file as it is, and as it shall be."""

    now: bytes | None
    wanted: bytes | None
    changes: tuple[Change, ...] = ()
    records: tuple[Change, ...] = ()


def install(  # noqa: PLR0913 - each of them is somebody's choice
    host: Host,
    scope: Scope,
    around: Around,
    *,
    events: Sequence[str],
    policy: str,
    python: str,
    launcher: str = "",
    approve: bool = True,
    urls: Mapping[str, Call] | None = None,
) -> Plan:
    """Plan what makes an agent ask us at these events; no changes when it does already.

    `urls` are calls of a URL that take the place of commands.

    Where the agent runs only what is approved, ours are approved, unless the person wants to do that.

    Raises:
        HostError: It cannot be done without harm, or the agent has no such settings.
        ConfigError: The settings there are cannot be read.
    """
    by_url = urls or {}
    calls = tuple(
        by_url.get(event)
        or Call(
            event,
            line(host.name, event, python=python, policy=policy, launcher=launcher, windows=os.name == "nt"),
            words(host.name, event, python=python, policy=policy, launcher=launcher),
            host.seconds.get(event, SECONDS),
        )
        for event in events
    )
    steps: list[_Step] = []
    notes: list[str] = []
    files = _files(host, scope, around, calls)
    for file in files:
        if file.mode is not None and file.calls and _is_foreign(file):
            why = f"{file.calls[0].event} is not asked about"
            notes.append(f"{file.path} is there and is not ours, so {why}; move it away, and install again")
            continue
        steps.append(_with_ours(file, around))
        if host.approval is not None and approve:
            settings = (steps[-1].wanted or b"").decode()
            path, shape = host.approval(host.root(Scope.USER, around), Path(file.path), settings)
            try:
                steps.append(_with_ours(_File(path=str(path), shape=shape), around))
            except ConfigError as problem:
                notes.append(f"{problem}; {host.title} runs ours only after you approved them there: /hooks")
    # what an earlier installation asked about, and this one does not
    steps += [_without_ours(file, around) for file in _others(host, scope, around, files)]
    called = tuple(event for event in events if event in by_url)
    return _plan(host, scope, files, steps, notes=notes, events=events, urls=called)


def uninstall(host: Host, scope: Scope, around: Around) -> Plan:
    """Plan what takes us away and puts back what was there; no changes when we are not there.

    Raises:
        HostError: The agent has no such settings.
        ConfigError: The settings there are cannot be read.
    """
    steps: list[_Step] = []
    files = _files(host, scope, around, ())
    for file in files:
        step = _without_ours(file, around)
        if host.approval is not None and step.now is not None:
            text = step.now.decode("utf-8", "replace")
            path, shape = host.approval(host.root(Scope.USER, around), Path(file.path), text)
            steps.append(_without_ours(_File(path=str(path), shape=shape), around))
        steps.append(step)
    return _plan(host, scope, files, steps)


def _first(plan: Callable[[], Sequence[Plan]]) -> Sequence[Plan]:
    """Plan for the first time, when nothing can have happened yet, and say so where it cannot be done."""
    try:
        return plan()
    except ConfigError as problem:
        done = "" if "nothing was changed" in problem.message else "; mend it first, nothing was changed"
        raise ConfigError(f"{problem.message}{done}", path=problem.path, line=problem.line) from None


def carry_out(
    around: Around, plan: Callable[[], Sequence[Plan]], *, what: str, dry_run: bool
) -> tuple[Sequence[Plan], int]:
    """Plan everything first, then write it in one go; give the plans, and the number of the change for `undo`.

    Raises:
        ConfigError: Something cannot be read or written. Nothing is changed then.
    """
    plans = _first(plan)
    if dry_run or not any((*one.changes, *one.records) for one in plans):
        return plans, 0
    with Journal(around.data).changing() as apply:
        # somebody else may have had the same idea meanwhile
        plans = plan()
        changes = [change for one in plans for change in (*one.changes, *one.records)]
        whom = ", ".join(one.host for one in plans if one.changes or one.records)
        return plans, apply(changes, f"{what} {whom}").id


def _plan(
    host: Host,
    scope: Scope,
    files: Sequence[_File],
    steps: Sequence[_Step],
    *,
    notes: Sequence[str] = (),
    events: Sequence[str] = (),
    urls: tuple[str, ...] = (),
) -> Plan:
    return Plan(
        host=host.name,
        scope=scope,
        files=tuple(file.path for file in files),
        events=tuple(events),
        urls=urls,
        changes=tuple(change for step in steps for change in step.changes),
        records=tuple(change for step in steps for change in step.records),
        notes=tuple(notes),
    )


def _files(host: Host, scope: Scope, around: Around, calls: tuple[Call, ...]) -> list[_File]:
    """Name the files of a scope: one for all events, or one for each."""
    place = host.place(scope, around)
    if not host.files[scope].endswith("/"):
        return [_File(path=str(place), shape=host.shape, calls=calls)]
    if calls:
        return [
            _File(path=str(place / call.event), shape=host.shape, calls=(call,), mode=_EXECUTABLE) for call in calls
        ]
    return [_File(path=str(place / event), shape=host.shape, mode=_EXECUTABLE) for event in host.events]


def _others(host: Host, scope: Scope, around: Around, files: Sequence[_File]) -> list[_File]:
    named = {file.path for file in files}
    return [file for file in _files(host, scope, around, ()) if file.path not in named]


def _with_ours(file: _File, around: Around) -> _Step:
    """Plan a file with ours in it."""
    now = _read(file.path)
    kept = recall(around.data, file.path)
    if now is not None and file.shape.holds(_text(now, file.path), file.calls, path=file.path):
        return _Step(now=now, wanted=now)
    base = _base(file, now, kept)
    text = "" if base is None else _text(base, file.path)
    wanted = file.shape.added(text, file.calls, path=file.path).encode()
    record = remember(
        around.data,
        Kept(
            path=file.path,
            before=base,
            after=digest(wanted),
            folders=folders_for(around.data, file.path),
        ),
    )
    return _Step(
        now=now,
        wanted=wanted,
        changes=(Change(file.path, now, wanted, file.mode),) if wanted != now else (),
        records=(record,) if record is not None else (),
    )


def _without_ours(file: _File, around: Around) -> _Step:
    """Plan a file without ours in it: exactly what it was before, where nobody else has changed it since."""
    now = _read(file.path)
    kept = recall(around.data, file.path)
    wanted = _base(file, now, kept)
    folders = kept.folders if kept is not None and wanted is None else ()
    record = forget(around.data, file.path)
    return _Step(
        now=now,
        wanted=wanted,
        changes=(Change(file.path, now, wanted, folders=folders),) if wanted != now else (),
        records=(record,) if record is not None else (),
    )


def _base(file: _File, now: bytes | None, kept: Kept | None) -> bytes | None:
    """Give a file as it is without us."""
    if now is None:
        return None
    if kept is not None and kept.after == digest(now):
        return kept.before
    # nobody knows what it was like before us where that was not kept, but it may well have been there
    before = "" if kept is None else None if kept.before is None else _text(kept.before, file.path)
    left = file.shape.removed(_text(now, file.path), path=file.path, before=before)
    return None if left is None else left.encode()


def _is_foreign(file: _File) -> bool:
    now = _read(file.path)
    return now is not None and not file.shape.entries(now.decode("utf-8", "replace"), path=file.path)[0]


def _read(path: str) -> bytes | None:
    raw = read_bytes(path)
    if raw is None and Path(path).is_symlink():
        raise ConfigError("this is a link that leads nowhere; nothing was changed", path=path)
    return raw


def _text(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as problem:
        line_number = raw.count(b"\n", 0, problem.start) + 1
        raise ConfigError("the file is not UTF-8; nothing was changed", path=path, line=line_number) from None
