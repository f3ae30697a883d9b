"""Every reason for which a guard can be absent: where it fails closed the call is blocked, else the person is told.

The guards here never deny anything by themselves, so a refusal is always because of the absence.
"""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from hookline.dialects import DIALECTS
from hookline.model.exchange import Answer
from hookline.project import load_project
from tests.bridge.agents import Person, is_neutral, is_refused

pytestmark = pytest.mark.slow

AGENTS: Final = ("claude-code", "codex-cli", "gemini-cli", "cursor", "copilot-cli", "qwen-code")

HOOK: Final = """
[[hook]]
id = "guard"
on = "before_tool"
on_error = "{policy}"
"""


def own(person: Person, policy: str, keys: str) -> None:
    """Give the person a guard in their own configuration."""
    person.configure(HOOK.format(policy=policy) + keys)


def approved(person: Person, policy: str, keys: str) -> Path:
    """Give the project a guard, and approve it as it is now; return its script."""
    script = person.project / "guard.sh"
    script.write_text("exit 0\n")
    (person.project / "hookline.toml").write_text(HOOK.format(policy=policy) + keys)
    project = load_project(person.project, traced=False)
    (hook,) = project.hooks
    project.trust.approve(hook, cwd=str(person.project))
    asyncio.run(project.engine.close())
    return script


SH: Final = 'run = ["sh", "guard.sh"]\n'


