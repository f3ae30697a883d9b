"""What goes into a call of a Python hook, worked out once where it is the same for the next event."""
# put together on every call, which costs five times more with pathlib
# ruff: noqa: PTH100, PTH117, PTH118, PTH120

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct

from hookline.kinds._worker_main import pack
from hookline.model.exchange import Sealed
from hookline.model.hook import Hook

REMEMBERED: Final = 256


@lru_cache(maxsize=REMEMBERED)
def misnamed(module: str, function: str) -> str:
    """Say what is wrong with the names of a hook; empty when nothing is."""
    for field, name in (("module", module), ("function", function)):
        if name and not all(part.isidentifier() for part in name.split(".")):
            return f'{field} "{name}" is not a dotted Python name such as package.module'
    return ""


def whole_path(path: str) -> str:
    """Give a path from the root on; whether it is one already shows at its beginning."""
    return path if path.startswith(os.sep) else os.path.abspath(path)


@lru_cache(maxsize=REMEMBERED)
def places(
    own: tuple[str, ...], cwd: str, *, working_directory: str, source_path: str, is_local: bool
) -> tuple[str, ...]:
    """Say where a hook's module is looked up, first to last; paths begin at the root."""
    found = list(own)
    if working_directory and (is_local or os.path.isabs(working_directory)):
        found.append(os.path.normpath(os.path.join(cwd, working_directory)))
    if source_path:
        beside = os.path.dirname(os.path.normpath(source_path))
        found += [beside, os.path.join(beside, "hooks")]
    if is_local:
        cwd = os.path.normpath(cwd)
        found += [os.path.join(cwd, ".ollama", "hooks"), cwd]
    return tuple(dict.fromkeys(found))


class Head(Struct, frozen=True, kw_only=True):
    """What a worker is told besides the document.

    `whole` are all variables of whoever asks; None where the worker has those of this program, as it was started with.
    """

    hook: Hook
    folders: tuple[str, ...]
    cwd: str
    variables: Mapping[str, str]
    whole: Mapping[str, str] | None
    sealed: Sealed | None

    def is_same(self, other: "Head") -> bool:
        """Say whether a worker would be told the same."""
        return (
            self.hook is other.hook
            and self.whole is other.whole
            and self.cwd == other.cwd
            and self.folders == other.folders
            and self.variables == other.variables
            and self.sealed == other.sealed
        )

    def written(self) -> bytes:
        """Write it down."""
        said = {
            "module": self.hook.module,
            "function": self.hook.function,
            "folders": self.folders,
            "cwd": self.cwd,
            "env": self.variables if self.whole is None else {**self.whole, **self.variables},
            "whole": self.whole is not None,
        }
        return pack(said, self.sealed)
