"""Sessions with servers over HTTP and as programs, without a hook around them."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hookline.errors import McpError
from hookline.mcp.sessions import Sessions
from hookline.model.mcp_server import McpServer

HOOKS = Path(__file__).resolve().parent.parent / "hooks"


@contextmanager
def http_server(port: int = 0) -> Iterator[str]:
    line = [sys.executable, str(HOOKS / "mcp_http_server.py"), str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.spec("D-18")
def test_session_survives_the_restart_of_its_server() -> None:
    async def read_pids() -> tuple[list[str], str]:
        sessions = Sessions()
        try:
            with http_server() as url:
                server = McpServer(name="http", url=url)
                pids = [(await sessions.call(server, "pid", {})).text for _ in range(2)]
            with pytest.raises(McpError) as gone:
                await sessions.call(server, "pid", {})
            with http_server(urlsplit(url).port or 0):
                pids.append((await sessions.call(server, "pid", {})).text)
        finally:
            await sessions.close()
        return pids, str(gone.value)

    (first, second, third), gone = asyncio.run(read_pids())

    assert first == second != third
    assert "cannot be used" in gone


@pytest.mark.spec("D-18")
def test_sessions_serve_several_event_loops() -> None:
    sessions = Sessions()
    server = McpServer(name="plain", command=sys.executable, args=(str(HOOKS / "mcp_plain_server.py"),))

    async def read_pid(*, last: bool) -> str:
        result = await sessions.call(server, "pid", {})
        if last:
            await sessions.close()
        return result.text

    first = asyncio.run(read_pid(last=False))
    second = asyncio.run(read_pid(last=True))

    assert first == second


def test_tools_are_listed_with_their_schema() -> None:
    async def list_names() -> dict[str, object]:
        sessions = Sessions()
        try:
            server = McpServer(name="plain", command=sys.executable, args=(str(HOOKS / "mcp_plain_server.py"),))
            return {tool.name: tool.schema for tool in await sessions.list_tools(server)}
        finally:
            await sessions.close()

    assert asyncio.run(list_names())["scan"] == {"type": "object"}
