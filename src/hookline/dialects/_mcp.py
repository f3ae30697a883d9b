"""Names of MCP servers' tools, which every agent spells in its own way, and JSON that agents put into texts."""

from typing import Final

from hookline import json_codec
from hookline.model.dialect import MCP_PREFIX

_SEPARATOR: Final = "__"


def join_name(server: str, tool: str) -> str:
    """Return the canonical name of a server's tool; an agent that does not name the server leaves it empty."""
    return f"{MCP_PREFIX}{server}{_SEPARATOR}{tool}"


def split_name(tool: str) -> tuple[str, str] | None:
    """Return the server and its tool, None for a tool that is not a server's."""
    if not tool.startswith(MCP_PREFIX):
        return None
    server, _, name = tool.removeprefix(MCP_PREFIX).partition(_SEPARATOR)
    return server, name


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
