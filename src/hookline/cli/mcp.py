"""`hookline mcp`: MCP servers, the logins at them, and Hookline as a server itself.

As a server, Hookline tells an agent why it was blocked. All its tools only read. What an event would lead to is found out as a
replay does it: hooks run contained, without effects on anything outside, without limits and without traces, and those that
exist for their effect are not run. So no tool loosens a guard.
"""

import argparse
import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec.structs import asdict, replace

from hookline import json_codec
from hookline.cli._command import COMMON, CliCommand, argument, flag, parse_event, repeatable
from hookline.cli._edit_session import EDIT_OPTIONS, ConfigFile, open_session, split_assignment
from hookline.cli._output import Table, format_clock, pluralise, print_error, print_json, print_line, render
from hookline.cli._project import (
    EventArgs,
    build_event,
    decide_trust,
    find_root,
    load_from_args,
    read_object,
    shorten_paths,
    truncate,
)
from hookline.cli.add import HEADER, PLACES
from hookline.config import edit, toml
from hookline.config.mcp_servers import describe_missing
from hookline.config.reader import MCP_TABLE, ServerReader
from hookline.engine.engine import Engine
from hookline.errors import ConfigError, EngineError, McpError
from hookline.kinds.mcp import Mcp
from hookline.mcp.logins import TIMEOUT, Login, LoginOptions, Storage, TokenStore, choose_storage, log_in, log_out
from hookline.model.event import Event, EventName
from hookline.model.exchange import Request
from hookline.model.hook import Hook, Layer, make_server_hook
from hookline.model.mcp_server import McpServer
from hookline.model.verdict import outcome_to_json
from hookline.project import Project, load_project
from hookline.replay.replay import TriedEvent, try_event
from hookline.text import quote, shell_quote
from hookline.version import __version__
from hookline.views import find_hook

T = TypeVar("T")

_SECRET_VARIABLE: Final = "MCP_CLIENT_SECRET"  # noqa: S105 - a name
_WIDEST: Final = 60


