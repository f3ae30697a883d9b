"""A call in words a system does not have, told as the calls it has. No I/O, no clock.

One agent patches five files in one call; a guard of another one knows only how a single file is written or edited. It is
asked about each file, and one no is a no to the whole call.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from hookline.core.effects.found import whole
from hookline.core.effects.parts import Part, parts_of
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Hook
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict

Call = tuple[str, Mapping[str, object]]

# as many calls as somebody may want to be asked about one by one
MOST: Final = 200


# where a guard that cannot be told of a call has not agreed to it
_GUARDED: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})


def unfolded(
    event: Event, spec: DialectSpec | None, means: Callable[[str], bool] = lambda _name: True
) -> tuple[Event, ...]:
    """Give the events a hook of this dialect is told in place of one; mostly the event itself.

    `means` says whether the hook's matcher is for a tool of this name: a guard of `edit` is asked about the edits in a
    patch, also where its system has a word for patches.

    None at all means that a guard cannot be told: the patch is one that nobody can read, or there is too much of it. A hook
    that got it in words it does not know would let it pass.
    """
    unfold = _UNFOLD.get(event.tool)
    if unfold is None or spec is None or not spec.own_tools or _has_word(event.tool, spec, means):
        return (event,)
    calls = unfold(event.args, spec.own_tools)
    if len(calls) > MOST or (not calls and event.tool == "apply_patch"):
        return () if event.name in _GUARDED else (event,)
    if not calls:
        return (event,)
    return tuple(
        replace(event, tool=tool, args=_placed(args, event.cwd), native_tool="", native_args=None)
        for tool, args in calls
    )


def _has_word(tool: str, spec: DialectSpec, means: Callable[[str], bool]) -> bool:
    """Tell whether a hook knows a tool by its name: as one of its system's, and as one of those it is for."""
    if tool not in spec.own_tools:
        return False
    names = spec.tools.get(tool, ())
    return not names or any(names[0] in spec.tools.get(usual, ()) for usual in _USUAL) or means(names[0])


def _placed(args: Mapping[str, object], cwd: str) -> Mapping[str, object]:
    """Write the path as whoever works elsewhere would: what a patch names is counted from the agent's folder."""
    path, paths = args.get("path"), args.get("paths")
    if cwd and isinstance(path, str):
        return {**args, "path": whole(cwd, path)}
    if cwd and isinstance(paths, list):
        return {**args, "paths": [whole(cwd, path) if isinstance(path, str) else path for path in paths]}
    return args


def stands_for(tool: str) -> tuple[str, ...]:
    """Name the tools that a call may be told as; a matcher for one of them means it, too."""
    return _STANDS_FOR.get(tool, ())


