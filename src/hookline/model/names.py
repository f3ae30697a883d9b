"""Resolve the names that any system has for tools, events and agents.

A tool's name that the calling agent has means what it means there. Any other name means what most systems mean by it, and
what all of them mean where they differ evenly. An event's name means every event that any system calls so.

The names are in `dialect_names.json`, so that a lookup imports no dialect: `tools/dialect_names.py` writes them from the
tables of the dialects.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import msgspec

from hookline.errors import ConfigError
from hookline.model.dialect import AGENTS, MCP_PREFIX
from hookline.model.event import CUSTOM_PREFIX, OTHER, TOOLS, EventName


class _DialectNames(msgspec.Struct, frozen=True):
    closed_dialects: tuple[str, ...]
    agent_aliases: Mapping[str, str]
    event_names: Mapping[str, Mapping[str, tuple[str, ...]]]
    event_tools: Mapping[str, tuple[str, ...]]
    tool_names: Mapping[str, Mapping[str, tuple[str, ...]]]
    argument_names: Mapping[str, Mapping[str, Mapping[str, str]]]
    mcp_forms: Mapping[str, str]


_NAMES: Final = msgspec.json.decode(Path(__file__).with_name("dialect_names.json").read_bytes(), type=_DialectNames)

# the dialects whose hooks fail closed unless they say otherwise
CLOSED_DIALECTS: Final = _NAMES.closed_dialects
# other words for an agent -> its name
AGENT_ALIASES: Final = _NAMES.agent_aliases
# dialect -> its name of an event -> the canonical events it stands for
EVENT_NAMES: Final = _NAMES.event_names
# an agent's name of an event -> the tools that the event is about
EVENT_TOOLS: Final = _NAMES.event_tools
# dialect -> canonical tool -> the dialect's names of it, the one it sends first
TOOL_NAMES: Final = _NAMES.tool_names
# agent -> canonical tool -> our name of an argument -> the agent's, where they differ
ARGUMENT_NAMES: Final = _NAMES.argument_names
# agent -> how it spells the tool of an MCP server
MCP_FORMS: Final = _NAMES.mcp_forms

BUILTIN_PREFIX: Final = "builtin:"

# names of systems that no dialect is written for, and names by which models call tools that agents rename for hooks
_ELSEWHERE: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "codex-cli (model)": {
        "shell": ("exec_command", "shell_command", "local_shell"),
        "shell_input": ("write_stdin",),
    },
    "vs-code": {
        "shell": ("run_in_terminal",),
        "write_file": ("create_file",),
        "edit_file": ("replace_string_in_file", "insert_edit_into_file"),
        "multi_edit": ("multi_replace_string_in_file",),
        "notebook_edit": ("edit_notebook_file",),
    },
    "augment": {
        "shell": ("launch-process",),
        "shell_input": ("write-process",),
        "read_file": ("view",),
        "write_file": ("save-file",),
        "edit_file": ("str-replace-editor",),
        "delete_file": ("remove-files",),
    },
    "openhands": {"shell": ("terminal",), "write_file": ("file_editor",), "edit_file": ("file_editor",)},
    "crush": {
        "shell": ("bash",),
        "read_file": ("view",),
        "write_file": ("write",),
        "edit_file": ("edit",),
        "multi_edit": ("multiedit",),
    },
    "goose": {"shell": ("shell", "developer__shell"), "write_file": ("write",), "edit_file": ("edit",)},
    "devin-cli": {"shell": ("exec",), "read_file": ("read",), "write_file": ("write",), "edit_file": ("edit",)},
    "grok-build": {"shell": ("run_terminal_command",), "edit_file": ("search_replace",)},
}
_SYSTEMS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {**TOOL_NAMES, **_ELSEWHERE}

# one call of these does what several calls of the first would do, so a rule about the first is asked about it
_CONTAINED_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "write_file": ("apply_patch",),
    "edit_file": ("multi_edit", "insert_text", "edit_lines", "apply_patch"),
    "multi_edit": ("apply_patch",),
    "insert_text": ("apply_patch",),
    "edit_lines": ("apply_patch",),
    "delete_file": ("apply_patch",),
    "read_file": ("read_files",),
}
# with these an agent does the same that has no such tool
_REPLACED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "apply_patch": ("write_file", "edit_file", "multi_edit", "insert_text", "edit_lines", "delete_file"),
    "write_file": ("edit_file", "multi_edit", "insert_text", "edit_lines"),
    "edit_file": ("write_file",),
    "multi_edit": ("edit_file", "insert_text", "edit_lines"),
    "insert_text": ("edit_file", "multi_edit"),
    "edit_lines": ("edit_file", "multi_edit"),
    "read_files": ("read_file",),
}


@cache
def _words(system: str) -> Mapping[str, frozenset[str]]:
    """Return the words of one system, in small letters, each with the tools that it means there."""
    found: dict[str, set[str]] = {}
    for tool, names in _SYSTEMS.get(system, {}).items():
        for name in names:
            found.setdefault(name.casefold(), set()).add(tool)
    return {word: frozenset(tools) for word, tools in found.items()}


@cache
def known_tools() -> Mapping[str, str]:
    """Return every name of a tool by the same in small letters; canonical names come first."""
    found = {tool: tool for tool in TOOLS}
    # the spelling of a real agent is shown before that of other systems
    for system in dict.fromkeys([*AGENTS, *_SYSTEMS]):
        for names in _SYSTEMS[system].values():
            for name in names:
                found.setdefault(name.casefold(), name)
    return found


@lru_cache(4096)
def resolve_tools(name: str, agent: str = "") -> frozenset[str]:
    """Return the canonical tools that a name means under an agent; none where no system has the name."""
    word = name.casefold().removeprefix(BUILTIN_PREFIX)
    here = _words(agent).get(word, frozenset()) | ({word} & TOOLS)
    if here:
        return here
    votes = Counter(tool for system in _SYSTEMS for tool in _words(system).get(word, ()))
    most = max(votes.values(), default=0)
    return frozenset(tool for tool, count in votes.items() if count == most)


def is_known_tool(name: str) -> bool:
    """Return whether any system has a tool of this name."""
    return bool(resolve_tools(name))


@cache
def names_of_tool(tool: str, agent: str = "") -> tuple[str, ...]:
    """Return every name under which a rule is asked about a canonical tool of an agent, the canonical ones first."""
    own = _SYSTEMS.get(agent, {})

    def covers(named: str) -> bool:
        """Return whether a rule about this tool is asked about calls of the other."""
        is_replaced = bool(own) and named not in own and tool in _REPLACED_BY.get(named, ())
        return tool == named or tool in _CONTAINED_IN.get(named, ()) or is_replaced

    return tuple(name for name in known_tools().values() if any(map(covers, resolve_tools(name, agent))))


@cache
def own_names_of_tool(tool: str, agent: str = "") -> tuple[str, ...]:
    """Return those of `names_of_tool` that are canonical, or the agent's own."""
    own = _words(agent)
    return tuple(name for name in names_of_tool(tool, agent) if name in TOOLS or name.casefold() in own)


