"""Make the file that calls without a daemon import our modules from; see `bundle.py`.

The code is that of the modules, compiled by the same compiler. What differs: imports at the top of a module are
written down instead of followed, its functions, classes and constants are made when they are first looked up,
annotations are not evaluated, and docstrings, the annotations of functions and where they stand are left out.
"""

import __future__

import ast
import builtins
import marshal
import os
from collections import Counter
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Final, NamedTuple, TypeAlias

from hookline.bridge.cold import bundle
from hookline.bridge.cold.patterns import written_in

# of a statement at the top of a module: everything in it, because to walk through all of it takes longer than to compile it
Inside: TypeAlias = dict[ast.stmt, list[ast.AST]]
# patterns by text and flags, as the engine runs them
Patterns: TypeAlias = dict[tuple[str, int], bytes]
# of a module by name: the module and the name it is imported from, or no module and the code that makes it
Names: TypeAlias = dict[str, tuple[str, str | bytes | CodeType | None]]

# What every call imports of the standard library. To search the folders of the path for a module, and to read it with
# its docstrings, takes longer than to run it; so these are in the bundle, and differ in nothing else.
_LENT: Final = (
    "_weakrefset",
    "collections",
    "contextlib",
    "contextvars",
    "copyreg",
    "enum",
    "fnmatch",
    "functools",
    "importlib",
    "keyword",
    "operator",
    "pathlib",
    "re",
    "re._casefix",
    "re._compiler",
    "re._constants",
    "re._parser",
    "reprlib",
    "types",
    "typing",
    "warnings",
    "weakref",
)
USUAL: Final = Path(bundle.HERE) / "usual.txt"
# never on the way of a call
_LEFT_OUT: Final = ("__main__", "adapters", "demo", "manager", "sources", "templates")
# imported before there is a bundle, by themselves
_BEFORE: Final = frozenset({("bridge", "cold", name) for name in ("calling", "start")})
# of the programs for people, one is what agents call
_QUIET: Final = frozenset({"cache", "contextmanager", "final", "lru_cache", "runtime_checkable"})
_OF_CLI: Final = frozenset({"", "_ending", "_output", "hook"})


def build() -> bool:
    """Write the bundle; False where its folder cannot be written to, and then calls do without it."""
    folder = Path(bundle.FILE).parent
    beside = folder / f"{Path(bundle.FILE).name}.{os.getpid()}"
    raw = b"".join(_written(Path(bundle.PACKAGE)))
    try:
        folder.mkdir(exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            # otherwise the name may outlive a power cut, and what it stands for not
            file.flush()
            os.fsync(handle)
        beside.replace(bundle.FILE)
    except OSError:
        beside.unlink(missing_ok=True)
        return False
    return True


def is_fresh() -> bool:
    """Say whether there is a whole bundle of the modules as they are now."""
    try:
        raw = Path(bundle.FILE).read_bytes()
    except OSError:
        return False
    start = len(bundle.MAGIC) + 4
    codes = start + int.from_bytes(raw[start - 4 : start], "little")
    if not raw.startswith(bundle.MAGIC):
        return False
    try:
        tag, index = marshal.loads(raw[start:codes])  # noqa: S302 - our own file
        for offset, length, *_ in index.values():
            marshal.loads(raw[codes + offset : codes + offset + length])  # noqa: S302
    except (EOFError, ValueError, TypeError):
        return False
    now = {name: _stamp(path) for name, path, _ in _modules(Path(bundle.PACKAGE))}
    return bool(tag == bundle.TAG and now == {name: entry[4] for name, entry in index.items()})


def usual_names() -> dict[str, frozenset[str]]:
    """Give the names that most calls use, by module: `tools/usual_names.py` wrote them down.

    Those of a module are read at once, in half the time. A name that is missing here is read when it is needed.
    """
    lines = (line.partition(":") for line in USUAL.read_text("utf-8").splitlines())
    return {module: frozenset(names.split()) for module, _, names in lines}


def _written(package: Path) -> Iterator[bytes]:
    index: dict[str, tuple[int, int, bool, str, tuple[int, int]]] = {}
    codes: list[bytes] = []
    offset = 0
    usual = usual_names()
    for name, path, is_package in _modules(package):
        # before it is read: what is written meanwhile shows
        stamp = _stamp(path)
        source = path.read_text("utf-8")
        if bundle.is_ours(name):
            raw = marshal.dumps(tuple(compiled(source, str(path), usual.get(name, ()))))
        else:
            raw = marshal.dumps(_lent(source, str(path)))
        index[name] = (offset, len(raw), is_package, str(path), stamp)
        codes.append(raw)
        offset += len(raw)
    head = marshal.dumps((bundle.TAG, index))
    yield from (bundle.MAGIC, len(head).to_bytes(4, "little"), head, *codes)


def _modules(package: Path) -> Iterator[tuple[str, Path, bool]]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        parts = parts[:-1] if is_package else parts
        top, rest = parts[0] if parts else "", parts[1] if len(parts) > 1 else ""
        if top not in _LEFT_OUT and parts not in _BEFORE and (top != "cli" or rest in _OF_CLI):
            yield ".".join((package.name, *parts)), path, is_package
    for name in _LENT:
        spec = find_spec(name)
        # elsewhere Python has some of them in itself, or without their sources
        if spec is not None and spec.has_location and spec.origin and spec.origin.endswith(".py"):
            yield name, Path(spec.origin), spec.submodule_search_locations is not None


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


class Compiled(NamedTuple):
    """A module: how its names come about when they are needed, the code that runs at once, its patterns and builtins."""

    names: Names
    code: CodeType
    patterns: Patterns
    builtins: tuple[str, ...]


def compiled(source: str, path: str, usual: Collection[str] = ()) -> Compiled:
    """Compile a module. What is `usual` is read with it; of all else, its code is read when it is needed."""
    tree = ast.parse(source, path)
    _without_docstring(tree)
    inside: Inside = {statement: list(ast.walk(statement)) for statement in tree.body}
    patterns = dict(written_in(node for nodes in inside.values() for node in nodes))
    for nodes in inside.values():
        for node in nodes:
            _without_docstring(node)
            _without_annotations(node)
    names: Names = {}
    rest = [statement for statement in tree.body if not _is_import(statement, names)]
    imports = frozenset(names)
    counted = Counter(name for statement in rest for name in _made(inside[statement]))
    at_once: list[ast.stmt] = []
    for statement in rest:
        name = _maker_of(statement)
        # what is made twice is made in its order
        if name and counted[name] == 1 and name not in imports:
            names[name] = ("", b"")
        else:
            at_once.append(statement)
    lazy = names.keys()
    for statement in rest:
        name = _maker_of(statement)
        if name and names.get(name) == ("", b""):
            code = _code([*_needed_by_classes(statement, inside, lazy), statement], path)
            names[name] = ("", code if name in usual else marshal.dumps(code))
    ready = [one for given in at_once for one in (*_needed_by_classes(given, inside, lazy), given)]
    read = {node.id for nodes in inside.values() for node in nodes if isinstance(node, ast.Name)}
    used = tuple(sorted((read & vars(builtins).keys()) - lazy))
    return Compiled(names, _code(ready, path), patterns, used)


def _lent(source: str, path: str) -> CodeType:
    """Give the code of a module that is not ours."""
    tree = ast.parse(source, path)
    for node in ast.walk(tree):
        _without_docstring(node)
    return compile(tree, path, "exec", dont_inherit=True)


def _code(body: list[ast.stmt], path: str) -> CodeType:
    tree = ast.Module(body=body, type_ignores=[])
    code = compile(tree, path, "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True)
    return _bare(code)


def _bare(code: CodeType) -> CodeType:
    """Leave out where each instruction stands: nobody reads a traceback of it, and it is a part of each code."""
    constants = tuple(_bare(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=constants, co_linetable=b"", co_filename="")


def _maker_of(statement: ast.stmt) -> str:
    """Name what a statement makes, where nobody can tell when it does: a function, a class, what is final."""
    match statement:
        case (
            ast.FunctionDef(name=name, decorator_list=decorators)
            | ast.AsyncFunctionDef(name=name, decorator_list=decorators)
        ):
            return name if all(_is_quiet(one) for one in decorators) and not name.startswith("__") else ""
        case ast.ClassDef(name=name, decorator_list=decorators):
            return name if all(_is_quiet(one) for one in decorators) else ""
        case ast.AnnAssign(
            target=ast.Name(id=name),
            annotation=ast.Name(id="Final") | ast.Subscript(value=ast.Name(id="Final")),
            value=ast.expr() as value,
        ) if not isinstance(value, ast.Constant):
            return name
        # other words for types
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() | ast.BinOp(op=ast.BitOr())):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="TypeVar"))):
            return name
    return ""


