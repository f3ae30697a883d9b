"""One configured hook, and where it came from."""

import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum, StrEnum
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from hookline.errors import ConfigError
from hookline.model.language_models import ModelBudget
from hookline.model.mcp_server import McpServer
from hookline.model.requirements import Caching, Needs, find_named_facts, read_facts
from hookline.model.sandbox import LEVELS, PROJECT, UNCONTAINED, Sandbox


class Source(StrEnum):
    """Who put a hook there, which decides whether it is trusted without asking."""

    BUILTIN = "builtin"
    USER = "user"
    WORKSPACE = "workspace"
    DOWNLOADED = "downloaded"
    EXTENSION = "extension"


class Layer(StrEnum):
    """Where a definition is, the strongest first; PROGRAM is a hook that a running program registered."""

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


class Unknown(StrEnum):
    """What a hook does when it cannot be known whether a call is one that it is about."""

    SKIP = "skip"
    MATCH = "match"
    CONFIRM = "confirm"


class Priority(IntEnum):
    """Named places in the order; any number between them is fine, too. Lower runs earlier."""

    CRITICAL = 0
    HIGH = 100
    NORMAL = 200
    LOW = 300


# the dialect of hooks that name none: its commands may hold templates, and lists of words mean what they are
OWN_DIALECT: Final = "hookline"

# the answers of a rule; of those that decide, a rule has one at most
DECISIONS: Final = ("deny", "confirm", "allow")
ACTIONS: Final = (*DECISIONS, "tell", "context")


class HookTarget(Struct, frozen=True, kw_only=True):
    """What one field of a hook means that says how the hook is reached.

    `key` is its key in hookline.toml, "" for a field that only programs set. `about` describes a target that is a text with
    templates, which needs no code beside its kind: it is the help of the key and of the option of `hookline add`. `title` stands
    above the text where the user is asked to approve the hook.
    """

    kind: str
    key: str = ""
    about: str = ""
    title: str = ""


# the fields that say how a hook is reached; a hook has those of one kind
TARGETS: Final[Mapping[str, HookTarget]] = {
    "call": HookTarget(kind="function"),
    "module": HookTarget(kind="python", key="call"),
    "url": HookTarget(kind="webhook", key="post"),
    "command": HookTarget(kind="command", key="run"),
    "prompt": HookTarget(
        kind="ask_agent",
        key="ask",
        about="what to ask the agent; {{file.path}} and other values of the event are filled in",
        title="the agent itself is asked",
    ),
    "steps": HookTarget(kind="steps", key="steps"),
    "raises": HookTarget(kind="raise_event", key="raise"),
    "mcp": HookTarget(
        kind="mcp",
        key="mcp",
        about='the tool of an MCP server to call: "server/tool"',
        title="a tool of an MCP server is called",
    ),
    "notify": HookTarget(
        kind="notify",
        key="notify",
        about="what to show on the desktop: {{agent}} is done in {{project}}",
        title="a notification on the desktop",
    ),
    "judge": HookTarget(
        kind="judge",
        key="judge",
        about="what to ask a language model: Is {{args.command}} safe? It allows, denies, or asks the user",
        title="a language model is asked",
    ),
    **{name: HookTarget(kind="rule", key=name) for name in ACTIONS},
}
TEXT_TARGETS: Final = {field: target for field, target in TARGETS.items() if target.about}

# the id of the hook that stands for an MCP server as a whole begins with this
SERVER_PREFIX: Final = "mcp:"

# the id of the hook that takes back what another one did ends with this
UNDO_SUFFIX: Final = ":undo"

# a command as files have it: one line, a list with one word each, or one of both for each platform
Undo = str | tuple[str, ...] | Mapping[str, str | Sequence[str]]

# the keys of a table with a command for each platform, with what `sys.platform` says there
PLATFORMS: Final = {"windows": "win32", "macos": "darwin", "linux": "linux"}
DEFAULT_PLATFORM: Final = "default"

# the key of this platform; "" on one that has none
THIS_PLATFORM: Final = next((name for name, platform in PLATFORMS.items() if sys.platform == platform), "")

# the kind of a hook that stands for a guard whose definition cannot be used
INVALID: Final = "invalid"

_TUPLES: Final = (
    *("on", "args", "steps", "after", "before", "files", "writes", "deletes", "reads", "runs", "urls", "includes"),
    *("agents", "branches", "between", "facts"),
)


