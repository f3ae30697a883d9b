"""What a person has to know before a hook runs, built so that none of it can be forged.

Every fact has a line with a label of ours; what others wrote stands behind a mark of ours, on as many lines as it
needs, and never at the place of a label. Nothing is masked here: a mask could hide what would run.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hookline.cli._policies import told_policies
from hookline.core.approvals import Approval
from hookline.core.changes import Change
from hookline.core.identity import Identity
from hookline.core.risks import Risk, risks
from hookline.core.trust import Clearance, Standing, TrustedHooks
from hookline.display import exact, wrapped
from hookline.kinds.command import Command
from hookline.model.hook import Hook
from hookline.model.plan import OF_EFFECTS
from hookline.wiring import shell_dialects

_LABEL: Final = 13

# A text of more lines is shortened in the middle: its end is what is hidden most readily.
_HEAD: Final = 16
_TAIL: Final = 8

# A hook may consist of hundreds of files; each of them can be shown.
_MOST_FILES: Final = 20

_NEW: Final = "hookline: nobody approved this hook yet"
_CHANGED: Final = "hookline: this hook CHANGED since it was approved"

_PLAIN: Final = ""
_FURTHER: Final = "… "


class Line(NamedTuple):
    """A line of a fact: a mark of ours, and text that may be of others."""

    mark: str
    text: str


class Fact(NamedTuple):
    """One thing to know, with a label of ours."""

    label: str
    lines: tuple[Line, ...]


class Screen(NamedTuple):
    """Everything a person is shown about one hook, read at one moment."""

    hook: Hook
    cwd: str
    clearance: Clearance
    changes: Sequence[Change]

    @classmethod
    def of(cls, hook: Hook, trust: TrustedHooks, *, cwd: str) -> "Screen":
        """Read what there is to know."""
        return cls(hook, cwd, trust.clearance(hook, cwd=cwd), trust.diff(hook, cwd=cwd))

    @property
    def digest(self) -> str:
        """The identity of what is shown."""
        return self.clearance.identity.digest if self.clearance.identity is not None else ""

    def shows(self, now: Identity) -> bool:
        """Say whether this is still what would run, down to the programs, which are no part of the digest."""
        shown = self.clearance.identity
        return shown is not None and (shown.digest, shown.programs) == (now.digest, now.programs)

    def question(self, columns: int) -> list[str]:
        """Lay out what has to be known before an answer."""
        head = _CHANGED if self.clearance.standing is Standing.CHANGED else _NEW
        shown = [*facts(self.hook, self.clearance, cwd=self.cwd), *changed(self.changes)]
        return ["", head, *rendered(shown, columns, whole=False), ""]

    def more(self, word: str, columns: int) -> list[str]:
        """Lay out what was asked for; nothing when nobody knows what that is."""
        if word in {"s", "show"}:
            return rendered([Fact("runs", tuple(_what_runs(self.hook))), *scripts(self.clearance)], columns)
        if word in {"d", "diff"}:
            return rendered(changed(self.changes) or [_fact("changes", "none that are known")], columns)
        return []


def changed(changes: Sequence[Change]) -> list[Fact]:
    """Say what changed since the approval."""
    return [
        Fact("changed", (Line("", f"{one.kind} {exact(one.name)}"), *code(one.text.rstrip("\n")))) for one in changes
    ]


def scripts(clearance: Clearance) -> list[Fact]:
    """Give every file that would run, as it was read when it was checked."""
    files = clearance.identity.files if clearance.identity is not None else {}
    shown = [
        Fact("file", (Line("", exact(path)), *code(raw.decode("utf-8", "replace").rstrip("\n"))))
        for path, raw in sorted(files.items())
    ]
    return shown or [_fact("file", "it names no file")]


def facts(hook: Hook, clearance: Clearance, *, cwd: str = "") -> Iterator[Fact]:
    """Say what would run, from where, when, since when, and what is risky about it."""
    name = f"{_quoted(hook.name)} ({exact(hook.id)})" if hook.name and hook.name != hook.id else _quoted(hook.id)
    yield _fact("hook", name)
    yield _fact("at", ", ".join(map(exact, hook.on)) or "no event")
    yield from _conditions(hook)
    yield Fact("runs", tuple(_what_runs(hook)))
    yield from _surroundings(hook)
    yield _fact(
        "from", f"{exact(hook.source_path) or 'this program'}{f':{hook.source_line}' if hook.source_line else ''}"
    )
    yield _fact("", f"a {hook.source} hook, {hook.layer} layer, dialect {exact(hook.dialect)}")
    yield from _since(hook)
    yield _fact("repository", exact(clearance.repository) or "none")
    identity = clearance.identity
    if identity is not None:
        yield _fact(
            "files", *_some([f"{exact(path)}  {digest[:12]}" for path, digest in sorted(identity.hashes.items())])
        )
        yield _fact("programs", *(f"{exact(one.name)}: {exact(one.path)}" for one in identity.programs))
        yield _fact("digest", identity.digest)
        yield _fact("sealed", *_sealing(hook, identity, cwd))
    warnings = risks(hook, shell_dialects=shell_dialects(), cwd=cwd)
    yield Fact("beware", tuple(Line("! ", exact(one.text)) for one in warnings))
    if clearance.earlier is not None:
        yield _fact("before", f"another form of it was approved {said(clearance.earlier)}")


def rendered(shown: Iterable[Fact], columns: int, *, whole: bool = True) -> list[str]:
    """Lay facts out: labels on the left, and nothing of others below them.

    What is too long is shortened in the middle unless the whole is wanted, and says so.
    """
    lines: list[str] = []
    for fact in shown:
        pieces = [piece for line in fact.lines for piece in _pieces(line, columns - _LABEL - 2)]
        left = len(pieces) - _HEAD - _TAIL
        if left > 1 and not whole:
            note = f"({left} lines are left out here; [s] and [d] show them)"
            pieces = [*pieces[:_HEAD], note, *pieces[-_TAIL:]]
        labels = [fact.label, *[""] * len(pieces)]
        lines += [f"  {label:<{_LABEL}}{piece}".rstrip() for label, piece in zip(labels, pieces, strict=False)]
    return lines


def _pieces(line: Line, columns: int) -> Iterator[str]:
    indent = max(len(line.mark), len(_FURTHER))
    for place, piece in enumerate(wrapped(line.text, max(columns - indent, 10))):
        yield f"{line.mark if place == 0 else _FURTHER.rjust(indent)}{piece}"


def code(text: str) -> list[Line]:
    """Show a text of several lines behind a mark."""
    return [Line("| ", exact(line.expandtabs(4), blanks=40)) for line in text.split("\n")]


def said(approval: Approval) -> str:
    """Say when an approval was given, by whom, and how it came here."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(approval.at)) if approval.at else "at an unknown time"
    by = f" by {exact(approval.by)}" if approval.by else ""
    return f"{when}{by}{', imported' if approval.imported else ''}"


