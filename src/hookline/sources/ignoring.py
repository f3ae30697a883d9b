"""What nobody wants to hear about: files that git ignores, and the folders of git and of ourselves."""

import os
import re
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.core import repository

RULES: Final = ".gitignore"
_GIT: Final = ".git"
_LARGEST: Final = 1_048_576
_FOLDER: Final = "ps_d"
_MARK: Final = b"\xef\xbb\xbf"

# names for sets of characters, which the library does not know
_CLASS: Final = re.compile(r"\[:([a-z]+):\]")
_CLASSES: Final[Mapping[str, str]] = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \t",
    "cntrl": "\x01-\x1f\x7f",
    "digit": "0-9",
    "graph": '"-~!',
    "lower": "a-z",
    "print": " -~",
    # without the slash, which no name holds and which would end the pattern's part
    "punct": ":-@!-.[-`{-~",
    "space": " \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class _Rule(Struct, frozen=True):
    """One line: whether it ignores what it is about or takes that back, and whether it is about folders alone."""

    ignores: bool
    is_of_folders: bool
    regex: re.Pattern[str]


# those of one file, the last one first
_Rules = tuple[_Rule, ...]


class Ignoring:
    """Decide about paths below a project as git does, and read each file of rules once.

    The rules of a folder are stronger than those above it, and what is in an ignored folder stays ignored. `never` are
    folders nothing is said about in any case. Without rules, only those and git's own are left out.
    """

    def __init__(
        self, root: str, *, never: Iterable[str] = (), home: Path | None = None, has_rules: bool = True
    ) -> None:
        self._never = frozenset(_below(root, folder) for folder in never)
        self._has_rules = has_rules
        top = repository.top(root)
        self._prefix = _below(top, root)
        self._top = top
        self._rules: dict[str, _Rules] = {}
        self._folders: dict[str, bool] = {"": False}
        self._general = [_read(path) for path in _general(root, home)] if has_rules else []
        # whoever watches a folder that the rules above it ignore wants to hear of what is in it
        self._is_own = has_rules and bool(self._prefix) and self._by_rules(f"{self._prefix}/", low="")

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Say whether nothing is to be said about a path, which is counted from the project."""
        if is_folder:
            return self._ignores_folder(path)
        above = path.rpartition("/")[0]
        return self._ignores_folder(above) or (self._has_rules and self._decided(path))

    def _ignores_folder(self, path: str) -> bool:
        known = self._folders.get(path)
        if known is None:
            above, _, name = path.rpartition("/")
            known = (
                name == _GIT
                or path in self._never
                or self._ignores_folder(above)
                or (self._has_rules and self._decided(f"{path}/"))
            )
            self._folders[path] = known
        return known

    def _decided(self, path: str) -> bool:
        return self._by_rules(
            f"{self._prefix}/{path}" if self._prefix else path, low=self._prefix if self._is_own else ""
        )

    def _by_rules(self, path: str, *, low: str) -> bool:
        """Ask the rules from the nearest folder up to the lowest that counts: the first that says something decides."""
        for folder in _upwards(path.rstrip("/"), low):
            said = _decision(self._rules_of(folder), _bytewise(path[len(folder) + 1 :] if folder else path))
            if said is not None:
                return said
        if low:
            return False
        whole = _bytewise(path)
        return next((said for rules in self._general if (said := _decision(rules, whole)) is not None), False)

    def _rules_of(self, folder: str) -> _Rules:
        if folder not in self._rules:
            self._rules[folder] = _read(Path(self._top, folder, RULES))
        return self._rules[folder]


def _below(root: str, path: str | Path) -> str:
    """Count a path from a folder; empty for the folder itself, and something that is no path of it elsewhere."""
    found = os.path.relpath(os.path.realpath(path), os.path.realpath(root)).replace(os.sep, "/")
    return "" if found == "." else found


def _upwards(path: str, low: str) -> Iterator[str]:
    while path and path != low:
        path = path.rpartition("/")[0]
        yield path


def _general(root: str, home: Path | None) -> Sequence[Path]:
    """Name the files of rules for a whole repository, the strongest first."""
    common = repository.common(root)
    inside = [common / "info" / "exclude"] if common is not None else []
    if home is None:
        return inside
    return [*inside, Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "git", "ignore")]


def _bytewise(path: str) -> str:
    """Spell a path with one character for each byte, which is what `?` stands for in git's rules."""
    return path if path.isascii() else os.fsencode(path).decode("ascii", "surrogateescape")


def _read(path: Path) -> _Rules:
    import pathspec  # noqa: PLC0415 - only whoever watches files needs it

    rules: list[_Rule] = []
    for line in _lines(path):
        # git takes no offence at a line that means nothing
        with suppress(ValueError, re.error), warnings.catch_warnings():
            # what Python may understand otherwise some day is nothing to tell a person
            warnings.simplefilter("ignore", FutureWarning)
            read = pathspec.GitIgnoreSpec.from_lines([_spelled_out(line)]).patterns
            of_folders = line.rstrip().endswith("/")
            rules += [_Rule(bool(one.include), of_folders, one.regex) for one in read if one.regex is not None]
    return tuple(reversed(rules))


def _spelled_out(line: str) -> str:
    line = _CLASS.sub(lambda found: _CLASSES.get(found[1], found[0]), line)
    # every folder below one, which the library takes for that one
    bare = line.rstrip()
    return f"{bare}*/" if bare.endswith("/**/") else line


def _decision(rules: _Rules, path: str) -> bool | None:
    """Say what the last rule that is about this very path says; folders above it were asked before."""
    is_folder = path.endswith("/")
    for rule in rules:
        is_meant = is_folder or not rule.is_of_folders
        if is_meant and any(_is_whole(found, path) for found in rule.regex.finditer(path)):
            return rule.ignores
    return None


def _is_whole(found: re.Match[str], path: str) -> bool:
    if _FOLDER in found.re.groupindex:
        # the library marks the slash behind a folder that the rule is about, and takes whatever follows
        return found.start(_FOLDER) in {-1, len(path) - 1}
    # `folder/**` is about what is in the folder
    return not (path.endswith("/") and found.end() == len(path))


def _lines(path: Path) -> list[str]:
    # git does not follow a link here either
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(path, flags)
    except (OSError, ValueError):
        return []
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return []
        text = os.read(handle, _LARGEST).removeprefix(_MARK).decode("ascii", "surrogateescape")
    except OSError:
        return []
    finally:
        os.close(handle)
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line.strip() and not line.startswith("#")]