def _is_quiet(decorator: ast.expr) -> bool:
    """Say whether a decorator does nothing but wrap."""
    found = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(found, ast.Name) and found.id in _QUIET


def _made(nodes: list[ast.AST]) -> Iterator[str]:
    """Name everything that a statement at the top of a module binds, wherever in it."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Global(names=names):
                yield from names


def _is_import(statement: ast.stmt, imports: Names) -> bool:
    match statement:
        case ast.Import(names=names):
            for alias in names:
                top = alias.name.partition(".")[0]
                imports[alias.asname or top] = (alias.name, None if alias.asname or top == alias.name else "")
            return True
        case ast.ImportFrom(module=str(module), names=names, level=0) if module != "__future__":
            imports.update({alias.asname or alias.name: (module, alias.name) for alias in names})
            return True
    return False


def _needed_by_classes(statement: ast.stmt, inside: Inside, lazy: Collection[str]) -> Iterator[ast.stmt]:
    """Give statements that look imported names up which the body of a class uses.

    There, and only there, the interpreter does not ask the names of a module for what is missing.
    """
    for name in sorted(_used_in_classes(inside[statement]).intersection(lazy)):
        yield ast.copy_location(ast.Expr(ast.copy_location(ast.Name(name, ast.Load()), statement)), statement)


def _used_in_classes(nodes: list[ast.AST]) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                found |= _evaluated(inner)
    return found


def _evaluated(node: ast.AST) -> set[str]:
    """Name what is looked up while a statement in the body of a class runs."""
    match node:
        case ast.Name(id=name):
            return {name}
        case (
            ast.FunctionDef(decorator_list=decorators, args=args)
            | ast.AsyncFunctionDef(decorator_list=decorators, args=args)
        ):
            parts: list[ast.AST] = [*decorators, *args.defaults, *(one for one in args.kw_defaults if one)]
        case ast.AnnAssign(value=value):
            parts = [value] if value is not None else []
        case _:
            parts = list(ast.iter_child_nodes(node))
    return set().union(*map(_evaluated, parts))


def _without_annotations(node: ast.AST) -> None:
    """Leave out what functions take and give: nobody asks ours, and it is a tuple of words for each of them."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            node.returns = None
        case ast.arg():
            node.annotation = None


def _without_docstring(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str())) as first, *rest]:
                node.body = rest or [ast.copy_location(ast.Pass(), first)]
