"""Open a session of the agent: set up, load what the project says, and raise the events of its start and its end."""

import asyncio
import getpass
import os
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import pydantic_ai
from msgspec import Struct
from pydantic_ai.messages import ModelMessage
from pydantic_ai.usage import RunUsage

from hookline import Blocked, ConfigError, EngineError, Outcome
from hookline.agent import history
from hookline.agent.conversation import AgentLimits, Conversation, Parts, View, show_outcome
from hookline.agent.models import make_model
from hookline.agent.project_files import DEFAULT_AGENT, IgnoredFiles, Persona, find_definitions, read_context
from hookline.agent.tools import AgentTool, ProjectTools, ToolError
from hookline.process.environment import ENV_FILE_VARIABLE as VARIABLE
from hookline.process.environment import is_loader_variable, is_search_path
from hookline.project import Project

if TYPE_CHECKING:
    from hookline.mcp.sessions import Sessions
    from hookline.model.mcp_server import McpServer


_INSTRUCTIONS: Final = (
    "You are an agent that works in the folder {root}. Use your tools to do what the user asks, and answer briefly. "
    "A tool call may be blocked by a hook: read why, and do not try to get around it."
)
_LAST: Final = "last.json"

# the terminal shows our session, and no news of the library
pydantic_ai.BANNER_ENABLED = False
# seconds for the tools of one MCP server
_LISTING: Final = 30.0
_ODD: Final = re.compile(r"[^\w-]")
_LINE: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_OURS: Final = ("HOOKLINE_", VARIABLE)


class AgentOptions(Struct, frozen=True, kw_only=True):
    """What the user chose: the model, the limits, and what else is loaded.

    `trigger` is why Setup hooks run, `mcp` names servers of the project that may be started, and `resume` an earlier session.
    """

    model: str
    url: str = ""
    persona: Persona
    limits: AgentLimits = AgentLimits()
    trigger: str = "init"
    mcp: tuple[str, ...] = ()
    resume: str = ""


async def run_setup(project: Project, persona: Persona, view: View, *, trigger: str) -> None:
    """Run the Setup hooks, and nothing else.

    Raises:
        Blocked: A hook says that the project cannot be used.
    """
    scope = project.engine.session(uuid4().hex[:16], cwd=str(project.root), host=persona.host)
    with EnvFile(project.root, scope.session.id).open() as variables:
        outcome = await scope.emit("setup", {"trigger": trigger})
        _finish_event(variables, outcome, project, view)
    if outcome.blocked:
        raise Blocked("setup", outcome)


@asynccontextmanager
async def open_session(project: Project, options: AgentOptions, view: View) -> AsyncIterator[Conversation]:
    """Open a session with the hooks of a project.

    Raises:
        Blocked: A hook does not let the session start.
        ConfigError: The model, or a file of the project, cannot be used.
    """
    root, folders, persona = project.root, project.folders, options.persona
    model = make_model(options.model, options.url)
    ignored = IgnoredFiles(root)
    ignored.guard(project.engine)
    provider, _, name = options.model.partition(":")
    session_id = options.resume or uuid4().hex[:16]
    transcripts = folders.data / "agent"
    earlier = _load_earlier(transcripts, session_id) if options.resume else []
    scope = project.engine.session(
        session_id,
        user=getpass.getuser(),
        model=name,
        provider=provider,
        config={"model": name, "temperature": options.limits.temperature, "context_window": options.limits.window},
        cwd=str(root),
        host=persona.host,
    )
    parts = Parts(
        view=view,
        limits=options.limits,
        transcripts=transcripts,
        agents={
            DEFAULT_AGENT.name: DEFAULT_AGENT,
            **find_definitions(root, folders.home, persona, what="agents"),
        },
        skills=find_definitions(root, folders.home, persona, what="skills"),
        find_model=lambda other: make_model(other if ":" in other else f"{provider}:{other}", options.url),
        engine=project.engine,
        host=persona.host,
        calls=[],
        usage=RunUsage(),
        allowed=set(),
        question_lock=asyncio.Lock(),
    )
    mcp = _McpServers(project, options.mcp)
    with EnvFile(root, session_id).open() as variables:
        try:
            setup = await scope.emit("setup", {"trigger": options.trigger})
            _finish_event(variables, setup, project, view)
            if setup.blocked:
                raise Blocked("setup", setup)
            scope.source = "resume" if options.resume else "startup"
            async with scope:
                start = scope.start or Outcome()
                _finish_event(variables, start, project, view)
                texts = (_INSTRUCTIONS.format(root=root), read_context(root, persona), *setup.context, *start.context)
                tools = (*ProjectTools(root, ignored).list_tools(), *await mcp.list_tools(view))
                conversation = Conversation(scope, model, tools, parts, instructions="\n\n".join(filter(None, texts)))
                conversation.history = earlier
                try:
                    yield conversation
                finally:
                    scope.summary = {"total_tokens": parts.usage.total_tokens, "tool_calls": len(parts.calls)}
                    if conversation.history:
                        history.save_messages(transcripts / session_id / _LAST, conversation.history)
        finally:
            await mcp.close()


