"""Turn records into spans and metrics of OpenTelemetry, and send them with OTLP over HTTP. Needs the extra `otel`.

A session is a trace; its span is the parent of those of its events, and these of those of their hooks. All ids are computed from
those of session, event and hook, so that several processes add to one trace.
"""

import hashlib
import logging
import socket
import threading
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from opentelemetry.exporter.otlp.proto.http import metric_exporter, trace_exporter
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader, MetricExportResult
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    set_span_in_context,
)

from hookline import json_codec
from hookline.model.event import EventName
from hookline.model.record import Record, Step
from hookline.stores.counters import BUCKETS
from hookline.telemetry.exporter import CollectorTarget
from hookline.text import redact, sanitize
from hookline.version import __version__

MOST_OPEN: Final = 1_000  # events and sessions that are not over yet
_MOST_NOTES: Final = 32  # span events of one span
_LONGEST: Final = 500  # characters of a text
_LONGEST_ARGUMENTS: Final = 4_000

AttributeValue = str | bool | int | float | Sequence[str]

# what an agent does while an event of this name is answered, in the words of the GenAI conventions
_OPERATIONS: Final[Mapping[str, str]] = {
    EventName.BEFORE_TOOL: "execute_tool",
    EventName.AFTER_TOOL: "execute_tool",
    EventName.TOOL_FAILED: "execute_tool",
    EventName.BEFORE_MODEL: "chat",
    EventName.AFTER_MODEL: "chat",
    EventName.BEFORE_AGENT: "invoke_agent",
    EventName.AFTER_AGENT: "invoke_agent",
}
_NOTES: Final = frozenset({Step.SKIPPED, Step.DEGRADED, Step.ASKED, Step.WARNING})
_BLOCKING: Final = frozenset({"deny", "stop"})


def _hash(size: int, *parts: str) -> int:
    """Return an id that is never 0, which stands for no id."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:size], "big") or 1


def find_trace_id(session: str, trace: str) -> int:
    """Return the id of the trace of a session; an event without a session has one of its own."""
    return _hash(16, "session", session) if session else _hash(16, "event", trace)


def find_session_span_id(session: str) -> int:
    """Return the id of the span of a session."""
    return _hash(8, "session", session)


def find_event_span_id(trace: str) -> int:
    """Return the id of the span of an event."""
    return _hash(8, "event", trace)


class _Ids(IdGenerator):
    """Returns the ids of the span that is started next."""

    trace = 1
    span = 1

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class _Collector(SpanProcessor):
    """Keeps the spans that have ended, until they are sent."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


class _OpenSession(Struct):
    """A session whose span is not exported yet; times are in seconds since the epoch."""

    host: str
    project: str
    first: float
    last: float
    version: str = ""


