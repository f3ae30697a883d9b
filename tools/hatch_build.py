"""Build what is written in C into the wheel: `hookline-hook`, which agents run, and the library that starts hooks.

With a compiler the wheel is one for this platform and every Python. Without one, or where what was compiled does not run,
`hookline-hook` is a script for the Python that it is installed for, hooks are started by Python itself, and the wheel is one
for every platform. `HOOKLINE_PURE=1` asks for that.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

NAME: Final = "hookline-hook"
SOURCE: Final = "src/hookline/bridge/launcher.c"
SECONDS: Final = 120

# loaded by src/hookline/process/native.py; Linux only
LIBRARY: Final = "src/hookline/process/_spawn.so"
LIBRARY_SOURCE: Final = "src/hookline/process/spawn.c"
LIBRARY_FLAGS: Final = ("-fPIC", "-shared", "-fvisibility=hidden")
LOAD: Final = "import ctypes, sys; print(ctypes.CDLL(sys.argv[1]).hookline_landlock_version)"

COMPILERS: Final = ("cc", "gcc", "clang")
FLAGS: Final = ("-std=c11", "-O2", "-s", "-Wall", "-Wextra")
# nothing to link at each start, and it runs wherever the kernel does; not every system has it
LINKING: Final = (("-static",), ())

# installers write the path of their Python into the first line
SCRIPT: Final = """\
#!python
import sys

from hookline.cli.main import launch

sys.exit(launch(sys.argv[1:]))
"""


def compilers() -> Iterator[list[str]]:
    """List what may compile C here; `CC` is asked alone if it is set."""
    named = shlex.split(os.environ.get("CC", ""))
    yield from [named] if named else ([name] for name in COMPILERS if shutil.which(name))


def compiled(source: Path, program: Path, *, version: str) -> bool:
    """Compile the launcher; False when it cannot be done, or what came out does not run here."""
    if os.name != "posix" or os.environ.get("HOOKLINE_PURE", "") not in {"", "0"}:
        return False
    name = f'-DHOOKLINE_VERSION="{version}"'
    for compiler in compilers():
        for linking in LINKING:
            words = [*compiler, *FLAGS, name, *linking, "-o", str(program), str(source)]
            if run(words) is not None and run([str(program), "--version"]) == f"{NAME} {version} native\n":
                return True
    return False


def compiled_library(source: Path, library: Path) -> bool:
    """Compile the library that starts hooks; False when it cannot be done, or what came out cannot be loaded here."""
    if sys.platform != "linux" or os.environ.get("HOOKLINE_PURE", "") not in {"", "0"}:
        return False
    for compiler in compilers():
        words = [*compiler, *FLAGS, *LIBRARY_FLAGS, "-o", str(library), str(source)]
        if run(words) is not None and run([sys.executable, "-c", LOAD, str(library)]) is not None:
            return True
    return False


def run(words: list[str]) -> str | None:
    """Run a program and give what it says; None when it fails, for whatever reason."""
    try:
        done = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")


def platform() -> str:
    """Name this platform as wheels do."""
    if sys.platform == "darwin":
        # the Python may be built for more processors than the compiler builds for
        return next(iter(platform_tags()))
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


class NativeHook(BuildHookInterface[Any]):
    """Adds what is written in C to a wheel, also to one that is installed to be edited."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the program before the wheel is put together."""
        self._folder = Path(tempfile.mkdtemp(prefix="hookline-build-"))
        program = self._folder / NAME
        if compiled(Path(self.root) / SOURCE, program, version=self.metadata.version):
            build_data["pure_python"] = False
            # no Python is in it, so it is for all of them
            build_data["tag"] = f"py3-none-{platform()}"
        else:
            program.write_text(SCRIPT, encoding="utf-8")
        program.chmod(0o755)
        build_data["shared_scripts"][str(program)] = NAME
        library = self._folder / Path(LIBRARY).name
        if compiled_library(Path(self.root) / LIBRARY_SOURCE, library):
            if version == "editable":
                # the package is used where it stands; replaced in one step, because a program may be using the old one
                shutil.copy(library, f"{self.root}/{LIBRARY}.new")
                Path(self.root, f"{LIBRARY}.new").replace(Path(self.root, LIBRARY))
            else:
                build_data["force_include"][str(library)] = LIBRARY.removeprefix("src/")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the same
        """Leave nothing behind."""
        shutil.rmtree(self._folder, ignore_errors=True)
