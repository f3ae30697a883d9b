"""`hookline list`: every hook of every system, at each event in the order they would run."""

import argparse
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from hookline.cli._command import COMMON, CliCommand, argument, parse_count
from hookline.cli._describe import (
    decide_trust,
    describe_location,
    get_result,
    open_history,
    run_to_json,
    shorten_paths,
    truncate,
)
from hookline.cli._output import (
    WIDEST_COLUMN,
    CellStyle,
    Line,
    Table,
    TextStyle,
    format_ago,
    get_line_width,
    pluralise,
    print_error,
    render,
    style_result,
    style_word,
)
from hookline.cli._project import load_from_args, parse_dialect, parse_events
from hookline.config.document import Problem, Severity
from hookline.debug.lint import parse_event_name
from hookline.errors import StoreError
from hookline.model.event import CUSTOM_PREFIX, EventName
from hookline.model.hook import Hook, Layer, Source
from hookline.model.plan import EFFECT_GATES
from hookline.model.record import Record
from hookline.project import Project
from hookline.stores.trace_queries import TraceFilter, TraceStats
from hookline.text import shell_quote
from hookline.views.hook_view import HookView, describe_target

_HEAD: Final = ("event", "hook", "matcher", "runs", "state", "last run", "from")
_STYLES: Final[Mapping[str, CellStyle]] = {
    "event": TextStyle.DIM,
    "hook": TextStyle.BOLD,
    "state": style_word,
    "last run": style_result,
    "from": TextStyle.DIM,
}
_LONGEST_TROUBLE: Final = 48
_ORDER: Final = {name: number for number, name in enumerate(EventName)}
_TARGET: Final = _HEAD.index("runs")
# the widths of columns
_MATCHER, _NARROWEST, _WIDEST, _LONGEST_ID = 24, 20, 60, 200


class _Row:
    """A hook with everything the list shows of it."""

    def __init__(self, hook: Hook, project: Project, last: Record | None) -> None:
        self.hook = hook
        self.view = HookView(hook, project, decide_trust(hook, project))
        self.last = last
        self.needs_approval = self.view.trust is not None and bool(self.view.trust.reason_denied)
        # why the hook cannot start, shortened
        self.trouble = truncate(self.view.find_trouble(), _LONGEST_TROUBLE)

    def describe_matcher(self) -> str:
        """Return what the hook is for, beside its events."""
        hook = self.hook
        files = ",".join((*hook.files, *(text for kind in EFFECT_GATES for text in getattr(hook, kind))))
        condition = f"if {hook.condition}" if hook.condition else ""
        return " ".join(filter(None, (hook.matcher, files, hook.schedule, condition))) or "*"

    def describe_state(self) -> str:
        """Return whether the hook runs."""
        if not self.hook.enabled:
            return "off"
        if not self.view.project.is_active(self.hook):
            return "all off"
        # that it cannot start matters only once it is approved
        state = f"broken ({self.trouble})" if self.trouble and not self.needs_approval else self.view.state
        wrong = _count_problems(self.view.problems)
        return state + (f", {pluralise(wrong, 'problem')}" if wrong else "")


# what `--sort` puts first; `runs` needs figures that the other orders do without
_IN_ORDER: Final = "event"
_ORDERS: Final[Mapping[str, Callable[[_Row], float | str]]] = {
    "name": lambda row: row.hook.id,
    "source": lambda row: f"{row.hook.layer} {row.hook.source_path}",
    "last": lambda row: -row.last.at if row.last is not None else 0.0,
}


def run(args: argparse.Namespace) -> int:
    """List the hooks."""
    if not args.event or args.event.startswith(CUSTOM_PREFIX):
        events = {args.event} if args.event else set()
    else:
        events = set(map(str, parse_events(args.event)))
    project = load_from_args(args)
    try:
        last_runs = open_history(project).last_of_each()
    except StoreError as problem:
        print_error(f"hookline: {problem}")
        last_runs = {}
    hooks = sorted(_select_hooks(project, args, events), key=project.planner.rank)
    rows = [_Row(hook, project, last_runs.get(hook.id)) for hook in hooks]
    if args.sort == "runs":
        counts = {one.hook: one.runs for one in TraceStats(project.folders.data / "traces.db").hooks(TraceFilter())}
        rows.sort(key=lambda row: -counts.get(row.hook.id, 0))
    elif args.sort != _IN_ORDER:
        rows.sort(key=_ORDERS[args.sort])
    shown = rows[: args.top or None]
    value = [
        {
            **row.view.to_json(),
            "trouble": row.trouble or None,
            "last_run": run_to_json(row.last) if row.last is not None else None,
        }
        for row in shown
    ]
    advice = []
    if waiting := [row.hook.id for row in rows if row.needs_approval]:
        approve = f"`hookline trust approve {shell_quote(waiting[0])}`"
        advice += ["", f"{pluralise(len(waiting), 'hook')} will not run before you approve: {approve}"]
    if wrong := _count_problems(project.problems):
        advice += ["", f"{pluralise(wrong, 'problem')} in the configuration: `hookline check` shows them"]
    return render(args, value, *_lay_out(shown, project, events, in_order=args.sort == _IN_ORDER), *advice)


