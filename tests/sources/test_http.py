import asyncio
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

import pytest
from msgspec import Struct

from hookline import Engine, Event, Verdict
from hookline.errors import ConfigError
from hookline.sources import http
from hookline.sources.http import AccessToken, Address, Server, listen_address, read_token, serve


class Answer(Struct, frozen=True):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: object


class Caller:
    """A program that calls a server."""

    def __init__(self, server: Server, token: AccessToken) -> None:
        self.token = token
        host, _, port = server.url.removeprefix("http://").rpartition(":")
        self.host, self.port = host.strip("[]"), int(port)

    async def raw(self, text: bytes) -> Answer:
        """Send bytes as they are, and read the answer until the connection is closed."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(text)
        async with asyncio.timeout(30):
            said = await reader.read()
        writer.close()
        head, _, body = said.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        pairs = (line.split(": ", 1) for line in lines)
        headers = {name.lower(): value for name, value in pairs}
        assert int(headers["content-length"]) == len(body)
        return Answer(int(first.split()[1]), headers, json.loads(body) if body else None)

    async def post(self, path: str, body: object = None, *, token: str | None = None, **headers: str) -> Answer:
        """Post JSON, or bytes as they are, with the token."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        shown = self.token.value if token is None else token
        lines = {
            "Host": f"127.0.0.1:{self.port}",
            "Content-Length": str(len(raw)),
            **({"Authorization": f"Bearer {shown}"} if shown else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return await self.raw(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + raw)


Work = Callable[[Caller], Awaitable[None]]


def run(tmp_path: Path, engine: Engine, work: Work, told: list[str] | None = None) -> None:
    """Serve an engine while some work is done."""

    async def served() -> None:
        token = read_token(tmp_path / "data")
        tell = told.append if told is not None else None
        server = await serve(lambda: nullcontext(engine), listen_address("127.0.0.1:0"), token, tell=tell)
        try:
            await work(Caller(server, token))
        finally:
            await server.close()
            await engine.close()

    asyncio.run(served())


@pytest.fixture
def seen() -> list[Event]:
    return []


@pytest.fixture
def engine(tmp_path: Path, seen: list[Event]) -> Engine:
    made = Engine(cwd=str(tmp_path))

    @made.on("custom", "notification", "before_tool", id="seer")
    def seer(event: Event) -> Verdict | None:
        seen.append(event)
        return Verdict.deny("not today") if event.data.get("bad") or event.args.get("command") == "rm" else None

    return made


@pytest.mark.spec("A-24")
def test_an_event_is_raised_and_answered_with_the_outcome(tmp_path: Path, engine: Engine, seen: list[Event]) -> None:
    told: list[str] = []

    async def work(caller: Caller) -> None:
        document = {"event": "custom:deploy", "data": {"payload": "v2"}, "session": {"id": "s"}}
        answer = await caller.post("/events", document)
        assert answer.status == 200
        assert isinstance(answer.body, dict)
        assert (answer.body["decision"], answer.body["blocked"]) == ("pass", False)
        assert [hook["id"] for hook in answer.body["hooks"]] == ["seer"]
        assert answer.headers["connection"] == "close"

    run(tmp_path, engine, work, told)

    (event,) = seen
    assert (event.name, dict(event.data), event.session.id) == (
        "custom",
        {"payload": "v2", "event_name": "deploy"},
        "s",
    )
    assert told == ["POST /events 200 custom:deploy pass"]


def test_a_blocked_event_is_answered_with_the_reason(tmp_path: Path, engine: Engine) -> None:
    async def work(caller: Caller) -> None:
        answer = await caller.post("/events/custom:deploy", {"bad": True})
        assert answer.status == 200
        assert isinstance(answer.body, dict)
        assert (answer.body["blocked"], answer.body["reasons"]) == (True, ["not today"])

    run(tmp_path, engine, work)


def test_a_host_speaks_its_own_dialect(tmp_path: Path, engine: Engine, seen: list[Event]) -> None:
    async def work(caller: Caller) -> None:
        said = {"hook_event_name": "PreToolUse", "tool_name": "bash_execute", "tool_args": {"command": "rm"}}
        answer = await caller.post("/events/PreToolUse?dialect=cli-agent", said)
        assert (answer.status, answer.body) == (
            200,
            {"continue": False, "decision": "block", "reason": "not today"},
        )
        wrong = await caller.post("/events/notification?dialect=cli-agent", said)
        assert wrong.status == 400
        unknown = await caller.post("/events/notification?dialect=klingon", said)
        assert (unknown.status, "klingon" in str(unknown.body)) == (400, True)

    run(tmp_path, engine, work)

    assert [(event.name, event.tool, event.cwd) for event in seen] == [("before_tool", "shell", str(tmp_path))]


@pytest.mark.spec("A-24")
def test_a_service_signs_and_learns_only_whether_it_was_blocked(
    tmp_path: Path, engine: Engine, seen: list[Event]
) -> None:
    async def work(caller: Caller) -> None:
        body = json.dumps({"action": "opened"}).encode()
        signature = "sha256=" + hmac.new(caller.token.secret.encode(), body, hashlib.sha256).hexdigest()
        named = {"X_GitHub_Event": "issues", "X_GitHub_Delivery": "d-1"}
        answer = await caller.post("/hooks/github", body, token="", X_Hub_Signature_256=signature, **named)
        assert answer.status == 200
        assert isinstance(answer.body, dict)
        assert set(answer.body) == {"blocked", "trace"}
        # what opens one door opens no other
        wrong = await caller.post("/hooks/github", body + b" ", token="", X_Hub_Signature_256=signature)
        other = await caller.post("/events", body, token="", X_Hub_Signature_256=signature)
        as_token = await caller.post("/events", body, token=caller.token.secret)
        assert [wrong.status, other.status, as_token.status] == [401, 401, 401]

    run(tmp_path, engine, work)

    (event,) = seen
    assert dict(event.data) == {
        "payload": {"action": "opened"},
        "source": "http",
        "kind": "issues",
        "delivery": "d-1",
        "event_name": "github",
    }


@pytest.mark.parametrize("token", ["", "wrong", "ümlaut"])
def test_without_the_token_nothing_happens(tmp_path: Path, engine: Engine, seen: list[Event], token: str) -> None:
    async def work(caller: Caller) -> None:
        text = token.encode().decode("latin-1")
        answer = await caller.post("/events", {"event": "notification"}, token=text)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")

    run(tmp_path, engine, work)

    assert seen == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80"}, 403),
        ({"Host": ""}, 403),
        ({"Host": "localhost"}, 200),
        ({"Host": "LOCALHOST:1234"}, 200),
        ({"Host": "[::1]:1234"}, 200),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Expect": "the-impossible"}, 417),
        ({"Content_Length": "-1"}, 400),
        ({"Content_Length": "+2"}, 400),
        ({"Content_Length": "0x2"}, 400),
        ({"Content_Length": "99999999"}, 413),
        ({"Transfer_Encoding": "chunked"}, 400),
        ({"X_Long": "x" * 20_000}, 431),
    ],
)
def test_a_request_that_a_browser_or_an_attacker_would_make_is_refused(
    tmp_path: Path, engine: Engine, seen: list[Event], headers: dict[str, str], status: int
) -> None:
    async def work(caller: Caller) -> None:
        post: Callable[..., Awaitable[Answer]] = caller.post
        answer = await post("/events", {"event": "notification"}, **headers)
        assert answer.status == status, answer.body

    run(tmp_path, engine, work)

    assert len(seen) == (status == 200)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("POST /events HTTP/1.1|Host: localhost|Authorization: Bearer TOKEN", 411),
        ("POST /events HTTP/1.1|Host: localhost|Authorization: Bearer TOKEN|Transfer-Encoding: chunked", 411),
        ("POST /events HTTP/1.1|Host: localhost|Authorization: Bearer TOKEN|Content-Length: 2|Content-Length: 3", 400),
        ("POST /events HTTP/1.1|Host: localhost|Host: localhost", 400),
        ("POST /events HTTP/1.1|Authorization: Bearer TOKEN|Content-Length: 0", 400),
        ("POST /events HTTP/1.1|Host: localhost|X : y", 400),
        ("POST /events HTTP/1.1|Host: localhost| folded: y", 403),
        ("POST /events HTTP/1.1|Host: localhost|Origin: a\nOrigin: b", 400),
        ("POST /events HTTP/1.1|Host: localhost|X: a\0b", 400),
        ("POST http://localhost/events HTTP/1.1|Host: localhost", 400),
        ("POST  /events HTTP/1.1|Host: localhost", 400),
        ("POST /events HTTP/2.0|Host: localhost", 400),
        ("post /events HTTP/1.1|Host: localhost", 405),
        ("POST /events?a=1&a=2 HTTP/1.1|Host: localhost", 400),
        ("GET /events HTTP/1.1|Host: localhost", 405),
        ("OPTIONS /events HTTP/1.1|Host: localhost", 405),
        ("GET / HTTP/1.1|Host: localhost", 404),
        ("POST /events/../hooks/x HTTP/1.1|Host: localhost", 404),
        ("POST /hooks/a%2Fb HTTP/1.1|Host: localhost", 404),
        ("POST /hooks/a%00 HTTP/1.1|Host: localhost", 404),
        ("\x16\x03\x01", 400),
        ("POST //[ HTTP/1.1|Host: localhost", 404),
        ("POST //localhost/events HTTP/1.1|Host: localhost|Authorization: Bearer TOKEN|Content-Length: 0", 404),
        ("POST /events#x HTTP/1.1|Host: localhost", 400),
        ("POST /events?x#y HTTP/1.1|Host: localhost", 400),
    ],
)
def test_whatever_could_be_read_in_two_ways_is_refused(
    tmp_path: Path, engine: Engine, seen: list[Event], lines: str, status: int
) -> None:
    async def work(caller: Caller) -> None:
        text = lines.replace("TOKEN", caller.token.value).replace("|", "\r\n") + "\r\n\r\n"
        answer = await caller.raw(text.encode("latin-1"))
        assert answer.status == status, answer.body
        if status == 405:
            assert answer.headers["allow"] == "POST"

    run(tmp_path, engine, work)

    assert seen == []


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/events", b"{", "hookline"),
        ("/events", b"[]", "object"),
        ("/events", b"\xff", "hookline"),
        ("/events", b"{}", "event"),
        ("/events", b'{"event": "notificaton"}', "did you mean"),
        ("/events", b'{"event": "notification", "cwd": "/"}', "not in the project"),
        ("/events", b'{"event": "notification", "data": 3}', "data"),
        ("/events/notification", b"[1]", "JSON object"),
        ("/events/nothing", b"{}", "unknown event"),
        ("/hooks/x", b"payload=%7B%7D", "no JSON"),
        ("/hooks/x", b'{"a": NaN}', "no JSON"),
        ("/hooks/x", b"[" * 100_000, "no JSON"),
        ("/hooks/x?dialect=cli-agent", b"{}", "/events/NAME"),
        ("/events?dialect=klingon", b'{"event": "notification"}', "/events/NAME"),
        ("/events", b'{"event": "notification", "cwd": "../elsewhere"}', "not in the project"),
        ("/events", b'{"event": "notification", "cwd": "a\\u0000"}', "not in the project"),
    ],
)
def test_a_body_that_is_no_event_is_an_error_of_the_caller(
    tmp_path: Path, engine: Engine, seen: list[Event], path: str, body: bytes, words: str
) -> None:
    async def work(caller: Caller) -> None:
        answer = await caller.post(path, body)
        assert answer.status == 400
        assert isinstance(answer.body, dict)
        assert words in answer.body["error"]

    run(tmp_path, engine, work)

    assert seen == []


