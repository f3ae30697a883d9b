"""Print hooks while they run: when each starts and ends, and optionally everything that was exchanged."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import UNSET

from hookline import json_codec
from hookline.engine.engine import Engine
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook
from hookline.model.plan import Skip
from hookline.model.record import Record, Step
from hookline.text import redact

PrintLine = Callable[[str], None]

# of one exchanged text; the trace has all of it
MOST_LINES: Final = 200


class LiveView:
    """Prints records as they come; with `raw` also what hooks got and returned."""

    def __init__(self, print_line: PrintLine, *, raw: bool = False) -> None:
        self._print: PrintLine = lambda text: print_line(redact(text))
        self._raw = raw
        self._dialects: dict[str, str] = {}
        self._exchanges: dict[str, tuple[Hook, Request, Reply]] = {}

    def __call__(self, record: Record, /) -> None:
        """Print a record."""
        detail = record.detail
        if record.step is Step.STARTED:
            self._dialects[record.hook] = str(detail.get("dialect", ""))
        dialect = self._dialects.get(record.hook)
        hook = f"hook {record.hook} ({dialect})" if dialect else f"hook {record.hook}"
        match record.step:
            case Step.STARTED:
                self._print(f"{hook}: starts at {record.event}")
            case Step.COMPLETED | Step.FAILED:
                exchange = self._exchanges.pop(record.hook, None)
                for line in describe_exchange(*exchange) if exchange is not None else ():
                    self._print(line)
                self._print(f"{hook}: {_describe_result(record)}")
                for name in ("effects", "notes", "metadata") if self._raw else ():
                    for line in _label_lines(name, json_codec.dump(detail[name])) if name in detail else ():
                        self._print(line)
            case Step.QUEUED:
                self._print(f"{hook}: waits in the queue, job {detail.get('job', '')}")
            case Step.WARNING:
                self._print(f"warning: {detail.get('message', '')}")

    def tap(self, hook: Hook, request: Request, reply: Reply) -> None:
        """Keep what was exchanged until the record of the run comes, so that lines are in order."""
        self._exchanges[hook.id] = (hook, request, reply)


def attach_live_view(engine: Engine, print_line: PrintLine, *, raw: bool = False) -> None:
    """Print what the hooks of an engine do from now on."""
    view = LiveView(print_line, raw=raw)
    engine.bus.subscribe(view)
    if raw:
        engine.runner.tap = view.tap


def _describe_result(record: Record) -> str:
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


def describe_exchange(hook: Hook, request: Request, reply: Reply) -> Iterator[str]:
    """Yield everything that a hook got and returned, line by line."""
    if reply.argv:
        yield from _label_lines("argv", json.dumps(reply.argv, ensure_ascii=False))
    elif hook.kind == "webhook":
        yield from _label_lines("url", f"{hook.method} {hook.url}")
    yield from _label_lines("cwd", os.path.normpath(os.path.join(request.event.cwd, hook.working_directory)))  # noqa: PTH118 - a text to show
    for name, value in {**request.env, **hook.env}.items():
        yield from _label_lines("env", f"{name}={value}")
    yield from _label_lines("stdin" if reply.argv else "document", request.body)
    if reply.value is not UNSET:
        yield from _label_lines("value", repr(reply.value))
    yield from _label_lines("stdout", reply.stdout)
    yield from _label_lines("stderr", reply.stderr)
    if reply.argv:
        yield from _label_lines("exit code", str(reply.exit_code))


def describe_skips(skips: Iterable[Skip]) -> Iterator[str]:
    """Return a line for each skipped hook."""
    return (f"hook {skip.hook.id} ({skip.hook.dialect}): not run, {skip.gate}: {skip.reason}" for skip in skips)


def _label_lines(label: str, text: bytes | str) -> Iterator[str]:
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    # before splitting: some secrets have several lines
    lines = redact(shown).splitlines()
    yield from (f"  {label:<9} | {line}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  {label:<9} | … {len(lines) - MOST_LINES} more lines"