def _select_hooks(project: Project, args: argparse.Namespace, events: Collection[str]) -> Iterator[Hook]:
    """Yield the hooks that the options select; `--source builtin` also lists built-in hooks that are off."""
    hooks = project.hooks
    if args.source == Source.BUILTIN:
        known = {hook.id for hook in project.builtins}
        hooks = (*project.builtins, *(hook for hook in hooks if hook.id not in known))
    for hook in hooks:
        if (
            any(_is_about(name, events) for name in hook.on)
            and args.dialect in {None, hook.dialect}
            and args.source in {None, str(hook.source), str(hook.layer)}
        ):
            yield hook


def _is_about(name: str, events: Collection[str]) -> bool:
    return not events or name in events or parse_event_name(name) in events


def _lay_out(
    rows: Sequence[_Row], project: Project, events: Collection[str], *, in_order: bool
) -> Iterator[str | Line | Table]:
    cells = [
        (
            name,
            row.hook.id,
            truncate(row.describe_matcher(), _MATCHER),
            shorten_paths(describe_target(row.hook), project),
            row.describe_state(),
            f"{format_ago(row.last.at)}: {get_result(row.last)}" if row.last else "never",
            f"{row.hook.layer} {describe_location(row.hook, project)}",
        )
        for row in rows
        for name in row.hook.on
        if _is_about(name, events)
    ]
    if in_order:
        cells.sort(key=lambda row: _ORDER[parse_event_name(row[0])])
    if not cells:
        yield "no hooks" + (" like that" if project.hooks else "; `hookline new` makes one")
        return
    # the columns that are left for what a hook runs
    widths = (
        min(max(len(row[column]) for row in (_HEAD, *cells)), WIDEST_COLUMN) + 2
        for column in range(len(_HEAD))
        if column != _TARGET
    )
    room = min(get_line_width() - sum(widths), _WIDEST)
    if room >= _NARROWEST:
        fitting = [(*row[:_TARGET], truncate(row[_TARGET], int(room)), *row[_TARGET + 1 :]) for row in cells]
        yield Table(_HEAD, fitting, _STYLES)
        return
    for event, group in itertools.groupby(cells, key=lambda row: row[0]):
        yield event
        for _, hook, matcher, target, state, last, source in group:
            name = truncate(hook, _LONGEST_ID)
            marks = [(name, TextStyle.BOLD), (state, style_word(state)), (last, style_result(last))]
            yield Line(f"  {name} ({state}; last run {last})", marks)
            yield f"    {matcher}: {truncate(target, _WIDEST)}"
            yield Line(f"    {source}", [(source, TextStyle.DIM)])


def _count_problems(problems: Sequence[Problem]) -> int:
    return sum(problem.severity is not Severity.NOTE for problem in problems)


COMMAND: Final = CliCommand(
    "list every hook of every system: what it runs, whether it may, and how it did last",
    argument("--event", "only hooks of this event, by any system's name for it", default="", metavar="E"),
    argument("--dialect", "only hooks of this dialect", type=parse_dialect),
    argument("--source", "only hooks from there", choices=sorted({*map(str, Source), *map(str, Layer)})),
    argument(
        "--sort",
        "what comes first: events in the order they run in (the default), names, sources, most runs, last runs",
        choices=(_IN_ORDER, *_ORDERS, "runs"),
        default=_IN_ORDER,
    ),
    argument("--top", "at most so many hooks", type=parse_count, default=0, metavar="N"),
    *COMMON,
    example="--event before_tool",
    run=run,
)
