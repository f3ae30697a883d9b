"""Match what an event is about: compiled matchers, the names they are compared with, and an index of hooks by both.

The index finds hooks from tool names and paths. A lookup never misses a hook: a matcher or pattern without a usable prefix
or name is always a candidate.
"""

import fnmatch
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from itertools import chain
from typing import Final

from msgspec import Struct

from hookline.effects import event_paths
from hookline.effects.effects import Effects
from hookline.effects.tools import find_effects
from hookline.engine.call_splitting import equivalent_tools
from hookline.errors import ConditionError, ConfigError
from hookline.model.dialect import MCP_PREFIX, DialectSpec, MatcherStyle
from hookline.model.event import OTHER, TOOLS, Event
from hookline.model.hook import Hook
from hookline.model.names import (
    BUILTIN_PREFIX,
    alternatives,
    is_word,
    mcp_names,
    names_of_tool,
    own_names_of_tool,
    primary_name,
)

_REGEX_ONLY: Final = re.compile(r"[.^$()\[\]+?\\{}]")
# characters that stand for themselves in both pattern languages
_WORDS: Final = re.compile(r"[\w\s,|-]*", re.ASCII)
_BETWEEN: Final = re.compile(r"[|,]")
_PLAIN: Final = re.compile(r"[\w:/@ -]*", re.ASCII)
# subjects may be command lines with line breaks
_FLAGS: Final = re.IGNORECASE | re.DOTALL
_REPEATS: Final = ("*", "?", "{")

# Each repeat may try every position of a name for every position that the others try.
MOST_REPEATS: Final = 2
# `\*` and `[*+]` count, too: one too many is safe
_REPEAT: Final = re.compile(r"(?<!\()[*+?{][?+]?")
_REPEATED_GROUP: Final = re.compile(r"\)[*+?{]")
BEFORE_APPROVAL: Final = "hooks that need approval are matched before they have it"

Matcher = Callable[[str], bool]

# a name is looked up once for each prefix length, so there must be few
_LONGEST_PREFIX: Final = 24
# a component of a path pattern without wildcards
_NAME: Final = re.compile(r"[\w.@+-]+", re.ASCII)
_SUFFIX: Final = re.compile(r"\*[\w.@+-]*(\.[\w@+-]+)", re.ASCII)
_SEPARATORS: Final = re.compile(r"[/\\]")

# index keys of paths: "/name" for a component, ".py" for a suffix
PathKeys = frozenset[str]
SpecOf = Callable[[str], DialectSpec | None]


class LinearMatcher:
    """A regular expression that RE2 matches in linear time.

    Hooks of a project are matched before they are approved, so a matcher with catastrophic backtracking (ReDoS) must not
    block the agent.
    """

    def __init__(self, expression: str) -> None:
        """Compile it.

        Raises:
            ConfigError: It can only be matched by backtracking.
        """
        from hookline.conditions.regex import compile_regex  # noqa: PLC0415 - loads RE2, which few matchers need

        try:
            # by itself first: a closing parenthesis too many must not close the group around it
            compile_regex(expression)
            self._regex = compile_regex(rf"(?is)\A(?:{expression})\z")
        except ConfigError:
            raise ConfigError(
                f"matcher {expression!r} may take for ever, and {BEFORE_APPROVAL}: "
                f"repeat at most {MOST_REPEATS} times and no groups, or look neither around nor back"
            ) from None

    def __call__(self, name: str) -> bool:
        """Return whether a name matches; True where that cannot be decided, so that a guard runs once too often."""
        # Python ignores the case of letters of all alphabets, RE2 does not
        if not name.isascii():
            return True
        try:
            return self._regex.matches(name)
        except ConditionError:
            return True


def is_backtracking_safe(expression: str) -> bool:
    """Return whether Python matches a regular expression with little backtracking."""
    return not _REPEATED_GROUP.search(expression) and len(_REPEAT.findall(expression)) <= MOST_REPEATS


