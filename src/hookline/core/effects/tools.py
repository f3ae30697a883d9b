"""What each canonical tool does. No I/O: whether a name is a link is for whoever compares it."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from hookline.core import paths
from hookline.core.effects.found import NOTHING, Effects, Found, spelled, whole
from hookline.core.effects.shell import patched, read_line
from hookline.core.effects.urls import reach, urls_in
from hookline.model.event import Event, EventName

_DEEPEST: Final = 16
_LONGEST_PATH: Final = 1024
_CONTROLS: Final = frozenset({"output", "list", "stop"})
_POWERSHELLS: Final = ("powershell", "pwsh")
_PATTERN: Final = re.compile(r"[*?\[{]")
_MARK: Final = "*** Begin Patch"


class Made(Struct, frozen=True):
    """A call, and what was found of it."""

    event: Event
    found: Found

    @property
    def args(self) -> Mapping[str, object]:
        """Its arguments."""
        return self.event.args

    def paths(self, *keys: str) -> list[str]:
        """Give the paths under some of the arguments, or under all that are known to hold any."""
        said = paths.texts(self.args.get(key) for key in keys) if keys else paths.arguments(self.args)
        return list(dict.fromkeys(path for text in said for path in spelled(self.event.cwd, text)))

    def text(self, key: str) -> str:
        """Give an argument that is a text."""
        value = self.args.get(key)
        return value if isinstance(value, str) else ""


Tool = Callable[[Made], None]


def effects_of(event: Event) -> Effects:
    """Say what an event's tool call does, or did; at file events, what happened to the file."""
    if event.name in paths.FILE_EVENTS:
        return _file_event(event)
    if event.name not in paths.TOOL_EVENTS:
        return NOTHING
    found = Found()
    _TOOLS.get(event.tool, _anything)(Made(event, found))
    return found.effects()


def _file_event(event: Event) -> Effects:
    named = tuple(whole(event.cwd, path) for path in paths.named(event))
    return Effects(writes=named, deletes=named if event.name is EventName.FILE_DELETED else ())


def _nothing(_made: Made) -> None:
    """Do nothing that anybody guards."""


def _write(made: Made, *, reads: bool = True) -> None:
    written = made.paths()
    made.found.writes(*written)
    if reads:
        made.found.reads(*written)
    if not written:
        # a writing tool whose file is not where we look for it may write any file
        made.found.unsure("writes", "reads")


def _delete(made: Made) -> None:
    deleted = made.paths()
    made.found.deletes(*deleted)
    if not deleted:
        made.found.unsure("deletes")


def _patch(made: Made) -> None:
    texts = [value for value in made.args.values() if isinstance(value, str) and _MARK in value]
    texts += [text for text in [made.text("patch")] if text and text not in texts]
    is_read = [patched(text, made.event.cwd, made.found) for text in texts]
    made.found.writes(*made.paths())
    for change in paths.changes(made.args):
        if change.get("op") in {"delete", "move"}:
            made.found.deletes(*(whole(made.event.cwd, path) for path in paths.texts([change.get("path")])))
    is_other = not isinstance(made.args.get("patch", ""), str) or not isinstance(made.args.get("changes", []), list)
    if not all(is_read) or is_other or not (texts or made.paths()):
        made.found.unsure("writes", "deletes")


def _read(made: Made) -> None:
    named = made.paths()
    made.found.reads(*named)
    # some tools take patterns for names
    if not named or any(_PATTERN.search(path) for path in named):
        made.found.unsure("reads")


def _look(made: Made, *, deep: bool = False) -> None:
    """Look into a folder: the one that is named, or the one it works in; with `deep`, into every file of it."""
    made.found.reads(*(made.paths("path", "paths") or [made.event.cwd or "."]))
    # a pattern of names may begin anywhere
    for pattern in paths.texts([made.args.get("pattern")]) if not deep else ():
        if pattern.startswith(("/", "~")) or ".." in pattern:
            made.found.unsure("reads")
    if deep:
        made.found.unsure("reads")


def _fetch(made: Made) -> None:
    said = list(paths.texts([made.args.get("urls"), made.args.get("url")]))
    said += urls_in(made.text("prompt"))
    for url in dict.fromkeys(said):
        reach(made.found, url)
        made.found.reads(*_local(url))
    made.found.writes(*made.paths("save_to"))
    if not said:
        made.found.unsure("urls")


