"""Split a compound tool call into simple ones for a dialect that lacks the compound tool. No I/O, no clock.

One agent patches five files in one call; a guard written for another agent only knows how a single file is written or
edited. It is called for each file, and one denial denies the whole call.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final

from msgspec.structs import replace

from hookline.effects.effects import make_absolute
from hookline.effects.event_paths import PatchPart, parse_changes
from hookline.engine.merge import combine_verdicts
from hookline.model.dialect import DialectSpec
from hookline.model.event import Event, EventName
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Hook
from hookline.model.language_models import ModelUsage
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict

ToolCall = tuple[str, Mapping[str, object]]

# a call that splits into more parts is denied instead
MAX_PARTS: Final = 200

# events at which a guard that cannot be given the call has not agreed to it
_GUARDED: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST})


def split_call(
    event: Event, spec: DialectSpec | None, matches: Callable[[str], bool] = lambda _name: True
) -> tuple[Event, ...]:
    """Return the events a hook of this dialect gets in place of one; mostly the event itself.

    `matches` tells whether the hook's matcher is for a tool of this name: a guard of `edit` gets the edits in a patch,
    also where its dialect has a name for patches.

    An empty result means that a guard cannot be given the call: the patch cannot be parsed, or is too large. A hook that
    got it under a name it does not know would let it pass.
    """
    split = _SPLITTERS.get(event.tool)
    if split is None or spec is None or not spec.own_tools or _has_name(event.tool, spec, matches):
        return (event,)
    calls = split(event.args, spec.own_tools)
    if len(calls) > MAX_PARTS or (not calls and event.tool == "apply_patch"):
        return () if event.name in _GUARDED else (event,)
    if not calls:
        return (event,)
    return tuple(
        replace(event, tool=tool, args=_absolute_paths(args, event.cwd), native_tool="", native_args=None)
        for tool, args in calls
    )


def _has_name(tool: str, spec: DialectSpec, matches: Callable[[str], bool]) -> bool:
    """Return whether a hook knows a tool: its dialect has a name for it, and the hook's matcher is for that name."""
    if tool not in spec.own_tools:
        return False
    names = spec.tools.get(tool, ())
    return not names or any(names[0] in spec.tools.get(usual, ()) for usual in _USUAL) or matches(names[0])


def _absolute_paths(args: Mapping[str, object], cwd: str) -> Mapping[str, object]:
    """Resolve paths against the agent's folder, which paths in a patch are relative to."""
    path, paths = args.get("path"), args.get("paths")
    if cwd and isinstance(path, str):
        return {**args, "path": make_absolute(cwd, path)}
    if cwd and isinstance(paths, list):
        return {**args, "paths": [make_absolute(cwd, path) if isinstance(path, str) else path for path in paths]}
    return args


def equivalent_tools(tool: str) -> tuple[str, ...]:
    """Return the tools that a call may be split into; a matcher for one of them is for this tool, too."""
    return _EQUIVALENT.get(tool, ())


def deny_unsplittable(event: Event, hook: Hook) -> Verdict:
    """Return the denial for a guard that cannot be given a call."""
    message = (
        f"{event.tool} cannot be sent to this hook, which speaks {hook.dialect}: it is not readable, or changes more than"
        f" {MAX_PARTS} places at once; make smaller changes"
    )
    return Verdict(decision=Decision.DENY, reason=message, failure=Failure(FailureKind.REFUSED, message))


def merge_parts(verdicts: Sequence[Verdict]) -> Verdict:
    """Combine the verdicts of one hook about each part of a call; the same effect counts once."""
    combined = combine_verdicts([_deny_rewrite(verdict) for verdict in verdicts])
    effects: list[Effect] = []
    for effect in combined.effects:
        if effect not in effects:
            effects.append(effect)
    usages = [verdict.usage for verdict in verdicts if verdict.usage is not None]
    return replace(combined, effects=tuple(effects), usage=reduce(ModelUsage.add, usages) if usages else None)