def matcher_for(style: MatcherStyle, text: str, *, is_untrusted: bool = False) -> Matcher:
    """Compile a matcher; an empty one and `*` match everything.

    Names are compared whole and without case: `edit` must not match `notebook_edit`, and agents spell the same tool
    `Bash` and `bash`. A pattern that uses regular expression syntax is compiled as one, because the pattern language of
    cli-agent promises to take Claude Code's matchers. That of an untrusted hook is matched in linear time.

    Raises:
        ConfigError: The text is no regular expression, or needs backtracking in an untrusted hook.
    """
    if text in {"", "*"}:
        return lambda _name: True
    if _is_pattern(style, text):
        expression = "|".join(fnmatch.translate(part.strip()) for part in _BETWEEN.split(text))
    elif style is MatcherStyle.NAMES and _WORDS.fullmatch(text):
        expression = "|".join(re.escape(name) for name in _split_names(text))
    else:
        expression = text
    prefixes = matcher_prefixes(style, text)
    if all(is_whole for _, is_whole in prefixes):
        return partial(_is_one_of, frozenset(name for name, _ in prefixes), expression)
    try:
        with warnings.catch_warnings():
            # a warning on stderr would reach the agent with the answer
            warnings.simplefilter("ignore", FutureWarning)
            compiled = re.compile(expression, _FLAGS)
    except re.error as problem:
        raise ConfigError(f"matcher {text!r} is no regular expression: {problem}") from None
    if is_untrusted and not _is_pattern(style, text) and not is_backtracking_safe(text):
        return LinearMatcher(f"(?s:.*)(?:{text})(?s:.*)" if _is_searched(style, text) else text)
    if _is_searched(style, text):
        return lambda name: compiled.search(name) is not None
    return lambda name: compiled.fullmatch(name) is not None


def _is_one_of(names: frozenset[str], expression: str, name: str) -> bool:
    """Compare plain names without a regular expression; names in other alphabets need Unicode case folding."""
    return name.lower() in names if name.isascii() else re.fullmatch(expression, name, _FLAGS) is not None


def _is_pattern(style: MatcherStyle, text: str) -> bool:
    return style is MatcherStyle.PATTERN and not _REGEX_ONLY.search(text)


def _is_searched(style: MatcherStyle, text: str) -> bool:
    """Return whether the text may match anywhere in a name."""
    return style is MatcherStyle.SEARCH or (style is MatcherStyle.NAMES and not _WORDS.fullmatch(text))


def _split_names(text: str) -> list[str]:
    return [name for part in _BETWEEN.split(text) if (name := part.strip())]


class SubjectNames(Struct, frozen=True):
    """The names of an event's subject.

    `own` are the canonical names and those of the calling agent and of the hook's dialect; `every` has those of all other
    dialects as well.
    """

    own: tuple[str, ...]
    every: tuple[str, ...]


class SubjectMatcher(Struct, frozen=True):
    """A matcher over all names of a subject.

    `wide` is compared with the names of every dialect. `narrow` is compared with the subject's own names alone: a pattern
    for canonical names (`write*`) must not match a tool because another dialect happens to call it like that
    (`write_todos`). `whole` is the text without its negative lookaheads: a name that matches it but not `wide` was
    excluded on purpose, and with it the tool, whatever other names the tool has.
    """

    wide: Matcher | None
    narrow: Matcher | None = None
    whole: Matcher | None = None

    def __call__(self, names: SubjectNames) -> bool:
        """Return whether the subject matches."""
        wide, narrow, whole = self.wide, self.narrow, self.whole
        if narrow is not None and any(map(narrow, names.own)):
            return True
        if wide is None or not any(map(wide, names.every)):
            return False
        return whole is None or not any(whole(name) and not wide(name) for name in names.every)


def matcher_of_subject(spec: DialectSpec | None, text: str, *, is_untrusted: bool = False) -> SubjectMatcher:
    """Compile the matcher of a hook of a dialect.

    Raises:
        ConfigError: The text is no regular expression, or needs backtracking in an untrusted hook.
    """
    style = spec.matcher if spec else MatcherStyle.PATTERN
    compiled = matcher_for(style, text, is_untrusted=is_untrusted)
    if not _takes_every_name(spec) or text in {"", "*"}:
        return SubjectMatcher(compiled)
    if "(?!" in text:
        try:
            return SubjectMatcher(compiled, whole=matcher_for(style, _without_lookaheads(text)))
        except ConfigError:
            return SubjectMatcher(compiled)
    narrow: list[str] = []
    wide: list[str] = []
    for part in alternatives(text):
        is_canonical = not is_word(part) and any(map(matcher_for(style, part, is_untrusted=is_untrusted), TOOLS))
        (narrow if is_canonical else wide).append(part)
    if not narrow:
        return SubjectMatcher(compiled)
    return SubjectMatcher(
        matcher_for(style, "|".join(wide), is_untrusted=is_untrusted) if wide else None,
        matcher_for(style, "|".join(narrow), is_untrusted=is_untrusted),
    )


