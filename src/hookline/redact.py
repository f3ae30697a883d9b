"""Mask secrets in text that is about to be shown.

A mask that is wrong costs a person a look into the trace; a key on a screen, in a log of CI or in a model's
context costs the key. Every pattern reads each character a bounded number of times, whatever the text: runs are
possessive, and a pattern cannot start in the middle of a run that it reads.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Final

MASK: Final = "…[secret]"

# How much of a key is left to see, so that a person knows which one it is.
_SHOWN: Final = 6

# not in the middle of a word, so that no run is read twice
_START: Final = r"(?<![A-Za-z0-9_-])"

# Names of things are words; keys have a digit among their first characters.
_DIGIT: Final = r"(?=[A-Za-z_.~+/=-]{0,40}+[0-9])"

_KEYS: Final = (
    # OpenAI, Anthropic and others who followed; Stripe
    rf"{_START}[sr]k-{_DIGIT}[A-Za-z0-9_-]{{16,}}+",
    rf"{_START}[spr]k_(?:live|test)_[A-Za-z0-9]{{16,}}+",
    # GitHub, GitLab
    rf"{_START}gh[pousr]_[A-Za-z0-9]{{20,}}+",
    rf"{_START}github_pat_[A-Za-z0-9_]{{20,}}+",
    rf"{_START}glpat-[A-Za-z0-9_-]{{16,}}+",
    # AWS, Google, Slack
    rf"{_START}A[KS]IA[A-Z0-9]{{16}}(?![A-Za-z0-9])",
    rf"{_START}AIza[A-Za-z0-9_-]{{30,}}+",
    rf"{_START}ya29\.[A-Za-z0-9_-]{{20,}}+",
    rf"{_START}xox[abeprs]-[A-Za-z0-9-]{{10,}}+",
    # Hugging Face, npm, PyPI
    rf"{_START}hf_[A-Za-z0-9]{{30,}}+",
    rf"{_START}npm_[A-Za-z0-9]{{30,}}+",
    rf"{_START}pypi-[A-Za-z0-9_-]{{40,}}+",
    # JSON web tokens
    rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]*+",
)

# what is said about a key or a password rather than being one
_PLACEHOLDER: Final = r"(?!(?:none|null|true|false|required|missing|invalid|string|str|bytes|optional)\b)"
# a variable, a mask and an open bracket are no value; nor is what is called
_FIRST: Final = r"[^\s\"'`,;&|()<>{}\[\]$*\\…]"
_VALUE: Final = r"[^\s\"'`,;&()…]"
_NO_CALL: Final = r"(?!\()"

_PHRASE: Final = r"(?i:passw(?:or)?d|passphrase)"
_KEY: Final = r"(?i:secret|token|api[_-]?key|access[_-]?key(?:[_-]id)?|private[_-]?key|client[_-]?secret)"
_GIVEN: Final = r"[\"']?[ \t]{0,4}+[:=][ \t]{0,4}+"
_AFTER: Final = rf"{_GIVEN}[\"']?"

_NAMED: Final = (
    # what comes after the name, the name stays
    rf"{_PHRASE}{_AFTER}(?i:{_PLACEHOLDER})(?P<hidden>{_FIRST}{_VALUE}{{3,}}+){_NO_CALL}",
    rf"{_PHRASE}{_GIVEN}(?P<quote>[\"'])(?P<hidden>[^\"'\n]{{1,128}}+)(?P=quote)",
    rf"{_KEY}{_AFTER}(?P<hidden>(?={_FIRST})(?={_VALUE}{{6}})(?={_VALUE}{{0,40}}[0-9]|{_VALUE}{{20}}){_VALUE}++){_NO_CALL}",
    rf"(?i:authorization){_AFTER}(?i:basic|bearer|token)?[ \t]{{0,4}}+(?P<hidden>[A-Za-z0-9._~+/=-]{{8,}}+)",
    rf"(?i:\bbearer)[ \t]{{1,4}}+(?P<hidden>{_DIGIT}[A-Za-z0-9._~+/=-]{{16,}}+)",
    r"://[^\s/:@?#]{0,128}:(?P<hidden>[^\s/@]{1,128}+)@",
    r"://(?P<hidden>[A-Za-z0-9_-]{20,128}+)@",
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?P<hidden>(?:[A-Za-z0-9+/=\s\\:,]|-(?!----))*+)",
)


def redact(text: str) -> str:
    """Mask what looks like a key, a token or a password; the first characters of a key stay."""
    for pattern, replaced in _patterns():
        text = pattern.sub(replaced, text)
    return text


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]:
    # made when first needed: a command that shows nothing does not wait for them
    keys = tuple((re.compile(pattern), _shortened) for pattern in _KEYS)
    return keys + tuple((re.compile(pattern), _named) for pattern in _NAMED)


def _shortened(found: re.Match[str]) -> str:
    return f"{found[0][:_SHOWN]}{MASK}"


def _named(found: re.Match[str]) -> str:
    if MASK in found["hidden"] or found.string.startswith(MASK, found.end("hidden")):
        return found[0]
    before = found.start("hidden") - found.start()
    after = found.end("hidden") - found.start()
    return f"{found[0][:before]}{MASK}{found[0][after:]}"