class SpanBuilder:
    """Builds the spans of records; those of an event when its outcome is there, that of a session when it ends.

    `find_start` returns when a session started that began in another process; 0 if that is not known.
    """

    def __init__(
        self, tracer: Tracer, ids: _Ids, *, find_start: Callable[[str], float], has_arguments: bool = False
    ) -> None:
        self._tracer = tracer
        self._ids = ids
        self._find_start = find_start
        self._has_arguments = has_arguments
        # the records of events that are not over yet
        self._events: dict[str, list[Record]] = {}
        self._sessions: dict[str, _OpenSession] = {}
        # how often each hook ran at an event; kept after the event, because a hook in the background runs later
        self._runs: dict[str, Tally[str]] = {}

    def add(self, record: Record) -> None:
        """Add one record."""
        if record.step is Step.EVENT:
            self._events[record.trace] = [record]
            while len(self._events) > MOST_OPEN:
                # its process was ended before it had an outcome
                self._build_event(self._events.pop(next(iter(self._events))))
        elif record.step is Step.OUTCOME:
            self._build_event([*self._events.pop(record.trace, ()), record])
        elif record.trace in self._events:
            if record.step in _NOTES or record.step in {Step.COMPLETED, Step.FAILED}:
                self._events[record.trace].append(record)
        elif record.step in {Step.COMPLETED, Step.FAILED}:
            # a hook in the background, after the outcome
            self._build_hook(record, start=record.at - record.duration, end=record.at)

    def finish(self) -> None:
        """Build the spans of all that is still open."""
        for records in self._events.values():
            self._build_event(records)
        self._events.clear()
        for session in list(self._sessions):
            self._build_session(session)

    def _build_event(self, records: list[Record]) -> None:
        last = records[-1]
        runs = [record for record in records if record.step in {Step.COMPLETED, Step.FAILED}]
        # a record is written when its step is over
        start = min(record.at - record.duration for record in records)
        end = max(record.at for record in records)
        for record in runs:
            self._build_hook(record, start=record.at - record.duration, end=record.at)
        detail = {**records[0].detail, **last.detail}
        parent = detail.get("parent")
        parent_id = find_event_span_id(parent) if isinstance(parent, str) and parent else None
        if parent_id is None and last.session:
            parent_id = find_session_span_id(last.session)
        notes = [record for record in records if record.step in _NOTES][:_MOST_NOTES]
        self._build(
            f"{last.event} {last.tool}".rstrip(),
            (find_trace_id(last.session, last.trace), find_event_span_id(last.trace), parent_id),
            (start, end),
            self._describe_event(last, detail),
            notes=notes,
        )
        if last.session:
            self._extend_session(last, start, end, str(detail.get("version") or ""))

    def _describe_event(self, record: Record, detail: Mapping[str, object]) -> dict[str, AttributeValue]:
        found = _describe(record)
        found["hookline.decision"] = record.decision or "unfinished"
        found["hookline.subject"] = sanitize(record.subject, longest=_LONGEST)
        found["hookline.decided_by"] = _mask_all(detail.get("decided_by"))
        found["hookline.reasons"] = _mask_all(detail.get("reasons"))
        if operation := _OPERATIONS.get(record.event):
            found["gen_ai.operation.name"] = operation
        found["gen_ai.agent.version"] = str(detail.get("version") or "")
        for name in ("ran", "failed", "skipped"):
            if isinstance(number := detail.get(name), int):
                found[f"hookline.hooks.{name}"] = number
        if detail.get("rewrote"):
            found["hookline.rewrote"] = True
        if self._has_arguments and detail.get("args"):
            text = redact(json_codec.dump(detail["args"]).decode())
            found["gen_ai.tool.call.arguments"] = text[:_LONGEST_ARGUMENTS]
        return found

    def _build_hook(self, record: Record, *, start: float, end: float) -> None:
        runs = self._runs.setdefault(record.trace, Tally())
        index = runs[record.hook]
        runs[record.hook] += 1
        while len(self._runs) > MOST_OPEN:
            del self._runs[next(iter(self._runs))]
        detail = record.detail
        found = _describe(record)
        found["hookline.hook"] = sanitize(record.hook, longest=_LONGEST)
        found["hookline.decision"] = record.decision
        found["hookline.reason"] = sanitize(str(detail.get("reason") or ""), longest=_LONGEST)
        for name in ("observed", "cached", "slow", "blocked_by_failure"):
            if detail.get(name):
                found[f"hookline.{name}"] = True
        found["hookline.sandbox"] = _mask_all(detail.get("sandbox"))
        found |= _describe_usage(detail.get("usage"))
        if isinstance(code := detail.get("exit_code"), int):
            found["process.exit.code"] = code
        status = Status(StatusCode.UNSET)
        if record.step is Step.FAILED:
            found["error.type"] = str(detail.get("failure") or "unknown")
            status = Status(StatusCode.ERROR, sanitize(str(detail.get("message") or ""), longest=_LONGEST))
        # one of its runs at this event
        own = _hash(8, "hook", record.trace, record.hook, str(index))
        ids = (find_trace_id(record.session, record.trace), own, find_event_span_id(record.trace))
        self._build(f"hook {found['hookline.hook']}", ids, (start, end), found, status=status)

    def _extend_session(self, record: Record, start: float, end: float, version: str) -> None:
        known = self._sessions.get(record.session)
        if known is None:
            began = self._find_start(record.session)
            first = min(start, began) if began else start
            known = self._sessions[record.session] = _OpenSession(record.host, record.project, first, end)
        known.first, known.last = min(known.first, start), max(known.last, end)
        known.version = known.version or version
        if record.event == EventName.SESSION_END:
            self._build_session(record.session)
        while len(self._sessions) > MOST_OPEN:
            self._build_session(next(iter(self._sessions)))

    def _build_session(self, session: str) -> None:
        known = self._sessions.pop(session)
        found: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": known.host,
            "gen_ai.agent.version": known.version,
            "gen_ai.conversation.id": session,
            "hookline.project": known.project,
        }
        ids = (find_trace_id(session, ""), find_session_span_id(session), None)
        self._build(f"invoke_agent {known.host}".rstrip(), ids, (known.first, known.last), found)

    def _build(
        self,
        name: str,
        ids: tuple[int, int, int | None],
        times: tuple[float, float],
        attributes: Mapping[str, AttributeValue],
        *,
        notes: Iterable[Record] = (),
        status: Status | None = None,
    ) -> None:
        """Build a span; `ids` are those of the trace, the span and its parent. Empty attributes are left out."""
        self._ids.trace, self._ids.span, parent = ids
        context = None
        if parent is not None:
            above = SpanContext(ids[0], parent, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
            context = set_span_in_context(NonRecordingSpan(above))
        start, end = (int(seconds * 1e9) for seconds in times)
        given = {key: value for key, value in attributes.items() if value not in {"", ()}}
        span = self._tracer.start_span(name, context=context, attributes=given, start_time=start)
        for note in notes:
            text = note.detail.get("message") or note.detail.get("reason") or ""
            about = {"hookline.hook": note.hook, "hookline.gate": str(note.detail.get("gate") or "")}
            about["message"] = sanitize(str(text), longest=_LONGEST)
            span.add_event(note.step, {key: value for key, value in about.items() if value}, int(note.at * 1e9))
        if status is not None:
            span.set_status(status)
        span.end(max(start, end))


def _describe(record: Record) -> dict[str, AttributeValue]:
    """Return the attributes that events and hooks have in common."""
    return {
        "gen_ai.agent.name": record.host,
        "gen_ai.conversation.id": record.session,
        "gen_ai.tool.name": record.tool,
        "hookline.event": record.event,
        "hookline.project": record.project,
    }


def _describe_usage(usage: object) -> dict[str, AttributeValue]:
    """Return what a language model took for a hook."""
    if not isinstance(usage, Mapping):
        return {}
    names = {"model": "gen_ai.request.model", "cost": "hookline.cost"}
    names |= {name: f"gen_ai.usage.{name}_tokens" for name in ("input", "output")}
    return {name: usage[key] for key, name in names.items() if isinstance(usage.get(key), str | int | float)}


def _mask_all(texts: object) -> tuple[str, ...]:
    if isinstance(texts, str):
        texts = (texts,)
    return tuple(sanitize(str(text), longest=_LONGEST) for text in texts) if isinstance(texts, list | tuple) else ()


class _Meters:
    """Counters and a histogram, of which only what was added since the last look is sent."""

    def __init__(self, resource: Resource) -> None:
        delta = AggregationTemporality.DELTA
        # processes come and go: their counts only add up when each sends what is new
        self.reader = InMemoryMetricReader(preferred_temporality={Counter: delta, Histogram: delta})
        self._provider = MeterProvider([self.reader], resource=resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("hookline", __version__)
        self._calls = meter.create_counter("hookline.calls", "{call}", "Calls of agents that were answered.")
        self._runs = meter.create_counter("hookline.hook.runs", "{run}", "Runs of hooks.")
        self._failures = meter.create_counter("hookline.hook.failures", "{run}", "Runs of hooks that failed.")
        self._denials = meter.create_counter("hookline.hook.denials", "{call}", "Calls that a hook blocked.")
        self._durations = meter.create_histogram(
            "hookline.hook.duration",
            "s",
            "How long runs of hooks took.",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )

    def add(self, record: Record) -> None:
        """Count one record."""
        if record.step is Step.OUTCOME:
            about = {"hookline.event": record.event, "hookline.decision": record.decision}
            self._calls.add(1, {"gen_ai.agent.name": record.host, **about})
        elif record.step in {Step.COMPLETED, Step.FAILED}:
            hook = {"hookline.hook": sanitize(record.hook, longest=_LONGEST)}
            self._runs.add(1, hook)
            if record.step is Step.FAILED:
                self._failures.add(1, {**hook, "error.type": str(record.detail.get("failure") or "unknown")})
            elif record.decision in _BLOCKING:
                self._denials.add(1, {**hook, "hookline.observed": bool(record.detail.get("observed"))})
            if record.duration > 0 and not record.detail.get("cached"):
                self._durations.record(record.duration, hook)


class _LastError(logging.Filter):
    """Keeps what the exporters log in the thread that sends, instead of logging it for each request."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self._thread = threading.get_ident()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return False for the lines of this thread."""
        if record.thread != self._thread:
            return True
        self.text = record.getMessage()
        return False


class OtlpSender:
    """Sends what records say to a collector. One thread uses it, but for `shutdown`."""

    def __init__(self, target: CollectorTarget, *, find_start: Callable[[str], float]) -> None:
        resource = Resource(
            {"service.name": target.service_name, "service.version": __version__, "host.name": socket.gethostname()}
        )
        self._error = _LastError()
        for module in (trace_exporter, metric_exporter):
            logging.getLogger(module.__name__).addFilter(self._error)
        headers = dict(target.headers)
        ids = _Ids()
        self._collector = _Collector()
        provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False, id_generator=ids)
        provider.add_span_processor(self._collector)
        tracer = provider.get_tracer("hookline", __version__)
        self._builder = SpanBuilder(tracer, ids, find_start=find_start, has_arguments=target.arguments)
        self._spans = (
            trace_exporter.OTLPSpanExporter(endpoint=target.traces, headers=headers, timeout=target.timeout)
            if target.traces
            else None
        )
        self._meters = _Meters(resource)
        self._metrics = (
            metric_exporter.OTLPMetricExporter(endpoint=target.metrics, headers=headers, timeout=target.timeout)
            if target.metrics
            else None
        )

    def send(self, records: Sequence[Record], *, is_last: bool = False) -> str:
        """Send spans and metrics of records; return what went wrong, or "". With `is_last`, open sessions are sent as well."""
        for record in records:
            self._builder.add(record)
            self._meters.add(record)
        if is_last:
            self._builder.finish()
        self._error.text = ""
        is_sent = True
        spans = self._collector.spans
        self._collector.spans = []
        if self._spans is not None and spans:
            is_sent = self._spans.export(spans) is SpanExportResult.SUCCESS
        data = self._meters.reader.get_metrics_data()
        if self._metrics is not None and data is not None:
            # what could not be sent is lost: a receiver that is down must not fill the memory
            is_sent = is_sent and self._metrics.export(data) is MetricExportResult.SUCCESS
        return "" if is_sent else self._error.text or "the collector did not accept it"

    def shutdown(self) -> None:
        """Give up a request that is being retried; from any thread."""
        for exporter in (self._spans, self._metrics):
            if exporter is not None:
                exporter.shutdown()
        for module in (trace_exporter, metric_exporter):
            logging.getLogger(module.__name__).removeFilter(self._error)
