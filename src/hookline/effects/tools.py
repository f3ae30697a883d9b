"""Find the effects of each canonical tool. No I/O: links are resolved where paths are compared."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from hookline.effects import event_paths
from hookline.effects.effects import Effects, EffectsBuilder, Target, make_absolute, spell_paths
from hookline.effects.event_paths import BEGIN
from hookline.effects.patterns import add_url, find_urls
from hookline.effects.shell import apply_patch, looks_like_path, read_line
from hookline.model.event import Event, EventName

_DEEPEST: Final = 16
_CONTROLS: Final = frozenset({"output", "list", "stop"})
_POWERSHELLS: Final = ("powershell", "pwsh")
_PATTERN: Final = re.compile(r"[*?\[{]")


class CallReader(Struct, frozen=True):
    """A tool call, and the effects that were found."""

    event: Event
    found: EffectsBuilder

    @property
    def args(self) -> Mapping[str, object]:
        """The arguments of the call."""
        return self.event.args

    def paths(self, *keys: str) -> list[str]:
        """Return the paths in these arguments, or in all arguments that are known to hold any."""
        named = event_paths.find_texts(self.args.get(key) for key in keys)
        found = named if keys else event_paths.list_argument_paths(self.args)
        return list(dict.fromkeys(path for text in found for path in spell_paths(self.event.cwd, text)))

    def text(self, key: str) -> str:
        """Return an argument that is a text, or ""."""
        value = self.args.get(key)
        return value if isinstance(value, str) else ""


def find_effects(event: Event) -> Effects:
    """Return the effects of an event's tool call; at file events, what happened to the file."""
    found = EffectsBuilder()
    if event.name in event_paths.FILE_EVENTS:
        kind = "deletes" if event.name is EventName.FILE_DELETED else "writes"
        found.touch_paths(kind, *(make_absolute(event.cwd, path) for path in event_paths.list_event_paths(event)))
    elif event.name in event_paths.TOOL_EVENTS:
        _TOOLS.get(event.tool, _add_anything)(CallReader(event, found))
    return found.build()


def _add_files(call: CallReader, *kinds: str) -> None:
    """Add the files that the arguments name; a tool whose file is in no known argument may touch any file."""
    named = call.paths()
    for kind in kinds:
        call.found.touch_paths(kind, *named)
    if not named:
        # what is written may be read first
        call.found.leave_open(*kinds, *(["reads"] if "writes" in kinds else []))


def _add_patch(call: CallReader) -> None:
    texts = [value for value in call.args.values() if isinstance(value, str) and BEGIN in value]
    texts += [text for text in [call.text("patch")] if text and text not in texts]
    is_read = [apply_patch(text, call.event.cwd, call.found) for text in texts]
    call.found.touch_paths("writes", *call.paths())
    for change in event_paths.list_changes(call.args):
        if str(change.get("op")) in {"delete", "move"}:
            paths = event_paths.find_texts([change.get("path")])
            call.found.touch_paths("deletes", *(make_absolute(call.event.cwd, path) for path in paths))
    is_other = not isinstance(call.args.get("patch", ""), str) or not isinstance(call.args.get("changes", []), list)
    if not all(is_read) or is_other or not (texts or call.paths()):
        call.found.leave_open("writes", "deletes")


def _add_read(call: CallReader) -> None:
    _add_files(call, "reads")
    # some tools take patterns for names
    if any(map(_PATTERN.search, call.paths())):
        call.found.leave_open("reads")


def _add_listing(call: CallReader, *, deep: bool = False) -> None:
    """Add a folder that is listed: the named one, or the working directory; with `deep`, every file of it."""
    folders = call.paths("path", "paths") or [call.event.cwd or "."]
    call.found.touch_paths("reads", *folders)
    # names that are searched for text: `.env*`
    for glob in event_paths.find_texts([call.args.get("include")]) if deep else ():
        for folder in folders:
            path = make_absolute(folder, f"**/{glob}" if "/" not in glob else glob)
            call.found.touch("reads", Target(path, pattern=path))
    patterns = event_paths.find_texts([call.args.get("pattern")])
    # a pattern of names may begin anywhere
    if deep or any(pattern.startswith(("/", "~")) or ".." in pattern for pattern in patterns):
        call.found.leave_open("reads")


