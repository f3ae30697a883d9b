"""The project, the hook and the event that a command is about, and what commands show of a hook and its runs."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import time
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.bridge.guarded_paths import find_guarded_if_installed
from hookline.builtin.catalogue import PREFIX
from hookline.cli._command import argument, parse_event
from hookline.cli._output import format_ago, format_span, print_error
from hookline.debug.samples import SESSION, TOOLS, sample
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError, StoreError
from hookline.model.dialect import DialectSpec
from hookline.model.event import CUSTOM_PREFIX, Event
from hookline.model.hook import Hook
from hookline.model.language_models import ModelUsage
from hookline.model.plan import Gate
from hookline.model.record import Record
from hookline.project import Project, load_project
from hookline.stores.trace_queries import TraceFilter, TraceQueries
from hookline.trust.policy import Approve, TrustDecision
from hookline.user_dirs import working_folder
from hookline.wiring import native_names


def load_from_args(args: argparse.Namespace, *, approve: Approve | None = None, traced: bool = False) -> Project:
    """Load the project that `--project` names.

    Raises:
        ConfigError: There is no such folder.
    """
    records = not getattr(args, "dry_run", False)
    root = get_project_dir(args)
    guarded = find_guarded_if_installed(root)
    return load_project(root, approve=approve, traced=traced, records=records, guarded=guarded)


def get_project_dir(args: argparse.Namespace) -> Path | None:
    """Return the folder that `--project` names, as an absolute path without `..`; None for the working directory.

    Raises:
        ConfigError: There is no such folder.
    """
    project: Path | None = args.project
    # unlike Path.is_dir, this never raises
    if project is not None and not os.path.isdir(project):  # noqa: PTH112
        raise ConfigError(f"--project: there is no folder {project}")
    # records have the folder by the name that the agent has for it: links are not resolved
    return Path(os.path.abspath(project)) if project is not None else None  # noqa: PTH100


def find_root(args: argparse.Namespace) -> Path:
    """Return the folder that `--project` names, else the working directory.

    Raises:
        ConfigError: There is no such folder.
    """
    return (get_project_dir(args) or working_folder()).absolute()


_FITTING: Final = frozenset({Gate.MATCHER, Gate.FILES, Gate.WRITES})


def hook_error(hook: Hook, message: str) -> ConfigError:
    """Return an error about a hook, with its file and line."""
    return ConfigError(message, path=hook.source_path, line=hook.source_line)


class EventArgs(Struct, frozen=True, kw_only=True):
    """The event as far as the user described it."""

    tool: str = ""
    data: dict[str, object] | None = None
    args: dict[str, object] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the sample decides everything."""
        return not self.tool and self.data is None and self.args is None


# the options that describe an event
EVENT_OPTIONS: Final = (
    argument("--data", "the event's fields: JSON, a file, or - for stdin", metavar="JSON|@FILE|-"),
    argument("--tool", "the tool that is called", default=""),
    argument("--args", "the tool's arguments", metavar="JSON|@FILE|-"),
)


def read_event_options(args: argparse.Namespace) -> EventArgs:
    """Read `--data`, `--tool` and `--args`.

    Raises:
        ConfigError: One of them is no JSON object, or both are to be read from stdin.
    """
    if args.data == args.args == "-":
        raise ConfigError("--data and --args cannot both be read from stdin")
    return EventArgs(tool=args.tool, data=read_object(args.data, "--data"), args=read_object(args.args, "--args"))


