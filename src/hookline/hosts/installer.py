"""Plan and execute an installation into an agent, and its removal; all files are planned before one is written."""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from hookline.config.undo_log import FileEdit, UndoLog, read_bytes
from hookline.errors import ConfigError
from hookline.hosts import acceptance
from hookline.hosts.backup import SettingsBackup, created_folders, digest, load_backup, plan_delete, plan_save
from hookline.hosts.command_line import command_line, command_words
from hookline.hosts.host import CALL_SECONDS, EventCall, Host, HostEnvironment, Scope, SettingsShape
from hookline.hosts.settings_shapes import OwnedFile

_EXECUTABLE: Final = 0o755
_PRIVATE: Final = 0o600


class InstallPlan(Struct, frozen=True, kw_only=True):
    """The changes for one agent in one scope.

    `files` are those that ours are in, `changes` what has to change in them; `records` are files of our own. `urls` are the
    events at which a URL is called.
    """

    host: str
    scope: Scope
    files: tuple[str, ...]
    events: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    changes: tuple[FileEdit, ...] = ()
    records: tuple[FileEdit, ...] = ()
    notes: tuple[str, ...] = ()


class _TargetFile(Struct, frozen=True, kw_only=True):
    """One file that our entries go into, and the entries."""

    path: str
    shape: SettingsShape
    calls: tuple[EventCall, ...] = ()
    mode: int | None = None


class _FailurePolicy(Struct, frozen=True, kw_only=True):
    """What happens when Hookline cannot answer an agent, and whether the user chose that."""

    host: str
    scope: Scope
    policy: str
    is_automatic: bool


class _FilePlan(Struct, frozen=True, kw_only=True):
    """One file: its current and its planned contents."""

    now: bytes | None
    wanted: bytes | None
    changes: tuple[FileEdit, ...] = ()
    records: tuple[FileEdit, ...] = ()


def install(  # noqa: PLR0913 - each is an option of the command
    host: Host,
    scope: Scope,
    around: HostEnvironment,
    *,
    events: Sequence[str],
    policy: str,
    python: str,
    launcher: str = "",
    approve: bool = True,
    clean: bool = False,
    urls: Mapping[str, EventCall] | None = None,
    is_automatic: bool = False,
) -> InstallPlan:
    """Plan the installation of these events into an agent; no changes when it is installed already.

    `is_automatic` says that the user did not choose the policy. `urls` are calls of a URL that take the place of commands. With `clean`, comments and trailing commas that the agent
    does not accept are taken out.

    Where the agent runs only what is approved, ours are approved, unless the user wants to do that.

    Raises:
        HostError: It cannot be done without harm, or the agent has no such settings.
        ConfigError: The settings there are cannot be read, or the agent would not accept them.
    """
    by_url = urls or {}
    calls = tuple(
        by_url.get(event)
        or EventCall(
            event,
            command_line(host.name, event, python=python, policy=policy, launcher=launcher, windows=os.name == "nt"),
            command_words(host.name, event, python=python, policy=policy, launcher=launcher),
            host.seconds.get(event, CALL_SECONDS),
        )
        for event in events
    )
    steps: list[_FilePlan] = []
    notes: list[str] = []
    files = _files(host, scope, around, calls)
    for file in files:
        if file.mode is not None and file.calls and _is_foreign(file):
            why = f"{file.calls[0].event} is not asked about"
            notes.append(f"{file.path} is there and is not ours, so {why}; move it away, and install again")
            continue
        chosen = _FailurePolicy(host=host.name, scope=scope, policy=policy, is_automatic=is_automatic)
        steps.append(_plan_install(file, around, host, chosen, clean=clean))
        if host.approval is not None and approve:
            try:
                steps.append(_plan_approvals(host, around, file.path, steps[-1]))
            except ConfigError as problem:
                notes.append(f"{problem}; {host.title} runs ours only after you approved them there: /hooks")
    # what an earlier installation asked about, and this one does not
    steps += [_plan_removal(file, around) for file in _earlier_files(host, scope, around, files)]
    called = tuple(event for event in events if event in by_url)
    return _plan(host, scope, files, steps, notes=notes, events=events, urls=called)


def uninstall(host: Host, scope: Scope, around: HostEnvironment, *, together: Sequence[Scope] = ()) -> InstallPlan:
    """Plan the removal of our entries and the restoration of the original files.

    `together` are other scopes of the agent that we are taken out of at the same time.

    Raises:
        HostError: The agent has no such settings.
        ConfigError: The settings there are cannot be read.
    """
    steps: list[_FilePlan] = []
    files = _files(host, scope, around, ())
    for file in files:
        step = _plan_removal(file, around)
        if host.approval is not None:
            leaving = [str(host.settings_path(other, around)) for other in together if other in host.files]
            steps.append(_plan_approvals(host, around, file.path, step, leaving=leaving))
        steps.append(step)
    return _plan(host, scope, files, steps)


