"""Filters beyond the tool name: the files that an event names, and the effects of a call; and what an event is about.

A hook with `writes = ["*.py"]` is for the Python files that a call writes, and for no other file of the same call. A hook
that names `{{file.path}}` runs once for each of its files (`EventSubjects`).

The only I/O goes through functions that are passed in: patterns, links, and the files that a glob matches.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from posixpath import join, normpath
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import caller_context
from hookline.effects import event_paths
from hookline.effects.effects import Effects, Target, make_absolute
from hookline.effects.patterns import EffectMatch, MatchAnswer, compile_commands, compile_urls, pick_strongest
from hookline.engine.components import CompilePatterns, FollowLinks, ListFiles, default_components
from hookline.engine.matchers import BEFORE_APPROVAL, EventFacts, has_filters
from hookline.engine.ordering import is_untrusted
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName, has_files
from hookline.model.hook import OWN_DIALECT, Hook, Layer, Unknown
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
from hookline.ports import FileMatch

# patterns of these layers are relative to the project; all others are relative to the agent's folder
_PROJECT_LAYERS: Final = frozenset({Layer.LOCAL, Layer.PROJECT})
_PATH_FIELDS: Final = ("files", "writes", "deletes", "reads")
# a hook that names files in several of these ways is about calls that touch them in any of them
_FILE_EFFECTS: Final = (Gate.WRITES, Gate.DELETES, Gate.READS)
# stands for a file whose name is not known
_CUT: Final = "the line is too long or nested too deeply to be read, which counts as a match"
_WILD: Final = re.compile(r"[*?\[]")
_ANY_NAME: Final = "any-name"
# each star may try every position of a name for every position that the others try
MOST_STARS: Final = 3
_STARS: Final = re.compile(r"\*+")

EffectsMatcher = Callable[[Effects], EffectMatch]
PathTest = Callable[[str], bool]

# after these events a file that the call deleted does not exist any more
_AFTER: Final = frozenset({EventName.AFTER_TOOL, EventName.FILE_DELETED})


class GateResult(Struct, frozen=True):
    """Whether one gate lets a hook through, and why; `is_unknown` where that could not be determined."""

    gate: Gate
    passed: bool
    reason: str
    is_unknown: bool = False


AskGate = Callable[[Hook, Event], GateResult]


class _Words(Struct, frozen=True):
    """The words that describe a gate: what a call does, and to what."""

    does: str
    what: str


_WORDS: Final = {
    Gate.WRITES: _Words("writes", "file"),
    Gate.DELETES: _Words("deletes", "file"),
    Gate.READS: _Words("reads", "file"),
    Gate.RUNS: _Words("runs", "command"),
    Gate.URLS: _Words("reaches", "URL"),
}


def _compile_urls(patterns: tuple[str, ...]) -> EffectsMatcher:
    matches = compile_urls(patterns)

    def find(effects: Effects) -> EffectMatch:
        first = next(filter(matches, effects.urls), None)
        return EffectMatch(MatchAnswer.NO) if first is None else EffectMatch(MatchAnswer.YES, first)

    return find


_COMPILERS: Final[dict[Gate, Callable[[tuple[str, ...]], EffectsMatcher]]] = {
    Gate.RUNS: compile_commands,
    Gate.URLS: _compile_urls,
}


class HookFilters:
    """The gates that look at more of an event than its subject, except for its condition."""

    def __init__(
        self,
        file_patterns: CompilePatterns | None,
        follow_links: FollowLinks | None,
        list_files: ListFiles | None = None,
    ) -> None:
        self._compile = file_patterns
        self._follow = follow_links
        self._list = list_files
        self._patterns: dict[tuple[str, ...], FileMatch] = {}
        self._matchers: dict[tuple[Gate, tuple[str, ...]], EffectsMatcher] = {}
        self._facts: EventFacts | None = None

    def check(self, hook: Hook) -> None:
        """Compile the patterns of a hook.

        Raises:
            ConfigError: One cannot be compiled, or matching it may take too long in an untrusted hook.
        """
        for field in (*_PATH_FIELDS, *_COMPILERS):
            patterns = getattr(hook, field)
            if not patterns:
                continue
            if field in _PATH_FIELDS:
                self._file_match(patterns)
            else:
                self._effects_matcher(Gate(field), patterns)
            if is_untrusted(hook):
                check_stars(patterns)

    def facts(self, event: Event) -> EventFacts:
        """Return the facts of an event, computed once for each event."""
        facts = self._facts
        if facts is None or facts.event is not event:
            facts = self._facts = EventFacts(event, follow=self._resolve_links)
        return facts

    def effects(self, event: Event) -> Effects:
        """Return the effects of an event's call."""
        return self.facts(event).effects

    def matched_files(self, gate: Gate, hook: Hook, event: Event) -> tuple[str, ...]:
        """Return the files of an event that a hook's patterns for this gate match."""
        if gate is Gate.FILES:
            named = tuple(filter(self._named_test(hook, event), event_paths.list_event_paths(event)))
            if named or event.name not in event_paths.TOOL_EVENTS:
                return named
            effects = self.effects(event)
            paths: Iterable[str] = dict.fromkeys((*effects.writes, *effects.reads))
        else:
            paths = getattr(self.effects(event), gate)
        return tuple(filter(self._effect_test(gate, hook, event), paths))

    def first_closed(self, hook: Hook, event: Event) -> GateResult | None:
        """Return the first gate that does not let a hook through."""
        unknown: GateResult | None = None
        for result in self._ask_gates(hook, event):
            if not result.passed and not result.is_unknown:
                return result
            if not result.passed and unknown is None:
                # a later gate may be closed for certain
                unknown = result
        return unknown

    def unknown_reason(self, hook: Hook, event: Event) -> str:
        """Return what cannot be known about an event that a hook is about, or ""."""
        return next((result.reason for result in self._ask_gates(hook, event) if result.is_unknown), "")

    def results(self, hook: Hook, event: Event) -> Iterator[GateResult]:
        """Yield the result of each gate worth showing: the rare ones only where the hook has them."""
        if not hook.files:
            yield self._files_gate(hook, event)
        if not hook.writes:
            yield GateResult(Gate.WRITES, passed=True, reason="it does not wait for certain files to be written")
        yield from self._ask_gates(hook, event)

    def _ask_gates(self, hook: Hook, event: Event) -> Iterator[GateResult]:
        """Yield the result of each gate that the hook has."""
        if hook.files:
            yield self._files_gate(hook, event)
        used = [gate for gate in _FILE_EFFECTS if getattr(hook, gate)]
        yield from _join_alternatives([self._effect_gate(gate, hook, event) for gate in used])
        for gate in _COMPILERS:
            if getattr(hook, gate):
                yield self._effect_gate(gate, hook, event)

    def _resolve_links(self, path: str) -> str:
        return self._follow(path) if self._follow is not None else path

    def _files_gate(self, hook: Hook, event: Event) -> GateResult:
        if not hook.files:
            return GateResult(Gate.FILES, passed=True, reason="it is not about certain files")
        named = event_paths.list_event_paths(event)
        first = next(filter(self._named_test(hook, event), named), None)
        if first is None and event.name in event_paths.TOOL_EVENTS:
            return self._touched_gate(hook, event, named)
        if not named:
            return GateResult(Gate.FILES, passed=False, reason=f"this {event.name} names no file")
        return _compare(Gate.FILES, hook.files, named, first)

    def _touched_gate(self, hook: Hook, event: Event, named: tuple[str, ...]) -> GateResult:
        """Compare the paths that a call reads, writes or deletes in any way."""
        effects = self.effects(event)
        test = self._effect_test(Gate.FILES, hook, event)
        guarded = _GuardedPaths(hook.files, _base_folder(hook, event), self.facts(event).real)
        gates = (Gate.READS, Gate.WRITES)
        finding = pick_strongest(
            self._match_target(gate, target, test, guarded)
            for gate in gates
            for target in effects.targets.get(gate, ())
        )
        as_named = {normpath(join(event.cwd, path)): path for path in named}
        touched = tuple(dict.fromkeys(as_named.get(path, path) for path in (*named, *effects.reads, *effects.writes)))
        if finding.answer is MatchAnswer.YES:
            return _compare(Gate.FILES, hook.files, touched, finding.what)
        if effects.is_cut:
            return GateResult(Gate.FILES, passed=True, reason=_CUT)
        is_open = finding.answer is MatchAnswer.UNKNOWN or not effects.unknown.isdisjoint(gates)
        if is_open and hook.unknown is not None:
            reason = f'unknown: it cannot be known which files {event.tool} touches; unknown = "{hook.unknown}"'
            return GateResult(Gate.FILES, hook.unknown is not Unknown.SKIP, reason, is_unknown=True)
        if not touched:
            return GateResult(Gate.FILES, passed=False, reason=f"this {event.name} names no file")
        return _compare(Gate.FILES, hook.files, touched, None)

    def _effect_gate(self, gate: Gate, hook: Hook, event: Event) -> GateResult:
        """Compare the commands that a call runs, the URLs that it reaches, or its paths and the targets of their links."""
        patterns: tuple[str, ...] = getattr(hook, gate)
        effects = self.effects(event)
        if gate in _COMPILERS:
            finding = self._effects_matcher(gate, patterns)(effects)
        else:
            test = self._effect_test(gate, hook, event)
            guarded = _GuardedPaths(patterns, _base_folder(hook, event), self.facts(event).real)
            targets = effects.targets.get(gate, ())
            finding = pick_strongest(self._match_target(gate, target, test, guarded) for target in targets)
        words, paths = _WORDS[gate], getattr(effects, gate)
        if finding.answer is MatchAnswer.YES:
            return _compare(gate, patterns, paths, finding.what)
        if effects.is_cut:
            return GateResult(gate, passed=True, reason=_CUT)
        if finding.answer is MatchAnswer.UNKNOWN or gate in effects.unknown:
            if not finding.what:
                what = f"which {words.what}s {event.tool or 'this'} {words.does}"
            elif gate is Gate.RUNS:
                what = f"whether {finding.what!r} is such a command"
            else:
                what = f"which files at {finding.what!r} it {words.does}"
            reason = f'unknown: it cannot be known {what}; unknown = "{hook.on_unknown}"'
            return GateResult(gate, hook.on_unknown is not Unknown.SKIP, reason, is_unknown=True)
        if not paths:
            return GateResult(gate, passed=False, reason=f"{event.tool or event.name} {words.does} no {words.what}")
        return _compare(gate, patterns, paths, None)

    def _match_target(self, gate: Gate, target: Target, test: PathTest, guarded: "_GuardedPaths") -> EffectMatch:
        sure = MatchAnswer.YES if target.is_sure else MatchAnswer.UNKNOWN
        if target.pattern:
            return self._match_glob(target, test, guarded)
        if test(target.path):
            return EffectMatch(sure, target.path)
        if target.is_partial:
            if test(f"{target.path.rstrip('/')}/{_ANY_NAME}"):
                return EffectMatch(sure, target.path)
            is_open = bool(guarded.find_below(target)) or guarded.may_be_below(target)
            return EffectMatch(MatchAnswer.UNKNOWN, target.path) if is_open else EffectMatch(MatchAnswer.NO)
        inside = guarded.find_below(target) if target.is_recursive else []
        # a folder is written or deleted with its files; a file that is read has to exist
        certain = [path for path in inside if gate is not Gate.READS or self._exists(path)]
        if target.is_recursive and not certain and guarded.may_be_below(target):
            certain = [path for path in self._list_children(target.path) if _may_include(path, target) and test(path)]
        if certain:
            return EffectMatch(sure, certain[0])
        is_open = bool(inside) or (target.is_recursive and guarded.may_be_below(target))
        return EffectMatch(MatchAnswer.UNKNOWN, target.path) if is_open else EffectMatch(MatchAnswer.NO)

    def _match_glob(self, target: Target, test: PathTest, guarded: "_GuardedPaths") -> EffectMatch:
        """Compare the files that a glob expands to, and its text with the guarded names."""
        listed = self._list(target.pattern) if self._list is not None else None
        sure = MatchAnswer.YES if target.is_sure else MatchAnswer.UNKNOWN
        for path in listed or ():
            if test(path):
                return EffectMatch(sure, path)
        if target.is_recursive and listed:
            best = pick_strongest(
                [self._match_target(Gate.WRITES, Target(path, is_recursive=True), test, guarded) for path in listed]
            )
            if best.answer is not MatchAnswer.NO:
                return best
        # where all patterns are negated, or name everything in a folder, the folder of the glob decides
        folder = "/".join(_fixed_parts(target.pattern))
        if test((folder or "/") if guarded.is_negated else f"{folder}/{_ANY_NAME}"):
            return EffectMatch(sure, target.path)
        if listed is None or guarded.may_match_glob(target.pattern):
            return EffectMatch(MatchAnswer.UNKNOWN, target.path)
        return EffectMatch(MatchAnswer.NO)

    def _exists(self, path: str) -> bool:
        return self._list is not None and bool(self._list(path))

    def _list_children(self, folder: str) -> list[str]:
        """Return the files and folders directly in a folder; what lies deeper is not looked for."""
        if self._list is None:
            return []
        escaped = _WILD.sub(r"[\g<0>]", folder.rstrip("/"))
        return [path for name in ("*", ".[!.]*") for path in self._list(f"{escaped}/{name}") or ()]

    def _named_test(self, hook: Hook, event: Event) -> PathTest:
        matches, folder = self._matching(hook, hook.files), _base_folder(hook, event)
        # only the pattern matcher knows the home folder
        return lambda path: matches(path if path.startswith("~") else os.path.join(event.cwd, path), folder)  # noqa: PTH118 - text only

    def _effect_test(self, gate: Gate, hook: Hook, event: Event) -> PathTest:
        facts = self.facts(event)
        patterns: tuple[str, ...] = getattr(hook, gate)
        matches, folder = self._matching(hook, patterns), _base_folder(hook, event)
        is_negated = all(pattern.startswith("!") for pattern in patterns)

        def test(path: str) -> bool:
            # with a slash as well: a name does not tell whether it is a folder
            if not is_negated and (matches(path, folder) or matches(f"{path}/", folder)):
                return True
            real = facts.real(path)
            real_folder = facts.real(folder) if folder else folder
            if is_negated:
                return matches(real, real_folder)
            return (real, real_folder) != (path, folder) and (
                matches(real, real_folder) or matches(f"{real}/", real_folder)
            )

        return test

    def _effects_matcher(self, gate: Gate, patterns: tuple[str, ...]) -> EffectsMatcher:
        matcher = self._matchers.get((gate, patterns))
        if matcher is None:
            matcher = self._matchers[gate, patterns] = _COMPILERS[gate](patterns)
        return matcher

    def _matching(self, hook: Hook, patterns: tuple[str, ...]) -> Callable[[str, str], bool]:
        """Return the path test; patterns without a project also apply to the repositories around the agent's folder."""
        return partial(self._file_match(patterns), above=not _has_project(hook))

    def _file_match(self, patterns: tuple[str, ...]) -> FileMatch:
        match = self._patterns.get(patterns)
        if match is None:
            if self._compile is None:
                own = default_components()
                self._compile, self._follow, self._list = own.file_patterns, own.follow_links, own.list_files
            if self._compile is None:
                raise ConfigError("this engine was put together without a reader of file patterns")
            match = self._patterns[patterns] = self._compile(patterns)
        return match


