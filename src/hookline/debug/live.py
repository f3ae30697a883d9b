"""Show each hook as it runs: a line when it starts and when it ends, and on request everything that was exchanged."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import UNSET

from hookline import wire
from hookline.core.engine import Engine
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.plan import Skip
from hookline.model.record import Record, Step
from hookline.redact import redact

Say = Callable[[str], None]

# of one text that was exchanged: a screen is not a trace
MOST_LINES: Final = 200


class Watch:
    """Say what hooks do, as it happens; with `raw` also what they were given and what they gave back."""

    def __init__(self, say: Say, *, raw: bool = False) -> None:
        self._say: Say = lambda text: say(redact(text))
        self._raw = raw
        self._dialects: dict[str, str] = {}
        self._exchanges: dict[str, tuple[Hook, Request, Reply]] = {}

    def __call__(self, record: Record, /) -> None:
        """Take one record."""
        tell = _TOLD.get(record.step)
        if tell is not None:
            tell(self, record)

    def tap(self, hook: Hook, request: Request, reply: Reply) -> None:
        """Keep what was exchanged until the record of the run comes, so that lines stay in order."""
        self._exchanges[hook.id] = (hook, request, reply)

    def started(self, record: Record) -> None:
        """Say that a hook starts."""
        self._dialects[record.hook] = str(record.detail.get("dialect", ""))
        self._say(f"{self._name(record)}: starts at {record.event}")

    def ended(self, record: Record) -> None:
        """Say how a hook ended."""
        exchange = self._exchanges.pop(record.hook, None)
        if exchange is not None:
            for line in exchanged(*exchange):
                self._say(line)
        self._say(f"{self._name(record)}: {_result(record)}")
        if self._raw:
            for line in _more(record.detail):
                self._say(line)

    def queued(self, record: Record) -> None:
        """Say that a hook waits for its turn in the background."""
        self._say(f"{self._name(record)}: waits in the queue, job {record.detail.get('job', '')}")

    def warned(self, record: Record) -> None:
        """Say what the engine warns of."""
        self._say(f"warning: {record.detail.get('message', '')}")

    def _name(self, record: Record) -> str:
        dialect = self._dialects.get(record.hook)
        return f"hook {record.hook} ({dialect})" if dialect else f"hook {record.hook}"


_TOLD: Final[Mapping[Step, Callable[[Watch, Record], None]]] = MappingProxyType(
    {
        Step.STARTED: Watch.started,
        Step.COMPLETED: Watch.ended,
        Step.FAILED: Watch.ended,
        Step.QUEUED: Watch.queued,
        Step.WARNING: Watch.warned,
    }
)


def watch(engine: Engine, say: Say, *, raw: bool = False) -> None:
    """Show what the hooks of an engine do from now on."""
    seen = Watch(say, raw=raw)
    engine.bus.subscribe(seen)
    if raw:
        engine.runner.tap = seen.tap


def _result(record: Record) -> str:
    detail = record.detail
    duration = detail.get("duration")
    took = f" after {duration * 1000:.0f} ms" if isinstance(duration, int | float) else ""
    if detail.get("cached"):
        took = ", as it did before"
    if record.step is Step.FAILED:
        follows = "blocks" if detail.get("blocked_by_failure") else "the operation goes on"
        return f"failed{took} ({detail.get('failure')}): {detail.get('message', '')}; {follows}"
    reason = f": {detail['reason']}" if detail.get("reason") else ""
    only = " (observed, not enforced)" if detail.get("observed") else ""
    return f"{detail.get('decision', 'done')}{took}{only}{reason}"


def _more(detail: Mapping[str, object]) -> Iterator[str]:
    for name in ("effects", "notes", "metadata"):
        if name in detail:
            yield from _labelled(name, wire.dump(detail[name]))


def exchanged(hook: Hook, request: Request, reply: Reply) -> Iterator[str]:
    """Give everything that went to a hook and came back from it, line by line."""
    if reply.argv:
        yield from _labelled("argv", json.dumps(reply.argv, ensure_ascii=False))
    elif hook.kind == "webhook":
        yield from _labelled("url", f"{hook.method} {hook.url}")
    yield from _labelled("cwd", os.path.normpath(os.path.join(request.event.cwd, hook.working_directory)))  # noqa: PTH118 - a text to show
    for name, value in {**request.env, **hook.env}.items():
        yield from _labelled("env", f"{name}={value}")
    yield from _labelled("stdin" if reply.argv else "document", request.body)
    if reply.value is not UNSET:
        yield from _labelled("value", repr(reply.value))
    yield from _labelled("stdout", reply.stdout)
    yield from _labelled("stderr", reply.stderr)
    if reply.argv:
        yield from _labelled("exit code", str(reply.exit_code))


def skipped(skips: Iterable[Skip]) -> Iterator[str]:
    """Give a line for each hook that was left out."""
    return (f"hook {skip.hook.id} ({skip.hook.dialect}): not run, {skip.gate}: {skip.reason}" for skip in skips)


def _labelled(label: str, text: bytes | str) -> Iterator[str]:
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    # the whole text first: some secrets have several lines
    lines = redact(shown).splitlines()
    yield from (f"  {label:<9} | {line}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  {label:<9} | … {len(lines) - MOST_LINES} more lines"
