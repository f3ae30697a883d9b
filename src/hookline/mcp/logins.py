"""Logins at MCP servers: how a user logs in with OAuth and out again, and where the logins are stored.

Each login has a file in the data folder, and its secrets are in the keyring of the system where that works. A login belongs to a
URL, not to a name: a project that gives its own server the name of another gets no token of that one.

The SDK finds the authorization server, registers this program there, and exchanges the code; this module shows the link, and
takes the code from the browser that comes back to this machine, or from a link that the user pastes.
"""

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import McpError
from hookline.files import make_private_folder, replace_file
from hookline.model.mcp_server import McpServer

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend
    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken
    from starlette.requests import Request
    from starlette.responses import Response


_FOLDER: Final = "mcp"
_SERVICE: Final = "hookline-mcp"
_PROBE: Final = "hookline-mcp-probe"
_POLL: Final = 0.02
_PATIENCE: Final = 20.0


class Storage(StrEnum):
    """Where the secrets of a login are stored."""

    KEYRING = "keyring"
    FILE = "file"


class LoginSecrets(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is secret about a login."""

    access_token: str = ""
    refresh_token: str = ""
    client_secret: str = ""


class Login(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A login at a server. `expires_at` is 0 if the server did not say; `problem` says why it no longer counts.

    `secrets` are in the file only where there is no keyring.
    """

    url: str
    name: str
    token_endpoint: str
    client_id: str
    storage: Storage = Storage.FILE
    auth_method: str = ""
    revocation_endpoint: str = ""
    issuer: str = ""
    resource: str = ""
    scope: str = ""
    expires_at: float = 0.0
    at: float = 0.0
    problem: str = ""
    secrets: LoginSecrets | None = None


def login_needed(name: str, why: str) -> McpError:
    """Return the error for a server that wants a login."""
    return McpError(f'the MCP server "{name}" {why}: run `hookline mcp login {name}`', kind="unavailable")


class TokenStore:
    """The logins of a user."""

    def __init__(self, data: Path) -> None:
        """Take the data folder of the user."""
        self._folder = data / _FOLDER

    def load(self, url: str) -> Login | None:
        """Return the login at a server; None if there is none.

        Raises:
            McpError: It cannot be read.
        """
        try:
            return msgspec.json.decode(self.path(url).read_bytes(), type=Login)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as problem:
            text = f"{self.path(url)} cannot be read ({problem}); remove it, and log in again with `hookline mcp login`"
            raise McpError(text, kind="unavailable") from None

    def read_secrets(self, login: Login) -> LoginSecrets:
        """Return the secrets of a login, without a question to the user.

        Raises:
            McpError: The keyring is locked, or no longer has them.
        """
        if login.secrets is not None:
            return login.secrets
        backend = _find_keyring()
        if backend is None or _is_locked(backend):
            text = f'the keyring that holds the token of the MCP server "{login.name}" is locked or not there'
            what_now = f"unlock it, or run `hookline mcp login {login.name} --store file`"
            raise McpError(f"{text}: {what_now}", kind="unavailable")
        try:
            stored = backend.get_password(_SERVICE, login.url)
            return msgspec.json.decode(stored or "", type=LoginSecrets)
        except Exception:  # noqa: BLE001 - each backend raises errors of its own
            raise login_needed(login.name, "has no token in the keyring any more") from None

    def save(self, login: Login, secrets: LoginSecrets) -> Login:
        """Store a login; where the keyring fails, in a file that only the user can read."""
        login = replace(login, secrets=None)
        if login.storage is Storage.KEYRING:
            try:
                _require_keyring().set_password(_SERVICE, login.url, msgspec.json.encode(secrets).decode())
            except Exception:  # noqa: BLE001 - as above
                login = replace(login, storage=Storage.FILE)
        if login.storage is Storage.FILE:
            login = replace(login, secrets=secrets)
        self._write(login)
        return login

    def void(self, login: Login, problem: str) -> None:
        """Note that a login no longer counts, so that no request is made with it."""
        self._write(replace(login, problem=problem))

    def forget(self, login: Login) -> None:
        """Delete a login and its secrets."""
        if login.storage is Storage.KEYRING:
            with suppress(Exception):
                _require_keyring().delete_password(_SERVICE, login.url)
        self.path(login.url).unlink(missing_ok=True)

    def path(self, url: str) -> Path:
        """Return the file of the login at a server."""
        return self._folder / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"

    @contextmanager
    def lock(self, url: str, patience: float = _PATIENCE) -> Iterator[None]:
        """Keep other processes from changing a login: two that refresh a token at once would void each other's.

        Raises:
            McpError: Another process holds the lock for too long.
        """
        make_private_folder(self._folder)
        handle = os.open(self.path(url).with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _wait_for_lock(handle, time.monotonic() + patience)
            yield
        finally:
            os.close(handle)

    def _write(self, login: Login) -> None:
        make_private_folder(self._folder)
        replace_file(self.path(login.url), msgspec.json.encode(login), mode=0o600)


def choose_storage() -> Storage:
    """Return where secrets can be stored: the keyring is tried with a value."""
    backend = _find_keyring()
    try:
        if backend is None:
            return Storage.FILE
        backend.set_password(_PROBE, _PROBE, _PROBE)
        works = backend.get_password(_PROBE, _PROBE) == _PROBE
        backend.delete_password(_PROBE, _PROBE)
    except Exception:  # noqa: BLE001 - each backend raises errors of its own
        return Storage.FILE
    return Storage.KEYRING if works else Storage.FILE


def _find_keyring() -> "KeyringBackend | None":
    try:
        import keyring  # noqa: PLC0415 - takes 0.1 s, and is only installed with the extra
        from keyring.backends import chainer, fail, null  # noqa: PLC0415
    except ImportError:
        return None
    backend = keyring.get_keyring()
    is_none = isinstance(backend, fail.Keyring | null.Keyring)
    return None if is_none or (isinstance(backend, chainer.ChainerBackend) and not backend.backends) else backend


def _require_keyring() -> "KeyringBackend":
    backend = _find_keyring()
    if backend is None:
        raise McpError("there is no keyring")
    return backend


def _is_locked(backend: "KeyringBackend") -> bool:
    """Return whether asking the keyring would ask the user for a password; known for the Secret Service of desktops."""
    parts = getattr(backend, "backends", None) or [backend]
    if not any(type(part).__module__.endswith(".SecretService") for part in parts):
        return False
    try:
        import secretstorage  # noqa: PLC0415 - comes with keyring on Linux

        with closing(secretstorage.dbus_init()) as bus:
            return bool(secretstorage.get_default_collection(bus).is_locked())
    except Exception:  # noqa: BLE001 - no bus, or no collection
        return True


def _wait_for_lock(handle: int, deadline: float) -> None:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise McpError("another process refreshes this token and does not end", kind="unavailable") from None
            time.sleep(_POLL)
        else:
            return


TIMEOUT: Final = 300.0
_HOST: Final = "127.0.0.1"
_PATH: Final = "/callback"
_SHOWN: Final = 300
_DONE: Final = "You are logged in. You can close this page."

# shows the link to the user
ShowLink = Callable[[str], Awaitable[None]]
# returns the link that the user pastes: the one that the browser was sent to
ReadPasted = Callable[[], Awaitable[str]]


class LoginOptions(Struct, frozen=True, kw_only=True):
    """What a user may choose: a client that is registered already, scopes, and the port that the browser comes back to."""

    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    port: int = 0
    storage: Storage = Storage.FILE
    timeout: float = TIMEOUT


async def log_in(
    server: McpServer, store: TokenStore, options: LoginOptions, *, show: ShowLink, paste: ReadPasted | None = None
) -> Login | None:
    """Log in and store the tokens; None if the server wants no login.

    Raises:
        McpError: The login failed; the message says why.
    """
    try:
        import httpx2  # noqa: PLC0415 - as the SDK, only needed here
        from mcp import Client  # noqa: PLC0415
        from mcp.client.auth import OAuthClientProvider  # noqa: PLC0415
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415
        from mcp.shared.auth import OAuthClientMetadata  # noqa: PLC0415
    except ImportError:
        raise McpError("MCP servers need another package: pip install 'hookline[mcp]'", kind="unavailable") from None
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    with socket.create_server((_HOST, options.port)) as listening:
        address = f"http://{_HOST}:{listening.getsockname()[1]}{_PATH}"
        memory = _Memory(options, address)
        browser = _Browser(paste)
        await browser.listen(listening)
        provider = OAuthClientProvider(
            server.url,
            OAuthClientMetadata.model_validate(
                {
                    "client_name": "Hookline",
                    "redirect_uris": [address],
                    "scope": options.scope or None,
                }
            ),
            memory,
            show,
            browser.wait_for_code,
        )
        try:
            async with (
                asyncio.timeout(options.timeout),
                httpx2.AsyncClient(headers=dict(server.headers), auth=provider, timeout=options.timeout) as client,
                Client(streamable_http_client(server.url, http_client=client)),
            ):
                pass
        except TimeoutError:
            raise McpError(
                f"the login was not completed within {options.timeout:g} s; nothing was stored", kind="timeout"
            ) from None
        except Exception as problem:
            if memory.tokens is None:
                raise McpError(f'the login at the MCP server "{server.name}" failed: {_describe(problem)}') from problem
        finally:
            await browser.close()
    if memory.tokens is None:
        return None
    return store.save(*_make_login(server, provider, memory, options.storage))


async def log_out(login: Login, store: TokenStore) -> str:
    """Revoke the tokens where the server can, and delete them; return why they were not revoked, or ""."""
    from hookline.mcp.auth import post_form  # noqa: PLC0415 - takes 0.15 s

    why = ""
    try:
        secrets = store.read_secrets(login)
        if not login.revocation_endpoint:
            why = "the server has no endpoint for that"
        else:
            tokens = {"refresh_token": secrets.refresh_token, "access_token": secrets.access_token}
            for hint, token in tokens.items():
                form = {"token": token, "token_type_hint": hint}
                answer, _ = await post_form(login, secrets, login.revocation_endpoint, form) if token else ({}, 0)
                why = why or str(answer.get("error") or "")
    except McpError as problem:
        why = str(problem)
    store.forget(login)
    return why


class _Memory:
    """Keeps what the SDK finds out until the login is complete."""

    def __init__(self, options: LoginOptions, address: str) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        if options.client_id:
            from mcp.shared import auth  # noqa: PLC0415 - as above

            self.client = auth.OAuthClientInformationFull.model_validate(
                {
                    "client_id": options.client_id,
                    "client_secret": options.client_secret or None,
                    "redirect_uris": [address],
                    "token_endpoint_auth_method": "client_secret_post" if options.client_secret else "none",
                }
            )

    async def get_tokens(self) -> "OAuthToken | None":
        return self.tokens

    async def set_tokens(self, tokens: "OAuthToken") -> None:
        self.tokens = tokens

    async def get_client_info(self) -> "OAuthClientInformationFull | None":
        return self.client

    async def set_client_info(self, client_info: "OAuthClientInformationFull") -> None:
        self.client = client_info


class _Browser:
    """Waits for the browser to come back, or for the link that it was sent to."""

    def __init__(self, paste: ReadPasted | None) -> None:
        from hookline import http_server  # noqa: PLC0415 - takes 0.1 s

        self._refuse = http_server.HTTPException
        self._respond = http_server.Response
        self._paste = paste
        self._code: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._server = http_server.HttpServer(self._answer, http_server.Options(hosts=lambda: (_HOST, "localhost")))
        self._reading: asyncio.Task[None] | None = None

    async def listen(self, listening: socket.socket) -> None:
        """Accept the browser from now on."""
        await self._server.start(listening)

    async def wait_for_code(self) -> "AuthorizationCodeResult":
        """Return what the authorization server sent."""
        if self._paste is not None:
            self._reading = asyncio.get_running_loop().create_task(self._read_pasted(self._paste))
        return await self._code

    async def close(self) -> None:
        """Stop waiting."""
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading
        self._code.cancel()
        await self._server.close(timeout=1.0)

    async def _answer(self, request: "Request") -> "Response":
        if request.url.path != _PATH:
            raise self._refuse(404, "there is nothing here")
        self._take(request.url.query)
        return self._respond(_DONE, media_type="text/plain")

    async def _read_pasted(self, paste: ReadPasted) -> None:
        while not self._code.done():
            line = await paste()
            if not line:
                return
            self._take(urlsplit(line.strip()).query)

    def _take(self, query: str) -> None:
        from mcp.shared.auth import AuthorizationCodeResult  # noqa: PLC0415 - as above

        found = {name: values[0] for name, values in parse_qs(query).items()}
        if self._code.done():
            return
        if "error" in found:
            said = found.get("error_description") or found["error"]
            self._code.set_exception(McpError(f"the authorization server says: {said[:_SHOWN]}"))
        elif "code" in found:
            code = AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))
            self._code.set_result(code)


def _make_login(
    server: McpServer, provider: "OAuthClientProvider", memory: _Memory, storage: Storage
) -> tuple[Login, LoginSecrets]:
    context, tokens, client = provider.context, memory.tokens, memory.client
    if tokens is None or client is None:
        raise McpError(f'the MCP server "{server.name}" gave no token')
    found = context.oauth_metadata
    base = context.get_authorization_base_url(server.url)
    login = Login(
        url=server.url,
        name=server.name,
        token_endpoint=str(found.token_endpoint) if found is not None else f"{base}/token",
        revocation_endpoint=str(found.revocation_endpoint or "") if found is not None else "",
        issuer=str(found.issuer) if found is not None else base,
        client_id=client.client_id or "",
        auth_method=client.token_endpoint_auth_method or "",
        resource=context.get_resource_url() if context.should_include_resource_param(context.protocol_version) else "",
        scope=tokens.scope or "",
        storage=storage,
        expires_at=time.time() + tokens.expires_in if tokens.expires_in else 0.0,
        at=time.time(),
    )
    secrets = LoginSecrets(
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or "",
        client_secret=client.client_secret or "",
    )
    return login, secrets


def _describe(problem: BaseException) -> str:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return (str(problem) or type(problem).__name__)[:_SHOWN]
