"""Put an engine together: the only module that knows every part."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hookline.core.asking import Ask
from hookline.core.engine import Engine
from hookline.core.parts import Parts
from hookline.core.trust import Approve, TrustedHooks, TrustedHooksConfig
from hookline.dialects import DIALECTS
from hookline.errors import ConfigError
from hookline.kinds.command import Command
from hookline.kinds.function import Function
from hookline.kinds.python import Python
from hookline.kinds.webhook import Webhook
from hookline.model.hook import Hook
from hookline.model.settings import Settings, from_environment
from hookline.ports import TraceStore


class Folders(Struct, frozen=True, kw_only=True):
    """Where a person's things are kept."""

    home: Path
    config: Path
    data: Path


def make_parts() -> Parts:
    """Make the tables of everything Hookline ships; what is kept between calls belongs to one engine."""
    return Parts(
        dialects=DIALECTS,
        kinds={
            "command": Command(shell_dialects=shell_dialects(), template_dialects=_template_dialects()),
            "function": Function(),
            "python": Python(()),
            "webhook": Webhook(),
        },
    )


def shell_dialects() -> frozenset[str]:
    """Name the dialects whose commands are shell lines."""
    return frozenset(name for name, dialect in DIALECTS.items() if dialect.SPEC.shell)


def _template_dialects() -> frozenset[str]:
    return frozenset(name for name, dialect in DIALECTS.items() if dialect.SPEC.templates)


def native_names() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Say for each dialect which canonical events each of its own names stands for."""
    names: dict[str, dict[str, tuple[str, ...]]] = {}
    for dialect in DIALECTS.values():
        own = names.setdefault(dialect.SPEC.name, {})
        for canonical, native in dialect.SPEC.events.items():
            own[native] = (*own.get(native, ()), str(canonical))
    return names


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
    # only an engine that loads needs the formats
    from hookline.config.loader import load  # noqa: PLC0415
    from hookline.config.problem import Severity  # noqa: PLC0415

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
        names=native_names(),
        shell_dialects=shell_dialects(),
        unusable=lambda hook: _objection(engine, hook),
        refusal=engine.runner.refusal,
    )
    engine.add(*loaded.hooks)
    engine.problems = tuple(str(problem) for problem in loaded.problems if problem.severity is not Severity.NOTE)
    return engine
