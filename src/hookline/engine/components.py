"""The replaceable components of an engine: dialects, kinds, and the functions that read files and conditions."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct

from hookline.model.event import Event
from hookline.model.hook import Hook, make_undo_hook
from hookline.model.settings import Settings
from hookline.ports import Dialect, FileMatch, Kind, StateStore

# the kind of hooks that list others; the runner itself runs it
STEPS: Final = "steps"


CompilePatterns = Callable[[Sequence[str]], FileMatch]
# returns the path with all symbolic links resolved
FollowLinks = Callable[[str], str]
# returns the files that an absolute glob matches, None beyond a limit; a plain path returns itself if it exists
ListFiles = Callable[[str], Sequence[str] | None]
# returns what a hook that runs in this folder lacks, or ""
FindMissing = Callable[[Hook, str], Awaitable[str]]
# returns the facts of these names about an event; None for one that cannot be had
GatherFacts = Callable[[Collection[str], Event], Awaitable[Mapping[str, object]]]


class Condition(Protocol):
    """A compiled condition over the names of `model/templates.py`.

    `names` are those that it uses, none where they cannot be listed.
    """

    names: frozenset[str]

    def __call__(self, context: Mapping[str, object], /) -> bool:
        """Evaluate it; raises ConditionError where it cannot be decided."""
        ...

    def facts(self, context: Mapping[str, object], /) -> str:
        """Return the values that the event has for the names in the condition, or "" where they cannot be listed."""
        ...


# raises ConfigError, with the position, for a syntax error
CompileCondition = Callable[[str], Condition]
# returns the `Hook` fields that the options of a function set; raises ConfigError for invalid options
ReadOptions = Callable[[Mapping[str, object]], dict[str, object]]
# returns the hook described with the keys of hookline.toml; raises ConfigError for invalid options
ReadHook = Callable[[Mapping[str, object]], Hook]


class Components(Struct, frozen=True):
    """Everything an engine depends on besides its stores."""

    dialects: Mapping[str, Dialect]
    kinds: Mapping[str, Kind]
    file_patterns: CompilePatterns | None = None
    follow_links: FollowLinks | None = None
    list_files: ListFiles | None = None
    conditions: CompileCondition | None = None
    missing: FindMissing | None = None
    gather_facts: GatherFacts | None = None
    read_options: ReadOptions | None = None
    read_hook: ReadHook | None = None

    def refusal(self, hook: Hook) -> str:
        """Return why a hook cannot run as it is configured, or ""."""
        if hook.invalid:
            return hook.invalid
        if hook.kind != STEPS and hook.kind not in self.kinds:
            return f'there is no kind "{hook.kind}"; known are {", ".join(sorted({*self.kinds, STEPS}))}'
        if hook.dialect not in self.dialects:
            return f'there is no dialect "{hook.dialect}"; `hookline dialects` lists them'
        if hook.kind == STEPS:
            return "" if hook.steps else f'hook "{hook.id}" has no steps'
        reason = self.kinds[hook.kind].refusal(hook)
        if not reason and hook.undo and (problem := self.refusal(make_undo_hook(hook))):
            # known before the hook does what could not be taken back
            return f"undo: {problem}"
        return reason


def default_components(settings: Settings | None = None, state: StateStore | None = None) -> Components:
    """Return everything Hookline ships, for an engine with these settings and this state."""
    # The one import upwards: a component used by itself gets the same tables as a whole engine.
    from hookline.wiring import make_components  # noqa: PLC0415

    return make_components(settings=settings, state=state)


def default_state() -> StateStore:
    """Return an in-memory state store for one process."""
    from hookline.wiring import make_state  # noqa: PLC0415 - as above

    return make_state()
