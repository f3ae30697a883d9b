"""Make `.venv` ready: the package itself, editable, and the tools of its `dev` group, all at pinned versions.

    python3 tools/setup_venv.py

Runs on a bare Python 3.11: only the standard library, and whatever pip a new environment brings. Older
versions of pip know no dependency groups, so the list is read here.
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "--disable-pip-version-check", "-qq", "install")

# hatchling asks for it only at the moment of an editable install, too late for a build without isolation
EDITABLE_BACKEND = "editables"


def requirements(pyproject: str) -> list[str]:
    """List everything to install besides the package: what it needs, what builds it, what checks it."""
    settings = tomllib.loads(pyproject)
    return [
        *settings["project"]["dependencies"],
        *settings["build-system"]["requires"],
        *settings["dependency-groups"]["dev"],
        EDITABLE_BACKEND,
    ]


def interpreter(folder: Path) -> Path:
    """Say where an environment keeps its Python."""
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def works(python: Path) -> bool:
    """Tell whether an environment can be kept: its Python starts, is new enough and has pip."""
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([python, "-c", probe], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main() -> int:
    """Create the environment when there is none that works, and bring it up to date."""
    folder = ROOT / ".venv"
    python = interpreter(folder)
    wanted = requirements((ROOT / "pyproject.toml").read_text("utf-8"))
    steps: list[list[str | Path]] = [
        [python, *PIP, "-c", ROOT / "constraints.txt", *wanted],
        # Everything it needs is there by now; without isolation nothing is fetched a second time.
        [python, *PIP, "--no-deps", "--no-build-isolation", "-e", ROOT],
    ]
    if not works(python):
        steps.insert(0, [Path(sys.executable), "-m", "venv", "--clear", folder])
    print("Setting up .venv …", flush=True)
    for step in steps:
        if code := subprocess.run(step, check=False).returncode:
            print(f"failed ({code}): {' '.join(map(str, step))}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
