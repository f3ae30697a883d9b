"""`hookline list` and `hookline show`: every hook of every system, and everything about one."""

import argparse
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.builtin.catalogue import find_builtin
from hookline.cli._command import COMMON, CliCommand, argument, flag, parse_count, parse_dialect, parse_events
from hookline.cli._output import (
    WIDEST_COLUMN,
    CellStyle,
    Line,
    Table,
    TextStyle,
    format_ago,
    format_clock,
    format_span,
    get_line_width,
    pluralise,
    print_error,
    print_fields,
    print_json,
    print_line,
    render,
    style_result,
    style_word,
)
from hookline.cli._project import (
    SPECS,
    decide_trust,
    describe_location,
    describe_run,
    get_result,
    load_from_args,
    open_history,
    read_records,
    run_to_json,
    shorten_paths,
    truncate,
)
from hookline.config.document import Problem, Severity
from hookline.debug.explain import resolve_program
from hookline.debug.lint import parse_event_name
from hookline.engine.metrics import HookDebugger
from hookline.errors import StoreError
from hookline.model.event import CUSTOM_PREFIX, Event, EventName
from hookline.model.hook import Hook, Layer, Source
from hookline.model.plan import EFFECT_GATES
from hookline.model.record import Record
from hookline.project import Project
from hookline.stores.trace_queries import TraceFilter, TraceStats
from hookline.text import shell_quote
from hookline.trust.policy import TrustStatus
from hookline.trust.risks import list_risks
from hookline.views import (
    HookView,
    describe_containment,
    describe_policies,
    describe_target,
    explain_containment,
    find_hook,
)
from hookline.wiring import shell_dialects

