"""Tool calls of real agents: normalised for hooks and rules, and sent back as the agent wrote them.

A call is changed only where a hook changed it: unknown keys, relative paths and odd types go back as they came.
"""

import posixpath
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET, Struct

from hookline import json_codec
from hookline.dialects import _mcp
from hookline.dialects._tool_map import ToolMap, final_args
from hookline.model.event import Event
from hookline.model.tools import OTHER, TOOLS
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
    args = _mcp.parse_text(native_args)
    given = args if isinstance(args, dict) else {} if args is None else {PLAIN: args}
    return DecodedCall(_mcp.join_name(server, tool), given, native_tool, native_args)


def encode_call(tools: ToolMap, event: Event, *, dialect: str) -> tuple[str, object]:
    """Return the tool and arguments for a hook: for a hook of the calling agent's dialect, as the agent wrote them."""
    name, args = tools.encode(event)
    if event.host != dialect or event.native_args is None:
        return name, args
    return event.native_tool or name, _apply_changes(tools, event, event.args)


def apply_rewrite(tools: ToolMap, outcome: Outcome, event: Event) -> object:
    """Return the whole arguments for the agent, UNSET where no hook changed them."""
    final = final_args(outcome, event)
    if final is None:
        return UNSET
    if event.native_args is None:
        return tools.to_native(event, final)
    changed = _apply_changes(tools, event, final)
    return UNSET if json_codec.dump(changed) == json_codec.dump(event.native_args) else changed


def _apply_changes(tools: ToolMap, event: Event, final: Mapping[str, object]) -> object:
    """Apply to the agent's own arguments what differs between them and the final ones."""
    native = event.native_args
    name = event.native_tool or tools.encode(event)[0]
    before = normalise_call(tools, name, native, cwd=event.cwd).args
    if json_codec.dump(before) == json_codec.dump(final):
        return native
    old, new = tools.to_native(event, before), tools.to_native(event, final)
    whole = dict(native) if isinstance(native, Mapping) else {PLAIN: native}
    for key, value in new.items():
        if key not in old or json_codec.dump(old[key]) != json_codec.dump(value):
            whole[tools.find_key(event, key, whole)] = value
    for key in old.keys() - new.keys():
        whole.pop(tools.find_key(event, key, whole), None)
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