def _plan_first(plan: Callable[[], Sequence[InstallPlan]]) -> Sequence[InstallPlan]:
    """Plan before anything is written, and add "nothing was changed" to errors."""
    try:
        return plan()
    except ConfigError as problem:
        done = "" if "nothing was changed" in problem.message else "; mend it first, nothing was changed"
        raise ConfigError(f"{problem.message}{done}", path=problem.path, line=problem.line) from None


def execute(
    around: HostEnvironment,
    plan: Callable[[], Sequence[InstallPlan]],
    *,
    what: str,
    dry_run: bool,
    follows: bool = False,
) -> tuple[Sequence[InstallPlan], int]:
    """Plan everything first, then write it in one go; give the plans, and the number of the change for `undo`.

    A change that `follows` another one is not what a plain `undo` takes back.

    Raises:
        ConfigError: Something cannot be read or written. Nothing is changed then.
    """
    plans = _plan_first(plan)
    if dry_run or not any((*one.changes, *one.records) for one in plans):
        return plans, 0
    with UndoLog(around.data).transaction() as apply:
        # plan again under the lock: another process may have written meanwhile
        plans = plan()
        changes = [change for one in plans for change in (*one.changes, *one.records)]
        whom = ", ".join(one.host for one in plans if one.changes or one.records)
        return plans, apply(changes, f"{what} {whom}", follows=follows).id


def _plan(
    host: Host,
    scope: Scope,
    files: Sequence[_TargetFile],
    steps: Sequence[_FilePlan],
    *,
    notes: Sequence[str] = (),
    events: Sequence[str] = (),
    urls: tuple[str, ...] = (),
) -> InstallPlan:
    return InstallPlan(
        host=host.name,
        scope=scope,
        files=tuple(file.path for file in files),
        events=tuple(events),
        urls=urls,
        changes=tuple(change for step in steps for change in step.changes),
        records=tuple(change for step in steps for change in step.records),
        notes=tuple(notes),
    )


def _files(host: Host, scope: Scope, around: HostEnvironment, calls: tuple[EventCall, ...]) -> list[_TargetFile]:
    """Return the files of a scope: one for all events, or one for each."""
    place = host.settings_path(scope, around)
    if not host.files[scope].endswith("/"):
        return [_TargetFile(path=str(place), shape=host.shape, calls=calls)]
    if calls:
        return [
            _TargetFile(path=str(place / call.event), shape=host.shape, calls=(call,), mode=_EXECUTABLE)
            for call in calls
        ]
    return [_TargetFile(path=str(place / event), shape=host.shape, mode=_EXECUTABLE) for event in host.events]


def _earlier_files(
    host: Host, scope: Scope, around: HostEnvironment, files: Sequence[_TargetFile]
) -> list[_TargetFile]:
    named = {file.path for file in files}
    return [file for file in _files(host, scope, around, ()) if file.path not in named]


def _plan_install(
    file: _TargetFile, around: HostEnvironment, host: Host, chosen: _FailurePolicy, *, clean: bool
) -> _FilePlan:
    """Plan a file with our entries."""
    now = _read(file.path)
    kept = load_backup(around.data, file.path)
    check = partial(acceptance.check, reading=host.strictness, path=file.path, title=host.title, name=host.name)
    is_accepted = now is not None and not _is_refused(now, check, file.path)
    if now is not None and is_accepted and file.shape.matches(_text(now, file.path), file.calls, path=file.path):
        noted = plan_save(around.data, replace(kept, **asdict(chosen))) if kept is not None else None
        return _FilePlan(now=now, wanted=now, records=(noted,) if noted is not None else ())
    base = _original(file, now, kept)
    text = "" if base is None else _text(base, file.path)
    # what was cleaned once stays clean: the file as it was before us comes back when we are taken out
    if not isinstance(file.shape, OwnedFile):
        if clean or (is_accepted and kept is not None):
            text = acceptance.clean(text, path=file.path)
        try:
            check(text)
        except ConfigError as problem:
            raise ConfigError(f"{problem.message}; nothing was changed", path=problem.path, line=problem.line) from None
    wanted = file.shape.add(text, file.calls, path=file.path).encode()
    # a header has the token of our daemon, which others on this machine must not read
    has_token = any(call.headers for call in file.calls)
    before_mode = kept.mode if kept is not None and kept.mode is not None else _mode(file.path) if has_token else None
    new_mode = _PRIVATE if has_token else before_mode
    record = plan_save(
        around.data,
        SettingsBackup(
            path=file.path,
            before=base,
            after=digest(wanted),
            folders=created_folders(around.data, file.path),
            events=tuple(call.event for call in file.calls),
            mode=before_mode,
            **asdict(chosen),
        ),
    )
    return _FilePlan(
        now=now,
        wanted=wanted,
        changes=(FileEdit(file.path, now, wanted, file.mode, new_mode=new_mode),) if wanted != now else (),
        records=(record,) if record is not None else (),
    )


