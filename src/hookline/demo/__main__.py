"""Run the session."""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Final

try:
    from rich.console import Console
except ModuleNotFoundError:
    raise SystemExit("hookline: the demo draws its timeline with rich: pip install 'hookline[demo]'") from None

from hookline.core.engine import Engine
from hookline.demo.redactor import Redactor
from hookline.demo.timeline import Timeline
from hookline.errors import Blocked
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.verdict import Verdict
from hookline.workspace import Folders, load_engine

# where each system looks for its configuration
PLACES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ollm-hooks.json": ".ollm/hooks/project.json",
        "ollm-node.json": ".ollm/hooks/node.json",
        "ollama-settings.json": ".ollama/settings.json",
        "agent-settings.json": ".config/agent/settings.json",
    }
)


def lay_out(project: Path, *, port: int) -> None:
    """Write a project with hooks in the files of every system."""
    for source in resources.files("hookline.demo").joinpath("project").iterdir():
        if not source.is_file() or (source.name == "ollm-node.json" and not shutil.which("node")):
            continue
        target = project / PLACES.get(source.name, source.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text("utf-8").replace("PORT", str(port)), "utf-8")


async def approve(hook: Hook, _digest: str) -> bool:
    """Stand in for the person: yes to everything but one."""
    return hook.id != "telemetry"


def shell_in(project: Path) -> Callable[..., Awaitable[str]]:
    """Make the agent's shell tool."""

    async def shell(command: str) -> str:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_shell(
            command, cwd=project, stdout=pipe, stderr=asyncio.subprocess.STDOUT
        )
        out, _ = await child.communicate()
        return out.decode()

    return shell


def register_functions(engine: Engine) -> None:
    """Add a hook that is a function of the agent's own program."""

    @engine.on("before_agent", id="greeter")
    def greeter(event: Event) -> Verdict:
        return Verdict.add_context(f"The person speaks of {len(str(event.data['prompt']).split())} words.")


async def play(engine: Engine, shell: Callable[..., Awaitable[str]], console: Console) -> None:
    """Act the session out."""
    async with engine.session("demo", user="you", model="llama3.2", provider="ollama") as session:
        await session.emit("before_agent", {"prompt": "What is in the log, and can we clean up?"})
        await session.emit("before_model", {"model": "llama3.2", "messages": [{"role": "user", "content": "…"}]})
        result = await session.call_tool("shell", {"command": "cat server.log"}, shell)
        await engine.drain()
        console.print(f"         > the agent got: {str(result).strip()!r}", style="italic", highlight=False)
        try:
            await session.call_tool("shell", {"command": "rm -rf build"}, shell)
        except Blocked as blocked:
            await engine.drain()
            console.print(f"         > the agent was told: {blocked}", style="italic", highlight=False)
        for path in ("report.py", "build/made.py", "report.py"):
            await session.emit("file_edited", {"path": path})
        session.notify("two commands asked for, one of them run")
        await engine.drain()
        await session.emit("after_agent", {"response": "The server is up.", "conversation_length": 2})


async def run(folder: Path, console: Console) -> int:
    """Lay the project out, load its hooks, play, and say what is left of it."""
    project, home = folder / "project", folder / "home"
    project.mkdir()
    async with Redactor() as redactor:
        lay_out(project, port=redactor.port)
        folders = Folders(home=home, config=home / "config", data=home / "data")
        engine = load_engine(project, approve=approve, folders=folders)
        register_functions(engine)
        hooks = {hook.id: hook for hooks in engine.registry.get_all_hooks().values() for hook in hooks}
        console.print(f"{len(hooks)} hooks: in the files of three agents and our own, and one function.", style="bold")
        for problem in engine.problems:
            console.print(f"problem: {problem}", style="red")
        described = {name: f"{hook.dialect}, {hook.kind}" for name, hook in hooks.items()}
        engine.bus.subscribe(Timeline(console, time.time(), described))
        async with engine:
            await play(engine, shell_in(project), console)
    audit = (project / "audit.log").read_text("utf-8").split("\n")
    console.print(f"\naudit.log, written by a shell line: {audit[:-1]}", highlight=False)
    console.print(f"stolen.json, which the hook nobody approved would write: {(project / 'stolen.json').exists()}")
    return 0 if not (project / "stolen.json").exists() else 1


def main() -> int:
    """Run the demo in a temporary folder."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    with tempfile.TemporaryDirectory(prefix="hookline-demo-") as folder:
        return asyncio.run(run(Path(folder), console))


if __name__ == "__main__":
    sys.exit(main())
