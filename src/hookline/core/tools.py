"""A tool between its hooks: gate, rewrite, run, report."""

import errno
import inspect
import traceback
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Final, Protocol

from msgspec import UNSET

from hookline.errors import Blocked
from hookline.model.event import EventName
from hookline.model.verdict import Outcome

Tool = Callable[..., object | Awaitable[object]]
Hear = Callable[[Outcome], object]

_PERMISSION: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_MISSING: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESRCH})
_NETWORK: Final = frozenset({errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPIPE})

# first match wins; the special ones stand before their base classes
_BY_TYPE: Final[tuple[tuple[type[BaseException], str], ...]] = (
    (TimeoutError, "timeout"),
    (PermissionError, "permission"),
    (FileNotFoundError, "not_found"),
    (ModuleNotFoundError, "not_found"),
    (ProcessLookupError, "not_found"),
    (LookupError, "not_found"),
    (ConnectionError, "network"),
    (MemoryError, "resource"),
    (RecursionError, "resource"),
    (ValueError, "invalid_input"),
    (TypeError, "invalid_input"),
)
_BY_ERRNO: Final = ((_PERMISSION, "permission"), (_MISSING, "not_found"), (_NETWORK, "network"))


class Emit(Protocol):
    """How a tool call reaches the hooks."""

    async def __call__(
        self, name: str, data: Mapping[str, object] | None = None, /, *, tool: str, args: Mapping[str, object]
    ) -> Outcome:
        """Emit one event of the call."""


def classify(error: BaseException) -> str:
    """Sort an error into the few classes people act on differently."""
    for kind, name in _BY_TYPE:
        if isinstance(error, kind):
            return name
    if isinstance(error, OSError):
        # name look-ups fail with negative numbers of their own
        if type(error).__name__ in {"gaierror", "herror", "SSLError"}:
            return "network"
        return next((name for numbers, name in _BY_ERRNO if error.errno in numbers), "io")
    # client libraries have no common base: their class names are what they share
    spelled = type(error).__name__.lower()
    for word, name in (("timeout", "timeout"), ("connect", "network"), ("permission", "permission")):
        if word in spelled:
            return name
    return "unknown"


def _nobody_listens(_outcome: Outcome) -> None:
    """Take no notice."""


async def run_tool(
    emit: Emit, name: str, args: Mapping[str, object], function: Tool, *, hear: Hear | None = None
) -> object:
    """Ask the hooks before, run the tool with the arguments they left, and tell them what came of it."""
    told = hear or _nobody_listens
    before = await emit(EventName.BEFORE_TOOL, None, tool=name, args=args)
    told(before)
    if before.blocked:
        raise Blocked(name, before)
    final = before.args if before.args is not None else args
    started = perf_counter()
    try:
        result = function(**final)
        if inspect.isawaitable(result):
            result = await result
    except Exception as error:
        told(await emit(EventName.TOOL_FAILED, _failure(error, perf_counter() - started), tool=name, args=final))
        raise
    report = {"result": result, "duration": perf_counter() - started}
    after = await emit(EventName.AFTER_TOOL, report, tool=name, args=final)
    told(after)
    if after.blocked:
        raise Blocked(name, after)
    return result if after.output is UNSET else after.output


def _failure(error: Exception, duration: float) -> dict[str, object]:
    return {
        "error": _message(error),
        "error_type": classify(error),
        "error_code": type(error).__name__,
        "error_stack": _stack(error),
        "duration": duration,
    }


def _message(error: Exception) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - an error's own __str__ may raise anything, and the tool's error must pass through
        return type(error).__name__


def _stack(error: Exception) -> str:
    return "".join(traceback.format_exception(error, limit=-20))
