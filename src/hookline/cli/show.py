"""`hookline show HOOK`: everything about one hook."""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.builtin.catalogue import find_builtin
from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._describe import SPECS, decide_trust, describe_location, describe_run, open_history, run_to_json
from hookline.cli._output import (
    CellStyle,
    TextStyle,
    format_clock,
    format_span,
    print_error,
    print_fields,
    print_json,
    print_line,
    style_word,
)
from hookline.cli._project import load_from_args
from hookline.debug.explain import resolve_program
from hookline.debug.lint import parse_event_name
from hookline.engine.metrics import HookDebugger
from hookline.errors import StoreError
from hookline.model.event import Event
from hookline.model.hook import Hook, Layer
from hookline.model.plan import EFFECT_GATES
from hookline.model.record import Record
from hookline.project import Project
from hookline.stores.trace_queries import TraceFilter
from hookline.text import shell_quote
from hookline.trust.policy import TrustStatus
from hookline.trust.risks import list_risks
from hookline.views.hook_lookup import find_hook
from hookline.views.hook_view import (
    HookView,
    describe_containment,
    describe_policies,
    describe_target,
    explain_containment,
)
from hookline.wiring import shell_dialects

_RECENT: Final = 5
_STYLES: Final[Mapping[str, CellStyle]] = {
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


def run(args: argparse.Namespace) -> int:
    """Show the hook."""
    project = load_from_args(args)
    facts = _HookFacts(project, find_hook(project, args.hook))
    if args.json:
        print_json(facts.to_json(script=args.script))
        return 0
    for title, fields in facts.lay_out():
        shown = [(label, text) for label, text in fields if text]
        if shown:
            print_line(title, marks=[(title, TextStyle.BOLD)])
            print_fields(shown, indent="  ", styles=_STYLES)
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
        runs: list[Record] = []
        try:
            runs = list(open_history(project).runs(TraceFilter(hook=hook.id)))
        except StoreError as problem:
            print_error(f"hookline: {problem}")
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
            "options": self._options_to_json(),
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

    def _options_to_json(self) -> Mapping[str, object] | None:
        """Return where a built-in hook writes to, its options that are set, and all that it takes; None for others."""
        if self.builtin is None:
            return None
        output = self.project.find_output(self.builtin)
        return {"writes_to": output or None, "given": self.options, "takes": list(self.builtin.options)}

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


COMMAND: Final = CliCommand(
    "show everything about one hook: where it is defined, what it runs, whether it may, how it did",
    argument("hook", "the hook's id or name"),
    flag("--script", "also print the files that belong to it"),
    *COMMON,
    example="guard --script",
    run=run,
)
