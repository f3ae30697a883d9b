"""Play the scenes in a temporary home folder, with the real `hookline` command and the agents' real settings."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import Final

from msgspec import Struct
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.text import Text


class DemoAgent(Struct, frozen=True):
    """An agent program: its name for people, its name for `hookline install`, and its settings in the home folder."""

    title: str
    name: str
    settings: str


CLAUDE: Final = DemoAgent("Claude Code", "claude-code", ".claude/settings.json")
CODEX: Final = DemoAgent("Codex CLI", "codex-cli", ".codex/hooks.json")
GEMINI: Final = DemoAgent("Gemini CLI", "gemini-cli", ".gemini/settings.json")

AGENTS: Final = (CLAUDE, CODEX, GEMINI)


class DemoCall(Struct, frozen=True, kw_only=True):
    """One tool call of an agent, at one of its events.

    `writes` is the text that the tool has put into the file of the call when the event is raised.
    """

    agent: DemoAgent
    event: str
    tool: str
    args: Mapping[str, str]
    writes: str = ""


class Scene(Struct, frozen=True):
    """Calls that show one thing."""

    title: str
    calls: tuple[DemoCall, ...]
    shows_answer: bool = False


_claude = partial(DemoCall, agent=CLAUDE, event="PreToolUse")
_codex = partial(DemoCall, agent=CODEX, event="PreToolUse")
_gemini = partial(DemoCall, agent=GEMINI, event="BeforeTool")

_UGLY: Final = '{"name":"shop","port":8080,"debug":false}'

SCENES: Final = (
    Scene(
        "One rule, three agents, each answered in its own format",
        (
            _claude(tool="Bash", args={"command": "git push --force origin main"}),
            _codex(tool="Bash", args={"command": "cd api && git -c core.pager=cat push -f"}),
            _gemini(tool="run_shell_command", args={"command": "bash -c 'git push origin +main'"}),
        ),
        shows_answer=True,
    ),
    Scene(
        "Everything else goes on",
        (
            _claude(tool="Bash", args={"command": "git status && git push origin main"}),
            _codex(tool="Bash", args={"command": "make test 2>&1 | tail -n 20"}),
            _gemini(tool="run_shell_command", args={"command": "echo 'push --force'"}),
        ),
    ),
    Scene(
        "A secret is protected, whichever tool asks for it",
        (
            _claude(tool="Read", args={"file_path": "$PROJECT/.env"}),
            _codex(tool="Bash", args={"command": "grep KEY .env | base64"}),
            _gemini(tool="read_file", args={"file_path": "$PROJECT/.env.example"}),
        ),
    ),
    Scene(
        "A file that the agent wrote is formatted",
        (
            DemoCall(
                agent=CLAUDE,
                event="PostToolUse",
                tool="Write",
                args={"file_path": "$PROJECT/config.json", "content": _UGLY},
                writes=_UGLY,
            ),
        ),
    ),
)

UNAPPROVED: Final = _claude(tool="Bash", args={"command": "npm test"})


SECONDS: Final = 60
# the exit code that blocks in every agent
BLOCKED: Final = 2
# what stands before the lines about an answer
PAD: Final = " " * 14


class DemoAnswer(Struct, frozen=True):
    """What an agent gets back: the exit code, the bytes on stdout and stderr, and how long it waited."""

    code: int
    stdout: str
    stderr: str
    milliseconds: float

    @property
    def is_blocked(self) -> bool:
        """Whether the agent does not run the call."""
        decisions = {self._decision.get("permissionDecision"), self._fields.get("decision")}
        return self.code == BLOCKED or not decisions.isdisjoint({"deny", "block"})

    @property
    def reason(self) -> str:
        """The text that the model reads instead of the tool's result."""
        found = self._decision.get("permissionDecisionReason") or self._fields.get("reason")
        return str(found or self.stderr.strip())

    @property
    def message(self) -> str:
        """What the agent shows to the user."""
        return str(self._fields.get("systemMessage", ""))

    @property
    def _fields(self) -> Mapping[str, object]:
        fields = json.loads(self.stdout or "{}")
        return fields if isinstance(fields, dict) else {}

    @property
    def _decision(self) -> Mapping[str, object]:
        inner = self._fields.get("hookSpecificOutput")
        return inner if isinstance(inner, dict) else {}