def _without_lookaheads(text: str) -> str:
    """Remove `(?!…)` and `(?<!…)` with their contents."""
    rest = ""
    depth = 0
    position = 0
    while position < len(text):
        if text[position] == "\\":
            rest += "" if depth else text[position : position + 2]
            position += 2
            continue
        if not depth and text.startswith(("(?!", "(?<!"), position):
            depth = 1
        elif depth:
            depth += {"(": 1, ")": -1}.get(text[position], 0)
        else:
            rest += text[position]
        position += 1
    return rest


def _takes_every_name(spec: DialectSpec | None) -> bool:
    """Return whether matchers take the names of every dialect: those of an agent's dialect mean that agent's tools."""
    return spec is None or (not spec.is_agent and spec.matcher in {MatcherStyle.PATTERN, MatcherStyle.REGEX})


def names_of(event: Event, spec: DialectSpec | None) -> SubjectNames:
    """Return every name that a matcher of a dialect may use for the event's subject."""
    if not event.tool:
        return SubjectNames((event.subject,), (event.subject,))
    native = _native_names(event.tool, spec) if spec else ()
    return _names_of_call(event.tool, event.native_tool, event.host, native, _takes_every_name(spec))


@lru_cache(2048)
def _names_of_call(
    tool: str,
    called: str,
    agent: str,
    native: tuple[str, ...],
    takes_every_name: bool,  # noqa: FBT001 - part of the cache key
) -> SubjectNames:
    first = [tool, called or primary_name(tool, agent), *native]
    if tool not in TOOLS and not tool.startswith((MCP_PREFIX, OTHER)):
        first.append(f"{OTHER}{tool}")
    if not takes_every_name:
        own = _with_prefix(first, tool)
        return SubjectNames(own, own)
    if tool.startswith(MCP_PREFIX):
        return SubjectNames(_with_prefix(first, tool), _with_prefix([*first, *mcp_names(tool)], tool))
    return SubjectNames(
        _with_prefix([*first, *own_names_of_tool(tool, agent)], tool),
        _with_prefix([*first, *names_of_tool(tool, agent)], tool),
    )


def _with_prefix(names: Iterable[str], tool: str) -> tuple[str, ...]:
    """Add each name with `builtin:` in front, except for MCP tools."""
    prefixed: dict[str, None] = {}
    for name in filter(None, names):
        prefixed[name] = None
        if not tool.startswith(MCP_PREFIX) and not name.startswith((MCP_PREFIX, BUILTIN_PREFIX)):
            prefixed[f"{BUILTIN_PREFIX}{name}"] = None
    return tuple(prefixed)


def _native_names(tool: str, spec: DialectSpec) -> tuple[str, ...]:
    """Return every name a dialect has for a canonical tool."""
    if not tool.startswith(MCP_PREFIX):
        own = spec.tools.get(tool, ())
        return own or tuple(name for other in equivalent_tools(tool) for name in spec.tools.get(other, ()))
    server, _, name = tool.removeprefix(MCP_PREFIX).partition("__")
    return (spec.mcp.format(server=server, tool=name),)


def matcher_prefixes(style: MatcherStyle, text: str) -> tuple[tuple[str, bool], ...]:
    """Return the lower-case prefix of the names that each alternative matches, and whether it is the whole name.

    An empty prefix means that nothing is known, and the matcher has to be called.
    """
    if text in {"", "*"} or _is_searched(style, text):
        return (("", False),)
    if style is MatcherStyle.NAMES:
        return tuple((name.lower(), True) for name in _split_names(text)) or (("", False),)
    if _is_pattern(style, text):
        parts = [part.strip() for part in _BETWEEN.split(text)]
    elif "(" in text or "[" in text or "\\" in text:
        # a "|" inside a group or a class does not separate alternatives
        parts = [text] if "|" not in text else [""]
    else:
        parts = text.split("|")
    return tuple(_prefix(part) for part in parts)


