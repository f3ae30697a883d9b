"""Where a call comes from: the environment, the working folder and the umask of whoever asks.

A program that answers for itself has them from the system, and nothing here costs it anything. One that answers for
others, as the daemon does, enters the surroundings of each call, and everything that is done for the call sees them:
which folders are the person's, what a variable holds, what a hook is started with.
"""
# asked on the way of every call, where pathlib costs many times more
# ruff: noqa: PTH109, PTH111

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class Recording(Mapping[str, str]):
    """Variables that remember which of them were asked for: what was made with them holds as long as these do."""

    __slots__ = ("_names", "_variables")

    def __init__(self, variables: Mapping[str, str], names: set[str]) -> None:
        self._variables = variables
        self._names = names

    def __getitem__(self, name: str) -> str:
        self._names.add(name)
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        # whoever looks at all of them depends on all of them
        self._names.update(self._variables)
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)


class Surroundings:
    """What one call brought along; `seen` collects the names of the variables that were looked at on its behalf."""

    __slots__ = ("_encoded", "environ", "folder", "ran", "seen", "umask", "whole")

    def __init__(self, whole: Mapping[str, str], folder: str, *, umask: int | None = None) -> None:
        self.whole = whole
        self.folder = folder
        self.umask = umask
        self.seen: set[str] = set()
        # what happens once in each program happens once for this call, which would have had a program of its own
        self.ran: set[str] = set()
        self.environ: Mapping[str, str] = Recording(whole, self.seen)
        self._encoded: dict[bytes, bytes] | None = None

    @property
    def encoded(self) -> dict[bytes, bytes]:
        """All variables as a system wants them, made once; not to be changed."""
        if self._encoded is None:
            self._encoded = {os.fsencode(name): os.fsencode(value) for name, value in self.whole.items()}
        return self._encoded

    def also(self, name: str, value: str) -> "Surroundings":
        """Give the same surroundings with one more variable; who looks at variables is remembered in the same place."""
        encoded = {**self.encoded, os.fsencode(name): os.fsencode(value)}
        return self._with({**self.whole, name: value}, encoded)

    def without(self, name: str) -> "Surroundings":
        """Give the same surroundings with one variable less."""
        if name not in self.whole:
            return self
        return self._with({key: value for key, value in self.whole.items() if key != name})

    def _with(self, whole: Mapping[str, str], encoded: dict[bytes, bytes] | None = None) -> "Surroundings":
        other = Surroundings(whole, self.folder, umask=self.umask)
        other.seen, other.ran, other._encoded = self.seen, self.ran, encoded
        other.environ = Recording(whole, self.seen)
        return other


_CURRENT: Final[ContextVar[Surroundings | None]] = ContextVar("surroundings", default=None)


def current() -> Surroundings | None:
    """Give the surroundings of the call that is being answered; None where this program answers for itself."""
    return _CURRENT.get()


def enter(surroundings: Surroundings) -> None:
    """Answer a call in its own surroundings from here on, in a context that is for this call."""
    _CURRENT.set(surroundings)


@contextmanager
def entered(surroundings: Surroundings) -> Iterator[Surroundings]:
    """Answer a call in its own surroundings."""
    token = _CURRENT.set(surroundings)
    try:
        yield surroundings
    finally:
        _CURRENT.reset(token)


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """Have everything that is started meanwhile get a variable; an empty one is taken away."""
    here = _CURRENT.get()
    if here is not None:
        with entered(here.also(name, value) if value else here.without(name)):
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
    """Give the variables of whoever asks."""
    here = _CURRENT.get()
    return os.environ if here is None else here.environ


def whole_environ() -> Mapping[str, str]:
    """Give all variables of whoever asks, to hand them on to what is started: nothing is decided by them here."""
    here = _CURRENT.get()
    return os.environ if here is None else here.whole


def folder() -> str:
    """Say where whoever asks works.

    Raises:
        OSError: That folder was removed.
    """
    here = _CURRENT.get()
    return os.getcwd() if here is None else here.folder


def umask() -> int | None:
    """Give the umask that files of whoever asks are made with; None where it is our own."""
    here = _CURRENT.get()
    return None if here is None else here.umask


def expanded(path: str) -> str:
    """Give a path with the home folder of whoever asks in the place of `~`, as far as anybody knows it."""
    here = _CURRENT.get()
    if here is None or not path.startswith("~"):
        return os.path.expanduser(path)
    name, slash, rest = path.partition("/")
    home = here.environ.get("HOME") if name == "~" else None
    if home is None:
        # of somebody else, or of the user database
        return os.path.expanduser(path) if name != "~" else _database_home() + slash + rest
    return (home.rstrip("/") + slash + rest) or "/"


def _database_home() -> str:
    try:
        import pwd  # noqa: PLC0415 - not on Windows

        return pwd.getpwuid(os.getuid()).pw_dir.rstrip("/")
    except (ImportError, KeyError):
        return "~"