def test_who_asks_for_the_head_alone_gets_no_body(tmp_path: Path, engine: Engine) -> None:
    async def work(caller: Caller) -> None:
        reader, writer = await asyncio.open_connection(caller.host, caller.port)
        writer.write(b"HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(30):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert head.startswith(b"HTTP/1.1 405 ")
        assert body == b""

    run(tmp_path, engine, work)


def test_a_folder_that_is_not_absolute_is_counted_from_the_project(
    tmp_path: Path, engine: Engine, seen: list[Event]
) -> None:
    async def work(caller: Caller) -> None:
        assert (await caller.post("/events", {"event": "notification", "cwd": "below"})).status == 200

    run(tmp_path, engine, work)

    assert [event.cwd for event in seen] == [str(tmp_path / "below")]


def test_a_folder_in_the_project_may_be_named(tmp_path: Path, engine: Engine, seen: list[Event]) -> None:
    async def work(caller: Caller) -> None:
        for name in ("notification", "Notification"):
            answer = await caller.post("/events", {"event": name, "cwd": str(tmp_path / "below")})
            assert answer.status == 200

    run(tmp_path, engine, work)

    assert [(event.name, event.cwd, dict(event.data)) for event in seen] == [
        ("notification", str(tmp_path / "below"), {})
    ] * 2


def test_a_caller_that_waits_is_told_to_go_on(tmp_path: Path, engine: Engine, seen: list[Event]) -> None:
    async def work(caller: Caller) -> None:
        reader, writer = await asyncio.open_connection(caller.host, caller.port)
        head = (
            f"POST /events/notification HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {caller.token.value}\r\n"
        )
        writer.write(f"{head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n".encode())
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"{}")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
        writer.close()

    run(tmp_path, engine, work)

    assert len(seen) == 1


