"""What a matcher means, which names it is asked about, and how a name leads to the matchers that may want it."""

import fnmatch
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from hookline.core.strangers import LinearMatcher, is_quick
from hookline.core.unfolding import stands_for
from hookline.errors import ConfigError
from hookline.model.dialect import DialectSpec, MatcherStyle
from hookline.model.event import Event

_MCP_PREFIX: Final = "mcp__"
_REGEX_ONLY: Final = re.compile(r"[.^$()\[\]+?\\{}]")
# what stands for itself in both pattern languages, and has one spelling but for capitals
_WORDS: Final = re.compile(r"[\w\s,|-]*", re.ASCII)
_BETWEEN: Final = re.compile(r"[|,]")
_PLAIN: Final = re.compile(r"[\w:/@ -]*", re.ASCII)
# subjects may be whole command lines, with line breaks in them
_FLAGS: Final = re.IGNORECASE | re.DOTALL
_REPEATS: Final = ("*", "?", "{")

Matcher = Callable[[str], bool]


def _compiled(expression: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        # What Python may read in another way some day is no news for the agent, which would get it with the answer.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(expression, _FLAGS)


def matcher_for(style: MatcherStyle, text: str, *, is_strangers: bool = False) -> Matcher:
    """Compile a matcher; an empty one and `*` match everything.

    Names are compared whole and without case: `edit` must not catch `notebook_edit`, and agents spell the
    same tool `Bash` and `bash`. A pattern that uses regular expression syntax is read as one, because the
    pattern language of cli-agent promises to take Claude Code's matchers. A stranger's takes no longer than a name is
    long.

    Raises:
        ConfigError: The text is no regular expression, or a stranger's that may take for ever.
    """
    if text in {"", "*"}:
        return _matches_everything
    if _is_pattern(style, text):
        expression = "|".join(fnmatch.translate(part.strip()) for part in text.split("|"))
    elif style is MatcherStyle.NAMES and _WORDS.fullmatch(text):
        expression = "|".join(re.escape(name) for name in _listed(text))
    else:
        expression = text
    begins = starts(style, text)
    if all(is_whole for _, is_whole in begins):
        return partial(_is_one_of, frozenset(name for name, _ in begins), expression)
    try:
        compiled = _compiled(expression)
    except re.error as problem:
        raise ConfigError(f"matcher {text!r} is no regular expression: {problem}") from None
    if is_strangers and not _is_pattern(style, text) and not is_quick(text):
        return LinearMatcher(f"(?s:.*)(?:{text})(?s:.*)" if _is_searched(style, text) else text)
    if _is_searched(style, text):
        return lambda name: compiled.search(name) is not None
    return lambda name: compiled.fullmatch(name) is not None


def _matches_everything(_name: str) -> bool:
    return True


def _is_one_of(names: frozenset[str], expression: str, name: str) -> bool:
    """Compare plain names, for which no expression has to be compiled; other alphabets have capitals of their own."""
    return name.lower() in names if name.isascii() else re.fullmatch(expression, name, _FLAGS) is not None


def _is_pattern(style: MatcherStyle, text: str) -> bool:
    return style is MatcherStyle.PATTERN and not _REGEX_ONLY.search(text)


def _is_searched(style: MatcherStyle, text: str) -> bool:
    """Tell whether the text may stand anywhere in a name."""
    return style is MatcherStyle.SEARCH or (style is MatcherStyle.NAMES and not _WORDS.fullmatch(text))


def _listed(text: str) -> list[str]:
    return [name for part in _BETWEEN.split(text) if (name := part.strip())]


def names_of(event: Event, spec: DialectSpec | None) -> Iterator[str]:
    """Give every name a matcher may know the event's subject by."""
    if not event.tool:
        yield event.subject
        return
    names = dict.fromkeys([event.tool, event.native_tool, *(_spelled(event.tool, spec) if spec else ())])
    for name in filter(None, names):
        yield name
        # a tool of a server is none of the agent's own, however the agent spells it
        if not event.tool.startswith(_MCP_PREFIX) and not name.startswith((_MCP_PREFIX, "builtin:")):
            yield f"builtin:{name}"


def _spelled(tool: str, spec: DialectSpec) -> tuple[str, ...]:
    """Give every name a dialect has for one of our tools."""
    if not tool.startswith(_MCP_PREFIX):
        own = spec.tools.get(tool, ())
        return own or tuple(name for other in stands_for(tool) for name in spec.tools.get(other, ()))
    server, _, name = tool.removeprefix(_MCP_PREFIX).partition("__")
    return (spec.mcp.format(server=server, tool=name),)


def starts(style: MatcherStyle, text: str) -> tuple[tuple[str, bool], ...]:
    """Say how the names begin that a matcher may want, in small letters, and whether that is the whole name.

    One answer for each alternative. An empty beginning says that nothing is known, and the matcher has to be asked.
    """
    if text in {"", "*"}:
        return (("", False),)
    if _is_searched(style, text):
        return (("", False),)
    if style is MatcherStyle.NAMES:
        return tuple((name.lower(), True) for name in _listed(text)) or (("", False),)
    if _is_pattern(style, text):
        parts = [part.strip() for part in text.split("|")]
    elif "(" in text or "[" in text or "\\" in text:
        # a bar in there may be anything
        parts = [text] if "|" not in text else [""]
    else:
        parts = text.split("|")
    return tuple(_start(part) for part in parts)


def _start(part: str) -> tuple[str, bool]:
    bare = part.removeprefix("^")
    found = _PLAIN.match(bare)
    plain = found[0] if found else ""
    rest = bare[len(plain) :]
    if not rest or rest == "$":
        return plain.lower(), bool(plain)
    # in a regular expression the last character may be the one that need not be there
    return (plain[:-1] if rest.startswith(_REPEATS) else plain).lower(), False
