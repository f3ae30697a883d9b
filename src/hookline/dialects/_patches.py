"""Changes of files as one patch, for hooks of agents that change files by patch alone."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from hookline.model.event import Event


def as_patch(event: Event) -> Event:
    """Give a call that changes files as the patch that does the same; every other event stays what it is."""
    say = _SAID.get(event.tool)
    if say is None:
        return event
    lines = say(event.args, event.cwd)
    if not lines:
        return event
    patch = "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])
    return replace(event, tool="apply_patch", args={"patch": patch}, native_tool="", native_args=None)


def _write(args: Mapping[str, object], cwd: str) -> list[str]:
    return _header("Add", args.get("path"), cwd, _marked("+", args.get("content")))


def _edit(args: Mapping[str, object], cwd: str) -> list[str]:
    return _header("Update", args.get("path"), cwd, _hunk(args))


def _edits(args: Mapping[str, object], cwd: str) -> list[str]:
    edits = args.get("edits")
    hunks = [_hunk(edit) for edit in edits if isinstance(edit, Mapping)] if isinstance(edits, list) else []
    return _header("Update", args.get("path"), cwd, [line for hunk in hunks for line in hunk])


def _insert(args: Mapping[str, object], cwd: str) -> list[str]:
    return _header("Update", args.get("path"), cwd, ["@@", *_marked("+", args.get("text"))])


def _cell(args: Mapping[str, object], cwd: str) -> list[str]:
    return _header("Update", args.get("path"), cwd, ["@@", *_marked("+", args.get("source"))])


def _delete(args: Mapping[str, object], cwd: str) -> list[str]:
    paths = args.get("paths")
    return [line for path in (paths if isinstance(paths, list) else ()) for line in _header("Delete", path, cwd, ())]


_SAID: Final[Mapping[str, Callable[[Mapping[str, object], str], list[str]]]] = {
    "write_file": _write,
    "edit_file": _edit,
    "multi_edit": _edits,
    "insert_text": _insert,
    "edit_lines": _insert,
    "notebook_edit": _cell,
    "delete_file": _delete,
}
PATCHED: Final = frozenset(_SAID)


def _header(verb: str, path: object, cwd: str, lines: Iterable[str]) -> list[str]:
    """Begin one file of a patch; paths inside the folder are relative to it, as in every patch of a model."""
    if not isinstance(path, str) or not path:
        return []
    inside = path.removeprefix(cwd.rstrip("/") + "/") if cwd else path
    # a name with a line break in it must not look like a line of the patch
    return [f"*** {verb} File: {inside.replace(chr(10), chr(92) + 'n')}", *lines]


def _hunk(edit: Mapping[str, object]) -> list[str]:
    return ["@@", *_marked("-", edit.get("old")), *_marked("+", edit.get("new"))]


def _marked(mark: str, text: object) -> list[str]:
    """Put a mark before every line; no content can then be taken for anything but content."""
    lines = text.split("\n") if isinstance(text, str) and text else []
    if lines and not lines[-1]:
        lines.pop()
    return [mark + line for line in lines]
