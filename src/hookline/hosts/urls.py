"""Where a daemon answers agents that call a URL: a port of this machine, and the token that a caller has to know."""

import os
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline import wire
from hookline.config import edit
from hookline.config.journal import Change, read_bytes
from hookline.errors import ConfigError, HostError
from hookline.hosts.host import SECONDS, Around, Call, Host, Scope
from hookline.hosts.line import is_held_up, moments
from hookline.hosts.plans import Plan
from hookline.model.ability import Ability
from hookline.model.event import EventName
from hookline.model.ours import NESTING, URL

# in which headers a call carries what a command has in its environment
NESTED: Final = "Hookline-Nesting"
CANARY: Final = "Hookline-Canary"

_FILE: Final = "http.json"
_TOKEN_BYTES: Final = 32
_LAST_PORT: Final = 65_535
# what a hook says no to there has happened already
_AFTERWARDS: Final = frozenset({EventName.AFTER_TOOL, EventName.TOOL_FAILED})
_NOES: Final = frozenset({Ability.BLOCK, Ability.STOP})


class Address(Struct, frozen=True, kw_only=True):
    """A port, the token, the Python whose daemon answers there, and the settings that have somebody call it."""

    port: int
    token: str
    python: str
    files: tuple[str, ...] = ()

    def call(self, host: Host, event: str, *, policy: str) -> Call:
        """Give the entry of an event; where a no counts and the agent can have it so, a call that fails is one."""
        url = URL.format(port=self.port, host=host.name, event=event, policy=policy)
        headers = (("Authorization", f"Bearer {self.token}"), (NESTED, f"${NESTING}"))
        strict = host.strict_urls and policy == "block" and is_held_up(host.name, event)
        return Call(event, url, (), host.seconds.get(event, SECONDS), headers, strict)


def place(data: Path) -> Path:
    """Give the file that says where a daemon has to answer."""
    return data / _FILE


def address(data: Path) -> Address | None:
    """Read where a daemon has to answer; None where nobody wants it to, or nobody can read it."""
    try:
        raw = read_bytes(str(place(data)))
        found = None if raw is None else msgspec.json.decode(raw, type=Address)
    except (ConfigError, msgspec.DecodeError):
        return None
    return found if found is not None and found.token and 0 < found.port <= _LAST_PORT else None


def chosen(around: Around, python: str) -> Address:
    """Give where a daemon will answer: as before, or at a port that is free now."""
    before = address(around.data)
    if before is not None:
        return replace(before, python=python)
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return Address(port=tried.getsockname()[1], token=secrets.token_urlsafe(_TOKEN_BYTES), python=python)


def check(hosts: Sequence[Host], scope: Scope, known: Mapping[str, Host]) -> None:
    """Say what keeps agents from calling a URL.

    Raises:
        HostError: Something does.
    """
    if os.name == "nt":
        raise HostError("--http needs the daemon, and there is none on Windows")
    able = [host.name for host in known.values() if host.commands_only is not None]
    for host in hosts:
        if host.commands_only is None:
            raise HostError(f"{host.title} cannot call a URL; {' and '.join(able)} can")
    if scope is not Scope.USER:
        raise HostError(f"--http is for your own settings: others who share the {scope} settings would get your token")


def called(host: Host, events: Sequence[str], *, everything: bool) -> frozenset[str]:
    """Choose the events at which an agent calls a URL; where a no still keeps something from happening, only if asked."""
    return frozenset(event for event in events if host.calls_url(event) and (everything or not _is_kept(host, event)))


def _is_kept(host: Host, event: str) -> bool:
    able = (host.spec.abilities or {}).get(event, frozenset())
    return is_held_up(host.name, event) or bool(able & _NOES and not _AFTERWARDS & set(moments(host.name, event)))


def settled(plans: Sequence[Plan], around: Around, wanted: Address | None = None) -> list[Plan]:
    """Have the daemon know: as long as settings of an agent have it called, it answers."""
    before = address(around.data)
    now = wanted or before
    gone = {path for plan in plans for path in plan.files}
    kept = [path for path in (before.files if before is not None else ()) if path not in gone and os.path.exists(path)]  # noqa: PTH110 - texts
    files = sorted({*kept, *(path for plan in plans if plan.urls for path in plan.files)})
    after = wire.dump(replace(now, files=tuple(files))) if files and now is not None else None
    path = str(place(around.data))
    raw = read_bytes(path)
    if raw == after or not plans:
        return list(plans)
    first, *rest = plans
    return [replace(first, records=(*first.records, Change(path, raw, after, mode=0o600))), *rest]


def headers(path: str, url: str) -> dict[str, str]:
    """Give the headers that stand beside a URL in settings; those with a variable are left out, as nobody has it.

    Raises:
        ConfigError: The settings cannot be read.
    """
    text = (read_bytes(path) or b"").decode("utf-8", "replace")
    for found in _beside(edit.value_of(text, path=path), url):
        return {name: value for name, value in found.items() if isinstance(value, str) and not value.startswith("$")}
    return {}


def _beside(value: object, url: str) -> Iterator[Mapping[str, object]]:
    match value:
        case Mapping():
            found = value.get("headers")
            if value.get("url") == url and isinstance(found, Mapping):
                yield found
            for one in value.values():
                yield from _beside(one, url)
        case list():
            for one in value:
                yield from _beside(one, url)


def obstacle(data: Path, path: str, urls: Sequence[str]) -> str:
    """Say why nobody answers at URLs that stand in settings; empty where the daemon is to."""
    now = address(data)
    if now is None:
        return f"no daemon is to answer at the URLs of ours in {path}"
    if any(not url.startswith(f"http://127.0.0.1:{now.port}/") for url in urls):
        return f"the daemon answers at port {now.port}, and not at all URLs of ours in {path}"
    said = {headers(path, url).get("Authorization", "") for url in urls}
    return "" if said == {f"Bearer {now.token}"} else f"the daemon has another token than ours in {path}"