def untold(event: Event, hook: Hook) -> Verdict:
    """Say no for a guard that cannot be told of a call."""
    message = (
        f"{event.tool} cannot be told to this hook, which speaks {hook.dialect}: it is not readable, or changes more than"
        f" {MOST} places at once; make smaller changes"
    )
    return Verdict(decision=Decision.DENY, reason=message, failure=Failure(FailureKind.REFUSED, message))


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Make one verdict of what a hook said about each part of a call.

    The strongest decision holds. A part cannot be changed on its own: a hook that wants to has not agreed to the call.
    """
    verdicts = [_unchanged(verdict) for verdict in verdicts]
    decision = max(verdict.decision for verdict in verdicts)
    reasons = dict.fromkeys(one.reason for one in verdicts if one.decision is decision and one.reason)
    effects = _distinct(effect for verdict in verdicts for effect in verdict.effects)
    return Verdict(
        decision=decision,
        reason="\n".join(reasons),
        effects=tuple(effects),
        failure=next((one.failure for one in verdicts if one.failure is not None), None),
        ends=any(one.ends for one in verdicts),
        notes=tuple(dict.fromkeys(note for one in verdicts for note in one.notes)),
        metadata={key: value for one in verdicts for key, value in one.metadata.items()},
        raised=tuple(name for one in verdicts for name in one.raised),
    )


def _unchanged(verdict: Verdict) -> Verdict:
    if not any(effect.kind is EffectKind.REWRITE and effect.path[:1] == ("args",) for effect in verdict.effects):
        return verdict
    message = "the hook changes one part of a call that is made as a whole, which cannot be done"
    kept = tuple(one for one in verdict.effects if one.kind is not EffectKind.REWRITE or one.path[:1] != ("args",))
    if verdict.decision >= Decision.DENY:
        return replace(verdict, effects=kept)
    failure = verdict.failure or Failure(FailureKind.INVALID_REPLY, message)
    return replace(verdict, decision=Decision.DENY, reason=message, effects=kept, failure=failure)


def _distinct(effects: Iterable[Effect]) -> list[Effect]:
    found: list[Effect] = []
    for effect in effects:
        if effect not in found:
            found.append(effect)
    return found


def _patch(args: Mapping[str, object], own: frozenset[str]) -> list[Call]:
    patch = args.get("patch")
    parts = parts_of(patch) if isinstance(patch, str) else None
    return [call for part in parts or () for call in _part(part, own)]


def _part(part: Part, own: frozenset[str]) -> list[Call]:
    """Say one file of a patch; both ends of a move are files that change."""
    if part.op == "add":
        return [("write_file", {"path": part.path, "content": part.new})]
    if part.op == "delete" and "delete_file" in own:
        return [("delete_file", {"paths": [part.path]})]
    edit: Call = ("edit_file", {"path": part.path, "old": part.old, "new": part.new})
    return [edit, ("write_file", {"path": part.to, "content": part.new})] if part.to else [edit]


def _edits(args: Mapping[str, object], _own: frozenset[str]) -> list[Call]:
    edits = args.get("edits")
    if not isinstance(edits, list) or not all(isinstance(edit, Mapping) for edit in edits):
        return []
    rest = {key: value for key, value in args.items() if key != "edits"}
    return [("edit_file", {**rest, **edit}) for edit in edits]


def _text(args: Mapping[str, object], _own: frozenset[str]) -> list[Call]:
    rest = {key: value for key, value in args.items() if key not in {"text", "line", "first", "last"}}
    return [("edit_file", {**rest, "old": "", "new": args.get("text", "")})]


def _cell(args: Mapping[str, object], _own: frozenset[str]) -> list[Call]:
    return [("edit_file", {**args, "old": "", "new": args.get("source", "")})]


def _reads(args: Mapping[str, object], _own: frozenset[str]) -> list[Call]:
    paths = args.get("paths")
    rest = {key: value for key, value in args.items() if key != "paths"}
    return [("read_file", {**rest, "path": path}) for path in paths] if isinstance(paths, list) else []


def _deletes(args: Mapping[str, object], _own: frozenset[str]) -> list[Call]:
    paths = args.get("paths")
    rest = {key: value for key, value in args.items() if key != "paths"}
    if not isinstance(paths, list):
        return []
    return [("edit_file", {**rest, "path": path, "old": "", "new": ""}) for path in paths]


_UNFOLD: Final[Mapping[str, Callable[[Mapping[str, object], frozenset[str]], list[Call]]]] = {
    "apply_patch": _patch,
    "multi_edit": _edits,
    "insert_text": _text,
    "edit_lines": _text,
    "notebook_edit": _cell,
    "read_files": _reads,
    "delete_file": _deletes,
}
# how files are changed in most systems
_USUAL: Final = ("edit_file", "write_file")
_EDITED: Final = ("edit_file", "write_file", "multi_edit")
_STANDS_FOR: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("multi_edit", "insert_text", "edit_lines", "notebook_edit"), _EDITED),
    "apply_patch": (*_EDITED, "delete_file"),
    "delete_file": _EDITED,
    "read_files": ("read_file",),
}

FOLDED: Final = frozenset(_UNFOLD)
"""The tools whose calls may be several calls of others."""
