"""Facts about the place of an event, gathered once and handed to every hook that asks for them.

Facts are gathered all at the same time, none longer than a few seconds.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import Final

from hookline import caller_context, json_codec
from hookline.builtin._safe_git import is_harmless
from hookline.files import read_regular_file
from hookline.model.event import Event
from hookline.model.hook import Hook, Source
from hookline.model.requirements import NOTES, FactError
from hookline.model.workspace_paths import find_program, workspace_roots
from hookline.process import run
from hookline.process.result import ExitReason
from hookline.process.spec import ProcessSpec
from hookline.trust.repository import find_top, read_branch

# what git says about a folder; no program of the repository's own settings is started for it

_GIT_TIMEOUT: Final = 3.0
MOST_DIFF: Final = 256 * 1024
_MOST_FILES: Final = 1_000

_OWN_HOOK: Final = Hook(id="git", kind="git", source=Source.BUILTIN)
# nothing of a repository is asked for a password, a pager or a lock
_VARIABLES: Final = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
_STATUS: Final = ("status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all")
_LOG: Final = ("log", "-1", "--no-show-signature", "--no-color", "--format=%H%x00%an%x00%aI%x00%s")
_DIFF: Final = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "HEAD")
_RENAMED: Final = frozenset("RC")
_NO_COMMIT: Final = b"does not have any commits yet"


async def read_git(event: Event) -> dict[str, object]:
    """Return branch, status, changed files and the last commit; all empty outside of a repository.

    Raises:
        FactError: The repository cannot be asked.
    """
    folder = event.cwd or event.project
    branch = _read_branch(folder)
    if not branch:
        return {"branch": "", "root": "", **_parse_status(b""), "last_commit": None}
    status, log = await asyncio.gather(_run_git(folder, _STATUS), _run_git(folder, _LOG, may_lack_commits=True))
    commit = dict(zip(("id", "author", "date", "subject"), _decode(log).strip("\n").split("\0"), strict=False))
    return {"branch": branch, "root": find_top(folder), **_parse_status(status), "last_commit": commit if log else None}


async def read_diff(event: Event) -> str:
    """Return what differs from the last commit, without files that git does not know; empty outside of a repository.

    Raises:
        FactError: The repository cannot be asked, or it is too much: half of a diff could hide what a hook looks for.
    """
    folder = event.cwd or event.project
    if not _read_branch(folder):
        return ""
    # before the first commit, everything that was added differs
    words = _DIFF if await _run_git(folder, _LOG, may_lack_commits=True) else (*_DIFF[:-1], "--cached")
    diff = await _run_git(folder, words)
    if len(diff) > MOST_DIFF:
        raise FactError(f"it has {len(diff) // 1024} KB, more than {MOST_DIFF // 1024}")
    return _decode(diff)


def _read_branch(folder: str) -> str:
    try:
        branch = read_branch(folder)
    except (OSError, ValueError) as problem:
        raise FactError(f"the repository cannot be read: {problem}") from None
    if branch and not is_harmless(os.path.realpath(folder), looks_inside=False):
        raise FactError("the settings of this repository may start programs, so git was not asked")
    return branch


def _parse_status(raw: bytes) -> dict[str, object]:
    entries = iter(_decode(raw).split("\0"))
    lines: list[str] = []
    files: dict[str, list[str]] = {"changed": [], "staged": [], "untracked": []}
    for entry in entries:
        if not entry:
            continue
        code, path = entry[:2], entry[3:]
        if _RENAMED & {*code}:
            # the name before it was renamed
            next(entries, "")
        lines.append(f"{code} {path}")
        files["changed"].append(path)
        if code == "??":
            files["untracked"].append(path)
        elif code[0] != " ":
            files["staged"].append(path)
    if len(lines) > _MOST_FILES:
        raise FactError(f"{len(lines)} files changed, more than {_MOST_FILES}")
    return {"status": "\n".join(lines), **files}


async def _run_git(folder: str, words: tuple[str, ...], *, may_lack_commits: bool = False) -> bytes:
    program = find_program("git", caller_context.environ().get("PATH", os.defpath), workspace_roots(_OWN_HOOK, folder))
    if not program:
        raise FactError("git is not on the PATH, outside of this project")
    # variables could name another repository, whose settings were not looked at
    own = {name: value for name, value in caller_context.full_environ().items() if not name.startswith("GIT_")}
    env = caller_context.encode_environ({**own, **_VARIABLES})
    spec = ProcessSpec(program=program, argv=("git", *words), env=env, cwd=folder, engine_cwd=folder)
    try:
        result = await run(spec, stdin=b"", timeout=_GIT_TIMEOUT)
    except (OSError, ValueError) as problem:
        raise FactError(f"git cannot be started: {problem}") from None
    if result.reason is ExitReason.TIMED_OUT:
        raise FactError(f"git {words[0]} took longer than {_GIT_TIMEOUT:g} seconds")
    if result.reason is not ExitReason.EXITED:
        raise FactError(f"git {words[0]} printed too much")
    if result.exit_code and may_lack_commits and _NO_COMMIT in result.stderr:
        return b""
    if result.exit_code:
        raise FactError(f"git {words[0]}: {_decode(result.stderr).strip()[:200] or f'exit code {result.exit_code}'}")
    return result.stdout


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


# The last messages of a conversation, from the transcript that the agent names in its payload. Agents write JSON lines in shapes
# of their own, which have the same in common: a role, and texts in `content` or `parts`.

_MOST_BYTES: Final = 1024 * 1024
MOST_MESSAGES: Final = 20
LONGEST_MESSAGE: Final = 4_000

_ROLES: Final = {"user": "user", "human": "user", "assistant": "assistant", "gemini": "assistant", "model": "assistant"}


async def read_transcript(event: Event) -> dict[str, object]:
    """Return the path of the transcript and its last messages, the newest last; empty where the agent names none.

    Raises:
        FactError: The file cannot be read.
    """
    path = event.data.get("transcript_path")
    if not path or not isinstance(path, str):
        return {"path": "", "messages": []}
    path = caller_context.expand_home(path)
    raw = await asyncio.to_thread(read_regular_file, path, _MOST_BYTES, from_end=True)
    if raw is None:
        raise FactError(f"{path} cannot be read")
    return {"path": path, "messages": list(_read_messages(raw))[-MOST_MESSAGES:]}


def _read_messages(raw: bytes) -> Iterator[dict[str, str]]:
    for line in raw.split(b"\n"):
        try:
            document = json_codec.load(line)
        except ValueError:
            # the first line may have lost its beginning, and the last one its end
            continue
        if isinstance(document, dict) and (message := _read_message(document)):
            yield message


def _read_message(document: Mapping[str, object]) -> dict[str, str]:
    """Return the role and the text of a line; empty for what is no message: results of tools, settings, times."""
    inner = next((one for key in ("message", "payload") if isinstance(one := document.get(key), dict)), document)
    role = _ROLES.get(str(inner.get("role") or document.get("type")), "")
    text = "" if document.get("isMeta") else _join_texts(inner.get("content") or inner.get("parts"))
    return {"role": role, "text": text[:LONGEST_MESSAGE]} if role and text.strip() else {}


def _join_texts(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(filter(None, (_join_texts(part.get("text")) for part in value if isinstance(part, dict))))
    return value if isinstance(value, str) else ""


# all of them

# seconds for one fact
_LONGEST: Final = 5.0
_READERS: Final[Mapping[str, Callable[[Event], Awaitable[object]]]] = {
    "git": read_git,
    "transcript": read_transcript,
    "diff": read_diff,
}


async def gather_facts(wanted: Collection[str], event: Event) -> Mapping[str, object]:
    """Return the facts by their names; one that cannot be had is None, and a note says why."""
    names = [name for name in _READERS if name in wanted]
    found = await asyncio.gather(*(_read(name, event) for name in names), return_exceptions=True)
    facts: dict[str, object] = {}
    notes: list[str] = []
    for name, fact in zip(names, found, strict=True):
        facts[name] = None if isinstance(fact, BaseException) else fact
        if isinstance(fact, BaseException):
            notes.append(f"{name}: {_explain(fact)}")
    return {**facts, NOTES: notes}


async def _read(name: str, event: Event) -> object:
    async with asyncio.timeout(_LONGEST):
        return await _READERS[name](event)


def _explain(problem: BaseException) -> str:
    if isinstance(problem, TimeoutError):
        return f"not there after {_LONGEST:g} seconds"
    return str(problem) if isinstance(problem, FactError) else repr(problem)
