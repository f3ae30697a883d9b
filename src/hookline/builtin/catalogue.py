"""The hooks that come with Hookline: what each is for, its options, and as hooks that can be planned and run.

They are ordinary hooks: rules, web requests, and functions of this program, whose modules are imported with the first call.
"""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.conditions.regex import compile_regex
from hookline.config import keys
from hookline.config.document import KeyPath
from hookline.config.settings import OPTIONS as TABLE
from hookline.effects.event_paths import WRITERS
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import INVALID, Hook, Layer, OnError, Priority, Source
from hookline.model.verdict import Verdict
from hookline.model.workspace_paths import is_inside
from hookline.text import MASK, quote, redact, sanitize, suggest

PREFIX: Final = "builtin:"
# tools whose arguments say which files they change
CHANGING_TOOLS: Final = WRITERS | {"shell", "web_fetch", "worktree"}
# why the options of a guard cannot be used stands in place of them
_WRONG: Final = ""

Judge = Callable[[Event], object]
Options = Mapping[str, object]
# fields of `Hook`
Fields = Mapping[str, object]


class GuardedPath(Struct, frozen=True, kw_only=True):
    """A file or directory that agents must not change, because hooks depend on it.

    `about` completes "this file …", `mend` says what the user can do instead. `is_in_use` is asked once a call would change
    the path; `switches` are keys with which the file would keep the agent from running hooks, so that writing them counts even
    where the file is not in use. A path `of_project` may go together with the whole project. Of a path with
    `only_deletes`, the content may be changed. `of_git` are scripts that git runs.
    """

    path: str
    about: str
    mend: str
    is_in_use: Callable[[], bool] = lambda: True
    switches: tuple[tuple[str, ...], ...] = ()
    of_project: bool = False
    only_deletes: bool = False
    of_git: bool = False


class BuiltinScope(Struct, frozen=True, kw_only=True):
    """Where the hooks are used: the project, the user's home, and the directories that decide which hooks run.

    `above` are the directories between the project and the top of its repository. `data` is the user's data folder, where
    logs and backups are written. `list_guarded` lists what else hooks
    depend on; it is there where agents call, and hooks that guard against them are on by default then.
    """

    root: str
    home: str
    data: str = ""
    above: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    list_guarded: Callable[[], Iterable[GuardedPath]] | None = None


class Builtin(Struct, frozen=True, kw_only=True):
    """One hook that comes with Hookline. A guard that fails blocks. One that `is_default` is on wherever agents call.

    `parts` returns the hooks that it consists of: the fields of each by the end of its id, of which the first is empty.
    `tools` are the canonical names of the tools that it judges, all where there are none. `options` are the keys of its table
    in the user's settings, with the functions that read them. `output` is what it writes, below the data folder; the option
    `path` names another place.
    """

    name: str
    about: str
    on: tuple[EventName, ...]
    parts: Callable[[BuiltinScope, Options], Mapping[str, Fields]]
    tools: frozenset[str] = frozenset()
    guards: bool = False
    is_default: bool = False
    options: Mapping[str, Callable[[object], object]] = MappingProxyType({})
    output: str = ""

    @property
    def id(self) -> str:
        """Its name in commands and settings."""
        return f"{PREFIX}{self.name}"

    def find_output(self, scope: BuiltinScope, options: Options) -> str:
        """Return the file or folder that it writes to; empty where it writes none."""
        path = str(options.get("path", ""))
        if path:
            return f"{scope.home}{path[1:]}" if path.startswith("~/") else path
        return f"{scope.data}/{self.output}" if self.output else ""


def _read_path(value: object) -> str:
    path = keys.nonempty_text(value)
    if not path.startswith("~/") and not PurePath(path).is_absolute():
        raise ValueError(f"wanted a whole path, got {keys.describe(value)}")
    return path


def _read_url(value: object) -> str:
    url = keys.nonempty_text(value)
    if not url.startswith(("http://", "https://", "$")):
        raise ValueError(f"wanted a URL or the name of a variable, such as $SLACK_URL, got {keys.describe(value)}")
    return url


