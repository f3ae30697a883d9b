"""A project as it is configured now: every hook of every system, and the engine that runs them."""

import os
from pathlib import Path

from msgspec import Struct

from hookline.config.loader import Loaded, load
from hookline.config.problem import Severity
from hookline.core.asking import Ask
from hookline.core.engine import Engine
from hookline.core.trust import Approve, TrustedHooks, TrustedHooksConfig
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.model.settings import Settings, from_environment
from hookline.ports import TraceStore
from hookline.wiring import make_parts, native_names, shell_dialects


class Folders(Struct, frozen=True, kw_only=True):
    """Where a person's things are kept."""

    home: Path
    config: Path
    data: Path
    managed: Path | None = None


class Opened(Struct, frozen=True, kw_only=True):
    """A project as it is configured now: its hooks and what is wrong with them, and the engine that runs them."""

    engine: Engine
    loaded: Loaded
    folders: Folders
    root: Path


def person_folders() -> Folders:
    """Find the folders of the person who runs this."""
    import platformdirs  # noqa: PLC0415 - an engine without files does not need it

    return Folders(
        home=Path.home(),
        config=Path(platformdirs.user_config_dir("hookline")),
        data=Path(platformdirs.user_data_dir("hookline")),
    )


def open_traces(folders: Folders) -> TraceStore:
    """Open the trace database in the person's data folder."""
    from hookline.stores.sqlite import SqliteTraces  # noqa: PLC0415 - sqlite3 is only loaded when traces are kept

    return SqliteTraces(folders.data / "traces.db")


def _objection(engine: Engine, hook: Hook) -> str:
    try:
        engine.planner.check(hook)
    except ConfigError as problem:
        return problem.message
    return ""


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
    """Load everything configured for a project and for the person, and build the engine that runs it."""
    where = folders or person_folders()
    chosen = settings or from_environment(os.environ)
    root = (project or Path.cwd()).absolute()
    trust = TrustedHooks(
        TrustedHooksConfig(
            storage_path=where.data / "approvals.json", trust_workspace=chosen.trust_workspace, approve=approve
        )
    )
    engine = Engine(
        parts=make_parts(),
        settings=chosen,
        trust=trust,
        ask=ask,
        store=open_traces(where) if traced else None,
        cwd=str(root),
    )
    loaded = load(
        root,
        home=where.home,
        config_dir=where.config,
        managed_dir=where.managed,
        names=native_names(),
        shell_dialects=shell_dialects(),
        unusable=lambda hook: _objection(engine, hook),
        refusal=engine.runner.refusal,
    )
    engine.add(*loaded.hooks)
    engine.problems = tuple(str(problem) for problem in loaded.problems if problem.severity is not Severity.NOTE)
    return Opened(engine=engine, loaded=loaded, folders=where, root=root)
