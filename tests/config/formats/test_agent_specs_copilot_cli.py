from collections.abc import Callable

from hookline.config.formats.agent_specs import FILE_SPECS
from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]


def _one(reads: Reads, event: str = "preToolUse", **entry: object) -> tuple[list[Hook], list[str]]:
    return reads("copilot-cli", {"version": 1, "hooks": {event: [entry]}})


def test_every_key_of_a_command_is_read(reads: Reads) -> None:
    entry = {"type": "command", "matcher": "bash|edit", "bash": "./guard.sh", "powershell": "./guard.ps1"}
    (hook,), problems = _one(reads, **entry, cwd="tools", env={"MODE": "strict"}, timeoutSec=15)

    assert problems == []
    assert (hook.command, hook.matcher, hook.timeout) == ("./guard.sh", "bash|edit", 15)
    assert (hook.working_directory, hook.env, hook.parallel) == ("tools", {"MODE": "strict"}, False)


def test_line_for_both_shells_is_taken_where_there_is_none_for_ours(reads: Reads) -> None:
    (hook,), _ = _one(reads, command="a", powershell="b")

    assert hook.command == "a"


def test_line_for_powershell_alone_is_left_to_the_agent(reads: Reads) -> None:
    hooks, (problem,) = _one(reads, powershell="b")

    assert hooks == []
    assert "a line for PowerShell alone; it is not loaded" in problem


def test_program_with_words_is_read_by_no_shell(reads: Reads) -> None:
    (hook,), _ = _one(reads, exec="/opt/my tool", args=["a b"])
    (alone,), _ = _one(reads, exec="/opt/my tool")

    assert (hook.command, hook.args) == ("/opt/my tool", ("a b",))
    assert (alone.command, alone.shell) == ("'/opt/my tool'", False)


def test_entry_without_anything_to_run_is_an_error(reads: Reads) -> None:
    hooks, (problem,) = _one(reads, matcher="bash")

    assert hooks == []
    assert "says nothing to run; the hook is not loaded" in problem


def test_how_an_event_is_spelled_is_kept(reads: Reads) -> None:
    (camel,), _ = _one(reads, "agentStop", command="a")
    (other,), _ = _one(reads, "Stop", command="a")

    assert (camel.native_event, other.native_event) == ("agentStop", "Stop")
    assert camel.on == other.on == ("after_agent",)


def test_names_of_claude_code_in_a_matcher_mean_our_tools(reads: Reads) -> None:
    (hook,), _ = _one(reads, "PreToolUse", command="a", matcher="Write|Bash")

    assert {"Write", "Bash", "shell", "write_file"} <= set(hook.matcher.split("|"))


def test_groups_as_others_have_them_are_read_as_well(reads: Reads) -> None:
    document = {"hooks": {"preToolUse": [{"matcher": "bash", "hooks": [{"type": "command", "command": "a"}]}]}}
    (hook,), problems = reads("copilot-cli", document)

    assert problems == []
    assert (hook.matcher, hook.source_pointer) == ("bash", ("hooks", "preToolUse", 0, "hooks", 0))


def test_address_gets_the_variables_its_headers_may_name(reads: Reads) -> None:
    web = {"type": "http", "url": "https://x.org", "headers": {"A": "${KEY}"}, "allowedEnvVars": ["KEY"]}
    (hook,), problems = reads("copilot-cli", {"hooks": {"preToolUse": [web]}})

    assert problems == []
    assert (hook.kind, hook.header_env) == ("webhook", ("KEY",))


def test_other_spelling_of_an_event_is_its_name_in_claude_code() -> None:
    events = FILE_SPECS["copilot-cli"].events

    assert [name for name in events if name[0].isupper()][:5] == [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "Stop",
        "ErrorOccurred",
    ]
    assert events["Stop"] == events["agentStop"]
