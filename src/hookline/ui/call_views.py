"""Calls, sessions and their records as the page gets them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from typing import Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.model.event import EVENTS, EventName
from hookline.model.record import Record, Step
from hookline.model.verdict import EffectKind
from hookline.stores.trace_queries import HookFigures, SessionSummary, Summary, TimeBucket, TraceFilter, TraceQueries

Json = Mapping[str, object]

# the steps whose records may carry the fields of the event
_WITH_FIELDS: Final = (Step.EVENT, Step.OUTCOME)
_FIGURES: Final = (
    *("hook", "runs", "failed", "failures", "denials", "observed_denials", "success_rate", "mean", "total"),
    *("last_run", "last_error", "tokens", "cost"),
)


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


def list_sessions(traces: TraceQueries, wanted: TraceFilter, *, limit: int) -> Json:
    """Return the sessions with the newest events first."""
    found = traces.sessions(wanted, limit=limit)
    return {"sessions": [session_to_json(traces, one) for one in found]}


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
