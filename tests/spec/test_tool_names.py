"""A rule in any agent's words is asked about the same tool under every agent, by the real program and real payloads."""

import json
from pathlib import Path
from typing import Final

import pytest

from hookline import Engine
from tests.cli.program import configure, hookline

PAYLOADS: Final = Path(__file__).parents[1] / "dialects" / "payloads"

DROID: Final = {"session_id": "s", "transcript_path": "/t", "cwd": "$CWD", "permission_mode": "auto-low"}

# agent -> the event, what it says when it runs a command, and what it says when it writes a file
AGENTS: Final[dict[str, tuple[str, str, str]]] = {
    "claude-code": ("PreToolUse", "claude/PreToolUse.Bash", "claude/PreToolUse.Write"),
    "codex-cli": ("PreToolUse", "codex/PreToolUse.Bash", "codex/PreToolUse.apply_patch"),
    "gemini-cli": ("BeforeTool", "gemini/BeforeTool.run_shell_command", "gemini/BeforeTool.write_file"),
    "qwen-code": ("PreToolUse", "qwen/PreToolUse.run_shell_command", "qwen/PreToolUse.write_file"),
    "copilot-cli": ("preToolUse", "copilot/preToolUse.bash", "copilot/preToolUse.create"),
    "opencode": ("tool.execute.before", "opencode/tool.execute.before.bash", "opencode/tool.execute.before.write"),
    "cursor": ("preToolUse", "cursor/preToolUse", "cursor/preToolUse.Write"),
    "windsurf": ("", "windsurf/pre_run_command", "windsurf/pre_write_code"),
    "cline": ("PreToolUse", "cline/PreToolUse", "cline/PreToolUse.editor"),
    "kiro": ("preToolUse", "kiro/preToolUse", "kiro/preToolUse.fs_write.create"),
    "factory-droid": ("PreToolUse", "Execute", "Create"),
    "antigravity": ("PreToolUse", "antigravity/PreToolUse.run_command", "antigravity/PreToolUse.write_to_file"),
}
SHELL: Final = (
    *("shell", "Bash", "bash", "BASH", "run_shell_command", "execute_bash", "Execute", "run_commands", "exec_command"),
    *("launch-process", "Bash|Write", "Write | Bash", "Edit,Bash", "^(Bash|Write)$", "(?:Bash|apply_patch)", "Bas.*"),
    *("run_*", "builtin:Bash", "^(?!Read$|Write$|mcp__).*", "Shell|nothing"),
)
WRITE: Final = (
    *("write_file", "Write", "write", "WRITE", "Write|Edit", "^(Write|Edit)$", "Edit|Write|MultiEdit", "W.*te"),
    *("write_to_file", "save-file", "builtin:Write", "^(?!Bash$|Read$).*", "apply_patch|Write", "create|edit|write"),
)
NEITHER: Final = ("web_fetch", "WebFetch", "TodoWrite", "mcp__*", "^(?!Bash$|Write$|Edit$|apply_patch$|MultiEdit$).*")


def _payload(agent: str, name: str) -> tuple[str, str]:
    event = AGENTS[agent][0] or name.partition("/")[2]
    if agent == "factory-droid":
        args = {"command": "ls"} if name == "Execute" else {"file_path": "/p/a.txt", "content": "x"}
        said = {**DROID, "hook_event_name": event, "tool_name": name, "tool_input": args}
        return event, json.dumps(said)
    if name == "cline/PreToolUse.editor":
        # without an old text, the editor writes the file
        said = json.loads((PAYLOADS / f"{name}.json").read_text())
        call = said["preToolUse"]["parameters"]
        said["preToolUse"]["parameters"] = {key: value for key, value in call.items() if key != "old_text"}
        return event, json.dumps(said)
    return event, (PAYLOADS / f"{name}.json").read_text()


def _rules(matchers: tuple[str, ...], kind: str) -> str:
    rows = (
        f'[[hook]]\nid = "{kind}-{number}"\non = "before_tool"\nmatcher = {json.dumps(matcher)}\n'
        f'deny = "<{kind}-{number}>"\n'
        for number, matcher in enumerate(matchers)
    )
    return "\n".join(rows)


@pytest.mark.spec("U-01")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_rule_in_any_agents_words_is_asked_about_the_same_tool(agent: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    rules = (_rules(SHELL, "shell"), _rules(WRITE, "write"), _rules(NEITHER, "neither"))
    configure(home, "\n".join(rules))
    _, command, write = AGENTS[agent]

    for name, kind, other in ((command, "shell", "write"), (write, "write", "shell")):
        event, raw = _payload(agent, name)
        said = hookline(home, "hook", agent, event, stdin=raw.replace("$CWD", str(tmp_path / "project")))
        answer = said.stdout + said.stderr
        matchers = {"shell": SHELL, "write": WRITE}
        silent = [text for number, text in enumerate(matchers[kind]) if f"<{kind}-{number}>" not in answer]
        # a rule about both, or about everything but something, is asked about both
        wrong = [
            text
            for number, text in enumerate(matchers[other])
            if f"<{other}-{number}>" in answer
            and not {"|", ",", "(?!"} & {sign for sign in ("|", ",", "(?!") if sign in text}
        ]
        assert (silent, wrong, "<neither-" in answer) == ([], [], False), answer


@pytest.mark.spec("U-01")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_list_of_tools_takes_the_words_of_every_agent(agent: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    _, command, write = AGENTS[agent]
    cases = ((command, ("Bash", "run_shell_command", "shell")), (write, ("Write", "apply_patch", "write_file")))
    for name, words in cases:
        event, raw = _payload(agent, name)
        for word in words:
            configure(home, f'[[hook]]\non = "PreToolUse"\ntools = ["{word}"]\ndeny = "<no>"\n')
            said = hookline(home, "hook", agent, event, stdin=raw.replace("$CWD", str(tmp_path / "project")))
            is_patch_tool = word == "apply_patch" and agent in _WITH_PATCHES
            assert ("<no>" in said.stdout + said.stderr) is not is_patch_tool, (word, said)


# agents that have a tool of this name: there it means that tool, and not the one that writes a whole file
_WITH_PATCHES: Final = frozenset({"opencode", "copilot-cli", "cline", "cursor", "factory-droid"})


@pytest.mark.spec("U-01")
def test_a_hook_that_speaks_an_agents_language_may_be_for_tools_in_the_words_of_another() -> None:
    engine = Engine()
    hook = engine.hook("x", on="PreToolUse", dialect="gemini-cli", tools=["Bash", "write_file"], tell="x")

    assert (hook.on, hook.matcher) == (("before_tool",), "shell|write_file")


@pytest.mark.spec("U-01")
def test_a_function_takes_the_words_of_every_agent() -> None:
    engine = Engine()
    seen: list[str] = []
    engine.on("PreToolUse", tools=["run_shell_command"])(lambda event: seen.append(event.tool))
    engine.on("beforeShellExecution")(lambda event: seen.append(f"shell event: {event.tool}"))

    engine.emit_sync("before_tool", tool="Bash", args={"command": "ls"})
    engine.emit_sync("BeforeTool", tool="Write", args={"path": "a"})

    assert seen == ["shell", "shell event: shell"]