def test_a_body_that_ends_early_raises_nothing(tmp_path: Path, engine: Engine, seen: list[Event]) -> None:
    async def work(caller: Caller) -> None:
        head = f"Host: localhost\r\nAuthorization: Bearer {caller.token.value}\r\nContent-Length: 9\r\n\r\n"
        reader, writer = await asyncio.open_connection(caller.host, caller.port)
        writer.write(f"POST /events/notification HTTP/1.1\r\n{head}{{}}".encode())
        writer.write_eof()
        async with asyncio.timeout(30):
            assert await reader.read() == b""
        writer.close()

    run(tmp_path, engine, work)

    assert seen == []


def test_a_caller_that_is_too_slow_is_sent_away(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "READING", 0.05)

    async def work(caller: Caller) -> None:
        assert (await caller.raw(b"POST /events HTTP/1.1\r\n")).status == 408

    run(tmp_path, engine, work)


def test_too_many_at_once_are_told_to_come_again(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MOST_AT_ONCE", 1)

    async def work(caller: Caller) -> None:
        running, may_end = asyncio.Event(), asyncio.Event()

        @engine.on("custom:slow", id="slow")
        async def slow(_event: Event) -> None:
            running.set()
            await may_end.wait()

        first = asyncio.create_task(caller.post("/events/custom:slow", {}))
        await running.wait()
        second = await caller.post("/events/notification", {})
        assert (second.status, second.headers["retry-after"]) == (429, "1")
        may_end.set()
        assert (await first).status == 200
        assert (await caller.post("/events/notification", {})).status == 200

    run(tmp_path, engine, work)


def test_idle_strangers_do_not_keep_the_owner_out(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MOST_CONNECTIONS", 3)

    async def work(caller: Caller) -> None:
        held = [await asyncio.open_connection(caller.host, caller.port) for _ in range(10)]
        for _, writer in held:
            writer.write(b"POST")

        answer = await caller.post("/events/custom:deploy", {})

        assert answer.status == 200
        # the oldest went first
        with pytest.raises(ConnectionError):
            await _nothing(held[0][0])
        for _, writer in held:
            writer.close()

    run(tmp_path, engine, work)


async def _nothing(reader: asyncio.StreamReader) -> None:
    if not await reader.read():
        raise ConnectionError


def test_closing_waits_for_an_answer_and_ends_one_that_never_comes(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        token = read_token(tmp_path / "data")
        running, may_end = asyncio.Event(), asyncio.Event()

        @engine.on("custom:slow", id="slow")
        async def slow(_event: Event) -> None:
            running.set()
            await may_end.wait()

        server = await serve(lambda: nullcontext(engine), listen_address("127.0.0.1:0"), token)
        asked = asyncio.create_task(Caller(server, token).post("/events/custom:slow", {}))
        await running.wait()
        closing = asyncio.create_task(server.close())
        may_end.set()
        await closing
        assert (await asked).status == 200

        monkeypatch.setattr(http, "CLOSING", 0.05)
        running.clear()
        may_end.clear()
        server = await serve(lambda: nullcontext(engine), listen_address("127.0.0.1:0"), token)
        caller = Caller(server, token)
        reader, writer = await asyncio.open_connection(caller.host, caller.port)
        head = f"Host: localhost\r\nAuthorization: Bearer {token.value}\r\nContent-Length: 0\r\n\r\n"
        writer.write(f"POST /events/custom:slow HTTP/1.1\r\n{head}".encode())
        await running.wait()
        await server.close()
        with pytest.raises(ConnectionError):
            await _nothing(reader)
        writer.close()
        await engine.close()

    asyncio.run(work())


def test_a_proxy_in_front_has_a_name_of_its_own(tmp_path: Path, engine: Engine) -> None:
    async def work() -> None:
        token = read_token(tmp_path / "data")
        server = await serve(
            lambda: nullcontext(engine), listen_address("127.0.0.1:0"), token, hosts=("Hooks.example",)
        )
        caller = Caller(server, token)
        assert (await caller.post("/events/notification", {}, Host="hooks.example")).status == 200
        assert (await caller.post("/events/notification", {}, Host="other.example")).status == 403
        await server.close()
        await engine.close()

    asyncio.run(work())


def test_a_bug_is_no_yes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        token = read_token(tmp_path / "data")

        def broken() -> AbstractAsyncContextManager[Engine]:
            raise RuntimeError("a bug")

        server = await serve(broken, listen_address("127.0.0.1:0"), token)
        answer = await Caller(server, token).post("/events/notification", {})
        await server.close()
        assert (answer.status, answer.body) == (
            500,
            {"error": "the hooks could not be asked because of a bug in hookline"},
        )

    asyncio.run(work())

    assert "this is a bug in hookline" in caplog.text


def test_an_address_that_is_taken_is_an_error_with_the_address(tmp_path: Path) -> None:
    async def work() -> None:
        token = read_token(tmp_path / "data")
        server = await serve(lambda: nullcontext(Engine()), listen_address("127.0.0.1:0"), token)
        taken = server.url.removeprefix("http://")
        with pytest.raises(ConfigError, match=f"cannot listen at {taken}: Address already in use"):
            await serve(lambda: nullcontext(Engine()), listen_address(taken), token)
        await server.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8642", Address("127.0.0.1", 8642)),
        ("localhost:0", Address("127.0.0.1", 0)),
        ("[::1]:8642", Address("::1", 8642)),
    ],
)
def test_an_address_of_this_machine_is_one_to_listen_at(text: str, address: Address) -> None:
    assert listen_address(text) == address


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8642", "say HOST:PORT"),
        ("127.0.0.1", "say HOST:PORT"),
        ("127.0.0.1:99999", "say HOST:PORT"),
        ("::1:8642", "say HOST:PORT"),
        (":8642", "is no IP address"),
        ("example.com:80", "is no IP address"),
        ("0.0.0.0:80", "can be reached from other machines"),
        ("[::]:80", "can be reached from other machines"),
        ("192.0.2.1:80", "can be reached from other machines"),
    ],
)
def test_an_address_that_others_can_reach_is_none(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        listen_address(text)


def test_whoever_wants_it_listens_anywhere() -> None:
    assert listen_address("0.0.0.0:80", anywhere=True) == Address("0.0.0.0", 80)  # noqa: S104 - nobody listens there
