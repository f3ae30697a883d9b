"""Which agents are on this machine: their program, its version, their folder of settings."""

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.hosts.host import Host, HostEnvironment, Scope

_SECONDS: Final = 10
_LONGEST: Final = 40
# how far above a program the description of its package is looked for
_UP: Final = 4
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


class DetectedAgent(Struct, frozen=True, kw_only=True):
    """An agent on this machine; an editor may have a settings folder and no program on PATH."""

    program: str = ""
    version: str = ""
    folder: str = ""

    @property
    def is_there(self) -> bool:
        """Whether the agent seems to be installed."""
        return bool(self.program or self.folder)


def detect(hosts: Iterable[Host], around: HostEnvironment, *, versions: bool = True) -> Mapping[str, DetectedAgent]:
    """Look for agents, and ask their programs for their versions, all at the same time."""
    path = around.environ.get("PATH", os.defpath)

    def detect_one(host: Host) -> tuple[str, DetectedAgent]:
        program = next((found for name in host.programs if (found := shutil.which(name, path=path))), "")
        folder = host.root(Scope.USER, around)
        # a program that a project brings along is not run to find out how old it is
        is_foreign = Path(os.path.realpath(program)).is_relative_to(os.path.realpath(around.project))
        version = _version(program, around.environ) if versions and program and not is_foreign else ""
        return host.name, DetectedAgent(program=program, version=version, folder=str(folder) if folder.is_dir() else "")

    chosen = list(hosts)
    with ThreadPoolExecutor(max_workers=len(chosen) or 1) as pool:
        return dict(pool.map(detect_one, chosen))


def _version(program: str, environ: Mapping[str, str]) -> str:
    """Find out the version of a program; one that does not say it, or takes too long, has none."""
    import subprocess  # noqa: PLC0415 - only the list of agents needs it

    packaged = _package_version(program)
    if packaged:
        return packaged
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env=dict(environ),
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _NUMBER.search(done.stdout.decode("utf-8", "replace"))
    return found.group()[:_LONGEST] if found else ""


def _package_version(program: str) -> str:
    """Read the version from the package that a program came with: some take seconds to say it, and leave files behind.

    Empty where it came in another way.
    """
    name = Path(program).name
    for folder in list(Path(os.path.realpath(program)).parents)[:_UP]:
        try:
            package = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        match package:
            case {"version": str(version), "bin": dict(programs)} if name in programs:
                return version[:_LONGEST]
            case _:
                continue
    return ""
