"""Settings of the whole engine."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from hookline.errors import ConfigError
from hookline.model.language_models import ModelBudget, ModelSettings
from hookline.model.sandbox import PROJECT

_YES: Final = frozenset({"1", "true", "yes", "on"})
_NO: Final = frozenset({"0", "false", "no", "off"})


# the settings that are one of a few words
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "composition": ("strongest", "unanimous"),
    "on_conflict": ("deny", "confirm"),
    "no_hooks": ("pass", "deny"),
    "record": ("auto", "hooks", "all"),
}


class Unapproved(StrEnum):
    """What becomes of an event at which a project has a hook that was never approved."""

    WARN = "warn"
    BLOCK = "block"


class Telemetry(Struct, frozen=True, kw_only=True):
    """What is exported to a collector of OpenTelemetry.

    `endpoint` is the URL of the collector without `/v1/traces`; a value of `headers` such as "$TOKEN" names a variable.
    `arguments` says whether the arguments of tools are exported. What is empty is taken from the variables of OpenTelemetry.
    """

    endpoint: str = ""
    headers: Mapping[str, str] = {}
    traces: bool = True
    metrics: bool = True
    service_name: str = ""
    arguments: bool = False
    timeout: float | None = None


def find_url_problem(url: str) -> str:
    """Return why a text is no URL of a collector; empty if it is one."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - only needed where telemetry is exported

    wanted = 'wanted a URL such as "http://localhost:4318"'
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return f"{wanted}, got {url!r}"
    is_usable = has_port and parts.scheme in {"http", "https"} and bool(parts.hostname)
    if not is_usable or not url.isprintable() or " " in url:
        return f"{wanted}, got {url!r}"
    if parts.username is not None or parts.query or parts.fragment:
        return f"{wanted}, without user, query and fragment; a token belongs into `headers`"
    return ""


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of one engine.

    `guards_only` comes with `enabled` being false because of a variable of the environment, which a project may have
    set: hooks that fail closed run all the same.

    `timeout` counts seconds and holds for every hook without one of its own; None leaves it to the
    dialects. `observe` runs every hook and enforces nothing. `trust_workspace` lets workspace hooks run
    without approval, and `trusted_workspaces` those below these folders; never downloaded or extension hooks.
    `unapproved` says whether a project's hook that was never approved blocks the events it is for.

    `budget` is how many seconds all hooks of one event may take together. `per_minute` and `cooldown` hold for all hooks
    together, but for managed ones and guards, which are always asked. `builtins` names the built-in hooks that are on, and
    `disabled_builtins` those that would be on by default and are not. `builtin_options` has the options of each.

    `agents_files` says whether hooks are also read from the files in which agents keep them, or from those of which.
    `returns` is how often hooks may send an agent back at the end of a turn for the same reason; 0 does not count it.
    `composition` says how the answers of several hooks become one: the "strongest" decision, or "unanimous", where hooks
    that have an opinion must all allow and change nothing. `on_conflict` says what becomes of a disagreement, and of two
    parallel hooks that change the same field: "deny", or "confirm" to ask the user. `no_hooks` is the answer at an
    event that no hook was asked about: "pass" or "deny".
    `record` says which events are traced: those that a "hook" was asked about, or "all"; "auto" is all that agents raise
    through their settings, and elsewhere those that a hook was asked about.
    `sandbox` is the level of hooks of projects, downloads and extensions that name none.
    `fence` says whether texts that hooks of projects, downloads and extensions give to the model are fenced.
    `daemon` says whether the launcher in the settings of agents may start a program that answers the next calls.
    `telemetry` says where traces and metrics are exported to; without it, none are.
    `models` says where language models are reached and what they cost, by the name of the model or of its provider, and
    `judge_budget` what all judges together may spend on them in a day.
    """

    enabled: bool = True
    guards_only: bool = False
    timeout: float | None = None
    observe: bool = False
    trust_workspace: bool = False
    trusted_workspaces: tuple[str, ...] = ()
    unapproved: Unapproved = Unapproved.WARN
    budget: float | None = None
    per_minute: int = 0
    cooldown: float = 0.0
    builtins: tuple[str, ...] = ()
    disabled_builtins: tuple[str, ...] = ()
    builtin_options: Mapping[str, Mapping[str, object]] = {}
    agents_files: tuple[str, ...] | bool = True
    returns: int = 5
    daemon: bool = True
    composition: str = "strongest"
    on_conflict: str = "deny"
    no_hooks: str = "pass"
    record: str = "auto"
    fence: bool = True
    sandbox: str = PROJECT
    telemetry: Telemetry | None = None
    models: Mapping[str, ModelSettings] = {}
    judge_budget: ModelBudget | None = None

    def __post_init__(self) -> None:
        """Refuse a time in which no hook could answer, and words that mean nothing."""
        for name, words in CHOICES.items():
            if getattr(self, name) not in words:
                raise ConfigError(
                    f"the setting {name} is {getattr(self, name)!r}, wanted {' or '.join(map(repr, words))}"
                )
        for name, seconds in (("timeout", self.timeout), ("budget", self.budget)):
            if seconds is not None and not seconds > 0:
                raise ConfigError(f"the setting {name} is {seconds}, wanted more than 0 seconds")


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Read `HOOKS_ENABLED` and `HOOKS_TIMEOUT`.

    Raises:
        ConfigError: A variable is set to what cannot be meant. Guessing would switch guards off.
    """
    build: Callable[..., Settings] = Settings
    return build(**read_variables(environ))


def read_variables(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the settings that the environment has a word about; trust is never among them.

    Raises:
        ConfigError: A variable is set to what cannot be meant.
    """
    texts = {name: environ.get(name, "").strip() for name in VARIABLES}
    return {VARIABLES[name][0]: VARIABLES[name][1](name, text) for name, text in texts.items() if text}


def _flag(name: str, text: str) -> bool:
    if text.lower() in _YES or text.lower() in _NO:
        return text.lower() in _YES
    raise ConfigError(f"the environment variable {name} is {text!r}, wanted true or false")


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 < seconds < float("inf"):
        return seconds
    raise ConfigError(f"the environment variable {name} is {text!r}, wanted a number of seconds above 0")


VARIABLES: Final[Mapping[str, tuple[str, Callable[[str, str], object]]]] = {
    "HOOKS_ENABLED": ("enabled", _flag),
    "HOOKS_TIMEOUT": ("timeout", _seconds),
}
