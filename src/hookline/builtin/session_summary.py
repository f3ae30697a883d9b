"""The built-in hook `session-summary`: what a session did, from the trace, and the removal of old files of built-in hooks."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from hookline.builtin._json_log import MARKERS, JsonLog
from hookline.builtin.catalogue import BUILTINS, BuiltinScope, Judge, Options
from hookline.effects.event_paths import WRITERS
from hookline.errors import StoreError
from hookline.model.event import Event, EventName

_DAYS: Final = 30
_DAY: Final = 86_400
_MOST_EVENTS: Final = 5_000
_MOST_ROWS: Final = 50


def make_summary(scope: BuiltinScope, options: Options) -> Judge:
    """Return the hook."""
    log, days = JsonLog(options), options.get("days", _DAYS)

    def save(event: Event) -> None:
        log.write(event, {"reason": event.data.get("reason"), **summarise_session(Path(scope.data), event)})
        remove_old(Path(scope.data), older_than=time.time() - _DAY * (days if isinstance(days, int) else _DAYS))

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
        "seconds": round(time.time() - calls[0].at, 1) if calls else 0,
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
