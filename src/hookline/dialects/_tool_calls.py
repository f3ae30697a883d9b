"""Tool calls and results of real agents: normalised for hooks and rules, and sent back as the agent wrote them.

A call is changed only where a hook changed it: unknown keys, relative paths and odd types go back as they came.
"""

import posixpath
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, Struct

from hookline import json_codec
from hookline.dialects._tool_map import ToolMap, final_args, find_changes
from hookline.model.dialect import MCP_PREFIX
from hookline.model.event import OTHER, TOOLS, Event
from hookline.model.verdict import Outcome

# arguments of canonical tools that are paths: absolute and without `..`, whatever the agent wrote
_PATHS: Final = ("path", "paths", "cwd", "to", "save_to")
# the argument that stands for a whole argument list that is not an object
PLAIN: Final = "input"


class DecodedCall(Struct, frozen=True):
    """A canonical tool call; `native_tool` is the agent's tool where ours does not imply it, `native_args` its arguments."""

    tool: str = ""
    args: dict[str, object] = {}
    native_tool: str = ""
    native_args: object = None


NO_CALL: Final = DecodedCall()


def normalise_call(tools: ToolMap, name: str, native_args: object, *, cwd: str) -> DecodedCall:
    """Return a call as a canonical tool with canonical argument names and absolute paths.

    A tool that the agent's table does not list is never a canonical tool, even under the same name: what it does is unknown.
    """
    given = {} if native_args is None else native_args if isinstance(native_args, Mapping) else {PLAIN: native_args}
    tool, args, native = tools.decode(name, given)
    if tool in TOOLS and not tools.has_tool(name, given):
        tool, native = f"{OTHER}{tool}", name
    return DecodedCall(tool, make_paths_absolute(args, cwd), native, native_args)


def normalise_server_call(server: str, tool: str, native_args: object, *, native_tool: str) -> DecodedCall:
    """Return a call of an MCP server's tool, whose arguments may be JSON in a text and keep their names."""
    args = parse_text(native_args)
    given = args if isinstance(args, dict) else {} if args is None else {PLAIN: args}
    return DecodedCall(join_name(server, tool), given, native_tool, native_args)


def apply_rewrite(tools: ToolMap, outcome: Outcome, event: Event) -> object:
    """Return the whole arguments for the agent, UNSET where no hook changed them."""
    final = final_args(outcome, event)
    if final is None:
        return UNSET
    if event.native_args is None:
        return tools.called_row(event)[1].to_native(final)
    changed = apply_changes(tools, event, final)
    return UNSET if json_codec.dump(changed) == json_codec.dump(event.native_args) else changed


def apply_changes(tools: ToolMap, event: Event, final: Mapping[str, object]) -> object:
    """Apply to the agent's own arguments what differs between them and the final ones."""
    native = event.native_args
    name = event.native_tool or tools.encode(event)[0]
    before = normalise_call(tools, name, native, cwd=event.cwd).args
    if json_codec.dump(before) == json_codec.dump(final):
        return native
    row = tools.called_row(event)[1]
    old, new = row.to_native(before), row.to_native(final)
    whole = dict(native) if isinstance(native, Mapping) else {PLAIN: native}
    for key, value in find_changes(old, new).items():
        whole[row.find_key(key, whole)] = value
    for key in old.keys() - new.keys():
        whole.pop(row.find_key(key, whole), None)
    if isinstance(native, Mapping):
        return whole
    # a plain value stays one unless the change needs a named argument
    return whole[PLAIN] if whole.keys() == {PLAIN} else {key: whole[key] for key in whole if key != PLAIN or key in new}


def make_paths_absolute(args: dict[str, object], cwd: str) -> dict[str, object]:
    """Return arguments with absolute paths; `~` and paths in an unknown directory are left alone."""
    changed: dict[str, object] = {key: _make_absolute(args[key], cwd) for key in _PATHS if key in args}
    return {**args, **changed} if changed else args


def _make_absolute(value: object, cwd: str) -> object:
    if isinstance(value, list):
        return [_make_absolute(item, cwd) for item in value]
    if not isinstance(value, str) or not value or value.startswith("~"):
        return value
    path = posixpath.join(cwd, value)
    # normpath keeps two leading slashes, which mean the same as one on every supported system
    return posixpath.normpath(path).replace("//", "/") if path.startswith("/") else value


def as_edit(args: Mapping[str, object]) -> dict[str, object]:
    """Return a change of a file as one edit, in the words of most agents; a change of the whole file has no old text."""
    new = next((args[key] for key in ("new", "content", "text", "patch", "source") if args.get(key) is not None), "")
    return {"old_string": args.get("old", ""), "new_string": new}


# tools of MCP servers, whose names every agent spells in its own way


def join_name(server: str, tool: str) -> str:
    """Return the canonical name of a server's tool; an agent that does not name the server leaves it empty."""
    return f"{MCP_PREFIX}{server}__{tool}"


def split_name(tool: str) -> tuple[str, str] | None:
    """Return the server and its tool, None for a tool that is not a server's."""
    if not tool.startswith(MCP_PREFIX):
        return None
    server, _, name = tool.removeprefix(MCP_PREFIX).partition("__")
    return server, name


# JSON that agents put into texts


def parse_text(text: object) -> object:
    """Parse a JSON object or list that came as a text; any other value is returned unchanged."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json_codec.load(text)
    except ValueError:
        return text


def to_text(value: object) -> str:
    """Return a text unchanged, and any other value as JSON."""
    return value if isinstance(value, str) else json_codec.dump(value).decode("utf-8", "replace")


def to_same_text(value: object, *, text: object) -> object:
    """Return the text that a value was parsed from, or a new one if the value has changed since."""
    is_same = isinstance(text, str) and json_codec.dump(parse_text(text)) == json_codec.dump(value)
    return text if is_same else to_text(value)


def result_text(result: object) -> str:
    """Return a tool's result as the text that a model reads of it, and as JSON where it has no such text.

    One agent sends a text, another an object with streams, a third a list of parts.
    """
    match result:
        case {"stdout": str(printed), **more}:
            complaint = more.get("stderr")
            return "\n".join(filter(None, (printed, complaint if isinstance(complaint, str) else "")))
        case {"llmContent": inner} | {"content": list(inner)}:
            return result_text(inner)
        case [*parts] if parts:
            texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
            strings = [text for text in texts if isinstance(text, str)]
            if len(strings) == len(parts):
                return "\n".join(filter(None, strings))
    return to_text(result)
