"""Requirements of hooks and the facts that they ask for, and parsers for them: `git>=2.30`, `tcp://localhost:5432`, `facts.git`.

Each function raises ValueError with what was wanted, so that a mistake is found when a file is read, and not on the
day the tool is missing.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from operator import ge, gt, le, lt
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from hookline.model.event import Ability
from hookline.text import suggest


class Needs(Struct, frozen=True, kw_only=True):
    """What has to be there for a hook to run.

    `tools` are programs on the search path, with a version if one is wanted (`git>=2.30`); `files` are paths,
    relative ones counted from the hook's root; `services` are `tcp://host:port` or URLs that answer; `env` are
    variables that are set and not empty. `answers` are what its answers have to be able to do (`ask`, `rewrite_args`,
    …): where an agent cannot, that is said when the hook is loaded, and the answer becomes what is declared for it.
    """

    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


class Caching(Struct, frozen=True, kw_only=True):
    """What an answer depends on, and for how many seconds it may be given again.

    `by` are paths into the event (`args.command`, `file.path`); none means everything the event says. `files` and
    `env` are what the hook reads besides.
    """

    seconds: float
    by: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    env: tuple[str, ...] = ()


Version = tuple[int, ...]

_TOOL: Final = re.compile(r"([\w.+-]+)\s*(.*)", re.ASCII | re.DOTALL)
_BOUND: Final = re.compile(r"(>=|<=|==|!=|=|>|<)\s*v?(\d{1,9}(?:\.\d{1,9}){0,9})(?:\.[x*])?", re.ASCII)
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# who one is, and what is asked for: before the last @, and behind the question mark
_SECRET: Final = re.compile(r"(?<=//).*(?=@)|(?<=\?).*", re.DOTALL)
_PORTS: Final = {"http": 80, "https": 443, "tcp": 0}


_ORDERS: Final[Mapping[str, Callable[[Version, Version], bool]]] = {">=": ge, "<=": le, ">": gt, "<": lt}


class NeededTool(Struct, frozen=True):
    """A program on the search path, and the bounds of its version."""

    name: str
    bounds: tuple[tuple[str, Version], ...] = ()

    def accepts(self, version: Version) -> bool:
        """Return whether a version is within all bounds."""
        for sign, wanted in self.bounds:
            # 2.30 is 2.30.0
            size = max(len(version), len(wanted))
            found, bound = (one + (0,) * (size - len(one)) for one in (version, wanted))
            # 20 means any 20.x
            is_part = found[: len(wanted)] == wanted
            if not (_ORDERS[sign](found, bound) if sign in _ORDERS else is_part != (sign == "!=")):
                return False
        return True


class NeededService(Struct, frozen=True):
    """Something that answers: `scheme` is tcp, unix, http or https; `path` is a socket's file, or an URL's."""

    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""


def parse_tool(text: str) -> NeededTool:
    """Read a program with the version that is wanted, as in `node >= 20, < 23`."""
    found = _TOOL.fullmatch(text.strip())
    if found is None:
        raise ValueError(f'wanted a program\'s name such as git, or git>=2.30, got "{text}"')
    name, rest = found.groups()
    bounds = []
    for part in rest.split(",") if rest else ():
        bound = _BOUND.fullmatch(part.strip())
        if bound is None:
            raise ValueError(f'wanted a version such as {name}>=2.30 or {name} >= 20, < 23, got "{text}"')
        bounds.append((bound[1], tuple(int(number) for number in bound[2].split("."))))
    return NeededTool(name, tuple(bounds))


def parse_service(text: str) -> NeededService:
    """Read where a service answers."""
    try:
        address = urlsplit(text)
        port = address.port or _PORTS.get(address.scheme, 0)
    except ValueError as problem:
        raise ValueError(f'"{_redact_address(text)}" cannot be read: {problem}') from None
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        raise ValueError(f"wanted an address without blanks, got {_redact_address(text)!r}")
    if address.scheme == "unix" and not address.netloc and address.path.startswith("/"):
        return NeededService("unix", path=address.path)
    if address.scheme not in _PORTS or not address.hostname or not port:
        wanted = "tcp://localhost:5432, unix:///run/docker.sock or http://localhost:8080/health"
        raise ValueError(f'wanted an address such as {wanted}, got "{_redact_address(text)}"')
    if address.username or address.password:
        raise ValueError(f"wanted an address without a user and a password, got one for {address.hostname}")
    query = f"?{address.query}" if address.query else ""
    return NeededService(address.scheme, address.hostname, port, f"{address.path or '/'}{query}")


def _redact_address(text: str) -> str:
    """Leave out of an address what may be a secret: people paste the one that their program connects with."""
    return _SECRET.sub("…", text)


def parse_variable(text: str) -> str:
    """Read the name of a variable."""
    if _VARIABLE.fullmatch(text):
        return text
    raise ValueError(f'wanted a variable\'s name such as API_KEY, got "{text}"')


def parse_file(text: str) -> str:
    """Read a path or a pattern."""
    if text and "\0" not in text:
        return text
    raise ValueError(f"wanted a path or a pattern such as package.json, got {text!r}")


def parse_answer(text: str) -> Ability:
    """Read what an answer has to be able to do.

    Raises:
        ValueError: There is no such thing.
    """
    try:
        return Ability(text)
    except ValueError:
        raise ValueError(f"wanted one of {', '.join(Ability)}, got {text!r}") from None


READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "tools": parse_tool,
    "files": parse_file,
    "services": parse_service,
    "env": parse_variable,
    "answers": parse_answer,
}
"""How each list of `Needs` is read."""

# name of a fact -> its fields; the diff is a text
FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "git": ("branch", "root", "status", "changed", "staged", "untracked", "last_commit"),
    "transcript": ("path", "messages"),
    "diff": (),
}
# what could not be had, beside the facts
NOTES: Final = "notes"
_NAMED: Final = re.compile(r"(?<![\w.])facts\.(\w+)(?:\.(\w+)(?!\w*\())?")


class FactError(Exception):
    """A fact cannot be had."""


def find_named_facts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the facts that conditions and templates name, in the order of the table.

    Raises:
        ValueError: There is no such fact.
    """
    named = {path for text in texts if "facts." in text for path in _NAMED.findall(text)}
    for name, field in sorted(named):
        fields = FACTS.get(name, ())
        if field and fields and field not in fields:
            raise ValueError(f'facts.{name} has no "{field}"{suggest(field, fields)}; it has {", ".join(fields)}')
    return read_facts({name for name, _ in named} - {NOTES})


def read_facts(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of facts, each once, in the order of the table.

    Raises:
        ValueError: There is no such fact.
    """
    given = set(names)
    for name in sorted(given - FACTS.keys()):
        raise ValueError(f'there is no fact "{name}"{suggest(name, FACTS)}; there are {", ".join(FACTS)}')
    return tuple(name for name in FACTS if name in given)
