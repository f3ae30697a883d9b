"""What loading a thousand hook files costs, against reading and parsing the same files bare."""

import json
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

from hookline.project import load_project
from hookline.user_dirs import UserDirs
from tests.bench import harness
from tests.bench.rows import Section

FILES = 1000
FLOOR = "read and parse the files bare"
LOAD = "load them all into an engine"

TOML = """\
# what the team agreed on
[[hook]]
name = "guard {number}"
on = "before_tool"
tools = ["shell", "write_file"]
run = ["python3", "/opt/hooks/guard-{number}.py"]
timeout = 20
on_error = "block"
"""


def definition(number: int) -> object:
    """Make what one file of OLLM holds."""
    return {
        "id": f"hook-{number}",
        "name": f"Hook {number}",
        "event": "before_tool",
        "command": "node",
        "args": [f"/opt/hooks/check-{number}.js", "--strict"],
        "timeout": 5,
        "enabled": True,
    }


def grouped(number: int) -> object:
    """Make settings with two hooks."""
    hooks = [{"type": "command", "command": f"python3 /opt/hooks/{name}-{number}.py"} for name in ("log", "check")]
    return {"hooks": {"before_tool": [{"matcher": "shell|write_file", "hooks": hooks}]}}


def per_file(number: int) -> object:
    """Make one of cli-agent's files."""
    return {"matcher": "bash*", "command": f"logger run-{number} {{{{tool_name}}}}", "timeout": 10}


def write(folder: Path) -> list[Path]:
    """Write a thousand files, as eight hundred single definitions and some of every other kind."""
    project, home, config = folder / "project", folder / "home", folder / "config"
    texts = {
        **{project / f".ollm/hooks/{number:04}.json": definition(number) for number in range(800)},
        **{home / f".config/agent/hooks/pre-{number:04}.json": per_file(number) for number in range(100)},
        **{home / f".ollm/extensions/pack-{number}/hooks/hooks.json": grouped(number) for number in range(50)},
        **{config / f"packs/pack-{number}/hookline.toml": TOML.format(number=number) for number in range(50)},
    }
    for path, content in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), "utf-8")
    return list(texts)


async def measure() -> Sequence[Section]:
    """Measure both side by side."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [str(path) for path in write(folder)]
        folders = UserDirs(home=folder / "home", config=folder / "config", data=folder / "data")

        def bare() -> None:
            for path in files:
                with open(path, encoding="utf-8") as file:  # noqa: PTH123 - bare means bare
                    text = file.read()
                (tomllib.loads if path.endswith(".toml") else json.loads)(text)

        def load() -> None:
            engine = load_project(folder / "project", folders=folders, traced=False).engine
            hooks = engine.registry.get_hook_count()
            if len(files) != FILES or engine.problems or hooks != FILES + 50:
                raise SystemExit(f"{hooks} hooks of {len(files)} files were loaded; {engine.problems[:3]}")

        timings = await harness.interleave({FLOOR: bare, LOAD: load}, min(harness.rounds(), 40), warm_up=2)
    rows = harness.rows(timings, floor=FLOOR, most={LOAD: 5.0})
    about = "Wall time, of all files together; 40 rounds, because each takes long."
    return [Section(title=f"Loading {FILES} hook files", about=about, rows=rows)]


if __name__ == "__main__":
    harness.main(measure)
