"""Load a project: its hooks, settings and trust, without an engine; the engine is built when it is first used."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.builtin.catalogue import (
    BUILTINS,
    Builtin,
    BuiltinScope,
    GuardedPath,
    builtin_hooks,
    read_options,
    strip_prefix,
)
from hookline.config import cron, loader, toml
from hookline.config import settings as tables
from hookline.config.discovery import select_locations
from hookline.config.document import Document, Problem, Severity
from hookline.config.keys import read_texts
from hookline.config.loader import LoadResult, SearchPaths
from hookline.config.staleness import FileStamps, capture
from hookline.engine.background import TellAgent
from hookline.engine.components import Components
from hookline.engine.confirmation import Ask
from hookline.engine.engine import Engine
from hookline.engine.ordering import find_relation_problems
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.engine.translator import HookTranslator, fails_closed
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer
from hookline.model.sandbox import PROJECT
from hookline.model.settings import Settings
from hookline.model.workspace_paths import clear_caches
from hookline.ports import JobQueue, TraceStore
from hookline.process.hook_state import find_state_root
from hookline.stores.state import SqliteState
from hookline.text import quote, suggest
from hookline.trust import repository
from hookline.trust.policy import Approve, TrustedHooks, TrustedHooksConfig
from hookline.user_dirs import (
    UserDirs,
    find_user_dirs,
    is_in_home,
    list_deciding_paths,
    parents_in_repository,
    working_folder,
)
from hookline.wiring import known_names, make_components, shell_dialects

if TYPE_CHECKING:
    from hookline.config.mcp_servers import FoundServers
    from hookline.telemetry.exporter import CollectorTarget, TelemetryExporter

_OWN_DIALECT: Final = "hookline"
_BUILTIN_KEYS: Final = ("builtins", "disabled_builtins")
# lists what Hookline depends on besides its own folders: the settings of agents, the daemon, the hooks of git
ListGuarded = Callable[[UserDirs, Path], Iterable[GuardedPath]]
# returns the exporter that the engines of a process share
ShareExporter = Callable[["CollectorTarget", UserDirs], "TelemetryExporter"]


class EngineOptions(Struct, frozen=True, kw_only=True):
    """What the caller of `load_project` chose for the engine.

    Without `open_traces` and a queue, the engine only looks at hooks or tries one: it writes no traces and no jobs.
    """

    ask: Ask | None
    tell_agent: TellAgent | None
    state: SqliteState
    open_traces: Callable[[UserDirs], TraceStore] | None
    has_queue: bool
    target: "CollectorTarget | None"
    share_exporter: ShareExporter | None
    records_all: bool


class Project(Struct, kw_only=True, eq=False, dict=True):
    """The hooks, settings and trust of a project, and the engine that runs the hooks, built when it is first used.

    `loaded.hooks` has every hook, including those that `settings` switches off; `registry` has those in force. Built-in hooks
    are in `loaded` only where they are switched on; `builtins` has all of them. `problems` covers the user's folders, the
    settings, and the files of hooks.
    """

    root: Path
    folders: UserDirs
    settings: Settings
    loaded: LoadResult
    problems: tuple[Problem, ...]
    builtins: tuple[Hook, ...]
    components: Components
    registry: HookRegistry
    planner: HookPlanner
    trust: TrustedHooks
    search: SearchPaths
    stamps: FileStamps
    engine_options: EngineOptions

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """Every hook that was loaded."""
        return self.loaded.hooks

    @cached_property
    def servers(self) -> "FoundServers":
        """The MCP servers that the user, the project and agents define."""
        from hookline.config.mcp_servers import find_servers  # noqa: PLC0415 - few projects use any

        return find_servers(self.search)

    @cached_property
    def engine(self) -> Engine:
        """The engine with the hooks in force."""
        return _build_engine(self)

    def is_current(self) -> bool:
        """Return whether loading the project again would give the same, as far as files decide it."""
        stamps = self.stamps.refresh(lambda looked: loader.find_config_files(self.search, looked))
        self.stamps = stamps or self.stamps
        return stamps is not None

    def is_active(self, hook: Hook) -> bool:
        """Return whether the settings let a hook run."""
        return self.registry.has_hook(hook.id)

    def fails_closed(self, hook: Hook) -> bool:
        """Return whether a failure of the hook blocks."""
        return fails_closed(hook, HookTranslator(self.components.dialects).default_on_error(hook))

    def find_output(self, builtin: Builtin) -> str:
        """Return the file or folder that a built-in hook writes to; empty where it writes none."""
        scope = BuiltinScope(root=str(self.root), home=str(self.folders.home), data=str(self.folders.data))
        return builtin.find_output(scope, self.settings.builtin_options.get(builtin.name, {}))

    async def close(self) -> None:
        """Close the engine, if one was built."""
        if "engine" in self.__dict__:
            await self.engine.close()


def open_traces(folders: UserDirs) -> TraceStore:
    """Open the trace database in the user's data folder."""
    from hookline.stores.sqlite import SqliteTraces  # noqa: PLC0415 - sqlite3 is only loaded when traces are kept

    return SqliteTraces(folders.data / "traces.db")


