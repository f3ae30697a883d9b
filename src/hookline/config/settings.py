"""Settings in files: the `[settings]` table of the person's own `hookline.toml`, and of the managed one.

A workspace has no settings. What decides about trust counts from a person's own files only, and a workspace
that tries is told so.
"""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from hookline.config import jsonc, toml
from hookline.config.document import KeyPath
from hookline.config.locations import AGENTS
from hookline.config.problem import Problem, Severity
from hookline.config.values import count, count_or_none, describe, flag, flag_or_texts, seconds, texts
from hookline.config.vocabulary import hint, quoted
from hookline.errors import ConfigError
from hookline.model.settings import VARIABLES, Settings, given_by

TABLE: Final = "settings"

# how the other systems spell what decides about trust
_TRUST_WORDS: Final = frozenset({"trustworkspace", "trustedworkspace", "trustedworkspaces", "trustedhooks"})
# where they may stand: at the top of a file, or in a table of settings
_TABLES: Final = ("hookSettings", "hooks", "hookline", TABLE)


KEYS: Final[Mapping[str, Callable[[object], object]]] = MappingProxyType(
    {
        "enabled": flag,
        "timeout": seconds,
        "observe": flag,
        "trust_workspace": flag,
        "trusted_workspaces": texts,
        "budget": seconds,
        "per_minute": count,
        "cooldown": seconds,
        "builtins": texts,
        "agents_files": flag_or_texts,
        "returns": count_or_none,
        "daemon": flag,
    }
)


class Found(Struct, frozen=True):
    """What one file sets, and what is wrong with it."""

    values: Mapping[str, object] = {}
    problems: tuple[Problem, ...] = ()


def read(text: str, *, path: str, home: str) -> Found:
    """Read the settings of one file of the person or the administrator.

    A tilde stands for `home`, whatever the environment calls so. Whoever loads the hooks of a file that is
    broken reports that.
    """
    # such a table is rare, and reading a file for nothing takes time
    if TABLE not in text:
        return Found()
    try:
        document = toml.parse(text, path=path)
    except ConfigError:
        return Found()
    given = document.value.get(TABLE, {}) if isinstance(document.value, Mapping) else {}
    if not isinstance(given, Mapping):
        return Found(problems=(Problem(path, document.line_of((TABLE,)), f"wanted a table, got {describe(given)}"),))
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for name, value in given.items():
        try:
            values[name] = _value(name, value, home=home)
        except ValueError as problem:
            problems.append(Problem(path, document.line_of((TABLE, name)), str(problem)))
    return Found(values, tuple(problems))


def _value(name: str, value: object, *, home: str) -> object:
    key = KEYS.get(name)
    if key is None:
        raise ValueError(f"unknown setting {quoted(name)}{hint(name, KEYS)}")
    try:
        found = key(value)
        if name == "trusted_workspaces" and isinstance(found, tuple):
            return tuple(_whole(folder, home) for folder in found)
        if name == "agents_files" and isinstance(found, tuple):
            _known_agents(found)
        return found  # noqa: TRY300 - the rest of the same thought
    except ValueError as problem:
        raise ValueError(f"the setting {name}: {problem}; the default holds") from None


def _known_agents(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in AGENTS:
            raise ValueError(f"no agent {quoted(name)}{hint(name, AGENTS)} keeps hooks; there are {', '.join(AGENTS)}")


def _whole(folder: str, home: str) -> str:
    if folder == "~" or folder.startswith("~/"):
        return f"{home}{folder[1:]}"
    if PurePath(folder).is_absolute():
        return folder
    raise ValueError(f"wanted whole paths, got {describe(folder)}")


def in_force(
    *, managed: Mapping[str, object], own: Mapping[str, object], environ: Mapping[str, str]
) -> tuple[Settings, list[Problem]]:
    """Say which settings hold: the administrator's before the environment's before the person's own.

    A variable that is set to what cannot be meant is reported and passed over: it must not switch guards off.
    """
    given: dict[str, object] = {}
    problems: list[Problem] = []
    for name in VARIABLES:
        try:
            given |= given_by({name: environ.get(name, "")})
        except ConfigError as problem:
            problems.append(Problem("environment", 0, f"{problem.message}; it is passed over"))
    build: Callable[..., Settings] = Settings
    settings = build(**{**own, **given, **managed, "builtins": _both(managed.get("builtins"), own.get("builtins"))})
    if given.get("enabled") is False and not settings.enabled and own.get("enabled", True):
        # a project may ship the environment it is worked on in: guards must not disappear without a word
        why = "HOOKS_ENABLED switches every hook off, but the managed ones; unset it to have them back"
        problems.append(Problem("environment", 0, why, Severity.WARNING))
    return settings, problems


def _both(theirs: object, own: object) -> tuple[str, ...]:
    """Put the built-in hooks of the administrator and of the person together: neither takes any from the other."""
    return tuple(dict.fromkeys(str(name) for names in (theirs, own) if isinstance(names, tuple) for name in names))


def foreign(text: str, *, path: str) -> list[Problem]:
    """Report the settings that a file of others holds; they have no effect."""
    if "rust" not in text and TABLE not in text:
        return []
    try:
        document = (toml if path.endswith(".toml") else jsonc).parse(text, path=path)
    except (ConfigError, RecursionError):
        return []
    return [Problem(path, document.line_of(where), why) for where, why in _claims(document.value, path=path)]


def _claims(value: object, *, path: str) -> list[tuple[KeyPath, str]]:
    if not isinstance(value, Mapping):
        return []
    tables = [((), value), *(((name,), value[name]) for name in _TABLES if isinstance(value.get(name), Mapping))]
    found: list[tuple[KeyPath, str]] = [
        ((*where, name), f"{quoted(name)} has no effect here: trust options are read from your own configuration only")
        for where, table in tables
        for name in table
        if name.replace("_", "").replace("-", "").lower() in _TRUST_WORDS
    ]
    own = value.get(TABLE)
    named = {where[-1] for where, _ in found if where[:-1] == (TABLE,)}
    # a table that holds nothing but trust options has been spoken of
    if path.endswith(".toml") and TABLE in value and not (isinstance(own, Mapping) and named and named == set(own)):
        found.append(((TABLE,), "settings have no effect here: they are read from your own configuration only"))
    return found
