"""The built-in hook `self-guard`: deny an agent what would take away the hooks that guard it.

It judges what a call writes and deletes, as `hookline.effects` finds it, and commands that loosen guards. What a call does
not plainly do is no opinion, and so is reading. A project's own `hookline.toml` may be edited, since nothing in it runs without an
approval, but not deleted, since that would take approved guards away.
"""
# ruff: noqa: PTH118, PTH207 - plain strings, as in command lines

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from glob import iglob
from math import inf
from time import monotonic
from typing import Final

from msgspec import Struct

from hookline import caller_context
from hookline.builtin._boundaries import (
    ALL_IN_IT,
    ASKS_FOR_HELP,
    LOOSENING,
    OF_HOOKS,
    Boundaries,
    expand_home,
    find_boundaries,
    list_paths,
    show_path,
)
from hookline.builtin.catalogue import CHANGING_TOOLS, BuiltinScope, GuardedPath, Judge, Options
from hookline.config.discovery import LOCATIONS, Root
from hookline.effects.effects import Effects, Target
from hookline.effects.patterns import CommandMatcher, MatchAnswer, compile_commands
from hookline.effects.tools import find_effects
from hookline.model.event import Event
from hookline.model.installed_entry import PERSON_TOKEN
from hookline.model.verdict import Verdict
from hookline.model.workspace_paths import is_inside
from hookline.shell.walk import ShellCommand

_OFF: Final = "without this guard: `hookline disable builtin:self-guard`"
_BY_HAND: Final = "change it yourself, in a terminal or an editor"
_HOOKS_PATH: Final = "core.hookspath"
_GIT_VARIABLES: Final = "GIT_CONFIG"
_GIT_READS: Final = ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l")
_REMOVERS: Final = frozenset({"rm", "mv", "unlink", "shred", "truncate", "chmod", "ln", "cp", "tee"})
_FOUND_PROGRAM: Final = re.compile(r"\b(?:which|whence|command\s+-v|type\s+-[pP])\s+hookline")
_WILD: Final = frozenset("*?[")
_DEEPEST: Final = 16
_OURS: Final = "hookline"
_KEPT: Final = 10.0  # seconds


class _PathChange(Struct, frozen=True):
    """A path that a call writes or deletes, in each of its spellings; with `is_whole`, also everything below it."""

    paths: tuple[str, ...]
    is_glob: bool
    is_delete: bool
    is_whole: bool


def make_judge(scope: BuiltinScope, _options: Options) -> Judge:
    """Return the hook."""
    return SelfGuard(scope).judge


class SelfGuard:
    """Judges the tool calls of one project.

    The list of what is guarded takes longer than all the rest, so it is kept: it is invalid after ten seconds, or in another
    environment. A file that comes under guard meanwhile is guarded ten seconds later.
    """

    def __init__(self, scope: BuiltinScope) -> None:
        self._scope = scope
        self._guarded: tuple[_Guarded, ...] = ()
        self._environ: Mapping[str, str] = {}
        self._until = -inf

    def judge(self, event: Event) -> Verdict | None:
        """Answer a permission request or a tool call: deny, or no opinion."""
        if event.tool not in CHANGING_TOOLS:
            return None
        scope, effects = self._scope, find_effects(event)
        reason = _find_loosening(effects)
        if not reason and (what := _find_bypass_of_git(effects)):
            ours = next((one for one, _ in self._list_guarded() if one.of_git and one.is_in_use()), None)
            if ours is not None:
                reason = f"{what} would keep git from the hooks of Hookline in {ours.path}; {ours.mend}"
        if not reason and (effects.targets.get("writes") or effects.targets.get("deletes")):
            bounds = find_boundaries(event, root=scope.root, home=scope.home) or Boundaries("", scope.home, (os.sep,))
            reason = _find_reason(event, _list_changes(effects, bounds), self._list_guarded(), bounds)
        return Verdict.deny(f"self-guard: {reason}; {_OFF}") if reason else None

    def _list_guarded(self) -> tuple["_Guarded", ...]:
        now, environ = monotonic(), caller_context.full_environ()
        if now > self._until or (environ is not self._environ and environ != self._environ):
            others = self._scope.list_guarded() if self._scope.list_guarded is not None else ()
            self._guarded = tuple(
                (one, tuple(dict.fromkeys((one.path, os.path.realpath(one.path)))))
                for one in (*_list_own(self._scope), *others)
            )
            self._environ, self._until = environ, now + _KEPT
        return self._guarded


# what is guarded, and its path in both spellings
_Guarded = tuple[GuardedPath, tuple[str, ...]]


# commands


@cache
def _compile_loosening() -> CommandMatcher:
    return compile_commands(LOOSENING)


def _find_loosening(effects: Effects) -> str:
    """Return what a command of Hookline would loosen; one with the user's token decides for itself."""
    # each of them names it
    commands = [command for command in effects.commands if _OURS in _join_feeds(command)]
    if not commands or caller_context.full_environ().get(PERSON_TOKEN):
        return ""
    for command in commands:
        if any(one.name == PERSON_TOKEN for one in command.assignments) or command.arguments.has(*ASKS_FOR_HELP):
            continue
        is_loosening = _compile_loosening()(Effects(commands=(command,))).answer is MatchAnswer.YES
        if is_loosening or _ends_or_removes(command):
            return f"`{command.text}` {OF_HOOKS}; run it yourself, in a terminal of your own"
    return ""


def _join_feeds(command: ShellCommand) -> str:
    """Return a command with those whose output it reads."""
    return "\n".join((command.text, *map(_join_feeds, command.feeds)))


