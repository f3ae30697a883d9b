import json

import pytest
from msgspec.structs import replace

from hookline.config.edit import append, put
from hookline.config.export import ExportResult, ExportTarget, shell_line, write
from hookline.config.formats import read
from hookline.config.formats.agent_specs import FILE_SPECS
from hookline.config.reader import FileOrigin, KnownNames
from hookline.model.hook import Hook, OnError
from hookline.wiring import native_names, native_tools, shell_dialects

WORDS = KnownNames(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects())
AGENTS = {"kiro-agent": "kiro"}
GUARD = Hook(
    id="guard",
    name="guard",
    on="before_tool",
    command="python3 guard.py --strict",
    matcher="shell|write_file",
    timeout=20.0,
)
# those whose file has a place for each of these events and tools
WRITABLE = sorted(set(FILE_SPECS) - {"kiro-legacy", "cline"})


def _written(hook: Hook, form: str) -> ExportResult:
    return write(hook, form, ExportTarget(dialect=AGENTS.get(form, form), known_names=WORDS))


def _text(written: ExportResult) -> str:
    text = put("", (), written.header, path="x.json") if written.header else ""
    for entry in written.entries:
        text = append(text, entry.pointer, entry.value, path="x.json")
    return text


def _read(text: str, form: str) -> list[Hook]:
    whose = AGENTS.get(form, form)
    origin = FileOrigin(path="/p/.x/hooks.json", dialect=whose, agent=whose, root="/p", known_names=WORDS)
    hooks, problems = read(text, origin=origin, formats=(form,))
    assert problems == []
    return hooks


@pytest.mark.parametrize("form", WRITABLE)
def test_what_is_written_is_read_as_the_same_hook(form: str) -> None:
    hooks = _read(_text(_written(GUARD, form)), form)

    assert {hook.command for hook in hooks} == {"python3 guard.py --strict"}
    assert {event for hook in hooks for event in hook.on} == {"before_tool"}
    times = {hook.timeout for hook in hooks}
    assert times == ({None} if form == "windsurf" else {20.0})


@pytest.mark.parametrize(
    ("form", "matcher"),
    [
        ("claude-code", "Bash|Write"),
        ("gemini-cli", "run_shell_command|write_file"),
        ("factory-droid", "Execute|Create"),
        ("antigravity", "run_command|write_to_file"),
        ("copilot-cli", "bash|create"),
        ("kiro", "execute_bash|fs_write"),
    ],
)
def test_tools_get_the_agents_own_names(form: str, matcher: str) -> None:
    assert json.dumps(matcher)[1:-1] in _text(_written(GUARD, form))


def test_event_about_some_tools_is_chosen_by_what_the_hook_is_for() -> None:
    shell = _written(replace(GUARD, matcher="shell"), "windsurf")
    every = _written(replace(GUARD, matcher=""), "windsurf")

    assert [entry.pointer for entry in shell.entries] == [("hooks", "pre_run_command")]
    assert {str(entry.pointer[1]) for entry in every.entries} == {
        "pre_run_command",
        "pre_read_code",
        "pre_write_code",
        "pre_mcp_tool_use",
    }


def test_hook_goes_back_to_the_event_it_was_written_for() -> None:
    hook = replace(GUARD, dialect="cursor", matcher="^(?:shell)$", native_event="beforeShellExecution")
    (entry,) = _written(hook, "cursor").entries

    assert entry == type(entry)(
        ("hooks", "beforeShellExecution"), {"type": "command", "command": GUARD.command, "timeout": 20}
    )


def test_new_file_begins_as_the_agent_wants_it() -> None:
    assert json.loads(_text(_written(GUARD, "cursor")))["version"] == 1
    assert json.loads(_text(_written(GUARD, "kiro")))["version"] == "v1"


def test_hook_joins_the_group_with_its_matcher() -> None:
    there = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": []}, {"matcher": "Bash|Write", "hooks": []}]}}
    written = write(GUARD, "claude-code", ExportTarget(dialect="claude-code", known_names=WORDS, document=there))

    assert [entry.pointer for entry in written.entries] == [("hooks", "PreToolUse", 1, "hooks")]


@pytest.mark.parametrize(
    ("hook", "form", "reason"),
    [
        (replace(GUARD, enabled=False), "claude-code", "not written, it is switched off"),
        (
            replace(GUARD, kind="", command="", module="a", function="b"),
            "cursor",
            "not written, python hooks have no place",
        ),
        (
            replace(GUARD, kind="", command="", url="https://x.org"),
            "cursor",
            "not written, webhook hooks have no place",
        ),
        (replace(GUARD, on=("git_commit",)), "claude-code", "not written, the event git_commit has no name"),
        (replace(GUARD, condition="true"), "claude-code", "there is no key for condition"),
        (replace(GUARD, on_error=OnError.BLOCK), "gemini-cli", "there is no key for on_error"),
        (replace(GUARD, matcher="fs.*"), "claude-code", "the matcher fs.* is more than a list of names"),
        (GUARD, "claude-code", "it speaks hookline; hooks in this file are spoken to in claude-code"),
        (replace(GUARD, matcher="multi_edit"), "codex-cli", "it speaks"),
    ],
)
def test_what_cannot_be_carried_over_is_said(hook: Hook, form: str, reason: str) -> None:
    # a kind follows from what is set
    made = replace(hook, kind=hook.kind or ("python" if hook.module else "webhook" if hook.url else "command"))

    assert any(reason in line for line in _written(made, form).losses)


def test_failure_that_blocks_is_said_as_the_agent_says_it() -> None:
    blocks = replace(GUARD, on_error=OnError.BLOCK)

    assert '"failClosed": true' in _text(_written(blocks, "cursor"))
    assert '"onFailure": "block"' in _text(_written(blocks, "claude-code"))


def test_switch_and_prompt_have_a_place_in_kiro() -> None:
    asks = Hook(id="tests", on="after_agent", prompt="Run the tests.", enabled=False)
    (hook,) = _read(_text(_written(asks, "kiro")), "kiro")

    assert (hook.prompt, hook.enabled, hook.on) == ("Run the tests.", False, ("after_agent",))


def test_words_become_a_line_that_means_the_same() -> None:
    target = ExportTarget(dialect="claude-code", known_names=WORDS)

    assert shell_line(replace(GUARD, command="my tool", args=("a b", "$X")), target) == "'my tool' 'a b' '$X'"
    assert shell_line(replace(GUARD, command="echo $X > y", shell=None), target) == "echo '$X' '>' y"
    assert shell_line(replace(GUARD, command="echo $X > y", shell=True), target) == "echo $X > y"


def test_hook_of_any_agent_can_be_written_for_every_other() -> None:
    for source in WRITABLE:
        for hook in _read(_text(_written(GUARD, source)), source):
            for form in WRITABLE:
                written = _written(hook, form)
                assert written.entries, (source, form, written.losses)
                assert _read(_text(written), form)
