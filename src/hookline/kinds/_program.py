"""What a child is started with: the file to execute, and its environment."""

import os
from collections.abc import Mapping
from typing import Final, cast

from hookline import surroundings
from hookline.kinds._child import Env
from hookline.model.workspace import find_program

# A shell would run the file they name before the hook itself.
_LEFT_OUT: Final = frozenset({"BASH_ENV", "ENV"})
_LEFT_OUT_ENCODED: Final = frozenset(name.encode() for name in _LEFT_OUT)

_PATH: Final = b"PATH" if os.supports_bytes_environ else "PATH"

_REMEMBERED: Final = 256


def _encoded(text: str) -> bytes:
    """Encode a variable's value: nothing an event holds may keep a hook from running."""
    try:
        raw = os.fsencode(text)
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
    return raw.replace(b"\0", "\N{SYMBOL FOR NULL}".encode()) if b"\0" in raw else raw


class Environment:
    """This program's environment, made ready for children once per change."""

    __slots__ = ("_base", "_seen")

    def __init__(self) -> None:
        self._seen: dict[bytes, bytes] = {}
        self._base: dict[bytes, bytes] = {}

    def with_layers(self, *layers: Mapping[str, str]) -> Env:
        """Give a child's environment: ours, and the layers on top, later ones over earlier ones."""
        if not os.supports_bytes_environ:
            own = {name: value for name, value in surroundings.whole_environ().items() if name not in _LEFT_OUT}
            return own | {name.upper(): value for layer in layers for name, value in layer.items()}
        env = self.current().copy()
        for layer in layers:
            for name, value in layer.items():
                env[os.fsencode(name)] = _encoded(value)
        return env

    def current(self) -> dict[bytes, bytes]:
        """Give the variables of whoever asks, without those no child gets: the same object until they change."""
        return self.of(surroundings.current())

    def of(self, caller: surroundings.Surroundings | None) -> dict[bytes, bytes]:
        """Give the same for a caller; None for this program itself."""
        if caller is not None:
            return self._of(caller.encoded)
        # The dict inside `os.environ` is what changes are made to. To compare all of it costs half a microsecond
        # and misses no change; to read it through `os.environ` costs thirty.
        live = getattr(os.environ, "_data", None)
        if live == self._seen:
            return self._base
        return self._of(live if isinstance(live, dict) else dict(os.environb))

    def _of(self, live: dict[bytes, bytes]) -> dict[bytes, bytes]:
        if live != self._seen:
            self._seen = live.copy()
            # one without a name cannot be passed on to anybody
            self._base = {name: value for name, value in live.items() if name and name not in _LEFT_OUT_ENCODED}
        return self._base


def search_path(env: Env) -> str:
    """Say where a child with this environment would look for programs."""
    path = cast("Mapping[bytes | str, bytes | str]", env).get(_PATH)
    return os.defpath if path is None else os.fsdecode(path)


def variable_of(env: Env, name: str) -> str | None:
    """Give one variable of a child's environment."""
    key = os.fsencode(name) if os.supports_bytes_environ else name
    value = cast("Mapping[bytes | str, bytes | str]", env).get(key)
    return None if value is None else os.fsdecode(value)


class Programs:
    """Where programs are, remembered."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, tuple[str, ...]], str] = {}

    def find(self, name: str, path: str, foreign: tuple[str, ...] = ()) -> str:
        """Find a program on a search path, but in none of the foreign folders; empty when it is not there."""
        found = self._found.get((name, path, foreign))
        if found is None:
            found = find_program(name, path, foreign)
            if found:
                if len(self._found) >= _REMEMBERED:
                    self._found.clear()
                self._found[name, path, foreign] = found
        return found

    def find_again(self, name: str, path: str, foreign: tuple[str, ...] = ()) -> str:
        """Look anew for a program that is not where it was."""
        self._found.pop((name, path, foreign), None)
        return self.find(name, path, foreign)
