"""Where records are kept. A store is one file here and one row in `STORES`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from hookline.ports import TraceStore


def _memory(_where: str) -> TraceStore:
    from hookline.stores.memory import MemoryTraces  # noqa: PLC0415 - only the chosen store is loaded

    return MemoryTraces()


def _sqlite(where: str) -> TraceStore:
    from hookline.stores.sqlite import SqliteTraces  # noqa: PLC0415 - sqlite3 alone takes 7 ms to import

    return SqliteTraces(where)


# name -> opens that store at a place; what a place is (a file, a URL, nothing) is the store's business
STORES: Final[Mapping[str, Callable[[str], TraceStore]]] = MappingProxyType({"memory": _memory, "sqlite": _sqlite})