def primary_name(tool: str, agent: str) -> str:
    """Return what an agent calls a canonical tool; empty where it has no such tool."""
    return next(iter(TOOL_NAMES.get(agent, {}).get(tool, ())), "")


def mcp_names(tool: str) -> tuple[str, ...]:
    """Return how agents spell the tool of an MCP server; a spelling that is the name of another tool is left out."""
    server, _, name = tool.removeprefix(MCP_PREFIX).partition("__")
    spelled = dict.fromkeys(form.format(server=server, tool=name) for form in MCP_FORMS.values())
    return tuple(one for one in spelled if one.casefold() not in known_tools())


def is_mcp_name(name: str) -> bool:
    """Return whether a name is the spelling of an MCP server's tools in some agent."""
    return name.casefold().startswith(("mcp_", "mcp:", "@")) or "__" in name


_REGEX_ONLY: Final = re.compile(r"[.^$()\[\]+?\\{}]")
_WORD: Final = re.compile(r"[\w:/@ -]+", re.ASCII)


def alternatives(matcher: str) -> list[str]:
    """Split a matcher of whole names into its alternatives; one that cannot be split is given whole."""
    bare = matcher.strip().removeprefix("^").removesuffix("$")
    if bare.startswith("(") and bare.endswith(")"):
        inner = bare[1:-1].removeprefix("?:")
        if "(" not in inner and ")" not in inner:
            bare = inner
    if re.search(r"[()\[\]{}\\]", bare):
        return [matcher]
    parts = bare.split("|") if _REGEX_ONLY.search(matcher) else re.split(r"[|,]", bare)
    return [part for part in (part.strip().removeprefix("^").removesuffix("$") for part in parts) if part]


def is_word(alternative: str) -> bool:
    """Return whether a matcher's alternative is one plain name."""
    return _WORD.fullmatch(alternative) is not None


