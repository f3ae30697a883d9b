"""Where traces and metrics are exported to, a bounded queue of records, and the thread that exports them: no hook waits.

The target is in the user's settings, filled up with the variables of OpenTelemetry. Only settings switch the export on, as a
project may set variables of the environment.

A process that ends before its thread has sent anything, such as one that answers a single call of an agent, does not load the
libraries of OpenTelemetry: it starts a process that sends the queue when this one is gone.
"""

import importlib.util
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from hookline import caller_context, json_codec
from hookline.errors import StoreError
from hookline.model.installed_entry import NESTING
from hookline.model.record import Record, Step
from hookline.model.settings import Telemetry, find_url_problem

logger: Final = logging.getLogger(__name__)

EXTRA: Final = "pip install 'hookline[otel]'"
_ENDPOINT: Final = "http://localhost:4318"  # where a collector listens by default
_TIMEOUT: Final = 10.0
_NEEDED: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
_VARIABLE: Final = "OTEL_EXPORTER_OTLP"


class CollectorTarget(Struct, frozen=True, kw_only=True):
    """What an exporter needs to know; a signal without a URL is not exported."""

    traces: str
    metrics: str
    headers: tuple[tuple[str, str], ...]
    service_name: str
    timeout: float
    arguments: bool


def find_target(wanted: Telemetry, environ: Mapping[str, str]) -> tuple[CollectorTarget | None, str]:
    """Return where to export to, or None and why nothing is exported; both are empty where both signals are off."""
    if not wanted.traces and not wanted.metrics:
        return None, ""
    urls, problem = _find_urls(wanted, environ)
    headers, missing = _find_headers(wanted, environ)
    problem = problem or missing or _find_missing_extra()
    if problem:
        return None, f"no telemetry is exported: {problem}"
    return (
        CollectorTarget(
            traces=urls["traces"] if wanted.traces else "",
            metrics=urls["metrics"] if wanted.metrics else "",
            headers=headers,
            service_name=wanted.service_name or environ.get("OTEL_SERVICE_NAME", "") or "hookline",
            timeout=wanted.timeout or _read_timeout(environ),
            arguments=wanted.arguments,
        ),
        "",
    )


