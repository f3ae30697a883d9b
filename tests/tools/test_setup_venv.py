import sys
from pathlib import Path

from tools import setup_venv

PYPROJECT = """
[build-system]
requires = ["builder>=1"]

[project]
dependencies = ["needed>=2"]

[dependency-groups]
dev = ["checker", "tester"]
"""


def test_everything_needed_to_run_build_and_check_is_installed() -> None:
    needed = setup_venv.requirements(PYPROJECT, is_dev=True)

    assert needed == ["needed>=2", "builder>=1", "checker", "tester", "editables"]
    assert setup_venv.requirements(PYPROJECT, is_dev=False) == ["needed>=2", "builder>=1", "editables"]


def test_environment_that_works_is_kept() -> None:
    assert setup_venv.works(Path(sys.executable))


def test_environment_whose_python_is_gone_or_broken_is_made_again(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    broken.chmod(0o755)

    assert not setup_venv.works(broken)
    assert not setup_venv.works(tmp_path / "gone")
