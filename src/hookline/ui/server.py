"""The server behind `hookline ui`: access, the routes of its API, and the files of the page."""

import asyncio
import hmac
import os
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from msgspec import Struct, to_builtins

from hookline import json_codec
from hookline.daemon import peer_check
from hookline.errors import ConfigError, EngineError
from hookline.http_server import HTTPException, HttpServer, Options, Request, Response, StreamingResponse, read_body
from hookline.stores.trace_queries import TraceFilter, TraceQueries, TraceStats
from hookline.text import sanitize
from hookline.ui import pages
from hookline.ui.live_feed import LiveFeed
from hookline.user_dirs import find_user_dirs

LOOPBACK: Final = "127.0.0.1"
STATIC: Final = Path(__file__).parent / "static"

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_JSON: Final = "application/json"
_LARGEST_BODY: Final = 1024 * 1024
_READING: Final = 20.0  # seconds between two pieces of a body
_CLOSING: Final = 3.0  # seconds that requests under way have when the server ends
_MOST: Final = 1_000
_LAST: Final = 2**53  # the largest number of a record that JSON carries exactly
_RECENT: Final = 30 * 86_400.0  # seconds of runs that the figures of hooks cover
_MOST_SPANS: Final = 1_000
# what browsers say of requests that this page made, or that the user typed
_OWN_SITES: Final = frozenset({"same-origin", "none"})
# seconds until a command is ended; hooks have timeouts of their own, which are shorter as a rule
LONGEST: Final = 600.0
METRICS_TOKEN: Final = "metrics.token"  # noqa: S105 - the name of a file


class ApiRequest(Struct, frozen=True):
    """A request to the API: the names in its path, its parameters, and the fields of its body."""

    names: tuple[str, ...]
    query: Mapping[str, str]
    body: Mapping[str, object]
    last_event: str = ""

    def number(self, name: str, default: float, *, most: float = float("inf")) -> float:
        """Return a parameter that is a number from 0 to `most`.

        Raises:
            HTTPException: It is none.
        """
        text = self.query.get(name, "")
        try:
            value = float(text) if text else default
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise HTTPException(400, sanitize(f"{name} is to be a number, not {text!r}"))
        return min(value, most)

    def filter(self) -> TraceFilter:
        """Return which calls are wanted."""
        word = self.query.get
        return TraceFilter(
            host=word("agent", ""),
            project=word("project", ""),
            session=word("session", ""),
            hook=word("hook", ""),
            decision=word("decision", ""),
            text=word("text", ""),
            since=self.number("since", 0.0),
        )

    def text(self, name: str) -> str:
        """Return a field of the body that is a text; empty without it.

        Raises:
            HTTPException: It is none.
        """
        value = self.body.get(name, "")
        if not isinstance(value, str):
            raise HTTPException(400, f"{name} is to be a text")
        return value


class Unmasked(Struct, frozen=True):
    """An answer in which a mask could hide what a user has to judge; its texts are escaped already."""

    value: Mapping[str, object]


class Route(Struct, frozen=True):
    """A route of the API. A star in the path is a name; an agent may not use a route that `loosens` its guards.

    An `answer` that is no coroutine function reads files, and is called in a thread.
    """

    method: str
    path: str
    answer: "Callable[[UiServer, ApiRequest], object]"
    loosens: bool = False

    def find_names(self, segments: list[str]) -> tuple[str, ...] | None:
        """Return the names in a path; None if it is another path."""
        parts = self.path.split("/")
        if len(parts) != len(segments) or any(
            part not in {"*", segment} for part, segment in zip(parts, segments, strict=True)
        ):
            return None
        return tuple(segment for part, segment in zip(parts, segments, strict=True) if part == "*")


