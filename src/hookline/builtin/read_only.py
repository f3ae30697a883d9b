"""Say yes, where a person would be asked, to what only reads files of the project."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from hookline.builtin._ground import FOLDER_KEYS, Ground, ground_of, may_name_secrets
from hookline.builtin.reading import programs_read
from hookline.model.event import Event
from hookline.model.verdict import Verdict

# arguments that are no files, whatever they look like
_TEXTS: Final = frozenset(
    ("description", "regex", "query", "output_mode", "type", "explanation", "mode", "encoding", "format")
)
_PATTERNS: Final = frozenset(("pattern", "glob", "include", "exclude", "file_pattern"))
# what a host may make another path of than the one that is written
_ELSEWHERE: Final = re.compile(r"^[~@\s'\"]|\s$|[\0$%\\]|://")
_WILDCARDS: Final = re.compile(r"[*?\[{]")
_OF_SHELLS: Final = frozenset(("command", "description", "explanation", "timeout", "timeout_ms", "cwd", "workdir"))
_SHELL_FOLDERS: Final = frozenset(("working_directory", "workingDirectory", "directory", "dir_path"))


def judge(event: Event, *, root: str = "", home: str = "") -> Verdict | None:
    """Answer a request for permission: yes, or no opinion."""
    tool = _TOOLS.get(event.tool)
    ground = ground_of(event, root=root, home=home)
    # a shell of Windows reads lines in another way
    if tool is None or ground is None or os.name == "nt" or any(map(_leads_elsewhere, _folders(event.args))):
        return None
    reason = tool(event.args, ground)
    return Verdict.allow(reason) if reason else None


def _leads_elsewhere(name: str) -> bool:
    return _ELSEWHERE.search(name) is not None or not name.isprintable()


def _folders(args: Mapping[str, object]) -> Iterable[str]:
    return (named for key in FOLDER_KEYS if isinstance(named := args.get(key), str))


def _shell(args: Mapping[str, object], ground: Ground) -> str:
    line = args.get("command")
    # an argument nobody knows may choose another shell, or an environment
    if not isinstance(line, str) or not set(args) <= _OF_SHELLS | _SHELL_FOLDERS:
        return ""
    programs = programs_read(line, ground)
    return f"only reads: {', '.join(programs)}" if programs else ""


def _files(args: Mapping[str, object], ground: Ground, *, shows: bool) -> str:
    """Allow a tool whose every argument is a number, a text, or a file of the project."""
    given = list(_given(args, _TEXTS | {"pattern"} if shows else _TEXTS))
    allowed = ground.shows if shows else ground.holds
    fine = ground.holds(".") and all(
        not _leads_elsewhere(name) and allowed(name) for key, value in given for name in _names(key, value)
    )
    # a pattern for names finds files that are hidden or ignored, too
    hidden = shows and any(may_name_secrets(value) for _, value in given if _WILDCARDS.search(value))
    return "only reads files of the project" if fine and not hidden else ""


def _given(value: object, texts: frozenset[str], key: str = "") -> Iterator[tuple[str, str]]:
    """Give every text among the arguments that may name files, and what it is called; those of `texts` do not."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _given(item, texts, key)
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            # what is looked for in files is one text
            if inner not in texts or (inner == "pattern" and not isinstance(item, str)):
                yield from _given(item, texts, str(inner))


def _names(key: str, value: str) -> Iterator[str]:
    yield value
    if key in _PATTERNS:
        # a pattern leads as far as its first wildcard, and braces stand for several
        yield from filter(None, (value.split("*", maxsplit=1)[0], *re.split("[{},]", value)))


_TOOLS: Final[Mapping[str, Callable[[Mapping[str, object], Ground], str]]] = {
    "shell": _shell,
    "read_file": partial(_files, shows=True),
    "read_files": partial(_files, shows=True),
    "grep": partial(_files, shows=True),
    "list_dir": partial(_files, shows=False),
    "glob": partial(_files, shows=False),
}
