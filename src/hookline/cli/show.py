"""`hookline show HOOK`: everything about one hook."""

import argparse
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from hookline import wire
from hookline.cli._about import (
    SPECS,
    UNKNOWN,
    clearance,
    described_hook,
    described_problem,
    described_run,
    history,
    module_file,
    place,
    problems_of,
    runs,
    said,
    standing,
)
from hookline.cli._output import complain, say, say_json
from hookline.cli._policies import told_policies
from hookline.cli._project import add_json, add_project, hook_named, opened
from hookline.cli._times import clock, span
from hookline.config.problem import Problem
from hookline.core.approvals import Approval
from hookline.core.debugger import HookDebugger, HookMetrics
from hookline.core.identity import Identity
from hookline.core.risks import Risk, risks
from hookline.core.trust import Clearance, Standing
from hookline.debug.explain import Asked, found_program
from hookline.debug.program import Program
from hookline.debug.review import event_name
from hookline.display import typed
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer
from hookline.model.plan import OF_EFFECTS
from hookline.model.record import Record
from hookline.stores.history import Question
from hookline.wiring import shell_dialects
from hookline.workspace import Opened

HELP: Final = "show everything about one hook: where it stands, what it runs, whether it may, how it did"
EXAMPLE: Final = "hookline show guard --script"

_LATELY: Final = 5
# what is said elsewhere on the page, or is no text
_SAID: Final = frozenset({"id", "call", "root", "source_path", "source_line", "source_format", "source_pointer"})


