"""A project as it is configured now: every hook of every system, and the engine that runs them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hookline import surroundings
from hookline.builtin.catalogue import BUILTINS, Place, bare, builtin_hooks
from hookline.config import schedules, toml
from hookline.config import settings as tables
from hookline.config.loader import Loaded, Search, find_again, load, read_text
from hookline.config.locations import chosen as chosen_places
from hookline.config.problem import Problem, Severity
from hookline.config.stamps import Stamps, take
from hookline.config.vocabulary import Vocabulary, hint, quoted
from hookline.core import relations, repository
from hookline.core.asking import Ask
from hookline.core.background import TellAgent
from hookline.core.engine import Engine
from hookline.core.trust import Approve, TrustedHooks, TrustedHooksConfig
from hookline.errors import ConfigError
from hookline.folders import Folders, between, deciding, here, is_at_home, person_folders
from hookline.model.hook import Hook, Layer
from hookline.model.settings import Settings
from hookline.model.workspace import look_anew
from hookline.ports import JobQueue, StateStore, TraceStore
from hookline.wiring import make_parts, native_names, native_tools, shell_dialects

__all__ = [
    "Folders",
    "Opened",
    "load_engine",
    "open_project",
    "open_queue",
    "open_state",
    "open_traces",
    "person_folders",
]


class Opened(Struct, frozen=True, kw_only=True):
    """A project as it is configured now: its hooks, and the engine that runs them.

    `problems` is everything that is wrong: with the folders, with the settings, and with the files of hooks.
    `loaded` has every hook, also those that the engine does not because `settings` switches them off; the built-in
    ones only where they are switched on, and `builtins` has them all.
    """

    engine: Engine
    loaded: Loaded
    folders: Folders
    root: Path
    settings: Settings
    problems: tuple[Problem, ...] = ()
    builtins: tuple[Hook, ...] = ()
    search: Search | None = None
    stamps: Stamps = Stamps()

    def holds(self) -> bool:
        """Say whether opening the project anew would give the same, as far as files decide it."""
        return self.renewed(self.stamps) is not None

    def renewed(self, stamps: Stamps) -> Stamps | None:
        """Give the stamps of the project as they hold now; None when opening it anew would not give the same."""
        search = self.search
        return stamps.renewed(lambda looked: find_again(search, looked)) if search is not None else None


def open_traces(folders: Folders) -> TraceStore:
    """Open the trace database in the person's data folder."""
    from hookline.stores.sqlite import SqliteTraces  # noqa: PLC0415 - sqlite3 is only loaded when traces are kept

    return SqliteTraces(folders.data / "traces.db")


def open_state(folders: Folders) -> StateStore:
    """Open what limits and kept answers are remembered in, in the person's data folder: when it is first needed."""
    from hookline.stores.state import SqliteState  # noqa: PLC0415 - beside the other stores

    return SqliteState(folders.data / "state.db")


def open_queue(folders: Folders, root: Path) -> JobQueue:
    """Open the queue in the person's data folder; what is put there gets a worker if there is none."""
    from hookline.stores.queue import SqliteQueue  # noqa: PLC0415 - sqlite3 is only loaded where something is kept
    from hookline.stores.standby import wake  # noqa: PLC0415

    return SqliteQueue(folders.data / "queue.db", wake=partial(wake, folders.data, str(root)))


def load_engine(
    project: Path | None = None,
    *,
    settings: Settings | None = None,
    ask: Ask | None = None,
    approve: Approve | None = None,
    folders: Folders | None = None,
    traced: bool = True,
    tell_agent: TellAgent | None = None,
) -> Engine:
    """Build an engine with every hook configured for a project and for the person.

    Problems in configuration files do not keep the other hooks from loading; they are in `engine.problems`.
    """
    opened = open_project(
        project, settings=settings, ask=ask, approve=approve, folders=folders, traced=traced, tell_agent=tell_agent
    )
    return opened.engine


def open_project(
    project: Path | None = None,
    *,
    settings: Settings | None = None,
    ask: Ask | None = None,
    approve: Approve | None = None,
    folders: Folders | None = None,
    traced: bool = True,
    tell_agent: TellAgent | None = None,
    stays: Callable[[Folders], TraceStore] | None = None,
) -> Opened:
    """Load everything configured for a project and for the person, and build the engine that runs it.

    `settings` given by a program stand for those of files and environment. Managed hooks run whatever the
    settings say. A program that stays, and answers for many, gives the store of traces that its engines share; no code
    of a hook runs in it.
    """
    root = (project or here()).absolute()
    look_anew()
    where = folders or person_folders(root)
    chosen, problems = (settings, []) if settings is not None else _settings(where)
    engine = Engine(
        parts=make_parts(always_isolated=stays is not None),
        # an engine that is switched off runs nothing, and what is managed runs all the same
        settings=replace(chosen, enabled=chosen.enabled or where.managed is not None),
        trust=_trust(where, chosen, approve),
        ask=ask,
        store=(stays or open_traces)(where) if traced else None,
        state=open_state(where),
        # who keeps no traces looks at hooks, or tries one out, and leaves nothing behind for later
        queue=open_queue(where, root) if traced and (folders is None or _are_the_persons(where, root)) else None,
        tell_agent=tell_agent,
        cwd=str(root),
    )
    search = Search(
        project=root,
        above=between(root, home=where.home),
        home=where.home,
        config=where.config,
        managed=where.managed,
        places=chosen_places(chosen.agents_files),
        vocabulary=Vocabulary(names=native_names(), tools=native_tools(), shell_dialects=shell_dialects()),
    )
    loaded = load(search, unusable=lambda hook: objection(engine, hook), refusal=engine.runner.refusal)
    place = Place(root=str(root), home=str(where.home), protected=(str(where.config), str(where.data)))
    builtins = builtin_hooks(place, on=chosen.builtins, managed=_managed_builtins(where))
    loaded = _with_builtins(loaded, builtins)
    hooks = [hook for hook in loaded.hooks if chosen.enabled or hook.layer is Layer.MANAGED]
    for hook in hooks:
        # what is wrong between hooks takes none of them away: a guard must not be lost to a slip
        engine.registry.add(hook)
    found = (*where.problems, *problems, *loaded.problems, *_between(hooks, engine))
    engine.problems = tuple(str(problem) for problem in found if problem.severity is not Severity.NOTE)
    return Opened(
        engine=engine,
        loaded=loaded,
        folders=where,
        root=root,
        settings=chosen,
        problems=found,
        builtins=builtins,
        search=search,
        stamps=_stamped(loaded.stamps, where, root),
    )


