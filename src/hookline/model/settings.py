"""What a person may set for the whole engine."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from hookline.errors import ConfigError

_YES: Final = frozenset({"1", "true", "yes", "on"})
_NO: Final = frozenset({"0", "false", "no", "off"})


class Settings(Struct, frozen=True, kw_only=True):
    """Settings of one engine.

    `timeout` counts seconds and holds for every hook without one of its own; None leaves it to the
    dialects. `observe` runs every hook and enforces nothing. `trust_workspace` lets workspace hooks run
    without approval, never downloaded or extension hooks.
    """

    enabled: bool = True
    timeout: float | None = None
    observe: bool = False
    trust_workspace: bool = False

    def __post_init__(self) -> None:
        """Refuse a time in which no hook could answer."""
        if self.timeout is not None and not self.timeout > 0:
            raise ConfigError(f"the setting timeout is {self.timeout}, wanted more than 0 seconds")


def from_environment(environ: Mapping[str, str]) -> Settings:
    """Read `HOOKS_ENABLED` and `HOOKS_TIMEOUT`.

    Raises:
        ConfigError: A variable is set to what cannot be meant. Guessing would switch guards off.
    """
    return Settings(enabled=_flag(environ, "HOOKS_ENABLED", default=True), timeout=_seconds(environ, "HOOKS_TIMEOUT"))


def _flag(environ: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = environ.get(name, "").strip().lower()
    if not text:
        return default
    if text in _YES or text in _NO:
        return text in _YES
    raise ConfigError(f"the environment variable {name} is {text!r}, wanted true or false")


def _seconds(environ: Mapping[str, str], name: str) -> float | None:
    text = environ.get(name, "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if 0 < seconds < float("inf"):
        return seconds
    raise ConfigError(f"the environment variable {name} is {text!r}, wanted a number of seconds above 0")
