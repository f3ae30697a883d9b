"""Webhooks: send the event to a URL, and read the reply from the response body."""

import asyncio
import base64
import re
from collections.abc import Collection
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from hookline import caller_context, json_codec
from hookline.http_client import PORTS, HttpClient, HttpRequest, origin
from hookline.kinds.python import timeout_failure
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import OWN_DIALECT, Hook, Source
from hookline.model.templates import body_texts, find_names, look_up, map_texts, template_values
from hookline.model.verdict import Verdict
from hookline.model.workspace_paths import USER_SOURCES
from hookline.shell.templates import fill
from hookline.text import redact

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
# these headers frame a request; a hook that sets them could make the server see two requests in one
_OUR_HEADERS: Final = frozenset({"content-length", "transfer-encoding", "connection"})
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_URL_CHARACTERS: Final = re.compile(r"[\x21-\x7e]+")


class Webhook:
    """Send events to URLs and read the reply from the response."""

    def __init__(self) -> None:
        self._client = HttpClient()

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot be called as it is configured, or ""."""
        return (
            _variable_problem(hook)
            # the whole URL may be a variable, which is checked once it is filled in
            or ("" if _takes_variables(hook) and "$" in hook.url else _url_problem(hook.url))
            or _method_problem(hook.method)
            or _header_problem(hook)
        )

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Send the event and return the reply; the whole exchange has `timeout` seconds."""
        if problem := self.refusal(hook):
            return Reply(failure=Failure(FailureKind.REFUSED, problem))
        if _takes_variables(hook):
            filled = _fill_variables(hook)
            if isinstance(filled, Failure):
                return Reply(failure=filled)
            hook = filled
        try:
            async with asyncio.timeout(timeout):
                return await self._exchange(hook, request)
        except TimeoutError:
            return Reply(failure=timeout_failure(timeout, what_now=f"connection to {origin(hook.url)} closed"))

    async def close(self) -> None:
        """Close the idle connections of the running event loop."""
        await self._client.close()

    async def _exchange(self, hook: Hook, request: Request) -> Reply:
        body, content_type, notes = _body(hook, request)
        answer = await self._client.send(
            HttpRequest(url=hook.url, method=hook.method.upper(), headers=_headers(hook, content_type), body=body)
        )
        if isinstance(answer, Failure):
            return Reply(failure=answer)
        # the answer to a body of the hook's own is the service's, not a verdict
        return Reply(stdout=answer) if hook.body is None else Reply(value=Verdict(), notes=notes)


def _headers(hook: Hook, content_type: str) -> dict[str, str]:
    headers = {"content-type": content_type} if content_type else {}
    address = urlsplit(hook.url)
    if address.username or address.password:
        pair = f"{unquote(address.username or '')}:{unquote(address.password or '')}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    for name, value in hook.headers.items():
        headers[name.lower()] = value if hook.header_env is None else fill_header(value, hook.header_env)
    return headers


def _body(hook: Hook, request: Request) -> tuple[bytes, str, tuple[str, ...]]:
    """Return the body, its content type, and notes about template values that the event does not have."""
    if hook.method.upper() in _WITHOUT_BODY:
        return b"", "", ()
    if hook.body is None:
        return request.body, "application/json", ()
    values = template_values(request.event, request.facts, absolute=False)
    # a value stays a part of its text
    filled = map_texts(hook.body, lambda text: fill(text, values))
    if hook.source is Source.BUILTIN:
        # the user did not write which fields of the event are sent
        filled = map_texts(filled, redact)
    missing = [".".join(path) for path in find_names(*body_texts(hook.body)) if look_up(values, path) is None]
    notes = tuple(f"{{{{{name}}}}} is no value of this event and was left empty" for name in missing)
    if isinstance(filled, str):
        return filled.encode("utf-8", "replace"), "text/plain; charset=utf-8", notes
    return json_codec.dump(filled), "application/json", notes


def _takes_variables(hook: Hook) -> bool:
    """Return whether `$NAME` in the URL and in headers is a variable: in our own dialect, `$$` is a dollar sign."""
    return hook.dialect == OWN_DIALECT and any("$" in text for text in (hook.url, *hook.headers.values()))


def _variables_in(*texts: str) -> list[str]:
    return [match[1] or match[2] for text in texts for match in _VARIABLE.finditer(text.replace("$$", ""))]


def _variable_problem(hook: Hook) -> str:
    """Return which variable the hook may not name, or "": a hook of a project may only name those that it lists."""
    if not _takes_variables(hook) or (hook.source in USER_SOURCES and hook.header_env is None):
        return ""
    for name in _variables_in(hook.url, *hook.headers.values()):
        if name not in (hook.header_env or ()):
            return f'it names the variable {name} and does not list it: write header_env = ["{name}"]'
    return ""


def _fill_variables(hook: Hook) -> Hook | Failure:
    """Return the hook with the variables in its URL and headers filled in, or why that cannot be done."""
    environ = caller_context.environ()
    for name in _variables_in(hook.url, *hook.headers.values()):
        if not environ.get(name):
            return Failure(FailureKind.UNAVAILABLE, f"the variable {name}, which the hook names, is not set")

    def fill_text(text: str) -> str:
        parts = text.split("$$")
        return "$".join(_VARIABLE.sub(lambda match: environ.get(match[1] or match[2], ""), part) for part in parts)

    url = fill_text(hook.url).strip()
    headers = {name: fill_text(value).strip() for name, value in hook.headers.items()}
    whole = replace(hook, url=url, headers=headers, header_env=None)
    problem = _url_problem(url) or _header_problem(whole)
    if problem:
        names = ", ".join(dict.fromkeys(_variables_in(hook.url, *hook.headers.values())))
        return Failure(FailureKind.REFUSED, f"with the value of {names}, {problem}")
    return whole


def _url_problem(url: str) -> str:
    # some parsers read a backslash as a slash: `http://a:1\\@b:2/` would name two hosts
    if not _URL_CHARACTERS.fullmatch(url) or "\\" in url:
        return "url is empty, or has spaces or characters that must be written as %XX"
    try:
        address = urlsplit(url)
        host, _ = address.hostname, address.port
    except ValueError as problem:
        return f"url cannot be read: {problem}"
    if address.scheme not in PORTS:
        begins = f', not "{address.scheme}:"' if address.scheme else ""
        return f"url must begin with http:// or https://{begins}"
    return "" if host else "url names no host"


def _method_problem(method: str) -> str:
    if method.upper() in METHODS:
        return ""
    return f'method "{method}" is none of {", ".join(sorted(METHODS))}'


def _header_problem(hook: Hook) -> str:
    for name, value in hook.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            return f'header name "{name}" is not allowed: letters, digits and - only'
        if not _HEADER_VALUE.fullmatch(value):
            return f'the value of header "{name}" has a line break, a control character or a letter beyond ASCII'
        if value != value.strip():
            return f'the value of header "{name}" begins or ends with a blank'
        if name.lower() in _OUR_HEADERS:
            return f'header "{name}" is set by Hookline: leave it out'
    return ""


def fill_header(value: str, allowed: Collection[str]) -> str:
    """Return a header value with its variables filled in; those that are not allowed become empty.

    A value that would be two headers becomes empty as a whole: a variable is not the hook's own text.
    """

    def value_of_variable(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return caller_context.environ().get(name, "") if name in allowed else ""

    filled = _VARIABLE.sub(value_of_variable, value)
    return filled.strip() if _HEADER_VALUE.fullmatch(filled) else ""
