"""The pages for contributors name files and functions; they have to exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCE: Final = ROOT / "src" / "hookline"
PAGES: Final = ("docs/architecture.md", "CONTRIBUTING.md")
_FILE: Final = r"[\w./-]+\.(?:py|c|toml|md)"
# files that a page makes up, or that are made by a command
_NOT_HERE: Final = frozenset({"hookline.toml", "hookline.local.toml", "config.toml"})


def _find(name: str) -> Path | None:
    return next((path for path in (ROOT / name, SOURCE / name) if path.exists()), None)


def _defined_names(path: Path) -> set[str]:
    """Return the names that a module defines: functions, classes, constants, and `Class.member`."""
    if path.suffix == ".c":
        return set(re.findall(r"^\w[\w *]*?(\w+)\(", path.read_text("utf-8"), re.MULTILINE))
    return set(_walk_definitions(ast.parse(path.read_text("utf-8")).body, ""))


def _walk_definitions(body: list[ast.stmt], owner: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield f"{owner}{node.name}"
            case ast.ClassDef():
                yield f"{owner}{node.name}"
                yield from _walk_definitions(node.body, f"{node.name}.")
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                yield f"{owner}{name}"


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(rf"`({_FILE})`", (ROOT / page).read_text("utf-8")))

    assert len(named) > 20
    assert [name for name in sorted(named - _NOT_HERE) if _find(name) is None] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_name_with_its_file_is_defined_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    pairs = re.findall(rf"`([\w.]+)` \(`({_FILE})`\)", text)
    pairs += re.findall(rf"`([A-Z]\w+)`\s+(?:of|in)\s+`({_FILE})`", text)

    assert len(pairs) > 3
    found = {file: _find(file) for _, file in pairs}
    missing = [
        f"{name} in {file}" for name, file in pairs if (path := found[file]) and name not in _defined_names(path)
    ]
    assert missing == []


def test_tree_of_the_page_is_the_tree_of_the_source() -> None:
    block = (ROOT / "docs/architecture.md").read_text("utf-8").split("```")[1]
    # the names at the beginning of each line; what they are for follows
    rows = [re.match(r"  ((?:[\w/]+(?:/|\.py) ?)+)", line) for line in block.splitlines()]
    named = {name.rstrip("/") for row in rows if row is not None for name in row[1].split()}
    there = {path.name for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}

    assert named == there - {"__init__.py", "__main__.py", "version.py", "__pycache__", "templates"}
