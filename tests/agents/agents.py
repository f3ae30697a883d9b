"""The agents under test: how each is started without a person, and what each calls its things."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.agents.programs import PROGRAMS, command, node
from tests.agents.speech import Call

PROMPT: Final = "do what the script says"
KEY: Final = "not-a-key"


@dataclass(frozen=True, slots=True)
class Agent:
    """One program, with nothing allowed to leave the machine and nothing to ask anybody."""

    name: str
    arguments: Sequence[str]
    env: Mapping[str, str]
    # the settings a person would have; files under the home folder
    settings: Mapping[str, str] = field(default_factory=dict)
    # the file of the agent that holds hooks, under the home folder and under a project
    hooks_file: str = ""
    # where else Hookline writes when it is installed
    also_written: Sequence[str] = ()
    shell: Callable[[str], Call] = lambda line: Call("Bash", {"command": line, "description": "a command"})
    write: Callable[[Path, str], Call] = lambda path, text: Call("Write", {"file_path": str(path), "content": text})
    # the agent's own names of what every agent has
    before_tool: str = "PreToolUse"
    after_tool: str = "PostToolUse"
    shell_name: str = "Bash"
    write_name: str = "Write"
    # what we call the tool it writes files with
    writes_by: str = "write_file"
    # whether it runs only hooks whose hash the person has approved
    approves: bool = False
    # whether a question of a hook is put to a person even where there is none, and so for ever
    waits: bool = False
    # whether a hook can change the arguments of a call
    rewrites: bool = True
    # a session's transcript, as a pattern under the home folder
    transcripts: str = ""
    # further words of the command line that go on with the last session
    resumes: Sequence[str] = ("--continue",)
    # reading a file; where there is no tool for it, a shell does
    read: Callable[[Path], Call] = lambda path: Call("Read", {"file_path": str(path)})
    # settings that let hooks of a project run: a file under the home folder, and what is added to it
    trusts: tuple[str, str] | None = None

    @property
    def command(self) -> list[str]:
        """The whole command line."""
        return [*command(PROGRAMS[self.name]), *self.arguments]

    @property
    def path(self) -> str:
        """Where its own tools are found."""
        return f"{node().parent}:/usr/local/bin:/usr/bin:/bin"

    def settle(self, home: Path) -> None:
        """Write the settings a person would have."""
        for name, text in self.settings.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(text, "utf-8")


def _gemini_shell(line: str) -> Call:
    return Call("run_shell_command", {"command": line, "description": "a command"})


def _qwen_shell(line: str) -> Call:
    return Call("run_shell_command", {"command": line, "description": "a command", "is_background": False})


def _google_write(path: Path, text: str) -> Call:
    return Call("write_file", {"file_path": str(path), "content": text})


def _google_read(path: Path) -> Call:
    return Call("read_file", {"file_path": str(path)})


def _codex_write(path: Path, text: str) -> Call:
    lines = "".join(f"+{line}\n" for line in text.splitlines())
    return Call("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")


AGENTS: Final = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude-code",
            arguments=("-p", PROMPT, "--allowedTools", "Bash,Write,Read,Edit"),
            env={
                "ANTHROPIC_BASE_URL": "http://127.0.0.1:{port}",
                "ANTHROPIC_API_KEY": KEY,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_ERROR_REPORTING": "1",
                "CLAUDE_CODE_MAX_RETRIES": "1",
            },
            hooks_file=".claude/settings.json",
            transcripts=".claude/projects/*/*.jsonl",
        ),
        Agent(
            name="codex-cli",
            arguments=(
                "exec",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                "-c",
                'model_providers.scripted.base_url="http://127.0.0.1:{port}/v1"',
                PROMPT,
            ),
            env={"SCRIPTED_KEY": KEY},
            settings={
                ".codex/config.toml": """\