def _read_patterns(value: object) -> tuple[str, ...]:
    patterns = keys.one_or_more_texts(value)
    for pattern in patterns:
        try:
            compile_regex(pattern)
        except ConfigError as problem:
            raise ValueError(f"{quote(pattern)}: {problem.message}") from None
    return patterns


def _read_sound(value: object) -> str | bool:
    return value if isinstance(value, bool) else _read_path(value)


_LOG: Final = MappingProxyType({"path": _read_path, "max_size": keys.size, "keep": keys.count})
_ANNOUNCEMENT: Final = MappingProxyType(
    {
        **_LOG,
        "message": keys.nonempty_text,
        "desktop": keys.flag,
        "sound": _read_sound,
        "speech": keys.flag,
        "slack": _read_url,
        "ntfy": _read_url,
        "webhook": _read_url,
        "body": keys.request_body,
        "headers": keys.table,
    }
)


def _load(where: str, scope: BuiltinScope, options: Options) -> Judge:
    """Return a function that makes the real one, `module:function`, with its first call."""
    made: list[Judge] = []

    def judge(event: Event) -> object:
        if not made:
            module, _, name = where.partition(":")
            make: Callable[[BuiltinScope, Options], Judge] = getattr(import_module(f"hookline.builtin.{module}"), name)
            made.append(make(scope, options))
        return made[0](event)

    return judge


def _call(where: str) -> Callable[[BuiltinScope, Options], Mapping[str, Fields]]:
    return lambda scope, options: {"": {"call": _load(where, scope, options)}}


_PARTS: Final = {"desktop": "shows it on the desktop", "sound": "plays a sound", "speech": "says it aloud"}
# the shape of the request that each web service understands
_BODIES: Final[Mapping[str, Callable[[str], object]]] = {
    "slack": lambda text: {"text": text},
    "ntfy": lambda text: text,
    "webhook": lambda text: {
        "text": text,
        "event": "{{event.name}}",
        "agent": "{{agent}}",
        "project": "{{project}}",
        "session": "{{session.id}}",
    },
}


def _announce(message: str) -> Callable[[BuiltinScope, Options], Mapping[str, Fields]]:
    """Return the parts of a hook that writes a log and tells the user: each way is a part that runs from the queue."""

    def parts(scope: BuiltinScope, options: Options) -> Mapping[str, Fields]:
        text = str(options.get("message", message))
        made: dict[str, Fields] = {"": {"call": _load("logs:log_events", scope, options)}}
        for way in _PARTS:
            if options.get(way, way == "desktop"):
                given = {**options, "message": text}
                made[way] = {"call": _load(f"announce:make_{way}", scope, given), "background": True}
        for way, shape in _BODIES.items():
            if url := options.get(way):
                body = options.get("body", shape(text)) if way == "webhook" else shape(text)
                headers = options.get("headers", {}) if way == "webhook" else {}
                made[way] = {"url": url, "body": body, "headers": headers, "background": True}
        return made

    return parts


_TO_RECREATE: Final = (
    *("node_modules", "build", "dist", "out", "target", "coverage", "htmlcov", "tmp", "temp", "venv", "__pycache__"),
    *(".cache", ".venv", ".tox", ".nox", ".next", ".nuxt", ".turbo", ".gradle", ".parcel-cache", ".pytest_cache"),
    *(".mypy_cache", ".ruff_cache", ".terraform", "*.egg-info"),
)
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/private/tmp")  # noqa: S108 - files of others there are no concern of this


def _deny_rm_rf(scope: BuiltinScope, options: Options) -> Mapping[str, Fields]:
    # files of a project are compared by their path in it, wherever the project is
    temporary = (f"{folder}/**" for folder in _TEMPORARY if not is_inside(scope.root, (folder,)))
    kept = (*_TO_RECREATE, *temporary, *keys.read_texts(options, "allow"))
    deny = "rm-rf: this deletes a whole folder, and not one that can be made again. Ask the user to do it"
    return {"": {"runs": ("rm --recursive",), "deletes": tuple(f"!{name}" for name in kept), "deny": deny}}


