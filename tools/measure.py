"""Measure the shape of a Python code base: sizes, docstrings, types, tests, dependencies.

    python measure.py ROOT --src src/pkg --tests tests
    python measure.py repo.git --bare --src src/pkg --tests tests      # a bare git directory
    python measure.py ROOT --src src/pkg --tests tests --check         # exit 1 when over a limit

ROOT is a work tree, or with --bare a git directory that is read at HEAD.
Only the standard library is used.

What is counted, so that two runs can be compared:

* Lines are physical lines, blanks and comments included.
* A function's length runs from its `def` line to its last line, docstring included.
  `@overload` stubs are left out; nested functions count on their own.
* A function is public when neither it, its class, nor any folder or module on its
  path below the source root starts with `_`; nested functions are never public.
  With --all-modules the module and folder names are ignored, which suits packages
  that keep everything in `_modules.py` and re-export from `__init__.py`.
* A function is typed when every argument but self/cls, and the return, is annotated.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TypedDict

# Lengths are reported and not limited: a module may be long when it is one thing.
LIMITS = {
    "public_docstring_percent": -90,  # negative: a floor, not a ceiling
    "typed_percent": -100,
    "test_ratio": -1.0,
}


@dataclass(frozen=True)
class Function:
    """One function or method found in a module."""

    name: str
    lines: int
    public: bool
    documented: bool
    typed: bool


@dataclass(frozen=True)
class Report:
    """The figures for one code base."""

    modules: int
    source_lines: int
    median_module_lines: int
    max_module_lines: int
    largest_module: str
    functions: int
    median_function_lines: int
    p90_function_lines: int
    max_function_lines: int
    longest_function: str
    public_functions: int
    public_docstring_percent: int
    typed_percent: int
    classes: int
    data_classes: int
    comment_percent: float
    test_lines: int
    test_ratio: float
    tests: int
    runtime_dependencies: int | None


class ModuleFigures(TypedDict):
    """The part of a report that is about modules."""

    modules: int
    median_module_lines: int
    max_module_lines: int
    largest_module: str


class FunctionFigures(TypedDict):
    """The part of a report that is about functions."""

    functions: int
    median_function_lines: int
    p90_function_lines: int
    max_function_lines: int
    longest_function: str
    public_functions: int
    public_docstring_percent: int
    typed_percent: int


def measure(root: Path, src: str, tests: list[str], *, all_modules: bool = False) -> Report:
    """Read every module below `src` and `tests` and sum up."""
    modules = {path: path.read_text("utf-8") for path in _python_files(root / src)}
    if not modules:
        raise SystemExit(f"no Python files below {src!r}")
    trees = {path: ast.parse(text) for path, text in modules.items()}
    functions = [
        (path, function)
        for path, tree in trees.items()
        for function in _functions(tree, public=all_modules or not _has_private_part(path.relative_to(root / src)))
    ]
    test_texts = [path.read_text("utf-8") for folder in tests for path in _python_files(root / folder)]
    source_lines = sum(len(text.splitlines()) for text in modules.values())
    test_lines = sum(len(text.splitlines()) for text in test_texts)
    comments = sum(line.lstrip().startswith("#") for text in modules.values() for line in text.splitlines())
    classes = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return Report(
        **_module_figures(root, modules),
        **_function_figures(root, functions),
        source_lines=source_lines,
        classes=len(classes),
        data_classes=sum(_is_data_class(node) for node in classes),
        comment_percent=round(100 * comments / source_lines, 1),
        test_lines=test_lines,
        test_ratio=round(test_lines / source_lines, 2),
        tests=sum(len(re.findall(r"^\s*(?:async )?def test", text, re.MULTILINE)) for text in test_texts),
        runtime_dependencies=_runtime_dependencies(root, src),
    )


def _module_figures(root: Path, modules: dict[Path, str]) -> ModuleFigures:
    sizes = {path: len(text.splitlines()) for path, text in modules.items()}
    largest = max(sizes, key=lambda path: sizes[path])
    return {
        "modules": len(sizes),
        "median_module_lines": int(statistics.median(sizes.values())),
        "max_module_lines": sizes[largest],
        "largest_module": largest.relative_to(root).as_posix(),
    }


def _function_figures(root: Path, functions: list[tuple[Path, Function]]) -> FunctionFigures:
    lengths = sorted(function.lines for _, function in functions) or [0]
    public = [function for _, function in functions if function.public]
    longest = max(functions, key=lambda item: item[1].lines, default=None)
    return {
        "functions": len(functions),
        "median_function_lines": int(statistics.median(lengths)),
        "p90_function_lines": lengths[int(len(lengths) * 0.9)],
        "max_function_lines": lengths[-1],
        "longest_function": f"{longest[0].relative_to(root).as_posix()}:{longest[1].name}" if longest else "",
        "public_functions": len(public),
        "public_docstring_percent": _percent(sum(function.documented for function in public), len(public)),
        "typed_percent": _percent(sum(function.typed for _, function in functions), len(functions)),
    }


def over_limit(report: Report) -> list[str]:
    """Return one sentence for each figure outside LIMITS."""
    figures = asdict(report)
    problems = []
    for name, limit in LIMITS.items():
        value = figures[name]
        if value is None:
            continue
        if limit < 0 and value < -limit:
            problems.append(f"{name} is {value}, wanted at least {-limit}")
        elif limit >= 0 and value > limit:
            problems.append(f"{name} is {value}, wanted at most {limit}")
    return problems


def _python_files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    return sorted(path for path in folder.rglob("*.py") if path.is_file() and not path.is_symlink())


def _has_private_part(path: Path) -> bool:
    return any(part.startswith("_") and part not in {"__init__.py", "__main__.py"} for part in path.parts)


def _functions(node: ast.AST, *, public: bool, inside_function: bool = False, prefix: str = "") -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{child.name}"
            if not _is_overload(child):
                yield Function(
                    name=name,
                    lines=(child.end_lineno or child.lineno) - child.lineno + 1,
                    public=public and not inside_function and not child.name.startswith("_"),
                    documented=ast.get_docstring(child) is not None,
                    typed=_is_typed(child),
                )
            yield from _functions(child, public=public, inside_function=True, prefix=f"{name}.")
        elif isinstance(child, ast.ClassDef):
            visible = public and not child.name.startswith("_")
            yield from _functions(
                child, public=visible, inside_function=inside_function, prefix=f"{prefix}{child.name}."
            )
        else:
            yield from _functions(child, public=public, inside_function=inside_function, prefix=prefix)


def _is_typed(fn: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    args = [*fn.args.posonlyargs, *fn.args.args, *fn.args.kwonlyargs]
    args += [arg for arg in (fn.args.vararg, fn.args.kwarg) if arg]
    named = [arg for arg in args if arg.arg not in {"self", "cls"}]
    # `def __init__(self, x: int):` is accepted by type checkers without `-> None`.
    has_return = fn.returns is not None or (fn.name == "__init__" and bool(named))
    return has_return and all(arg.annotation is not None for arg in named)


def _is_overload(fn: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(decorator).rsplit(".", 1)[-1] == "overload" for decorator in fn.decorator_list)


def _is_data_class(node: ast.ClassDef) -> bool:
    bases = {ast.unparse(base).split("[")[0].rsplit(".", 1)[-1] for base in node.bases}
    decorators = {ast.unparse(item).split("(")[0].rsplit(".", 1)[-1] for item in node.decorator_list}
    return bool(bases & {"NamedTuple", "TypedDict", "BaseModel", "Struct"}) or bool(
        decorators & {"dataclass", "frozen", "define", "attrs", "attributes", "s"}
    )


def _percent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 100


def _runtime_dependencies(root: Path, src: str) -> int | None:
    """Count what an install pulls in directly, read from the nearest pyproject.toml or setup.cfg."""
    folder = (root / src).parent
    while True:
        pyproject, setup_cfg = folder / "pyproject.toml", folder / "setup.cfg"
        if pyproject.is_file():
            project = tomllib.loads(pyproject.read_text("utf-8")).get("project", {})
            if "dependencies" in project:
                return len(project["dependencies"])
            if project and "dependencies" not in project.get("dynamic", []):
                return 0
        if setup_cfg.is_file():
            match = re.search(
                r"^install_requires\s*=\s*\n((?:[ \t]+\S.*\n)+)", setup_cfg.read_text("utf-8"), re.MULTILINE
            )
            return len(match[1].splitlines()) if match else 0
        if folder == root:
            return None
        folder = folder.parent


def _unpack(git_dir: Path, into: Path) -> Path:
    """Write the Python and settings files of a bare git directory's HEAD below `into`."""
    git = ["git", "-C", str(git_dir)]
    listing = subprocess.run([*git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, check=True, text=True)
    wanted = [name for name in listing.stdout.splitlines() if PurePosixPath(name).suffix in {".py", ".toml", ".cfg"}]
    archive = into / "head.tar"
    subprocess.run([*git, "archive", "--output", str(archive.resolve()), "HEAD", "--", *wanted], check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(into / "tree", members=[member for member in tar if member.isfile()], filter="data")
    return into / "tree"


def main(argv: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--src", required=True, help="source folder or file, relative to ROOT")
    parser.add_argument("--tests", action="append", default=[], help="test folder, relative to ROOT; repeatable")
    parser.add_argument("--bare", action="store_true", help="ROOT is a git directory; read its HEAD")
    parser.add_argument("--all-modules", action="store_true", help="count names in _private modules as public")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", action="store_true", help="exit 1 when a figure is outside the limits")
    args = parser.parse_args(argv)

    with tempfile.TemporaryDirectory() as scratch:
        root = _unpack(args.root, Path(scratch)) if args.bare else args.root
        report = measure(root, args.src, args.tests, all_modules=args.all_modules)

    if args.json:
        print(json.dumps(asdict(report), indent=2))
    else:
        for name, value in asdict(report).items():
            print(f"{name:26} {value}")
    problems = over_limit(report) if args.check else []
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
