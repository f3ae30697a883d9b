"""The list of coding agents, and the fixed facts of a dialect, as data.

Each agent has a module named after it, `dialects/<name>.py`, a row in `hosts/agents.py` and, unless its hooks are plugins, a
row in `config/formats/agent_specs.py`.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from hookline.model.event import Ability, Event, EventName
from hookline.model.hook import OnError

# Settings files are searched in this order, and commands list the agents in it.
AGENTS: Final = (
    *("claude-code", "codex-cli", "gemini-cli", "qwen-code", "cursor", "copilot-cli"),
    *("kiro", "windsurf", "cline", "factory-droid", "opencode", "antigravity"),
)
# Agents that also run the settings files of another, as `runs_files_of` of their specs says; their specs have a `signature`.
FILE_READERS: Final[Mapping[str, tuple[str, ...]]] = {"claude-code": ("cursor", "copilot-cli")}

# what stands before the tools of MCP servers: `mcp__SERVER__TOOL`
MCP_PREFIX: Final = "mcp__"


def module_name(agent: str) -> str:
    """Return the name that the modules of an agent have."""
    return agent.replace("-", "_")


class MatcherStyle(StrEnum):
    """How a matcher's text is read."""

    REGEX = "regex"  # the whole name
    PATTERN = "pattern"  # names with stars, or a regular expression of the whole name
    SEARCH = "search"  # a regular expression found anywhere in the name, also when it is a plain word
    NAMES = "names"  # plain words are whole names, in a list with | or commas; all else is searched for


class DialectSpec(Struct, frozen=True, kw_only=True):
    """The fixed facts of one dialect.

    `events` maps canonical names to the dialect's own; what is missing keeps its canonical name on the wire.
    `tools` maps a canonical tool to every name the dialect has for it, the one it sends first. `shell` says
    that a command is a shell line unless the hook says otherwise, `templates` that `{{…}}` is filled in.

    What follows is about real agents. `abilities` says for each of the agent's own event names what an answer can do
    there; a dialect without any carries everything the moment allows. `aliases` are other words for the agent.
    `runs_files_of` names the agents whose settings this one reads and runs by itself, besides its own. `mcp` is how it
    spells the tools of MCP servers, which are `mcp__SERVER__TOOL` to us; `of_mcp` adds to `abilities` at calls of these.
    `more_events` are the agent's further names of events, where it has several for one of ours, and `event_tools` the
    tools that an event of its own is about, where its name alone says so. `own` are the tools it really has, where
    `tools` also names others that its matchers are to catch. `by_mode` says of its own events where it depends on how the
    agent was started what an answer can do. `signature` tells whether the agent wrote a document, for an agent that has
    `runs_files_of`.
    """

    name: str
    title: str
    events: Mapping[EventName, str]
    tools: Mapping[str, tuple[str, ...]] = {}
    timeout: float = 30.0
    on_error: OnError = OnError.CONTINUE
    shell: bool = False
    templates: bool = False
    matcher: MatcherStyle = MatcherStyle.REGEX
    abilities: Mapping[str, frozenset[Ability]] = {}
    aliases: tuple[str, ...] = ()
    runs_files_of: tuple[str, ...] = ()
    mcp: str = "mcp__{server}__{tool}"
    of_mcp: Mapping[str, frozenset[Ability]] = {}
    more_events: Mapping[str, EventName] = {}
    event_tools: Mapping[str, tuple[str, ...]] = {}
    own: frozenset[str] = frozenset()
    by_mode: Mapping[str, str] = {}
    signature: Callable[[Mapping[str, object]], bool] | None = None

    @property
    def own_tools(self) -> frozenset[str]:
        """The tools that the agent has; none means all canonical tools."""
        return self.own or frozenset(self.tools)

    @property
    def is_agent(self) -> bool:
        """Whether this is the dialect of an agent that Hookline can be installed into."""
        return bool(self.abilities)

    def native(self, event: Event) -> str:
        """Return the dialect's own name of an event; what another agent calls it does not matter here."""
        is_ours = event.host in {"", self.name} or event.name is EventName.CUSTOM
        return (event.native_name if is_ours else "") or self.events.get(event.name, event.name)

    def able(self, event: Event) -> frozenset[Ability] | None:
        """Return what an answer can do at an event; None where it can do everything the moment allows."""
        if not self.is_agent:
            return None
        native = self.native(event)
        able = self.abilities.get(native, frozenset())
        return able | self.of_mcp.get(native, frozenset()) if event.tool.startswith(MCP_PREFIX) else able

    def runs_itself(self, agents: tuple[str, ...]) -> bool:
        """Return whether this agent reads one of these agents' settings, and so runs what stands there without us."""
        return any(agent == self.name or agent in self.runs_files_of for agent in agents)
