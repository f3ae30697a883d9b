"""Expand words as a shell does, where the result is certain before the shell runs."""

import re
from collections.abc import Callable
from typing import Final, TypeAlias

Variable: TypeAlias = Callable[[str], str | None]
"""Returns the value of a variable; None when it is not set or not known."""

# Shells set these themselves, whatever they find in their environment.
_SHELLS_OWN: Final = re.compile(
    "_|IFS|PPID|UID|EUID|GROUPS|S?RANDOM|SECONDS|EPOCH.*|LINENO|OPTIND|OPTARG|SHLVL|OLDPWD|DIRSTACK|FUNCNAME|HISTCMD"
    "|PIPESTATUS|SHELLOPTS|PS[1-4]|HOSTNAME|HOSTTYPE|OSTYPE|MACHTYPE|BASH.*"
)
_TOKEN: Final = re.compile(
    r"'(?P<single>[^']*)'"
    r"|\\(?P<escaped>[^\n])"
    r"|\$(?:\{(?P<braced>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*))"
    r'|(?P<double>")'
    r"|(?P<plain>[^\s'\"\\$`;&|()<>*?\[{}~]+)",
    re.ASCII,
)
_IN_DOUBLE: Final = re.compile(
    r"\\(?P<escaped>[$`\"\\])"
    r"|\$(?:\{(?P<braced>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*))"
    r"|(?P<end>\")"
    r"|(?P<plain>[^\"\\$`]+|\\(?![\n$`\"\\]))",
    re.ASCII,
)
# What a shell would do more with when it stands in the value of a variable without quotes.
_SPLITS: Final = re.compile(r"[\s*?\[\\]")


def expand(word: str, variable: Variable) -> str | None:
    """Return a word's text after expansion; None when only the shell can know it, or it may become several words."""
    if "{{" in word:  # a template, or text that looks like one
        return None
    parts: list[str] = []
    position = 0
    if word.startswith("~/") and (variable("HOME") or "").startswith("/"):
        parts.append(variable("HOME") or "")
        position = 1
    elif word.startswith("~"):
        return None
    quoted = False
    while position < len(word):
        found = (_IN_DOUBLE if quoted else _TOKEN).match(word, position)
        part = _expand_token(found, variable, quoted=quoted) if found else None
        if found is None or part is None:
            return None
        quoted ^= found.lastgroup in {"double", "end"}
        parts.append(part)
        position = found.end()
    return None if quoted else "".join(parts)


def _expand_token(found: re.Match[str], variable: Variable, *, quoted: bool) -> str | None:
    match found.lastgroup:
        case "double" | "end":
            return ""
        case "braced" | "bare":
            name = found[found.lastgroup]
            value = None if _SHELLS_OWN.fullmatch(name) else variable(name)
            # nothing at all, without quotes, may be no word
            return None if value is None or (not quoted and (not value or _SPLITS.search(value))) else value
        case group:
            return found[group or 0]
