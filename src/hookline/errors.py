"""Every exception Hookline raises on purpose.

EngineError
├── ConfigError      a configuration cannot be used: says which file, which line, what to do
├── ConditionError   a hook's condition cannot be decided for an event
│   └── MissingValueError   it names a value that the event does not have
├── DialectError     bytes that are not what their dialect says
├── StoreError       a store cannot be read or written
├── McpError         an MCP server cannot be used: says why, and what to do
├── HostError        an agent program's own settings cannot be read or changed
└── Blocked          hooks said no to a tool call made through the engine

A hook that fails is not an exception: it is a `Failure` inside a `Verdict`.
"""


class EngineError(Exception):
    """Base of everything Hookline raises on purpose."""


class ConfigError(EngineError):
    """A configuration that cannot be used.

    The text starts with the place, as compilers print it, so that editors can jump there.
    """

    def __init__(self, message: str, *, path: str = "", line: int = 0) -> None:
        self.path = path
        self.line = line
        self.message = message
        place = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        super().__init__(f"{place}{message}")


class ConditionError(EngineError):
    """A condition that cannot be decided for an event: something it names is not there, or of another type."""


class MissingValueError(ConditionError):
    """A condition names a value that the event does not have."""


class DialectError(EngineError):
    """Bytes that are not what their dialect says; `where` is a path into the document.

    `is_answer` says that a hook meant them as a decision, and that they are not just JSON of some other kind.
    """

    is_answer = False

    def __init__(self, message: str, *, dialect: str, where: str = "") -> None:
        self.dialect = dialect
        self.where = where
        self.message = message
        place = f"{dialect} at {where}" if where else dialect
        super().__init__(f"{place}: {message}")


class StoreError(EngineError):
    """A store that cannot be read or written."""


class McpError(EngineError):
    """An MCP server that cannot be used; `kind` is the kind of failure of a hook that needs it."""

    def __init__(self, message: str, *, kind: str = "unreachable") -> None:
        self.kind = kind
        super().__init__(message)


class HostError(EngineError):
    """An agent program's settings that cannot be read or changed."""


class Blocked(EngineError):  # noqa: N818 - not an error of anybody: the hooks did their work
    """Hooks said no to a tool call; `outcome` says which and why."""

    def __init__(self, tool: str, outcome: object) -> None:
        self.tool = tool
        self.outcome = outcome
        super().__init__(f"{tool} blocked by a hook: {getattr(outcome, 'reason', '')}")
