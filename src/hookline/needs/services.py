"""Services that have to answer: a port, a socket, or a web address.

Connections are direct ones, without a proxy. Of a web address only the first line of the answer is read: any status
below 500 says that somebody is there.
"""

import asyncio
import os
import socket
import threading
from contextlib import suppress
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
    import ssl  # noqa: PLC0415 - for services that do not answer only

    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    # the numbers of these two are their own, and mean other things to the system
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | socket.gaierror) and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def shown(service: NeededService) -> str:
    """Name a service without the part of an address that may be a secret."""
    if service.scheme == "unix":
        return f"unix://{service.path}"
    host = f"[{service.host}]" if ":" in service.host else service.host
    return f"{service.scheme}://{host}:{service.port}"


async def _connect(service: NeededService) -> str:
    reader, writer = await _reached(service)
    try:
        return await _ask(service, reader, writer) if service.scheme in {"http", "https"} else ""
    finally:
        # nobody waits for a polite goodbye
        writer.transport.abort()


async def _reached(service: NeededService) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if service.scheme == "unix":
        return await asyncio.open_unix_connection(service.path)
    secure = {"ssl": True, "server_hostname": service.host} if service.scheme == "https" else {}
    problem: OSError = OSError(f"{service.host} has no address")
    for address in await _addresses(service):
        try:
            return await asyncio.open_connection(address, service.port, limit=_LONGEST_LINE, **secure)  # type: ignore[arg-type]
        except OSError as error:
            problem = error
    raise problem


async def _addresses(service: NeededService) -> list[str]:
    """Look a name up in a thread that nobody waits for: a resolver may take half a minute to say no.

    The loop's own threads are waited for when it ends, and so would be whoever emitted the event.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def tell(addresses: list[str], problem: OSError | UnicodeError | None) -> None:
        if found.cancelled():
            return
        if problem is not None:
            found.set_exception(problem)
        else:
            found.set_result(addresses)

    def resolve() -> None:
        addresses: list[str] = []
        problem: OSError | UnicodeError | None = None
        try:
            rows = socket.getaddrinfo(service.host, service.port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
        except (OSError, UnicodeError) as error:
            problem = error
        # the loop may have ended meanwhile
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell, addresses, problem)

    threading.Thread(target=resolve, name="hookline-resolve", daemon=True).start()
    return await found


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