def _stamped(stamps: Stamps, folders: Folders, root: Path) -> Stamps:
    """Add what decides which folders are searched, how far above the project, and in whose name hooks are approved."""
    named = deciding(surroundings.environ())
    moved = [folder for folder in (folders.config, folders.data) if not is_at_home(folder)]
    starts = [folder.resolve() for folder in (root, here(), *moved)]
    places = [place for start in starts for place in (start, *start.parents)]
    common = repository.common(root)
    marker = Path(repository.top(root), ".git")
    decided = [common / "config"] if common is not None else []
    around = take(
        (),
        (),
        # the project, too, may be a link that leads elsewhere the next time, or what it leads to may be moved
        owners=dict.fromkeys([*map(str, (root, starts[0], folders.home, folders.config, folders.data)), *named]),
        names=[str(place / ".git") for place in dict.fromkeys(places)],
        # that of a worktree is a file, which says whose it is
        others=map(str, [*decided, marker] if marker.is_file() else decided),
    )
    return replace(stamps, owners=around.owners, names=around.names, others=around.others)


def _are_the_persons(folders: Folders, root: Path) -> bool:
    """Say whether a worker would find these folders: it looks where every other program of the person looks."""
    theirs = person_folders(root)
    return (folders.home, folders.config, folders.data) == (theirs.home, theirs.config, theirs.data)


def _with_builtins(loaded: Loaded, builtins: tuple[Hook, ...]) -> Loaded:
    """Add the built-in hooks that are on. Whoever else is called like one of them gets another name."""
    taken = {hook.id for hook in loaded.hooks} | {hook.id for hook in builtins}
    reserved = {hook.id for hook in builtins}
    others: list[Hook] = []
    for hook in loaded.hooks:
        free = (f"{hook.id}-{number}" for number in count(2))
        name = hook.id if hook.id not in reserved else next(name for name in free if name not in taken)
        taken.add(name)
        others.append(hook if name == hook.id else replace(hook, id=name))
    return replace(loaded, hooks=(*(hook for hook in builtins if hook.enabled), *others))


def _settings(folders: Folders) -> tuple[Settings, list[Problem]]:
    """Find the settings in force: in the managed folder, the environment, and the person's own folder."""
    managed, wrong = _table(folders.managed, folders, is_managed=True)
    own, also_wrong = _table(folders.config, folders, is_managed=False)
    settings, odd = tables.in_force(managed=managed, own=own, environ=surroundings.environ())
    return settings, [*odd, *wrong, *also_wrong]


def _managed_builtins(folders: Folders) -> tuple[str, ...]:
    """Say which built-in hooks the administrator switches on: nobody else switches those off."""
    named = _table(folders.managed, folders, is_managed=True)[0].get("builtins")
    return tuple(map(str, named)) if isinstance(named, tuple) else ()


def _table(
    folder: Path | None, folders: Folders, *, is_managed: bool
) -> tuple[Mapping[str, object], tuple[Problem, ...]]:
    if folder is None:
        return {}, ()
    path = str(folder / "hookline.toml")
    try:
        text = read_text(path, is_managed=is_managed)
    except ConfigError:
        # whoever loads the hooks of this file says so, unless there is none
        return {}, ()
    found = tables.read(text, path=path, home=str(folders.home))
    return found.values, (*found.problems, *_unknown_builtins(found.values, text, path=path))


def _unknown_builtins(values: Mapping[str, object], text: str, *, path: str) -> Iterator[Problem]:
    named = values.get("builtins")
    for name in map(str, named if isinstance(named, tuple) else ()):
        if bare(name) not in BUILTINS:
            line = toml.parse(text, path=path).line_of((tables.TABLE, "builtins"))
            known = hint(bare(name), BUILTINS) or f"; there are {', '.join(sorted(BUILTINS))}"
            yield Problem(path, line, f"there is no built-in hook {quoted(name)}{known}")


def _trust(folders: Folders, settings: Settings, approve: Approve | None) -> TrustedHooks:
    return TrustedHooks(
        TrustedHooksConfig(
            storage_path=folders.data / "approvals.json",
            trust_workspace=settings.trust_workspace,
            trusted_workspaces=settings.trusted_workspaces,
            approve=approve,
            shell_dialects=shell_dialects(),
        )
    )


def _between(hooks: list[Hook], engine: Engine) -> Iterator[Problem]:
    for hook, message in relations.objections(hooks, engine.planner):
        yield Problem(hook.source_path, hook.source_line, f'hook "{hook.id}" {message}')


def objection(engine: Engine, hook: Hook) -> str:
    """Say why a hook cannot be loaded: its matcher, patterns, condition or schedule; empty when it can."""
    try:
        engine.planner.check(hook)
    except ConfigError as problem:
        # whoever reports it names the hook
        return problem.message.removeprefix(f'hook "{hook.id}": ')
    return schedules.objection(hook.schedule) if hook.schedule else ""