def find_unknown_tools(matcher: str) -> list[str]:
    """Return the plain names in a matcher that no system has for a tool, but for those that say so: `other:deploy`."""
    return [
        part
        for part in alternatives(matcher)
        if is_word(part) and not (is_known_tool(part) or is_mcp_name(part) or part.startswith(OTHER))
    ]


# events


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "").replace(" ", "")


@cache
def _events_by_name() -> Mapping[str, tuple[str, ...]]:
    """Return what names mean, as they are spelled and without regard to case and hyphens."""
    found: dict[str, dict[str, None]] = {}
    for names in EVENT_NAMES.values():
        for name, events in names.items():
            for spelled in {name, _plain(name)}:
                found.setdefault(spelled, {}).update(dict.fromkeys(events))
    return {name: tuple(events) for name, events in found.items()}


_CANONICAL_EVENTS: Final[Mapping[str, str]] = {_plain(name): str(name) for name in EventName}
_TOOLS_BY_EVENT: Final[Mapping[str, tuple[str, ...]]] = {_plain(name): tools for name, tools in EVENT_TOOLS.items()}


@lru_cache(4096)
def resolve_events(name: str) -> tuple[str, ...]:
    """Return every canonical event that a name means in any system; none where no system has the name."""
    if name in set(EventName) or (name.startswith(CUSTOM_PREFIX) and len(name) > len(CUSTOM_PREFIX)):
        return (name,)
    spelled = _events_by_name()
    if name in spelled:
        return spelled[name]
    plain = _plain(name)
    return (_CANONICAL_EVENTS[plain],) if plain in _CANONICAL_EVENTS else spelled.get(plain, ())


def tools_of_events(names: Sequence[str]) -> tuple[str, ...]:
    """Return the tools that all of these events are about by their names; none where the names say nothing of tools.

    Raises:
        ConfigError: The names stand for several events, and are about different tools: one hook would get calls that none
            of the names means.
    """
    tools = {name: tools_of_event(name) for name in names}
    found = dict.fromkeys(tool for about in tools.values() for tool in about)
    if not found:
        return ()
    events = {event for name in names for event in resolve_events(name)}
    if len(set(tools.values())) == 1 or (len(events) == 1 and all(tools.values())):
        return tuple(found)
    listed = " and ".join(f'"{name}"' for name in names)
    raise ConfigError(f"{listed} are about different tools; write one hook for each")


def narrow_matcher(events: Sequence[str], matcher: str) -> str:
    """Return the matcher of a hook at these events: its own, or the tools that the names of the events say.

    Raises:
        ConfigError: The two are about different tools.
    """
    tools = tools_of_events(events)
    if not tools or not matcher:
        return matcher or "|".join(tools)
    if all(resolve_tools(part) and resolve_tools(part) <= set(tools) for part in alternatives(matcher)):
        return matcher
    listed = " and ".join(f'"{name}"' for name in events)
    raise ConfigError(
        f"{listed} is about {', '.join(tools)}, and {matcher!r} about other tools; name before_tool instead"
    )


def tools_of_event(name: str) -> tuple[str, ...]:
    """Return the tools that an agent's event is about by its name alone: `beforeShellExecution` is about the shell."""
    return () if name in set(EventName) else _TOOLS_BY_EVENT.get(_plain(name), ())


@cache
def known_events() -> tuple[str, ...]:
    """Return every name of an event, the canonical ones first."""
    native = (name for names in EVENT_NAMES.values() for name in names)
    return tuple(dict.fromkeys([*map(str, EventName), *native]))


def resolve_agent(name: str) -> str:
    """Return the agent of a name or of another word for it; empty where there is none."""
    word = name.casefold().replace("_", "-").replace(" ", "-")
    return word if word in AGENTS else AGENT_ALIASES.get(word, "")


_AGENT_IN_CONDITION: Final = re.compile(r"""(?<![\w.])agent\s*(?:[=!]=\s*(?:"[^"]*"|'[^']*')|in\s*\[[^\]]*\])""")
_TEXT_IN_CONDITION: Final = re.compile(r"""(["'])([^"']*)\1""")


def spell_agents(condition: str) -> str:
    """Return a condition with the agents that it compares `agent` with under their own names: "claude" is "claude-code"."""
    if "agent" not in condition:
        return condition

    def spell_agent(found: re.Match[str]) -> str:
        return _TEXT_IN_CONDITION.sub(lambda text: f"{text[1]}{resolve_agent(text[2]) or text[2]}{text[1]}", found[0])

    return _AGENT_IN_CONDITION.sub(spell_agent, condition)
