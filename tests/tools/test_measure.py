from dataclasses import replace
from pathlib import Path

import pytest

from tools import measure

MODULE = '''"""A module."""

# a comment
from typing import NamedTuple


class Point(NamedTuple):
    x: int

    def shifted(self, by: int) -> "Point":
        """Move it."""
        return Point(self.x + by)


def undocumented(a, b):
    def inner() -> int:
        return a
    return inner() + b
'''


def _project(folder: Path) -> Path:
    for name, text in {
        "src/pkg/__init__.py": "",
        "src/pkg/shapes.py": MODULE,
        "tests/test_shapes.py": "def test_a() -> None:\n    pass\n",
        "pyproject.toml": '[project]\nname = "pkg"\ndependencies = ["one", "two"]\n',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_figures_count_what_is_there(tmp_path: Path) -> None:
    report = measure.measure(_project(tmp_path), "src/pkg", ["tests"])

    assert report == measure.Report(
        modules=2,
        source_lines=18,
        median_module_lines=9,
        max_module_lines=18,
        largest_module="src/pkg/shapes.py",
        functions=3,
        median_function_lines=3,
        p90_function_lines=4,
        max_function_lines=4,
        longest_function="src/pkg/shapes.py:undocumented",
        public_functions=2,
        public_docstring_percent=50,
        typed_percent=67,
        classes=1,
        data_classes=1,
        comment_percent=5.6,
        test_lines=2,
        test_ratio=0.11,
        tests=1,
        runtime_dependencies=2,
    )


def test_figure_over_a_ceiling_or_under_a_floor_is_named(tmp_path: Path) -> None:
    report = measure.measure(_project(tmp_path), "src/pkg", ["tests"])
    good = replace(report, public_docstring_percent=95, typed_percent=100, test_ratio=1.2)

    assert measure.over_limit(good) == []
    assert measure.over_limit(replace(good, max_function_lines=810, typed_percent=99)) == [
        "typed_percent is 99, wanted at least 100",
    ]


def test_check_fails_when_a_limit_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(_project(tmp_path))

    assert measure.main([root, "--src", "src/pkg", "--tests", "tests"]) == 0
    assert measure.main([root, "--src", "src/pkg", "--tests", "tests", "--check"]) == 1
    assert "typed_percent is 67, wanted at least 100" in capsys.readouterr().err
