"""Settings in files: the `[settings]` table of the user's own `hookline.toml`, and of the managed one.

A workspace has no settings. What decides about trust counts from a user's own files only, and a workspace
that tries gets a problem.
"""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline.config import jsonc, keys, toml
from hookline.config.document import Document, KeyPath, Problem, Severity
from hookline.config.formats.agent_specs import FILE_SPECS_BY_AGENT
from hookline.config.keys import describe, flag, seconds, texts
from hookline.errors import ConfigError
from hookline.model.settings import CHOICES, VARIABLES, Settings, Unapproved, read_variables
from hookline.text import quote, suggest

TABLE: Final = "settings"
# the tables with the options of built-in hooks
OPTIONS: Final = "builtin"

# how the other systems spell what decides about trust
_TRUST_WORDS: Final = frozenset(
    {"trustworkspace", "trustedworkspace", "trustedworkspaces", "trustedhooks", "unapproved"}
)
# where they may stand: at the top of a file, or in a table of settings
_TABLES: Final = ("hookSettings", "hooks", "hookline", TABLE)


KEYS: Final[Mapping[str, Callable[[object], object]]] = {
    "enabled": flag,
    "timeout": seconds,
    "observe": flag,
    "trust_workspace": flag,
    "trusted_workspaces": texts,
    "unapproved": keys.read_unapproved,
    "budget": seconds,
    "per_minute": keys.count,
    "cooldown": seconds,
    "builtins": texts,
    "disabled_builtins": texts,
    "agents_files": keys.flag_or_texts,
    "returns": keys.count_or_none,
    "daemon": flag,
    **{name: keys.WordReader(words) for name, words in CHOICES.items()},
    "fence": flag,
    "sandbox": keys.sandbox_level,
    "telemetry": keys.telemetry,
    "models": keys.models,
    "judge_budget": keys.model_budget,
}
# what holds where the value of a setting cannot be read, if not its default
_HOLDS: Final[Mapping[str, str]] = {"unapproved": "such hooks block", "telemetry": "no telemetry is exported"}


class SettingsResult(Struct, frozen=True):
    """What one file sets, and what is wrong with it."""

    values: Mapping[str, object] = {}
    problems: tuple[Problem, ...] = ()


def read(document: Document, *, path: str, home: str) -> SettingsResult:
    """Read the settings of one file of the user or the administrator; a tilde stands for `home`."""
    given = document.value.get(TABLE, {}) if isinstance(document.value, Mapping) else {}
    if not isinstance(given, Mapping):
        problem = Problem(path, document.line_of((TABLE,)), f"wanted a table, got {describe(given)}")
        return SettingsResult(problems=(problem,))
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for name, value in given.items():
        try:
            values[name] = _value(name, value, home=home)
        except ValueError as problem:
            problems.append(Problem(path, document.line_of((TABLE, name)), str(problem)))
            if name == "unapproved":
                # the default is the looser value, and a user who writes the key wants another one
                values[name] = Unapproved.BLOCK
    return SettingsResult(values, tuple(problems))


def _value(name: str, value: object, *, home: str) -> object:
    key = KEYS.get(name)
    if key is None:
        raise ValueError(f"unknown setting {quote(name)}{suggest(name, KEYS)}")
    try:
        found = key(value)
        if name == "trusted_workspaces" and isinstance(found, tuple):
            return tuple(_absolute_folder(folder, home) for folder in found)
        agents = found if name == "agents_files" and isinstance(found, tuple) else ()
        for agent in agents:
            if agent not in FILE_SPECS_BY_AGENT:
                known = f"{suggest(agent, FILE_SPECS_BY_AGENT)} keeps hooks; there are {', '.join(FILE_SPECS_BY_AGENT)}"
                raise ValueError(f"no agent {quote(agent)}{known}")  # noqa: TRY301 - the words around it are the same
    except ValueError as problem:
        raise ValueError(f"the setting {name}: {problem}; {_HOLDS.get(name, 'the default holds')}") from None
    return found


def _absolute_folder(folder: str, home: str) -> str:
    if folder == "~" or folder.startswith("~/"):
        return f"{home}{folder[1:]}"
    if PurePath(folder).is_absolute():
        return folder
    raise keys.wrong_value("whole paths", folder)


def resolve_settings(
    *, managed: Mapping[str, object], own: Mapping[str, object], environ: Mapping[str, str]
) -> tuple[Settings, list[Problem]]:
    """Return which settings hold: the administrator's before the environment's before the user's own.

    A variable that is set to what cannot be meant is reported and passed over: it must not switch guards off.
    """
    given: dict[str, object] = {}
    problems: list[Problem] = []
    for name in VARIABLES:
        try:
            given |= read_variables({name: environ.get(name, "")})
        except ConfigError as problem:
            problems.append(Problem("environment", 0, f"{problem.message}; it is passed over"))
    build: Callable[..., Settings] = Settings
    # the built-in hooks of both count
    builtins = tuple(dict.fromkeys(name for table in (managed, own) for name in keys.read_texts(table, "builtins")))
    options = _merge_options(own, managed)
    settings = build(**{**own, **given, **managed, "builtins": builtins, "builtin_options": options})
    if given.get("enabled") is False and not settings.enabled and own.get("enabled", True):
        # a project may ship the environment it is worked on in: a variable never switches off a guard
        why = "HOOKS_ENABLED switches every hook off, but managed ones and those that fail closed; unset it to have them back"
        problems.append(Problem("environment", 0, why, Severity.WARNING))
        settings = replace(settings, guards_only=True)
    return settings, problems


def _merge_options(own: Mapping[str, object], managed: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    """Return the options of built-in hooks; of those that the administrator switched on, the user's do not count."""
    enforced = {name.removeprefix(f"{OPTIONS}:") for name in keys.read_texts(managed, "builtins")}
    merged: dict[str, Mapping[str, object]] = {}
    for table in (own.get("builtin_options"), managed.get("builtin_options")):
        for name, options in table.items() if isinstance(table, Mapping) else ():
            if table is not own.get("builtin_options") or name not in enforced:
                merged[name] = {**merged.get(name, {}), **options}
    return merged


def find_foreign_settings(text: str, *, path: str) -> list[Problem]:
    """Report settings in a file of a project, where they have no effect."""
    if not any(word in text for word in ("rust", TABLE, OPTIONS)):
        return []
    try:
        document = (toml if path.endswith(".toml") else jsonc).parse(text, path=path)
    except (ConfigError, RecursionError):
        return []
    value = document.value
    if not isinstance(value, Mapping):
        return []
    tables = [((), value), *(((name,), value[name]) for name in _TABLES if isinstance(value.get(name), Mapping))]
    found: list[tuple[KeyPath, str]] = [
        ((*where, name), f"{quote(name)} has no effect here: trust options are read from your own configuration only")
        for where, table in tables
        for name in table
        if name.replace("_", "").replace("-", "").lower() in _TRUST_WORDS
    ]
    own = value.get(TABLE)
    named = {where[-1] for where, _ in found if where[:-1] == (TABLE,)}
    # a table that holds nothing but trust options has been spoken of
    if path.endswith(".toml") and TABLE in value and not (isinstance(own, Mapping) and named and named == set(own)):
        found.append(((TABLE,), "settings have no effect here: they are read from your own configuration only"))
    if path.endswith(".toml") and OPTIONS in value:
        why = "options of built-in hooks have no effect here: they are read from your own files only"
        found.append(((OPTIONS,), why))
    return [Problem(path, document.line_of(where), why) for where, why in found]