def read_object(text: str | None, option: str) -> dict[str, object] | None:
    """Read the value of an option: JSON, a file, or stdin; None when it was not given.

    Raises:
        ConfigError: It is no JSON object, or cannot be read.
    """
    if text is None:
        return None
    raw = text.encode("utf-8", "surrogateescape")
    if text == "-":
        if sys.stdin is None:
            raise ConfigError(f"{option} is to be read from stdin, which is closed")
        raw = sys.stdin.buffer.read()
    elif text.startswith("@"):
        try:
            raw = Path(text[1:]).read_bytes()
        except OSError as problem:
            raise ConfigError(f"{option}: cannot read {text[1:]}: {problem.strerror}") from None
    try:
        document = json_codec.load(raw)
    except ValueError as problem:
        # what other programs write as JSON: NaN, and a lone surrogate where a text was cut
        try:
            lenient = json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda _: None)
            document = json_codec.load(json_codec.dump(lenient))
        except (ValueError, RecursionError):
            raise ConfigError(f"{option} is no JSON: {problem}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"{option} must be a JSON object, not {type(document).__name__}")
    return document


def build_event(project: Project, hook: Hook, name: str, options: EventArgs) -> Event:
    """Build the event to try a hook with: the user's options, and a sample for the rest.

    Raises:
        ConfigError: There is no such event, or it is no tool call and was given a tool.
    """
    engine = project.engine
    # the names of the hook's own dialect come first
    own = native_names().get(hook.dialect, {}).get(name, ())
    canonical = name if name.startswith(CUSTOM_PREFIX) or own else str(parse_event(name))
    if own:
        canonical = next((event for event in own if event in hook.on), own[0])

    def fits(event: Event) -> bool:
        return all(one.passed for one in engine.planner.gates(hook, event) if one.gate in _FITTING)

    event = sample(canonical, hook=hook if canonical in hook.on else None, cwd=engine.cwd, fits=fits)
    if (options.tool or options.args is not None) and not event.tool:
        raise ConfigError(f"{canonical} is no tool call, so --tool and --args mean nothing there")
    if not options.is_empty:
        data = options.data
        names_tool = data is not None and ("tool" in data or "tool_name" in data)
        args: Mapping[str, object] | None = options.args
        if args is None and not names_tool:
            args = TOOLS.get(options.tool) if options.tool else event.args
        event = engine.event(
            canonical,
            data if data is not None else event.data,
            tool=options.tool or ("" if names_tool else event.tool),
            args=args,
            session=SESSION,
        )
    return replace(event, id="sample", timestamp=int(time() * 1000))


SPECS: Final[Mapping[str, DialectSpec]] = {name: one.SPEC for name, one in DIALECTS.items()}

_reported: Final[set[str]] = set()


def describe_location(hook: Hook, project: Project) -> str:
    """Return the file and line of a hook, shortened."""
    if hook.source_path:
        return f"{shorten_paths(hook.source_path, project)}:{hook.source_line}"
    return "hookline itself" if hook.id.startswith(PREFIX) else "a program"


def shorten_paths(text: str, project: Project) -> str:
    """Write paths of the project and of the user's home relative to these folders."""
    for folder, start in ((project.root, ""), (project.folders.home, "~/")):
        text = text.replace(f"{folder}{os.sep}", start)
    return text


def decide_trust(hook: Hook, project: Project) -> TrustDecision | None:
    """Return whether a hook may run; None when the approvals cannot be read, which is reported once."""
    try:
        return project.trust.decide(hook, cwd=str(project.root))
    except StoreError as problem:
        if str(problem) not in _reported:
            _reported.add(str(problem))
            print_error(f"hookline: {problem}")
        return None


def open_history(project: Project) -> TraceQueries:
    """Open the user's traces."""
    return TraceQueries(project.folders.data / "traces.db")


def read_records(
    project: Project, hook: Hook, query: Callable[[TraceQueries, TraceFilter], Iterable[Record]] = TraceQueries.runs
) -> list[Record]:
    """Return traced records of a hook, the oldest first; none where they cannot be read, which is printed."""
    try:
        return list(query(open_history(project), TraceFilter(hook=hook.id)))
    except StoreError as problem:
        print_error(f"hookline: {problem}")
        return []


def get_result(record: Record) -> str:
    """Return how a run ended: the decision, or the kind of failure."""
    return str(record.detail.get("failure") or record.detail.get("decision") or "done")


def get_duration(detail: Mapping[str, object]) -> float | None:
    """Return how long a run took, in seconds; None if it is not known."""
    duration = detail.get("duration")
    return float(duration) if isinstance(duration, int | float) else None


def describe_run(record: Record) -> str:
    """Return when a hook ran, how it ended and how long it took."""
    return f"{format_ago(record.at)}, {get_result(record)}, {format_span(get_duration(record.detail) or 0.0)}"


def run_to_json(record: Record) -> Mapping[str, object]:
    """Return a run for `--json`."""
    return {
        "at": record.at,
        "event": record.event,
        "result": get_result(record),
        "reason": record.detail.get("reason") or record.detail.get("message"),
        "duration": get_duration(record.detail) or 0.0,
        "trace": record.trace,
    }


def describe_usage(usage: ModelUsage) -> str:
    """Return what an answer of a language model took."""
    cost = f", {format_cost(usage.cost)}" if usage.cost else ""
    return f"{usage.model}, {usage.input} tokens read, {usage.output} written{cost}"


def format_cost(cost: float) -> str:
    """Return a small amount of money with the digits that matter."""
    return f"{cost:.2f}" if cost >= 1 else f"{cost:.6f}".rstrip("0").rstrip(".")


def truncate(text: str, longest: int) -> str:
    """Return a text on one line, shortened for a column."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"
