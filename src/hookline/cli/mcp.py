"""`hookline mcp`: MCP servers, the logins at them, and Hookline as a server itself."""

import argparse
import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from hookline.cli._command import COMMON, CliCommand, argument, flag
from hookline.cli._describe import decide_trust, shorten_paths, truncate
from hookline.cli._edit_session import EDIT_OPTIONS, ConfigFile, open_session
from hookline.cli._output import Table, format_clock, pluralise, print_error, print_line, render
from hookline.cli._project import load_from_args, read_object
from hookline.cli.add import HEADER, PLACES, parse_pair
from hookline.config import edit, toml
from hookline.config.mcp_servers import describe_missing
from hookline.config.mcp_tables import TABLE, ServerReader
from hookline.errors import ConfigError, EngineError
from hookline.kinds.mcp import Mcp
from hookline.mcp.logins import TIMEOUT, Login, LoginOptions, Storage, TokenStore, choose_storage, log_in, log_out
from hookline.model.event import Event, EventName
from hookline.model.exchange import Request
from hookline.model.hook import Hook, Layer, make_server_hook
from hookline.model.mcp_server import McpServer
from hookline.project import Project
from hookline.text import quote, shell_quote

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
        hidden = (
            "" if meant[server.name] is server else f"hidden by {shorten_paths(meant[server.name].location, project)}"
        )
        state = hidden or server.problem or _describe_trust(project, server)
        values.append(
            {**_to_json(server), "hooks": users, "trust": _describe_trust(project, server), "hidden": bool(hidden)}
        )
        where = shorten_paths(server.location, project)
        rows.append([server.name, truncate(server.describe(), _WIDEST), where, ", ".join(users), state])
    if not rows:
        return render(args, {"servers": []}, "no MCP server is defined; `hookline mcp add NAME -- COMMAND` adds one")
    return render(args, {"servers": values}, Table(["server", "what", "file", "hooks", "state"], rows))


def _describe_trust(project: Project, server: McpServer) -> str:
    decision = decide_trust(make_server_hook(server), project)
    return "unknown" if decision is None else str(decision.status)


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
    header = toml.key_line((TABLE, name), 0).removesuffix(" = 0")
    lines = [f"[{header}]", *(toml.key_line((key,), entry[key]) for key in entry)]
    text = f"{before.rstrip()}\n\n" + "\n".join(line.rstrip() for line in lines) + "\n"
    wanted = edit.value_of(edit.put(before, (TABLE, name), entry, path=path), path=path)
    # a file that has the servers in one inline table cannot get another table
    with suppress(ConfigError):
        if edit.value_of(text, path=path) == wanted:
            return text
    return edit.put(before, (TABLE, name), entry, path=path)


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
    env = dict(parse_pair("--env", word) for word in args.env)
    headers = dict(parse_pair("--header", word) for word in args.header)
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
        server.name == name for server in ServerReader(document, file.path, is_ours=True).read((TABLE,))
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
        servers = edit.value_at(edit.value_of(before, path=file.path), (TABLE,))
        is_last = isinstance(servers, Mapping) and len(servers) == 1
        text = edit.drop(before, (TABLE,) if is_last else (TABLE, args.name), path=file.path)
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
        return render(
            args, {"server": server.name, "login": None}, f"the MCP server {quote(server.name)} wants no login"
        )
    where = _describe_storage(login, _store(project))
    return render(
        args, _login_to_json(login), f"logged in at {server.name}; {_describe_expiry(login)}", f"stored {where}"
    )


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
    note = (
        f"the tokens are deleted here, but were not revoked at the server: {why}" if why else "the tokens are revoked"
    )
    return render(
        args, {"server": server.name, "revoked": not why, "note": why or None}, f"logged out at {server.name}; {note}"
    )


def _status(args: argparse.Namespace) -> int:
    project = load_from_args(args)
    names = [args.name] if args.name else list(project.servers.by_name())
    servers = [_find(project, name) for name in names]
    found = asyncio.run(_with_kind(project, lambda kind: _check_all(project, kind, servers, timeout=args.timeout)))
    rows = [[one["server"], one["state"], one["login"] or "", one["stored"] or ""] for one in found]
    if not rows:
        return render(args, {"servers": []}, "no MCP server is defined")
    render(args, {"servers": found}, Table(["server", "state", "login", "stored"], rows))
    return 0 if all(one["reachable"] for one in found) else 1


async def _check_all(
    project: Project, kind: Mcp, servers: Sequence[McpServer], *, timeout: float
) -> list[dict[str, Any]]:
    return list(await asyncio.gather(*(_check(project, kind, server, timeout=timeout) for server in servers)))


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


def _login_to_json(login: Login) -> dict[str, object]:
    return {
        "server": login.name,
        "url": login.url,
        "valid_until": login.expires_at or None,
        "stored": str(login.storage),
    }


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
        render(args, value)
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


def _serve(args: argparse.Namespace) -> int:
    from hookline.cli._mcp_server import serve  # noqa: PLC0415 - needs the SDK, which takes a second to import

    return serve(args)


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
            argument("--header", "of a URL; may be given again", action="append", default=[], metavar="NAME=VALUE"),
            argument("--env", "of a command; may be given again", action="append", default=[], metavar="KEY=VALUE"),
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
            "offer emit, why, list and test to an agent as MCP tools, on stdin and stdout",
            *COMMON[:1],
            run=_serve,
        ),
    },
    default_action="list",
)
