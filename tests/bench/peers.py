"""Other hook programs that ours is compared with: which, in which version, and how they get onto this machine.

They are installed once into a folder of their own (`$HOOKLINE_BENCH`, else `~/.cache/hookline-bench`). What cannot be
installed is said, and the rows of it have no figure.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.agents.programs import QUIET

PINS: Final = Path(__file__).with_name("peers.txt")
GEMINI: Final = ("@google/gemini-cli", "0.61.0")
SECONDS: Final = 600
ABSENT: Final = "not installed here"


def folder() -> Path:
    """Give the folder all of them are kept in."""
    chosen = os.environ.get("HOOKLINE_BENCH")
    return Path(chosen) if chosen else Path.home() / ".cache" / "hookline-bench"


def pins() -> dict[str, str]:
    """Give the version of every package for Python."""
    lines = PINS.read_text("utf-8").splitlines()
    return {name: version for name, _, version in (line.partition("==") for line in lines) if version}


def environment() -> Path:
    """Give the Python environment; another version of Python is another one."""
    return folder() / f"python-{sys.version_info[0]}.{sys.version_info[1]}"


def python() -> Path:
    """Give the interpreter of that environment."""
    return environment() / "bin" / "python"


def packages() -> Path:
    """Give the folder of that environment that modules are imported from."""
    return environment() / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def program(name: str) -> Path:
    """Give a program of that environment."""
    return environment() / "bin" / name


def lefthook() -> Path | None:
    """Give lefthook's own program; what pip puts into `bin` is a script in Python that starts it."""
    found = sorted((packages() / "lefthook" / "bin").glob("*/lefthook"))
    return found[0] if found else None


def has(package: str) -> bool:
    """Say whether a package is installed in the version we want."""
    version = pins()[package]
    return (packages() / f"{package.replace('-', '_')}-{version}.dist-info").is_dir()


def gemini() -> Path | None:
    """Give the folder with Gemini CLI's bundle, and nothing where it is not installed."""
    package, version = GEMINI
    bundle = folder() / f"gemini-cli-{version}" / "node_modules" / package / "bundle"
    return bundle if bundle.is_dir() else None


def install() -> list[str]:
    """Install what is missing; give one line for everything that could not be."""
    problems = []
    absent = [f"{name}=={version}" for name, version in pins().items() if not has(name)]
    if absent and not python().exists():
        problems += _run("a Python environment", [sys.executable, "-m", "venv", str(environment())])
    # one by one: one that cannot be had must not take the others with it
    for pin in absent:
        words = [str(python()), "-m", "pip", "--disable-pip-version-check", "-qq", "install", "--retries", "1", pin]
        problems += _run(pin, words)
    if gemini() is None:
        problems += _install_gemini()
    return problems


def _install_gemini() -> list[str]:
    package, version = GEMINI
    name = f"{package} {version}"
    if not (npm := shutil.which("npm")) or not shutil.which("node"):
        return [f"{name}: there is no npm"]
    final = folder() / f"gemini-cli-{version}"
    fresh = final.with_name(f"{final.name}.new-{os.getpid()}")
    fresh.mkdir(parents=True)
    try:
        words = [npm, "install", "--prefix", str(fresh), "--ignore-scripts", "--no-save", f"{package}@{version}"]
        if problems := _run(name, words):
            return problems
        if not final.exists():
            fresh.rename(final)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return []


def _run(what: str, words: list[str]) -> list[str]:
    sys.stderr.write(f"installing {what} into {folder()}\n")
    try:
        done = subprocess.run(
            words,
            env={**os.environ, **QUIET},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return [f"{what}: {type(problem).__name__}"]
    # the last words of pip and npm name machines and folders, which belong into no document
    sys.stderr.write(done.stderr[-2000:] if done.returncode else "")
    return [f"{what}: could not be installed"] if done.returncode else []
