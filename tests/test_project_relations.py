from pathlib import Path

import pytest

from hookline.config.document import Severity
from hookline.project import Project, load_project
from hookline.user_dirs import UserDirs

GUARD = 'run = ["bash", "./guard.sh"]'
SAYS_NO = 'cat >/dev/null; echo \'{"decision": "deny", "reason": "no"}\'\n'


def opened(tmp_path: Path, text: str) -> Project:
    (tmp_path / "project").mkdir()
    config = tmp_path / "config"
    config.mkdir()
    (config / "hookline.toml").write_text(text)
    (config / "guard.sh").write_text(SAYS_NO)
    folders = UserDirs(home=tmp_path / "home", config=config, data=tmp_path / "data")
    return load_project(tmp_path / "project", folders=folders, traced=False)


def hook(name: str, more: str, how: str = GUARD) -> str:
    return f'[[hook]]\nid = "{name}"\non = "before_tool"\n{how}\n{more}\n'


@pytest.mark.spec("O-25")
def test_circle_is_a_problem_with_its_place_and_its_guards_still_run(tmp_path: Path) -> None:
    project = opened(tmp_path, hook("a", 'after = "b"') + hook("b", 'after = ["a"]') + hook("c", 'before = "a"'))

    (problem,) = project.problems
    assert (Path(problem.path).name, problem.line, problem.severity) == ("hookline.toml", 1, Severity.ERROR)
    assert problem.message == 'hook "a" cannot be put in order: "a" after "b" after "a"'
    assert project.engine.problems == (str(problem),)

    outcome = project.engine.emit_sync("before_tool", tool="shell")
    project.engine.close_sync()
    assert [verdict.hook for verdict in outcome.verdicts] == ["c", "a", "b"]
    assert outcome.blocked


@pytest.mark.spec("O-32")
def test_unknown_step_and_list_in_a_circle_are_problems_with_their_places(tmp_path: Path) -> None:
    text = hook("guard", "") + hook("all", "", 'steps = ["gard", "guard"]') + hook("round", "", 'steps = ["round"]')
    project = opened(tmp_path, text)
    project.engine.close_sync()

    assert [(problem.line, problem.message) for problem in project.problems] == [
        (6, 'hook "all" cannot run all of its steps: there is no hook "gard" (did you mean "guard"?)'),
        (11, 'hook "round" contains itself: "round" → "round"'),
    ]


def test_budget_of_a_persons_settings_is_in_force(tmp_path: Path) -> None:
    project = opened(tmp_path, '[settings]\nbudget = "250ms"\n' + hook("guard", ""))
    project.engine.close_sync()

    assert project.settings.budget == 0.25
    assert project.engine.runner.budget() is not None
