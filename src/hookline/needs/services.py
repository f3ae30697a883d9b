"""Services that have to answer: a port, a socket, or a web address.

Connections are direct ones, without a proxy. Of a web address only the first line of the answer is read: any status
below 500 says that somebody is there.
"""

import asyncio
import os
from typing import Final

from hookline.model.needed import NeededService, service_of
from hookline.needs._place import Place
from hookline.version import __version__

TIMEOUT: Final = 2.0
"""Seconds a service has to answer."""

_LONGEST_LINE: Final = 4096
_BROKEN: Final = 500


async def look(text: str, place: Place) -> str:  # noqa: ARG001 - a service is the same everywhere
    """Say why nobody answers there."""
    service = service_of(text)
    advice = f"start it, or correct {shown(service)} in needs"
    try:
        async with asyncio.timeout(TIMEOUT):
            problem = await _connect(service)
    except TimeoutError:
        problem = f"gave no answer within {TIMEOUT:g} s"
    except (OSError, ValueError, EOFError) as error:
        problem = f"cannot be reached ({_reason(error)})"
    return f"{shown(service)} {problem}: {advice}" if problem else ""


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def shown(service: NeededService) -> str:
    """Name a service without the part of an address that may be a secret."""
    if service.scheme == "unix":
        return f"unix://{service.path}"
    host = f"[{service.host}]" if ":" in service.host else service.host
    return f"{service.scheme}://{host}:{service.port}"


async def _connect(service: NeededService) -> str:
    if service.scheme == "unix":
        reader, writer = await asyncio.open_unix_connection(service.path)
    else:
        encrypted = True if service.scheme == "https" else None
        reader, writer = await asyncio.open_connection(service.host, service.port, ssl=encrypted, limit=_LONGEST_LINE)
    try:
        return await _ask(service, reader, writer) if service.scheme in {"http", "https"} else ""
    finally:
        # nobody waits for a polite goodbye
        writer.transport.abort()


async def _ask(service: NeededService, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    host = shown(service).partition("://")[2]
    head = (
        f"GET {service.path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: hookline/{__version__}\r\n"
        "Accept: */*\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode("ascii", "replace"))
    await writer.drain()
    line = (await reader.readline()).decode("latin-1")
    protocol, _, rest = line.partition(" ")
    status = rest[:3]
    if not protocol.startswith("HTTP/") or not status.isdecimal():
        return "does not speak HTTP"
    return "" if int(status) < _BROKEN else f"answers with status {status}"
