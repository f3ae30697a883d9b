from pathlib import Path

from tools import measure
from tools.measure import Package

MODULE = '''"""A module."""


def public() -> int:
    return _once() + _twice() + _twice()


def _once() -> int:

    return 1


def _twice() -> int:
    return 2
'''


def test_lines_functions_and_helpers_are_counted(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "shapes.py").write_text(MODULE)
    (tmp_path / "alone.py").write_text("X = 1\n")

    figures = measure.measure(tmp_path)

    assert figures.packages == [Package("pkg", 14, 2), Package("alone.py", 1, 1)]
    assert (figures.function_lengths, figures.longest_function) == ([2, 2, 3], "pkg/shapes.py:_once")
    assert (figures.called_once, figures.private_helpers) == (1, 2)
