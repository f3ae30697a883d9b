"""Answer agents that call a URL: on this machine, for programs of this user that know the token.

Unlike the launcher, such an agent has no fallback: whatever goes wrong here, the policy of its entry decides.
"""

import asyncio
import hmac
import logging
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from msgspec.structs import replace

from hookline import json_codec
from hookline.bridge.call import OPTION, PROBE_VARIABLE, PROJECT_VARIABLES, Call, IfBroken, event_from_name, parse_argv
from hookline.bridge.fallback import fallback_outcome
from hookline.daemon import peer_check
from hookline.daemon.socket_server import CallDispatcher
from hookline.dialects import ENVIRONMENT
from hookline.hosts import HOSTS, http_endpoint
from hookline.hosts.http_endpoint import HttpEndpoint
from hookline.model.exchange import Answer
from hookline.model.installed_entry import NESTING
from hookline.user_dirs import find_user_dirs

if TYPE_CHECKING:
    from hookline.http_server import HttpServer, Request, Response

logger: Final = logging.getLogger(__name__)

# the variable in which a daemon that restarts finds the listening socket on which agents wait meanwhile
SOCKET_VARIABLE: Final = "HOOKLINE_HTTP_SOCKET"

_HOME: Final = "127.0.0.1"
_PATH: Final = "hookline/v1/hook"
_POLICY: Final = "if-broken"
_BACKLOG: Final = 128
_LARGEST_BODY: Final = 256 * 1024 * 1024  # bytes: as much as a command takes
_READING: Final = 20.0  # seconds between two pieces of a body
_BLOCKED: Final = 2  # exit code

# What an agent tells its own hooks: the agent that happened to start the daemon is not the one that calls.
_SESSION_VARIABLES: Final = frozenset(
    {
        *ENVIRONMENT,
        *PROJECT_VARIABLES.values(),
        *(f"CLAUDE_{name}" for name in ("EFFORT", "ENV_FILE", "PID")),
        *(f"CLAUDE_CODE_{name}" for name in ("BRIDGE_SESSION_ID", "CHILD_SESSION", "ENTRYPOINT", "SESSION_ID")),
        *(NESTING, PROBE_VARIABLE, "TRACEPARENT", "PWD", "OLDPWD"),
    }
)
_PLUGIN_PREFIX: Final = "CLAUDE_PLUGIN_"