class _Facts(Struct, frozen=True, kw_only=True):
    """What was found out about one hook."""

    hook: Hook
    clearance: Clearance | None
    identity: Identity | None
    program: Program
    risks: tuple[Risk, ...]
    problems: tuple[Problem, ...]
    metrics: HookMetrics
    lately: tuple[Record, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("hook", metavar="HOOK", help="the hook's id or name")
    parser.add_argument("--script", action="store_true", help="also print the files that belong to it")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Show the hook."""
    project = opened(args)
    facts = _facts(project, hook_named(project, args.hook))
    if args.json:
        say_json(_described(project, facts, script=args.script))
    else:
        _tell(project, facts)
        if args.script:
            _tell_files(facts)
    return 0


def _facts(project: Opened, hook: Hook) -> _Facts:
    cwd = str(project.root)
    ran = _ran(project, hook)
    debugger = HookDebugger()
    for record in ran:
        debugger(record)
    found = clearance(hook, project)
    return _Facts(
        hook=hook,
        clearance=found,
        identity=project.engine.trust.identity(hook, cwd=cwd) if found is not None else None,
        program=found_program(
            Asked(
                hook=hook,
                event=Event(name=event_name(hook.on[0]), cwd=cwd),
                engine=project.engine,
                specs=SPECS,
                module_file=module_file,
            )
        ),
        risks=risks(hook, shell_dialects=shell_dialects(), cwd=cwd),
        problems=tuple(problems_of(hook, project.problems)),
        metrics=debugger.metrics(hook.id),
        lately=tuple(ran[-_LATELY:][::-1]),
    )


def _ran(project: Opened, hook: Hook) -> list[Record]:
    try:
        return list(history(project).runs(Question(hook=hook.id)))
    except StoreError as problem:
        complain(f"hookline: {problem}")
        return []


def timeout_of(hook: Hook, project: Opened) -> tuple[float | None, str]:
    """Say how long a hook may take, and who says so; a list of hooks takes as long as these may."""
    if hook.timeout is not None:
        return hook.timeout, "the hook"
    if hook.steps:
        return None, "each step"
    setting = project.settings.timeout
    if setting is not None and hook.layer is not Layer.MANAGED:
        return setting, "your settings"
    return SPECS[hook.dialect].timeout, f"the dialect {hook.dialect}"


def on_error_of(hook: Hook) -> tuple[str, str]:
    """Say what a failure of a hook means, and who says so."""
    if hook.on_error is not None:
        return hook.on_error, "the hook"
    return SPECS[hook.dialect].on_error, f"the dialect {hook.dialect}"


def _definition(hook: Hook) -> Mapping[str, object]:
    """Give the fields that were set."""
    plain = asdict(Hook(id=hook.id, kind=hook.kind))
    return {name: value for name, value in asdict(hook).items() if name not in _SAID and value != plain[name] and value}


def _described(project: Opened, facts: _Facts, *, script: bool) -> Mapping[str, object]:
    hook, found, identity = facts.hook, facts.clearance, facts.identity
    timeout, on_error = timeout_of(hook, project), on_error_of(hook)
    approval = found.approval if found is not None else None
    files = identity.files if identity is not None and script else {}
    return {
        **described_hook(hook, project, found),
        "definition": _definition(hook),
        "format": hook.source_format or None,
        "native_events": _native(hook),
        "program": facts.program.program or None,
        "script": facts.program.script or None,
        "trouble": facts.program.trouble or None,
        "timeout": {"seconds": timeout[0], "from": timeout[1]},
        "on_error": {"value": on_error[0], "from": on_error[1]},
        "digest": identity.digest if identity is not None else None,
        "hashes": dict(identity.hashes) if identity is not None else None,
        "approval": {"by": approval.by, "at": approval.at, "note": approval.note or None} if approval else None,
        "risks": [{"kind": risk.kind, "text": risk.text} for risk in facts.risks],
        "problems": [described_problem(problem) for problem in facts.problems],
        "figures": _figures(facts.metrics),
        "lately": [described_run(record) for record in facts.lately],
        "contents": {path: content.decode("utf-8", "replace") for path, content in files.items()} if script else None,
    }


def _figures(metrics: HookMetrics) -> Mapping[str, object]:
    return {
        "runs": metrics.runs,
        "failed": metrics.failed,
        "success_rate": metrics.success_rate,
        "denials": metrics.denials,
        "typical": metrics.typical,
        "longest": metrics.longest,
    }


def _native(hook: Hook) -> Mapping[str, str]:
    events = SPECS[hook.dialect].events
    return {event: events.get(event_name(event), event) for event in hook.on}


def _tell(project: Opened, facts: _Facts) -> None:
    hook, found = facts.hook, facts.clearance
    timeout, on_error = timeout_of(hook, project), on_error_of(hook)
    _section(hook.id, [("name", hook.name if hook.name != hook.id else ""), ("stands in", place(hook, project))])
    _section("what it runs", [("kind", hook.kind), ("runs", runs(hook)), *_program(facts.program)])
    _section(
        "when it runs",
        [
            *(("event", _spelled(event, native)) for event, native in _native(hook).items()),
            ("matcher", hook.matcher),
            ("files", ", ".join(hook.files)),
            *((kind, ", ".join(getattr(hook, kind))) for kind in OF_EFFECTS),
            *told_policies(hook),
            ("switched", "on" if hook.enabled else "off"),
            ("timeout", f"{timeout[0]:g} s, from {timeout[1]}" if timeout[0] is not None else "each step has its own"),
            ("on error", f"{on_error[0]}, from {on_error[1]}"),
        ],
    )
    definition = _definition(hook)
    _section("as it was read", [(name, _written(value)) for name, value in definition.items()])
    _section("trust", [*_trust(hook, found), *((f"risk: {risk.kind}", risk.text) for risk in facts.risks)])
    if facts.identity is not None:
        _section("files that belong to it", [(name, digest) for name, digest in facts.identity.hashes.items()])
    _section("problems", [(problem.severity, f"line {problem.line}: {problem.message}") for problem in facts.problems])
    _section("lately", [*_told_figures(facts.metrics), *((record.event, said(record)) for record in facts.lately)])


def _spelled(event: str, native: str) -> str:
    return event if event == native else f"{event}, which it gets as {native}"


def _written(value: object) -> str:
    return value if isinstance(value, str) else wire.dump(value).decode()


def _program(found: Program) -> list[tuple[str, str]]:
    return [("program", found.program), ("script", found.script), ("trouble", found.trouble)]


def _trust(hook: Hook, found: Clearance | None) -> list[tuple[str, str]]:
    if found is None:
        return [("state", UNKNOWN)]
    return [
        ("state", standing(found)),
        ("why", found.objection),
        ("approved by", _who(found.approval)),
        ("another form by", _who(found.earlier)),
        ("what changed", f"hookline trust diff {typed(hook.id)}" if found.standing is Standing.CHANGED else ""),
    ]


def _who(approval: Approval | None) -> str:
    return f"{approval.by or 'somebody'}, {clock(approval.at)}" if approval is not None else ""


def _told_figures(metrics: HookMetrics) -> list[tuple[str, str]]:
    if not metrics.runs:
        return [("runs", "none that was traced")]
    text = (
        f"{metrics.runs}, {metrics.success_rate:.0%} without a failure, {metrics.denials} blocked; "
        f"typically {span(metrics.typical)}, at most {span(metrics.longest)}"
    )
    return [("runs", text)]


def _section(title: str, lines: Iterable[tuple[str, str]]) -> None:
    """Print what is known under a heading; what is not known is left out, and so is a heading with nothing under it."""
    known = [(label, text) for label, text in lines if text]
    if not known:
        return
    say(title)
    width = max(len(label) for label, _ in known)
    for label, text in known:
        for number, line in enumerate(text.splitlines()):
            say(f"  {label if number == 0 else '':<{width}}  {line}")


def _tell_files(facts: _Facts) -> None:
    files = facts.identity.files if facts.identity is not None else {}
    for path, content in files.items():
        say()
        say(f"--- {path}")
        for line in content.decode("utf-8", "replace").splitlines():
            say(f"| {line}")
    if not files:
        say()
        say("no file belongs to it")
