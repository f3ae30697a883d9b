"""The approval screen: what a user has to know before a hook runs, laid out so that none of it can be forged.

Every fact has a label of ours; text of others stands behind a mark of ours, on as many lines as it needs, and never
in the column of labels. No secrets are masked here: a mask could hide what would run.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import asdict

from hookline import json_codec
from hookline.debug.explain import uses_shell
from hookline.dialects import TEMPLATE_DIALECTS
from hookline.kinds.command.command import Command
from hookline.model.hook import TEXT_TARGETS, Hook, get_process_hook, make_undo_hook
from hookline.model.plan import EFFECT_GATES
from hookline.process.containment import describe_lacking, find_layers
from hookline.text import escape_all, wrap
from hookline.trust.approval_store import Approval
from hookline.trust.fingerprint import HookFingerprint
from hookline.trust.policy import ApprovalChange, TrustDecision, TrustedHooks, TrustStatus
from hookline.trust.risks import list_risks
from hookline.trust.script_imports import list_doubts
from hookline.views import containment_to_json, describe_containment, describe_policies
from hookline.wiring import shell_dialects

_LABEL: Final = 13

# A longer text is shortened in the middle: attackers hide things at the end.
_HEAD: Final = 16
_TAIL: Final = 8

# A hook may have hundreds of files; [s] shows all of them.
_MOST_FILES: Final = 20

_NEW: Final = "hookline: nobody approved this hook yet"
_CHANGED: Final = "hookline: this hook CHANGED since it was approved"

_CONTINUATION: Final = "… "


class FactLine(NamedTuple):
    """A line of a fact: a mark of ours, and text that may be of others."""

    mark: str
    text: str


class Fact(NamedTuple):
    """A labelled fact."""

    label: str
    lines: tuple[FactLine, ...]


class ApprovalScreen(NamedTuple):
    """A snapshot of everything a user is shown about one hook."""

    hook: Hook
    cwd: str
    clearance: TrustDecision
    changes: Sequence[ApprovalChange]

    @classmethod
    def build(cls, hook: Hook, trust: TrustedHooks, *, cwd: str) -> "ApprovalScreen":
        """Read the hook's trust decision and its changes."""
        return cls(hook, cwd, trust.decide(hook, cwd=cwd), trust.diff(hook, cwd=cwd))

    @property
    def digest(self) -> str:
        """The digest of what is shown; empty for a trusted hook."""
        return self.clearance.fingerprint.digest if self.clearance.fingerprint is not None else ""

    def is_current(self, now: HookFingerprint) -> bool:
        """Return whether the screen shows what would run now, including the programs, which the digest leaves out."""
        shown = self.clearance.fingerprint
        return shown is not None and (shown.digest, shown.programs) == (now.digest, now.programs)

    def lay_out_question(self, columns: int) -> list[str]:
        """Return the lines to show before the question."""
        head = _CHANGED if self.clearance.status is TrustStatus.CHANGED else _NEW
        shown = [*list_facts(self.hook, self.clearance, cwd=self.cwd), *list_changes(self.changes)]
        return ["", head, *lay_out(shown, columns, whole=False), ""]

    def lay_out_details(self, word: str, columns: int) -> list[str]:
        """Return the lines that the user asked for; none for an unknown word."""
        if word in {"s", "show"}:
            return lay_out(
                [Fact("runs", tuple(_list_target(self.hook))), *_list_undo(self.hook), *list_files(self.clearance)],
                columns,
            )
        if word in {"d", "diff"}:
            return lay_out(list_changes(self.changes) or [_fact("changes", "none that are known")], columns)
        return []


def list_changes(changes: Sequence[ApprovalChange]) -> list[Fact]:
    """Return what changed since the approval."""
    return [
        Fact("changed", (FactLine("", f"{one.kind} {escape_all(one.name)}"), *quote_lines(one.text.rstrip("\n"))))
        for one in changes
    ]


def list_files(clearance: TrustDecision) -> list[Fact]:
    """Return every file that would run, with the content that was checked."""
    files = clearance.fingerprint.files if clearance.fingerprint is not None else {}
    shown = [
        Fact("file", (FactLine("", escape_all(path)), *quote_lines(raw.decode("utf-8", "replace").rstrip("\n"))))
        for path, raw in sorted(files.items())
    ]
    return shown or [_fact("file", "it names no file")]


