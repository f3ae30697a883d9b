"""Load a project: its hooks, settings and trust, without an engine; the engine is built when it is first used."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from itertools import count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.builtin.catalogue import BUILTINS, BuiltinScope, builtin_hooks, strip_prefix
from hookline.config import cron, toml
from hookline.config import settings as tables
from hookline.config.discovery import select_locations as chosen_places
from hookline.config.document import Document, Problem, Severity
from hookline.config.known_entries import record_path
from hookline.config.known_names import quote, suggest
from hookline.config.loader import LoadResult, SearchPaths, find_config_files, judge, read_candidates, read_text
from hookline.config.staleness import FileStamps, capture
from hookline.engine.background import TellAgent
from hookline.engine.components import Components
from hookline.engine.confirmation import Ask
from hookline.engine.engine import Engine
from hookline.engine.failure_policy import fails_closed
from hookline.engine.ordering import find_relation_problems
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer
from hookline.model.settings import Settings
from hookline.model.workspace_paths import clear_caches
from hookline.ports import JobQueue, TraceStore
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
    make_engine: Callable[["Project"], Engine]

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """Every hook that was loaded."""
        return self.loaded.hooks

    @cached_property
    def engine(self) -> Engine:
        """The engine with the hooks in force."""
        return self.make_engine(self)

    def is_current(self) -> bool:
        """Return whether loading the project again would give the same, as far as files decide it."""
        stamps = self.stamps.refresh(lambda looked: find_config_files(self.search, looked))
        self.stamps = stamps or self.stamps
        return stamps is not None

    def is_active(self, hook: Hook) -> bool:
        """Return whether the settings let a hook run."""
        return self.registry.has_hook(hook.id)

    def fails_closed(self, hook: Hook) -> bool:
        """Return whether a failure of the hook blocks."""
        return fails_closed(hook, self.components.default_on_error(hook))

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
    records: bool = True,
) -> Project:
    """Load everything configured for a project and for the user.

    `settings` replace those of files and environment; managed hooks run whatever they say. A process that serves many calls
    passes `shared_traces`, the store its engines share; then no code of a hook runs inside the process. Without `traced` the
    engine writes neither traces nor queue; without `records`, as for a dry run, loading writes nothing either.
    """
    root = (root or working_folder()).absolute()
    clear_caches()
    dirs = folders or find_user_dirs(root)
    parsed: dict[str, tuple[str, Document]] = {}
    managed, managed_problems = _read_settings(dirs.managed, dirs, parsed, is_managed=True)
    if settings is None:
        own, own_problems = _read_settings(dirs.config, dirs, parsed, is_managed=False)
        settings, odd = tables.resolve_settings(managed=managed, own=own, environ=caller_context.environ())
        problems = [*odd, *managed_problems, *own_problems]
    else:
        problems = []
    components = make_components(always_isolated=shared_traces is not None)
    registry = HookRegistry()
    planner = HookPlanner.from_components(registry, components)
    vocabulary = known_names()
    search = SearchPaths(
        project=root,
        above=parents_in_repository(root, home=dirs.home),
        home=dirs.home,
        config=dirs.config,
        managed=dirs.managed,
        data=dirs.data,
        records=records,
        locations=chosen_places(settings.agents_files),
        known_names=vocabulary,
        parsed=parsed,
    )
    loaded = judge(
        read_candidates(search),
        tools=vocabulary.tools,
        unusable=partial(find_problem, planner),
        refusal=components.refusal,
    )
    # the parsed documents are only good for this one load
    search = replace(search, parsed={})
    place = BuiltinScope(root=str(root), home=str(dirs.home), protected=(str(dirs.config), str(dirs.data)))
    builtins = builtin_hooks(place, on=settings.builtins, managed=_list_builtins(managed))
    loaded = _add_builtins(loaded, builtins)

    def make_engine(project: Project) -> Engine:
        from hookline.stores.state import SqliteState  # noqa: PLC0415 - as above

        # an engine that is switched off runs nothing, and managed hooks run all the same
        enabled = settings.enabled or settings.guards_only or dirs.managed is not None
        # a command that keeps no traces only looks at hooks or tries one: it must leave no job behind
        queue: JobQueue | None = None
        # a worker looks where every other program of the user looks
        if traced and (folders is None or dirs.are_at(find_user_dirs(root))):
            from hookline.stores.queue import SqliteQueue  # noqa: PLC0415 - as above
            from hookline.stores.worker_registry import ensure_worker  # noqa: PLC0415

            # putting a job there starts a worker if none runs
            queue = SqliteQueue(dirs.data / "queue.db", wake=partial(ensure_worker, dirs.data, str(root)))
        engine = Engine(
            components=components,
            planner=planner,
            settings=replace(settings, enabled=enabled),
            trust=project.trust,
            ask=ask,
            store=(shared_traces or open_traces)(dirs) if traced else None,
            state=SqliteState(dirs.data / "state.db"),
            queue=queue,
            tell_agent=tell_agent,
            cwd=str(root),
        )
        engine.problems = tuple(str(problem) for problem in project.problems if problem.severity is not Severity.NOTE)
        return engine

    project = Project(
        root=root,
        folders=dirs,
        settings=settings,
        loaded=loaded,
        problems=(),
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
        make_engine=make_engine,
    )
    # managed hooks run always, guards unless the user switched all off
    active = [
        hook
        for hook in loaded.hooks
        if settings.enabled or hook.layer is Layer.MANAGED or (settings.guards_only and project.fails_closed(hook))
    ]
    for hook in active:
        # a problem between hooks removes none of them: a guard must not be lost to a slip
        registry.add(hook)
    between_hooks = (
        Problem(hook.source_path, hook.source_line, f'hook "{hook.id}" {message}')
        for hook, message in find_relation_problems(active, planner)
    )
    project.problems = (*dirs.problems, *problems, *loaded.problems, *between_hooks)
    return project


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
        others=map(str, [record_path(folders.data), *decided, *([marker] if marker.is_file() else [])]),
    )
    return replace(stamps, owners=around.owners, names=around.names, others=around.others)


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
    """Return the `[settings]` of a hookline.toml, and its problems; `parsed` gets the document."""
    if folder is None:
        return {}, ()
    path = str(folder / "hookline.toml")
    try:
        text = read_text(path, is_managed=is_managed)
        if tables.TABLE not in text:
            return {}, ()
        document = toml.parse(text, path=path)
    except ConfigError:
        # loading the hooks of this file reports it, unless there is no file
        return {}, ()
    parsed[str(folder.resolve() / "hookline.toml")] = (text, document)
    found = tables.read(document, path=path, home=str(folders.home))
    problems = [*found.problems]
    for name in _list_builtins(found.values):
        if (plain := strip_prefix(name)) not in BUILTINS:
            known = suggest(plain, BUILTINS) or f"; there are {', '.join(sorted(BUILTINS))}"
            line = document.line_of((tables.TABLE, "builtins"))
            problems.append(Problem(path, line, f"there is no built-in hook {quote(name)}{known}"))
    return found.values, tuple(problems)


def _list_builtins(values: Mapping[str, object]) -> tuple[str, ...]:
    named = values.get("builtins")
    return tuple(map(str, named)) if isinstance(named, tuple) else ()


def find_problem(planner: HookPlanner, hook: Hook) -> str:
    """Return why a hook cannot be planned: its matcher, patterns, condition or schedule; empty when it can."""
    try:
        planner.check(hook)
    except ConfigError as problem:
        # the caller names the hook
        return problem.message.removeprefix(f'hook "{hook.id}": ')
    return cron.schedule_error(hook.schedule) if hook.schedule else ""