def as_json(hook: Hook, clearance: Clearance, *, cwd: str = "") -> Mapping[str, object]:
    """Give the facts for programs."""
    identity = clearance.identity
    warnings: Sequence[Risk] = risks(hook, shell_dialects=shell_dialects(), cwd=cwd)
    return {
        "id": hook.id,
        "name": hook.name,
        "source": hook.source,
        "layer": hook.layer,
        "dialect": hook.dialect,
        "file": hook.source_path,
        "line": hook.source_line,
        "repository": clearance.repository,
        "standing": clearance.standing,
        "objection": clearance.objection or None,
        "digest": identity.digest if identity is not None else None,
        "definition": identity.definition if identity is not None else None,
        "files": identity.hashes if identity is not None else {},
        "programs": [{"name": one.name, "path": one.path} for one in identity.programs] if identity else [],
        "risks": [{"kind": one.kind, "text": one.text} for one in warnings],
        "approval": approval_json(clearance.approval),
        "earlier": approval_json(clearance.earlier),
    }


def approval_json(approval: Approval | None) -> Mapping[str, object] | None:
    """Give an approval for programs."""
    if approval is None:
        return None
    return {
        "hook": approval.hook,
        "name": approval.name,
        "digest": approval.digest,
        "repository": approval.repository,
        "file": approval.source_path,
        "by": approval.by,
        "at": approval.at,
        "runs": approval.runs,
        "note": approval.note,
        "imported": approval.imported,
    }


