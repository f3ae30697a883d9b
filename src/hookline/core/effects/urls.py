"""Find URLs, and say whether patterns mean one."""

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import SplitResult, urlsplit

from hookline.core.effects.found import Found
from hookline.errors import ConfigError

_URL: Final = re.compile(r"\bhttps?://[^\s'\"<>|;`{}\\^]+", re.IGNORECASE)
# what a sentence puts behind a URL
_BEHIND: Final = ".,:!?)]"
_PORTS: Final = {"http": 80, "https": 443}
# an address with colons of its own stands in brackets
_WITH_PORT: Final = re.compile(r"(?:\[([^\]]*)\]|([^:\[\]]*)):([0-9*]+)")
# a number for an address, which programs read in more than one way; four plain numbers are the usual one
_NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*", re.IGNORECASE)
_ADDRESS: Final = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")

UrlMatch = Callable[[str], bool]


def urls_in(text: str) -> tuple[str, ...]:
    """Give the URLs of the web in a text."""
    return tuple(dict.fromkeys(found.rstrip(_BEHIND) for found in _URL.findall(text)))


def reach(found: Found, url: str) -> None:
    """Add a URL that is fetched; one that may lead elsewhere makes the others uncertain."""
    found.add("urls", (url,))
    parts = _split(url)
    if parts is None or parts.scheme.lower() not in _PORTS or not parts.hostname or _is_odd(parts.hostname):
        found.unsure("urls", "reads")


def _is_odd(host: str) -> bool:
    """Say whether a host has more than one spelling: other alphabets, signs for letters, and numbers."""
    if not host.isascii() or "%" in host or ":" in host:
        return True
    host = host.rstrip(".")
    return _NUMERIC.fullmatch(host) is not None and _ADDRESS.fullmatch(host) is None


def _split(url: str) -> SplitResult | None:
    # browsers and programs do not agree on what these mean
    if "\\" in url or any(sign.isspace() or not sign.isprintable() for sign in url):
        return None
    try:
        return urlsplit(url)
    except ValueError:
        return None


def url_patterns(patterns: Iterable[str]) -> UrlMatch:
    """Compile patterns: a host, which means everything below it as well, or the beginning of a URL.

    `*` stands for anything. `example.com` means `https://api.example.com/x`, too; `https://example.com/admin/` means
    what begins so, and without a scheme both of them.

    Raises:
        ConfigError: A pattern says nothing.
    """
    asked = [_pattern(pattern) for pattern in patterns]

    def matches(url: str) -> bool:
        parts = _split(url)
        # what cannot be read may be anywhere
        return parts is None or any(one(parts) for one in asked)

    return matches


def _pattern(pattern: str) -> Callable[[SplitResult], bool]:
    bare = pattern.strip()
    if not bare:
        raise ConfigError('a URL pattern is empty; write a host such as "example.com"')
    scheme, has_scheme, rest = bare.rpartition("://")
    host, slash, path = rest.partition("/")
    is_scheme = _glob(scheme) if has_scheme else None
    found = _WITH_PORT.fullmatch(host)
    # the port counts where the pattern has one
    has_port = found is not None
    bare_host = f"{found[1] or found[2]}:{found[3]}" if found else host.strip("[]")
    is_host = _glob(bare_host, f"*.{bare_host}")
    is_path = _glob(f"/{path}", f"/{path}*") if slash else None

    def matches(parts: SplitResult) -> bool:
        name = (parts.hostname or "").rstrip(".")
        try:
            named = f"{name}:{parts.port or _PORTS.get(parts.scheme.lower(), '')}" if has_port else name
        except ValueError:
            return True
        if not is_host(named) or (is_scheme is not None and not is_scheme(parts.scheme)):
            return False
        whole = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        # a path that is spelled with signs for letters, or goes up again, may be any path
        return is_path is None or is_path(whole) or "%" in parts.path or "/." in parts.path or "//" in parts.path

    return matches


def _glob(*patterns: str) -> Callable[[str], bool]:
    asked = [re.compile(fnmatch.translate(pattern), re.IGNORECASE) for pattern in patterns]
    return lambda text: any(one.match(text) for one in asked)