def _is_refused(raw: bytes, check: Callable[[str], None], path: str) -> bool:
    try:
        check(_text(raw, path))
    except ConfigError:
        return True
    return False


def _plan_approvals(
    host: Host, around: HostEnvironment, settings: str, step: _FilePlan, *, leaving: Sequence[str] = ()
) -> _FilePlan:
    """Plan the file that approves ours, which may have approvals for the settings of other projects, too.

    What was approved for these settings earlier is taken out, whatever has become of them since.
    """
    assert host.approval is not None  # noqa: S101 - for the type checker
    folder = host.root(Scope.USER, around)
    place, wanted = host.approval(folder, Path(settings), (step.wanted or b"").decode("utf-8", "replace"))
    path = str(place)
    now, kept = _read(path), load_backup(around.data, path)
    remembered = dict(kept.approvals) if kept is not None else {}
    earlier: dict[str, str] = {}
    for one in dict.fromkeys((settings, *leaving)):
        raw = step.now if one == settings else _read(one)
        earlier |= host.approval(folder, Path(one), (raw or b"").decode("utf-8", "replace"))[1].hashes
    spelled = tuple(f"{name}:" for one in (settings, *leaving) for name in (one, os.path.realpath(one)))
    others = {key: said for key, said in remembered.items() if not key.startswith(spelled)}
    hashes = {**others, **wanted.hashes}
    shape = wanted.with_hashes(hashes)
    is_bare = not ({*remembered, *earlier} - {*hashes})
    if now is not None and hashes and is_bare and shape.matches(_text(now, path), (), path=path):
        return _FilePlan(now=now, wanted=now)
    if now is not None and not hashes and kept is None and not earlier:
        return _FilePlan(now=now, wanted=now)
    # one key may have had two hashes: the one that is remembered, and the one that the settings have now
    known = (*earlier.items(), *remembered.items())
    base = _original(_TargetFile(path=path, shape=wanted.with_hashes({}, earlier=known)), now, kept)
    text = "" if base is None else _text(base, path)
    after = shape.add(text, (), path=path).encode() if hashes else base
    record = (
        plan_save(
            around.data,
            SettingsBackup(
                path=path,
                before=base,
                after=digest(after),
                folders=created_folders(around.data, path),
                approvals=hashes,
            ),
        )
        if hashes
        else plan_delete(around.data, path)
    )
    folders = kept.folders if kept is not None and after is None else ()
    return _FilePlan(
        now=now,
        wanted=after,
        changes=(FileEdit(path, now, after, folders=folders),) if after != now else (),
        records=(record,) if record is not None else (),
    )


def _plan_removal(file: _TargetFile, around: HostEnvironment) -> _FilePlan:
    """Plan a file without our entries: byte for byte as before, unless it was changed since."""
    now = _read(file.path)
    kept = load_backup(around.data, file.path)
    wanted = _original(file, now, kept)
    folders = kept.folders if kept is not None and wanted is None else ()
    mode = kept.mode if kept is not None else None
    record = plan_delete(around.data, file.path)
    return _FilePlan(
        now=now,
        wanted=wanted,
        changes=(FileEdit(file.path, now, wanted, folders=folders, new_mode=mode),) if wanted != now else (),
        records=(record,) if record is not None else (),
    )


def _mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 - a link is followed
    except OSError:
        return None


def _original(file: _TargetFile, now: bytes | None, kept: SettingsBackup | None) -> bytes | None:
    """Return a file as it is without us."""
    if now is None:
        return None
    if kept is not None and kept.after == digest(now):
        return kept.before
    # without a backup the original is unknown; assume that the file existed
    before = "" if kept is None else None if kept.before is None else _text(kept.before, file.path)
    left = file.shape.remove(_text(now, file.path), path=file.path, before=before)
    return None if left is None else left.encode()


def _is_foreign(file: _TargetFile) -> bool:
    now = _read(file.path)
    return now is not None and not file.shape.find_entries(now.decode("utf-8", "replace"), path=file.path)[0]


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
