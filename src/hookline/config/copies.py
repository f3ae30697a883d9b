"""The same hook in the files of several agents: people keep a copy for each, and it is one hook all the same."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from msgspec import structs

from hookline import wire
from hookline.config.vocabulary import Tools
from hookline.model.hook import Hook, Layer, OnError

# What may differ between copies: whose file it is in and how that agent speaks and counts time. A matcher is
# compared by the tools it means.
_MAY_DIFFER: Final = frozenset(
    {
        *("id", "name", "dialect", "agents", "native_event", "matcher", "timeout", "on_error", "parallel"),
        *(
            "working_directory",
            "root",
            "layer",
            "source_path",
            "source_line",
            "source_format",
            "source_pointer",
            "version",
        ),
    }
)
_FROM_THE_TOP: Final = frozenset("/~$\"'")
_SAME: Final = attrgetter(*sorted({field.name for field in structs.fields(Hook)} - _MAY_DIFFER))


def joined(hooks: Iterable[Hook], tools: Tools) -> list[Hook]:
    """Make one hook of all copies of it, which is left to every agent that has one.

    Only what is trusted alike is put together: a copy in a workspace must not take a person's own hook away under an
    agent that does not even run what stands in that workspace.
    """
    found: list[Hook] = []
    places: dict[bytes, int] = {}
    for hook in hooks:
        same = _what(hook, tools) if hook.agents else None
        place = places.get(same) if same is not None else None
        if place is None:
            if same is not None:
                places[same] = len(found)
            found.append(hook)
        else:
            found[place] = _both(found[place], hook)
    return found


def _both(hook: Hook, copy: Hook) -> Hook:
    agents = tuple(dict.fromkeys((*hook.agents, *copy.agents)))
    blocks = OnError.BLOCK in {hook.on_error, copy.on_error}
    return structs.replace(hook, agents=agents, on_error=OnError.BLOCK if blocks else hook.on_error)


def _what(hook: Hook, tools: Tools) -> bytes:
    """Say what a hook does and when, in no agent's words."""
    return wire.dump((meaning(hook.matcher, hook.dialect, tools), _folder(hook), _SAME(hook)))


def _folder(hook: Hook) -> str:
    """Give the folder that decides what a hook runs.

    In each project of a repository the same words mean scripts of its own, and so do relative names where agents
    start a person's own hooks in different folders.
    """
    if hook.layer in {Layer.PROJECT, Layer.LOCAL}:
        return hook.root
    is_relative = any("/" in word and word[0] not in _FROM_THE_TOP for word in hook.command.split())
    return hook.working_directory if is_relative else ""


def meaning(matcher: str, dialect: str, tools: Tools) -> tuple[str, ...]:
    """Give the tools a matcher means in our words, where it is a list of names; else nothing that could be a tool."""
    own = tools.get(dialect, {})
    bare = matcher.removeprefix("^(?:").removesuffix(")$") if matcher.startswith("^(?:") else matcher
    found: dict[str, None] = {}
    for word in (part.strip() for part in bare.split("|")):
        ours = next((tool for tool, names in own.items() if word == tool or word in names), "")
        if not ours and any(word in others for others in tools.values()):
            # our own names are understood everywhere
            ours = word
        if not ours:
            return ("", matcher)
        found[ours] = None
    return tuple(sorted(found))