def list_facts(hook: Hook, clearance: TrustDecision, *, cwd: str = "") -> Iterator[Fact]:
    """Yield what would run, from where, when, since when, and what is risky about it."""
    name = f"{_quote(hook.name)} ({escape_all(hook.id)})" if hook.name and hook.name != hook.id else _quote(hook.id)
    yield _fact("hook", name)
    yield _fact("at", ", ".join(map(escape_all, hook.on)) or "no event")
    yield from _list_conditions(hook)
    yield Fact("runs", tuple(_list_target(hook)))
    yield from _list_undo(hook)
    yield from _list_environment(hook)
    yield Fact("sandbox", tuple(_list_containment(hook)))
    yield _fact(
        "from", f"{escape_all(hook.source_path) or 'this program'}{f':{hook.source_line}' if hook.source_line else ''}"
    )
    yield _fact("", f"a {hook.source} hook, {hook.layer} layer, dialect {escape_all(hook.dialect)}")
    yield from _find_change_time(hook)
    yield _fact("repository", escape_all(clearance.repository) or "none")
    identity = clearance.fingerprint
    if identity is not None:
        yield _fact(
            "files", *_limit([f"{escape_all(path)}  {digest[:12]}" for path, digest in sorted(identity.hashes.items())])
        )
        # what may load more than is listed; naming it in `includes` has it approved as well
        doubts = [f"the command: {escape_all(doubt)}" for doubt in identity.doubts]
        doubts += [
            f"{escape_all(path)} {escape_all(doubt)}"
            for path, raw in sorted(identity.files.items())
            for doubt in list_doubts(path, raw)
        ]
        head = ["loads more than is listed; what `includes` names is approved with it:"] if doubts else []
        yield Fact("beware", tuple(FactLine("! ", text) for text in (*head, *_limit(doubts))))
        yield _fact("programs", *(f"{escape_all(one.name)}: {escape_all(one.path)}" for one in identity.programs))
        yield _fact("digest", identity.digest)
        if hook.kind == "command" and identity.files:
            # which files cannot be changed between the check and the run
            sealing = Command(shell_dialects=shell_dialects(), template_dialects=TEMPLATE_DIALECTS).sealing(
                hook, identity.files, cwd=cwd
            )
            yield _fact("sealed", escape_all(sealing))
    warnings = list_risks(hook, shell_dialects=shell_dialects(), cwd=cwd)
    yield Fact("beware", tuple(FactLine("! ", escape_all(one.text)) for one in warnings))
    if clearance.earlier is not None:
        yield _fact("before", f"another form of it was approved {describe_approval(clearance.earlier)}")


def lay_out(shown: Iterable[Fact], columns: int, *, whole: bool = True) -> list[str]:
    """Return lines with labels in the left column and nothing of others below them.

    Unless `whole`, long facts are shortened in the middle, with a note.
    """
    lines: list[str] = []
    for fact in shown:
        pieces = []
        for line in fact.lines:
            indent = max(len(line.mark), len(_CONTINUATION))
            wrapped = wrap(line.text, max(columns - _LABEL - 2 - indent, 10))
            marks = (line.mark, *(_CONTINUATION.rjust(indent) for _ in wrapped[1:]))
            pieces += [f"{mark}{piece}" for mark, piece in zip(marks, wrapped, strict=True)]
        left = len(pieces) - _HEAD - _TAIL
        if left > 1 and not whole:
            note = f"({left} lines are left out here; [s] and [d] show them)"
            pieces = [*pieces[:_HEAD], note, *pieces[-_TAIL:]]
        labels = [fact.label, *[""] * len(pieces)]
        lines += [f"  {label:<{_LABEL}}{piece}".rstrip() for label, piece in zip(labels, pieces, strict=False)]
    return lines


def quote_lines(text: str) -> list[FactLine]:
    """Return the lines of a text, marked and escaped."""
    return [FactLine("| ", escape_all(line.expandtabs(4), blanks=40)) for line in text.split("\n")]


