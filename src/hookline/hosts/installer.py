"""Plan and execute an installation into an agent, and its removal; all files are planned before one is written."""

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.undo_log import FileEdit, UndoLog, read_bytes
from hookline.errors import ConfigError
from hookline.hosts import acceptance, drift
from hookline.hosts.backup import SettingsBackup, created_folders, digest, load_backup, plan_record
from hookline.hosts.command_line import command_line, command_words
from hookline.hosts.host import CALL_SECONDS, EventCall, Host, HostEnvironment, OwnedFile, Scope

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

    `is_automatic` says that the user did not choose the policy. `urls` are calls of a URL that take the place of commands.
    With `clean`, comments and trailing commas that the agent does not accept are taken out.

    Where the agent runs only what is approved, ours are approved, unless the user wants to do that.

    Raises:
        HostError: It cannot be done without harm, or the agent has no such settings.
        ConfigError: The settings there are cannot be read, or the agent would not accept them.
    """
    by_url = urls or {}
    words = partial(command_words, host.name, python=python, policy=policy, launcher=launcher)
    line = partial(command_line, host.name, python=python, policy=policy, launcher=launcher, windows=os.name == "nt")
    calls = tuple(
        by_url.get(event) or EventCall(event, line(event), words(event), host.seconds.get(event, CALL_SECONDS))
        for event in events
    )
    known = drift.load_known(host, scope, around)
    chosen = {
        "host": host.name,
        "scope": scope,
        "policy": policy,
        "is_automatic": is_automatic,
        "others": drift.list_hooks(host, scope, around) if known is None else known,
    }
    steps: list[_FilePlan] = []
    notes: list[str] = []
    place, is_program = host.settings_path(scope, around), host.has_programs(scope)
    files = {str(place / call.event): (call,) for call in calls} if is_program else {str(place): calls}
    for path, own in files.items():
        now = _read(path) if is_program and own else None
        if now is not None and not host.shape.find_entries(now.decode("utf-8", "replace"), path=path)[0]:
            why = f"{own[0].event} is not asked about"
            notes.append(f"{path} is there and is not ours, so {why}; move it away, and install again")
            continue
        steps.append(_plan_install(path, own, host, around, chosen, clean=clean, is_program=is_program))
        if host.approval is not None and approve:
            try:
                steps.append(_plan_approvals(host, around, path, steps[-1]))
            except ConfigError as problem:
                notes.append(f"{problem}; {host.title} runs ours only after you approved them there: /hooks")
    # what an earlier installation asked about, and this one does not
    earlier = (path for path in host.settings_paths(scope, around) if path not in files)
    steps += [_plan_removal(path, host, around) for path in earlier]
    called = tuple(event for event in events if event in by_url)
    return replace(_plan(host, scope, files, steps), events=tuple(events), urls=called, notes=tuple(notes))


def uninstall(host: Host, scope: Scope, around: HostEnvironment, *, together: Sequence[Scope] = ()) -> InstallPlan:
    """Plan the removal of our entries and the restoration of the original files.

    `together` are other scopes of the agent that we are taken out of at the same time.

    Raises:
        HostError: The agent has no such settings.
        ConfigError: The settings there are cannot be read.
    """
    steps: list[_FilePlan] = []
    files = host.settings_paths(scope, around)
    for path in files:
        step = _plan_removal(path, host, around)
        if host.approval is not None:
            leaving = [str(host.settings_path(other, around)) for other in together if other in host.files]
            steps.append(_plan_approvals(host, around, path, step, leaving=leaving))
        steps.append(step)
    return _plan(host, scope, files, steps)


def accept(host: Host, scope: Scope, around: HostEnvironment) -> InstallPlan:
    """Plan that the hooks of others in the settings of an agent count as known, as they are now."""
    others = drift.list_hooks(host, scope, around)
    kept = [backup for path in host.settings_paths(scope, around) if (backup := load_backup(around.data, path))]
    records = (plan_record(around.data, one.path, replace(one, others=others)) for one in kept)
    files = tuple(one.path for one in kept)
    return InstallPlan(
        host=host.name, scope=scope, files=files, records=tuple(edit for some in records for edit in some)
    )


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
    try:
        plans = plan()
    except ConfigError as problem:
        done = "" if "nothing was changed" in problem.message else "; mend it first, nothing was changed"
        raise ConfigError(f"{problem.message}{done}", path=problem.path, line=problem.line) from None
    if dry_run or not any((*one.changes, *one.records) for one in plans):
        return plans, 0
    with UndoLog(around.data).transaction() as apply:
        # plan again under the lock: another process may have written meanwhile
        plans = plan()
        changes = [change for one in plans for change in (*one.changes, *one.records)]
        whom = ", ".join(one.host for one in plans if one.changes or one.records)
        return plans, apply(changes, f"{what} {whom}", follows=follows).id


def _plan(host: Host, scope: Scope, files: Iterable[str], steps: Sequence[_FilePlan]) -> InstallPlan:
    return InstallPlan(
        host=host.name,
        scope=scope,
        files=tuple(files),
        changes=tuple(change for step in steps for change in step.changes),
        records=tuple(change for step in steps for change in step.records),
    )


def _plan_install(
    path: str,
    calls: tuple[EventCall, ...],
    host: Host,
    around: HostEnvironment,
    chosen: Mapping[str, object],
    *,
    clean: bool,
    is_program: bool,
) -> _FilePlan:
    """Plan a file with our entries; `chosen` are fields of its backup."""
    now = _read(path)
    kept = load_backup(around.data, path)
    check = partial(acceptance.check, reading=host.strictness, path=path, title=host.title, name=host.name)
    is_accepted = False
    if now is not None:
        with suppress(ConfigError):
            check(_decode(now, path))
            is_accepted = True
    if now is not None and is_accepted and host.shape.matches(_decode(now, path), calls, path=path):
        records = plan_record(around.data, path, replace(kept, **chosen)) if kept is not None else ()
        return _FilePlan(now=now, wanted=now, records=records)
    base = _find_original(path, now, kept, host.shape.remove)
    text = "" if base is None else _decode(base, path)
    # what was cleaned once stays clean: the file as it was before us comes back when we are taken out
    if not isinstance(host.shape, OwnedFile):
        if clean or (is_accepted and kept is not None):
            text = acceptance.clean(text, path=path)
        try:
            check(text)
        except ConfigError as problem:
            raise ConfigError(f"{problem.message}; nothing was changed", path=problem.path, line=problem.line) from None
    wanted = host.shape.add(text, calls, path=path).encode()
    # a header has the token of our daemon, which others on this machine must not read
    has_token = any(call.headers for call in calls)
    before_mode = kept.mode if kept is not None else None
    if has_token and before_mode is None:
        with suppress(OSError):
            before_mode = stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 - a link is followed
    new_mode = _PRIVATE if has_token else before_mode
    backup = SettingsBackup(
        path=path,
        before=base,
        after=digest(wanted),
        folders=created_folders(around.data, path),
        events=tuple(call.event for call in calls),
        mode=before_mode,
    )
    edit = FileEdit(path, now, wanted, _EXECUTABLE if is_program else None, new_mode=new_mode)
    return _plan_file(edit, plan_record(around.data, path, replace(backup, **chosen)))


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
        earlier |= host.approval(folder, Path(one), (raw or b"").decode("utf-8", "replace"))[1]
    spelled = tuple(f"{name}:" for one in (settings, *leaving) for name in (one, os.path.realpath(one)))
    others = {key: said for key, said in remembered.items() if not key.startswith(spelled)}
    hashes = {**others, **wanted}
    is_bare = not ({*remembered, *earlier} - {*hashes})
    if now is not None and hashes and is_bare and acceptance.are_approved(_decode(now, path), hashes, path=path):
        return _FilePlan(now=now, wanted=now)
    if now is not None and not hashes and kept is None and not earlier:
        return _FilePlan(now=now, wanted=now)
    # one key may have had two hashes: the one that is remembered, and the one that the settings have now
    known = (*earlier.items(), *remembered.items())

    def remove(text: str, *, path: str, before: str | None) -> str | None:
        left = acceptance.withdraw(text, known, path=path)
        return None if before is None and not left.strip() else left

    base = _find_original(path, now, kept, remove)
    after, backup = base, None
    if hashes:
        after = acceptance.approve("" if base is None else _decode(base, path), hashes, path=path).encode()
        folders = created_folders(around.data, path)
        backup = SettingsBackup(path=path, before=base, after=digest(after), folders=folders, approvals=hashes)
    left = kept.folders if kept is not None and after is None else ()
    return _plan_file(FileEdit(path, now, after, folders=left), plan_record(around.data, path, backup))


def _plan_removal(path: str, host: Host, around: HostEnvironment) -> _FilePlan:
    """Plan a file without our entries: byte for byte as before, unless it was changed since."""
    now = _read(path)
    kept = load_backup(around.data, path)
    wanted = _find_original(path, now, kept, host.shape.remove)
    folders = kept.folders if kept is not None and wanted is None else ()
    mode = kept.mode if kept is not None else None
    return _plan_file(FileEdit(path, now, wanted, folders=folders, new_mode=mode), plan_record(around.data, path, None))


def _plan_file(edit: FileEdit, records: tuple[FileEdit, ...]) -> _FilePlan:
    changes = (edit,) if edit.after != edit.before else ()
    return _FilePlan(now=edit.before, wanted=edit.after, changes=changes, records=records)


def _find_original(
    path: str, now: bytes | None, kept: SettingsBackup | None, remove: Callable[..., str | None]
) -> bytes | None:
    """Return a file as it is without us."""
    if now is None:
        return None
    if kept is not None and kept.after == digest(now):
        return kept.before
    # without a backup the original is unknown; assume that the file existed
    before = "" if kept is None else None if kept.before is None else _decode(kept.before, path)
    left = remove(_decode(now, path), path=path, before=before)
    return None if left is None else left.encode()


def _read(path: str) -> bytes | None:
    raw = read_bytes(path)
    if raw is None and Path(path).is_symlink():
        raise ConfigError("this is a link that leads nowhere; nothing was changed", path=path)
    return raw


def _decode(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as problem:
        line_number = raw.count(b"\n", 0, problem.start) + 1
        raise ConfigError("the file is not UTF-8; nothing was changed", path=path, line=line_number) from None