class DemoStage:
    """A home folder and a project, in which the agents' settings were installed."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "shop"
        self.project.mkdir(parents=True)
        programs = str(Path(sys.executable).parent)
        kept = {name: value for name, value in os.environ.items() if name in {"LANG", "LC_ALL", "TERM", "TMPDIR"}}
        # a runtime folder of its own: the user's daemon neither answers the demo nor is stopped by it
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        self.environment = {
            **kept,
            "HOME": str(self.home),
            "PATH": os.pathsep.join([programs, os.defpath]),
            "XDG_RUNTIME_DIR": str(runtime),
        }
        (self.project / ".env").write_text("PAYMENT_KEY=live_51H\n", "utf-8")
        (self.project / ".env.example").write_text("PAYMENT_KEY=\n", "utf-8")

    def add_project_hook(self) -> None:
        """Give the project a hook of its own, as a clone of another person's repository would have."""
        (self.project / "hookline.toml").write_text(_resource("project.toml"), "utf-8")

    def run(self, *words: str) -> str:
        """Run the `hookline` command in the project, and return what it prints."""
        done = self._start([sys.executable, "-m", "hookline", *words])
        if done.returncode:
            raise SystemExit(f"hookline {shlex.join(words)} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
        return done.stdout

    def install(self) -> str:
        """Write the rules and connect the agents; return what `hookline install` prints."""
        rules = self.home / ".config" / "hookline" / "hookline.toml"
        rules.parent.mkdir(parents=True)
        rules.write_text(_resource("rules.toml"), "utf-8")
        return self.run("install", *(agent.name for agent in AGENTS))

    def answer(self, call: DemoCall) -> DemoAnswer:
        """Send a call to the command that stands in the agent's settings, as the agent does."""
        args = {key: value.replace("$PROJECT", str(self.project)) for key, value in call.args.items()}
        if call.writes:
            Path(args["file_path"]).write_text(call.writes, "utf-8")
        payload = {
            "session_id": "demo",
            "transcript_path": str(self.home / "transcript.jsonl"),
            "cwd": str(self.project),
            "hook_event_name": call.event,
            "tool_name": call.tool,
            "tool_input": args,
        }
        if call.event == "PostToolUse":
            payload["tool_response"] = {"filePath": args["file_path"], "success": True}
        started = perf_counter()
        done = self._start(["/bin/sh", "-c", self._command(call.agent, call.event)], stdin=json.dumps(payload))
        return DemoAnswer(done.returncode, done.stdout.strip(), done.stderr, (perf_counter() - started) * 1000)

    def _start(self, words: Sequence[str], *, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            input=stdin,
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def _command(self, agent: DemoAgent, event: str) -> str:
        settings = json.loads((self.home / agent.settings).read_text("utf-8"))
        command: str = settings["hooks"][event][0]["hooks"][0]["command"]
        return command


def _resource(name: str) -> str:
    return resources.files("hookline.demo").joinpath(name).read_text("utf-8")


def show_scene(console: Console, stage: DemoStage, scene: Scene) -> None:
    """Play one scene."""
    console.print()
    console.print(f"[bold]{escape(scene.title)}[/bold]")
    for call in scene.calls:
        answer = stage.answer(call)
        what = call.args.get("command") or Path(call.args["file_path"]).name
        console.print(Text.assemble("  ", (f"{call.agent.title:12}", "cyan"), f"{call.tool}  {what}"))
        word = ("blocked", "bold red") if answer.is_blocked else ("goes on", "green")
        line = Text.assemble(PAD, word, "  ", (f"{answer.milliseconds:.0f} ms", "dim"))
        reason = answer.reason.replace(f"{stage.project}/", "") if answer.is_blocked else ""
        console.print(line.append(f"  {reason}"), soft_wrap=True)
        if scene.shows_answer:
            console.print(Text.assemble(PAD, (answer.stdout or answer.stderr.strip(), "dim")), soft_wrap=True)
        if call.writes:
            written = (stage.project / "config.json").read_text("utf-8")
            console.print(Text.assemble(PAD, "before  ", (call.writes, "dim")))
            for row, written_line in enumerate(written.strip().splitlines()):
                text = written_line.lstrip()
                indent = " " * (len(written_line) - len(text))
                console.print(Text.assemble(PAD, "        " if row else "after   ", indent, (text, "dim")))


def show_tour(console: Console, stage: DemoStage) -> bool:
    """Show everything; return whether the project's own hook stayed unrun."""
    console.print("[bold]Your rules[/bold], in ~/.config/hookline/hookline.toml\n")
    console.print(Syntax(_resource("rules.toml").strip(), "toml", theme="ansi_dark", background_color="default"))
    console.print("\n[bold]$ hookline install claude-code codex gemini[/bold]")
    # the notes say which of the agents are on this machine, which does not matter here
    lines = [line for line in stage.install().splitlines() if not line.startswith(("  note:", "make "))]
    console.print(Text("\n".join(lines), "dim"), soft_wrap=True)
    # the first calls start the daemon and load the hooks
    for call in SCENES[1].calls:
        stage.answer(call)
    for scene in SCENES:
        show_scene(console, stage, scene)
    return show_unapproved_hook(console, stage)


def show_unapproved_hook(console: Console, stage: DemoStage) -> bool:
    """Let the project bring a hook that the user has not approved; return whether it stayed unrun."""
    stage.add_project_hook()
    console.print("\n[bold]A project brings a hook of its own, which you did not approve[/bold]")
    for row in _resource("project.toml").splitlines():
        console.print(Text.assemble("  ", (row, "dim")))
    call = UNAPPROVED
    answer = stage.answer(call)
    console.print(Text.assemble("  ", (f"{call.agent.title:12}", "cyan"), f"{call.tool}  {call.args['command']}"))
    is_safe = not (stage.project / "stolen.txt").exists()
    word = ("the hook did not run", "green") if is_safe else ("the hook ran", "bold red")
    console.print(Text.assemble(PAD, word, "  ", (f"{answer.milliseconds:.0f} ms", "dim")))
    console.print(Text.assemble(PAD, (answer.message, "dim")), soft_wrap=True)
    return is_safe


NEXT: Final[Mapping[str, str]] = {
    "hookline install claude-code": "connect your own agent (codex, gemini and nine others work too)",
    'hookline add --deny "no force pushes" --runs "git push --force"': "write your first rule",
    "hookline uninstall --all": "take everything back, byte for byte",
}


def main(argv: list[str] | None = None) -> int:
    """Run the demo in a temporary folder."""
    parser = argparse.ArgumentParser(prog="hookline.demo", description="Play calls of three agents.")
    parser.add_argument("--svg", metavar="FILE", type=Path, help="write a picture of what is shown")
    picture = parser.parse_args(argv).svg
    console = Console(width=None if sys.stdout.isatty() and not picture else 110, highlight=False, record=bool(picture))
    with tempfile.TemporaryDirectory(prefix="hookline-demo-") as folder:
        stage = DemoStage(Path(folder))
        try:
            is_safe = show_tour(console, stage)
        finally:
            stage.run("daemon", "stop")
    if picture:
        # rich loads its font from elsewhere; a picture in a repository uses the fonts that are there
        text = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title="make demo"), flags=re.DOTALL)
        picture.write_text(text.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono"), "utf-8")
    console.print("\n[bold]Next[/bold] (in .venv/bin, or after `pip install .`)\n")
    for command, purpose in NEXT.items():
        console.print(f"  {escape(command)}\n      [dim]{escape(purpose)}[/dim]")
    return 0 if is_safe else 1


if __name__ == "__main__":
    sys.exit(main())
