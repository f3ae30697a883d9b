"""Send the records that a process left behind: `python -m hookline.telemetry.send`, with a `HandOver` on stdin."""

import sys
from pathlib import Path

import msgspec

from hookline.stores.sqlite import SqliteTraces
from hookline.telemetry.exporter import HandOver, make_sender, make_warning


def main() -> int:
    """Send them, and record what could not be sent; return the exit code."""
    left = msgspec.json.decode(sys.stdin.buffer.read(), type=HandOver)
    data = Path(left.data)
    if reason := make_sender(left.target, data).send(left.records):
        store = SqliteTraces(data / "traces.db")
        store.write(make_warning(len(left.records), reason))
        store.close()
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