class HttpFront:
    """Listens where the user's settings have agents call, as long as they do."""

    def __init__(self, dispatcher: CallDispatcher, *, used: Callable[[], object], umask: int) -> None:
        self._dispatcher = dispatcher
        self._used = used
        self._umask = umask
        self._inherited = _inherited_socket()
        # without what is true only for the agent that happened to start the daemon
        self._environ = {
            name: value
            for name, value in os.environ.items()
            if name not in _SESSION_VARIABLES and not name.startswith(_PLUGIN_PREFIX)
        }
        self._data = find_user_dirs(Path("/")).data
        self._address: HttpEndpoint | None = None
        self._server: HttpServer | None = None
        self._last_problem = ""
        self._lock = asyncio.Lock()
        self.is_leaving = False

    @property
    def is_open(self) -> bool:
        """Whether agents can call."""
        return self._server is not None

    @property
    def url(self) -> str:
        """The URL of this machine where agents call, or ""."""
        return f"http://{_HOME}:{self._address.port}" if self._address is not None and self.is_open else ""

    async def look(self) -> None:
        """Read where the settings want the daemon to listen, and listen there or not at all."""
        async with self._lock:
            address = http_endpoint.read_endpoint(self._data)
            wanted = address if address is not None and address.python == sys.executable else None
            before, self._address = self._address, wanted
            if self._server is not None and (wanted is None or before is None or wanted.port != before.port):
                self.close()
            if wanted is None and self._inherited is not None:
                self._inherited.close()
                self._inherited = None
            if wanted is not None and self._server is None:
                await self._open(wanted.port)

    async def _open(self, port: int) -> None:
        # loaded only by a daemon that agents call by URL
        from hookline.http_server import HttpServer, Options  # noqa: PLC0415

        listening, self._inherited = self._inherited, None
        names = frozenset({f"{_HOME}:{port}", f"localhost:{port}"})
        server = HttpServer(self._answer, Options(hosts=lambda: names, check_peer=peer_check.find_tcp_reason))
        if listening is not None and listening.getsockname()[:2] != (_HOME, port):
            listening.close()
            listening = None
        try:
            # the connections of a daemon that has just ended do not keep the port
            await server.start(listening or socket.create_server((_HOME, port), backlog=_BACKLOG))
        except OSError as problem:
            # logged once: the daemon tries again and again
            if self._last_problem != str(problem):
                logger.warning("cannot answer at %s:%s: %s", _HOME, port, problem)
            self._last_problem = str(problem)
            return
        self._server = server
        self._last_problem = ""
        logger.info("agents may call http://%s:%s", _HOME, port)

    def close(self, *, hand_on: bool = False) -> None:
        """Accept no new connections and close the idle ones; calls under way are answered.

        With `hand_on`, the listening socket stays open for the program that replaces this one, and agents wait in its
        backlog.
        """
        if self._server is None:
            return
        if hand_on:
            handle = os.dup(self._server.sockets[0].fileno())
            os.set_inheritable(handle, True)  # noqa: FBT003 - it takes nothing else
            os.environ[SOCKET_VARIABLE] = str(handle)
        self._server.stop()
        self._server = None

    async def _answer(self, request: "Request") -> "Response":
        """Answer one call with a document; whatever goes wrong in the hooks, there is one."""
        from hookline.http_server import ClientDisconnect, Response, read_body  # noqa: PLC0415

        server = self._server
        call = self._admit(request)
        if server is not None:
            server.mark_known(request)
        body = await read_body(request, limit=_LARGEST_BODY, seconds=_READING)
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        # the daemon stays until the hooks have run and the response is sent
        serving = asyncio.create_task(self._serve(call, request, body, answered))
        for task in (serving, asyncio.current_task()):
            if task is not None:
                self._dispatcher.running.add(task)
                task.add_done_callback(self._dispatcher.running.discard)
        gone = asyncio.create_task(_wait_for_disconnect(request))
        try:
            await asyncio.wait((answered, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if not answered.done():
            # the hooks of a client that gave up end with it
            serving.cancel()
            raise ClientDisconnect
        answer = answered.result()
        document = answer.stdout.strip()
        if answer.exit_code == _BLOCKED and not document:
            # the document that agents of this family read in place of a blocking exit code
            reason = answer.stderr.decode("utf-8", "replace").strip()
            document = json_codec.dump({"decision": "block", "reason": reason})
        close = {"Connection": "close"} if self.is_leaving or not self.is_open else None
        return Response(document, 200, close, media_type="application/json")

    def _admit(self, request: "Request") -> Call:
        """Return which call a request is.

        Raises:
            HTTPException: The client may not call, or there is no such call.
        """
        from hookline.http_server import HTTPException  # noqa: PLC0415

        if self._address is None:
            raise HTTPException(503, "agents are not answered here any more")
        given = request.headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(given, f"Bearer {self._address.token}".encode()):
            raise HTTPException(401, "the token is missing, or another one")
        if request.method != "POST":
            raise HTTPException(405, "only POST is understood", {"Allow": "POST"})
        # /hookline/v1/hook/HOST/EVENT, and what happens when we are broken
        prefix, _, names = request.scope["raw_path"].decode().strip("/").partition(f"{_PATH}/")
        host, _, event = (unquote(word) for word in names.partition("/"))
        options = dict(request.query_params)
        policy = options.pop(_POLICY, IfBroken.BLOCK)
        if prefix or not names or options:
            raise HTTPException(404, f"nothing is here; wanted /{_PATH}/HOST/EVENT?{_POLICY}=block")
        call, _, reason = parse_argv((f"{OPTION}={policy}", host, event))
        if call is None:
            raise HTTPException(404, reason)
        spec = call.dialect.SPEC
        if spec.name not in HOSTS or not HOSTS[spec.name].can_call_url(event):
            raise HTTPException(404, f"an answer at {event} of {spec.title} cannot be given over HTTP")
        return call

    async def _serve(
        self, call: Call, request: "Request", body: bytes | None, answered: "asyncio.Future[Answer]"
    ) -> None:
        def send(answer: Answer) -> None:
            if not answered.done():
                answered.set_result(answer)

        self._used()
        if body is None:
            send(_refusal(call, f"the event is longer than {_LARGEST_BODY // 1024 // 1024} MiB"))
            return
        carried = ((NESTING, http_endpoint.NESTED), (PROBE_VARIABLE, http_endpoint.CANARY))
        variables = {variable: value for variable, name in carried if (value := request.headers.get(name, ""))}
        try:
            await self._dispatcher.serve(
                replace(call, raw=body),
                send,
                environ={**self._environ, **variables},
                folder=_folder(body),
                umask=self._umask,
            )
        except Exception as problem:
            # an answer that was sent before stands
            logger.exception("a call of a URL could not be answered")
            send(_refusal(call, repr(problem)))


async def _wait_for_disconnect(request: "Request") -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _refusal(call: Call, why: str) -> Answer:
    event = event_from_name(call.dialect, call.native)
    is_blocked = call.if_broken is not IfBroken.ALLOW
    outcome = fallback_outcome(call.dialect, event, why, is_blocked=is_blocked)
    return call.dialect.encode_outcome(outcome, event)


def _folder(body: bytes) -> str:
    """Return the working folder that the agent names in its event."""
    try:
        document = json_codec.load(body)
    except ValueError:
        return "/"
    folder = document.get("cwd") if isinstance(document, dict) else None
    is_folder = isinstance(folder, str) and os.path.isabs(folder) and "\0" not in folder and os.path.isdir(folder)  # noqa: PTH112, PTH117
    return str(folder) if is_folder else "/"


def _inherited_socket() -> socket.socket | None:
    """Return the listening socket that this program kept open when it restarted itself."""
    number = os.environ.pop(SOCKET_VARIABLE, "")
    if not number.isdecimal():
        return None
    try:
        inherited = socket.socket(fileno=int(number))
        inherited.set_inheritable(False)
    except OSError:
        return None
    return inherited
