"""What a person may set for the whole engine."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from hookline.errors import ConfigError

_YES: Final = frozenset({"1", "true", "yes", "on"})
_NO: Final = frozenset({"0", "false", "no", "off"})


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of one engine.

    `timeout` counts seconds and holds for every hook without one of its own; None leaves it to the
    dialects. `observe` runs every hook and enforces nothing. `trust_workspace` lets workspace hooks run
    without approval, and `trusted_workspaces` those below these folders; never downloaded or extension hooks.

    `budget` is how many seconds all hooks of one event may take together. `per_minute` and `cooldown` hold for all hooks
    together, but for managed ones and guards, which are always asked. `builtins` names the built-in hooks that are on.

    `agents_files` says whether hooks are also read from the files in which agents keep them, or from those of which.
    `returns` is how often hooks may send an agent back at the end of a turn for the same reason; 0 does not count it.
    `daemon` says whether the launcher in the settings of agents may start a program that answers the next calls.
    """

    enabled: bool = True
    timeout: float | None = None
    observe: bool = False
    trust_workspace: bool = False
    trusted_workspaces: tuple[str, ...] = ()
    budget: float | None = None
    per_minute: int = 0
    cooldown: float = 0.0
    builtins: tuple[str, ...] = ()
    agents_files: tuple[str, ...] | bool = True
    returns: int = 5
    daemon: bool = True

    def __post_init__(self) -> None:
        """Refuse a time in which no hook could answer."""
        for name, seconds in (("timeout", self.timeout), ("budget", self.budget)):
            if seconds is not None and not seconds > 0:
                raise ConfigError(f"the setting {name} is {seconds}, wanted more than 0 seconds")


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Read `HOOKS_ENABLED` and `HOOKS_TIMEOUT`.

    Raises:
        ConfigError: A variable is set to what cannot be meant. Guessing would switch guards off.
    """
    build: Callable[..., Settings] = Settings
    return build(**given_by(environ))


def given_by(environ: Mapping[str, str]) -> dict[str, object]:
    """Give the settings that the environment has a word about; trust is never among them.

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
