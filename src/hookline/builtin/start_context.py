"""The built-in hooks `git-status` and `context-files`: what the model is told when a session begins.

Agents without an event for their setup are served at the start of the session. Where both happen, the model is told once.
"""
# ruff: noqa: PTH118 - as the other hooks of this package

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from hookline.builtin._safe_git import is_harmless
from hookline.builtin.catalogue import BuiltinScope, Judge, Options
from hookline.builtin.logs import MARKERS, make_folder, read_number
from hookline.config.keys import read_texts
from hookline.model.event import Event, EventName
from hookline.model.verdict import Effect, EffectKind, Verdict
from hookline.model.workspace_paths import is_inside, project_roots
from hookline.process import run_named
from hookline.text import escape, fence, redact

_SAME_START: Final = 600.0  # seconds
_GIT_SECONDS: Final = 3.0
_COMMITS: Final = 5
_MOST_LINES: Final = 60
_MAX_SIZE: Final = 16 * 1024
_FILES: Final = ("OLLAMA.md", ".ollamaignore", "AGENTS.md")
# what agents read themselves; a file that one of these includes counts as read
_READ_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
    "gemini-cli": ("GEMINI.md",),
    "qwen-code": ("QWEN.md", "AGENTS.md"),
    "copilot-cli": ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"),
    "opencode": ("AGENTS.md", "CLAUDE.md"),
    "cursor": ("AGENTS.md", "CLAUDE.md"),
    "antigravity": ("GEMINI.md", "AGENTS.md"),
    **dict.fromkeys(("codex-cli", "cline", "factory-droid", "kiro", "windsurf"), ("AGENTS.md",)),
}
# it takes texts at its setup, and its model never hears them; tried with version 2.1.325
_FORGETFUL: Final = frozenset({"claude-code"})
_ORIGINS: Final = {".ollamaignore": ".ollamaignore, which names files that are not to be read"}


def make_git_status(scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that tells the model the state of the repository."""
    commits = options.get("commits", _COMMITS)

    async def judge(event: Event) -> Verdict | None:
        folder = os.path.realpath(event.cwd or scope.root)  # noqa: ASYNC240 - one look at a local folder
        # the settings of a repository could have git run programs
        if _is_told(scope, event, "git-status") or not is_harmless(folder, looks_inside=False):
            return None
        asked = [_ask_git(folder, "status", "--short", "--branch", "--ignore-submodules=all")]
        if commits:
            asked.append(_ask_git(folder, "log", f"-{commits}", "--format=%h %s", "--no-show-signature"))
        status, *log = await asyncio.gather(*asked)
        if not status:
            return None
        text = "\n".join(["git status:", status, *(f"last commits:\n{one}" for one in log if one)])
        return _tell(fence(text, "git"))

    return judge


async def _ask_git(folder: str, *words: str) -> str:
    printed, problem = await run_named(
        *("git", ("--no-pager", *words)),
        roots=project_roots(folder),
        timeout=_GIT_SECONDS,
        variables={"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"},
        cwd=folder,
    )
    if problem:
        return ""
    lines = printed.decode("utf-8", "replace").splitlines()
    more = [f"… and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
    return "\n".join([*(escape(line) for line in lines[:_MOST_LINES]), *more])


def make_context_files(scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that tells the model what files of the project say which the agent does not read itself."""
    names = read_texts(options, "files") or _FILES
    most = read_number(options, "max_size", _MAX_SIZE)

    def judge(event: Event) -> Verdict | None:
        if _is_told(scope, event, "context-files"):
            return None
        root = scope.root or event.cwd
        known = _find_known(root, _READ_BY.get(event.host, ()))
        texts: list[str] = []
        for name in names:
            path = os.path.realpath(os.path.join(root, name))
            # a link that leads out of the project could show any file of the user
            if path in known or not is_inside(path, (os.path.realpath(root),)):
                continue
            known.add(path)
            if text := _read_start(path, most):
                shown, origin = redact(text), _ORIGINS.get(name, name)
                texts.append(fence(shown, origin) if options.get("fence", True) else f"{origin}:\n{shown}")
        return _tell("\n\n".join(texts)) if texts else None

    return judge


def _find_known(root: str, names: tuple[str, ...]) -> set[str]:
    """Return the real paths of files that the agent reads, with those that they include."""
    known: set[str] = set()
    for name in names:
        path = os.path.realpath(os.path.join(root, name))
        known.add(path)
        for word in _read_start(path, _MAX_SIZE).split():
            if word.startswith("@"):
                known.add(os.path.realpath(os.path.join(os.path.dirname(path), word[1:].rstrip(".,;:)"))))  # noqa: PTH120
    return known


def _read_start(path: str, most: int) -> str:
    """Return the beginning of a file; empty where it is none, or cannot be read."""
    with suppress(OSError):
        if os.path.isfile(path):  # noqa: PTH113
            with Path(path).open("rb") as file:
                raw = file.read(most + 1)
            cut = "\n… the file goes on" if len(raw) > most else ""
            return raw[:most].decode("utf-8", "replace").strip() + cut
    return ""


def _tell(text: str) -> Verdict:
    return Verdict(effects=(Effect(EffectKind.CONTEXT, text),))


def _is_told(scope: BuiltinScope, event: Event, name: str) -> bool:
    """Return whether the model of this session was told at its setup, and remember a setup."""
    if not event.session.id or not scope.data or event.host in _FORGETFUL:
        return False
    marker = Path(scope.data, MARKERS, f"{name}-{sha256(event.session.id.encode(errors='replace')).hexdigest()[:32]}")
    with suppress(OSError):
        if event.name is EventName.SETUP:
            make_folder(marker.parent)
            marker.touch(mode=0o600)
        else:
            is_recent = time.time() - marker.stat().st_mtime < _SAME_START
            marker.unlink()
            return is_recent
    return False