def _sealing(hook: Hook, identity: Identity, cwd: str) -> list[str]:
    """Say which files cannot be changed any more once the hook was checked."""
    if hook.kind != "command" or not identity.files:
        return []
    return [exact(Command(shell_dialects=shell_dialects()).sealing(hook, identity.files, cwd=cwd))]


def _some(lines: Sequence[str]) -> list[str]:
    left = len(lines) - _MOST_FILES
    return list(lines) if left <= 0 else [*lines[:_MOST_FILES], f"and {left} more, which [s] shows"]


def _fact(label: str, *texts: str) -> Fact:
    return Fact(label, tuple(Line(_PLAIN, text) for text in texts))


def _quoted(text: str) -> str:
    return f'"{exact(text)}"'


def _conditions(hook: Hook) -> Iterator[Fact]:
    if hook.matcher:
        yield _fact("for tools", _quoted(hook.matcher))
    if hook.files:
        yield _fact("for files", *map(_quoted, hook.files))
    for kind in OF_EFFECTS:
        if patterns := getattr(hook, kind):
            yield _fact(f"for {kind}", *map(_quoted, patterns))
    for key, text in told_policies(hook):
        yield _fact(key, exact(text))
    if not hook.enabled:
        yield _fact("switched", "off")


def _what_runs(hook: Hook) -> Iterator[Line]:
    """Give each word a line of its own, so that nobody has to guess where it ends."""
    if hook.module:
        yield Line("", f"Python, {exact(hook.module)}: {exact(hook.function or 'main')}()")
    elif hook.url:
        yield Line("", f"a request, {exact(hook.method)} {exact(hook.url)}")
    elif hook.prompt:
        yield Line("", "the agent itself is asked:")
        yield from code(hook.prompt)
    elif hook.steps:
        yield Line("", "other hooks, one after another; each is approved for itself:")
        yield from (Line(f"[{place}] ", exact(name)) for place, name in enumerate(hook.steps))
    elif hook.raises:
        yield Line("", f"another event is raised: {exact(hook.raises)}")
    elif hook.shell or (hook.shell is None and not hook.args and hook.dialect in shell_dialects()):
        yield Line("", "a shell, with this line:")
        yield from code(" ".join([hook.command, *hook.args]))
    else:
        for place, word in enumerate([hook.command, *hook.args]):
            yield Line(f"[{place}] ", exact(word))


def _surroundings(hook: Hook) -> Iterator[Fact]:
    if hook.working_directory:
        yield _fact("in folder", exact(hook.working_directory))
    if hook.env:
        yield Fact("environment", tuple(Line("= ", exact(f"{key}={value}")) for key, value in hook.env.items()))
    if hook.headers:
        yield Fact("headers", tuple(Line(": ", exact(f"{key}: {value}")) for key, value in hook.headers.items()))
    if hook.header_env:
        yield _fact("variables", *map(exact, hook.header_env))
    if hook.includes:
        yield _fact("includes", *map(exact, hook.includes))


def _since(hook: Hook) -> Iterator[Fact]:
    try:
        changed = Path(hook.source_path).stat().st_mtime if hook.source_path else 0.0
    except (OSError, ValueError):
        changed = 0.0
    if changed:
        yield _fact(
            "since", f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(changed))}, when that file was changed last"
        )