class Hook(Struct, frozen=True, kw_only=True):
    """One hook as configured, before the trust check.

    How it is reached follows from the field that is set: `command` (with `args`, or a whole line with
    `shell`), `module` and `function`, `url`, `prompt` to ask the agent, `mcp` for a tool of an MCP server, `notify` for a text on the desktop, `judge` to ask the language model `model`, `steps` for a list of other hooks, `raises`
    for another event, `call` for a function of this program, or an action: `deny`, `confirm` (ask the user), `allow`,
    `tell` (the user) and `context` (for the model) are constant answers, for which no program runs. Their texts are
    templates; a decision may be True, without words. A rule that denies or confirms fails closed unless it says otherwise.
    `platforms` are the commands of a hook that has one for each platform; the one that runs here is blank.
    A `persistent` command answers many events, a `warm` one that is a Python script is run in a process that was made
    ahead.
    `on` names canonical events, and is a tuple once made. What is None or empty is decided by the dialect.

    With `header_env`, headers may name these variables of the environment, `$NAME` or `${NAME}`, and any other is empty
    there; without it they are as they stand. In Hookline's own dialect the URL may name variables, too, a user's own
    hooks may name any, and one that is not set is a failure. `body` is sent in place of the event: a text, or a JSON
    value whose texts hold templates. What a server answers to that is no answer of the hook.

    `arguments` are those of the tool that `mcp` names, and their texts hold templates. `server` is the definition of its
    server, which is looked up when the hook is loaded.

    With `plain`, text that its program prints is no mistake: it is added to the conversation.

    `files`, `writes`, `deletes` and `reads` are patterns as git ignores files: the hook runs for events about such a
    file, and for tool calls that may write, delete or read one; `runs` and `urls` are patterns of commands that a call
    may run and of URLs that it may reach. `unknown` says what happens when it cannot be known whether a call does so:
    the hook is skipped, it matches, or the user is asked. `includes` are files that belong to the hook though its command does not name
    them. `source` defaults to the least trusted common one, so that a forgotten source is never a trusted hook;
    `trusted` is what the definition says of itself, which only ever counts in a user's own files.

    `condition` is an expression over the event that has to be true. With `agents`, `branches` and `between` it runs under these
    agents, on these branches of git and at these times only. `facts` are gathered for it, and those that its condition and
    texts name. `after` and `before` name other hooks. With
    `once` it runs once in a session, or in a turn where it is "turn", at most `per_minute` times in a minute, not within `cooldown` seconds of its last
    run, and not before its subject was quiet for `debounce` seconds. With `batch` it runs once for all files of the
    events that come within so many seconds of each other, in the background. After `breaker` failures in a row it pauses for
    `retry_after` seconds. `background` hooks are put into a queue, and the agent does not wait for them. `schedule` is a cron
    line at which `hookline watch` starts it.

    `undo` is the command that takes back what the hook did, `undo_call` the function of this program that does; see
    `make_undo_hook`.

    With `state` its process has a folder of its own, in which it keeps what it wants to find again.

    `budget` is what a `judge` may spend in a day, and with `redact` secrets are masked in what its model is shown. A judge fails
    closed unless it says otherwise. `model_url` is where the user's settings and environment have its model, for those who are shown
    the hook.

    `sandbox` is what its process may do; without one it is decided by where the hook comes from: those of others have the
    level `default_sandbox`, which is a setting of the user.

    `root` is the folder that relative names are counted from. `source_path`, `source_line`, `source_format` and
    `source_pointer` lead back to the definition, `layer` says whose it is, and `source_version` for which version
    of its system it was written. `run_by` are the agents whose own settings hold it: they run it themselves, so it is
    left to them there. `native_event` is the agent's own event that it was written for. An `implicit` hook is on although
    the user did not ask for it, so that it does not count where it matters whether there are hooks, or guards.

    `invalid` says why the definition cannot be used. Such a hook, of the kind `INVALID`, stands for a guard whose
    definition has a mistake: it never runs, and its failure policy decides about its events.

    `tests` are the tables `given` and `expect` beside its definition, see `config/hook_tests.py`.
    """

    id: str
    on: tuple[str, ...] | str = ()
    name: str = ""
    dialect: str = OWN_DIALECT
    kind: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    platforms: Mapping[str, str | list[str]] = {}
    shell: bool | None = None
    module: str = ""
    function: str = ""
    isolated: bool = False
    plain: bool = False
    url: str = ""
    method: str = "POST"
    headers: Mapping[str, str] = {}
    header_env: tuple[str, ...] | None = None
    body: object = None
    call: Callable[..., object] | None = None
    prompt: str = ""
    steps: tuple[str, ...] = ()
    raises: str = ""
    mcp: str = ""
    arguments: Mapping[str, object] = {}
    server: McpServer | None = None
    notify: str = ""
    judge: str = ""
    model: str = ""
    budget: ModelBudget | None = None
    redact: bool = True
    model_url: str = ""
    deny: str | bool = ""
    confirm: str | bool = ""
    allow: str | bool = ""
    tell: str = ""
    context: str = ""
    persistent: bool = False
    warm: bool = False
    matcher: str = ""
    files: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    unknown: Unknown | None = None
    condition: str = ""
    agents: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    timeout: float | None = None
    working_directory: str = ""
    env: Mapping[str, str] = {}
    on_error: OnError | None = None
    priority: int = Priority.NORMAL
    parallel: bool = False
    after: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    once: bool | Literal["turn"] = False
    per_minute: int = 0
    cooldown: float = 0.0
    debounce: float = 0.0
    batch: float = 0.0
    breaker: int = 0
    retry_after: float = 60.0
    needs: Needs | None = None
    cache: Caching | None = None
    state: bool = False
    undo: Undo = ""
    undo_call: Callable[..., object] | None = None
    sandbox: Sandbox | None = None
    default_sandbox: str = PROJECT
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
    run_by: tuple[str, ...] = ()
    native_event: str = ""
    implicit: bool = False
    invalid: str = ""
    tests: tuple[Mapping[str, object], ...] = ()

    def __post_init__(self) -> None:
        """Accept the plain spellings people write, and refuse what could not run."""
        if type(self.source) is not Source:
            force_setattr(self, "source", Source(self.source))
        for field in _TUPLES:
            value = getattr(self, field)
            if isinstance(value, str):
                force_setattr(self, field, (value,))
            elif type(value) is not tuple and isinstance(value, Iterable):
                # anything else is refused where the hook is registered
                force_setattr(self, field, tuple(value))
        if self.on_error is not None and type(self.on_error) is not OnError:
            force_setattr(self, "on_error", OnError(self.on_error))
        if self.unknown is not None and type(self.unknown) is not Unknown:
            force_setattr(self, "unknown", Unknown(self.unknown))
        if not self.kind:
            force_setattr(self, "kind", self._kind())
        texts = (self.condition, *self.args, *(getattr(self, field) for field in TARGETS))
        if any(isinstance(text, str) and "facts." in text for text in texts):
            # a broken name is reported where the hook is registered
            with suppress(ValueError):
                named = find_named_facts(text for text in texts if isinstance(text, str))
                force_setattr(self, "facts", read_facts((*self.facts, *named)))
        if self.on_error is None and (self.deny or self.confirm or self.judge):
            force_setattr(self, "on_error", OnError.BLOCK)
        if self.batch and not self.background:
            # a job that waits for more events has given its answer by then
            force_setattr(self, "background", True)  # noqa: FBT003
        if self.timeout is not None and not self.timeout > 0:
            raise ConfigError(
                f'hook "{self.id}": timeout is {self.timeout}, wanted more than 0 seconds',
                path=self.source_path,
                line=self.source_line,
            )

    @property
    def actions(self) -> dict[str, str | bool]:
        """The constant answers of a rule by their names; empty for every other kind of hook."""
        return {name: text for name in ACTIONS if (text := getattr(self, name))}

    @property
    def quiet(self) -> float:
        """How many seconds a background run waits for newer events."""
        return max(self.debounce, self.batch)

    @property
    def containment(self) -> Sandbox:
        """What its process may do: as the definition says, else nothing is contained that is the user's own.

        A hook of a program that uses the engine is that program's own, whatever its source is.
        """
        if self.sandbox is not None:
            return self.sandbox
        is_own = self.source in {Source.BUILTIN, Source.USER} or self.layer is Layer.PROGRAM
        return UNCONTAINED if is_own else LEVELS[self.default_sandbox]

    @property
    def has_undo(self) -> bool:
        """Whether what it does can be taken back."""
        return bool(self.undo) or self.undo_call is not None

    @property
    def on_unknown(self) -> Unknown:
        """What the hook does when it cannot be known whether a call is one that it is about.

        A program can decide for itself, so that it is asked; a constant answer is about what it names and nothing else.
        """
        return self.unknown or (Unknown.SKIP if self.kind == "rule" else Unknown.MATCH)

    def project(self, cwd: str) -> str:
        """Return the folder of the project at an event that happens in a folder: the hook's own, where that is inside it.

        Agents walk into folders below it, and a hook that was written for a project names its scripts from the top.
        """
        is_own = self.root and self.layer in {Layer.PROJECT, Layer.LOCAL}
        return self.root if is_own and f"{cwd}/".startswith(f"{self.root.rstrip('/')}/") else cwd

    def _kind(self) -> str:
        fields = [field for field in TARGETS if getattr(self, field)]
        kinds = {TARGETS[field].kind for field in fields}
        decisions = [field for field in fields if field in DECISIONS]
        if len(kinds) == 1 and len(decisions) <= 1:
            return kinds.pop()
        if len(kinds) == 1:
            message = f"can have only one of {', '.join(DECISIONS)}; it has {' and '.join(decisions)}"
        else:
            found = " and ".join(fields) or "none of them"
            message = f"needs exactly one of {', '.join(TARGETS)}; it has {found}"
        raise ConfigError(f'hook "{self.id}" {message}', path=self.source_path, line=self.source_line)


