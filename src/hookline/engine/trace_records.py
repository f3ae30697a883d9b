"""Build the records of a trace: the event, each hook that was skipped or answered, and the outcome."""

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from time import time
from typing import Final

from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.engine.metrics import SLOW
from hookline.model.event import Event, snapshot
from hookline.model.exchange import Reply
from hookline.model.hook import Hook
from hookline.model.plan import Gate
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision, Outcome, Verdict

# shared by all engines of this process, whose traces may be stored in one database
_COUNT: Final = itertools.count(1)

# the arguments and fields that say what an event is about, the most telling first, with their ranks
_TELLING: Final = {
    name: rank
    for rank, name in enumerate(
        (
            *(
                "command",
                "path",
                "paths",
                "url",
                "urls",
                "patch",
                "pattern",
                "query",
                "prompt",
                "name",
                "text",
                "message",
            ),
            *("uri", "operation", "source", "skill", "agent_type", "trigger", "model", "reason", "error", "event_name"),
        )
    )
}
_LONGEST_SUBJECT: Final = 200
# characters of one value, and of all values, in the record of an event that no hook was asked about
_LONGEST_VALUE: Final = 2_000
_LONGEST_VALUES: Final = 8_000


class _Process:
    """The number of this process as a text, made once for all ids; a forked child has another."""

    def __init__(self) -> None:
        self.refresh()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.refresh)

    def refresh(self) -> None:
        """Ask the operating system for the number."""
        self.text = f"{os.getpid():x}"


_PROCESS: Final = _Process()


def new_id(milliseconds: int) -> str:
    """Return an id that sorts by time and is unique across processes and forks."""
    return f"{milliseconds:x}-{_PROCESS.text}-{next(_COUNT)}"


def add_identity(event: Event, project: str, milliseconds: int) -> Event:
    """Return an event with an id, a time and its project, which an event of an agent does not have yet."""
    if event.id:
        return event
    return replace(
        event,
        id=new_id(milliseconds),
        timestamp=event.timestamp or milliseconds,
        project=event.project or project,
    )


def record(
    event: Event, step: Step, detail: Mapping[str, object], *, hook: str = "", at: float | None = None
) -> Record:
    """Build one record about an event; `at` is when it happened, by default now."""
    return Record(
        *(event.id, step, time() if at is None else at, event.name, event.session.id, hook, detail),
        *(event.host, event.project or event.cwd, event.tool, _SUBJECTS.find(event)),
    )


def find_subject(event: Event) -> str:
    """Return what an event is about in one line: a command, a path, the beginning of a prompt."""
    for fields in (event.args, event.data):
        for name in sorted(_TELLING.keys() & fields.keys(), key=_TELLING.__getitem__):
            value = fields[name]
            if isinstance(value, list | tuple) and value:
                value = ", ".join(map(str, value[:5]))
            if isinstance(value, str) and value:
                text = " ".join(value[: 2 * _LONGEST_SUBJECT].split())
                return text if len(text) <= _LONGEST_SUBJECT else f"{text[: _LONGEST_SUBJECT - 1]}…"
    return ""


class _LastSubject:
    """Remembers the subject of the last event, as all records of an event are built one after another."""

    def __init__(self) -> None:
        # replaced as a whole: records are built in several threads
        self._last = ("", "")

    def find(self, event: Event) -> str:
        """Return the subject of an event."""
        trace, subject = self._last
        if trace != event.id or not trace:
            subject = find_subject(event)
            self._last = (event.id, subject)
        return subject


_SUBJECTS: Final = _LastSubject()


def event_record(event: Event) -> Record:
    """Build the first record of a trace now."""
    return next(event_records(event, event.data, event.args, time()))


def event_records(event: Event, data: Mapping[str, object], args: Mapping[str, object], at: float) -> Iterator[Record]:
    """Build the first record of a trace: the event, and the hooks that led to it.

    `data` and `args` are snapshots of the event's fields: callers and hooks may change theirs before the record is built.
    """
    detail: dict[str, object] = {"data": data}
    if event.tool:
        detail |= {"tool": event.tool, "args": args}
    detail |= _describe_caller(event)
    if event.chain:
        detail |= {"chain": event.chain, "parent": event.parent}
    yield record(event, Step.EVENT, detail, at=at)


def hook_records(event: Event, step: Step, hook: Hook, at: float, detail: Mapping[str, object]) -> Iterator[Record]:
    """Build the record of one step of a hook."""
    yield record(event, step, detail, hook=hook.id, at=at)


def started_records(event: Event, hook: Hook, at: float, unknown: str) -> Iterator[Record]:
    """Build the record of a hook that is called; `unknown` is what could not be known about the event."""
    detail = {"dialect": hook.dialect, "unknown": unknown} if unknown else {"dialect": hook.dialect}
    yield record(event, Step.STARTED, detail, hook=hook.id, at=at)


