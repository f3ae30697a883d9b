"""Who may import whom, read from the source: imports inside functions count as much as those at the top.

A module may import its own part and every layer below. Parts of one layer never import each other, but for
the words at the bottom. A new part of the package gets a place in LAYERS.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

SOURCE: Final = Path(__file__).resolve().parent.parent / "src"

LAYERS: Final = (
    ("model", "text", "errors", "files", "caller_context", "version", "json_codec", "loop_thread"),
    ("ports", "shell", "conditions", "http_client", "http_server"),
    # llm: the client of language models; mcp: servers of the Model Context Protocol, their sessions and tokens
    ("effects", "trust", "process", "llm", "mcp"),
    ("events",),  # typed views of events, with their effects
    ("engine", "config", "dialects", "kinds", "requirements", "stores"),
    # read what the engine did, decide with what the kinds know, and tell other programs
    ("debug", "builtin", "telemetry"),
    ("facts",),  # gathered for hooks: git is started as `builtin` finds it safe
    ("wiring", "user_dirs"),
    ("project",),
    ("project_cache", "views"),  # views: what commands and the page both show of a project
    ("adapters", "compat", "conformance", "hosts", "sources", "worker"),
    ("bridge",),  # what an agent calls: it knows where it was put
    ("replay",),  # reads transcripts as the bridge does, and loads projects
    ("daemon",),
    ("hookline",),  # the public door itself
    # ui: the page shows what commands print, and knows nothing of the command line; agent and testing use the public door
    ("ui", "agent", "testing"),
    ("cli",),
    ("demo", "__main__"),
)
LEVEL: Final = {part: level for level, parts in enumerate(LAYERS) for part in parts}

# The one door upwards, inside functions only: `Engine.load` is where people look for it, a part used by itself
# wants the tables of the whole engine, and both are the business of those above.
UPWARDS: Final = {("hookline.engine.engine", "hookline.project"), ("hookline.engine.components", "hookline.wiring")}

# what is pure stays small: the standard library, the library that makes the data types, and RE2 in conditions
PLAIN: Final = ("model", "errors", "json_codec", "ports", "engine", "conditions", "effects", "dialects")
THIRD_PARTY_OF_PLAIN: Final = frozenset({"msgspec", "re2"})

HEAVY: Final = (
    "argparse",
    "httpx2",
    "keyring",
    "mcp",
    "pathspec",
    "platformdirs",
    "pydantic_ai",
    "rich",
    "sqlite3",
    "starlette",
    "subprocess",
    "textual",
    "uvicorn",
    "watchfiles",
    "cronsim",
    "cel_expr_python",
    "re2",
    "tree_sitter",
    "tree_sitter_bash",
)


def modules(source: Path) -> dict[str, Path]:
    """Name every module of the package."""
    found = {}
    for path in sorted((source / "hookline").rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(node: ast.AST, *, known: frozenset[str], in_function: bool = False) -> Iterator[tuple[int, str, bool]]:
    """Give line, full name and whether it waits inside a function, for everything a module imports.

    A call of `import_module` with a literal name is an import, too.
    """
    for name in _imported(node, known=known):
        yield getattr(node, "lineno", 0), name, in_function
    inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from imports(child, known=known, in_function=inside)


def _imported(node: ast.AST, *, known: frozenset[str]) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            full = [f"{module}.{alias.name}" for alias in names]
            return [name if name in known else module for name in full]
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return [name]
        case _:
            return []


def part_of(module: str) -> str:
    """Say which part of the package a module belongs to: the first name below the package."""
    return module.split(".")[1] if "." in module else module


def violations(source: Path) -> list[str]:
    """List every import that breaks a rule, with its place and what to do about it."""
    all_modules = modules(source)
    known = frozenset(all_modules)
    problems = []
    for module, path in all_modules.items():
        if part_of(module) not in LEVEL:
            problems.append(f"{path}: {part_of(module)} has no layer yet; give it one in LAYERS")
            continue
        for line, target, in_function in imports(ast.parse(path.read_text("utf-8")), known=known):
            if in_function and (module, target) in UPWARDS:
                continue
            if problem := _problem(module, target):
                problems.append(f"{path}:{line}: {problem}")
    return problems


def _problem(module: str, target: str) -> str:
    top = target.partition(".")[0]
    if top == "hookline":
        return _inside(module, target)
    allowed = top in sys.stdlib_module_names or top in THIRD_PARTY_OF_PLAIN
    if part_of(module) in PLAIN and not allowed:
        return f"{part_of(module)} imports {top}; it gets by on the standard library and msgspec, move this to an edge"
    return ""


def _inside(module: str, target: str) -> str:
    part, other = part_of(module), part_of(target)
    if part == other:
        return ""
    if other not in LEVEL:
        return f"{target} has no layer yet; give it one in LAYERS"
    if LEVEL[other] < LEVEL[part] or LEVEL[other] == LEVEL[part] == 0:
        return ""
    if LEVEL[other] == LEVEL[part]:
        return f"{part} imports {other}, its neighbour; say what both need in model or ports, and join them in wiring"
    return f"{part} imports {other}, which stands above it; hand the thing in as an argument instead"


def test_every_import_goes_down() -> None:
    problems = violations(SOURCE)

    assert not problems, "\n" + "\n".join(problems)


def test_importing_hookline_loads_nothing_heavy() -> None:
    # asyncio is what everything stands on, so what it loads by itself is no choice of ours
    program = (
        "import sys, asyncio; before = set(sys.modules); import hookline; "
        f"print(*(name for name in {HEAVY!r} if name in set(sys.modules) - before))"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert not done.stderr
    assert not done.stdout.split(), f"`import hookline` loads {done.stdout.strip()}; import that where it is used"


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"engine/a.py": "from hookline.kinds import command\n", "kinds/command/command.py": ""},
            "engine imports kinds, its neigh",
        ),
        ({"engine/a.py": "def f():\n    import hookline.cli.main\n"}, "a.py:2: engine imports cli, which stands above"),
        ({"model/a.py": "from hookline import ports\n", "ports.py": ""}, "model imports ports, which stands above"),
        ({"kinds/a.py": "from hookline import Engine\n"}, "kinds imports hookline, which stands above it"),
        (
            {"engine/other.py": "def f():\n    from hookline.wiring import b\n"},
            "engine imports wiring, which stands above",
        ),
        ({"engine/engine.py": "from hookline.wiring import b\n"}, "engine imports wiring, which stands above"),
        (
            {"engine/a.py": "import importlib\nimportlib.import_module('hookline.stores.sqlite')\n"},
            "engine imports stores",
        ),
        ({"dialects/a.py": "import rich.table\n"}, "dialects imports rich; it gets by on"),
        ({"novel/a.py": ""}, "novel has no layer yet"),
    ],
)
def test_forbidden_import_is_told_with_its_place(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    _write(tmp_path, files)

    assert [problem in text for text in violations(tmp_path)] == [True]


def test_allowed_imports_are_left_alone(tmp_path: Path) -> None:
    _write(
        tmp_path,
        {
            "errors.py": "import json\n",
            "model/a.py": "import msgspec\nfrom hookline import errors\n",
            "ports.py": "from hookline.model.a import A\n",
            "engine/engine.py": "def load():\n    from hookline.project import build\n    return build()\n",
            "engine/b.py": "from hookline.engine.engine import load\nfrom hookline.ports import P\n",
            "kinds/web.py": "import httpx2\n",
            "wiring.py": "from hookline.engine import engine\nfrom hookline.kinds import web\n",
            "cli/main.py": "from hookline import __version__, wiring\n",
            "__main__.py": "from hookline.cli.main import main\n",
        },
    )

    assert violations(tmp_path) == []


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in {"__init__.py": "", **files}.items():
        path = folder / "hookline" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
