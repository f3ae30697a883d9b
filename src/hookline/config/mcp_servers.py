"""Find MCP servers: `[mcp.NAME]` of hookline.toml, and the files in which agents keep theirs."""

import os
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.config.document import Document, KeyPath, Problem
from hookline.config.edit import SYNTAXES, syntax_of
from hookline.config.loader import SearchPaths, read_text
from hookline.config.reader import MCP_TABLE, ServerReader
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.model.mcp_server import McpServer
from hookline.model.workspace_paths import USER_SOURCES
from hookline.text import quote, suggest

# Claude Code keeps its history beside its servers
_LARGEST: Final = 64 * 1_048_576


class AgentFile(Struct, frozen=True):
    """A file in which an agent keeps MCP servers, below the project or the home folder.

    `pointers` lead to the tables of servers; "*" stands for the project's folder. With `bare_variables`, `$NAME` is a
    variable, too. A file without an agent is shared by several.
    """

    path: str
    pointers: tuple[KeyPath, ...] = (("mcpServers",),)
    agent: str = ""
    bare_variables: bool = False


_ANYWHERE: Final = (
    AgentFile(".codex/config.toml", (("mcp_servers",),), "codex-cli"),
    AgentFile(".gemini/settings.json", agent="gemini-cli", bare_variables=True),
    AgentFile(".qwen/settings.json", agent="qwen-code", bare_variables=True),
    AgentFile(".cursor/mcp.json", agent="cursor"),
)
HOME_FILES: Final = (
    AgentFile(".claude.json", (("projects", "*", "mcpServers"), ("mcpServers",)), "claude-code"),
    *_ANYWHERE,
)
PROJECT_FILES: Final = (AgentFile(".mcp.json"), *_ANYWHERE, AgentFile(".vscode/mcp.json", (("servers",),)))


class FoundServers(Struct, frozen=True):
    """Every server that is defined, the user's own first; all problems; and the files that were looked for.

    `files` are paths, each with whether the file is the user's own.
    """

    servers: tuple[McpServer, ...] = ()
    problems: tuple[Problem, ...] = ()
    files: tuple[tuple[str, bool], ...] = ()

    def by_name(self) -> dict[str, McpServer]:
        """Return the servers by name; of several, the user's own counts."""
        found: dict[str, McpServer] = {}
        for server in self.servers:
            found.setdefault(server.name, server)
        return found

    def find(self, name: str, *, is_own: bool) -> McpServer | None:
        """Return the server of this name that a hook means: each side means its own first."""
        found = [server for server in self.servers if server.name == name]
        return next((one for one in found if one.is_own is is_own), found[0] if found else None)

    def list_deciding(self, server: McpServer | None, *, is_own: bool) -> list[str]:
        """Return the files that decide which server a hook means: those that are read before its own, and that one."""
        ordered = [path for path, whose in sorted(self.files, key=lambda file: file[1] is not is_own)]
        return ordered[: ordered.index(server.path) + 1] if server is not None else ordered


def find_servers(search: SearchPaths) -> FoundServers:
    """Read every definition of an MCP server; a file that cannot be read is a problem, and all others still count."""
    servers: list[McpServer] = []
    problems: list[Problem] = []
    looked: dict[str, bool] = {}
    for file, base, is_own in _list_files(search):
        path = os.path.join(base, file.path)  # noqa: PTH118 - as the loader has them
        if path in looked:
            # a user who works in the home folder
            continue
        looked[path] = is_own
        if not os.path.exists(path):  # noqa: PTH110
            continue
        try:
            content = read_text(path, largest=_LARGEST if is_own else None)
            document = _parse(content, path)
        except ConfigError as problem:
            problems.append(Problem(path, problem.line, problem.message))
            continue
        for pointer in file.pointers:
            at = tuple(str(search.project) if step == "*" else step for step in pointer)
            reader = ServerReader(document, path, is_ours=file.path.endswith("hookline.toml"))
            for server in reader.read(at, bare_variables=file.bare_variables):
                root = "" if is_own else base
                line = server.line or content[: max(content.find(f'"{server.name}"'), 0)].count("\n") + 1
                servers.append(
                    _anchor(replace(server, is_own=is_own, agent=file.agent, path=path, root=root, line=line))
                )
            problems += reader.problems
    return FoundServers(tuple(servers), tuple(problems), tuple(looked.items()))


class AttachedServers(Struct, frozen=True):
    """Hooks with the servers that they name, a problem for each server that is not there, and the files that decided."""

    hooks: tuple[Hook, ...]
    problems: tuple[Problem, ...]
    files: frozenset[str]


def attach_servers(hooks: Iterable[Hook], found: FoundServers) -> AttachedServers:
    """Give the hooks that name an MCP server its definition."""
    attached: list[Hook] = []
    problems: list[Problem] = []
    files: set[str] = set()
    for hook in hooks:
        name = hook.mcp.partition("/")[0]
        if not name:
            attached.append(hook)
            continue
        is_own = hook.source in USER_SOURCES
        server = found.find(name, is_own=is_own)
        files.update(found.list_deciding(server, is_own=is_own))
        if server is None:
            why = f"hook {quote(hook.id)} will fail: {describe_missing(name, found.by_name())}"
            problems.append(Problem(hook.source_path, hook.source_line, why, settled=True))
        attached.append(replace(hook, server=server))
    return AttachedServers(tuple(attached), tuple(problems), frozenset(files))


def describe_missing(name: str, known: Collection[str]) -> str:
    """Return what to do about a server that is not defined."""
    near = suggest(name, known)
    return f"there is no MCP server {quote(name)}{near}; `hookline mcp list` shows them, `hookline mcp add` adds one"


def list_server_files(search: SearchPaths) -> list[str]:
    """Return every file in which a server may be defined."""
    return [os.path.join(base, file.path) for file, base, _ in _list_files(search)]  # noqa: PTH118


def _list_files(search: SearchPaths) -> Iterator[tuple[AgentFile, str, bool]]:
    """Yield each file, the folder that its path is counted from, and whether it is the user's own; the strongest first."""
    agents = {place.agent for place in search.locations}
    own = AgentFile("hookline.toml", ((MCP_TABLE,),))
    for folder in (search.managed, search.config):
        if folder is not None:
            yield own, str(folder.resolve()), True
    for file in HOME_FILES:
        if file.agent in agents:
            yield file, str(search.home.resolve()), True
    for folder in (search.project, *search.above):
        base = str(folder.resolve())
        yield AgentFile("hookline.local.toml", ((MCP_TABLE,),)), base, False
        yield own, base, False
        for file in PROJECT_FILES:
            if not file.agent or file.agent in agents:
                yield file, base, False
    for pack in sorted(search.config.glob("packs/*/hookline.toml")):
        yield own, str(pack.parent.resolve()), False


def _parse(content: str, path: str) -> Document:
    if syntax_of(path) == "json":
        try:
            # a history of megabytes is read by a parser that knows no lines
            return Document(json_codec.load(content))
        except ValueError:
            pass
    return SYNTAXES[syntax_of(path)].parse(content, path=path)


def _anchor(server: McpServer) -> McpServer:
    """Return a server of a project with its folder, and its program, counted from the project."""
    if not server.root or not server.command:
        return server
    folder = os.path.normpath(os.path.join(server.root, server.cwd))  # noqa: PTH118
    is_relative = "/" in server.command and not server.command.startswith(("/", "~", "$"))
    command = os.path.normpath(f"{folder}/{server.command}") if is_relative else server.command
    return replace(server, cwd=folder, command=command)
