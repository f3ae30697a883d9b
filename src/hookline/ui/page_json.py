"""Calls, sessions, their records and figures as the page gets them, and the mask that makes every text safe to show."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from itertools import islice
from typing import Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.model.event import EVENTS, EventName
from hookline.model.record import Record, Step
from hookline.model.verdict import EffectKind
from hookline.stores.trace_queries import HookFigures, SessionSummary, Summary, TimeBucket, TraceFilter, TraceQueries
from hookline.text import sanitize

Json = Mapping[str, object]

# the steps whose records may carry the fields of the event
_WITH_FIELDS: Final = (Step.EVENT, Step.OUTCOME)
_FIGURES: Final = (
    *("hook", "runs", "failed", "failures", "denials", "observed_denials", "success_rate", "mean", "total"),
    *("last_run", "last_error", "tokens", "cost"),
)

# characters of a text, items of a list or table in the detail of a record, and levels of nesting
LONGEST: Final = 20_000
MOST_ITEMS: Final = 500
# above this level are lists of the server's own: of calls, of records, of figures
_IN_DETAIL: Final = 4
DEEPEST: Final = 16
_SHORT: Final = 300

_PLAIN: Final = (bool, int, float, type(None))


def call_to_json(call: Summary) -> dict[str, object]:
    """Return a call in one line."""
    facts = asdict(call)
    facts["agent"] = facts.pop("host")
    return facts


def record_to_json(record: Record) -> Json:
    """Return one record of a call."""
    return {
        "step": record.step,
        "at": record.at,
        "hook": record.hook,
        "decision": record.decision,
        "duration": record.duration,
        "detail": record.detail,
    }


def session_to_json(traces: TraceQueries, session: SessionSummary) -> Json:
    """Return a session in one line, with its first prompt and the version of its agent."""
    facts, name = asdict(session), session.session
    return {
        **facts,
        "agent": facts.pop("host"),
        "version": traces.agent_version(name),
        "prompt": traces.first_prompt(name),
    }


def figures_to_json(figures: HookFigures) -> Json:
    """Return the figures of a hook."""
    return {
        **{name: getattr(figures, name) for name in _FIGURES},
        **asdict(figures.times),
    }


def times_to_json(bucket: TimeBucket) -> Json:
    """Return how long runs took in a span of time."""
    facts = asdict(bucket)
    del facts["times"]
    return {**facts, **asdict(bucket.times)}


def list_calls(traces: TraceQueries, wanted: TraceFilter, *, limit: int, before: int) -> Json:
    """Return the newest calls that are wanted."""
    with closing(traces.traces(wanted, before=before)) as calls:
        found = list(islice(calls, limit + 1))
    return {"calls": list(map(call_to_json, found[:limit])), "more": len(found) > limit}


def describe_call(traces: TraceQueries, call: Summary) -> Json:
    """Return a call with its records, and what hooks rewrote."""
    records = traces.records(call.trace)
    return {
        **call_to_json(call),
        "records": list(map(record_to_json, records)),
        "diff": list(find_rewrites(records)),
    }


def find_rewrites(records: Iterable[Record]) -> Iterator[Mapping[str, str]]:
    """Yield the arguments and outputs that hooks rewrote: each with its name, the first text and the last."""
    fields: dict[str, dict[str, object]] = {"args": {}, "data": {}}
    changed: dict[str, tuple[str, str]] = {}
    for record in records:
        if record.step in _WITH_FIELDS:
            for name, table in fields.items():
                value = record.detail.get(name)
                table.update(value if isinstance(value, Mapping) else {})
        if record.step is not Step.COMPLETED or record.detail.get("observed"):
            continue
        for path, value in _list_rewrites(record):
            name = ".".join(path)
            before = changed[name][0] if name in changed else _to_text(_find_value(record.event, path, fields))
            changed[name] = (before, _to_text(value))
    for name, (before, after) in changed.items():
        if before != after:
            yield {"name": name, "before": before, "after": after}


def _list_rewrites(record: Record) -> Iterator[tuple[list[str], object]]:
    effects = record.detail.get("effects")
    for effect in effects if isinstance(effects, list | tuple) else ():
        if isinstance(effect, Mapping) and effect.get("kind") == EffectKind.REWRITE and effect.get("path"):
            yield [str(part) for part in effect["path"]], effect.get("value")


def _find_value(event: str, path: list[str], fields: Mapping[str, Mapping[str, object]]) -> object:
    """Return what the event says at the path of a rewrite."""
    spec = EVENTS[EventName(event)] if event in EVENTS else None
    field = (spec.input if path[0] == "args" else spec.output) if spec is not None else ""
    value: object = fields["data"].get(field) if field else fields["args"] if path[0] == "args" else None
    for part in path[1:]:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _to_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json_codec.dump(value).decode()


def mask(value: object, *, depth: int = 0) -> object:
    """Return a JSON value with every text in it made safe to show."""
    if isinstance(value, str):
        return _mask_short(value) if len(value) <= _SHORT else sanitize(value, longest=LONGEST, tabs=True)
    if isinstance(value, _PLAIN):
        return value
    if depth >= DEEPEST:
        return "… (nested deeper)"
    most = MOST_ITEMS if depth >= _IN_DETAIL else None
    if isinstance(value, Mapping):
        left = len(value) - MOST_ITEMS if most is not None else 0
        table = {str(mask(str(key))): mask(item, depth=depth + 1) for key, item in islice(value.items(), most)}
        return table if left <= 0 else {**table, "…": f"({left} more)"}
    if isinstance(value, list | tuple | set | frozenset):
        left = len(value) - MOST_ITEMS if most is not None else 0
        shown = [mask(item, depth=depth + 1) for item in islice(value, most)]
        return shown if left <= 0 else [*shown, f"… ({left} more)"]
    return mask(str(value))


@lru_cache(maxsize=8_192)
def _mask_short(text: str) -> str:
    # names of sessions, projects, hooks and tools come again and again
    return sanitize(text, longest=LONGEST, tabs=True)
