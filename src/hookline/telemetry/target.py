"""Where traces and metrics are exported to: the user's settings, filled up with the variables of OpenTelemetry.

Only settings switch the export on, as a project may set variables of the environment.
"""

import importlib.util
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from hookline.model.settings import Telemetry, find_url_problem

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
