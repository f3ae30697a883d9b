"""A web service on loopback that takes secrets out of tool results."""

import asyncio
import re
from typing import Final, Self

from hookline import wire

_SECRET: Final = re.compile(r"sk-[a-z]+-\w+")


class Redactor:
    """Answer webhook calls of the Ollama CLI dialect."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = re.search(rb"(?i)content-length: *(\d+)", head)
                body = await reader.readexactly(int(size[1]) if size else 0)
                answer = wire.dump(_answer(wire.load(body)))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _answer(payload: object) -> dict[str, object]:
    data = payload.get("data") if isinstance(payload, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, str) or not _SECRET.search(result):
        return {}
    return {"updatedOutput": _SECRET.sub("sk-…", result), "systemMessage": "a key was taken out of a tool's result"}