def _prefix(part: str) -> tuple[str, bool]:
    bare = part.removeprefix("^")
    match = _PLAIN.match(bare)
    plain = match[0] if match else ""
    rest = bare[len(plain) :]
    if not rest or rest == "$":
        return plain.lower(), bool(plain)
    # a quantifier makes the last character optional
    return (plain[:-1] if rest.startswith(_REPEATS) else plain).lower(), False


def has_filters(hook: Hook) -> bool:
    """Return whether a hook is about certain files, or about what calls do."""
    return bool(hook.files or hook.writes or hook.deletes or hook.reads or hook.runs or hook.urls)


class EventFacts:
    """The effects and paths of one event, computed on first use."""

    def __init__(self, event: Event, *, follow: Callable[[str], str]) -> None:
        self.event = event
        self._follow = follow
        self._real: dict[str, str] = {}

    @cached_property
    def effects(self) -> Effects:
        """What the event's call does."""
        return find_effects(self.event)

    @cached_property
    def named_keys(self) -> PathKeys | None:
        """The keys of the files the event names or, at tool events, touches; None for any file."""
        keys = path_keys(event_paths.list_event_paths(self.event), self.event.cwd)
        if self.event.name not in event_paths.TOOL_EVENTS or keys is None:
            return keys
        written, read = self.written_keys, self.read_keys
        return None if written is None or read is None else keys | written | read

    @cached_property
    def written_keys(self) -> PathKeys | None:
        """The keys of the files that the event's call writes; None for any file."""
        return self._effect_keys("writes", self.effects.writes)

    @cached_property
    def read_keys(self) -> PathKeys | None:
        """The keys of the files that the event's call reads; None for any file."""
        return self._effect_keys("reads", self.effects.reads)

    def real(self, path: str) -> str:
        """Return the path with its links resolved."""
        real = self._real.get(path)
        if real is None:
            real = self._real[path] = self._follow(path)
        return real

    def _effect_keys(self, kind: str, paths: tuple[str, ...]) -> PathKeys | None:
        targets = self.effects.targets.get(kind, ())
        if kind in self.effects.unknown or any(one.pattern or one.is_recursive or one.is_partial for one in targets):
            return None
        return path_keys((*paths, *map(self.real, paths)), self.event.cwd)


class IndexBucket:
    """The hooks with one matcher, by the files they are about."""

    def __init__(self, matches: SubjectMatcher) -> None:
        self.matches = matches
        # whether a hook here looks at more of an event than its subject, so that plans cannot be cached
        self.depends_on_event = False
        self._others: list[Hook] = []
        self._by_named: dict[str, list[Hook]] = {}
        self._by_written: dict[str, list[Hook]] = {}
        self._by_read: dict[str, list[Hook]] = {}

    def add(self, hook: Hook) -> None:
        """Add a hook under the keys of the files it names, or else of those that it wants to be touched."""
        self.depends_on_event |= has_filters(hook) or bool(hook.condition)
        # one of the three is enough, and what is deleted is written as well
        touched = (
            (hook.writes, self._by_written),
            (hook.deletes, self._by_written),
            (hook.reads, self._by_read),
        )
        for tables in (((hook.files, self._by_named),), touched):
            keyed = [(pattern_keys(patterns), table) for patterns, table in tables if patterns]
            if keyed and all(keys for keys, _ in keyed):
                for keys, table in keyed:
                    for key in keys:
                        table.setdefault(key, []).append(hook)
                return
        self._others.append(hook)

    def candidates(self, facts: EventFacts) -> Iterator[Hook]:
        """Yield the hooks that may be about these files; one may come more than once."""
        yield from self._others
        # the facts of an event are computed only where a hook asks for them
        if self._by_named:
            yield from _look_up(self._by_named, facts.named_keys)
        if self._by_written:
            yield from _look_up(self._by_written, facts.written_keys)
        if self._by_read:
            yield from _look_up(self._by_read, facts.read_keys)


def _look_up(table: Mapping[str, list[Hook]], keys: PathKeys | None) -> Iterator[Hook]:
    return chain.from_iterable(table.values() if keys is None else (table.get(key, ()) for key in keys))


