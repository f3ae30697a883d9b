"""A session of an agent: its start, its tools and skills between their hooks, the classes of errors, its end."""

import errno
import inspect
import re
import traceback
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter, time
from typing import TYPE_CHECKING, Final, Protocol, Self, Unpack

from msgspec import UNSET
from msgspec.structs import replace

from hookline.engine.event_factory import EventOptions
from hookline.errors import Blocked
from hookline.model.event import Event, EventName, Session
from hookline.model.verdict import Outcome

if TYPE_CHECKING:
    from hookline.engine.engine import Engine

Tool = Callable[..., object | Awaitable[object]]
# receives each outcome of a call, for what else the hooks returned
OnOutcome = Callable[[Outcome], object]
# gets what the hooks before the tool answered and the arguments they left; returns the final arguments, or raises `Blocked`
Permit = Callable[[Outcome, Mapping[str, object]], Awaitable[Mapping[str, object]]]

# first match wins; subclasses before their base classes
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
_BY_ERRNO: Final = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "permission"),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.ESRCH), "not_found"),
    **dict.fromkeys((errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EPIPE), "network"),
}

# error messages of programs and systems; first match wins
_BY_TEXT: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (r"timed?[ -]?out|deadline exceeded|ETIMEDOUT|took too long", "timeout"),
        (
            r"permission denied|EACCES|EPERM|not permitted|access (?:is )?denied|forbidden|unauthori[sz]ed|\b40[13]\b",
            "permission",
        ),
        (
            r"no such file|ENOENT|not found|does not exist|cannot find|no such (?:command|module|tool|host)|\b404\b",
            "not_found",
        ),
        (
            (
                r"ECONN\w+|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_\w+|connection (?:refused|reset|closed|aborted)"
                r"|network (?:is )?(?:unreachable|error)|could not resolve|name resolution|getaddrinfo|SSL|certificate|fetch failed"
            ),
            "network",
        ),
        (r"out of memory|ENOMEM|no space left|ENOSPC|EMFILE|too many open files|quota|rate limit|\b429\b", "resource"),
        (
            r"invalid|EINVAL|malformed|syntax error|parse error|unexpected token|bad request|must be|required",
            "invalid_input",
        ),
        (r"interrupt|cancell?ed|aborted|SIGINT", "interrupted"),
    )
)
_LONGEST_READ: Final = 4000


def classify_text(error: str) -> str:
    """Return the class of an error that comes as text, as `classify` does; "unknown" where no pattern matches."""
    return next((name for pattern, name in _BY_TEXT if pattern.search(error[:_LONGEST_READ])), "unknown")


def add_error_type(event: Event) -> Event:
    """Return a failed tool call with the class of its error, where the agent did not name one."""
    if event.name is not EventName.TOOL_FAILED or event.data.get("error_type"):
        return event
    return replace(event, data={**event.data, "error_type": classify_text(str(event.data.get("error", "")))})


class SessionScope:
    """Emit the start and the end of a session, and every event in between as part of it.

    `message_count` counts prompts and responses by itself; set it when the agent counts otherwise. `source` says how it
    began, `summary` is what the hooks at its end get to know of it, and `host` names the agent in traces.
    Where `only` names events, no others are raised: an agent may keep those of its subagents to itself.
    """

    def __init__(self, engine: "Engine", session: Session, *, cwd: str = "", host: str = "") -> None:
        self._engine = engine
        self.cwd = cwd
        self._host = host
        self.session = session
        self.message_count = 0
        self.summary: dict[str, object] = {}
        self.source = "startup"
        self.only: frozenset[str] | None = None
        self.start: Outcome | None = None

    async def __aenter__(self) -> Self:
        self.session = replace(self.session, started=int(time() * 1000))
        self.start = await self.emit(EventName.SESSION_START, {"source": self.source})
        if self.start.blocked:
            raise Blocked("session", self.start)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, *_trace: object) -> None:
        # notifications that are still on their way belong to the session
        await self._engine.drain()
        ended = int(time() * 1000)
        data: dict[str, object] = {
            "reason": "error" if error is not None else "finished",
            "ended": ended,
            "duration": (ended - self.session.started) / 1000,
            "message_count": self.message_count,
            **({"summary": self.summary} if self.summary else {}),
        }
        await self.emit(EventName.SESSION_END, data)
        await self._engine.drain()

    async def emit(
        self, name: str, data: Mapping[str, object] | None = None, **options: Unpack[EventOptions]
    ) -> Outcome:
        """Emit an event of this session; see `Engine.emit`."""
        if self.only is not None and self._engine.resolve(name) not in self.only:
            return Outcome()
        if self._engine.resolve(name) in {EventName.BEFORE_AGENT, EventName.AFTER_AGENT}:
            self.message_count += 1
        options["session"], options["cwd"], options["host"] = self.session, self.cwd, self._host
        return await self._engine.emit(name, data, **options)

    async def call_tool(
        self,
        name: str,
        args: Mapping[str, object],
        function: Tool,
        *,
        on_outcome: OnOutcome | None = None,
        permit: Permit | None = None,
    ) -> object:
        """Run a tool between its hooks; see `Engine.call_tool`.

        `permit` decides about a call that the hooks before it did not block: it returns the arguments, or raises `Blocked`.
        """
        return await run_tool(self.emit, name, args, function, on_outcome=on_outcome, permit=permit)

    async def skill(
        self, name: str, parameters: Mapping[str, object] | None = None, *, on_outcome: OnOutcome | None = None
    ) -> Mapping[str, object]:
        """Run the hooks of a skill, and return its parameters as they prepared them; see `Engine.skill`."""
        return await prepare_skill(self.emit, name, parameters or {}, on_outcome=on_outcome)

    def for_subagent(self, id: str, type: str, *, only: frozenset[str] | None = None) -> "SessionScope":  # noqa: A002 - the event's words
        """Return the scope of a subagent of this session: its events carry `session.agent`.

        Emit `subagent_start` and `subagent_stop` on this scope, and what the subagent does on the new one. With `only`, no
        other events are raised there.
        """
        scope = SessionScope(
            self._engine, replace(self.session, agent={"id": id, "type": type}), cwd=self.cwd, host=self._host
        )
        scope.only = only
        return scope

    def notify(self, message: str, *, type: str = "status") -> None:  # noqa: A002 - the event's own word
        """Send a notification to hooks without waiting for them."""
        if self.only is not None and EventName.NOTIFICATION not in self.only:
            return
        self._engine.notify(message, type=type, session=self.session, cwd=self.cwd, host=self._host)