class _GuardedPaths:
    """The paths that patterns name, compared with folders and globs as text."""

    def __init__(self, patterns: tuple[str, ...], folder: str, follow: Callable[[str], str]) -> None:
        self._folder = folder
        self._follow = follow
        self.is_negated = all(pattern.startswith("!") for pattern in patterns)
        self._patterns = [pattern for pattern in patterns if not pattern.startswith("!")]

    def find_below(self, target: Target) -> list[str]:
        """Return the guarded paths with a fixed location that are in a folder."""
        paths = (self._fixed_path(pattern) for pattern in self._patterns)
        return [path for path in paths if path and self._is_below(path, target) and _may_include(path, target)]

    def may_be_below(self, target: Target) -> bool:
        """Return whether a guarded name without a fixed location may be in a folder."""
        return any(
            _may_include(pattern.rstrip("/").rpartition("/")[2], target)
            for pattern in self._patterns
            if "/" not in pattern.rstrip("/") or pattern.startswith("**/")
        )

    def may_match_glob(self, glob: str) -> bool:
        """Return whether a glob may expand to a guarded name."""
        name = glob.rstrip("/").rpartition("/")[2]
        for pattern in self._patterns:
            parts = [part for part in pattern.split("/") if part and part != "**"]
            if any(fnmatchcase(part, name) for part in parts) and (
                not name.startswith("*") or not parts[-1].startswith(".")
            ):
                return True
        return False

    def _is_below(self, path: str, target: Target) -> bool:
        """Return whether a path is a folder or inside it, by its name or by its resolved links."""
        pairs = ((path, target.path), (self._follow(path), self._follow(target.path)))
        return any(one == top or one.startswith(f"{top.rstrip('/')}/") for one, top in pairs)

    def _fixed_path(self, pattern: str) -> str:
        """Return the path of a pattern up to its first wildcard, or "" where that says nothing."""
        path = "/".join(_fixed_parts(pattern.removeprefix("./"))).rstrip("/")
        if not path or path == "~":
            return ""
        if path.startswith("~"):
            return path
        # an absolute path, or one of the project with a slash before it
        if path.startswith("/") and path.count("/") > 1:
            return normpath(path)
        return normpath(join(self._folder, path.lstrip("/")))


