"""What a hook process may do: one table with the same words in every file, and three named levels."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

NONE: Final = "none"
READ_ONLY: Final = "read-only"
PROJECT: Final = "project"

UNIX: Final = "unix"
"""What `net` names to allow Unix sockets, through which other programs of the machine can be made to do things."""

PRIVATE: Final = "private"
SHARED: Final = "shared"

_MEGABYTE: Final = 1 << 20


class Sandbox(Struct, frozen=True, kw_only=True):
    """What a hook process may do beside computing.

    `write` are folders and files, counted from the project; `read` are those it may read, None for everything but the
    user's secrets. `net` is False for no network, True for any, or the hosts that it may reach. `env` names variables
    beside the harmless ones. Limits are bytes, seconds and numbers, 0 for none; `memory`, `cpu` and `processes` hold for everything that
    the hook starts, together. With `tmp` "private" it has a temporary folder of its own, with "shared" it also writes the machine's.
    `user` is another user to run as, where root runs the engine. With `required`, it does not run where it cannot be contained.
    """

    level: str = PROJECT
    write: tuple[str, ...] = ()
    read: tuple[str, ...] | None = None
    net: bool | tuple[str, ...] = False
    env: tuple[str, ...] = ()
    memory: int = 4096 * _MEGABYTE
    cpu: float = 0.0
    processes: int = 512
    file_size: int = 2048 * _MEGABYTE
    open_files: int = 0
    tmp: str = PRIVATE
    user: str = ""
    required: bool = False

    @property
    def is_contained(self) -> bool:
        """Whether it asks for any containment."""
        return self.level != NONE

    @property
    def hosts(self) -> tuple[str, ...]:
        """The only hosts that it may reach, where it names some."""
        return () if isinstance(self.net, bool) else tuple(host for host in self.net if host != UNIX)


UNCONTAINED: Final = Sandbox(level=NONE)
LEVELS: Final[Mapping[str, Sandbox]] = {
    NONE: UNCONTAINED,
    READ_ONLY: Sandbox(level=READ_ONLY),
    PROJECT: Sandbox(level=PROJECT, write=(".",)),
}

LIMITS: Final[Mapping[str, str]] = {
    "memory": "memory",
    "cpu": "processor time",
    "processes": "processes",
    "file_size": "the size of a file",
    "open_files": "open files",
}
"""The limits, and what users call them."""


def describe_sandbox(sandbox: Sandbox) -> Iterator[str]:
    """Yield what a sandbox allows, a sentence each."""
    if not sandbox.is_contained:
        yield "not contained: it may do everything that you may do"
        return
    if sandbox.read is None:
        yield "reads everything but your secrets (keys, tokens, browser profiles, Hookline's own files)"
    else:
        yield f"reads {_join(sandbox.read) or 'nothing'} beside the programs of this machine"
    where = [{".": "the project"}.get(path, path) for path in sandbox.write]
    temporary = "a temporary folder of its own" if sandbox.tmp == PRIVATE else "the temporary folder of this machine"
    yield f"writes {_join((*where, temporary))}"
    if isinstance(sandbox.net, bool):
        yield "uses the network" if sandbox.net else "has no network"
    else:
        yield f"reaches {_join(sandbox.hosts)} and nothing else" if sandbox.hosts else "has no network"
        if UNIX in sandbox.net:
            yield "talks to other programs of this machine through Unix sockets"
    yield (
        f"sees {_join(sandbox.env)} of your variables beside PATH, HOME and the like"
        if sandbox.env
        else ("sees none of your variables but PATH, HOME and the like")
    )
    limits = [
        f"{format_limit(name, value)} of {words}"
        if name in {"memory", "cpu"}
        else f"{format_limit(name, value)} for {words}"
        if name == "file_size"
        else f"{value} {words}"
        for name, words in LIMITS.items()
        if (value := getattr(sandbox, name))
    ]
    if limits:
        yield f"at most {_join(limits)}"
    if sandbox.user:
        yield f"runs as the user {sandbox.user}"
    if sandbox.required:
        yield "does not run where it cannot be contained"


def format_limit(name: str, value: float) -> str:
    """Return the figure of a limit with its unit."""
    if name in {"memory", "file_size"}:
        return f"{value / _MEGABYTE:g} MB"
    return f"{value:g} s" if name == "cpu" else f"{value:g}"


def _join(words: tuple[str, ...] | list[str]) -> str:
    *most, last = words or [""]
    return f"{', '.join(most)} and {last}" if most else last