def _ends_or_removes(command: ShellCommand) -> bool:
    """Return whether a command ends processes of Hookline that another one has found, or removes the program that it has found."""
    if command.name == "kill":
        return True
    return command.name in _REMOVERS and _FOUND_PROGRAM.search(_join_feeds(command)) is not None


def _find_bypass_of_git(effects: Effects) -> str:
    """Return what keeps git from running its hooks, or ""."""
    for command in effects.commands:
        variables = (one.value.text for one in command.assignments if one.name.startswith(_GIT_VARIABLES) and one.value)
        if any(_HOOKS_PATH in value.lower() for value in variables):
            return "core.hooksPath"
        if command.name == "git" and _is_redirection(command):
            return "core.hooksPath"
        if command.name == "git" and command.arguments.has("--no-verify"):
            return "--no-verify"
    return ""


def _is_redirection(command: ShellCommand) -> bool:
    """Return whether a git command sets `core.hooksPath`, for itself or in a configuration."""
    arguments = command.arguments
    given = (*arguments.values("-c"), *arguments.values("--config-env"))
    if any(value.text.lower().startswith(_HOOKS_PATH) for value in given):
        return True
    words = [word.text.lower() for word in arguments.operands]
    if arguments.path != ("config",) or _HOOKS_PATH not in words or arguments.has(*_GIT_READS) or words[0] == "get":
        return False
    return len(words) > 1 or arguments.has("--unset", "--unset-all")


# files


def _list_own(scope: BuiltinScope) -> Iterator[GuardedPath]:
    """List the files of Hookline itself: the folders of the user and the administrator, and hook files of the project."""
    for folder in scope.protected:
        yield GuardedPath(path=folder, about=OF_HOOKS, mend=_BY_HAND)
    for place in LOCATIONS:
        if place.agent:
            continue
        if place.root is Root.HOME:
            for path in iglob(os.path.join(scope.home, place.path)):
                yield GuardedPath(path=path, about=OF_HOOKS, mend=_BY_HAND)
        elif place.root is Root.PROJECT:
            for root in (scope.root, *scope.above):
                for path in iglob(os.path.join(root, place.path)):
                    about, mend = f"{OF_HOOKS} in this project", "delete or move it yourself"
                    yield GuardedPath(path=path, about=about, mend=mend, of_project=True, only_deletes=True)


def _list_changes(effects: Effects, bounds: Boundaries) -> list[_PathChange]:
    deleted, written = (effects.targets.get(kind, ()) for kind in ("deletes", "writes"))
    changes = [_make_change(target, bounds, is_delete=True) for target in deleted]
    return changes + [_make_change(target, bounds, is_delete=False) for target in written if target not in deleted]


def _make_change(target: Target, bounds: Boundaries, *, is_delete: bool) -> _PathChange:
    path = expand_home(target.pattern or target.path, bounds)
    paths = tuple(dict.fromkeys(list_paths(path, bounds)))
    is_whole = is_delete or (target.is_recursive and not target.is_partial)
    return _PathChange(paths, bool(target.pattern), is_delete, is_whole)


def _find_reason(event: Event, changes: Sequence[_PathChange], guarded: Iterable[_Guarded], bounds: Boundaries) -> str:
    texts: list[str] = []
    for one, own in guarded:
        if not any(_affects(change, own, one, bounds) for change in changes):
            continue
        if one.is_in_use():
            return f"{show_path(one.path, bounds)} {one.about}; {one.mend}"
        texts = texts or list(_list_texts(event.args, _DEEPEST))
        if switch := next(
            (keys for keys in one.switches if all(any(key in text for text in texts) for key in keys)), ()
        ):
            return f"{'.'.join(switch)} in {show_path(one.path, bounds)} decides whether hooks run; {_BY_HAND}"
    return ""


def _affects(change: _PathChange, own: Sequence[str], guarded: GuardedPath, bounds: Boundaries) -> bool:
    """Return whether a change is about a guarded path: it is there, below it, or takes everything around it along."""
    if guarded.only_deletes and not change.is_delete:
        return False
    matches = _matches_glob if change.is_glob else _matches_path
    for path in change.paths:
        around = (ALL_IN_IT.sub("", path).rstrip("/") if change.is_glob else path) or os.sep
        # the hooks of a project go with it, and a whole home is what the hook `dangerous` is about
        if is_inside(bounds.root if guarded.of_project and bounds.root else bounds.home, (around,)):
            continue
        if any(matches(path, one, is_whole=change.is_whole) for one in own):
            return True
    return False


def _matches_path(path: str, guarded: str, *, is_whole: bool) -> bool:
    return is_inside(path, (guarded,)) or (is_whole and is_inside(guarded, (path,)))


def _matches_glob(pattern: str, guarded: str, *, is_whole: bool) -> bool:
    """Return whether a glob names a guarded path, one above it that goes as a whole, or one below it."""
    if "**" in pattern:
        flat = pattern.replace("**/", "*").replace("**", "*")
        return any(fnmatchcase(path, flat) for path in (guarded, *iglob(f"{guarded}/*")))
    wanted, parts = pattern.split("/"), guarded.split("/")
    if len(wanted) < len(parts) and not is_whole:
        return False
    return all(
        # without a dot, a star leaves hidden files out
        fnmatchcase(part, one) and (one.startswith(".") or not part.startswith(".") or not _WILD & set(one))
        for one, part in zip(wanted, parts, strict=False)
    )


def _list_texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | Sequence):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _list_texts(item, depth - 1)
