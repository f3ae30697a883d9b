"""Run a test over a table: one test in the report, and a message that names every row that failed."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

SHOWN = 20
_PARAM = type(pytest.param())


def each(
    names: str | Sequence[str], rows: Iterable[Any], *, ids: object = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test once for each row, as `pytest.mark.parametrize` would, but report one result.

    For tables of hundreds of rows whose test is a pure function; fixtures are shared by all rows. `ids` is accepted so
    that a table can change between the two decorators: a failing row is shown whole.
    """
    del ids
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_values(row, len(parameters)) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: object) -> None:
            failures = []
            for row in table:
                try:
                    test(**fixtures, **dict(zip(parameters, row, strict=True)))
                except (AssertionError, Exception) as error:  # noqa: BLE001 - every row is tried
                    failures.append((row, error))
            if failures:
                lines = [f"{row!r}: {type(error).__name__}: {error}" for row, error in failures[:SHOWN]]
                summary = f"{len(failures)} of {len(table)} rows failed\n" + "\n".join(lines)
                raise AssertionError(summary) from failures[0][1]

        signature = inspect.signature(test)
        left = [value for name, value in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        del run.__wrapped__  # pytest would read the parameters of the test itself
        return run

    return decorate


def _values(row: Any, count: int) -> tuple[object, ...]:
    if isinstance(row, _PARAM):
        return tuple(row.values)
    return tuple(row) if count > 1 else (row,)