class _McpServers:
    """The sessions with MCP servers, if there are any."""

    def __init__(self, project: Project, named: tuple[str, ...]) -> None:
        self._servers = project.servers.by_name()
        self._data = project.folders.data
        self._named = named
        self._sessions: Sessions | None = None
        if missing := [name for name in named if name not in self._servers]:
            raise ConfigError(f"there is no MCP server {', '.join(missing)}; `hookline mcp list` shows them")

    async def list_tools(self, view: View) -> list[AgentTool]:
        """Return the tools of all servers that can be used, and show why others cannot."""
        if not self._servers:
            return []
        try:
            import mcp  # noqa: F401, PLC0415 - an extra
        except ImportError:
            view.show("note", "MCP servers need another package: pip install 'hookline[mcp]'")
            return []
        from hookline.mcp.logins import TokenStore  # noqa: PLC0415 - an extra, as above
        from hookline.mcp.sessions import Sessions  # noqa: PLC0415

        sessions = self._sessions = Sessions(TokenStore(self._data))
        tools: list[AgentTool] = []
        for server in self._servers.values():
            if not server.is_own and server.name not in self._named:
                # a program of others is only started when the user named it
                view.show("note", f"the MCP server {server.name} comes with the project; --mcp {server.name} uses it")
                continue
            try:
                listed = await sessions.list_tools(server, timeout=_LISTING)
            except EngineError as problem:
                view.show("note", str(problem))
                continue
            tools += [
                AgentTool(
                    name=_ODD.sub("_", f"mcp__{server.name}__{tool.name}")[:64],
                    canonical=f"mcp__{server.name}__{tool.name}",
                    description=tool.description,
                    parameters=tool.schema,
                    run=_make_call(sessions, server, tool.name),
                )
                for tool in listed
            ]
        return tools

    async def close(self) -> None:
        """Close the sessions."""
        if self._sessions is not None:
            await self._sessions.close()


def _make_call(sessions: "Sessions", server: "McpServer", tool: str) -> Callable[..., Awaitable[object]]:
    async def call(**arguments: object) -> str:
        result = await sessions.call(server, tool, arguments)
        if result.is_error:
            raise ToolError(result.text or "the tool failed")
        return result.text

    return call


class EnvFile:
    """The file named by OLLAMA_ENV_FILE: hooks write variables there for everything that runs later.

    It has lines such as `NAME=value` and `export NAME='a value'`, which are put into the environment of this process.

    It lies in the project, where hooks in a sandbox may write. A hook cannot set what would change Hookline itself, nor a
    variable by which programs load other code; a contained hook cannot set either where programs are searched.
    """

    def __init__(self, root: Path, session: str) -> None:
        self._path = root / f".ollama-env-{session}"
        self._applied = ""

    @contextmanager
    def open(self) -> Iterator["EnvFile"]:
        """Create the file, empty and readable by the user alone, and name it in the environment, until the block ends."""
        os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.environ[VARIABLE] = str(self._path)
        try:
            yield self
        finally:
            self._path.unlink(missing_ok=True)
            os.environ.pop(VARIABLE, None)

    def apply(self, *, is_contained: bool = False) -> list[str]:
        """Set what hooks, also contained ones, wrote since the last call; return a line for each that is refused."""
        text = self._path.read_text("utf-8", "replace") if self._path.is_file() else self._applied
        fresh = text.removeprefix(self._applied) if text.startswith(self._applied) else text
        self._applied = text
        refused: list[str] = []
        for line in fresh.splitlines():
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if reason := _apply_line(line.strip(), is_contained=is_contained):
                refused.append(f"{VARIABLE}: {reason}")
        return refused


def _apply_line(line: str, *, is_contained: bool) -> str:
    """Set a variable; return why it was not set."""
    found = _LINE.fullmatch(line)
    if found is None:
        return f'"{line[:80]}" is not NAME=value'
    name, written = found.groups()
    if name.startswith(_OURS) or is_loader_variable(name):
        return f"{name} cannot be set by a hook"
    if is_contained and is_search_path(name):
        return f"{name} cannot be set by a hook in a sandbox; a hook of your own can"
    try:
        words = shlex.split(written)
    except ValueError as problem:
        return f"{name}: {problem}"
    value = words[0] if len(words) == 1 else written.strip() if words else ""
    if "\0" in value:
        return f"{name}: its value has a NUL in it"
    os.environ[name] = value
    return ""


def _finish_event(variables: EnvFile, outcome: Outcome, project: Project, view: View) -> None:
    """Show what hooks have to say to the user, and set the variables that they wrote."""
    show_outcome(view, outcome)
    ran = (project.engine.registry.get_hook(verdict.hook) for verdict in outcome.verdicts)
    is_contained = any(hook is not None and hook.containment.is_contained for hook in ran)
    for refused in variables.apply(is_contained=is_contained):
        view.show("error", refused)


def _load_earlier(transcripts: Path, session: str) -> list[ModelMessage]:
    known = sorted(transcripts.glob(f"*/{_LAST}"), key=lambda path: path.stat().st_mtime, reverse=True)
    names = [path.parent.name for path in known]
    # by name: an id is no path
    if session not in names:
        there = f"the last ones are {', '.join(names[:3])}" if names else "there is none yet"
        raise ConfigError(f'there is no session "{session}" to resume; {there}')
    try:
        return history.load_messages(transcripts / session / _LAST)
    except (OSError, ValueError) as problem:
        raise ConfigError(f'the session "{session}" cannot be resumed: {problem}') from None