_ENV_FILES: Final = (".env", ".env.*", "*.env", ".envrc")
_EXAMPLES: Final = tuple(f"!*.{name}" for name in ("example", "sample", "template", "dist", "defaults"))


def _deny_env_files(_scope: BuiltinScope, options: Options) -> Mapping[str, Fields]:
    allowed = tuple(f"!{name}" for name in keys.read_texts(options, "allow"))
    files = (*(keys.read_texts(options, "files") or _ENV_FILES), *_EXAMPLES, *allowed)
    deny = (
        "env-files: this reads or changes a file like .env, which has secrets. Leave it out, read the example beside it, or ask "
        "the user for what you need"
    )
    return {"": {"reads": files, "deny": deny}, "writes": {"writes": files, "deny": deny}}


_LONGEST_SHOWN: Final = 80


def _filter_prompts(_scope: BuiltinScope, options: Options) -> Mapping[str, Fields]:
    patterns = [compile_regex(pattern) for pattern in keys.read_texts(options, "deny")]

    def judge(event: Event) -> Verdict | None:
        prompt = event.data.get("prompt")
        if not isinstance(prompt, str):
            return None
        if options.get("secrets", True) and (secret := _find_secret(prompt)):
            return Verdict.deny(
                f"prompt-filter: the prompt was not sent, because it has what looks like a secret: {secret}; take it "
                "out, or name the variable or the file that holds it"
            )
        for number, regex in enumerate(patterns, 1):
            if regex.matches(prompt):
                # the pattern is not shown: it may be what must not be sent
                return Verdict.deny(
                    f"prompt-filter: the prompt was not sent: pattern {number} of your settings forbids it"
                )
        return None

    return {"": {"call": judge}}