class SignIn:
    """Exchanges a token that counts once for a cookie that counts as long as the server runs."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._is_used = False

    def exchange(self, token: str) -> str:
        """Return the cookie for the token; empty if it is wrong, or was used before."""
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        if not is_right or self._is_used:
            return ""
        self._is_used = True
        return self._cookie

    def is_known(self, cookies: Mapping[str, str], name: str) -> bool:
        """Return whether a client has the cookie."""
        return hmac.compare_digest(cookies.get(name, "").encode(), self._cookie.encode())


def read_metrics_token(data: Path) -> str:
    """Return the token with which a program reads the metrics; it is made when it is first needed, for the user alone."""
    path = data / METRICS_TOKEN
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text("utf-8").strip()
    token = secrets.token_urlsafe(32)
    with os.fdopen(handle, "w") as file:
        file.write(f"{token}\n")
    return token


async def run_command(*words: str) -> object:
    """Run a command with `--json` and return what it printed.

    A process of its own runs code of hooks, or edits files and tells the agents: so the page does what the command line does, and
    a hook that crashes or hangs takes that process with it.

    Raises:
        HTTPException: It failed, and says why.
    """
    # -P: a module of the folder in which the server was started must not be loaded
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "hookline", words[0], "--json", *words[1:]),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LONGEST):
            out, err = await process.communicate()
    except TimeoutError:
        raise HTTPException(500, f"`hookline {words[0]}` took longer than {LONGEST:g} seconds") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
    try:
        answer = json_codec.load(out)
    except ValueError:
        said = err.decode("utf-8", "replace").strip() or f"exit code {process.returncode}"
        raise HTTPException(500, sanitize(f"`hookline {words[0]}` failed: {said}")) from None
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if isinstance(error, Mapping):
        raise HTTPException(400, sanitize(str(error.get("message", ""))))
    return answer


def bind(port: int | None, *, usual: int = 4600) -> socket.socket:
    """Listen on this machine at a port; without one at the usual port, or at a free one where that is taken.

    Raises:
        ConfigError: The port cannot be used.
    """
    for number in (usual, 0) if port is None else (port,):
        try:
            return socket.create_server((LOOPBACK, number))
        except OSError as problem:
            reason = problem.strerror or str(problem)
            if number == 0 or port is not None:
                raise ConfigError(
                    f"cannot listen at {LOOPBACK}:{number}: {reason}; name another port with --port, or 0 for a free one"
                ) from None
    raise AssertionError


class UiServer:
    """Answers the page of one user, for one project unless a request names another."""

    def __init__(self, project: Path, *, read_only_reason: str = "") -> None:
        self._project = project
        self._folders = find_user_dirs(project)
        self._read_only_reason = read_only_reason
        self._traces_path = self._folders.data / "traces.db"
        self._live = LiveFeed(self._traces_path)
        self._sign_in = SignIn()
        self._metrics_token = read_metrics_token(self._folders.data)
        self._files = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}
        self._port = 0
        self._http = HttpServer(
            self._answer,
            Options(
                hosts=lambda: {LOOPBACK, "localhost"},
                check_peer=peer_check.find_tcp_reason,
                own_pages=True,
                headers=_HEADERS,
            ),
        )

    @property
    def url(self) -> str:
        """The address of the page, with the token that counts once."""
        return f"http://{LOOPBACK}:{self._port}/?token={self._sign_in.token}"

    @property
    def _cookie(self) -> str:
        # browsers send a cookie to every port of a host, so two servers need two names
        return f"hookline_ui_{self._port}"

    async def start(self, listening: socket.socket) -> None:
        """Begin to answer."""
        self._port = listening.getsockname()[1]
        await self._http.start(listening)

    async def close(self) -> None:
        """End all streams, answer what is under way, and end."""
        self._http.stop()
        await self._live.close()
        await self._http.close(_CLOSING)

    async def _answer(self, request: Request) -> Response:
        segments = [unquote(part) for part in request.scope["raw_path"].decode("latin-1").split("/")]
        is_reading = request.method in {"GET", "HEAD"}
        if segments[1] == "static" and is_reading:
            return self._send_file("/".join(segments[2:]))
        if segments == ["", ""] and is_reading:
            return self._send_page(request)
        is_known = self._sign_in.is_known(request.cookies, self._cookie)
        given = request.headers.get("authorization", "").encode("latin-1")
        has_metrics_token = hmac.compare_digest(given, f"Bearer {self._metrics_token}".encode())
        if not is_known and not (segments == ["", "metrics"] and has_metrics_token):
            raise HTTPException(401, "run `hookline ui` again, and open the link that it prints")
        self._http.mark_known(request)
        if request.headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            raise HTTPException(403, "requests of other web pages are not taken")
        return await self._answer_route(request, segments)

    def _send_file(self, name: str) -> Response:
        path = self._files.get(name)
        if path is None:
            raise HTTPException(404, "there is no such file")
        return Response(path.read_bytes(), media_type=_TYPES.get(path.suffix, "application/octet-stream"))

    def _send_page(self, request: Request) -> Response:
        token = request.query_params.get("token")
        # HEAD only looks: it must not use up the link
        if token is not None and request.method == "GET" and (cookie := self._sign_in.exchange(token)):
            response = Response(status_code=303, headers={"Location": "/"})
            response.set_cookie(self._cookie, cookie, path="/", httponly=True, samesite="strict")
            return response
        if not self._sign_in.is_known(request.cookies, self._cookie):
            response = self._send_file("unauthorised.html")
            response.status_code = 401
            return response
        if token is not None:
            # the token is not to stay in the history of the browser
            return Response(status_code=303, headers={"Location": "/"})
        return self._send_file("index.html")

    async def _answer_route(self, request: Request, segments: list[str]) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        found = [(route, names) for route in ROUTES if (names := route.find_names(segments)) is not None]
        if not found:
            raise HTTPException(404, "there is nothing of this name")
        chosen = next(((route, names) for route, names in found if route.method == method), None)
        if chosen is None:
            raise HTTPException(405, f"wanted {found[0][0].method}", {"Allow": found[0][0].method})
        route, names = chosen
        body = await self._read_body(request, route) if method == "POST" else {}
        api_request = ApiRequest(names, dict(request.query_params), body, request.headers.get("last-event-id", ""))
        try:
            if iscoroutinefunction(route.answer):
                answer = await route.answer(self, api_request)
            else:
                answer = await asyncio.to_thread(route.answer, self, api_request)
        except ConfigError as problem:
            raise HTTPException(400, sanitize(str(problem))) from None
        except EngineError as problem:
            raise HTTPException(500, sanitize(str(problem))) from None
        if isinstance(answer, Response):
            return answer
        return Response(await asyncio.to_thread(_encode, answer), media_type=_JSON)

    async def _read_body(self, request: Request, route: Route) -> Mapping[str, object]:
        """Return the fields of a request that changes something.

        Raises:
            HTTPException: It is not from the page, not allowed, or no JSON object.
        """
        # the server has compared it with its own already
        if "origin" not in request.headers:
            raise HTTPException(403, "only the page may change something: the Origin is missing")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise HTTPException(415, f"the body is to be {_JSON}")
        raw = await read_body(request, limit=_LARGEST_BODY, seconds=_READING)
        if route.loosens and self._read_only_reason:
            raise HTTPException(403, self._read_only_reason)
        if raw is None:
            raise HTTPException(413, f"the body is larger than {_LARGEST_BODY} bytes")
        try:
            body = json_codec.load(raw or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise HTTPException(400, "the body is no JSON object")
        return body

    def _open_traces(self) -> TraceQueries:
        # one for each request: the lock of a shared one would have requests wait for each other
        return TraceQueries(self._traces_path)

    def _find_project(self, named: str) -> str:
        return named or str(self._project)

    def show_status(self, _request: ApiRequest) -> object:
        """Return what the head of the page needs."""
        status = pages.describe_status(self._open_traces(), self._folders, self._project)
        reason = self._read_only_reason
        return {**status, "read_only": bool(reason), "read_only_reason": reason}

    def list_calls(self, request: ApiRequest) -> object:
        """Return a page of calls."""
        limit, before = int(request.number("limit", 100, most=_MOST)), int(request.number("before", 0, most=_LAST))
        return pages.list_calls(self._open_traces(), request.filter(), limit=limit, before=before)

    async def stream_calls(self, request: ApiRequest) -> object:
        """Return the calls as they end."""
        text = request.last_event or request.query.get("after", "")
        after = int(text) if text.isdecimal() else 0
        events: AsyncIterator[bytes] = self._live.stream(request.filter(), after=after)
        return StreamingResponse(events, media_type="text/event-stream")

    def show_call(self, request: ApiRequest) -> object:
        """Return one call with its records."""
        traces = self._open_traces()
        call = traces.find_call(request.names[0])
        if call is None:
            raise HTTPException(404, "there is no such call, or it was removed")
        facts = dict(pages.describe_call(traces, call))
        records, diff = facts.pop("records"), facts.pop("diff")
        return {"call": facts, "records": records, "diff": diff}

    def list_sessions(self, request: ApiRequest) -> object:
        """Return the newest sessions."""
        limit, traces = int(request.number("limit", 50, most=_MOST)), self._open_traces()
        found = traces.sessions(request.filter(), limit=limit)
        return {"sessions": [pages.session_to_json(traces, one) for one in found]}

    def show_session(self, request: ApiRequest) -> object:
        """Return a page of a session."""
        limit, before = int(request.number("limit", 200, most=_MOST)), int(request.number("before", 0, most=_LAST))
        traces, session = self._open_traces(), request.names[0]
        found = traces.sessions(TraceFilter(session=session), limit=1) if session else []
        if not found:
            raise HTTPException(404, "there is no such session, or its records were removed")
        calls = traces.session_events(session, limit=limit + 1, before=before)
        return {
            "session": pages.session_to_json(traces, found[0]),
            "calls": [pages.describe_call(traces, call) for call in calls[-limit:]],
            "more": len(calls) > limit,
        }

    def list_hooks(self, request: ApiRequest) -> object:
        """Return the hooks of a project with their figures."""
        wanted = TraceFilter(since=time.time() - _RECENT)
        figures = {one.hook: one for one in TraceStats(self._traces_path).hooks(wanted)}
        return pages.list_hooks(self._find_project(request.query.get("project", "")), figures)

    def show_approval(self, request: ApiRequest) -> object:
        """Return the approval screen of a hook."""
        project = self._find_project(request.query.get("project", ""))
        return Unmasked(pages.show_approval(project, request.names[0]))

    def approve_hook(self, request: ApiRequest) -> object:
        """Approve a hook as it was shown."""
        return pages.approve(self._find_project(request.text("project")), request.names[0], request.text("digest"))

    def revoke_hook(self, request: ApiRequest) -> object:
        """Take the approval of a hook back."""
        return pages.revoke(self._find_project(request.text("project")), request.names[0])

    async def enable_hook(self, request: ApiRequest) -> object:
        """Switch a hook on."""
        return await self._toggle("enable", request)

    async def disable_hook(self, request: ApiRequest) -> object:
        """Switch a hook off."""
        return await self._toggle("disable", request)

    async def _toggle(self, command: str, request: ApiRequest) -> object:
        project = self._find_project(request.text("project"))
        done = await run_command(command, "--project", project, "--", request.names[0])
        facts = done if isinstance(done, Mapping) else {}
        notes = facts.get("notes")
        said = [str(facts.get("what"))] if facts.get("changed") else []
        return {"message": "; ".join([*said, *map(str, notes if isinstance(notes, list) else ())])}

    async def test_hook(self, request: ApiRequest) -> object:
        """Run a hook for real, with a sample event.

        Raises:
            HTTPException: It may not run.
        """
        project, event = self._find_project(request.text("project")), request.text("event")
        chosen = ("--event", event) if event else ()
        done = await run_command("test", "--no-input", "--project", project, *chosen, "--", request.names[0])
        facts = done if isinstance(done, Mapping) else {}
        if not facts.get("ran"):
            raise HTTPException(409, sanitize(f"{request.names[0]} was not run: {facts.get('objection')}"))
        names = ("reason", "duration", "failure", "stdout", "stderr", "exit_code")
        return {"decision": facts["verdict"], "sandbox": facts["layers"], **{name: facts[name] for name in names}}

    def show_matrix(self, _request: ApiRequest) -> object:
        """Return what agents can do."""
        return pages.describe_matrix()

    def show_metrics(self, request: ApiRequest) -> object:
        """Return figures over time."""
        since = request.number("since", 3_600) or 3_600.0
        # a span for each pixel of a plot is enough
        step = max(request.number("step", since / 60), since / _MOST_SPANS)
        return pages.describe_metrics(self._traces_path, since=since, step=step)

    def show_queue(self, _request: ApiRequest) -> object:
        """Return jobs and limits."""
        return pages.describe_queue(self._folders.data, str(self._project))

    async def show_doctor(self, _request: ApiRequest) -> object:
        """Return what `hookline doctor` finds."""
        return pages.shape_doctor(await run_command("doctor", "--project", str(self._project)))

    async def replay(self, request: ApiRequest) -> object:
        """Return what the hooks, with the rules of a text beside them, would decide about a recorded session."""
        from hookline.replay.replay import replay_session  # noqa: PLC0415 - loads projects and kinds, and few ask for it

        project = Path(request.text("project")) if request.text("project") else None
        report = await replay_session(self._folders.data, request.text("session"), project, request.text("toml"))
        return to_builtins(report)

    def export_metrics(self, _request: ApiRequest) -> object:
        """Return the metrics of all hooks for Prometheus."""
        from hookline.telemetry.prometheus import CONTENT_TYPE, render_metrics  # noqa: PLC0415 - few scrape

        return Response(render_metrics(self._folders.data), media_type=CONTENT_TYPE)


def _encode(answer: object) -> bytes:
    """Return an answer as JSON, with every text made safe to show: the one place where that happens."""
    return json_codec.dump(answer.value if isinstance(answer, Unmasked) else pages.mask(answer))


ROUTES: Final = (
    Route("GET", "/api/status", UiServer.show_status),
    Route("GET", "/api/calls", UiServer.list_calls),
    Route("GET", "/api/calls/*", UiServer.show_call),
    Route("GET", "/api/stream", UiServer.stream_calls),
    Route("GET", "/api/sessions", UiServer.list_sessions),
    Route("GET", "/api/sessions/*", UiServer.show_session),
    Route("GET", "/api/hooks", UiServer.list_hooks),
    Route("GET", "/api/hooks/*/approval", UiServer.show_approval),
    Route("POST", "/api/hooks/*/approve", UiServer.approve_hook, loosens=True),
    Route("POST", "/api/hooks/*/revoke", UiServer.revoke_hook, loosens=True),
    Route("POST", "/api/hooks/*/enable", UiServer.enable_hook),
    Route("POST", "/api/hooks/*/disable", UiServer.disable_hook, loosens=True),
    Route("POST", "/api/hooks/*/test", UiServer.test_hook, loosens=True),
    Route("GET", "/api/matrix", UiServer.show_matrix),
    Route("GET", "/api/metrics", UiServer.show_metrics),
    Route("GET", "/api/queue", UiServer.show_queue),
    Route("GET", "/api/doctor", UiServer.show_doctor),
    Route("POST", "/api/replay", UiServer.replay, loosens=True),
    Route("GET", "/metrics", UiServer.export_metrics),
)