def load_project(  # noqa: PLR0913 - each is a choice of the caller
    root: Path | None = None,
    *,
    settings: Settings | None = None,
    ask: Ask | None = None,
    approve: Approve | None = None,
    folders: UserDirs | None = None,
    traced: bool = True,
    tell_agent: TellAgent | None = None,
    shared_traces: Callable[[UserDirs], TraceStore] | None = None,
    share_exporter: ShareExporter | None = None,
    records: bool = True,
    guarded: ListGuarded | None = None,
    only_dialect: str = "",
) -> Project:
    """Load everything configured for a project and for the user.

    `settings` replace those of files and environment; managed hooks run whatever they say. A process that serves many calls
    passes `shared_traces`, the store its engines share, and `share_exporter` for telemetry; then no code of a hook runs inside
    the process. Without `traced` the
    engine writes neither traces nor queue; without `records`, as for a dry run, loading writes nothing either. With `guarded`,
    as where agents call, the built-in hook that keeps them from changing what guards them is on by default. With
    `only_dialect`, only our own files and those of one dialect are read.
    """
    root = (root or working_folder()).absolute()
    clear_caches()
    dirs = folders or find_user_dirs(root)
    found = _find_settings(dirs, settings)
    settings = found.settings
    target, telemetry_problems = _find_export_target(settings)
    state = SqliteState(dirs.data / "state.db")
    components = make_components(
        always_isolated=shared_traces is not None,
        protected=(str(dirs.data),),
        state_root=find_state_root(dirs.data),
        data=dirs.data,
        settings=settings,
        state=state,
    )
    registry = HookRegistry()
    planner = HookPlanner.from_components(registry, components)
    search = SearchPaths(
        project=root,
        above=parents_in_repository(root, home=dirs.home),
        home=dirs.home,
        config=dirs.config,
        managed=dirs.managed,
        data=dirs.data,
        records=records,
        locations=tuple(select_locations(settings.agents_files)),
        known_names=known_names(),
        parsed=found.parsed,
    )
    if only_dialect:
        search = _narrow(search, dirs.data, only_dialect)
    loaded = _load_hooks(search, settings, planner, components)
    # the parsed documents are only good for this one load
    search = replace(search, parsed={})
    builtins = builtin_hooks(
        BuiltinScope(
            root=str(root),
            home=str(dirs.home),
            data=str(dirs.data),
            above=tuple(map(str, search.above)),
            protected=tuple(
                str(folder)
                for folder in (dirs.config, dirs.data, find_state_root(dirs.data), dirs.managed)
                if folder is not None
            ),
            list_guarded=partial(guarded, dirs, root) if guarded is not None else None,
        ),
        on=settings.builtins,
        off=settings.disabled_builtins,
        managed=found.managed_builtins,
        options=settings.builtin_options,
        layer=Layer.PROGRAM if found.is_given else Layer.USER,
    )
    loaded = _add_builtins(loaded, builtins)
    project = Project(
        root=root,
        folders=dirs,
        settings=settings,
        loaded=loaded,
        problems=(*dirs.problems, *found.problems, *telemetry_problems, *loaded.problems),
        builtins=builtins,
        components=components,
        registry=registry,
        planner=planner,
        trust=TrustedHooks(
            TrustedHooksConfig(
                storage_path=dirs.data / "approvals.json",
                unapproved=settings.unapproved,
                trust_workspace=settings.trust_workspace,
                trusted_workspaces=settings.trusted_workspaces,
                approve=approve,
                shell_dialects=shell_dialects(),
            )
        ),
        search=search,
        stamps=_add_stamps(loaded.stamps, dirs, root),
        engine_options=EngineOptions(
            ask=ask,
            tell_agent=tell_agent,
            state=state,
            open_traces=(shared_traces or open_traces) if traced else None,
            # a worker looks where every other program of the user looks
            has_queue=traced and (folders is None or dirs.are_at(find_user_dirs(root))),
            target=target if traced else None,
            share_exporter=share_exporter,
            records_all=guarded is not None,
        ),
    )
    _activate_hooks(project)
    return project


