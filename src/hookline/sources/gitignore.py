"""Which files are not watched: those that git ignores, and the folders of git and of Hookline."""

import os
import re
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.files import read_regular_file
from hookline.trust import repository

RULES: Final = ".gitignore"
_GIT: Final = ".git"
_LARGEST: Final = 1_048_576
_FOLDER: Final = "ps_d"
_MARK: Final = b"\xef\xbb\xbf"

# POSIX character classes, which pathspec does not know
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
    # without the slash, which is in no name and would end the part of the pattern
    "punct": ":-@!-.[-`{-~",
    "space": " \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class _IgnoreRule(Struct, frozen=True):
    """One line: whether it ignores or includes what it matches, and whether it only matches folders."""

    ignores: bool
    folders_only: bool
    regex: re.Pattern[str]


# the rules of one file, the last one first
_Rules = tuple[_IgnoreRule, ...]


class GitIgnore:
    """Decides about paths below a project as git does, and reads each file of rules once.

    The rules of a folder override those above it, and everything in an ignored folder stays ignored. `never` are folders
    that are always ignored. Without rules, only those and git's own are.
    """

    def __init__(
        self, root: str, *, never: Iterable[str] = (), home: Path | None = None, has_rules: bool = True
    ) -> None:
        self._never = frozenset(_relative(root, folder) for folder in never)
        self._has_rules = has_rules
        top = repository.find_top(root)
        self._prefix = _relative(top, root)
        self._top = top
        self._rules: dict[str, _Rules] = {}
        self._folders: dict[str, bool] = {"": False}
        # the files of rules for the whole repository, the strongest first
        common = repository.find_common_dir(root)
        general = [common / "info" / "exclude"] if common is not None else []
        if home is not None:
            general.append(Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config", "git", "ignore"))
        self._general = [_read_rules(path) for path in general] if has_rules else []
        # a watched root that the rules above it ignore is watched all the same
        self._is_root_ignored = has_rules and bool(self._prefix) and self._match_rules(f"{self._prefix}/", low="")

    def ignores(self, path: str, *, is_folder: bool = False) -> bool:
        """Return whether a path, relative to the project, is ignored."""
        if is_folder:
            return self._ignores_folder(path)
        above = path.rpartition("/")[0]
        return self._ignores_folder(above) or (self._has_rules and self._is_ignored(path))

    def _ignores_folder(self, path: str) -> bool:
        known = self._folders.get(path)
        if known is None:
            above, _, name = path.rpartition("/")
            known = (
                name == _GIT
                or path in self._never
                or self._ignores_folder(above)
                or (self._has_rules and self._is_ignored(f"{path}/"))
            )
            self._folders[path] = known
        return known

    def _is_ignored(self, path: str) -> bool:
        return self._match_rules(
            f"{self._prefix}/{path}" if self._prefix else path, low=self._prefix if self._is_root_ignored else ""
        )

    def _match_rules(self, path: str, *, low: str) -> bool:
        """Return the decision of the nearest rules, from the folder of the path up to `low`."""
        folder = path.rstrip("/")
        while folder and folder != low:
            folder = folder.rpartition("/")[0]
            if folder not in self._rules:
                self._rules[folder] = _read_rules(Path(self._top, folder, RULES))
            decision = _decide(self._rules[folder], path[len(folder) + 1 :] if folder else path)
            if decision is not None:
                return decision
        if low:
            return False
        return next((decision for rules in self._general if (decision := _decide(rules, path)) is not None), False)


def _relative(root: str, path: str | Path) -> str:
    """Return a path relative to a folder: "" for the folder itself, and "../…" outside of it."""
    found = os.path.relpath(os.path.realpath(path), os.path.realpath(root)).replace(os.sep, "/")
    return "" if found == "." else found


def _read_rules(path: Path) -> _Rules:
    import pathspec  # noqa: PLC0415 - takes time to import

    rules: list[_IgnoreRule] = []
    # git does not follow a link here either
    raw = read_regular_file(path, _LARGEST, follow_link=False) or b""
    for text in raw.removeprefix(_MARK).decode("ascii", "surrogateescape").split("\n"):
        line = text.removesuffix("\r")
        bare = line.rstrip()
        if not bare or line.startswith("#"):
            continue
        expanded = _CLASS.sub(lambda found: _CLASSES.get(found[1], found[0]), line)
        if bare.endswith("/**/"):
            # this matches every folder below, but in pathspec the folder itself
            expanded = f"{expanded.rstrip()}*/"
        # git skips invalid lines silently
        with suppress(ValueError, re.error), warnings.catch_warnings():
            # a warning about the future syntax of `re` is of no use to the user
            warnings.simplefilter("ignore", FutureWarning)
            read = pathspec.GitIgnoreSpec.from_lines([expanded], backend="simple").patterns
            of_folders = bare.endswith("/")
            rules += [_IgnoreRule(bool(one.include), of_folders, one.regex) for one in read if one.regex is not None]
    return tuple(reversed(rules))


def _decide(rules: _Rules, path: str) -> bool | None:
    """Return the decision of the last rule that matches this very path, or None; its parents were decided before."""
    is_folder = path.endswith("/")
    # one character for each byte, which is what `?` matches in git
    path = path if path.isascii() else os.fsencode(path).decode("ascii", "surrogateescape")
    for rule in rules:
        is_meant = is_folder or not rule.folders_only
        if is_meant and any(_is_whole(found, path) for found in rule.regex.finditer(path)):
            return rule.ignores
    return None


def _is_whole(found: re.Match[str], path: str) -> bool:
    if _FOLDER in found.re.groupindex:
        # pathspec marks the slash behind a matched folder, and matches whatever follows
        return found.start(_FOLDER) in {-1, len(path) - 1}
    # `folder/**` matches what is in the folder, not the folder
    return not (path.endswith("/") and found.end() == len(path))
