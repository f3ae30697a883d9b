"""What `hookline doctor` found."""

from enum import StrEnum

from msgspec import Struct


class Health(StrEnum):
    """How something is."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Finding(Struct, frozen=True):
    """One thing that was looked at; `advice` says what to do where something is to be done."""

    health: Health
    text: str
    advice: str = ""
