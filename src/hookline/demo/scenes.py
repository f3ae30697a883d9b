"""The calls that the demo plays: what each agent sends to its hooks, in the agent's own format."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec import Struct


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
