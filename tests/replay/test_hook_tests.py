"""Tests beside a hook: `[[hook.test]]`, read from the file and run without effects."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.config.document import Severity
from hookline.model.hook import Hook
from hookline.model.settings import Settings
from hookline.project import Project, load_project
from hookline.replay.hook_tests import HookTestResult, run_hook_tests
from hookline.trust.fingerprint import FingerprintService
from hookline.user_dirs import UserDirs

pytestmark = pytest.mark.spec("U-19")

RULE = '[[hook]]\nname = "no-force"\nruns = ["git push --force"]\ndeny = "Do not force-push."\n'


def load(folder: Path, toml: str, *, own: bool = False) -> Project:
    config, root = folder / "config", folder / "project"
    config.mkdir()
    root.mkdir()
    (config if own else root).joinpath("hookline.toml").write_text(toml, "utf-8")
    dirs = UserDirs(home=folder / "home", config=config, data=folder / "data")
    return load_project(root, settings=Settings(), folders=dirs, traced=False, records=False)


def run(project: Project) -> list[HookTestResult]:
    return asyncio.run(run_hook_tests(project, project.hooks))


def case(given: str, expect: str) -> str:
    return f"[[hook.test]]\ngiven = {given}\nexpect = {expect}\n"


def test_rule_that_nobody_approved_is_tested(tmp_path: Path) -> None:
    tests = case('{ tool = "Bash", command = "git push -f" }', '"deny"') + case('{ command = "git status" }', '"pass"')

    results = run(load(tmp_path, RULE + tests))

    assert [(result.got, result.problems) for result in results] == [("deny", ()), ("pass", ())]


def test_difference_says_what_was_expected_and_what_came(tmp_path: Path) -> None:
    tests = case('{ command = "git push -f" }', '"confirm"')
    tests += case('{ command = "git push -f" }', '{ decision = "deny", reason = "ask a person" }')

    first, second = run(load(tmp_path, RULE + tests))

    assert first.problems == ("expected ask, got deny: Do not force-push.",)
    assert second.problems == ("expected 'ask a person' in the reason, got 'Do not force-push.'",)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            case('{ comand = "ls" }', '"deny"'),
            'unknown key "comand" in given for before_tool (did you mean "command"?)',
        ),
        (case('{ command = "ls" }', '"dney"'), 'there is no decision "dney" (did you mean "deny"?)'),
        (case('{ command = "ls" }', '{ reson = "x" }'), 'unknown key "reson" in expect (did you mean "reason"?)'),
        (case('{ event = "befor_tool" }', '"pass"'), 'there is no event "befor_tool"'),
        ("[[hook.test]]\ngiven = {}\n", "a test needs `expect`"),
    ],
)
def test_mistake_in_a_test_is_a_problem_and_a_failed_test_and_the_hook_is_in_force(
    tmp_path: Path, table: str, message: str
) -> None:
    project = load(tmp_path, RULE + table)

    problems = [problem for problem in project.problems if message in problem.message]
    assert [problem.severity for problem in problems] == [Severity.WARNING]
    assert message in run(project)[0].problems[0]
    assert not project.hooks[0].invalid


def script(folder: Path, text: str) -> str:
    path = folder / "hook.py"
    path.write_text(text, "utf-8")
    return f'[[hook]]\nid = "script"\non = "before_tool"\nrun = ["{sys.executable}", "{path}"]\non_error = "block"\n'


def test_program_that_nobody_approved_is_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    hook = script(tmp_path, f"open({str(mark)!r}, 'w')")

    (result,) = run(load(tmp_path, hook + case("{}", '"pass"')))

    assert "trust approve script" in result.problems[0]
    assert not result.ran
    assert not mark.exists()


def test_program_of_the_user_is_run_contained(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"import json\ntry:\n    open({str(mark)!r}, 'w')\nexcept OSError:\n    pass\n"
    text += f"print({json.dumps(json.dumps({'args': {'command': 'ls -l'}}))})"
    tests = case('{ command = "ls" }', '{ args = { command = "ls -l" } }')

    (result,) = run(load(tmp_path, script(tmp_path, text) + tests, own=True))

    assert not mark.exists()
    assert result.passed or "cannot be contained" in result.problems[0]


def test_denial_of_a_program_that_crashed_is_a_failed_test(tmp_path: Path) -> None:
    hook = script(tmp_path, "raise SystemExit('broken')")

    (result,) = run(load(tmp_path, hook + case("{}", '"deny"'), own=True))

    assert "broken" in result.problems[0] or "cannot be contained" in result.problems[0]


def test_tests_are_no_part_of_what_is_approved(tmp_path: Path) -> None:
    hook = Hook(id="a", on="before_tool", command="true", root=str(tmp_path))
    tested = replace(hook, tests=({"given": {}, "expect": "pass"},))
    fingerprints = FingerprintService()

    assert fingerprints.compute(hook, str(tmp_path)).digest == fingerprints.compute(tested, str(tmp_path)).digest