class _FoundSettings(Struct, frozen=True, kw_only=True):
    """The settings that hold, and what is wrong with them.

    With `is_given`, the caller gave them. `parsed` has the documents of the files that were read.
    """

    settings: Settings
    managed_builtins: tuple[str, ...]
    problems: tuple[Problem, ...]
    parsed: Mapping[str, tuple[str, Document]]
    is_given: bool


def _find_settings(dirs: UserDirs, given: Settings | None) -> _FoundSettings:
    """Read the settings of the administrator and of the user; settings that the caller gave replace both."""
    parsed: dict[str, tuple[str, Document]] = {}
    managed, managed_problems = _read_settings(dirs.managed, dirs, parsed, is_managed=True)
    settings = given
    problems: tuple[Problem, ...] = ()
    if settings is None:
        own, own_problems = _read_settings(dirs.config, dirs, parsed, is_managed=False)
        settings, odd = tables.resolve_settings(managed=managed, own=own, environ=caller_context.environ())
        problems = (*odd, *managed_problems, *own_problems)
    return _FoundSettings(
        settings=settings,
        managed_builtins=read_texts(managed, "builtins"),
        problems=problems,
        parsed=parsed,
        is_given=given is not None,
    )


def _load_hooks(search: SearchPaths, settings: Settings, planner: HookPlanner, components: Components) -> LoadResult:
    """Read the hooks of all files, with the servers and models that they name and the sandbox that holds by default."""
    candidates = loader.read_candidates(search)
    if any(hook.mcp for hook in candidates.hooks):
        candidates = _attach_servers(candidates, search)
    loaded = loader.judge(
        candidates,
        tools=search.known_names.tools,
        unusable=partial(find_problem, planner),
        refusal=components.refusal,
    )
    if settings.sandbox != PROJECT:
        loaded = replace(
            loaded,
            hooks=tuple(
                replace(hook, default_sandbox=settings.sandbox) if hook.default_sandbox == PROJECT else hook
                for hook in loaded.hooks
            ),
        )
    if any(hook.judge for hook in loaded.hooks):
        from hookline.llm.target import add_url  # noqa: PLC0415 - few projects have a judge

        named = (add_url(hook, settings.models, caller_context.environ()) for hook in loaded.hooks)
        loaded = replace(loaded, hooks=tuple(named))
    return loaded


