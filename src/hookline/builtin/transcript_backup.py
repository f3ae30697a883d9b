"""The built-in hook `transcript-backup`: copy the transcript before the agent compacts it."""

import asyncio
import gzip
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from time import gmtime, strftime, time
from typing import Final

from hookline import json_codec
from hookline.builtin._json_log import open_private
from hookline.builtin.catalogue import BuiltinScope, Judge, Options
from hookline.model.event import Event
from hookline.model.verdict import Verdict

_KEPT: Final = 50
_LARGEST: Final = 256 * 1024 * 1024
_FASTEST: Final = 1
_ENDING: Final = ".gz"


def make_backup(_scope: BuiltinScope, options: Options) -> Judge:
    """Return the hook."""
    folder, keep = Path(str(options["path"])), options.get("keep", _KEPT)

    def save(event: Event) -> Verdict | None:
        written = _copy_file(event, folder) or _write_messages(event, folder)
        if written is None:
            return None
        # their names sort by time
        for old in sorted(folder.glob(f"*{_ENDING}"), reverse=True)[keep if isinstance(keep, int) else _KEPT :]:
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
def _open_copy(goal: Path) -> Iterator[gzip.GzipFile]:
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
