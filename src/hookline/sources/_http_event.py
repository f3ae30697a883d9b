"""Which event a request stands for: its path says how it is spelled, its body what it is about."""

import os
import re
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.structs import replace

from hookline import wire
from hookline.core.engine import Engine
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.workspace import inside
from hookline.sources._http_request import Head, HttpError

Make = Callable[[Engine, Head, bytes], Event]

# The headers in which services say what happened, and under which number.
_KIND: Final = ("x-github-event", "x-gitlab-event", "x-gitea-event", "x-event-key")
_DELIVERY: Final = ("x-github-delivery", "x-gitlab-event-uuid", "x-gitea-delivery", "x-request-uuid")


def route(path: str) -> Make | None:
    """Say how an event is made of a request for this path; None when there is nothing."""
    for pattern, make in _ROUTES:
        if found := pattern.fullmatch(path):
            return partial(make, found.groupdict().get("name", ""))
    return None


def _document(_name: str, engine: Engine, head: Head, body: bytes) -> Event:
    """Read an event in our own words; names that other dialects have for it are known as well."""
    _in_our_words(head)
    said = DIALECTS["hookline"].decode_event(body)
    data = dict(said.data)
    name = str(said.name)
    if said.name is EventName.CUSTOM and said.native_name:
        name = said.native_name
        if data.get("event_name") == name:
            del data["event_name"]
    cwd = _folder(engine, said.cwd)
    return engine.event(name, data, tool=said.tool, args=said.args or None, session=said.session, cwd=cwd)


def _named(name: str, engine: Engine, head: Head, body: bytes) -> Event:
    """Read the fields of the event that the path names, or the document a host of another dialect has for it."""
    spoken = head.query.get("dialect")
    if spoken is None:
        fields = _json(body) if body else {}
        if not isinstance(fields, dict):
            raise HttpError(400, "the body must be a JSON object, the fields of the event")
        return engine.event(name, fields)
    dialect = DIALECTS.get(spoken)
    if dialect is None:
        raise HttpError(400, f"there is no dialect {spoken!r}; there are {', '.join(sorted(DIALECTS))}")
    event = dialect.decode_event(body)
    native = dialect.SPEC.events.get(event.name, event.name)
    if engine.resolve(name) != event.name and name not in {native, event.native_name}:
        raise HttpError(400, f"the body says the event is {native!r}, the path says {name!r}")
    return replace(event, id="", cwd=_folder(engine, event.cwd) or engine.cwd)


def _of_a_service(name: str, engine: Engine, head: Head, body: bytes) -> Event:
    """Make a custom event of whatever a service has to say."""
    _in_our_words(head)
    said = {"kind": _first(head, _KIND), "delivery": _first(head, _DELIVERY)}
    fields = {"payload": _json(body), "source": "http", **{key: text for key, text in said.items() if text}}
    return engine.event(f"custom:{name}", fields)


_ROUTES: Final = (
    (re.compile(r"/events"), _document),
    (re.compile(r"/events/(?P<name>[^/\x00-\x20]{1,128})"), _named),
    (re.compile(r"/hooks/(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,63})"), _of_a_service),
)


def _in_our_words(head: Head) -> None:
    if "dialect" in head.query:
        raise HttpError(400, "a dialect is spoken at /events/NAME only")


def _json(body: bytes) -> object:
    try:
        return wire.load(body)
    except ValueError as problem:
        raise HttpError(400, f"the body is no JSON: {problem}") from None


def _first(head: Head, names: tuple[str, ...]) -> str:
    return next((head.headers[name] for name in names if name in head.headers), "")


def _folder(engine: Engine, named: str) -> str:
    """Let a caller say where in the project something happens, and nowhere else."""
    if not named:
        return ""
    # one that is not absolute is counted from the project, wherever we were started
    folder = os.path.join(engine.cwd, named)  # noqa: PTH118 - texts, as in events
    if "\0" in folder or not inside(os.path.realpath(folder), [os.path.realpath(engine.cwd)]):
        raise ConfigError(f"cwd {named!r} is not in the project {engine.cwd}")
    return folder