def _resource(made: Made) -> None:
    """Read what a server gives; where that comes from is its business."""
    uri = made.text("uri")
    made.found.add("urls", urls_in(uri))
    made.found.reads(*_local(uri))
    made.found.unsure("reads", "urls")


def _shell(made: Made) -> None:
    command = made.args.get("command")
    base = whole(made.event.cwd, made.text("cwd")) if made.text("cwd") else made.event.cwd
    lines = [command] if isinstance(command, str) else _words(command)
    for line in lines:
        read_line(line, base, made.found)
    # typed into what runs there already, a list that may be words or lines, or another language altogether
    is_other = made.event.native_tool.casefold().endswith(_POWERSHELLS)
    if not isinstance(command, str) or not command.strip() or made.args.get("session") or is_other:
        made.found.unsure()


def _words(command: object) -> list[str]:
    if not isinstance(command, Sequence) or isinstance(command, bytes):
        return []
    texts = [word for word in command if isinstance(word, str)]
    return [shlex.join(texts), *texts] if texts else []


def _code(made: Made, *, key: str) -> None:
    """Run something that is not read here."""
    text = made.text(key)
    made.found.add("runs", [text] if text else [])
    made.found.add("urls", urls_in(text))
    made.found.unsure()


def _others(made: Made) -> None:
    """Let others act, or act later: what they do is theirs to say."""
    made.found.add("urls", (url for key in ("prompt", "text", "message") for url in urls_in(made.text(key))))
    made.found.unsure()


def _control(made: Made) -> None:
    if made.args.get("action", "output") not in _CONTROLS:
        made.found.unsure()


def _worktree(made: Made) -> None:
    made.found.writes(*made.paths("path"))
    made.found.unsure()


def _anything(made: Made) -> None:
    """Take every text in the arguments that looks like a path for one: an unknown tool may do anything with it."""
    for text in _leaves(made.args, _DEEPEST):
        made.found.add("urls", urls_in(text))
        for path in (*_local(text), *([text] if _is_pathlike(text) else ())):
            named = spelled(made.event.cwd, path)
            made.found.writes(*named)
            made.found.reads(*named)
    named = tuple(made.paths())
    made.found.writes(*named)
    made.found.reads(*named)
    if made.text("command"):
        read_line(made.text("command"), made.event.cwd, made.found)
    made.found.unsure()


def _leaves(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        return
    inner: Iterable[object] = ()
    if isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        inner = value
    for item in inner if depth else ():
        yield from _leaves(item, depth - 1)


def _is_pathlike(text: str) -> bool:
    """Say whether a text may be the name of a file: a slash, or an ending, and no rows or URLs."""
    if not 0 < len(text) <= _LONGEST_PATH or "\n" in text or "://" in text:
        return False
    name = text.rpartition("/")[2]
    return "/" in text or text.startswith("~") or ("." in name.rstrip(".") and " " not in name)


def _local(uri: str) -> list[str]:
    """Give the file that a URI names."""
    if not uri.lower().startswith("file:"):
        return []
    try:
        return [unquote(urlsplit(uri).path)]
    except ValueError:
        return []


_EDITS: Final = ("edit_file", "multi_edit", "insert_text", "edit_lines", "notebook_edit")
_HARMLESS: Final = ("web_search", "todo", "ask_user", "plan_mode", "tool_search")
_DELEGATES: Final = ("subagent", "agent_message", "schedule", "skill")

_TOOLS: Final[Mapping[str, Tool]] = MappingProxyType(
    {
        **dict.fromkeys(_HARMLESS, _nothing),
        **dict.fromkeys(_DELEGATES, _others),
        **dict.fromkeys(_EDITS, _write),
        "write_file": partial(_write, reads=False),
        "delete_file": _delete,
        "apply_patch": _patch,
        "read_file": _read,
        "read_files": _read,
        "list_dir": _look,
        "glob": _look,
        "grep": partial(_look, deep=True),
        "web_fetch": _fetch,
        "mcp_resource": _resource,
        "shell": _shell,
        "shell_input": partial(_code, key="text"),
        "shell_control": _control,
        "code": partial(_code, key="source"),
        "worktree": _worktree,
    }
)
