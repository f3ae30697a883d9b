"""What stands in for logging where one call is answered says the same to whoever takes complaints."""

import ast
import logging
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from types import ModuleType

import pytest

from hookline.bridge.cold import bundle, bundling, logs


def complained(module: ModuleType) -> list[tuple[str, int, str, str]]:
    """Complain in every way our modules do, and give what a handler hears."""
    heard: list[tuple[str, int, str, str]] = []

    class Desk(module.Handler):  # type: ignore[name-defined,misc]
        def emit(self, record: logging.LogRecord) -> None:
            problem = record.exc_info[1] if record.exc_info else None
            heard.append((record.name, record.levelno, record.getMessage(), repr(problem)))

    root = module.getLogger()
    before, root.handlers[:] = root.handlers[:], [Desk(module.WARNING)]
    logger = module.getLogger("hookline.some.part")
    try:
        logger.debug("nobody asked %s", 1)
        logger.info("nobody asked")
        logger.warning("%s", OSError("gone"))
        logger.warning("100 %")
        logger.error("%d of %d", 1, 2)
        try:
            int("odd")
        except ValueError:
            logger.exception("hook %s could not be asked", "one")
        logger.error("hook %s could not be asked", "one", exc_info=OSError("gone"))
        logger.error("nothing failed", exc_info=None)
    finally:
        root.handlers[:] = before
    return heard


def test_both_say_the_same() -> None:
    assert complained(logs) == complained(logging)


def complaints() -> Iterator[tuple[str, ast.Call]]:
    """Find every complaint in the modules that calls are answered with."""
    for _, path, _ in bundling._modules(Path(bundle.PACKAGE)):  # noqa: SLF001 - those, and no others
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"), attr=method)):
                    yield method, node


def test_every_complaint_of_ours_can_be_made_to_it() -> None:
    """Where one could not, a hook's own failure policy would not be followed but that of a bug."""
    found = 0
    for method, call in complaints():
        words = {word.arg or "": None for word in call.keywords}
        signature(getattr(logs.Logger, method)).bind(None, *call.args, **words)
        found += 1
    assert found > 10


def test_who_takes_only_errors_hears_no_warning() -> None:
    heard: list[str] = []

    class Desk(logs.Handler):
        def emit(self, record: logs.LogRecord) -> None:
            heard.append(record.getMessage())

    root = logs.getLogger()
    root.handlers.append(Desk(logs.ERROR))
    try:
        logs.getLogger("a").warning("small")
        logs.getLogger("a").error("large")
    finally:
        root.handlers.clear()
    assert heard == ["large"]
    assert logs.getLogger("a").isEnabledFor(logs.WARNING)
    assert not logs.getLogger("a").isEnabledFor(logs.INFO)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    assert logs.getLogger().handlers == []
