"""A project as it is configured now: every hook of every system, and the engine that runs them."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hookline.config import settings as tables
from hookline.config.loader import Loaded, Search, load, read_text
from hookline.config.problem import Problem, Severity
from hookline.config.vocabulary import Vocabulary
from hookline.core.asking import Ask
from hookline.core.engine import Engine
from hookline.core.trust import Approve, TrustedHooks, TrustedHooksConfig
from hookline.errors import ConfigError
from hookline.folders import Folders, between, here, person_folders
from hookline.model.hook import Hook, Layer
from hookline.model.settings import Settings
from hookline.ports import TraceStore
from hookline.wiring import make_parts, native_names, shell_dialects

__all__ = ["Folders", "Opened", "load_engine", "open_project", "open_traces", "person_folders"]


class Opened(Struct, frozen=True, kw_only=True):
    """A project as it is configured now: its hooks, and the engine that runs them.

    `problems` is everything that is wrong: with the folders, with the settings, and with the files of hooks.
    `loaded` has every hook, also those that the engine does not because `settings` switches them off.
    """

    engine: Engine
    loaded: Loaded
    folders: Folders
    root: Path
    settings: Settings
    problems: tuple[Problem, ...] = ()


def open_traces(folders: Folders) -> TraceStore:
    """Open the trace database in the person's data folder."""
    from hookline.stores.sqlite import SqliteTraces  # noqa: PLC0415 - sqlite3 is only loaded when traces are kept

    return SqliteTraces(folders.data / "traces.db")


def load_engine(
    project: Path | None = None,
    *,
    settings: Settings | None = None,
    ask: Ask | None = None,
    approve: Approve | None = None,
    folders: Folders | None = None,
    traced: bool = True,
) -> Engine:
    """Build an engine with every hook configured for a project and for the person.

    Problems in configuration files do not keep the other hooks from loading; they are in `engine.problems`.
    """
    opened = open_project(project, settings=settings, ask=ask, approve=approve, folders=folders, traced=traced)
    return opened.engine


def open_project(
    project: Path | None = None,
    *,
    settings: Settings | None = None,
    ask: Ask | None = None,
    approve: Approve | None = None,
    folders: Folders | None = None,
    traced: bool = True,
) -> Opened:
    """Load everything configured for a project and for the person, and build the engine that runs it.

    `settings` given by a program stand for those of files and environment. Managed hooks run whatever the
    settings say.
    """
    root = (project or here()).absolute()
    where = folders or person_folders(root)
    chosen, problems = (settings, []) if settings is not None else _settings(where)
    engine = Engine(
        parts=make_parts(),
        # an engine that is switched off runs nothing, and what is managed runs all the same
        settings=replace(chosen, enabled=chosen.enabled or where.managed is not None),
        trust=_trust(where, chosen, approve),
        ask=ask,
        store=open_traces(where) if traced else None,
        cwd=str(root),
    )
    search = Search(
        project=root,
        above=between(root, home=where.home),
        home=where.home,
        config=where.config,
        managed=where.managed,
        vocabulary=Vocabulary(names=native_names(), shell_dialects=shell_dialects()),
    )
    loaded = load(search, unusable=lambda hook: _objection(engine, hook), refusal=engine.runner.refusal)
    engine.add(*(hook for hook in loaded.hooks if chosen.enabled or hook.layer is Layer.MANAGED))
    found = (*where.problems, *problems, *loaded.problems)
    engine.problems = tuple(str(problem) for problem in found if problem.severity is not Severity.NOTE)
    return Opened(engine=engine, loaded=loaded, folders=where, root=root, settings=chosen, problems=found)


def _settings(folders: Folders) -> tuple[Settings, list[Problem]]:
    """Find the settings in force: in the managed folder, the environment, and the person's own folder."""
    managed, wrong = _table(folders.managed, folders, is_managed=True)
    own, also_wrong = _table(folders.config, folders, is_managed=False)
    settings, odd = tables.in_force(managed=managed, own=own, environ=os.environ)
    return settings, [*odd, *wrong, *also_wrong]


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
    return found.values, found.problems


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


def _objection(engine: Engine, hook: Hook) -> str:
    try:
        engine.planner.check(hook)
    except ConfigError as problem:
        return problem.message
    return ""
