"""One configured hook, and where it came from."""

from collections.abc import Callable, Mapping
from enum import IntEnum, StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

from hookline.errors import ConfigError
from hookline.model.policy import Caching, Needs


class Source(StrEnum):
    """Who put a hook there, which decides whether it is trusted without asking."""

    BUILTIN = "builtin"
    USER = "user"
    WORKSPACE = "workspace"
    DOWNLOADED = "downloaded"
    EXTENSION = "extension"


class Layer(StrEnum):
    """Where a definition lies, the strongest first; PROGRAM is a hook that a running program registered."""

    MANAGED = "managed"
    USER = "user"
    LOCAL = "local"
    PROJECT = "project"
    EXTENSION = "extension"
    PROGRAM = "program"


class OnError(StrEnum):
    """Whether a failing hook blocks the operation."""

    BLOCK = "block"
    CONTINUE = "continue"


class Priority(IntEnum):
    """Named places in the order; any number between them is fine, too. Lower runs earlier."""

    CRITICAL = 0
    HIGH = 100
    NORMAL = 200
    LOW = 300


# which field says how a hook is reached, and the kind that follows
KIND_BY_FIELD: Final = {
    "call": "function",
    "module": "python",
    "url": "webhook",
    "command": "command",
    "prompt": "ask_agent",
    "steps": "steps",
    "raises": "raise_event",
}

_TUPLES: Final = ("on", "args", "steps", "after", "before")


class Hook(Struct, frozen=True, kw_only=True):
    """One hook as configured, before anyone asked whether to trust it.

    How it is reached follows from the field that is set: `command` (with `args`, or a whole line with
    `shell`), `module` and `function`, `url`, `prompt` to ask the agent, `steps` for a list of other hooks, `raises`
    for another event, or `call` for a function of this program. A `persistent` command answers many events, a
    `warm` one that is a Python script is run in a process that was made ahead.
    `on` names canonical events, and is a tuple once made. What is None or empty is decided by the dialect.

    With `header_env`, headers may name these variables of the environment, `$NAME` or `${NAME}`, and any other is empty
    there; without it they are as they stand.

    With `plain`, text that its program prints is no mistake: it is added to the conversation.

    `files`, `writes`, `deletes` and `reads` are patterns as git ignores files: the hook runs for events about such a
    file, and for tool calls that may write, delete or read one; `runs` and `urls` are patterns of commands that a call
    may run and of URLs that it may reach. `includes` are files that belong to the hook though its command does not name
    them. `source` defaults to the least trusted common one, so that a forgotten source is never a trusted hook;
    `trusted` is what the definition says of itself, which only ever counts in a person's own files.

    `condition` is an expression over the event that has to be true. `after` and `before` name other hooks. With
    `once` it runs once in a session, at most `per_minute` times in a minute, not within `cooldown` seconds of its last
    run, and not before it was quiet for `debounce` seconds. After `breaker` failures in a row it pauses for
    `retry_after` seconds. `background` hooks are put into a queue, and nobody waits for them. `schedule` is a cron
    line at which `hookline watch` starts it.

    `root` is the folder that relative names are counted from. `source_path`, `source_line`, `source_format` and
    `source_pointer` lead back to the definition, `layer` says whose it is, and `source_version` for which version
    of its system it was written. `agents` are the agents whose own settings hold it: they run it themselves, so it is
    left to them there. `native_event` is the agent's own event that it was written for.
    """

    id: str
    on: tuple[str, ...] | str = ()
    name: str = ""
    dialect: str = "hookline"
    kind: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    shell: bool | None = None
    module: str = ""
    function: str = ""
    isolated: bool = False
    plain: bool = False
    url: str = ""
    method: str = "POST"
    headers: Mapping[str, str] = {}
    header_env: tuple[str, ...] | None = None
    call: Callable[..., object] | None = None
    prompt: str = ""
    steps: tuple[str, ...] = ()
    raises: str = ""
    persistent: bool = False
    warm: bool = False
    matcher: str = ""
    files: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    condition: str = ""
    includes: tuple[str, ...] = ()
    timeout: float | None = None
    working_directory: str = ""
    env: Mapping[str, str] = {}
    on_error: OnError | None = None
    priority: int = Priority.NORMAL
    parallel: bool = False
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    once: bool = False
    per_minute: int = 0
    cooldown: float = 0.0
    debounce: float = 0.0
    breaker: int = 0
    retry_after: float = 60.0
    needs: Needs | None = None
    cache: Caching | None = None
    background: bool = False
    schedule: str = ""
    observe: bool = False
    enabled: bool = True
    version: str = ""
    source: Source = Source.WORKSPACE
    trusted: bool | None = None
    layer: Layer = Layer.PROGRAM
    root: str = ""
    source_path: str = ""
    source_line: int = 0
    source_format: str = ""
    source_pointer: tuple[str | int, ...] = ()
    source_version: str = ""
    agents: tuple[str, ...] = ()
    native_event: str = ""

    def __post_init__(self) -> None:
        """Accept the plain spellings people write, and refuse what could not run."""
        if type(self.source) is not Source:
            force_setattr(self, "source", Source(self.source))
        for field in _TUPLES:
            value = getattr(self, field)
            if type(value) is not tuple:
                force_setattr(self, field, (value,) if isinstance(value, str) else tuple(value))
        if self.on_error is not None and type(self.on_error) is not OnError:
            force_setattr(self, "on_error", OnError(self.on_error))
        if not self.kind:
            force_setattr(self, "kind", self._kind())
        if self.timeout is not None and not self.timeout > 0:
            raise ConfigError(
                f'hook "{self.id}": timeout is {self.timeout}, wanted more than 0 seconds',
                path=self.source_path,
                line=self.source_line,
            )

    def project(self, cwd: str) -> str:
        """Give the folder of the project at an event that happens in a folder: the hook's own, where that is inside it.

        Agents walk into folders below it, and a hook that was written for a project names its scripts from the top.
        """
        is_own = self.root and self.layer in {Layer.PROJECT, Layer.LOCAL}
        return self.root if is_own and f"{cwd}/".startswith(f"{self.root.rstrip('/')}/") else cwd

    def _kind(self) -> str:
        kinds = [kind for field, kind in KIND_BY_FIELD.items() if getattr(self, field)]
        if len(kinds) == 1:
            return kinds[0]
        found = "none of them" if not kinds else " and ".join(kinds)
        raise ConfigError(
            f'hook "{self.id}" needs exactly one of command, module, url, prompt, steps, raises or call; it has {found}',
            path=self.source_path,
            line=self.source_line,
        )
