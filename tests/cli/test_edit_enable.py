from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CONFIG = """[[hook]]
name = "a"
on = "before_tool"
enabled   =   false # for now
run = "python3 a.py"
"""


@pytest.mark.spec("D-16")
def test_the_switch_is_turned_where_it_stands(tmp_path: Path) -> None:
    folder = configure(tmp_path / "home", CONFIG)

    done = hookline(tmp_path / "home", "enable", "a")

    assert (done.returncode, done.stderr) == (0, "")
    assert '"a" is your own, so it runs from now on' in done.stdout
    assert (folder / "hookline.toml").read_text() == CONFIG.replace("false", "true")


def test_a_hook_without_a_switch_is_on_already(tmp_path: Path) -> None:
    folder = configure(tmp_path / "home", CONFIG.replace("enabled   =   false # for now\n", ""))
    before = (folder / "hookline.toml").read_bytes()

    done = hookline(tmp_path / "home", "enable", "a")

    assert '"a" is switched on already' in done.stdout
    assert (folder / "hookline.toml").read_bytes() == before