def choose_platform(keys: Collection[str]) -> str:
    """Return the key of a table whose command runs on this platform; "" where the table has none."""
    return next((name for name in (THIS_PLATFORM, DEFAULT_PLATFORM) if name in keys), "")


def make_server_hook(server: McpServer) -> Hook:
    """Return a hook that stands for a server as a whole, to decide about trust: it runs at no event."""
    return Hook(
        id=f"{SERVER_PREFIX}{server.name}",
        name=server.name,
        mcp=f"{server.name}/*",
        server=server,
        source=Source.USER if server.is_own else Source.WORKSPACE,
        layer=Layer.USER if server.is_own else Layer.PROJECT,
        root=server.root,
        source_path=server.path,
        source_line=server.line,
    )


def get_process_hook(hook: Hook) -> Hook:
    """Return the hook whose command is what runs: of a hook that uses an MCP server, the server's program.

    The program is the project's if the project defines the server, also where the hook is the user's own.
    """
    server = hook.server
    if server is None or not server.command:
        return hook
    return replace(
        hook,
        kind="command",
        dialect=OWN_DIALECT,
        command=_quote_alone((server.command, *server.args)),
        args=server.args,
        shell=False,
        persistent=True,
        env=server.env,
        working_directory=server.cwd,
        source=Source.USER if server.is_own else Source.WORKSPACE,
        layer=Layer.USER if server.is_own else Layer.PROJECT,
        root=server.root or hook.root,
        source_path=server.path or hook.source_path,
        source_line=server.line,
    )


