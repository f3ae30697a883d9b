"""The built-in hook `read-only`: allow tool calls that only read files of the project."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from hookline.builtin._boundaries import FOLDER_KEYS, Boundaries, find_boundaries, may_name_secrets
from hookline.builtin.readonly_analysis import list_readers
from hookline.model.event import Event
from hookline.model.verdict import Verdict

# arguments that are not files
_TEXTS: Final = frozenset(
    ("description", "regex", "query", "output_mode", "type", "explanation", "mode", "encoding", "format")
)
_PATTERNS: Final = frozenset(("pattern", "glob", "include", "exclude", "file_pattern"))
# an agent may expand these to another path
_ELSEWHERE: Final = re.compile(r"^[~@\s'\"]|\s$|[\0$%\\]|://")
_WILDCARDS: Final = re.compile(r"[*?\[{]")
_OF_SHELLS: Final = frozenset(("command", "description", "explanation", "timeout", "timeout_ms", "cwd", "workdir"))
_SHELL_FOLDERS: Final = frozenset(("working_directory", "workingDirectory", "directory", "dir_path"))


def judge(event: Event, *, root: str = "", home: str = "") -> Verdict | None:
    """Answer a permission request: allow, or no opinion."""
    tool = _TOOLS.get(event.tool)
    folders = [named for key in FOLDER_KEYS if isinstance(named := event.args.get(key), str)]
    bounds = find_boundaries(event, root=root, home=home)
    # Windows shells parse lines differently
    if tool is None or bounds is None or os.name == "nt" or any(map(_leads_elsewhere, folders)):
        return None
    reason = tool(event.args, bounds)
    return Verdict.allow(reason) if reason else None


def _leads_elsewhere(name: str) -> bool:
    return _ELSEWHERE.search(name) is not None or not name.isprintable()


def _judge_shell(args: Mapping[str, object], bounds: Boundaries) -> str:
    line = args.get("command")
    # an unknown argument may choose another shell or environment
    if not isinstance(line, str) or not set(args) <= _OF_SHELLS | _SHELL_FOLDERS:
        return ""
    programs = list_readers(line, bounds)
    return f"only reads: {', '.join(programs)}" if programs else ""


def _judge_files(args: Mapping[str, object], bounds: Boundaries, *, shows: bool) -> str:
    """Allow a tool whose every argument is a number, a text, or a file of the project."""
    values = list(_list_texts(args, _TEXTS | {"pattern"} if shows else _TEXTS))
    allowed = bounds.may_show if shows else bounds.contains
    is_inside = bounds.contains(".") and all(
        not _leads_elsewhere(name) and allowed(name) for key, value in values for name in _list_paths(key, value)
    )
    # a glob matches hidden and ignored files as well
    may_find_secrets = shows and any(may_name_secrets(value) for _, value in values if _WILDCARDS.search(value))
    return "only reads files of the project" if is_inside and not may_find_secrets else ""


def _list_texts(value: object, texts: frozenset[str], key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text among the arguments that may name files, with its key; those of `texts` do not."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_texts(item, texts, key)
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            # a search pattern is one text
            if inner not in texts or (inner == "pattern" and not isinstance(item, str)):
                yield from _list_texts(item, texts, str(inner))


def _list_paths(key: str, value: str) -> Iterator[str]:
    yield value
    if key in _PATTERNS:
        # the path before the first wildcard, and the alternatives in braces
        yield from filter(None, (value.split("*", maxsplit=1)[0], *re.split("[{},]", value)))


_TOOLS: Final[Mapping[str, Callable[[Mapping[str, object], Boundaries], str]]] = {
    "shell": _judge_shell,
    "read_file": partial(_judge_files, shows=True),
    "read_files": partial(_judge_files, shows=True),
    "grep": partial(_judge_files, shows=True),
    "list_dir": partial(_judge_files, shows=False),
    "glob": partial(_judge_files, shows=False),
}