class Emit(Protocol):
    """`Engine.emit` with the session and the folder of the call."""

    async def __call__(
        self,
        name: str,
        data: Mapping[str, object] | None = None,
        /,
        *,
        tool: str = "",
        args: Mapping[str, object] = {},
    ) -> Outcome:
        """Emit one event of the call."""


def classify(error: BaseException) -> str:
    """Return the class of an error: users act on each of the few classes differently."""
    for kind, name in _BY_TYPE:
        if isinstance(error, kind):
            return name
    if isinstance(error, OSError):
        # name resolution fails with error numbers of its own
        if type(error).__name__ in {"gaierror", "herror", "SSLError"}:
            return "network"
        return _BY_ERRNO.get(error.errno or 0, "io")
    # client libraries have no common base class, but similar class names
    class_name = type(error).__name__.lower()
    for word, name in (("timeout", "timeout"), ("connect", "network"), ("permission", "permission")):
        if word in class_name:
            return name
    return "unknown"


async def run_tool(
    emit: Emit,
    name: str,
    args: Mapping[str, object],
    function: Tool,
    *,
    on_outcome: OnOutcome | None = None,
    permit: Permit | None = None,
) -> object:
    """Run the hooks before the tool, the tool with the arguments they left, and the hooks after it."""
    before = await emit(EventName.BEFORE_TOOL, None, tool=name, args=args)
    _check(name, before, on_outcome)
    final = before.args if before.args is not None else args
    if permit is not None:
        final = await permit(before, final)
    started = perf_counter()
    try:
        result = function(**final)
        if inspect.isawaitable(result):
            result = await result
    except Exception as error:
        failure = _describe_error(error, perf_counter() - started)
        outcome = await emit(EventName.TOOL_FAILED, failure, tool=name, args=final)
        if on_outcome is not None:
            on_outcome(outcome)
        raise
    report = {"result": result, "duration": perf_counter() - started}
    after = await emit(EventName.AFTER_TOOL, report, tool=name, args=final)
    _check(name, after, on_outcome)
    return result if after.output is UNSET else after.output


async def prepare_skill(
    emit: Emit, name: str, parameters: Mapping[str, object], *, on_outcome: OnOutcome | None = None
) -> Mapping[str, object]:
    """Run the hooks of a skill, and return its parameters as the last hook left them."""
    outcome = await emit(EventName.SKILL_TRIGGER, {"skill": name, "parameters": dict(parameters)})
    _check(name, outcome, on_outcome)
    return outcome.args if outcome.args is not None else parameters


def _check(name: str, outcome: Outcome, on_outcome: OnOutcome | None) -> None:
    if on_outcome is not None:
        on_outcome(outcome)
    if outcome.blocked:
        raise Blocked(name, outcome)


def _describe_error(error: Exception, duration: float) -> dict[str, object]:
    try:
        message = str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - __str__ may raise anything, and the tool's own error has to pass through
        message = type(error).__name__
    kind = classify(error)
    return {
        "error": message,
        # an error of a program that a tool ran has no class of its own, but a usual wording
        "error_type": classify_text(message) if kind == "unknown" else kind,
        "error_code": type(error).__name__,
        "error_stack": "".join(traceback.format_exception(error, limit=-20)),
        "duration": duration,
    }