def pattern_keys(patterns: Iterable[str]) -> PathKeys:
    """Return keys of which every path that the patterns match has at least one; empty where there are none."""
    keys: set[str] = set()
    for pattern in patterns:
        # a negated pattern does not make the others match more
        if pattern.startswith("!"):
            continue
        # the last component is the most selective; a path below a matching folder has the folder's name in it
        key = next((key for part in reversed(pattern.split("/")) if part and (key := _part_key(part))), "")
        if not key:
            return frozenset()
        keys.add(key)
    return frozenset(keys)


def _part_key(part: str) -> str:
    if _NAME.fullmatch(part):
        return "" if part in {".", ".."} else f"/{part}"
    suffix = _SUFFIX.fullmatch(part)
    return suffix[1] if suffix else ""


def path_keys(paths: Iterable[str], cwd: str) -> PathKeys | None:
    """Return every key of paths, or None when their location is not known."""
    keys: set[str] = set()
    for path in paths:
        # neither the home folder nor the parent of an unknown folder is known here
        if path.startswith("~") or (not cwd and ".." in path):
            return None
        for part in _SEPARATORS.split(os.path.join(cwd, path)):  # noqa: PTH118 - text only
            keys.add(f"/{part}")
            keys.add(f".{part.rpartition('.')[2]}")
    return frozenset(keys)


class _DialectIndex:
    """The buckets of one dialect, by the names their matchers match."""

    def __init__(self, style: MatcherStyle) -> None:
        self._style = style
        self._buckets: dict[SubjectMatcher, IndexBucket] = {}
        self._exact: dict[str, list[IndexBucket]] = {}
        self._prefixes: dict[str, list[IndexBucket]] = {}
        self._lengths: set[int] = set()
        self._others: list[IndexBucket] = []

    def add(self, hook: Hook, matcher: SubjectMatcher) -> None:
        # by matcher, not by text: an untrusted hook may match the same text in another way
        bucket = self._buckets.get(matcher)
        if bucket is None:
            bucket = self._buckets[matcher] = IndexBucket(matcher)
            prefixes = matcher_prefixes(self._style, hook.matcher)
            if not all(text for text, _ in prefixes):
                self._others.append(bucket)
                prefixes = ()
            for text, is_whole in prefixes:
                if is_whole:
                    self._exact.setdefault(text, []).append(bucket)
                else:
                    prefix = text[:_LONGEST_PREFIX]
                    self._prefixes.setdefault(prefix, []).append(bucket)
                    self._lengths.add(len(prefix))
        bucket.add(hook)

    def find(self, names: SubjectNames) -> Iterator[IndexBucket]:
        """Yield the buckets whose matcher matches one of the names."""
        if all(map(str.isascii, names.every)):
            lower = list(map(str.lower, names.every))
            exact = (self._exact.get(name, ()) for name in lower)
            prefixed = (self._prefixes.get(name[:length], ()) for name in lower for length in self._lengths)
            buckets: Iterable[IndexBucket] = chain(self._others, *exact, *prefixed)
        else:
            # case folding of other alphabets is left to the matchers
            buckets = self._buckets.values()
        return (bucket for bucket in dict.fromkeys(buckets) if bucket.matches(names))


class HookIndex:
    """The hooks of one event, by what they are about."""

    def __init__(self, hooks: Iterable[Hook], spec_of: SpecOf, matcher_of: Callable[[Hook], SubjectMatcher]) -> None:
        self._spec_of = spec_of
        self._by_dialect: dict[str, _DialectIndex] = {}
        for hook in hooks:
            index = self._by_dialect.get(hook.dialect)
            if index is None:
                spec = spec_of(hook.dialect)
                index = self._by_dialect[hook.dialect] = _DialectIndex(spec.matcher if spec else MatcherStyle.PATTERN)
            index.add(hook, matcher_of(hook))

    def find(self, event: Event) -> tuple[IndexBucket, ...]:
        """Return the buckets of every hook whose matcher matches the event."""
        buckets: dict[IndexBucket, None] = {}
        for dialect, index in self._by_dialect.items():
            buckets |= dict.fromkeys(index.find(names_of(event, self._spec_of(dialect))))
        return tuple(buckets)
