"""Read recorded events: from the records of traces, and from files, which are recognised by their content."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.bridge.transcripts import (
    FORMATS,
    REPLAYABLE,
    Document,
    ToolCallEnd,
    TranscriptPlace,
    get_object,
    read_time,
)
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, DialectError
from hookline.model.event import Event, EventName, Session
from hookline.model.record import Record, Step
from hookline.model.verdict import Decision

# lines of a file that are looked at to find out what it is
_LOOKED_AT: Final = 200
_EVENTS: Final = {str(name): name for name in EventName}

UNFINISHED: Final = "they have no outcome: the process that asked the hooks was ended"
INCOMPLETE: Final = "the first record of their trace is missing"
UNKNOWN: Final = "this version does not know the event"
UNREADABLE: Final = "the arguments in the transcript cannot be read"
NO_RESULT: Final = "the transcript has no result of the call"


class RecordedEvent(Struct, frozen=True, kw_only=True):
    """An event that happened, and what was decided then.

    `rewrote` says whether hooks changed it, None where that is not known. `by_hook` has the decision of each hook that ran.
    Where arguments were left out of the record, it `is_cut`. A transcript only shows whether a call was refused: then the
    decision is not `is_exact`.
    """

    event: Event
    at: float
    was: str = Decision.PASS.word
    rewrote: bool | None = None
    by_hook: Mapping[str, str] = {}
    is_cut: bool = False
    is_exact: bool = True


class Recording(Struct, kw_only=True):
    """Recorded events, oldest first; how many could not be read, by the reason; and notes for the user."""

    events: list[RecordedEvent] = []
    left_out: Counter[str] = msgspec.field(default_factory=Counter)
    notes: list[str] = []

    def add(self, other: "Recording") -> None:
        """Add another recording."""
        self.events += other.events
        self.left_out += other.left_out
        self.notes += other.notes

    def select(self, *, session: str = "", agent: str = "", since: float = 0.0, limit: int = 0) -> None:
        """Keep the events of a session, of an agent and since a time, and of these the newest `limit`."""
        self.events = [
            one
            for one in self.events
            if (not session or one.event.session.id == session)
            and (not agent or one.event.host == agent)
            and one.at >= since
        ]
        if limit:
            self.events = sorted(self.events, key=lambda one: one.at)[-limit:]


# records


class _Trace(Struct, kw_only=True):
    """The records of one event that were read so far."""

    first: Record | None = None
    has_asked: bool = False
    by_hook: dict[str, str] = {}


def read_records(records: Iterable[Record]) -> Recording:
    """Return the events that records are about; those that a hook raised come again with the event that led to them."""
    recording = Recording()
    open_traces: dict[str, _Trace] = {}
    for record in records:
        trace = open_traces.get(record.trace)
        if trace is None:
            trace = open_traces[record.trace] = _Trace()
        if record.step is Step.EVENT:
            trace.first = record
        elif record.step is Step.ASKED:
            # the user's answer is no decision of a hook
            trace.has_asked = True
        elif record.step in {Step.COMPLETED, Step.FAILED} and not record.detail.get("observed"):
            trace.by_hook[record.hook] = record.decision
        elif record.step is Step.OUTCOME:
            del open_traces[record.trace]
            if trace.first is None or not trace.first.detail.get("chain"):
                _add_outcome(recording, trace, record)
    # a job of the background queue writes records of its own after the outcome
    if unfinished := sum(trace.first is not None for trace in open_traces.values()):
        recording.left_out[UNFINISHED] += unfinished
    return recording


def _add_outcome(recording: Recording, trace: _Trace, outcome: Record) -> None:
    # an event that no hook was asked about has only this record, with its fields
    first = trace.first or outcome
    name = _EVENTS.get(outcome.event)
    if name is None or (trace.first is None and (outcome.detail.get("ran") or outcome.detail.get("failed"))):
        recording.left_out[UNKNOWN if name is None else INCOMPLETE] += 1
        return
    detail = first.detail
    event = Event(
        name=name,
        data=get_object(detail, "data"),
        tool=first.tool,
        args=get_object(detail, "args"),
        session=Session(id=first.session),
        cwd=str(detail.get("cwd") or first.project),
        project=first.project,
        timestamp=int(first.at * 1000),
        native_tool=str(detail.get("native_tool") or ""),
        id=first.trace,
        host=first.host,
        host_version=str(detail.get("version") or ""),
    )
    recording.events.append(
        RecordedEvent(
            event=event,
            at=first.at,
            was=Decision.ASK.word if trace.has_asked else outcome.decision,
            rewrote=bool(outcome.detail.get("rewrote")),
            by_hook=trace.by_hook,
            is_cut=bool(detail.get("cut")),
        )
    )


# files


def read_recording(path: Path) -> Recording:
    """Read an export of `hookline trace export`, or a transcript of Claude Code, Codex CLI or Gemini CLI.

    Raises:
        ConfigError: It cannot be read, or is neither.
    """
    damaged: list[int] = []
    documents = _read_documents(path, damaged)
    start = list(islice(documents, _LOOKED_AT))
    whole = chain(start, documents)
    agent = next((agent for one in start for agent in REPLAYABLE if FORMATS[agent].is_own(one)), "")
    if any({"trace", "step"} <= one.keys() for one in start):
        recording = read_records(_convert_records(whole, damaged))
    elif agent:
        recording = read_transcript(whole, agent)
    else:
        raise ConfigError(
            "this is neither an export of `hookline trace export` nor a transcript of "
            f"{', '.join(DIALECTS[name].SPEC.title for name in REPLAYABLE)}",
            path=str(path),
        )
    if damaged:
        what = "1 line" if len(damaged) == 1 else f"{len(damaged)} lines"
        recording.notes.append(f"{path}: {what} could not be read, the first is line {damaged[0]}")
    return recording


def _read_documents(path: Path, damaged: list[int]) -> Iterator[Document]:
    """Yield the objects of a file: one in each line, or all in one document, as older versions of Gemini CLI write it."""
    try:
        with path.open("rb") as file:
            if not path.is_file():
                raise ConfigError("this is no file", path=str(path))
            first = file.readline()
            is_lines = _load(first) is not None
            file.seek(0)
            whole = None if is_lines else _load(file.read())
            if whole is not None:
                yield from _unfold(whole)
                return
            file.seek(0)
            for number, line in enumerate(file, 1):
                document = _load(line)
                if document is not None:
                    yield from _unfold(document)
                elif line.strip():
                    damaged.append(number)
    except OSError as problem:
        raise ConfigError(f"it cannot be read: {problem.strerror}", path=str(path)) from None


def _load(raw: bytes) -> Document | None:
    try:
        document = json_codec.load(raw)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _unfold(document: Document) -> Iterator[Document]:
    """Yield a document, and the messages inside of it, which Gemini CLI also writes in one piece."""
    yield document
    for holder in (document, get_object(document, "$set")):
        messages = holder.get("messages")
        if isinstance(messages, list):
            yield from (message for message in messages if isinstance(message, dict))


def _convert_records(documents: Iterable[Document], damaged: list[int]) -> Iterator[Record]:
    for number, document in enumerate(documents, 1):
        try:
            yield msgspec.convert(document, Record)
        except msgspec.ValidationError:
            damaged.append(number)


# transcripts


def read_transcript(documents: Iterable[Document], agent: str) -> Recording:
    """Return the prompts and tool calls of a transcript as the events that the agent's hooks were called at."""
    form = FORMATS[agent]
    recording = Recording()
    place = TranscriptPlace()
    project = ""
    found: dict[str, RecordedEvent] = {}
    results: dict[str, ToolCallEnd] = {}
    for document in documents:
        said = form.read_place(document)
        place = TranscriptPlace(
            session=place.session or said.session, cwd=said.cwd or place.cwd, version=place.version or said.version
        )
        project = project or place.cwd
        for part in form.read(document):
            if (part.tool or part.prompt) and part.id not in found:
                tool, args = form.to_hook(part.tool, part.args)
                call = {"tool_name": tool, "tool_input": args, "tool_use_id": part.id}
                native = form.before_tool if part.tool else form.prompt
                payload = {
                    "session_id": place.session,
                    "cwd": place.cwd,
                    "hook_event_name": native,
                    **(call if part.tool else {"prompt": part.prompt}),
                }
                at = read_time(document)
                try:
                    event = DIALECTS[agent].decode_event(json_codec.dump(payload), native)
                except DialectError:
                    recording.left_out[UNREADABLE] += 1
                    results[part.id] = ToolCallEnd.INVALID
                    continue
                event = replace(
                    event,
                    id=f"{place.session}:{part.id}",
                    timestamp=int(at * 1000),
                    host_version=place.version,
                    project=project,
                )
                found[part.id] = RecordedEvent(event=event, at=at, is_exact=False)
            if part.prompt:
                results[part.id] = ToolCallEnd.RAN
            elif part.result is not None:
                results[part.id] = part.result
    for key, recorded in found.items():
        match results.get(key):
            case None:
                recording.left_out[NO_RESULT] += 1
            case ToolCallEnd.REFUSED:
                recording.events.append(replace(recorded, was=Decision.DENY.word))
            case ToolCallEnd.RAN | ToolCallEnd.OTHER:
                recording.events.append(recorded)
            case _:
                # the agent refused its arguments before any hook was asked
                pass
    return recording