def _activate_hooks(project: Project) -> None:
    """Register the hooks in force: managed ones always, guards unless the user switched all off."""
    settings = project.settings
    active = [
        hook
        for hook in project.hooks
        if settings.enabled or hook.layer is Layer.MANAGED or (settings.guards_only and project.fails_closed(hook))
    ]
    for hook in active:
        # a problem between hooks removes none of them: a guard must not be lost to a slip
        project.registry.add(hook)
    between_hooks = (
        Problem(hook.source_path, hook.source_line, f'hook "{hook.id}" {message}')
        for hook, message in find_relation_problems(active, project.planner)
    )
    project.problems = (*project.problems, *between_hooks)


def _build_engine(project: Project) -> Engine:
    settings, options, data = project.settings, project.engine_options, project.folders.data
    # an engine that is switched off runs nothing, and managed hooks run all the same
    enabled = settings.enabled or settings.guards_only or project.folders.managed is not None
    record = settings.record if settings.record != "auto" else "all" if options.records_all else "hooks"
    queue: JobQueue | None = None
    if options.has_queue:
        from hookline.stores.queue import SqliteQueue  # noqa: PLC0415 - as in `open_traces`
        from hookline.stores.worker_registry import ensure_worker  # noqa: PLC0415

        # putting a job there starts a worker if none runs
        queue = SqliteQueue(data / "queue.db", wake=partial(ensure_worker, data, str(project.root)))
    engine = Engine(
        components=project.components,
        planner=project.planner,
        settings=replace(settings, enabled=enabled, record=record),
        trust=project.trust,
        ask=options.ask,
        store=options.open_traces(project.folders) if options.open_traces is not None else None,
        state=options.state,
        queue=queue,
        tell_agent=options.tell_agent,
        cwd=str(project.root),
    )
    if options.target is not None:
        from hookline.telemetry.exporter import EngineExport, TelemetryExporter  # noqa: PLC0415 - few users export

        share = options.share_exporter
        shared = share(options.target, project.folders) if share is not None else None
        exporter = shared or TelemetryExporter(options.target, data)
        sink = EngineExport(exporter, engine.bus.publish, is_shared=shared is not None)
        engine.attach(sink, close=sink.close)
    engine.problems = tuple(str(problem) for problem in project.problems if problem.severity is not Severity.NOTE)
    return engine


def _narrow(search: SearchPaths, data: Path, dialect: str) -> SearchPaths:
    """Return where our own files and those of one dialect are found."""
    if search.records and loader.read_record(data) is None:
        # the first load records the entries of all files: those of other systems would count as new later
        loader.read_candidates(search)
    wanted = {_OWN_DIALECT, dialect}
    return replace(search, locations=tuple(place for place in search.locations if place.dialect in wanted))


def _attach_servers(candidates: LoadResult, search: SearchPaths) -> LoadResult:
    """Give hooks the MCP servers that they name; the files of servers are watched as those of hooks are."""
    from hookline.config import mcp_servers  # noqa: PLC0415 - few projects use any

    # before they are read, so that a change in between shows
    before = capture((), (), others=mcp_servers.list_server_files(search))
    found = mcp_servers.find_servers(search)
    attached = mcp_servers.attach_servers(candidates.hooks, found)
    stamps = candidates.stamps
    deciding = (stamp for stamp in before.others if stamp[0] in attached.files)
    return replace(
        candidates,
        hooks=attached.hooks,
        problems=(*candidates.problems, *attached.problems),
        notes=(*candidates.notes, *(one for one in found.problems if one not in candidates.problems)),
        stamps=replace(stamps, others=(*stamps.others, *deciding)),
    )


def _find_export_target(settings: Settings) -> tuple["CollectorTarget | None", list[Problem]]:
    """Return where telemetry is exported to, and why it is not."""
    if settings.telemetry is None:
        return None, []
    from hookline.telemetry.exporter import find_target  # noqa: PLC0415 - few users export

    target, problem = find_target(settings.telemetry, caller_context.environ())
    return target, [Problem("environment", 0, problem, Severity.WARNING)] if problem else []


