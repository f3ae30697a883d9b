"""Report the shape of the source: lines and modules of each package, lengths of functions, helpers that are called once.

    .venv/bin/python tools/measure.py

Nothing is limited: a module may be long when it is one thing. ruff wants docstrings, and mypy wants types.
"""

import ast
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Package(NamedTuple):
    """The size of a package, or of a module beside the packages."""

    name: str
    lines: int
    modules: int


class Figures(NamedTuple):
    """What is reported of a source tree."""

    packages: list[Package]
    function_lengths: list[int]
    longest_function: str
    private_helpers: int
    called_once: int


def measure(source: Path) -> Figures:
    """Return the figures of all modules below a folder."""
    texts = {path.relative_to(source): path.read_text("utf-8") for path in sorted(source.rglob("*.py"))}
    lines, modules = Counter[str](), Counter[str]()
    functions: list[tuple[int, str]] = []
    helpers = called_once = 0
    for path, text in texts.items():
        lines[path.parts[0]] += text.count("\n")
        modules[path.parts[0]] += 1
        words = Counter(re.findall(r"\w+", text))
        for node in _list_functions(text):
            functions.append((_length(node), f"{path.as_posix()}:{node.name}"))
            if node.name.startswith("_") and not node.name.endswith("__"):
                helpers += 1
                # its definition and one more place
                called_once += words[node.name] == len((node, "call"))
    packages = [Package(name, count, modules[name]) for name, count in lines.most_common()]
    lengths = sorted(length for length, _ in functions)
    return Figures(packages, lengths, max(functions)[1], helpers, called_once)


def _list_functions(text: str) -> Iterator[FunctionNode]:
    return (node for node in ast.walk(ast.parse(text)) if isinstance(node, FunctionNode))


def _length(node: FunctionNode) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def main() -> None:
    """Print the report of this repository."""
    figures = measure(ROOT / "src/hookline")
    for package in figures.packages:
        print(f"{package.lines:7,}  {package.modules:4}  {package.name}")
    total = sum(package.lines for package in figures.packages)
    modules = sum(package.modules for package in figures.packages)
    tests = sum(path.read_text("utf-8").count("\n") for path in (ROOT / "tests").rglob("*.py"))
    lengths = figures.function_lengths
    print(f"{total:7,}  {modules:4}  all, and {tests / total:.2f} lines of tests for each line")
    print(f"{len(lengths):,} functions: median {statistics.median(lengths):.0f} lines, ", end="")
    print(f"p90 {lengths[len(lengths) * 9 // 10]}, longest {lengths[-1]} ({figures.longest_function})")
    print(f"{figures.called_once:,} of {figures.private_helpers:,} private helpers are called once")


if __name__ == "__main__":
    main()
