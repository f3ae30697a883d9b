from collections.abc import Callable

from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]

TOML = """\
model = "gpt-5"

[[hooks.PreToolUse]]
matcher = "Bash"

[[hooks.PreToolUse.hooks]]
type = "command"
command = "python3 guard.py"
commandWindows = "py guard.py"
timeout = 20
statusMessage = "checking"

[[hooks.Stop]]
hooks = [{ type = "command", command = "a", async = true }, { type = "prompt", prompt = "b" }]

[hooks.state."/p/.codex/config.toml:pre_tool_use:0:0"]
trusted_hash = "x"
"""


def test_hooks_in_toml_are_the_same_as_in_json(reads: Reads) -> None:
    (guard, stop), problems = reads("codex-cli", TOML, path="/p/.codex/config.toml")

    assert (guard.matcher, guard.command, guard.timeout, guard.source_line) == ("Bash", "python3 guard.py", 20, 6)
    assert (stop.command, stop.background, stop.on) == ("a", True, ("after_agent",))
    assert [problem.partition(": ")[2] for problem in problems] == [
        'a hook of "Stop" is of type prompt: the agent does not run it yet, so it runs only there'
    ]


def test_hooks_in_json_stand_under_hooks(reads: Reads) -> None:
    document = {
        "description": "demo",
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "timeout": 1}]}]},
    }
    (hook,), problems = reads("codex-cli", document)

    assert problems == []
    assert (hook.command, hook.parallel, hook.run_by) == ("x", True, ("codex-cli",))
