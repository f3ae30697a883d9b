"""Patterns that were compiled before are the same patterns."""

import ast
import marshal
import re
from pathlib import Path

import pytest

import hookline
from hookline.bridge.cold.patterns import run_as, written_in


def made(text: str, flags: int = 0) -> "re.Pattern[str]":
    """Make a pattern as the quick way does."""
    import _sre  # type: ignore[import-not-found] # noqa: PLC0415 - no part of what Python promises

    pattern: re.Pattern[str] = _sre.compile(*marshal.loads(marshal.dumps(run_as(text, flags))))  # noqa: S302
    return pattern


@pytest.mark.parametrize("flags", [0, re.IGNORECASE, re.VERBOSE | re.MULTILINE, re.DOTALL])
@pytest.mark.parametrize("text", ["", "a+b?", r"(?P<one>\w+)=(?:x|(y))", "[^à-ÿ]{2,}$", "(?i:ab)(?=c)", r"(a)\1|b*?"])
def test_a_pattern_is_the_one_that_python_makes(text: str, flags: int) -> None:
    ours, theirs = made(text, flags), re.compile(text, flags)

    assert ours == theirs
    assert (ours.groups, ours.groupindex, ours.flags) == (theirs.groups, theirs.groupindex, theirs.flags)
    for said in ("", "aab", "one=y", "ABC", "aa\nàé b"):
        assert [match.span() for match in ours.finditer(said)] == [match.span() for match in theirs.finditer(said)]


def test_the_compiler_is_left_as_it_was() -> None:
    before = re._compiler._sre  # type: ignore[attr-defined] # noqa: SLF001
    run_as("x", 0)
    with pytest.raises(re.error):
        run_as("(", 0)
    assert re._compiler._sre is before  # type: ignore[attr-defined] # noqa: SLF001


def test_patterns_are_found_where_they_are_written_out() -> None:
    tree = ast.parse(
        "import re\nA = re.compile('a', re.I | re.X)\nB = re.compile(f'{A}')\nC = re.compile('c', flags=1)\n"
    )
    assert [key for key, _ in written_in(ast.walk(tree))] == [("a", re.IGNORECASE | re.VERBOSE)]


def test_every_pattern_of_ours_is_the_same_again() -> None:
    folder = Path(hookline.__file__).parent
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted((folder / "core").rglob("*.py"))]
    found = dict(written_in(node for tree in trees for node in ast.walk(tree)))
    assert len(found) > 50
    for text, flags in found:
        assert made(text, flags) == re.compile(text, flags)
