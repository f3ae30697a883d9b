"""Make `.venv` ready: the package itself, editable, at pinned versions.

    python3 tools/setup_venv.py runtime     what the program needs
    python3 tools/setup_venv.py dev         that, and the tools of the `dev` group

Runs on a bare Python 3.11: only the standard library, and the pip that a new environment brings. Older
versions of pip do not support dependency groups, so the list is read here.
"""

import argparse
import subprocess
import sys
import tomllib
from pathlib import Path
from time import monotonic

ROOT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "--disable-pip-version-check", "install")

# hatchling asks for it only during an editable install, too late for a build without isolation
EDITABLE_BACKEND = "editables"

# what a line of pip begins with when it turns to the next package
NEXT_PACKAGE = "Collecting "


def requirements(pyproject: str, *, is_dev: bool) -> list[str]:
    """List everything to install besides the package: what it needs, what builds it and, for `dev`, what checks it."""
    settings = tomllib.loads(pyproject)
    return [
        *settings["project"]["dependencies"],
        *settings["build-system"]["requires"],
        *(settings["dependency-groups"]["dev"] if is_dev else []),
        EDITABLE_BACKEND,
    ]


def interpreter(folder: Path) -> Path:
    """Return where an environment keeps its Python."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def works(python: Path) -> bool:
    """Return whether an environment can be kept: its Python starts, is new enough and has pip."""
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def run_step(title: str, command: list[str | Path]) -> int:
    """Run a command, showing which package pip has come to; print everything it said if it fails."""
    is_terminal = sys.stdout.isatty()
    print(f"  {title} …", end="" if is_terminal else "\n", flush=True)
    started, lines, packages = monotonic(), [], 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - for the type checker
        for line in process.stdout:
            lines.append(line)
            if line.startswith(NEXT_PACKAGE):
                packages += 1
                name = line.removeprefix(NEXT_PACKAGE).split()[0]
                if is_terminal:
                    print(f"\r\x1b[2K  {title} … {packages}: {name}", end="", flush=True)
                elif packages % 10 == 0:
                    print(f"    {packages} packages", flush=True)
    if process.returncode:
        print(f"\nfailed ({process.returncode}): {' '.join(map(str, command))}", file=sys.stderr)
        sys.stderr.writelines(lines)
    elif is_terminal:
        print(f"\r\x1b[2K  {title}: {monotonic() - started:.0f} s")
    return process.returncode


def main(argv: list[str] | None = None) -> int:
    """Create the environment when there is none that works, and bring it up to date."""
    parser = argparse.ArgumentParser(description="Make .venv ready.")
    parser.add_argument("level", choices=["runtime", "dev"])
    is_dev = parser.parse_args(argv).level == "dev"
    folder = ROOT / ".venv"
    python = interpreter(folder)
    wanted = requirements((ROOT / "pyproject.toml").read_text("utf-8"), is_dev=is_dev)
    steps: list[tuple[str, list[str | Path]]] = [
        ("installing packages", [python, *PIP, "-c", ROOT / "constraints.txt", *wanted]),
        # Every dependency is installed by now: without build isolation pip fetches nothing a second time.
        ("building hookline", [python, *PIP, "--no-deps", "--no-build-isolation", "-e", ROOT]),
    ]
    if not works(python):
        steps.insert(0, ("creating the environment", [Path(sys.executable), "-m", "venv", "--clear", folder]))
    print("Setting up .venv", flush=True)
    return next((1 for title, command in steps if run_step(title, command)), 0)


if __name__ == "__main__":
    raise SystemExit(main())
