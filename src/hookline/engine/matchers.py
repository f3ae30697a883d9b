"""Compile matchers, and collect the names that an event's subject has for them."""

import fnmatch
import re
import warnings
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import Final

from msgspec import Struct

from hookline.engine.call_splitting import equivalent_tools
from hookline.errors import ConditionError, ConfigError
from hookline.model.dialect import MCP_PREFIX, DialectSpec, MatcherStyle
from hookline.model.event import OTHER, TOOLS, Event
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


def _compile(expression: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # a warning on stderr would reach the agent with the answer
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(expression, _FLAGS)


def matcher_for(style: MatcherStyle, text: str, *, is_untrusted: bool = False) -> Matcher:
    """Compile a matcher; an empty one and `*` match everything.

    Names are compared whole and without case: `edit` must not match `notebook_edit`, and agents spell the same tool
    `Bash` and `bash`. A pattern that uses regular expression syntax is compiled as one, because the pattern language of
    cli-agent promises to take Claude Code's matchers. That of an untrusted hook is matched in linear time.

    Raises:
        ConfigError: The text is no regular expression, or needs backtracking in an untrusted hook.
    """
    if text in {"", "*"}:
        return _matches_everything
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
        compiled = _compile(expression)
    except re.error as problem:
        raise ConfigError(f"matcher {text!r} is no regular expression: {problem}") from None
    if is_untrusted and not _is_pattern(style, text) and not is_backtracking_safe(text):
        return LinearMatcher(f"(?s:.*)(?:{text})(?s:.*)" if _is_searched(style, text) else text)
    if _is_searched(style, text):
        return lambda name: compiled.search(name) is not None
    return lambda name: compiled.fullmatch(name) is not None


def _matches_everything(_name: str) -> bool:
    return True


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