def _fixed_parts(pattern: str) -> list[str]:
    """Return the components of a pattern up to its first wildcard."""
    fixed: list[str] = []
    for part in pattern.split("/"):
        if any(sign in part for sign in "*?["):
            break
        fixed.append(part)
    return fixed


def _may_include(path: str, target: Target) -> bool:
    """Return whether a recursive effect may include a path, by its name."""
    name = path.rstrip("/").rpartition("/")[2]
    if target.only and not any(fnmatchcase(name, only.rpartition("/")[2]) or "*" in name for only in target.only):
        return False
    below = path[len(target.path.rstrip("/")) + 1 :] if path.startswith(f"{target.path.rstrip('/')}/") else name
    return not (target.hides and any(part.startswith(".") and part not in {".", ".."} for part in below.split("/")))


def check_stars(patterns: Iterable[str]) -> None:
    """Refuse patterns of untrusted hooks that a chosen file name could make very slow to match.

    Raises:
        ConfigError: One has too many stars.
    """
    for pattern in patterns:
        parts = pattern.split("/")
        if parts.count("**") > MOST_STARS or any(len(_STARS.findall(part)) > MOST_STARS for part in parts):
            raise ConfigError(
                f'file pattern "{pattern}" may take for ever, and {BEFORE_APPROVAL}: '
                f'write at most {MOST_STARS} stars into one name, and "**" at most {MOST_STARS} times'
            )


