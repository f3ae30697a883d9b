"""The files that an event is about for one hook, and how one event becomes several runs. No I/O.

A hook with `writes = ["*.py"]` is for the Python files that a call writes, and for no other file of the same call. A hook
that names `{{file.path}}` runs once for each of its files.
"""

import os
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.effects import event_paths
from hookline.effects.effects import make_absolute
from hookline.engine.filters import HookFilters
from hookline.engine.hook_index import has_filters
from hookline.model.event import Event, EventName, has_files
from hookline.model.hook import OWN_DIALECT, Hook
from hookline.model.plan import Gate
from hookline.model.templates import (
    CallFacts,
    NamePath,
    command_names,
    describe_missing,
    has_value,
    hook_names,
    template_values,
)

# after these events a file that the call deleted does not exist any more
_AFTER: Final = frozenset({EventName.AFTER_TOOL, EventName.FILE_DELETED})


class _TemplateUse(Struct, frozen=True):
    """The names that the templates of a hook use."""

    hook: Hook
    required: tuple[NamePath, ...]
    uses_file: bool


class EventSubjects:
    """Find what an event is about for each of its hooks."""

    def __init__(self, filters: HookFilters) -> None:
        self._filters = filters
        self._templates: dict[str, _TemplateUse] = {}

    def call_facts(self, hook: Hook, event: Event) -> CallFacts:
        """Return the files and effects of an event for one hook."""
        effects = self._filters.effects(event)
        return CallFacts(files=self.files(hook, event), effects=effects.as_dict(), folder=hook.project(event.cwd))

    def files(self, hook: Hook, event: Event) -> tuple[str, ...]:
        """Return the absolute paths of the files that an event is about for a hook."""
        if event.files or not has_files(event):
            return event.files
        effects = self._filters.effects(event)
        gates = [gate for gate in (Gate.FILES, Gate.WRITES, Gate.DELETES, Gate.READS) if getattr(hook, gate)]
        if gates:
            paths = [path for gate in gates for path in self._filters.matched_files(gate, hook, event)]
        else:
            paths = [*event_paths.list_event_paths(event), *effects.writes, *effects.deletes, *effects.reads]
        gone = set(effects.deletes) if event.name in _AFTER and not hook.deletes else set()
        absolute = (
            os.path.normpath(caller_context.expand_home(make_absolute(event.cwd, path)))
            for path in paths
            if path not in gone
        )
        return tuple(dict.fromkeys(path for path in absolute if path not in gone))

    def debounce_keys(self, hook: Hook, event: Event) -> tuple[str, ...]:
        """Return what `debounce` tells events apart by: their files, else the subject of the event."""
        return self.files(hook, event) or (event.subject,)

    def unknown_reason(self, hook: Hook, event: Event) -> str:
        """Return what cannot be known about an event that a hook is about, or ""."""
        return self._filters.unknown_reason(hook, event) if has_filters(hook) and has_files(event) else ""

    def split_by_file(self, hook: Hook, event: Event) -> tuple[Event, ...]:
        """Return the events that a hook runs for: one for each file where it names `{{file.path}}`."""
        if not self._template_use(hook).uses_file:
            return (event,)
        files = self.files(hook, event)
        if not files or (len(files) == 1 and (event.data.get("path") or event.args.get("path"))):
            return (event,)
        return tuple(replace(event, files=(path,)) for path in files)

    def names_values(self, hook: Hook) -> bool:
        """Return whether a hook's command names values that an event may lack."""
        return bool(self._template_use(hook).required)

    def names_file(self, hook: Hook) -> bool:
        """Return whether a hook names `{{file.path}}`, and so runs once for each file."""
        return self._template_use(hook).uses_file

    def missing_value(self, hook: Hook, event: Event) -> str:
        """Return which value a hook's command names and the event lacks, or ""."""
        required = self._template_use(hook).required
        if not required:
            return ""
        values = template_values(event, self.call_facts(hook, event))
        missing = [".".join(path) for path in required if not has_value(values, path)]
        return describe_missing(missing[0], event, hook) if missing else ""

    def _template_use(self, hook: Hook) -> _TemplateUse:
        use = self._templates.get(hook.id)
        if use is None or use.hook is not hook:
            use = self._templates[hook.id] = _TemplateUse(
                hook=hook,
                required=command_names(hook) if hook.dialect == OWN_DIALECT and hook.kind == "command" else (),
                uses_file=any(path[0] == "file" for path in hook_names(hook)),
            )
        return use