def _list(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    found = project.servers
    meant = found.by_name()
    rows, values = [], []
    for server in found.servers:
        users = [hook.id for hook in project.hooks if hook.server == server]
        first, decision = meant[server.name], decide_trust(make_server_hook(server), project)
        trust = "unknown" if decision is None else str(decision.status)
        hidden = "" if first is server else f"hidden by {shorten_paths(first.location, project)}"
        values.append({**_to_json(server), "hooks": users, "trust": trust, "hidden": bool(hidden)})
        where, state = shorten_paths(server.location, project), hidden or server.problem or trust
        rows.append([server.name, truncate(server.describe(), _WIDEST), where, ", ".join(users), state])
    nothing = "no MCP server is defined; `hookline mcp add NAME -- COMMAND` adds one"
    return render(args, {"servers": values}, Table(["server", "what", "file", "hooks", "state"], rows, nothing=nothing))


def _to_json(server: McpServer) -> dict[str, object]:
    fields = {name: getattr(server, name) for name in ("name", "command", "args", "url", "agent", "line")}
    # values of variables and headers are often secrets
    return {
        **fields,
        "env": sorted(server.env),
        "headers": sorted(server.headers),
        "file": server.path,
        "own": server.is_own,
    }


def _find(project: Project, name: str) -> McpServer:
    servers = project.servers.by_name()
    if name not in servers:
        raise ConfigError(describe_missing(name, servers))
    return servers[name]


def _add(args: argparse.Namespace) -> int:
    with open_session(args) as session:
        folder = session.project.folders.config if args.to == "user" else session.project.root
        file = session.find_file_at(folder / PLACES[args.to])
        raw, before = file.read()
        if _has_server(file, before, args.name):
            raise ConfigError(
                f"there is an MCP server {quote(args.name)} already; `hookline mcp remove {args.name}` removes it",
                path=file.path,
            )
        entry = _read_entry(args, session.project)
        text = _append_table(before if before.strip() else HEADER, args.name, entry, path=file.path)
        gone, gained = session.diff(file, before, text)
        file.require(is_intended=not gone and not gained and _has_server(file, text, args.name))
        notes = [f"try it: hookline mcp test {shell_quote(args.name)}"]
        if not args.target:
            copied = session.project.servers.by_name()[args.name]
            notes.insert(0, f"copied from {copied.location}, and trusted from now on: {copied.describe()}")
        if args.to != "user":
            notes.insert(0, "it is the project's, so it is approved with each hook that uses it")
        return session.finish([file.edit(raw, text)], f"added the MCP server {quote(args.name)}", notes=notes)


def _append_table(before: str, name: str, entry: Mapping[str, object], *, path: str) -> str:
    """Return a text with the table of a server at its end, as people write it."""
    header = toml.key_line((MCP_TABLE, name), 0).removesuffix(" = 0")
    lines = [f"[{header}]", *(toml.key_line((key,), entry[key]) for key in entry)]
    text = f"{before.rstrip()}\n\n" + "\n".join(line.rstrip() for line in lines) + "\n"
    wanted = edit.value_of(edit.put(before, (MCP_TABLE, name), entry, path=path), path=path)
    # a file that has the servers in one inline table cannot get another table
    with suppress(ConfigError):
        if edit.value_of(text, path=path) == wanted:
            return text
    return edit.put(before, (MCP_TABLE, name), entry, path=path)


def _read_entry(args: argparse.Namespace, project: Project) -> dict[str, object]:
    """Return the definition that the options describe, or that of another file."""
    target: list[str] = args.target
    entry: dict[str, object] = {}
    if not target:
        found = project.servers.by_name().get(args.name)
        if found is None:
            raise ConfigError("say what the server is: hookline mcp add NAME URL, or hookline mcp add NAME -- COMMAND")
        entry = {key: value for key, value in found.definition().items() if key not in {"name", "problem"}}
        entry |= {"args": list(found.args)} if found.args else {}
    elif len(target) == 1 and target[0].startswith(("http://", "https://")):
        entry["url"] = target[0]
    elif "://" in target[0]:
        raise ConfigError(f"{quote(target[0])} is no address of an MCP server: it begins with https:// or http://")
    else:
        # in the user's own file, a name that is counted from here would mean another file in each project
        words = [_make_absolute(word) for word in target[1:]] if args.to == "user" else target[1:]
        program = _make_absolute(target[0]) if "/" in target[0] else target[0]
        entry |= {"command": program, "args": words} if words else {"command": program}
    env = dict(split_assignment(word, "--env") for word in args.env)
    headers = dict(split_assignment(word, "--header") for word in args.header)
    entry |= {key: value for key, value in (("env", env), ("headers", headers), ("cwd", args.cwd)) if value}
    if ("url" in entry and ("env" in entry or "cwd" in entry)) or ("command" in entry and "headers" in entry):
        raise ConfigError("--env and --cwd are for a program, --header is for a URL")
    return entry


def _make_absolute(word: str) -> str:
    """Return a word that names a file here with its whole path; any other as it is."""
    is_file = not word.startswith(("-", "/", "~", "$")) and Path(word).is_file()
    return str(Path(word).absolute()) if is_file else word


def _has_server(file: ConfigFile, text: str, name: str) -> bool:
    document = edit.SYNTAXES["toml"].parse(text.removeprefix("\ufeff"), path=file.path) if text.strip() else None
    return document is not None and any(
        server.name == name for server in ServerReader(document, file.path, is_ours=True).read((MCP_TABLE,))
    )


def _remove(args: argparse.Namespace) -> int:
    with open_session(args) as session:
        server = _find(session.project, args.name)
        if not server.path.endswith(".toml") or server.agent:
            where = f"it is defined in {server.path}, which is not Hookline's: remove it there"
            raise ConfigError(f"the MCP server {quote(args.name)} cannot be removed: {where}")
        file = session.find_file_at(Path(server.path))
        if file.origin.layer is Layer.MANAGED:
            raise ConfigError(f"the MCP server {quote(args.name)} is managed: only the administrator removes it")
        raw, before = file.read()
        servers = edit.value_at(edit.value_of(before, path=file.path), (MCP_TABLE,))
        is_last = isinstance(servers, Mapping) and len(servers) == 1
        text = edit.drop(before, (MCP_TABLE,) if is_last else (MCP_TABLE, args.name), path=file.path)
        gone, gained = session.diff(file, before, text)
        file.require(is_intended=not gone and not gained and not _has_server(file, text, args.name))
        users = [hook.id for hook in session.project.hooks if hook.server == server]
        notes = [f"these hooks used it, and will fail now: {', '.join(users)}"] if users else []
        return session.finish([file.edit(raw, text)], f"removed the MCP server {quote(args.name)}", notes=notes)


def _store(project: Project) -> TokenStore:
    return TokenStore(project.folders.data)


def _find_remote(project: Project, name: str) -> McpServer:
    """Return a server that is reached by a URL, with the values of its variables."""
    server = _find(project, name)
    if not server.url:
        raise ConfigError(f"the MCP server {quote(name)} is a program on this machine, which needs no login")
    if server.problem:
        raise ConfigError(f"the MCP server {quote(name)} cannot be used: {server.problem}")
    return server.expand(os.environ)


def _login(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    server = _find_remote(project, args.name)
    options = LoginOptions(
        client_id=args.client_id,
        client_secret=os.environ.get(_SECRET_VARIABLE, ""),
        scope=args.scope,
        port=args.port,
        storage=Storage(args.store) if args.store else choose_storage(),
        timeout=args.timeout,
    )
    login = asyncio.run(_log_in(args, server, _store(project), options))
    if login is None:
        nothing = f"the MCP server {quote(server.name)} wants no login"
        return render(args, {"server": server.name, "login": None}, nothing)
    where = _describe_storage(login, _store(project))
    value = {
        "server": login.name,
        "url": login.url,
        "valid_until": login.expires_at or None,
        "stored": str(login.storage),
    }
    return render(args, value, f"logged in at {server.name}; {_describe_expiry(login)}", f"stored {where}")


async def _log_in(
    args: argparse.Namespace, server: McpServer, store: TokenStore, options: LoginOptions
) -> Login | None:
    async def show(link: str) -> None:
        # stdout has the result, for programs
        print_error(f"open this link to log in at {server.name}:\n{link}", broken=True)
        if not args.no_browser:
            import webbrowser  # noqa: PLC0415 - as in `hookline ui`

            # some browsers of a terminal run until they are closed
            threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
        print_error("on another machine: paste the address here that the browser ends up at")

    reader = _StdinLines()
    try:
        return await log_in(server, store, options, show=show, paste=reader.read if reader.is_open else None)
    finally:
        reader.close()


class _StdinLines:
    """Reads lines from stdin without a thread that would keep the command from ending."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._rest = b""
        self.is_open = False
        with suppress(OSError, ValueError, AttributeError, NotImplementedError):
            # a file is always ready, and cannot be waited for
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._receive)
            self.is_open = True

    async def read(self) -> str:
        """Return the next line; "" at the end."""
        return await self._lines.get()

    def close(self) -> None:
        """Read no more."""
        if self.is_open:
            self.is_open = False
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def _receive(self) -> None:
        chunk = os.read(sys.stdin.fileno(), 65_536)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                self._lines.put_nowait(line.decode("utf-8", "replace"))
        if not chunk:
            self.close()
            self._lines.put_nowait(self._rest.decode("utf-8", "replace"))


def _logout(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    server, store = _find_remote(project, args.name), _store(project)
    login = store.load(server.url)
    if login is None:
        return render(args, {"server": server.name, "login": None}, f"you are not logged in at {server.name}")
    why = asyncio.run(log_out(login, store))
    kept = f"the tokens are deleted here, but were not revoked at the server: {why}"
    value = {"server": server.name, "revoked": not why, "note": why or None}
    return render(args, value, f"logged out at {server.name}; {kept if why else 'the tokens are revoked'}")


def _status(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    names = [args.name] if args.name else list(project.servers.by_name())
    servers = [_find(project, name) for name in names]

    async def check_all(kind: Mcp) -> list[dict[str, Any]]:
        return await asyncio.gather(*(_check(project, kind, server, timeout=args.timeout) for server in servers))

    found = asyncio.run(_with_kind(project, check_all))
    rows = [[one["server"], one["state"], one["login"] or "", one["stored"] or ""] for one in found]
    table = Table(["server", "state", "login", "stored"], rows, nothing="no MCP server is defined")
    render(args, {"servers": found}, table)
    return 0 if all(one["reachable"] for one in found) else 1


async def _check(project: Project, kind: Mcp, server: McpServer, *, timeout: float) -> dict[str, Any]:
    """Return whether a server answers, until when its token is valid, and where that is stored."""
    login, store = None, _store(project)
    reachable = False
    try:
        login = store.load(server.expand(os.environ).url) if server.url else None
        tools = await kind.list_tools(*_require_trust(project, server), timeout=timeout)
        state, reachable = f"answers, {pluralise(len(tools), 'tool')}", True
        # listing may have refreshed the token
        login = store.load(login.url) if login is not None else None
    except EngineError as problem:
        state = str(problem)
    return {
        "server": server.name,
        "reachable": reachable,
        "state": state,
        "login": _describe_expiry(login) if login is not None else None,
        "valid_until": login.expires_at or None if login is not None else None,
        "stored": _describe_storage(login, store) if login is not None else None,
    }


def _describe_expiry(login: Login) -> str:
    if login.problem:
        return f"no longer valid: the server {login.problem}"
    if not login.expires_at:
        return "valid, the server does not say for how long"
    word = "valid until" if login.expires_at > time.time() else "expired at"
    return f"the token is {word} {format_clock(login.expires_at)}"


def _describe_storage(login: Login, store: TokenStore) -> str:
    return "in the keyring" if login.storage is Storage.KEYRING else f"in {store.path(login.url)}"


def _test(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    name, _, tool = args.server.partition("/")
    hook, request = _require_trust(project, _find(project, name))
    if not tool:
        tools = asyncio.run(_with_kind(project, lambda kind: kind.list_tools(hook, request, timeout=args.timeout)))
        rows = [[one.name, truncate(one.description, _WIDEST), ", ".join(_list_arguments(one.schema))] for one in tools]
        shown = [{"name": one.name, "description": one.description, "schema": one.schema} for one in tools]
        return render(args, {"server": name, "tools": shown}, Table(["tool", "what", "arguments"], rows))
    given = read_object(args.arguments, "--arguments") or {}
    called = replace(hook, mcp=args.server)
    result = asyncio.run(_with_kind(project, lambda kind: kind.call_tool(called, request, given, timeout=args.timeout)))
    value = {
        "server": name,
        "tool": tool,
        "is_error": result.is_error,
        "text": result.text,
        "structured": result.structured,
    }
    if args.json:
        print_json(value)
    else:
        print_line(result.text, broken=True)
    return 1 if result.is_error else 0


def _list_arguments(schema: Mapping[str, object]) -> list[str]:
    properties, required = schema.get("properties"), schema.get("required")
    names = list(properties) if isinstance(properties, Mapping) else []
    return [name if isinstance(required, list) and name in required else f"[{name}]" for name in names]


def _require_trust(project: Project, server: McpServer) -> tuple[Hook, Request]:
    """Return a hook and a request with which a server is used, if the user trusts it.

    Raises:
        ConfigError: The user does not.
    """
    hook = make_server_hook(server)
    decision = project.trust.decide(hook, cwd=str(project.root))
    if decision.reason_denied:
        approve = f"hookline trust approve {shell_quote(hook.id)}"
        raise ConfigError(f"the MCP server {quote(server.name)} is not used: {decision.reason_denied}; {approve}")
    request = Request(event=Event(name=EventName.CUSTOM, cwd=str(project.root)))
    request.sealed = decision.fingerprint.files if decision.fingerprint is not None else None
    return hook, request


async def _with_kind(project: Project, work: Callable[[Mcp], Coroutine[object, object, T]]) -> T:
    kind = project.components.kinds["mcp"]
    assert isinstance(kind, Mcp)  # noqa: S101 - the row of wiring
    try:
        return await work(kind)
    finally:
        await kind.close()


_LONGEST: Final = 60.0
_INSTRUCTIONS: Final = (
    "Hookline runs the hooks of the user and of the project. When a hook blocked you, `why` says which one and why; "
    "`emit` says what hooks would answer to a call before you make it. These tools change nothing."
)


def _serve(args: argparse.Namespace) -> int:
    """Answer an agent on stdin and stdout, until it closes them.

    Raises:
        McpError: The SDK is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - takes a second, which other commands do not pay
        from mcp_types import ToolAnnotations  # noqa: PLC0415 - as above
    except ImportError:
        raise McpError("MCP needs another package: pip install 'hookline[mcp]'", kind="unavailable") from None
    tools = _Tools(find_root(args))
    server = MCPServer("hookline", version=__version__, instructions=_INSTRUCTIONS, log_level="CRITICAL")
    annotations = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    for name in ("why", "emit", "list", "test"):
        server.add_tool(_explain_errors(getattr(tools, name)), name=name, annotations=annotations)
    server.run("stdio")
    return 0


def _explain_errors(tool: Callable[..., Coroutine[Any, Any, dict[str, Any]]]) -> Callable[..., Any]:
    """Return a tool whose errors reach the agent in words; of any other exception it would only learn that there was one."""
    from mcp.server.mcpserver.exceptions import ToolError  # noqa: PLC0415 - as above

    @wraps(tool)
    async def call(**arguments: Any) -> dict[str, Any]:
        try:
            return await tool(**arguments)
        except EngineError as problem:
            raise ToolError(str(problem)) from None

    return call


class _Tools:
    """The tools of the server, for one project."""

    def __init__(self, project: Path) -> None:
        self._project = project

    async def why(
        self, hook: str = "", event: str = "", tool: str = "", args: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Say why a hook runs or does not, gate by gate, and what it decided lately. Without a hook: everything about the last call that was blocked in this project."""
        if not hook:
            newest = await self._run("trace", "list", "--blocked", "--limit=1", f"--project={self._project}")
            if not newest:
                return {"blocked": None, "note": "nothing was blocked in this project as far as traces go back"}
            return {"blocked": newest[0], "records": await self._run("trace", "show", newest[0]["trace"])}
        options = [f"--event={event}"] if event else []
        options += [f"--tool={tool}"] if tool else []
        options += [f"--args={json_codec.dump(args).decode()}"] if args is not None else []
        found: dict[str, Any] = await self._run("why", *options, f"--project={self._project}", name=hook)
        return found

    async def emit(
        self,
        event: str = "before_tool",
        tool: str = "",
        args: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Say what the hooks would answer to an event, such as the tool call {"command": "git push"} of the tool shell. Nothing happens: hooks run without effects."""

        def build(engine: Engine) -> Event:
            return engine.event(str(parse_event(event)), data, tool=tool, args=args)

        return _tried_to_json(await try_event(self._project, build))

    async def list(self) -> dict[str, Any]:
        """List the hooks that are in force here: their events, what they do, and whether they are trusted."""
        return {"hooks": await self._run("list", f"--project={self._project}")}

    async def test(
        self,
        hook: str,
        event: str = "",
        tool: str = "",
        args: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Try one hook with an event, or with a sample of its own event, and say what it answers. Nothing happens: it runs without effects."""
        options = EventArgs(tool=tool, data=data, args=args)
        project = load_project(self._project, traced=False, records=False)
        found = find_hook(project, hook)

        def build(_engine: Engine) -> Event:
            return build_event(project, found, event or found.on[0], options)

        return _tried_to_json(await try_event(self._project, build, only=found.id))

    async def _run(self, *words: str, name: str = "") -> Any:
        """Run a command of Hookline that only reads, and return what it prints.

        Raises:
            ConfigError: It fails.
        """
        if name.startswith("-"):
            raise ConfigError(f"there is no hook {name!r}")
        # -P: a module of the project must not be loaded
        line = [sys.executable, "-P", "-m", "hookline", *words, "--json", *([name] if name else [])]
        process = await asyncio.create_subprocess_exec(
            *line,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._project,
        )
        try:
            async with asyncio.timeout(_LONGEST):
                stdout, stderr = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        try:
            value = json_codec.load(stdout)
        except ValueError:
            raise ConfigError(stderr.decode("utf-8", "replace").strip() or "it says nothing") from None
        if isinstance(value, Mapping) and isinstance(problem := value.get("error"), Mapping):
            raise ConfigError(str(problem.get("message")))
        return value


def _tried_to_json(tried: TriedEvent) -> dict[str, Any]:
    value = {
        "event": {"name": tried.event.name, "tool": tried.event.tool or None, "args": dict(tried.event.args)},
        **outcome_to_json(tried.outcome),
        "not_asked": [asdict(one) for one in tried.unasked],
        # a hook that would ask a server may say no where nothing here did
        "is_certain": not any(one.decides for one in tried.unasked),
        "note": "nothing happened: hooks ran contained and without effects",
    }
    return {key: json_codec.load(json_codec.dump(item)) for key, item in value.items()}


_NAME: Final = argument("name", "the name of the server", metavar="NAME")
_TIMEOUT: Final = argument("--timeout", "how long to wait", type=float, default=30.0, metavar="SECONDS")
COMMAND: Final = CliCommand(
    "MCP servers whose tools are hooks, the logins at them, and Hookline as a server",
    actions={
        "list": CliCommand("list the servers, and the hooks that use them", *COMMON, run=_list),
        "add": CliCommand(
            "add a server to your hookline.toml; without a URL or command, the one of another file is copied",
            _NAME,
            argument("target", "its URL, or behind -- its command", nargs="*", metavar="URL|COMMAND"),
            repeatable("--header", "of a URL; may be given again", metavar="NAME=VALUE"),
            repeatable("--env", "of a command; may be given again", metavar="KEY=VALUE"),
            argument("--cwd", "the folder that a command runs in", default="", metavar="DIR"),
            argument("--to", "where it is written", choices=tuple(PLACES), default="user"),
            *EDIT_OPTIONS,
            example="--env 'TOKEN=${GITHUB_TOKEN}' github -- npx -y github-server",
            run=_add,
        ),
        "remove": CliCommand("remove a server from a hookline.toml", _NAME, *EDIT_OPTIONS, run=_remove),
        "login": CliCommand(
            "log in at a server with OAuth, in a browser here or elsewhere",
            _NAME,
            flag("--no-browser", "only print the link"),
            argument(
                "--client-id",
                f"of a client that is registered already; its secret is read from {_SECRET_VARIABLE}",
                default="",
            ),
            argument("--scope", "the scopes to ask for, separated by blanks", default=""),
            argument(
                "--port", "the port that the browser comes back to (a free one)", type=int, default=0, metavar="N"
            ),
            argument("--store", "where to store the tokens (the keyring, if it works)", choices=[*Storage]),
            argument("--timeout", "how long to wait", type=float, default=TIMEOUT, metavar="SECONDS"),
            *COMMON,
            example="docs --no-browser",
            run=_login,
        ),
        "logout": CliCommand("revoke the tokens of a server, and delete them", _NAME, *COMMON, run=_logout),
        "status": CliCommand(
            "ask the servers whether they answer, and show the logins",
            argument("name", "only this server", nargs="?", default="", metavar="NAME"),
            _TIMEOUT,
            *COMMON,
            run=_status,
        ),
        "test": CliCommand(
            "list the tools of a server, or call one",
            argument("server", "the server, or server/tool", metavar="SERVER[/TOOL]"),
            argument("--arguments", "of the tool", metavar="JSON|@FILE|-"),
            _TIMEOUT,
            *COMMON,
            example="""scanner/scan --arguments '{"path": "a.py"}'""",
            run=_test,
        ),
        "serve": CliCommand(
            "offer emit, why, list and test to an agent as MCP tools, on stdin and stdout", *COMMON[:1], run=_serve
        ),
    },
    default_action="list",
)