# a person's own settings
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[otel]
exporter = "none"

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:1/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
"""
            },
            hooks_file=".codex/hooks.json",
            also_written=(".codex/config.toml",),
            approves=True,
            writes_by="apply_patch",
            shell=lambda line: Call("exec_command", {"cmd": line}),
            write=_codex_write,
            read=lambda path: Call("exec_command", {"cmd": f"cat {path}"}),
            resumes=("resume", "--last"),
            trusts=(".codex/config.toml", '\n[projects."{project}"]\ntrust_level = "trusted"\n'),
            transcripts=".codex/sessions/*/*/*/*.jsonl",
        ),
        Agent(
            name="gemini-cli",
            arguments=("-m", "gemini-2.5-flash", "--yolo", "-p", PROMPT),
            env={
                "GEMINI_API_KEY": KEY,
                "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:{port}",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            settings={
                ".gemini/settings.json": json.dumps(
                    {
                        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
                        "privacy": {"usageStatisticsEnabled": False},
                        "telemetry": {"enabled": False},
                        "security": {
                            "auth": {"selectedType": "gemini-api-key"},
                            "folderTrust": {"enabled": False},
                        },
                    },
                    indent=2,
                )
                + "\n"
            },
            hooks_file=".gemini/settings.json",
            shell=_gemini_shell,
            write=_google_write,
            before_tool="BeforeTool",
            waits=True,
            after_tool="AfterTool",
            shell_name="run_shell_command",
            write_name="write_file",
            read=_google_read,
            resumes=("--resume", "latest"),
            transcripts=".gemini/tmp/*/chats/*",
        ),
        Agent(
            name="qwen-code",
            arguments=("--yolo", "-p", PROMPT),
            env={
                "OPENAI_API_KEY": KEY,
                "OPENAI_BASE_URL": "http://127.0.0.1:{port}/v1",
                "OPENAI_MODEL": "scripted",
                "QWEN_USAGE_STATISTICS_ENABLED": "0",
                "QWEN_TELEMETRY_ENABLED": "0",
            },
            settings={
                ".qwen/settings.json": json.dumps(
                    {
                        "general": {"enableAutoUpdate": False},
                        "privacy": {"usageStatisticsEnabled": False},
                        "telemetry": {"enabled": False},
                        "security": {"auth": {"selectedType": "openai"}},
                    },
                    indent=2,
                )
                + "\n"
            },
            hooks_file=".qwen/settings.json",
            shell=_qwen_shell,
            write=_google_write,
            shell_name="run_shell_command",
            write_name="write_file",
            read=_google_read,
            rewrites=False,
            transcripts=".qwen/projects/*/chats/*",
        ),
    )
}

# programs whose hooks are tried less thoroughly
MORE: Final = {
    agent.name: agent
    for agent in (
        Agent(
            name="copilot-cli",
            arguments=(
                "-p",
                PROMPT,
                "--allow-all-tools",
                "--no-color",
                "--disable-builtin-mcps",
                "--model",
                "scripted",
            ),
            env={
                "COPILOT_OFFLINE": "true",
                "COPILOT_AUTO_UPDATE": "false",
                "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:{port}/v1",
                "COPILOT_PROVIDER_API_KEY": KEY,
                "COPILOT_MODEL": "scripted",
            },
            hooks_file=".copilot/hooks/hookline.json",
            shell=lambda line: Call("bash", {"command": line, "description": "a command"}),
            write=lambda path, text: Call("create", {"path": str(path), "file_text": text}),
        ),
        Agent(
            name="opencode",
            arguments=("run", "-m", "scripted/scripted", PROMPT),
            env={
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                # it looks for its own package there, and waits for an answer
                "npm_config_registry": "http://127.0.0.1:{port}/registry/",
                "OPENCODE_CONFIG_CONTENT": json.dumps(
                    {
                        "share": "disabled",
                        "permission": {"*": "allow"},
                        "provider": {
                            "scripted": {
                                "npm": "@ai-sdk/openai-compatible",
                                "options": {"baseURL": "http://127.0.0.1:{port}/v1", "apiKey": KEY},
                                "models": {"scripted": {"limit": {"context": 100000, "output": 8000}}},
                            }
                        },
                    }
                ),
            },
            hooks_file=".config/opencode/plugin/hookline.js",
            shell=lambda line: Call("bash", {"command": line, "description": "a command"}),
            write=lambda path, text: Call("write", {"filePath": str(path), "content": text}),
        ),
    )
}