def describe_approval(approval: Approval) -> str:
    """Return when an approval was given, by whom, and whether it was imported."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(approval.at)) if approval.at else "at an unknown time"
    by = f" by {escape_all(approval.by)}" if approval.by else ""
    return f"{when}{by}{', imported' if approval.imported else ''}"


def trust_to_json(hook: Hook, clearance: TrustDecision, *, cwd: str = "") -> Mapping[str, object]:
    """Return the facts for `--json`."""
    identity = clearance.fingerprint
    return {
        **{name: getattr(hook, name) for name in ("id", "name", "source", "layer", "dialect")},
        "file": hook.source_path,
        "line": hook.source_line,
        "repository": clearance.repository,
        "standing": clearance.status,
        "objection": clearance.reason_denied or None,
        "digest": identity.digest if identity is not None else None,
        "definition": identity.definition if identity is not None else None,
        "files": identity.hashes if identity is not None else {},
        "programs": [{"name": one.name, "path": one.path} for one in identity.programs] if identity else [],
        "risks": [asdict(one) for one in list_risks(hook, shell_dialects=shell_dialects(), cwd=cwd)],
        "sandbox": containment_to_json(hook),
        "approval": approval_to_json(clearance.approval),
        "earlier": approval_to_json(clearance.earlier),
    }


def approval_to_json(approval: Approval | None) -> Mapping[str, object] | None:
    """Return an approval for `--json`."""
    if approval is None:
        return None
    names = ("hook", "name", "digest", "repository", "by", "at", "runs", "note", "imported")
    return {**{name: getattr(approval, name) for name in names}, "file": approval.source_path}


def _limit(lines: Sequence[str]) -> list[str]:
    left = len(lines) - _MOST_FILES
    return list(lines) if left <= 0 else [*lines[:_MOST_FILES], f"and {left} more, which [s] shows"]


def _fact(label: str, *texts: str) -> Fact:
    return Fact(label, tuple(FactLine("", text) for text in texts))


def _quote(text: str) -> str:
    return f'"{escape_all(text)}"'


def _list_conditions(hook: Hook) -> Iterator[Fact]:
    if hook.matcher:
        yield _fact("for tools", _quote(hook.matcher))
    if hook.files:
        yield _fact("for files", *map(_quote, hook.files))
    for kind in EFFECT_GATES:
        if patterns := getattr(hook, kind):
            yield _fact(f"for {kind}", *map(_quote, patterns))
    for key, text in describe_policies(hook):
        yield _fact(key, escape_all(text))
    if not hook.enabled:
        yield _fact("switched", "off")


def _list_target(hook: Hook) -> Iterator[FactLine]:
    """Yield what a hook runs, each word on a line of its own, so that its end is clear."""
    if hook.invalid:
        yield FactLine("", f"nothing: {escape_all(hook.invalid)}")
    elif hook.module:
        yield FactLine("", f"Python, {escape_all(hook.module)}: {escape_all(hook.function or 'main')}()")
    elif hook.url:
        yield FactLine("", f"a request, {escape_all(hook.method)} {escape_all(hook.url)}")
    elif text := next(
        ((one.title, value) for field, one in TEXT_TARGETS.items() if (value := getattr(hook, field))), None
    ):
        yield FactLine("", f"{text[0]}:")
        yield from quote_lines(text[1])
        yield from _list_server(hook)
    elif hook.steps:
        yield FactLine("", "other hooks, one after another; each is approved for itself:")
        yield from (FactLine(f"[{place}] ", escape_all(name)) for place, name in enumerate(hook.steps))
    elif hook.raises:
        yield FactLine("", f"another event is raised: {escape_all(hook.raises)}")
    elif hook.kind == "rule":
        yield FactLine("", "a constant answer, no program runs:")
        for action, value in hook.actions.items():
            yield FactLine("", f"{action}{'' if value is True else ':'}")
            yield from quote_lines(value) if isinstance(value, str) else ()
    elif uses_shell(hook):
        yield FactLine("", "a shell, with this line:")
        yield from quote_lines(" ".join([hook.command, *hook.args]))
    else:
        for place, word in enumerate([hook.command, *hook.args]):
            yield FactLine(f"[{place}] ", escape_all(word))


def _list_undo(hook: Hook) -> Iterator[Fact]:
    if hook.undo:
        yield Fact("undo", tuple(_list_target(make_undo_hook(hook))))


def _list_server(hook: Hook) -> Iterator[FactLine]:
    """Yield the arguments of an MCP tool, and the server that has it."""
    for name, value in hook.arguments.items():
        yield FactLine("", f"with {escape_all(name)}:")
        yield from quote_lines(value if isinstance(value, str) else json_codec.dump(value).decode())
    server = hook.server
    if server is None:
        return
    yield FactLine("", f"of the server that {escape_all(server.location)} defines:")
    if server.url:
        yield FactLine("", f"requests to {escape_all(server.url)}")
    for place, word in enumerate([server.command, *server.args] if server.command else []):
        yield FactLine(f"[{place}] ", escape_all(word))
    yield from (FactLine("= ", escape_all(f"{key}={value}")) for key, value in server.env.items())
    yield from (FactLine(": ", escape_all(f"{key}: {value}")) for key, value in server.headers.items())


def _list_environment(hook: Hook) -> Iterator[Fact]:
    env = [FactLine("= ", escape_all(f"{key}={value}")) for key, value in hook.env.items()]
    headers = [FactLine(": ", escape_all(f"{key}: {value}")) for key, value in hook.headers.items()]
    yield _fact("in folder", *filter(None, [escape_all(hook.working_directory)]))
    yield Fact("environment", tuple(env))
    yield Fact("headers", tuple(headers))
    yield _fact("variables", *map(escape_all, hook.header_env or ()))
    yield _fact("includes", *map(escape_all, hook.includes))


def _list_containment(hook: Hook) -> Iterator[FactLine]:
    """Yield what its process may do, and whether this machine can hold it to that."""
    sentences, hook = describe_containment(hook), get_process_hook(hook)
    yield from (FactLine("", escape_all(sentence)) for sentence in sentences)
    if sentences and hook.containment.is_contained and not (machine := find_layers()).can_contain:
        yield FactLine(
            "! ", f"this machine cannot contain it, so it may do everything: {describe_lacking(machine.lacking)}"
        )


def _find_change_time(hook: Hook) -> Iterator[Fact]:
    try:
        changed = Path(hook.source_path).stat().st_mtime if hook.source_path else 0.0
    except (OSError, ValueError):
        changed = 0.0
    if changed:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(changed))
        yield _fact("since", f"{when}, when that file was changed last")
