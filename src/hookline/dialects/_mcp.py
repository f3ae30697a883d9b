"""Tools of MCP servers, which every agent spells in its own way, and JSON that agents put into texts."""

from typing import Final

from hookline import wire
from hookline.model.dialect import MCP_PREFIX

_BETWEEN: Final = "__"


def joined(server: str, tool: str) -> str:
    """Give our name of a server's tool; an agent that does not say the server leaves it empty."""
    return f"{MCP_PREFIX}{server}{_BETWEEN}{tool}"


def split(tool: str) -> tuple[str, str] | None:
    """Give the server and its tool; None where the name is not of a server's tool."""
    if not tool.startswith(MCP_PREFIX):
        return None
    server, _, name = tool.removeprefix(MCP_PREFIX).partition(_BETWEEN)
    return server, name


def parsed(text: object) -> object:
    """Read JSON that came as a text; every other value, and every other text, is itself."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return wire.load(text)
    except ValueError:
        return text


def written(value: object) -> str:
    """Write a value as a text: a text is itself, all else is JSON."""
    return value if isinstance(value, str) else wire.dump(value).decode("utf-8", "replace")


def repeated(value: object, *, text: object) -> object:
    """Give the text again that a value was read from, or a new one where the value is another by now."""
    return text if isinstance(text, str) and wire.dump(parsed(text)) == wire.dump(value) else written(value)