def _add_stamps(stamps: FileStamps, folders: UserDirs, root: Path) -> FileStamps:
    """Add the paths that decide which folders are searched, how far above the project, and whose approvals count."""
    named = list_deciding_paths(caller_context.environ())
    moved = [folder for folder in (folders.config, folders.data) if not is_in_home(folder)]
    starts = [folder.resolve() for folder in (root, working_folder(), *moved)]
    places = [place for start in starts for place in (start, *start.parents)]
    common = repository.find_common_dir(root)
    marker = Path(repository.find_top(root), ".git")
    decided = [common / "config"] if common is not None else []
    around = capture(
        (),
        (),
        # the project may be a link that points elsewhere the next time, or its target may be moved
        owners=dict.fromkeys([*map(str, (root, starts[0], folders.home, folders.config, folders.data)), *named]),
        names=[str(place / ".git") for place in dict.fromkeys(places)],
        # in a worktree, .git is a file that names the repository
        others=map(str, [loader.record_path(folders.data), *decided, *([marker] if marker.is_file() else [])]),
    )
    return replace(stamps, owners=around.owners, names=around.names, others=(*stamps.others, *around.others))


def _add_builtins(loaded: LoadResult, builtins: tuple[Hook, ...]) -> LoadResult:
    """Add the built-in hooks that are on; another hook with the id of a built-in one gets a new id."""
    taken = {hook.id for hook in loaded.hooks} | {hook.id for hook in builtins}
    reserved = {hook.id for hook in builtins}
    others: list[Hook] = []
    for hook in loaded.hooks:
        free = (f"{hook.id}-{number}" for number in count(2))
        name = hook.id if hook.id not in reserved else next(name for name in free if name not in taken)
        taken.add(name)
        others.append(hook if name == hook.id else replace(hook, id=name))
    return replace(loaded, hooks=(*(hook for hook in builtins if hook.enabled), *others))


def _read_settings(
    folder: Path | None, folders: UserDirs, parsed: dict[str, tuple[str, Document]], *, is_managed: bool
) -> tuple[Mapping[str, object], tuple[Problem, ...]]:
    """Return the settings of a hookline.toml and the options of built-in hooks, and problems; `parsed` gets the document."""
    if folder is None:
        return {}, ()
    path = str(folder / "hookline.toml")
    try:
        text = loader.read_text(path, is_managed=is_managed)
        if tables.TABLE not in text and tables.OPTIONS not in text:
            return {}, ()
        document = toml.parse(text, path=path)
    except ConfigError:
        # loading the hooks of this file reports it, unless there is no file
        return {}, ()
    parsed[str(folder.resolve() / "hookline.toml")] = (text, document)
    found = tables.read(document, path=path, home=str(folders.home))
    problems = [*found.problems]
    named = [(key, name) for key in _BUILTIN_KEYS for name in read_texts(found.values, key)]
    for key, name in named:
        if (plain := strip_prefix(name)) not in BUILTINS:
            known = suggest(plain, BUILTINS) or f"; there are {', '.join(sorted(BUILTINS))}"
            line = document.line_of((tables.TABLE, key))
            problems.append(Problem(path, line, f"there is no built-in hook {quote(name)}{known}"))
    if not isinstance(document.value, Mapping) or tables.OPTIONS not in document.value:
        return found.values, tuple(problems)
    options, wrong = read_options(document.value[tables.OPTIONS])
    problems += (Problem(path, document.line_of(where), message) for where, message in wrong)
    return {**found.values, "builtin_options": options}, tuple(problems)


def find_problem(planner: HookPlanner, hook: Hook) -> str:
    """Return why a hook cannot be planned: its matcher, patterns, condition or schedule; empty when it can."""
    try:
        planner.check(hook)
        if hook.schedule:
            cron.next_time(hook.schedule, datetime.now().astimezone())
    except ConfigError as problem:
        # the caller names the hook
        return problem.message.removeprefix(f'hook "{hook.id}": ')
    return ""
