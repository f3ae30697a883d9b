"""The events of git hooks, and the facts they are about.

A commit is judged when its message is known, which is still before it is made. `custom:git_pre_commit` comes earlier,
before the message is written, for hooks that format and stage: later ones cannot change what is committed.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import UNSET, Struct

from hookline.engine.engine import Engine
from hookline.errors import HostError
from hookline.model.event import EventName, Session
from hookline.model.verdict import Outcome
from hookline.sources.git_repository import run_git

PRE_COMMIT: Final = "custom:git_pre_commit"

# the variable in which an agent passes its session to the commands that it runs
SESSION_VARIABLE: Final = "HOOKLINE_SESSION"

_SCISSORS: Final = re.compile(r"^\S{1,10} -{24} >8 -{24}$", re.MULTILINE)
# in a web URL even the user name may be a token; in others it is part of the address
_URL_CREDENTIALS: Final = re.compile(
    r"^(?:(https?://)[^/?#]*@|([a-z][a-z0-9+.-]*://[^/?#:@]*):[^/?#]*(?=@))", re.IGNORECASE
)
_REF_WORDS: Final = 4


class GitCall(Struct, frozen=True, kw_only=True):
    """One call of a git hook: its folder, arguments, input and environment."""

    folder: str
    words: tuple[str, ...] = ()
    stdin: bytes = b""
    environ: Mapping[str, str] = {}


Fields = dict[str, object]
ReadFields = Callable[[GitCall], Fields]


class GitEvent(Struct, frozen=True, kw_only=True):
    """One event of a git hook: its name, how its fields are read, and how the output of hooks is applied."""

    name: str
    read_fields: ReadFields
    apply_output: Callable[[GitCall, object], None] | None = None

    @property
    def canonical(self) -> str:
        """The name in the table of events."""
        return self.name.partition(":")[0]


async def raise_events(engine: Engine, hook: str, call: GitCall) -> AsyncIterator[tuple[str, Outcome]]:
    """Raise the events of a git hook one after another, up to the first that is blocked.

    Raises:
        HostError: The facts cannot be read from git, or the output cannot be applied.
    """
    session = Session(id=call.environ.get(SESSION_VARIABLE, ""))
    known: dict[ReadFields, Fields] = {}
    for event in GIT_EVENTS[hook]:
        # git is only asked where a hook listens
        if event.canonical not in engine.registry.listening:
            continue
        if event.read_fields not in known:
            known[event.read_fields] = event.read_fields(call)
        outcome = await engine.emit(event.name, known[event.read_fields], session=session, cwd=call.folder)
        yield event.name, outcome
        if outcome.blocked:
            return
        if event.apply_output is not None and outcome.output is not UNSET:
            event.apply_output(call, outcome.output)
            # the next event is about the changed message
            known.clear()


def _staged_files(call: GitCall) -> list[str]:
    """Return the files that the commit changes; of a file that was moved, both names."""
    words = ("diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff")
    raw = run_git(*words, "--ignore-submodules=none", folder=call.folder) or b""
    return [os.fsdecode(name) for name in raw.split(b"\0") if name]


def _current_branch(call: GitCall) -> str:
    """Return the branch, also one without commits, or "" where there is none, as in the middle of a rebase."""
    raw = run_git("symbolic-ref", "--quiet", "--short", "HEAD", folder=call.folder, may_fail=True)
    return os.fsdecode(raw or b"").rstrip("\n")


def _read_message(call: GitCall) -> str:
    """Return the message as git is going to store it: without comments, where git drops those."""
    text = _message_path(call).read_bytes().decode("utf-8", "surrogateescape")
    raw = run_git("config", "--get", "commit.cleanup", folder=call.folder, may_fail=True) or b"default"
    cleanup = raw.decode("utf-8", "replace").strip()
    # git sets GIT_EDITOR to ":" where no editor is used, and then keeps lines that look like comments
    is_edited = call.environ.get("GIT_EDITOR") != ":"
    if cleanup == "verbatim":
        return text
    if is_edited and (match := _SCISSORS.search(text)):
        text = text[: match.start()]
    drops = cleanup == "strip" or (cleanup == "default" and is_edited)
    words = ("stripspace", "--strip-comments") if drops else ("stripspace",)
    cleaned = run_git(*words, folder=call.folder, stdin=text.encode("utf-8", "surrogateescape")) or b""
    return cleaned.decode("utf-8", "surrogateescape").rstrip("\n")


def _message_path(call: GitCall) -> Path:
    path = Path(call.folder, call.words[0]) if call.words else None
    if path is None or not path.is_file():
        raise HostError("git did not say which file the message of the commit is in")
    return path


def _write_message(call: GitCall, message: object) -> None:
    if not isinstance(message, str):
        raise HostError(f"a hook gave {type(message).__name__} for the message of the commit, which must be text")
    path = _message_path(call)
    try:
        path.write_bytes(f"{message.rstrip()}\n".encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise HostError("a hook gave a message of the commit that is no text: half a character is in it") from None
    except OSError as problem:
        raise HostError(f"cannot write the message of the commit to {path}: {problem.strerror}") from None


def _commit_fields(call: GitCall) -> Fields:
    return {"files": _staged_files(call), "message": _read_message(call), "branch": _current_branch(call)}


def _pre_commit_fields(call: GitCall) -> Fields:
    return {"files": _staged_files(call), "branch": _current_branch(call)}


def _push_fields(call: GitCall) -> Fields:
    remote, url = (*call.words, "", "")[:2]
    lines = [line.split(" ") for line in os.fsdecode(call.stdin).splitlines()]
    if any(len(line) != _REF_WORDS for line in lines):
        raise HostError("git did not say what is pushed in the way it is known to")
    refs = [
        {"local": local, "remote": there, "from_commit": _commit_or_empty(theirs), "to_commit": _commit_or_empty(ours)}
        for local, ours, there, theirs in lines
    ]
    # a password in a URL must not reach hooks and traces
    return {
        "remote": _URL_CREDENTIALS.sub(r"\1\2", remote),
        "url": _URL_CREDENTIALS.sub(r"\1\2", url),
        "refs": refs,
        "branch": _current_branch(call),
    }


def _checkout_fields(call: GitCall) -> Fields:
    before, after, flag = (*call.words, "", "", "")[:3]
    return {
        "branch": _current_branch(call),
        "from_commit": _commit_or_empty(before),
        "to_commit": _commit_or_empty(after),
        "is_branch": flag == "1",
    }


def _commit_or_empty(commit: str) -> str:
    """Return a commit id, or "" for the zeros that git writes for none."""
    return commit if commit.strip("0") else ""


GIT_EVENTS: Final[Mapping[str, tuple[GitEvent, ...]]] = {
    "pre-commit": (GitEvent(name=PRE_COMMIT, read_fields=_pre_commit_fields),),
    "commit-msg": (
        GitEvent(name=EventName.GIT_MESSAGE, read_fields=_commit_fields, apply_output=_write_message),
        GitEvent(name=EventName.GIT_COMMIT, read_fields=_commit_fields),
    ),
    "pre-push": (GitEvent(name=EventName.GIT_PUSH, read_fields=_push_fields),),
    "post-checkout": (GitEvent(name=EventName.GIT_CHECKOUT, read_fields=_checkout_fields),),
}
