from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

TEXT = """
[[hook]]
id = "lint"
on = "before_tool"
run = ["bash", "./says.sh"]
after = ["fromat", "lint"]

[[hook]]
id = "format"
on = "before_tool"
run = ["bash", "./says.sh"]

[[hook]]
id = "release"
on = "after_agent"
raise = "permission_request"
"""


@pytest.mark.spec("O-25")
def test_check_tells_circles_unknown_names_and_events_that_cannot_be_raised(tmp_path: Path) -> None:
    configure(tmp_path / "home", TEXT, {"says.sh": "cat >/dev/null\n"})

    done = hookline(tmp_path / "home", "check")

    assert done.returncode == 1
    lines = [line.partition("hookline.toml:")[2] for line in done.stdout.splitlines()]
    unknown = 'there is no hook "fromat" (did you mean "format"?)'
    refused = 'hook "release" cannot raise "permission_request", only events of your own: "custom:permission_request"'
    assert lines[:3] == [
        '2: error: hook "lint" cannot be put in order: "lint" after "lint"',
        f'2: warning: hook "lint" is to run after one that does not exist: {unknown}',
        f'13: error: hook "release" will not be run: {refused}',
    ]


@pytest.mark.spec("D-09")
def test_emit_as_json_still_names_every_hook_that_is_about_something_else(tmp_path: Path) -> None:
    configure(
        tmp_path / "home", '[[hook]]\nid = "a"\non = "before_tool"\nmatcher = "shell"\nrun = ["bash", "./says.sh"]\n'
    )

    done = hookline(tmp_path / "home", "emit", "before_tool", "--tool", "read_file", "--json")

    assert '"gate":"matcher"' in done.stdout.replace(" ", "")
    assert "does not match" in done.stdout