def _find_secret(prompt: str) -> str:
    """Return the place of the first secret in a text, masked; empty where there is none."""
    masked = redact(prompt)
    if masked == prompt:
        return ""
    # a mask that was there before is no secret
    line = next((line for line in masked.splitlines() if MASK in line), masked)
    at = line.find(MASK)
    return sanitize(line[max(at - _LONGEST_SHOWN // 2, 0) : at + len(MASK)], longest=_LONGEST_SHOWN + len(MASK))


_CALLS: Final = (EventName.PERMISSION_REQUEST, EventName.BEFORE_TOOL)
_STARTS: Final = (EventName.SETUP, EventName.SESSION_START)


def _log(name: str, about: str, *on: EventName, make: str = "log_events") -> Builtin:
    output = f"logs/{name}.jsonl"
    return Builtin(name=name, about=about, on=on, parts=_call(f"logs:{make}"), options=_LOG, output=output)


_TABLE: Final = (
    Builtin(
        name="read-only",
        about="allows calls that only read files of the project, so that the agent does not ask you",
        on=(EventName.PERMISSION_REQUEST,),
        parts=_call("allow_readonly:make_judge"),
    ),
    Builtin(
        name="dangerous",
        about="denies destructive commands, such as deleting a home folder",
        on=_CALLS,
        parts=_call("deny_dangerous:make_judge"),
        guards=True,
    ),
    Builtin(
        name="self-guard",
        about="denies changes of what guards the agent: configuration, approvals, entries in settings",
        on=_CALLS,
        parts=_call("self_guard:make_judge"),
        tools=CHANGING_TOOLS,
        guards=True,
        is_default=True,
    ),
    Builtin(
        name="git-status",
        about="gives the model the branch, the changed files and the last commits when a session begins",
        on=_STARTS,
        parts=_call("start_context:make_git_status"),
        options={"commits": keys.count_or_none},
    ),
    Builtin(
        name="context-files",
        about="gives the model OLLAMA.md and AGENTS.md, where the agent does not read them itself",
        on=_STARTS,
        parts=_call("start_context:make_context_files"),
        options={"files": keys.one_or_more_texts, "max_size": keys.size, "fence": keys.flag},
    ),
    Builtin(
        name="session-summary",
        about="logs what a session ran, changed and was denied, and removes old logs and backups",
        on=(EventName.SESSION_END,),
        parts=_call("logs:make_summary"),
        options={**_LOG, "days": keys.count},
        output="logs/session-summary.jsonl",
    ),
    Builtin(
        name="prompt-filter",
        about="denies prompts that hold a key or a password, or match a pattern of yours",
        on=(EventName.BEFORE_AGENT,),
        parts=_filter_prompts,
        guards=True,
        options={"deny": _read_patterns, "secrets": keys.flag},
    ),
    _log("prompt-log", "logs every prompt", EventName.BEFORE_AGENT),
    Builtin(
        name="rm-rf",
        about="denies deleting whole folders, except those that can be built again, such as node_modules",
        on=_CALLS,
        parts=_deny_rm_rf,
        guards=True,
        options={"allow": keys.one_or_more_texts},
    ),
    Builtin(
        name="env-files",
        about="denies reading and changing .env files, except examples such as .env.example",
        on=_CALLS,
        parts=_deny_env_files,
        guards=True,
        options={"files": keys.one_or_more_texts, "allow": keys.one_or_more_texts},
    ),
    _log("tool-log", "logs every tool call and its result", EventName.AFTER_TOOL, EventName.TOOL_FAILED),
    _log(
        "error-log",
        "logs every failure with its class: permission, not_found, timeout, network …",
        EventName.TOOL_FAILED,
        EventName.AFTER_TOOL,
        EventName.ERROR,
        make="log_errors",
    ),
    _log(
        "permission-log",
        "logs what you were asked to permit, and whether it only reads",
        EventName.PERMISSION_REQUEST,
        make="log_permissions",
    ),
    _log(
        "skill-log",
        "logs which skills were used, with their parameters",
        EventName.SKILL_TRIGGER,
        EventName.BEFORE_TOOL,
        make="log_skills",
    ),
    Builtin(
        name="transcript-backup",
        about="copies the transcript before the agent compacts it",
        on=(EventName.PRE_COMPRESS,),
        parts=_call("logs:make_backup"),
        options={"path": _read_path, "keep": keys.count},
        output="transcripts",
    ),
    Builtin(
        name="completion",
        about="reports that the agent is done: on the desktop, with a sound, as speech, or to a web service",
        on=(EventName.AFTER_AGENT,),
        parts=_announce("{{agent}} is done in {{project}}"),
        options=_ANNOUNCEMENT,
        output="logs/completion.jsonl",
    ),
    _log(
        "subagent-log",
        "logs when subagents start and stop, with their prompts and answers",
        EventName.SUBAGENT_START,
        EventName.SUBAGENT_STOP,
    ),
    Builtin(
        name="notification",
        about="shows notifications of the agent on the desktop, and sends them to Slack, ntfy or any web service",
        on=(EventName.NOTIFICATION,),
        parts=_announce("{{agent}} in {{project}}: {{message}}"),
        options=_ANNOUNCEMENT,
        output="logs/notification.jsonl",
    ),
)
BUILTINS: Final[Mapping[str, Builtin]] = {builtin.name: builtin for builtin in _TABLE}


def strip_prefix(name: str) -> str:
    """Return the short name of a built-in hook, which settings may write with its prefix."""
    return name.removeprefix(PREFIX)


def find_builtin(hook_id: str) -> Builtin | None:
    """Return the built-in hook that a hook is, or is a part of; None for any other hook."""
    return BUILTINS.get(strip_prefix(hook_id).partition(":")[0]) if hook_id.startswith(PREFIX) else None


def describe_builtin(hook_id: str) -> str:
    """Return what a built-in hook does, or a part of one that is a function; empty for any other hook."""
    builtin = find_builtin(hook_id)
    return "" if builtin is None else _PARTS.get(hook_id.removeprefix(f"{builtin.id}:"), builtin.about)


def match_builtins(pattern: str) -> list[str]:
    """Return the ids of the built-in hooks that a pattern such as `builtin:*-log` names."""
    return [one.id for one in _TABLE if fnmatchcase(one.id, pattern)]


def read_options(given: object) -> tuple[dict[str, Options], list[tuple[KeyPath, str]]]:
    """Return the options of each built-in hook in the table `[builtin]`, and what is wrong with them.

    Where an option cannot be used, its default holds; a guard is not asked then, and blocks.
    """
    if not isinstance(given, Mapping):
        return {}, [((TABLE,), f"wanted a table for each hook, such as [builtin.tool-log], got {keys.describe(given)}")]
    found: dict[str, Options] = {}
    problems: list[tuple[KeyPath, str]] = []
    for name, table in given.items():
        builtin = BUILTINS.get(str(name))
        if builtin is None:
            problems.append(((TABLE, name), f"there is no built-in hook {quote(name)}{suggest(name, BUILTINS)}"))
            continue
        values, wrong = _read_table(builtin, table)
        problems += [((TABLE, name, *where), text) for where, text in wrong]
        found[builtin.name] = {_WRONG: wrong[0][1]} if wrong and builtin.guards else values
    return found, problems


def _read_table(builtin: Builtin, table: object) -> tuple[Options, list[tuple[KeyPath, str]]]:
    holds = "it blocks until this is mended" if builtin.guards else "the default holds"
    if not isinstance(table, Mapping):
        return {}, [((), f"wanted a table, got {keys.describe(table)}; {holds}")]
    values: dict[str, object] = {}
    wrong: list[tuple[KeyPath, str]] = []
    for key, value in table.items():
        if key not in builtin.options:
            known = suggest(key, builtin.options) or f"; it has {', '.join(builtin.options) or 'none'}"
            wrong.append(((key,), f"{builtin.id} has no option {quote(key)}{known}; {holds}"))
            continue
        try:
            values[key] = builtin.options[key](value)
        except ValueError as problem:
            wrong.append(((key,), f"the option {key} of {builtin.id}: {problem}; {holds}"))
    return values, wrong


def builtin_hooks(
    scope: BuiltinScope,
    *,
    on: Iterable[str] = (),
    off: Iterable[str] = (),
    managed: Iterable[str] = (),
    options: Mapping[str, Options] = MappingProxyType({}),
    layer: Layer = Layer.USER,
) -> tuple[Hook, ...]:
    """Return every built-in hook, enabled where it is named or the default; the administrator's are managed.

    Of a hook with several parts, those that follow its first one are there only where it is enabled. `layer` says whose
    settings these are.
    """
    named, unwanted, enforced = ({strip_prefix(name) for name in names} for names in (on, off, managed))
    defaults = {one.name for one in _TABLE if one.is_default and scope.list_guarded is not None}
    wanted = ((named | defaults) - unwanted) | enforced
    made: list[Hook] = []
    for one in _TABLE:
        given = options.get(one.name, {})
        wrong = given.get(_WRONG)
        parts: Mapping[str, Fields] = {"": {"kind": INVALID, "invalid": wrong}} if wrong else {}
        shared: Fields = {
            "on": tuple(map(str, one.on)),
            "matcher": "|".join(sorted(one.tools)),
            # a guard runs before other hooks spend time on the call
            "priority": Priority.CRITICAL if one.guards else Priority.HIGH,
            "on_error": OnError.BLOCK if one.guards else OnError.CONTINUE,
            "enabled": one.name in wanted,
            "source": Source.BUILTIN,
            "layer": Layer.MANAGED if one.name in enforced else layer,
            "root": scope.root,
            "implicit": one.name in defaults - named - enforced,
        }
        build: Callable[..., Hook] = Hook
        for end, fields in (parts or one.parts(scope, _add_path(one, scope, given))).items():
            name = f"{one.id}:{end}" if end else one.id
            if not end or one.name in wanted:
                made.append(build(**{"id": name, "name": name, **shared, **fields}))
    return tuple(made)


def _add_path(builtin: Builtin, scope: BuiltinScope, options: Options) -> Options:
    path = builtin.find_output(scope, options)
    return {**options, "path": path} if path else options
