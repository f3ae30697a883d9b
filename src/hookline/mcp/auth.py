"""Authorization of requests to an MCP server with stored tokens: refreshed in silence, and never with a question.

The SDK's own provider starts a login in the browser when a server refuses a token; it is used for `hookline mcp login` alone.
"""

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Final
from urllib.parse import quote

import httpx2
from msgspec.structs import replace

from hookline import json_codec
from hookline.errors import McpError
from hookline.mcp.logins import Login, LoginSecrets, TokenStore, login_needed

# a token that is about to expire is refreshed before it is used
_EARLY: Final = 10.0
_TIMEOUT: Final = 10.0
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
# what a token endpoint answers when a login no longer counts; any other failure may be over soon
_VOID: Final = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
_SHOWN: Final = 200


class TokenAuth(httpx2.Auth):
    """Adds the token of a server to requests. `problem` is why the last request was refused, if it was."""

    def __init__(self, store: TokenStore, name: str, url: str, *, has_header: bool = False) -> None:
        """Take the store, and name and URL of the server; `has_header` says that its definition has the authorization."""
        self.problem: McpError | None = None
        self._store = store
        self._name = name
        self._url = url
        self._has_header = has_header
        self._refreshing: set[asyncio.Task[str]] = set()

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token, and once more with a new one if that is refused."""
        self.problem = None
        token = await self.get_token()
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == _FORBIDDEN and "insufficient_scope" in response.headers.get("www-authenticate", ""):
            text = f'the login at the MCP server "{self._name}" does not allow this'
            self.problem = McpError(f"{text}: run `hookline mcp login {self._name} --scope …`", kind="unavailable")
            raise self.problem
        if response.status_code != _UNAUTHORIZED:
            return
        if token:
            token = await self.get_token(rejected=token)
            request.headers["Authorization"] = f"Bearer {token}"
            response = yield request
        if response.status_code == _UNAUTHORIZED:
            self._refuse(has_token=bool(token))

    async def get_token(self, *, rejected: str = "") -> str:
        """Return a token that is valid as far as is known here, and is not the one that was rejected; "" without a login.

        Raises:
            McpError: The login no longer counts, or the token cannot be refreshed now.
        """
        try:
            return "" if self._has_header else await self._find_token(rejected)
        except McpError as problem:
            self.problem = problem
            raise

    async def check(self, headers: Mapping[str, str]) -> None:
        """Ask the server whether it takes the token, before anything else is loaded or sent.

        Raises:
            McpError: It does not.
        """
        # of a stream of events, no more than the status is read
        async with (
            make_client(self._url, auth=self) as client,
            client.stream("GET", self._url, headers={**headers, "accept": "text/event-stream"}) as response,
        ):
            await response.aclose()
        if self.problem is not None:
            raise self.problem

    async def close(self) -> None:
        """Wait for refreshes under way: a new token that is not stored would be lost."""
        if self._refreshing:
            await asyncio.wait(self._refreshing, timeout=_TIMEOUT)

    def _refuse(self, *, has_token: bool) -> None:
        if self._has_header:
            text = f'the MCP server "{self._name}" refuses the Authorization header in its definition (401)'
            self.problem = McpError(f"{text}: correct it", kind="unavailable")
        else:
            self.problem = login_needed(self._name, "refuses the token" if has_token else "wants a login")
        raise self.problem

    async def _find_token(self, rejected: str) -> str:
        login = self._store.load(self._url)
        if login is None:
            return ""
        token = self._get_valid(login, rejected)
        if token:
            return token
        # a caller that gives up must not interrupt it: the server has replaced the refresh token by then
        task = asyncio.get_running_loop().create_task(self._refresh(rejected))
        self._refreshing.add(task)
        task.add_done_callback(self._refreshing.discard)
        return await asyncio.shield(task)

    def _get_valid(self, login: Login, rejected: str) -> str:
        """Return the stored token if it can be used; "" if it has to be refreshed."""
        if login.problem:
            raise login_needed(self._name, login.problem)
        if login.expires_at and time.time() > login.expires_at - _EARLY:
            return ""
        token = self._store.read_secrets(login).access_token
        return token if token != rejected else ""

    async def _refresh(self, rejected: str) -> str:
        lock = self._store.lock(self._url)
        await asyncio.to_thread(lock.__enter__)
        try:
            # another process may have refreshed it meanwhile
            login = self._store.load(self._url)
            if login is None:
                raise login_needed(self._name, "wants a login")
            token = self._get_valid(login, rejected)
            return token or await self._renew(login, self._store.read_secrets(login))
        finally:
            lock.__exit__(None, None, None)

    async def _renew(self, login: Login, secrets: LoginSecrets) -> str:
        if not secrets.refresh_token:
            self._store.void(login, "gave a token that has expired")
            raise login_needed(self._name, "gave a token that has expired")
        form = {"grant_type": "refresh_token", "refresh_token": secrets.refresh_token}
        if login.resource:
            form["resource"] = login.resource
        answer, status = await post_form(login, secrets, login.token_endpoint, form)
        if answer.get("error") in _VOID:
            self._store.void(login, "no longer accepts the login, which was revoked or has expired")
            raise login_needed(self._name, "no longer accepts the login, which was revoked or has expired")
        token = answer.get("access_token")
        if not isinstance(token, str) or not token:
            said = str(answer.get("error_description") or answer.get("error") or f"status {status}")[:_SHOWN]
            text = f'the token of the MCP server "{self._name}" cannot be refreshed now: {login.token_endpoint} says {said}'
            raise McpError(text)
        self._store.save(
            replace(login, expires_at=find_expiry(answer.get("expires_in"))),
            replace(
                secrets, access_token=token, refresh_token=str(answer.get("refresh_token") or secrets.refresh_token)
            ),
        )
        return token


def make_client(
    url: str, *, auth: httpx2.Auth | None = None, headers: Mapping[str, str] | None = None, read: float = _TIMEOUT
) -> httpx2.AsyncClient:
    """Return a client for a URL. Loading certificates takes 0.1 s, which plain HTTP does without."""
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.startswith("http://") else True
    return httpx2.AsyncClient(
        auth=auth, headers=dict(headers or {}), timeout=httpx2.Timeout(_TIMEOUT, read=read), verify=plain
    )


def find_expiry(seconds: object) -> float:
    """Return when a token expires that is valid for so many seconds; 0 if the server does not say."""
    return time.time() + float(seconds) if isinstance(seconds, int | float) and seconds > 0 else 0.0


async def post_form(
    login: Login, secrets: LoginSecrets, endpoint: str, form: dict[str, str]
) -> tuple[dict[str, object], int]:
    """Send a form to an endpoint of the authorization server, with the identity of this client.

    Raises:
        McpError: It cannot be reached.
    """
    headers = {"accept": "application/json"}
    form = {**form, "client_id": login.client_id}
    if login.auth_method == "client_secret_basic" and secrets.client_secret:
        pair = f"{quote(login.client_id, safe='')}:{quote(secrets.client_secret, safe='')}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    elif secrets.client_secret:
        form["client_secret"] = secrets.client_secret
    try:
        async with make_client(endpoint) as client:
            response = await client.post(endpoint, data=form, headers=headers)
    except httpx2.HTTPError as problem:
        reason = str(problem) or type(problem).__name__
        raise McpError(
            f'{endpoint}, where the MCP server "{login.name}" has its logins, cannot be reached: {reason}'
        ) from None
    try:
        answer = json_codec.load(response.content)
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {}, response.status_code