def _find_urls(wanted: Telemetry, environ: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Return the URL of each signal, or a problem."""
    base = wanted.endpoint
    if not base:
        if wanted.headers:
            # a variable of a project must not choose who gets the user's token
            return {}, "telemetry.headers are only sent to an endpoint that stands beside them: set telemetry.endpoint"
        base = environ.get(f"{_VARIABLE}_ENDPOINT", "") or _ENDPOINT
        protocol = environ.get(f"{_VARIABLE}_PROTOCOL", "")
        if protocol not in {"", "http/protobuf"}:
            return (
                {},
                f'{_VARIABLE}_PROTOCOL is "{protocol}", and only "http/protobuf" is spoken: set telemetry.endpoint',
            )
    urls = {signal: f"{base.rstrip('/')}/v1/{signal}" for signal in ("traces", "metrics")}
    if not wanted.endpoint:
        urls |= {name: url for name in urls if (url := environ.get(f"{_VARIABLE}_{name.upper()}_ENDPOINT", ""))}
    for url in urls.values():
        if problem := find_url_problem(url):
            return {}, f"{problem}; it is from the environment, see {_VARIABLE}_ENDPOINT"
    return urls, ""


def _find_headers(wanted: Telemetry, environ: Mapping[str, str]) -> tuple[tuple[tuple[str, str], ...], str]:
    """Return the headers of each request, or a problem; a value such as "$TOKEN" names a variable."""
    if wanted.headers:
        found = {}
        for name, text in wanted.headers.items():
            value = environ.get(text[1:], "") if text.startswith("$") else text
            if not value.strip() or not value.isprintable():
                return (), f'the header "{name}" has no usable value: set the variable {text.removeprefix("$")}'
            found[name] = value
        return tuple(found.items()), ""
    pairs = (item.partition("=") for item in environ.get(f"{_VARIABLE}_HEADERS", "").split(","))
    return tuple((name.strip().lower(), unquote(value.strip())) for name, sign, value in pairs if sign), ""


def _read_timeout(environ: Mapping[str, str]) -> float:
    """Return the seconds of the variable, which counts seconds in the SDK for Python."""
    try:
        seconds = float(environ.get(f"{_VARIABLE}_TIMEOUT", ""))
    except ValueError:
        return _TIMEOUT
    return seconds if 0 < seconds < float("inf") else _TIMEOUT


def _find_missing_extra() -> str:
    """Return what to install; empty if all is there. Nothing is imported."""
    for module in _NEEDED:
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"it needs the extra otel: {EXTRA}"
    return ""


BOUND: Final = 10_000  # records that wait
BATCH: Final = 512  # records that are sent at once
GATHER: Final = 1.0  # seconds to wait for that many
FLUSH: Final = 2.0  # seconds that closing takes at most
REPORT: Final = 60.0  # seconds between two warnings about what was dropped
_LAST_TRY: Final = 0.5  # seconds for a request that is given up
# a hook that starts says nothing that its end does not say
_LEFT_OUT: Final = frozenset({Step.STARTED, Step.QUEUED})


class RecordSender(Protocol):
    """Sends records somewhere."""

    def send(self, records: Sequence[Record], *, is_last: bool = False) -> str:
        """Send records, and return what went wrong, or ""."""

    def shutdown(self) -> None:
        """Give up what is being sent."""


class HandOver(Struct, frozen=True):
    """What a process leaves to the one that sends it."""

    target: CollectorTarget
    data: str
    records: list[Record]


def make_sender(target: CollectorTarget, data: Path) -> RecordSender:
    """Return a sender; `data` is the folder of the trace file, which knows when a session began."""
    from hookline.stores.trace_queries import TraceQueries  # noqa: PLC0415 - only where records are sent
    from hookline.telemetry.otel import OtlpSender  # noqa: PLC0415 - large libraries

    queries = TraceQueries(data / "traces.db")

    def find_start(session: str) -> float:
        with suppress(StoreError):
            return queries.find_start(session)
        return 0.0

    return OtlpSender(target, find_start=find_start)


class TelemetryExporter:
    """Queues records, and sends them from a thread. What does not fit, or cannot be sent, is dropped and counted."""

    def __init__(self, target: CollectorTarget, data: Path, *, bound: int = BOUND, gather: float = GATHER) -> None:
        self.target = target
        self._data = data
        self._bound = bound
        self._gather = gather
        self._reset()

    def _reset(self) -> None:
        """Start empty, also in a forked child: the parent sends its own queue."""
        self._process = os.getpid()
        self._queue: deque[Record] = deque()
        self._sending = 0
        self._dropped = 0
        self._reason = ""
        self._has_logged = False
        self._reported = 0.0
        self._sender: RecordSender | None = None
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self._wakeup = threading.Event()
        self._lock = threading.Lock()

    def put(self, record: Record) -> None:
        """Queue a record; it never blocks."""
        if self._process != os.getpid():
            self._reset()
        if record.step in _LEFT_OUT or self._ending.is_set():
            return
        if len(self._queue) >= self._bound:
            self._drop(1, "the queue is full")
            return
        self._queue.append(record)
        if self._thread is None:
            self._start()
        if len(self._queue) >= BATCH:
            self._wakeup.set()

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name="hookline-telemetry", daemon=True)
        with suppress(RuntimeError):  # no more threads: closing hands the queue over
            thread.start()
            self._thread = thread

    def _work(self) -> None:
        while not self._ending.is_set():
            self._wakeup.wait(self._gather)
            self._wakeup.clear()
            if self._queue and not self._ending.is_set():
                self._send()
        # a process that has sent nothing hands its queue over
        if self._sender is not None:
            while len(self._queue) > BATCH:
                self._send()
            self._send(is_last=True)

    def _send(self, *, is_last: bool = False) -> None:
        batch: list[Record] = []
        with suppress(IndexError):
            batch.extend(self._queue.popleft() for _ in range(BATCH))
        self._sending = len(batch)
        try:
            if self._sender is None:
                self._sender = make_sender(self.target, self._data)
            reason = self._sender.send(batch, is_last=is_last)
        except Exception as problem:  # noqa: BLE001 - a bug in a library must not end the thread
            reason = repr(problem)
        sending, self._sending = self._sending, 0
        if reason:
            self._drop(sending, reason)

    def _drop(self, count: int, reason: str) -> None:
        with self._lock:
            self._dropped += count
            self._reason = reason
            is_first, self._has_logged = not self._has_logged, True
        if is_first:
            url = self.target.traces or self.target.metrics
            logger.warning("telemetry could not be sent to %s: %s; `hookline doctor` says more", url, reason)

    def take_warning(self, *, is_last: bool = False) -> Record | None:
        """Return a record about what was dropped since the last one; at most one a minute, unless it is the last."""
        if not self._dropped or (not is_last and time.monotonic() - self._reported < REPORT):
            return None
        with self._lock:
            count, self._dropped = self._dropped, 0
        self._reported = time.monotonic()
        return make_warning(count, self._reason)

    def close(self) -> None:
        """Send the queue, and return after a bounded time."""
        if self._process != os.getpid():
            return
        self._ending.set()
        self._wakeup.set()
        if self._thread is not None:
            self._thread.join(min(self.target.timeout, FLUSH))
            if self._thread.is_alive() and self._sender is not None:
                self._sender.shutdown()
                self._thread.join(_LAST_TRY)
        if self._sender is None and self._queue:
            self._hand_over()
        if left := len(self._queue) + self._sending:
            self._sending = 0
            self._queue.clear()
            self._drop(left, "the process ended before the collector answered")

    def _hand_over(self) -> None:
        """Start a process that sends the queue when this one is gone."""
        import subprocess  # noqa: PLC0415 - only needed here
        import tempfile  # noqa: PLC0415

        # in a frozen program, sys.executable is the program itself
        if not sys.executable or getattr(sys, "frozen", False):
            return
        env = {name: value for name, value in caller_context.full_environ().items() if name != NESTING}
        # fields of `HandOver`
        left = {"target": asdict(self.target), "data": str(self._data), "records": [*map(asdict, self._queue)]}
        with tempfile.TemporaryFile() as file:
            # not a pipe, which blocks when it is full; headers are in no argument that others could see
            file.write(json_codec.dump(left))
            file.seek(0)
            with suppress(OSError):
                subprocess.Popen(
                    # -P: a file of the working folder must not stand in for a module of ours
                    [sys.executable, "-P", "-c", f"from {__name__} import send_left; send_left()"],
                    stdin=file,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=env,
                    start_new_session=True,
                )
                self._queue.clear()


def make_warning(count: int, reason: str) -> Record:
    """Return the record of what was dropped; counters of the trace file add it up."""
    message = f"{count} records were not exported as telemetry: {reason}"
    return Record(
        trace="telemetry",
        step=Step.WARNING,
        at=time.time(),
        event="",
        detail={"message": message, "telemetry_dropped": count},
    )


class EngineExport:
    """The sink of one engine: gives its records to an exporter, and what is dropped to `report`."""

    def __init__(self, exporter: TelemetryExporter, report: Callable[[Record], None], *, is_shared: bool) -> None:
        self._exporter = exporter
        self._report = report
        self._is_shared = is_shared

    def __call__(self, record: Record, /) -> None:
        """Queue a record."""
        self._exporter.put(record)
        if (warning := self._exporter.take_warning()) is not None:
            self._report(warning)

    def close(self) -> None:
        """Send what is left, unless other engines use the exporter as well."""
        if not self._is_shared:
            self._exporter.close()
            if (warning := self._exporter.take_warning(is_last=True)) is not None:
                self._report(warning)


def send_left() -> None:
    """Send the `HandOver` on stdin, which another process left behind, and record what could not be sent."""
    from hookline.stores.sqlite import SqliteTraces  # noqa: PLC0415 - only where records are sent

    left = msgspec.json.decode(sys.stdin.buffer.read(), type=HandOver)
    data = Path(left.data)
    if reason := make_sender(left.target, data).send(left.records):
        store = SqliteTraces(data / "traces.db")
        store.write(make_warning(len(left.records), reason))
        store.close()