def _deny_rewrite(verdict: Verdict) -> Verdict:
    """Deny where a hook changes one part: the call is made as a whole, so the change would be lost."""
    others = tuple(one for one in verdict.effects if one.kind is not EffectKind.REWRITE or one.path[:1] != ("args",))
    if len(others) == len(verdict.effects):
        return verdict
    if verdict.decision >= Decision.DENY:
        return replace(verdict, effects=others)
    message = "the hook changes one part of a call that is made as a whole, which cannot be done"
    failure = verdict.failure or Failure(FailureKind.INVALID_REPLY, message)
    return replace(verdict, decision=Decision.DENY, reason=message, effects=others, failure=failure)


def _split_patch(args: Mapping[str, object], own: frozenset[str]) -> list[ToolCall]:
    patch = args.get("patch")
    parts = parse_changes(patch) if isinstance(patch, str) else None
    return [call for part in parts or () for call in _split_patch_part(part, own)]


def _split_patch_part(part: PatchPart, own: frozenset[str]) -> list[ToolCall]:
    """Return the calls for one file of a patch; a move changes both files."""
    if part.op == "add":
        return [("write_file", {"path": part.path, "content": part.new})]
    if part.op == "delete" and "delete_file" in own:
        return [("delete_file", {"paths": [part.path]})]
    edit: ToolCall = ("edit_file", {"path": part.path, "old": part.old, "new": part.new})
    return [edit, ("write_file", {"path": part.to, "content": part.new})] if part.to else [edit]


def _split_edits(args: Mapping[str, object], _own: frozenset[str]) -> list[ToolCall]:
    edits = args.get("edits")
    if not isinstance(edits, list) or not all(isinstance(edit, Mapping) for edit in edits):
        return []
    return [("edit_file", {**_without(args, "edits"), **edit}) for edit in edits]


def _text_as_edit(args: Mapping[str, object], _own: frozenset[str]) -> list[ToolCall]:
    rest = _without(args, "text", "line", "first", "last")
    return [("edit_file", {**rest, "old": "", "new": args.get("text", "")})]


def _cell_as_edit(args: Mapping[str, object], _own: frozenset[str]) -> list[ToolCall]:
    return [("edit_file", {**args, "old": "", "new": args.get("source", "")})]


def _split_reads(args: Mapping[str, object], _own: frozenset[str]) -> list[ToolCall]:
    paths = args.get("paths")
    rest = _without(args, "paths")
    return [("read_file", {**rest, "path": path}) for path in paths] if isinstance(paths, list) else []


def _deletes_as_edits(args: Mapping[str, object], _own: frozenset[str]) -> list[ToolCall]:
    paths = args.get("paths")
    rest = {**_without(args, "paths"), "old": "", "new": ""}
    return [("edit_file", {**rest, "path": path}) for path in paths] if isinstance(paths, list) else []


def _without(args: Mapping[str, object], *names: str) -> dict[str, object]:
    return {key: value for key, value in args.items() if key not in names}


_SPLITTERS: Final[Mapping[str, Callable[[Mapping[str, object], frozenset[str]], list[ToolCall]]]] = {
    "apply_patch": _split_patch,
    "multi_edit": _split_edits,
    "insert_text": _text_as_edit,
    "edit_lines": _text_as_edit,
    "notebook_edit": _cell_as_edit,
    "read_files": _split_reads,
    "delete_file": _deletes_as_edits,
}
COMPOUND_TOOLS: Final = frozenset(_SPLITTERS)
"""The tools whose calls may be split."""

# how most agents change files
_USUAL: Final = ("edit_file", "write_file")
_EDITING: Final = (*_USUAL, "multi_edit")
_EQUIVALENT: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("multi_edit", "insert_text", "edit_lines", "notebook_edit"), _EDITING),
    "apply_patch": (*_EDITING, "delete_file"),
    "delete_file": _EDITING,
    "read_files": ("read_file",),
}