def _has_project(hook: Hook) -> bool:
    return bool(hook.root) and hook.layer in _PROJECT_LAYERS


def _base_folder(hook: Hook, event: Event) -> str:
    return hook.root if _has_project(hook) else event.cwd


def _join_alternatives(results: list[GateResult]) -> list[GateResult]:
    """Return the results of gates of which one open gate is enough, the strongest answer taken over by all.

    An unknown answer is stronger than a no: the call may do what that gate is about.
    """
    sure = [result for result in results if result.passed and not result.is_unknown]
    strongest = next(iter(sure or [result for result in results if result.is_unknown]), None)
    if strongest is None:
        return results
    is_unknown = strongest.is_unknown
    enough = f"{strongest.gate} {'are unknown' if is_unknown else 'match'}, and one of them is enough"
    return [
        result
        if (result.passed, result.is_unknown) == (strongest.passed, is_unknown)
        else GateResult(result.gate, strongest.passed, f"{result.reason}; {enough}", is_unknown)
        for result in results
    ]


def _compare(gate: Gate, patterns: tuple[str, ...], paths: tuple[str, ...], first: str | None) -> GateResult:
    if first is not None:
        return GateResult(gate, passed=True, reason=f"{gate} {list(patterns)!r} match {first!r}")
    shown = " or ".join(map(repr, paths))
    return GateResult(gate, passed=False, reason=f"{gate} {list(patterns)!r} do not match {shown}")


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
        missing = next((path for path in required if not has_value(values, path)), None)
        return describe_missing(".".join(missing), event, hook) if missing else ""

    def _template_use(self, hook: Hook) -> _TemplateUse:
        use = self._templates.get(hook.id)
        if use is None or use.hook is not hook:
            use = self._templates[hook.id] = _TemplateUse(
                hook=hook,
                required=command_names(hook) if hook.dialect == OWN_DIALECT and hook.kind == "command" else (),
                uses_file=any(path[0] == "file" for path in hook_names(hook)),
            )
        return use
