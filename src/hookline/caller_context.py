"""The environment, working folder and umask of the process that a call is answered for.

A program that answers for itself takes them from the operating system. The daemon, which answers for others, sets the context
of each call, and everything done for the call sees it: the user's folders, variables, and what a hook process is started with.
"""
# on the path of every call, where pathlib costs many times more
# ruff: noqa: PTH109, PTH111

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import datetime
from typing import Final


class TrackedEnv(Mapping[str, str]):
    """Variables that record which of them were read: a result computed from them holds as long as these do."""

    def __init__(self, variables: Mapping[str, str], names: set[str]) -> None:
        self._variables = variables
        self._names = names

    def __getitem__(self, name: str) -> str:
        self._names.add(name)
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        # iterating depends on all of them
        self._names.update(self._variables)
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


def encode_environ(environ: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return variables as the bytes that a process gets."""
    return {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}


class CallerContext:
    """Environment, folder and umask of one call.

    `read_vars` collects the names of the variables that were read on its behalf. `once_ran` has the hooks that run once per
    process and did so for this call, which would have had a process of its own.
    """

    def __init__(
        self,
        whole: Mapping[str, str],
        folder: str,
        *,
        umask: int | None = None,
        encoded: dict[bytes, bytes] | None = None,
    ) -> None:
        self.whole = whole
        self.folder = folder
        self.umask = umask
        self.read_vars: set[str] = set()
        self.once_ran: set[str] = set()
        self.environ: Mapping[str, str] = TrackedEnv(whole, self.read_vars)
        self._encoded = encoded

    @property
    def encoded(self) -> dict[bytes, bytes]:
        """All variables as bytes, computed once; not to be changed."""
        if self._encoded is None:
            self._encoded = encode_environ(self.whole)
        return self._encoded

    def with_var(self, name: str, value: str) -> "CallerContext":
        """Return this context with one more variable, or without it where it is empty; both record reads in the same place."""
        whole, encoded = {**self.whole}, {**self.encoded}
        if value:
            whole[name], encoded[os.fsencode(name)] = value, os.fsencode(value)
        else:
            whole.pop(name, None)
            encoded.pop(os.fsencode(name), None)
        other = CallerContext(whole, self.folder, umask=self.umask, encoded=encoded)
        other.read_vars, other.once_ran = self.read_vars, self.once_ran
        other.environ = TrackedEnv(whole, self.read_vars)
        return other


_CURRENT: Final[ContextVar[CallerContext | None]] = ContextVar("caller_context", default=None)


def current() -> CallerContext | None:
    """Return the context of the call that is being answered; None where this program answers for itself."""
    return _CURRENT.get()


def set_current(context: CallerContext) -> None:
    """Answer for this caller from here on; the running task must belong to this call alone."""
    _CURRENT.set(context)


@contextmanager
def use(context: CallerContext) -> Iterator[CallerContext]:
    """Answer for this caller within the block."""
    token = _CURRENT.set(context)
    try:
        yield context
    finally:
        _CURRENT.reset(token)


@contextmanager
def with_env(name: str, value: str) -> Iterator[None]:
    """Start every process within the block with a variable; an empty value removes it."""
    caller = _CURRENT.get()
    if caller is not None:
        with use(caller.with_var(name, value)):
            yield
        return
    before = os.environ.pop(name, None)
    if value:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


def environ() -> Mapping[str, str]:
    """Return the caller's variables; reads are recorded."""
    caller = _CURRENT.get()
    return os.environ if caller is None else caller.environ


def full_environ() -> Mapping[str, str]:
    """Return the caller's variables to pass them on to a process; reads are not recorded."""
    caller = _CURRENT.get()
    return os.environ if caller is None else caller.whole


def folder() -> str:
    """Return the caller's working folder.

    Raises:
        OSError: That folder was removed.
    """
    caller = _CURRENT.get()
    return os.getcwd() if caller is None else caller.folder


def local_now() -> datetime:
    """Return the time of day where the caller is: the daemon may have been started with another `TZ`."""
    caller = _CURRENT.get()
    zone = caller.whole.get("TZ") if caller is not None else None
    if caller is None or zone == os.environ.get("TZ"):
        return datetime.now()  # noqa: DTZ005 - the time on the user's clock
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - few hooks look at the clock

    # a zone that this machine does not know is taken for our own
    with suppress(OSError, ValueError, KeyError):
        if zone:
            return datetime.now(ZoneInfo(zone.removeprefix(":")))
        with open("/etc/localtime", "rb") as file:  # noqa: PTH123
            return datetime.now(ZoneInfo.from_file(file))
    return datetime.now()  # noqa: DTZ005 - as above


def umask() -> int | None:
    """Return the umask for files of the caller; None where it is our own."""
    caller = _CURRENT.get()
    return None if caller is None else caller.umask


def expand_home(path: str) -> str:
    """Replace a leading `~` by the caller's home folder, where it is known."""
    caller = _CURRENT.get()
    if caller is None or not path.startswith("~"):
        return os.path.expanduser(path)
    name, slash, rest = path.partition("/")
    if name != "~":
        return os.path.expanduser(path)
    home = caller.environ.get("HOME")
    if home is None:
        return (database_home() or "~").rstrip("/") + slash + rest
    return (home.rstrip("/") + slash + rest) or "/"


def database_home() -> str:
    """Return the home folder of the user database, which no variable moves; empty where the user has no entry."""
    try:
        import pwd  # noqa: PLC0415 - not on Windows

        # in a container, the user id may have no entry
        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return ""
