"""`hookline show HOOK`: everything about one hook."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._describe import (
    SPECS,
    UNKNOWN,
    decide_trust,
    describe_location,
    describe_policies,
    describe_run,
    describe_target,
    describe_trust,
    find_problems,
    hook_to_json,
    open_history,
    problem_to_json,
    run_to_json,
)
from hookline.cli._output import format_clock, format_span, print_error, print_fields, print_json, print_line
from hookline.cli._project import find_hook, load_from_args
from hookline.config.document import Problem
from hookline.debug.explain import resolve_program
from hookline.debug.lint import parse_event_name
from hookline.debug.resolve_program import ResolvedProgram
from hookline.engine.metrics import HookDebugger, HookMetrics
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer
from hookline.model.plan import EFFECT_GATES
from hookline.model.record import Record
from hookline.project import Project
from hookline.stores.trace_queries import TraceFilter
from hookline.text import shell_quote
from hookline.trust.approval_store import Approval
from hookline.trust.fingerprint import HookFingerprint
from hookline.trust.policy import TrustDecision, TrustStatus
from hookline.trust.risks import Risk, list_risks
from hookline.wiring import shell_dialects

_RECENT: Final = 5
# fields of a hook that are shown elsewhere on the page, or that are no text
_NOT_LISTED: Final = frozenset({"id", "call", "root", "source_path", "source_line", "source_format", "source_pointer"})


class _HookView(Struct, frozen=True, kw_only=True):
    """Everything that is shown of one hook."""

    hook: Hook
    trust: TrustDecision | None
    identity: HookFingerprint | None
    program: ResolvedProgram
    risks: tuple[Risk, ...]
    problems: tuple[Problem, ...]
    metrics: HookMetrics
    recent: tuple[Record, ...]
    timeout: tuple[float | None, str]
    on_error: tuple[str, str]
    native_events: Mapping[str, str]
    definition: Mapping[str, object]


def run(args: argparse.Namespace) -> int:
    """Show the hook."""
    project = load_from_args(args)
    facts = _collect_facts(project, find_hook(project, args.hook))
    if args.json:
        print_json(_to_json(project, facts, script=args.script))
        return 0
    for title, fields in _lay_out(project, facts):
        shown = [(label, text) for label, text in fields if text]
        if shown:
            print_line(title)
            print_fields(shown, indent="  ")
    if args.script:
        _print_files(facts.identity.files if facts.identity is not None else {})
    return 0


def _collect_facts(project: Project, hook: Hook) -> _HookView:
    cwd = str(project.root)
    runs: list[Record] = []
    try:
        runs = list(open_history(project).runs(TraceFilter(hook=hook.id)))
    except StoreError as problem:
        print_error(f"hookline: {problem}")
    debugger = HookDebugger()
    for record in runs:
        debugger(record)
    trust = decide_trust(hook, project)
    event = Event(name=parse_event_name(hook.on[0]), cwd=cwd)
    spec = SPECS[hook.dialect]
    plain = asdict(Hook(id=hook.id, kind=hook.kind))
    return _HookView(
        hook=hook,
        trust=trust,
        identity=project.trust.fingerprint(hook, cwd=cwd) if trust is not None else None,
        program=resolve_program(hook, event),
        risks=list_risks(hook, shell_dialects=shell_dialects(), cwd=cwd),
        problems=tuple(find_problems(hook, project.problems)),
        metrics=debugger.metrics(hook.id),
        recent=tuple(runs[-_RECENT:][::-1]),
        timeout=_find_timeout(hook, project),
        on_error=(hook.on_error, "the hook") if hook.on_error else (spec.on_error, f"the dialect {hook.dialect}"),
        native_events={event: spec.events.get(parse_event_name(event), event) for event in hook.on},
        definition={
            name: value
            for name, value in asdict(hook).items()
            if name not in _NOT_LISTED and value != plain[name] and value
        },
    )


def _find_timeout(hook: Hook, project: Project) -> tuple[float | None, str]:
    """Return the timeout of a hook and where it is set; None for a list of hooks, whose steps have their own."""
    if hook.timeout is not None:
        return hook.timeout, "the hook"
    if hook.steps:
        return None, "each step"
    setting = project.settings.timeout
    if setting is not None and hook.layer is not Layer.MANAGED:
        return setting, "your settings"
    return SPECS[hook.dialect].timeout, f"the dialect {hook.dialect}"


def _to_json(project: Project, facts: _HookView, *, script: bool) -> Mapping[str, object]:
    hook, identity, metrics = facts.hook, facts.identity, facts.metrics
    approval = facts.trust.approval if facts.trust is not None else None
    files = identity.files if identity is not None and script else {}
    return {
        **hook_to_json(hook, project, facts.trust),
        "definition": facts.definition,
        "format": hook.source_format or None,
        "native_events": facts.native_events,
        "program": facts.program.program or None,
        "script": facts.program.script or None,
        "trouble": facts.program.trouble or None,
        "timeout": {"seconds": facts.timeout[0], "from": facts.timeout[1]},
        "on_error": {"value": facts.on_error[0], "from": facts.on_error[1]},
        "digest": identity.digest if identity is not None else None,
        "hashes": dict(identity.hashes) if identity is not None else None,
        "approval": {"by": approval.by, "at": approval.at, "note": approval.note or None} if approval else None,
        "risks": [{"kind": risk.kind, "text": risk.text} for risk in facts.risks],
        "problems": [problem_to_json(problem) for problem in facts.problems],
        "figures": {
            "runs": metrics.runs,
            "failed": metrics.failed,
            "success_rate": metrics.success_rate,
            "denials": metrics.denials,
            "typical": metrics.typical,
            "longest": metrics.longest,
        },
        "lately": [run_to_json(record) for record in facts.recent],
        "contents": {path: content.decode("utf-8", "replace") for path, content in files.items()} if script else None,
    }


def _lay_out(project: Project, facts: _HookView) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
    """Yield the sections of the page: a title, and labelled texts."""
    hook, program = facts.hook, facts.program
    name = hook.name if hook.name != hook.id else ""
    yield hook.id, [("name", name), ("stands in", describe_location(hook, project))]
    target = [("kind", hook.kind), ("runs", describe_target(hook))]
    yield (
        "what it runs",
        [*target, ("program", program.program), ("script", program.script), ("trouble", program.trouble)],
    )
    seconds, source = facts.timeout
    yield (
        "when it runs",
        [
            *(
                ("event", event if event == native else f"{event}, which it gets as {native}")
                for event, native in facts.native_events.items()
            ),
            ("matcher", hook.matcher),
            ("files", ", ".join(hook.files)),
            *((kind, ", ".join(getattr(hook, kind))) for kind in EFFECT_GATES),
            *describe_policies(hook),
            ("switched", "on" if hook.enabled else "off"),
            ("timeout", f"{seconds:g} s, from {source}" if seconds is not None else "each step has its own"),
            ("on error", f"{facts.on_error[0]}, from {facts.on_error[1]}"),
        ],
    )
    definition = (
        (field, value if isinstance(value, str) else json_codec.dump(value).decode())
        for field, value in facts.definition.items()
    )
    yield "as it was read", definition
    yield "trust", [*_list_trust(hook, facts.trust), *((f"risk: {risk.kind}", risk.text) for risk in facts.risks)]
    yield "files that belong to it", facts.identity.hashes.items() if facts.identity is not None else ()
    yield "problems", [(one.severity, f"line {one.line}: {one.message}") for one in facts.problems]
    runs = ("runs", _describe_metrics(facts.metrics))
    yield "lately", [runs, *((record.event, describe_run(record)) for record in facts.recent)]


def _list_trust(hook: Hook, trust: TrustDecision | None) -> list[tuple[str, str]]:
    if trust is None:
        return [("state", UNKNOWN)]
    return [
        ("state", describe_trust(trust)),
        ("why", trust.reason_denied),
        ("approved by", _describe_approval(trust.approval)),
        ("another form by", _describe_approval(trust.earlier)),
        ("what changed", f"hookline trust diff {shell_quote(hook.id)}" if trust.status is TrustStatus.CHANGED else ""),
    ]


def _describe_approval(approval: Approval | None) -> str:
    return f"{approval.by or 'somebody'}, {format_clock(approval.at)}" if approval is not None else ""


def _describe_metrics(metrics: HookMetrics) -> str:
    if not metrics.runs:
        return "none that was traced"
    return (
        f"{metrics.runs}, {metrics.success_rate:.0%} without a failure, {metrics.denials} blocked; "
        f"typically {format_span(metrics.typical)}, at most {format_span(metrics.longest)}"
    )


def _print_files(files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        print_line()
        print_line(f"--- {path}")
        for line in content.decode("utf-8", "replace").splitlines():
            print_line(f"| {line}")
    if not files:
        print_line()
        print_line("no file belongs to it")


COMMAND: Final = CliCommand(
    "show everything about one hook: where it stands, what it runs, whether it may, how it did",
    argument("hook", "the hook's id or name"),
    flag("--script", "also print the files that belong to it"),
    *COMMON,
    example="guard --script",
    run=run,
)
