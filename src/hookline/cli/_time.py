"""Parse and format times for people."""

import argparse
import re
import time
from datetime import UTC, datetime
from typing import Final

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_MINUTE: Final = 60
_LARGEST: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def parse_span(text: str) -> float:
    """Parse a span of time, such as 90s, 15m, 2h or 30d; for argparse."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(f'"{text}" is no span of time; write it like 90s, 15m, 2h or 30d')
    return float(found[1]) * _SECONDS[found[2]]


def parse_moment(text: str) -> float:
    """Parse a moment: a span before now (2h), or a date with or without a time (2026-11-15T10:00); for argparse."""
    if _SPAN.fullmatch(text.strip().lower()):
        return time.time() - parse_span(text)
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        problem = f'"{text}" is neither a span like 2h or 30d nor a date like 2026-11-15 or 2026-11-15T10:00'
        raise argparse.ArgumentTypeError(problem) from None


def format_clock(at: float) -> str:
    """Format a time in the local time zone."""
    try:
        return datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return "at no known time"


def format_ago(at: float) -> str:
    """Format how long ago a time was."""
    past = time.time() - at
    if past < _MINUTE:
        return "just now"
    name, size = next((name, size) for name, size in _LARGEST if past >= size)
    count = int(past // size)
    return f"{count} {name}{'s' if count > 1 else ''} ago"


def format_span(seconds: float) -> str:
    """Format a duration."""
    if seconds < 1e-3:  # noqa: PLR2004 - a millisecond
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
