from pathlib import Path

import pytest

from hookline.debug.lint import lint_hooks
from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Source


def found(tmp_path: Path, condition: str, on: str = "before_tool") -> list[tuple[str, str]]:
    hook = Hook(id="one", on=on, command="sh", condition=condition, source=Source.USER)
    engine = Engine(cwd=str(tmp_path))
    engine.add(hook)
    return [(finding.weight, finding.message) for finding in lint_hooks([hook], engine=engine)]


@pytest.mark.parametrize(
    ("condition", "slip", "meant"),
    [
        ('tol == "shell"', "tol", "tool"),
        ("has(arg.command)", "arg", "args"),
        ('sesion.model == "m"', "sesion", "session"),
        ("!fille.path.startsWith('src/')", "fille", "file"),
    ],
)
def test_slip_in_a_condition_is_pointed_at(tmp_path: Path, condition: str, slip: str, meant: str) -> None:
    assert found(tmp_path, condition) == [
        (
            "warning",
            f'hook "one" has an `if` that asks for "{slip}", and no event has that (did you mean "{meant}"?)',
        )
    ]


@pytest.mark.parametrize(
    ("condition", "on"),
    [
        ('tool == "shell" && has(args.command) && session.model != ""', "before_tool"),
        ('prompt.contains("x")', "before_agent"),
        # an event may have fields of its own
        ("ticket > 5", "custom:deploy"),
        # a variable of a loop is no name of the event
        ("args.paths.exists(tol, tol == 'x')", "before_tool"),
        ("tol.lowerAscii() == 'x'", "before_tool"),
    ],
)
def test_what_an_event_may_have_is_no_slip(tmp_path: Path, condition: str, on: str) -> None:
    assert found(tmp_path, condition, on) == []