def _add_fetch(call: CallReader) -> None:
    found = list(event_paths.find_texts([call.args.get("urls"), call.args.get("url")]))
    found += find_urls(call.text("prompt"))
    for url in dict.fromkeys(found):
        add_url(call.found, url)
        call.found.touch_paths("reads", *_list_files(url))
    call.found.touch_paths("writes", *call.paths("save_to"))
    if not found:
        call.found.leave_open("urls")


def _add_resource(call: CallReader) -> None:
    """Add a resource of an MCP server, which may read anything."""
    uri = call.text("uri")
    call.found.add("urls", find_urls(uri))
    call.found.touch_paths("reads", *_list_files(uri))
    call.found.leave_open("reads", "urls")


def _add_shell(call: CallReader) -> None:
    command = call.args.get("command")
    base = make_absolute(call.event.cwd, call.text("cwd")) if call.text("cwd") else call.event.cwd
    if isinstance(command, str):
        read_line(command, base, call.found)
    elif isinstance(command, Sequence) and (words := [word for word in command if isinstance(word, str)]):
        # a list is words or lines: the first has a blank in it only where it is a line
        if " " in words[0]:
            for line in words:
                read_line(line, base, call.found)
        else:
            # each word in quotes: "if" and "X=1" are words like any other
            read_line(" ".join("'" + word.replace("'", "'\\''") + "'" for word in words), base, call.found)
    # input of a running program, a list that may be words or lines, or another language
    is_other = call.event.native_tool.casefold().endswith(_POWERSHELLS)
    if not isinstance(command, str) or not command.strip() or call.args.get("session") or is_other:
        call.found.leave_open()


def _add_code(call: CallReader, *, key: str) -> None:
    """Add code that is not analysed."""
    text = call.text(key)
    call.found.add("runs", [text] if text else [])
    call.found.add("urls", find_urls(text))
    call.found.leave_open()


def _add_delegation(call: CallReader) -> None:
    """Add a call that lets another agent act, or acts later."""
    call.found.add("urls", (url for key in ("prompt", "text", "message") for url in find_urls(call.text(key))))
    call.found.leave_open()


def _add_control(call: CallReader) -> None:
    if str(call.args.get("action", "output")) not in _CONTROLS:
        call.found.leave_open()


def _add_worktree(call: CallReader) -> None:
    call.found.touch_paths("writes", *call.paths("path"))
    call.found.leave_open()


def _add_anything(call: CallReader) -> None:
    """Add every text in the arguments that looks like a path: an unknown tool may do anything with it."""
    named: list[str] = []
    for text in _list_leaves(call.args, _DEEPEST):
        call.found.add("urls", find_urls(text))
        for path in (*_list_files(text), *([text] if looks_like_path(text) else ())):
            named += spell_paths(call.event.cwd, path)
    for kind in ("writes", "reads"):
        call.found.touch_paths(kind, *named, *call.paths())
    if call.text("command"):
        read_line(call.text("command"), call.event.cwd, call.found)
    call.found.leave_open()


def _list_leaves(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | Sequence) and not isinstance(value, bytes):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _list_leaves(item, depth - 1)


def _list_files(uri: str) -> list[str]:
    """Return the file that a URI names."""
    with suppress(ValueError):
        return [unquote(urlsplit(uri).path)] if uri.lower().startswith("file:") else []
    return []


_EDITS: Final = ("edit_file", "multi_edit", "insert_text", "edit_lines", "notebook_edit")
# tools without effects that rules ask for
_HARMLESS: Final = ("web_search", "todo", "ask_user", "plan_mode", "tool_search")
_DELEGATES: Final = ("subagent", "agent_message", "schedule", "skill")

_TOOLS: Final[Mapping[str, Callable[[CallReader], None]]] = {
    **dict.fromkeys(_HARMLESS, lambda _call: None),
    **dict.fromkeys(_DELEGATES, _add_delegation),
    **dict.fromkeys(_EDITS, lambda call: _add_files(call, "writes", "reads")),
    "write_file": lambda call: _add_files(call, "writes"),
    "delete_file": lambda call: _add_files(call, "deletes"),
    "apply_patch": _add_patch,
    "read_file": _add_read,
    "read_files": _add_read,
    "list_dir": _add_listing,
    "glob": _add_listing,
    "grep": partial(_add_listing, deep=True),
    "web_fetch": _add_fetch,
    "mcp_resource": _add_resource,
    "shell": _add_shell,
    "shell_input": partial(_add_code, key="text"),
    "shell_control": _add_control,
    "code": partial(_add_code, key="source"),
    "worktree": _add_worktree,
}