_HEAD: Final = ("event", "hook", "matcher", "runs", "state", "last run", "from")
_LIST_STYLES: Final[Mapping[str, CellStyle]] = {
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


def _list(args: argparse.Namespace) -> int:
    events = {args.event} if args.event else set()
    if args.event and not args.event.startswith(CUSTOM_PREFIX):
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
        yield Table(_HEAD, fitting, _LIST_STYLES)
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


_RECENT: Final = 5
_SHOW_STYLES: Final[Mapping[str, CellStyle]] = {
    "state": style_word,
    "switched": style_word,
    "trouble": TextStyle.BAD,
    "error": TextStyle.BAD,
    "warning": TextStyle.WARN,
}
# fields of a hook that are shown elsewhere on the page, or that are no text
_NOT_LISTED: Final = frozenset(
    {"id", "call", "root", "sandbox", "model_url", "source_path", "source_line", "source_format", "source_pointer"}
)


def _show(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    facts = _HookFacts(project, find_hook(project, args.hook))
    if args.json:
        print_json(facts.to_json(script=args.script))
        return 0
    for title, fields in facts.lay_out():
        if shown := [(label, text) for label, text in fields if text]:
            print_line(title, marks=[(title, TextStyle.BOLD)])
            print_fields(shown, indent="  ", styles=_SHOW_STYLES)
    if args.script:
        for path, content in facts.files.items():
            print_line()
            print_line(f"--- {path}", marks=[(path, TextStyle.DIM)])
            for line in content.decode("utf-8", "replace").splitlines():
                print_line(f"| {line}")
        if not facts.files:
            print_line()
            print_line("no file belongs to it")
    return 0


class _HookFacts:
    """Everything that is shown of one hook."""

    def __init__(self, project: Project, hook: Hook) -> None:
        cwd = str(project.root)
        runs = read_records(project, hook)
        debugger = HookDebugger()
        for record in runs:
            debugger(record)
        self.metrics = debugger.metrics(hook.id)
        self.recent = runs[-_RECENT:][::-1]
        self.hook, self.project = hook, project
        self.builtin = find_builtin(hook.id)
        options = project.settings.builtin_options.get(self.builtin.name, {}) if self.builtin is not None else {}
        self.options = {key: value for key, value in options.items() if key}
        self.view = HookView(hook, project, decide_trust(hook, project))
        self.trust = self.view.trust
        self.identity = project.trust.fingerprint(hook, cwd=cwd) if self.trust is not None else None
        self.files = self.identity.files if self.identity is not None else {}
        self.program = resolve_program(hook, Event(name=parse_event_name(hook.on[0]), cwd=cwd))
        self.risks = list_risks(hook, shell_dialects=shell_dialects(), cwd=cwd)
        spec, by_dialect = SPECS[hook.dialect], f"the dialect {hook.dialect}"
        self.timeout = self._find_timeout()
        self.on_error = (hook.on_error, "the hook") if hook.on_error else (spec.on_error, by_dialect)
        self.native_events = {event: spec.events.get(parse_event_name(event), event) for event in hook.on}
        plain = asdict(Hook(id=hook.id, kind=hook.kind))
        self.definition = {
            name: str(value) if name == "budget" else value
            for name, value in asdict(hook).items()
            if name not in _NOT_LISTED and value != plain[name] and value
        }

    def _find_timeout(self) -> tuple[float | None, str]:
        """Return the timeout of a hook and where it is set; None for a list of hooks, whose steps have their own."""
        hook, setting = self.hook, self.project.settings.timeout
        if hook.timeout is not None:
            return hook.timeout, "the hook"
        if hook.steps:
            return None, "each step"
        if setting is not None and hook.layer is not Layer.MANAGED:
            return setting, "your settings"
        return SPECS[hook.dialect].timeout, f"the dialect {hook.dialect}"

    def to_json(self, *, script: bool) -> Mapping[str, object]:
        """Return everything for `--json`."""
        identity = self.identity
        approval = self.trust.approval if self.trust is not None else None
        contents = {path: content.decode("utf-8", "replace") for path, content in self.files.items()}
        figures = ("runs", "failed", "success_rate", "denials", "typical", "longest")
        return {
            **self.view.to_json(),
            "definition": self.definition,
            "format": self.hook.source_format or None,
            "native_events": self.native_events,
            "program": self.program.program or None,
            "script": self.program.script or None,
            "trouble": self.program.trouble or None,
            "timeout": {"seconds": self.timeout[0], "from": self.timeout[1]},
            "on_error": {"value": self.on_error[0], "from": self.on_error[1]},
            "digest": identity.digest if identity is not None else None,
            "hashes": dict(identity.hashes) if identity is not None else None,
            "approval": {"by": approval.by, "at": approval.at, "note": approval.note or None} if approval else None,
            "risks": [asdict(risk) for risk in self.risks],
            "figures": {name: getattr(self.metrics, name) for name in figures},
            "lately": [run_to_json(record) for record in self.recent],
            "contents": contents if script else None,
            # where a built-in hook writes to, its options that are set, and all that it takes
            "options": {
                "writes_to": self.project.find_output(self.builtin) or None,
                "given": self.options,
                "takes": list(self.builtin.options),
            }
            if self.builtin is not None
            else None,
        }

    def lay_out(self) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
        """Yield the sections of the page: a title, and labelled texts."""
        hook, program, metrics = self.hook, self.program, self.metrics
        name = hook.name if hook.name != hook.id else ""
        yield hook.id, [("name", name), ("defined in", describe_location(hook, self.project))]
        target = [("kind", hook.kind), ("runs", describe_target(hook)), ("program", program.program)]
        yield "what it runs", [*target, ("script", program.script), ("trouble", program.trouble)]
        seconds, source = self.timeout
        yield (
            "when it runs",
            [
                *(
                    ("event", event if event == native else f"{event}, which it gets as {native}")
                    for event, native in self.native_events.items()
                ),
                ("matcher", hook.matcher),
                ("files", ", ".join(hook.files)),
                *((kind, ", ".join(getattr(hook, kind))) for kind in EFFECT_GATES),
                *describe_policies(hook),
                ("switched", "on" if hook.enabled else "off"),
                ("timeout", f"{seconds:g} s, from {source}" if seconds is not None else "each step has its own"),
                ("on error", f"{self.on_error[0]}, from {self.on_error[1]}"),
            ],
        )
        yield "options", self._list_options()
        definition = (
            (field, value if isinstance(value, str) else json_codec.dump(value).decode())
            for field, value in self.definition.items()
        )
        yield "as it was read", definition
        yield "trust", [*self._list_trust(), *((f"risk: {risk.kind}", risk.text) for risk in self.risks)]
        allowed = describe_containment(hook)
        yield "sandbox", [("it", "\n".join(allowed)), ("why", explain_containment(hook) if allowed else "")]
        yield "files that belong to it", self.identity.hashes.items() if self.identity is not None else ()
        yield "problems", [(one.severity, f"line {one.line}: {one.message}") for one in self.view.problems]
        runs = (
            f"{metrics.runs}, {metrics.success_rate:.0%} without a failure, {metrics.denials} blocked; "
            f"typically {format_span(metrics.typical)}, at most {format_span(metrics.longest)}"
        )
        recent = [(record.event, describe_run(record)) for record in self.recent]
        yield "lately", [("runs", runs if metrics.runs else "none that was traced"), *recent]

    def _list_options(self) -> Iterator[tuple[str, str]]:
        if self.builtin is None:
            return
        yield "writes to", self.project.find_output(self.builtin)
        yield from ((key, json_codec.dump(value).decode()) for key, value in self.options.items())
        takes = ", ".join(self.builtin.options)
        yield "takes", f"{takes}; under [builtin.{self.builtin.name}] in your hookline.toml" if takes else ""

    def _list_trust(self) -> Iterator[tuple[str, str]]:
        yield "state", self.view.state
        if self.trust is None:
            return
        yield "why", self.trust.reason_denied
        for label, approval in (("approved by", self.trust.approval), ("another form by", self.trust.earlier)):
            yield label, f"{approval.by or 'unknown'}, {format_clock(approval.at)}" if approval is not None else ""
        if self.trust.status is TrustStatus.CHANGED:
            yield "what changed", f"hookline trust diff {shell_quote(self.hook.id)}"


COMMANDS: Final = {
    "list": CliCommand(
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
        run=_list,
    ),
    "show": CliCommand(
        "show everything about one hook: where it is defined, what it runs, whether it may, how it did",
        argument("hook", "the hook's id or name"),
        flag("--script", "also print the files that belong to it"),
        *COMMON,
        example="guard --script",
        run=_show,
    ),
}