def make_undo_hook(hook: Hook) -> Hook:
    """Return the hook that takes back what another one did: it runs something else, and the rest is the same.

    It gets the event of the hook, its environment, its sandbox and its state, and is trusted with it.
    """
    changes: dict[str, object] = {field: getattr(_BLANK, field) for field in _NOT_OF_UNDO}
    undo = hook.undo[choose_platform(hook.undo)] if isinstance(hook.undo, Mapping) else hook.undo
    if hook.undo_call is not None:
        changes |= {"kind": "function", "call": hook.undo_call}
    elif isinstance(undo, str):
        # False is what a list of words in `run` sets, and says nothing about this line
        changes |= {"kind": "command", "command": undo, "shell": hook.shell or None}
    else:
        changes |= {"kind": "command", "command": _quote_alone(undo), "args": tuple(undo[1:]), "shell": False}
    change: Callable[..., Hook] = replace
    return change(hook, **changes, id=f"{hook.id}{UNDO_SUFFIX}", unknown=Unknown.MATCH, on_error=OnError.CONTINUE)


def _quote_alone(words: Sequence[str]) -> str:
    """Return the program of a list of words; one without arguments would be read as a line."""
    return words[0] if words[1:] else shlex.quote(words[0])


_BLANK: Final = Hook(id="", kind="none")
# what belongs to the run of a hook, and not to its undo
_NOT_OF_UNDO: Final = (
    *(*TARGETS, "args", "platforms", "function", "server", "persistent", "warm"),
    *("background", "batch", "observe", "undo", "undo_call", "tests"),
)


def describe_actions(hook: Hook) -> str:
    """Return the constant answers of a rule on one line: `deny: no force pushes; tell: …`."""
    return "; ".join(name if said is True else f"{name}: {said}" for name, said in hook.actions.items())
