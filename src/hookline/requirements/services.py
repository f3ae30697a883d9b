"""Check that services answer: a port, a socket, or a web address.

Connections are direct, without a proxy. Of a web address only the status line is read: any status below 500 is an answer.
"""

import asyncio
import os
import socket
import threading
from concurrent.futures import Future
from typing import Final

from hookline.model.requirements import NeededService, parse_service
from hookline.requirements._run_dir import RunDir
from hookline.version import __version__

TIMEOUT: Final = 2.0
"""Seconds a service has to answer."""

_LONGEST_LINE: Final = 4096
_BROKEN: Final = 500


async def check(text: str, run_dir: RunDir) -> str:  # noqa: ARG001 - a service does not depend on the folder
    """Return why a service does not answer, or ""."""
    service = parse_service(text)
    advice = f"start it, or correct {describe_service(service)} in needs"
    try:
        async with asyncio.timeout(TIMEOUT):
            problem = await _connect(service)
    except TimeoutError:
        problem = f"gave no answer within {TIMEOUT:g} s"
    except (OSError, ValueError, EOFError) as error:
        problem = f"cannot be reached ({_describe_error(error)})"
    return f"{describe_service(service)} {problem}: {advice}" if problem else ""


def _describe_error(error: Exception) -> str:
    import ssl  # noqa: PLC0415 - only needed for errors

    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    # the error numbers of these two are not those of the system
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | socket.gaierror) and (error.errno or 0) > 0:
        return os.strerror(error.errno or 0)
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def describe_service(service: NeededService) -> str:
    """Return the address of a service without its path and query, which may be secret."""
    if service.scheme == "unix":
        return f"unix://{service.path}"
    host = f"[{service.host}]" if ":" in service.host else service.host
    return f"{service.scheme}://{host}:{service.port}"


async def _connect(service: NeededService) -> str:
    """Return what is wrong with the answer of a service, or ""; a port or a socket only has to accept."""
    reader, writer = await _open_connection(service)
    try:
        if service.scheme not in {"http", "https"}:
            return ""
        host = describe_service(service).partition("://")[2]
        head = (
            f"GET {service.path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: hookline/{__version__}\r\n"
            "Accept: */*\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode("ascii", "replace"))
        await writer.drain()
        protocol, _, rest = (await reader.readline()).decode("latin-1").partition(" ")
    finally:
        # no TLS close handshake
        writer.transport.abort()
    status = rest[:3]
    if not protocol.startswith("HTTP/") or not status.isdecimal():
        return "does not speak HTTP"
    return "" if int(status) < _BROKEN else f"answers with status {status}"


async def _open_connection(service: NeededService) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if service.scheme == "unix":
        return await asyncio.open_unix_connection(service.path)
    secure = {"ssl": True, "server_hostname": service.host} if service.scheme == "https" else {}
    problem: OSError = OSError(f"{service.host} has no address")
    for address in await _resolve(service):
        try:
            return await asyncio.open_connection(address, service.port, limit=_LONGEST_LINE, **secure)  # type: ignore[arg-type]
        except OSError as error:
            problem = error
    raise problem


async def _resolve(service: NeededService) -> list[str]:
    """Resolve a name in a daemon thread: a resolver may take half a minute to fail.

    asyncio would wait for a thread of its own executor when the loop ends, and delay the caller.
    """
    found: Future[list[str]] = Future()

    def resolve() -> None:
        found.set_running_or_notify_cancel()
        try:
            rows = socket.getaddrinfo(service.host, service.port, type=socket.SOCK_STREAM)
            found.set_result(list(dict.fromkeys(str(row[4][0]) for row in rows)))
        except (OSError, UnicodeError) as error:
            found.set_exception(error)

    threading.Thread(target=resolve, name="hookline-resolve", daemon=True).start()
    return await asyncio.wrap_future(found)
