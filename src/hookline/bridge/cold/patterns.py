"""Patterns as the engine of `re` runs them: to read and compile one takes many times longer than to match it.

How that looks is not a part of what Python promises. So it is only ever given back to the interpreter that made it.
"""
# ruff: noqa: SLF001 - see above

import ast
import marshal
import re
from collections.abc import Iterable, Iterator
from typing import Final

# what flags are written with
_OF_FLAGS: Final = (ast.Attribute, ast.BinOp, ast.BitOr, ast.Load, ast.Name)


def written_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[tuple[str, int], bytes]]:
    """Give the patterns that stand in code as they are written, by text and flags."""
    for node in nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr="compile"),
                args=[ast.Constant(value=str(text)), *given],
                keywords=[],
            ) if all(isinstance(part, _OF_FLAGS) for flag in given for part in ast.walk(flag)):
                flags = sum(int(eval(ast.unparse(flag), {"re": re})) for flag in given)  # noqa: S307 - of our own code
                yield (text, flags), marshal.dumps(run_as(text, flags))


def run_as(text: str, flags: int) -> tuple[str, int, list[int], int, dict[str, int], tuple[str | None, ...]]:
    """Give what the engine is called with to make a pattern."""
    called: list[tuple[str, int, list[int], int, dict[str, int], tuple[str | None, ...]]] = []
    compiler = re._compiler  # type: ignore[attr-defined]
    engine = compiler._sre

    class Listening:
        """The engine, and somebody who hears what it is told."""

        def __getattr__(self, name: str) -> object:
            return getattr(engine, name)

        def compile(self, *given: object) -> object:
            called.append(given)  # type: ignore[arg-type]
            return engine.compile(*given)

    compiler._sre = Listening()
    try:
        compiler.compile(text, flags)
    finally:
        compiler._sre = engine
    pattern, settled, code, groups, names, numbers = called[0]
    # some of the numbers have names, which nobody but the compiler reads
    return pattern, int(settled), [int(one) for one in code], groups, dict(names), tuple(numbers)
