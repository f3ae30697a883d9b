"""`hookline mcp serve`: Hookline as an MCP server, so that an agent can ask why it was blocked.

All tools only read. What an event would lead to is found out as a replay does it: hooks run contained, without effects on anything
outside, without limits and without traces, and those that exist for their effect are not run. So no tool loosens a guard.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final

from msgspec.structs import asdict

from hookline import json_codec
from hookline.cli._project import EventArgs, build_event, get_project_dir, parse_event
from hookline.engine.engine import Engine
from hookline.errors import ConfigError, EngineError, McpError
from hookline.model.event import Event
from hookline.model.verdict import outcome_to_json
from hookline.project import Project, load_project
from hookline.replay.replay import TriedEvent, try_event
from hookline.user_dirs import working_folder
from hookline.version import __version__
from hookline.views.hook_lookup import find_hook

_LONGEST: Final = 60.0
_INSTRUCTIONS: Final = (
    "Hookline runs the hooks of the user and of the project. When a hook blocked you, `why` says which one and why; "
    "`emit` says what hooks would answer to a call before you make it. These tools change nothing."
)


def serve(args: argparse.Namespace) -> int:
    """Answer an agent on stdin and stdout, until it closes them.

    Raises:
        McpError: The SDK is not installed.
    """
    try:
        from mcp.server.mcpserver import MCPServer  # noqa: PLC0415 - takes a second, which other commands do not pay
    except ImportError:
        raise McpError("MCP needs another package: pip install 'hookline[mcp]'", kind="unavailable") from None
    tools = _Tools((get_project_dir(args) or working_folder()).absolute())
    server = MCPServer("hookline", version=__version__, instructions=_INSTRUCTIONS, log_level="CRITICAL")
    for name in ("why", "emit", "list", "test"):
        server.add_tool(_explain_errors(getattr(tools, name)), name=name, annotations=_read_only())
    server.run("stdio")
    return 0


def _read_only() -> Any:
    from mcp_types import ToolAnnotations  # noqa: PLC0415 - as above

    return ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)


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

        return _to_json(await try_event(self._project, build))

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

        project = self._load()
        found = find_hook(project, hook)

        def build(_engine: Engine) -> Event:
            return build_event(project, found, event or found.on[0], options)

        return _to_json(await try_event(self._project, build, only=found.id))

    def _load(self) -> Project:
        return load_project(self._project, traced=False, records=False)

    async def _run(self, *words: str, name: str = "") -> Any:
        """Run a command of Hookline that only reads, and return what it prints.

        Raises:
            ConfigError: It fails.
        """
        if name.startswith("-"):
            raise ConfigError(f"there is no hook {name!r}")
        line = [sys.executable, "-m", "hookline", *words, "--json", *([name] if name else [])]
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


def _to_json(tried: TriedEvent) -> dict[str, Any]:
    value = {
        "event": {"name": tried.event.name, "tool": tried.event.tool or None, "args": dict(tried.event.args)},
        **outcome_to_json(tried.outcome),
        "not_asked": [asdict(one) for one in tried.unasked],
        # a hook that would ask a server may say no where nothing here did
        "is_certain": not any(one.decides for one in tried.unasked),
        "note": "nothing happened: hooks ran contained and without effects",
    }
    return {key: json_codec.load(json_codec.dump(item)) for key, item in value.items()}