def file_of_the_project(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["sh", "tools/check.sh"]\n')
    (person.project / "tools").mkdir()
    (person.project / "tools" / "check.sh").write_text("exit 0\n")


def link_into_the_project(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["sh", "{person.home}/linked.sh"]\n')
    (person.project / "check.sh").write_text("exit 0\n")
    (person.home / "linked.sh").symlink_to(person.project / "check.sh")


def calls_itself_untrusted(person: Person, policy: str) -> None:
    person.configure("")
    (person.home / ".ollm" / "hooks").mkdir(parents=True)
    hook = {"name": "guard", "event": "before_tool", "command": "sh", "args": ["-c", "exit 0"], "trusted": False}
    hook["on_error"] = policy
    (person.home / ".ollm" / "hooks" / "guard.json").write_text(json.dumps(hook))


def program_missing(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["no-such-program"]\n')


def program_missing_at_its_path(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/opt/nowhere/guard"]\n')


def program_is_a_folder(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["{person.home}"]\n')


def program_may_not_be_executed(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["{person.home}/plain"]\n')
    (person.home / "plain").write_text("#!/bin/sh\n")


def program_is_no_program(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["{person.home}/damaged"]\n')
    (person.home / "damaged").write_bytes(b"\x7fELF\0\0\0")
    (person.home / "damaged").chmod(0o755)


def interpreter_missing(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["{person.home}/script"]\n')
    (person.home / "script").write_text("#!/opt/nowhere/python\n")
    (person.home / "script").chmod(0o755)


def script_missing(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["sh", "{person.home}/missing.sh"]\n')


def python_script_missing(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["python3", "{person.home}/missing.py"]\n')


def script_is_a_folder(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["sh", "{person.home}/folder"]\n')
    (person.home / "folder").mkdir()


def script_is_a_folder_for_python(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["python3", "{person.home}/folder"]\n')
    (person.home / "folder").mkdir()


def script_is_a_dangling_link(person: Person, policy: str) -> None:
    own(person, policy, f'run = ["sh", "{person.home}/link.sh"]\n')
    (person.home / "link.sh").symlink_to(person.home / "gone.sh")


def line_names_a_missing_program(person: Person, policy: str) -> None:
    own(person, policy, 'run = "/usr/local/bin/missing --strict"\nshell = true\n')


def folder_missing(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/bin/true"]\ncwd = "/opt/nowhere"\n')


def needs_a_tool(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/bin/true"]\nneeds = {tools = ["no-such-program"]}\n')


def needs_a_file(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/bin/true"]\nneeds = {files = ["/opt/nowhere/policy.json"]}\n')


def needs_a_variable(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/bin/true"]\nneeds = {env = ["NO_SUCH_VARIABLE"]}\n')


def module_missing(person: Person, policy: str) -> None:
    own(person, policy, 'call = "no_such_module:check"\n')


def function_missing(person: Person, policy: str) -> None:
    own(person, policy, 'call = "json:no_such_function"\n')


def service_unreachable(person: Person, policy: str) -> None:
    own(person, policy, 'post = "http://127.0.0.1:9/"\n')


def times_out(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/bin/sleep", "30"]\ntimeout = 0.1\n')


def killed(person: Person, policy: str) -> None:
    own(person, policy, "run = 'kill -9 $$'\nshell = true\n")


def crashes(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["python3", "-c", "raise SystemError"]\n')


def answers_nonsense(person: Person, policy: str) -> None:
    own(person, policy, "run = \"echo '{'\"\nshell = true\n")


def says_too_much(person: Person, policy: str) -> None:
    own(person, policy, "run = 'head -c 3000000 /dev/zero'\nshell = true\n")


def budget_used_up(person: Person, policy: str) -> None:
    slow = '[settings]\nbudget = 0.2\n[[hook]]\nid = "slow"\non = "before_tool"\npriority = "high"\nrun = ["/bin/sleep", "5"]\n'
    person.configure(slow + HOOK.format(policy=policy) + 'run = ["/bin/true"]\n')


def paused_by_failures(person: Person, policy: str) -> None:
    # with a session of its own, so that what is told here is told again
    own(person, policy, 'run = ["/bin/false"]\nbreaker = 1\nretry_after = 600\n')
    person.ask("claude-code", person.event(session="before"))
    own(person, policy, 'run = ["/bin/true"]\nbreaker = 1\nretry_after = 600\n')


def calls_per_minute_used_up(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/bin/true"]\nper_minute = 1\n')
    person.ask("claude-code", person.event(session="before"))


def step_missing(person: Person, policy: str) -> None:
    own(person, policy, 'steps = ["no-such-hook"]\n')


def value_cannot_be_passed(person: Person, policy: str) -> None:
    own(person, policy, 'run = ["/bin/true"]\nenv = {A = "\\u0000"}\n')


def script_changed_since_approval(person: Person, policy: str) -> None:
    approved(person, policy, SH).write_text("exit 0 # changed\n")


def script_removed_since_approval(person: Person, policy: str) -> None:
    approved(person, policy, SH).unlink()


def script_grew_too_large(person: Person, policy: str) -> None:
    approved(person, policy, SH).write_bytes(b"#" * (65 * 1024 * 1024))


def definition_changed_since_approval(person: Person, policy: str) -> None:
    approved(person, policy, SH)
    path = person.project / "hookline.toml"
    path.write_text(path.read_text() + "timeout = 3\n")


def program_changed_since_approval(person: Person, policy: str) -> None:
    tools = person.home / "bin"
    tools.mkdir()
    shutil.copy("/bin/sh", tools / "mysh")
    approved(person, policy, f'run = ["{tools}/mysh", "guard.sh"]\n')
    with (tools / "mysh").open("ab") as file:
        file.write(b"changed")


def approvals_unreadable(person: Person, policy: str) -> None:
    approved(person, policy, SH)
    (person.data / "approvals.json").write_text("{")


REASONS: Final[dict[str, Callable[[Person, str], None]]] = {
    made.__name__.replace("_", " "): made
    for made in (
        *(file_of_the_project, link_into_the_project, calls_itself_untrusted),
        *(program_missing, program_missing_at_its_path, program_is_a_folder, program_may_not_be_executed),
        *(program_is_no_program, interpreter_missing, script_missing, python_script_missing, script_is_a_folder),
        *(script_is_a_folder_for_python, script_is_a_dangling_link, line_names_a_missing_program, folder_missing),
        *(needs_a_tool, needs_a_file, needs_a_variable, module_missing, function_missing, service_unreachable),
        *(times_out, killed, crashes, answers_nonsense, says_too_much, budget_used_up, paused_by_failures),
        *(calls_per_minute_used_up, step_missing, value_cannot_be_passed),
        *(script_changed_since_approval, script_removed_since_approval, script_grew_too_large),
        *(definition_changed_since_approval, program_changed_since_approval, approvals_unreadable),
    )
}
# what is only a limit for a hook that fails open: the person wanted it so
WANTED: Final = frozenset({"calls per minute used up"})


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    made = Person(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOOKS_ENABLED", "HOOKS_TIMEOUT", "HOOKLINE_CANARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made.project)
    return made


def said(answer: Answer) -> str:
    return (answer.stdout + answer.stderr).decode()


@pytest.mark.spec("U-10", "O-15")
@pytest.mark.parametrize("reason", sorted(REASONS))
def test_absent_guard_that_fails_closed_blocks_and_names_a_command(alone: Person, reason: str) -> None:
    REASONS[reason](alone, "block")
    for agent in AGENTS:
        answer = alone.ask(agent, alone.event(session=agent))
        assert is_refused(agent, answer), (agent, answer)
        assert "`hookline " in said(answer), (agent, answer)
        assert "guard" in said(answer) or "approvals" in said(answer), (agent, answer)


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("reason", sorted(REASONS.keys() - WANTED))
def test_absent_hook_that_fails_open_is_told_once_in_a_session(alone: Person, reason: str) -> None:
    REASONS[reason](alone, "continue")
    for agent in AGENTS:
        start = alone.ask(agent, alone.event("session_start", session=agent))
        first, second = (alone.ask(agent, alone.event(session=agent)) for _ in range(2))
        after = [alone.ask(agent, alone.event("after_tool", output="done", session=agent)) for _ in range(2)]
        third = alone.ask(agent, alone.event(session=agent))
        assert is_neutral(agent, first), (agent, first)
        assert is_neutral(agent, second), (agent, second)
        told = [answer for answer in (start, first, second, *after) if "hookline: " in said(answer)]
        assert told, (agent, start, first, second, after)
        assert "guard" in said(told[0]), (agent, told)
        # Cursor has a field for it before each call, and no word about whether it shows that
        assert len(told) == len(set(map(said, told))) or agent == "cursor", (agent, told)
        assert "hookline: " not in said(third), (agent, third)


def test_there_are_reasons_enough() -> None:
    assert len(REASONS) >= 25
    assert set(AGENTS) <= DIALECTS.keys()
    assert os.environ["HOME"]
