"""Services a hook needs, on real sockets."""

import asyncio
import socket
import ssl
import subprocess
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hookline import Hook
from hookline.model.hook import Source
from hookline.model.requirements import Needs
from hookline.requirements import clear_cache, find_missing

pytestmark = pytest.mark.slow

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def hook(*services: str) -> Hook:
    return Hook(id="h", command="/bin/true", needs=Needs(services=services), source=Source.USER)


def answering(text: bytes) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(text)
        writer.close()

    return serve


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def missing(serve: Serve, address: str) -> str:
    clear_cache()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(server)
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(30):
            return await find_missing(hook(address.format(port=port)), "/")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert isinstance(port, int)
    return port


@pytest.mark.spec("D-12")
@pytest.mark.parametrize(
    ("status", "there"), [(200, True), (204, True), (301, True), (401, True), (404, True), (500, False), (503, False)]
)
def test_web_service_is_there_unless_it_is_broken(status: int, *, there: bool) -> None:
    text = asyncio.run(missing(answering(f"HTTP/1.1 {status} X\r\n\r\n".encode()), "http://127.0.0.1:{port}/health"))

    assert (text == "") is there
    assert there or f"answers with status {status}: start it" in text


@pytest.mark.spec("D-12")
def test_port_that_takes_connections_is_there() -> None:
    assert asyncio.run(missing(silent, "tcp://127.0.0.1:{port}")) == ""


@pytest.mark.spec("D-12")
def test_port_that_nobody_listens_at_is_not() -> None:
    clear_cache()
    address = f"tcp://127.0.0.1:{free_port()}"

    text = asyncio.run(find_missing(hook(address), "/"))

    assert text == f"{address} cannot be reached (Connection refused): start it, or correct {address} in needs"


@pytest.mark.parametrize(
    ("said", "problem"), [(b"SSH-2.0-x\r\n", "does not speak HTTP"), (b"", "does not speak HTTP"), (b"x" * 9000, "")]
)
def test_what_speaks_otherwise_is_no_web_service(said: bytes, problem: str) -> None:
    text = asyncio.run(missing(answering(said), "http://127.0.0.1:{port}/"))

    assert problem in text
    assert text


def test_service_that_never_answers_is_given_up() -> None:
    assert "gave no answer within 2 s" in asyncio.run(missing(silent, "http://127.0.0.1:{port}/"))


def test_plain_text_where_encryption_is_wanted_is_told() -> None:
    text = asyncio.run(missing(answering(b"HTTP/1.1 200 OK\r\n\r\n"), "https://127.0.0.1:{port}/secret-token"))

    assert text.startswith("https://127.0.0.1:")
    assert "secret-token" not in text


@pytest.mark.spec("D-12")
def test_socket_file_is_found_when_somebody_listens(tmp_path: Path) -> None:
    path = tmp_path / "s"

    async def both() -> tuple[str, str]:
        clear_cache()
        before = await find_missing(hook(f"unix://{path}"), "/")
        clear_cache()
        server = await asyncio.start_unix_server(silent, path)
        async with server:
            return before, await find_missing(hook(f"unix://{path}"), "/")

    before, after = asyncio.run(both())

    assert "No such file" in before
    assert after == ""


def test_host_that_does_not_exist_is_told() -> None:
    clear_cache()

    text = asyncio.run(find_missing(hook("tcp://no-such-host.invalid:80"), "/"))

    assert text.startswith("tcp://no-such-host.invalid:80 ")


def test_name_that_is_looked_up_for_ever_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go, ended = threading.Event(), threading.Event()

    def resolve(*_args: object, **_named: object) -> list[object]:
        let_go.wait(60)
        ended.set()
        return []

    clear_cache()
    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    text = asyncio.run(find_missing(hook("tcp://somewhere.invalid:80"), "/"))

    # not even the end of the loop waits for it
    assert not ended.is_set()
    assert "gave no answer within" in text
    let_go.set()
    assert ended.wait(60)


def test_every_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(_host: str, port: int, **_named: object) -> list[object]:
        return [(0, 0, 0, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    assert asyncio.run(missing(silent, "tcp://database.invalid:{port}")) == ""


def test_name_without_an_address_is_said_to_have_none() -> None:
    clear_cache()

    text = asyncio.run(find_missing(hook("tcp://no-such-host.invalid:80"), "/"))

    assert text.startswith("tcp://no-such-host.invalid:80 cannot be reached (")


@pytest.mark.parametrize("address", ["postgres://u:hunter2@h/db", "http://:hunter2@h:99999/", "tcp://hunter2@h:x"])
def test_password_in_an_address_that_cannot_be_used_is_not_told(address: str) -> None:
    clear_cache()

    text = asyncio.run(find_missing(hook(address), "/"))

    assert "in needs cannot be looked for" in text
    assert "hunter2" not in text


def test_certificate_that_nobody_trusts_is_told_as_such(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    line = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout {key} -out {certificate}"
    subprocess.run(line.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def asked() -> str:
        clear_cache()
        server = await asyncio.start_server(silent, "127.0.0.1", 0, ssl=context)
        async with server:
            return await find_missing(hook(f"https://localhost:{server.sockets[0].getsockname()[1]}/"), "/")

    assert "cannot be reached (its certificate is not trusted: self-signed certificate)" in asyncio.run(asked())