def verdict_records(event: Event, hook: Hook, at: float, verdict: Verdict, reply: Reply) -> Iterator[Record]:
    """Build the record of a hook's answer; `verdict` is a snapshot."""
    step = Step.COMPLETED if verdict.failure is None else Step.FAILED
    yield record(event, step, verdict_detail(verdict, reply), hook=hook.id, at=at)


def snapshot_verdict(verdict: Verdict) -> Verdict:
    """Copy the values of a verdict for a record that is built later: the caller gets and may change them."""
    if not verdict.effects and not verdict.metadata:
        return verdict
    effects = tuple(replace(effect, **snapshot({"value": effect.value})) for effect in verdict.effects)
    return replace(verdict, effects=effects, metadata=snapshot(verdict.metadata))


def verdict_detail(verdict: Verdict, reply: Reply) -> dict[str, object]:
    """Return what a record says about a hook's answer and about the process that gave it."""
    detail: dict[str, object] = {"decision": verdict.decision.word, "duration": verdict.duration}
    if verdict.failure is not None:
        detail["failure"] = verdict.failure.kind
        detail["message"] = verdict.failure.message
        # a failed hook and a denying one both block, but different people have to act
        detail["blocked_by_failure"] = verdict.blocks
    for name in ("reason", "effects", "observed", "cached", "raised", "notes", "metadata"):
        if value := getattr(verdict, name):
            detail[name] = value
    if verdict.usage is not None:
        detail["usage"] = asdict(verdict.usage)
    if verdict.duration > SLOW:
        detail["slow"] = True
    if reply.stderr:
        detail["stderr"] = reply.stderr[-2000:].decode("utf-8", "replace")
    if reply.sandbox:
        detail["sandbox"] = reply.sandbox
    if reply.exit_code:
        detail["exit_code"] = reply.exit_code
    return detail


def outcome_records(event: Event, outcome: Outcome, at: float) -> Iterator[Record]:
    """Build the last records of a trace: skipped hooks, degradations, warnings, and the outcome."""
    for skip in outcome.skipped:
        yield record(event, Step.SKIPPED, {"gate": skip.gate, "reason": skip.reason}, hook=skip.hook.id, at=at)
        if skip.gate is Gate.CHAIN:
            yield record(event, Step.WARNING, {"message": f"not run again: {skip.reason}"}, hook=skip.hook.id, at=at)
    for loss in outcome.losses:
        detail = {"wanted": loss.wanted, "became": loss.became, "message": loss.message, "host": event.host}
        yield record(event, Step.DEGRADED, detail, at=at)
    for verdict in () if event.spec.can_block else outcome.verdicts:
        if verdict.decision >= Decision.ASK and not verdict.observed:
            message = f'hook "{verdict.hook}" wanted to {verdict.decision.word}, but {event.name} cannot be blocked'
            yield record(event, Step.WARNING, {"message": message}, at=at)
    yield record(event, Step.OUTCOME, _summarise(outcome), at=at)


def unasked_records(event: Event, project: str, outcome: Outcome, at: float) -> Iterator[Record]:
    """Build the one small record of an event that no hook was asked about, with what a replay needs of it."""
    event = add_identity(event, project, int(at * 1000))
    budget = _LONGEST_VALUES
    detail = _summarise(outcome)
    for name, fields in (("args", event.args), ("data", event.data)):
        kept, budget = _shorten(fields.items(), budget)
        if len(kept) < len(fields):
            detail["cut"] = True
        if kept:
            detail[name] = kept
    detail |= _describe_caller(event)
    yield record(event, Step.OUTCOME, detail, at=at)


def _describe_caller(event: Event) -> Iterator[tuple[str, str]]:
    """Yield what a replay needs beside the fields of a record: the agent's version, its word for the tool, and its folder."""
    if event.host_version:
        yield "version", event.host_version
    if event.native_tool:
        yield "native_tool", event.native_tool
    if event.cwd and event.project and event.cwd != event.project:
        yield "cwd", event.cwd


def _shorten(fields: Iterable[tuple[str, object]], budget: int) -> tuple[dict[str, object], int]:
    """Return the fields that are small enough, and what is left of the budget; a longer one is left out as a whole."""
    kept: dict[str, object] = {}
    for name, value in fields:
        size = len(value) if isinstance(value, str) else len(json_codec.dump(value))
        if size <= min(budget, _LONGEST_VALUE):
            kept[name] = value
            budget -= size
    return kept, budget


def _summarise(outcome: Outcome) -> dict[str, object]:
    deciders = outcome.deciders
    return {
        "decision": outcome.decision.word,
        **({"decided_by": deciders} if deciders else {}),
        "reasons": outcome.reasons,
        "duration": outcome.duration,
        "ran": len(outcome.verdicts),
        "failed": len(outcome.failures),
        "skipped": len(outcome.skipped),
        "rewrote": outcome.args is not None,
    }
