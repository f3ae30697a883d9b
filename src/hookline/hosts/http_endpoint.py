"""The daemon's HTTP endpoint for agents that call a URL: a local port and a token."""

import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.config import edit
from hookline.config.undo_log import FileEdit, read_bytes
from hookline.errors import ConfigError, HostError
from hookline.hosts.command_line import canonical_events, waits_for_decision
from hookline.hosts.host import CALL_SECONDS, EventCall, Host, HostEnvironment, Scope, find_commands
from hookline.hosts.installer import InstallPlan
from hookline.model.event import Ability, EventName
from hookline.model.installed_entry import NESTING, URL

# in which headers a call carries what a command has in its environment
NESTED: Final = "Hookline-Nesting"
CANARY: Final = "Hookline-Canary"

_FILE: Final = "http.json"
_TOKEN_BYTES: Final = 32
_LAST_PORT: Final = 65_535
_AFTERWARDS: Final = frozenset({EventName.AFTER_TOOL, EventName.TOOL_FAILED})
_NOES: Final = frozenset({Ability.BLOCK, Ability.STOP})


class HttpEndpoint(Struct, frozen=True, kw_only=True):
    """The daemon's port and token, its Python, and the settings files that contain its URL."""

    port: int
    token: str
    python: str
    files: tuple[str, ...] = ()

    def call(self, host: Host, event: str, *, policy: str) -> EventCall:
        """Return the entry of an event; where a no counts and the agent can have it so, a call that fails is one."""
        url = URL.format(port=self.port, host=host.name, event=event, policy=policy)
        headers = (("Authorization", f"Bearer {self.token}"), (NESTED, f"${NESTING}"))
        strict = host.strict_urls and policy == "block" and waits_for_decision(host.name, event)
        return EventCall(event, url, (), host.seconds.get(event, CALL_SECONDS), headers, strict)


def endpoint_path(data: Path) -> Path:
    """Return the file that says where a daemon has to answer."""
    return data / _FILE


def read_endpoint(data: Path) -> HttpEndpoint | None:
    """Read the endpoint of the daemon; None if there is none, or the file is unreadable."""
    try:
        raw = read_bytes(str(endpoint_path(data)))
        found = None if raw is None else msgspec.json.decode(raw, type=HttpEndpoint)
    except (ConfigError, msgspec.DecodeError):
        return None
    return found if found is not None and found.token and 0 < found.port <= _LAST_PORT else None


def choose_endpoint(around: HostEnvironment, python: str) -> HttpEndpoint:
    """Return where a daemon will answer: as before, or at a port that is free now."""
    before = read_endpoint(around.data)
    if before is not None:
        return replace(before, python=python)
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return HttpEndpoint(port=tried.getsockname()[1], token=secrets.token_urlsafe(_TOKEN_BYTES), python=python)


def check_hosts(hosts: Sequence[Host], scope: Scope, known: Mapping[str, Host]) -> None:
    """Return what keeps agents from calling a URL.

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


def select_url_events(host: Host, events: Sequence[str], *, everything: bool) -> frozenset[str]:
    """Return the events at which an agent calls a URL; events that can still block only with `everything`."""
    callable_events = [event for event in events if host.can_call_url(event)]
    if everything:
        return frozenset(callable_events)
    abilities = host.spec.abilities
    return frozenset(
        event
        for event in callable_events
        if not waits_for_decision(host.name, event)
        # what a hook says no to there has happened already
        and (not abilities.get(event, frozenset()) & _NOES or _AFTERWARDS & set(canonical_events(host.name, event)))
    )


def plan_endpoint_file(
    plans: Sequence[InstallPlan], around: HostEnvironment, wanted: HttpEndpoint | None = None
) -> list[InstallPlan]:
    """Plan the endpoint file: the daemon listens as long as settings of an agent contain its URL."""
    before = read_endpoint(around.data)
    now = wanted or before
    gone = {path for plan in plans for path in plan.files}
    kept = [path for path in (before.files if before is not None else ()) if path not in gone and os.path.exists(path)]  # noqa: PTH110 - texts
    files = sorted({*kept, *(path for plan in plans if plan.urls for path in plan.files)})
    after = json_codec.dump(replace(now, files=tuple(files))) if files and now is not None else None
    path = str(endpoint_path(around.data))
    raw = read_bytes(path)
    if raw == after or not plans:
        return list(plans)
    first, *rest = plans
    return [replace(first, records=(*first.records, FileEdit(path, raw, after, mode=0o600))), *rest]


def read_headers(path: str, url: str) -> dict[str, str]:
    """Return the headers beside a URL in settings, without those that hold a variable.

    Raises:
        ConfigError: The settings cannot be read.
    """
    text = (read_bytes(path) or b"").decode("utf-8", "replace")
    value = edit.value_of(text, path=path)
    for pointer, command in find_commands(value):
        found = edit.value_at(value, (*pointer, "headers"))
        if command == url and isinstance(found, Mapping):
            return {key: one for key, one in found.items() if isinstance(one, str) and not one.startswith("$")}
    return {}


def find_endpoint_problem(data: Path, path: str, urls: Sequence[str]) -> str:
    """Return why the daemon does not answer at URLs in settings, or ""."""
    now = read_endpoint(data)
    if now is None:
        return f"no daemon is to answer at the URLs of ours in {path}"
    if any(not url.startswith(f"http://127.0.0.1:{now.port}/") for url in urls):
        return f"the daemon answers at port {now.port}, and not at all URLs of ours in {path}"
    said = {read_headers(path, url).get("Authorization", "") for url in urls}
    return "" if said == {f"Bearer {now.token}"} else f"the daemon has another token than ours in {path}"
