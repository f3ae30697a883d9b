"""The built-in hooks that write files below the data folder: logs, summaries of sessions, and copies of transcripts.

A log has JSON lines that many processes append to. It is private, without secrets, and bounded in size.
"""

import asyncio
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import BufferedIOBase
from pathlib import Path
from shutil import copyfileobj
from time import gmtime, strftime, time
from typing import Final

from hookline import json_codec
from hookline.builtin.catalogue import BUILTINS, BuiltinScope, Judge, Options
from hookline.effects.event_paths import WRITERS
from hookline.engine.session import classify_text
from hookline.errors import StoreError
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.verdict import Verdict
from hookline.text import redact

# log files

MAX_SIZE: Final = 10 * 1024 * 1024
KEPT: Final = 3
# the folder that remembers sessions that were set up
MARKERS: Final = "setups"
# characters of one text, items of one list or table, levels of nesting
_LONGEST: Final = 4_000
_MOST: Final = 100
_DEEPEST: Final = 6
_LONGEST_LINE: Final = 64 * 1024  # bytes
# characters read beyond those that are kept, so that a key is not cut into something that no longer looks like one
_MARGIN: Final = 500


class JsonLog:
    """One log file: `max_size` bytes, and `keep` older ones beside it."""

    def __init__(self, options: Options) -> None:
        self.path = Path(str(options["path"]))
        self._max_size = read_number(options, "max_size", MAX_SIZE)
        self._keep = read_number(options, "keep", KEPT)

    def write(self, event: Event, fields: Mapping[str, object]) -> None:
        """Append one record about an event in one write.

        Raises:
            OSError: It cannot be written.
        """
        moment = datetime.fromtimestamp(event.timestamp / 1000, UTC) if event.timestamp else datetime.now(UTC)
        about = {
            "time": moment.isoformat(timespec="milliseconds"),
            "event": str(event.name),
            "agent": event.host,
            "session": event.session.id,
            "project": event.project or event.cwd,
            "trace": event.id,
        }
        about = {key: value for key, value in about.items() if value}
        line = json_codec.dump(clean({**about, **fields})) + b"\n"
        if len(line) > _LONGEST_LINE:
            line = json_codec.dump(clean({**about, "cut": line.decode()})) + b"\n"
        handle = open_private(self.path)
        try:
            info = os.fstat(handle)
            if info.st_size + len(line) > self._max_size:
                self._rotate(info.st_ino)
                os.close(handle)
                handle = open_private(self.path)
            if os.write(handle, line) != len(line):
                raise OSError(f"{self.path}: there is no room for a whole line on the disk")
        finally:
            os.close(handle)

    def _rotate(self, inode: int) -> None:
        """Move the file away, unless another process did so; what others have open is written to the moved file."""
        with _lock(self.path.with_name(f".{self.path.name}.lock")):
            try:
                is_same = self.path.stat().st_ino == inode
            except FileNotFoundError:
                is_same = False
            if is_same:
                for number in range(self._keep - 1, 0, -1):
                    with suppress(FileNotFoundError):
                        self._older(number).replace(self._older(number + 1))
                with suppress(FileNotFoundError):
                    self.path.replace(self._older(1))

    def _older(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


def open_private(path: Path, *, flags: int = os.O_APPEND) -> int:
    """Open a file to write that only the user can read, and make its folders.

    Raises:
        OSError: It cannot be opened, or is a symbolic link.
    """
    flags |= os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_folder(path.parent)
        return os.open(path, flags, 0o600)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; only the user can read what is in them."""
    # one by one: `parents=True` would ignore the mode for those above
    for part in (*reversed(folder.parents), folder):
        if not part.is_dir():
            part.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a lock on a file; where the system has none, another process may do the same at the same time."""
    handle = open_private(path)
    try:
        with suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415 - Windows has none

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def clean(value: object, *, name: str = "", depth: int = _DEEPEST) -> object:
    """Return a value for a log: secrets masked, by the `name` of their key as well, and long texts and lists cut."""
    if isinstance(value, str):
        return _clean_text(value, name)
    if value is None or isinstance(value, bool | int | float):
        return value
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        items = list(value.items())[:_MOST]
        return {_clean_text(str(key), ""): clean(item, name=str(key), depth=depth - 1) for key, item in items}
    if isinstance(value, list | tuple):
        return [clean(item, name=name, depth=depth - 1) for item in value[:_MOST]]
    return _clean_text(str(value), name)


def _clean_text(text: str, name: str) -> str:
    read = text[: _LONGEST + _MARGIN]
    # a password is known by the name before it
    start = f"{name}=" if name else ""
    masked = redact(f"{start}{read}")
    masked = masked.removeprefix(start) if masked.startswith(start) else redact(read)
    return masked if len(text) <= _LONGEST else f"{masked[:_LONGEST]}… ({len(text)} characters)"


def read_number(options: Options, key: str, default: int) -> int:
    """Return an option that is a number."""
    value = options.get(key)
    return value if isinstance(value, int) else default


# logs of events: prompts, tool calls, errors, permissions, skills, subagents, completions and notifications

# returns what is written about an event; None where it is no event of the log
_Describe = Callable[[Event], Mapping[str, object] | None]


def log_permissions(scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that writes down what the user is asked to permit, and whether it only reads files of the project."""

    def describe(event: Event) -> Mapping[str, object]:
        from hookline.builtin import allow_readonly  # noqa: PLC0415 - reads shell lines, which only this log needs

        is_read_only = allow_readonly.judge(event, root=scope.root, home=scope.home) is not None
        return {**describe_event(event), "read_only": is_read_only}

    return _make_log(options, describe)


def _make_log(options: Options, describe: _Describe) -> Judge:
    log = JsonLog(options)

    def judge(event: Event) -> None:
        fields = describe(event)
        if fields is not None:
            log.write(event, fields)

    return judge


def describe_event(event: Event) -> dict[str, object]:
    """Return the canonical fields of an event that say something."""
    called = {"tool": event.tool, "native_tool": event.native_tool, "args": event.args} if event.tool else {}
    fields = {name: event.data[name] for name in EVENTS[event.name].fields if event.data.get(name) is not None}
    return {**{name: value for name, value in called.items() if value}, **fields}


def describe_error(event: Event) -> Mapping[str, object] | None:
    """Return what is known of a failure; None for a tool call that did not fail, as far as its result says."""
    if event.name is EventName.AFTER_TOOL:
        error = _find_error(event.data.get("result"))
        if not error:
            return None
        return {**describe_event(event), "error": error, "error_type": classify_text(error)}
    error = str(event.data.get("error", ""))
    return {"error_type": classify_text(error), **describe_event(event)}


def _find_error(result: object) -> str:
    """Return what a result of a tool says of a failure; empty where it says nothing of one."""
    if not isinstance(result, Mapping):
        return ""
    code = next((result[key] for key in ("exit_code", "exitCode", "code", "status") if key in result), 0)
    has_failed = isinstance(code, int) and code != 0
    has_failed = has_failed or result.get("is_error") is True or result.get("success") is False
    error = result.get("error")
    if not has_failed and not error:
        return ""
    texts = (error, result.get("stderr"), result.get("message"), result.get("output"), f"exit code {code}")
    return next(str(text) for text in texts if text)


def describe_skill(event: Event) -> Mapping[str, object] | None:
    """Return the skill that an event is about, and its parameters; None where it is about none."""
    if event.name is EventName.SKILL_TRIGGER:
        return describe_event(event)
    if event.tool != "skill":
        return None
    parameters = {key: value for key, value in event.args.items() if key != "name"}
    return {"skill": event.args.get("name", ""), "parameters": parameters}


def _make_factory(describe: _Describe) -> Callable[[BuiltinScope, Options], Judge]:
    return lambda _scope, options: _make_log(options, describe)


# hooks that write down every event; failures, each with its class; the skills that are used: events of their own, or
# calls of a tool that starts one
log_events: Final = _make_factory(describe_event)
log_errors: Final = _make_factory(describe_error)
log_skills: Final = _make_factory(describe_skill)


# `session-summary`: what a session did, from the trace, and the removal of old files of built-in hooks

_DAYS: Final = 30
_DAY: Final = 86_400
_MOST_EVENTS: Final = 5_000
_MOST_ROWS: Final = 50


def make_summary(scope: BuiltinScope, options: Options) -> Judge:
    """Return the hook."""
    log, days = JsonLog(options), read_number(options, "days", _DAYS)

    def save(event: Event) -> None:
        log.write(event, {"reason": event.data.get("reason"), **summarise_session(Path(scope.data), event)})
        remove_old(Path(scope.data), older_than=time() - _DAY * days)

    async def judge(event: Event) -> None:
        # in a thread: a long session must not delay other calls
        await asyncio.to_thread(save, event)

    return judge


def summarise_session(data: Path, event: Event) -> Mapping[str, object]:
    """Return what the trace says of the session that an event ends."""
    from hookline.stores.trace_queries import TraceQueries  # noqa: PLC0415 - loads sqlite3, which not every hook needs

    if not event.session.id:
        return {}
    try:
        calls = TraceQueries(data / "traces.db").session_events(event.session.id, limit=_MOST_EVENTS)
    except StoreError as problem:
        return {"problem": str(problem)}
    done = [call for call in calls if call.event in {EventName.AFTER_TOOL, EventName.TOOL_FAILED}]
    return {
        "seconds": round(time() - calls[0].at, 1) if calls else 0,
        "prompts": sum(call.event == EventName.BEFORE_AGENT for call in calls),
        "tools": dict(Counter(call.tool for call in done if call.tool)),
        "failed": sum(call.event == EventName.TOOL_FAILED for call in calls),
        "commands": _take(call.subject for call in done if call.tool == "shell"),
        "changed": _take(call.subject for call in done if call.tool in WRITERS),
        "blocked": _take(
            f"{call.tool or call.event}: {call.subject}: {'; '.join(call.reasons)}" for call in calls if call.blocked
        ),
    }


def _take(texts: Iterable[str]) -> list[str]:
    """Return each text once, the last ones where they are too many."""
    return list(dict.fromkeys(filter(None, texts)))[-_MOST_ROWS:]


def remove_old(data: Path, *, older_than: float) -> None:
    """Remove the files that built-in hooks wrote into the data folder before a time, but for logs that are in use."""
    folders = {Path(one.output).parts[0] for one in BUILTINS.values() if one.output} | {MARKERS}
    for name in folders:
        for path in (data / name).glob("*"):
            if path.suffix == ".jsonl" or path.name.startswith("."):
                continue
            with suppress(OSError):
                if path.is_file() and path.lstat().st_mtime < older_than:
                    path.unlink()


# `transcript-backup`: copy the transcript before the agent compacts it

_KEPT: Final = 50
_LARGEST: Final = 256 * 1024 * 1024
_FASTEST: Final = 1
_ENDING: Final = ".gz"


def make_backup(_scope: BuiltinScope, options: Options) -> Judge:
    """Return the hook."""
    folder, keep = Path(str(options["path"])), read_number(options, "keep", _KEPT)

    def save(event: Event) -> Verdict | None:
        written = _copy_file(event, folder) or _write_messages(event, folder)
        if written is None:
            return None
        # their names sort by time
        for old in sorted(folder.glob(f"*{_ENDING}"), reverse=True)[keep:]:
            old.unlink(missing_ok=True)
        return Verdict(metadata={"backup": str(written)})

    async def judge(event: Event) -> Verdict | None:
        # in a thread: a long transcript must not delay other calls
        return await asyncio.to_thread(save, event)

    return judge


def _copy_file(event: Event, folder: Path) -> Path | None:
    """Copy the file that the agent names; None where it names none.

    Raises:
        OSError: It cannot be copied.
    """
    path = event.data.get("transcript_path")
    if not isinstance(path, str) or not path:
        return None
    # the payload names the file: a pipe would block
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as source:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_size > _LARGEST:
            raise OSError(f"{path} is no file of up to {_LARGEST >> 20} MB, so it is no transcript")
        goal = _name_copy(event, folder, Path(path).suffix)
        with _open_copy(goal) as copy:
            copyfileobj(source, copy)
    return goal


def _write_messages(event: Event, folder: Path) -> Path | None:
    messages = event.data.get("messages")
    if not isinstance(messages, list) or not messages:
        return None
    goal = _name_copy(event, folder, ".jsonl")
    with _open_copy(goal) as copy:
        copy.writelines(json_codec.dump(message) + b"\n" for message in messages)
    return goal


@contextmanager
def _open_copy(goal: Path) -> Iterator[BufferedIOBase]:
    import gzip  # noqa: PLC0415 - logs do without

    with (
        os.fdopen(open_private(goal, flags=os.O_EXCL), "wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=_FASTEST, filename="") as copy,
    ):
        yield copy


def _name_copy(event: Event, folder: Path, suffix: str) -> Path:
    """Return a name that sorts by time, and that no payload can lead elsewhere with."""
    moment = strftime("%Y%m%dT%H%M%S", gmtime())
    session = re.sub(r"[^\w-]", "_", event.session.id, flags=re.ASCII)[:64] or "session"
    ending = suffix if re.fullmatch(r"\.\w{1,8}", suffix, re.ASCII) else ".txt"
    return folder / f"{moment}-{int(time() * 1000) % 1000:03}-{session}{ending}{_ENDING}"
