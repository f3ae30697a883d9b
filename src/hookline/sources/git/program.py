"""The git of this machine, asked for facts."""

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from hookline import surroundings
from hookline.core.programs import Programs
from hookline.errors import HostError
from hookline.model.hook import Hook, Source
from hookline.model.workspace import grounds, lies_in

_SECONDS: Final = 30
_US: Final = Hook(id="git", kind="git", source=Source.BUILTIN)

# its words are matched and shown, and asking it must not make others wait for a lock
_MANNERS: Final[Mapping[str, str]] = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


@lru_cache(maxsize=16)
def program(folder: str, path: str) -> str:
    """Find git, and not one that the project brings along.

    Raises:
        HostError: There is none.
    """
    foreign = grounds(_US, folder)
    for candidate in Programs().candidates("git", path):
        if not lies_in(candidate, foreign):
            return candidate
    raise HostError("git is not on the PATH, outside of this project; install it and try again")


def ask(*words: str, folder: str, stdin: bytes = b"", may_fail: bool = False) -> bytes | None:
    """Ask git something in a folder; None when it says no and that is an answer, too.

    Raises:
        HostError: It cannot be asked, or says no.
    """
    import subprocess  # noqa: PLC0415 - only whoever deals with git waits for it

    try:
        done = subprocess.run(
            [program(folder, surroundings.environ().get("PATH", os.defpath)), *words],
            cwd=folder,
            env={**surroundings.whole_environ(), **_MANNERS},
            input=stdin,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise HostError(f"git {words[0]} did not work in {folder}: {problem}") from None
    if done.returncode == 0:
        return done.stdout
    if may_fail:
        return None
    said = done.stderr.decode("utf-8", "replace").strip()
    raise HostError(f"git {words[0]} did not work in {folder}: {said or f'exit code {done.returncode}'}")
