"""What may be said about a function that becomes a hook."""

from typing import TypedDict

from hookline.model.hook import OnError
from hookline.model.policy import Caching, Needs


class HookOptions(TypedDict, total=False):
    """The fields of a `Hook` that make sense for a function of this program."""

    id: str
    matcher: str
    files: tuple[str, ...]
    writes: tuple[str, ...]
    deletes: tuple[str, ...]
    reads: tuple[str, ...]
    runs: tuple[str, ...]
    urls: tuple[str, ...]
    condition: str
    priority: int
    timeout: float | None
    on_error: OnError | None
    parallel: bool
    observe: bool
    after: tuple[str, ...]
    before: tuple[str, ...]
    once: bool
    per_minute: int
    cooldown: float
    debounce: float
    breaker: int
    retry_after: float
    needs: Needs | None
    cache: Caching | None
