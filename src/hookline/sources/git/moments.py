"""What git has run us for: the events of each of its hooks, and the facts they are about.

A commit is asked about when its message is known, which is still before it is made. `custom:git_pre_commit` comes
earlier, before the message is written, for hooks that format and stage: later ones cannot change what is committed.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from msgspec import UNSET, Struct

from hookline.core.engine import Engine
from hookline.errors import HostError
from hookline.model.event import EventName
from hookline.model.session import Session
from hookline.model.verdict import Outcome
from hookline.sources.git.program import ask

PRE_COMMIT: Final = "custom:git_pre_commit"

# an agent says in it which session the commands belong to that it runs
SESSION: Final = "HOOKLINE_SESSION"

_SCISSORS: Final = re.compile(r"^\S{1,10} -{24} >8 -{24}$", re.MULTILINE)
# as the user of a web address stands there what is a secret all the same; elsewhere it is needed to know the place
_SECRETS_OF_A_URL: Final = re.compile(
    r"^(?:(https?://)[^/?#]*@|([a-z][a-z0-9+.-]*://[^/?#:@]*):[^/?#]*(?=@))", re.IGNORECASE
)
_REF_WORDS: Final = 4


class Call(Struct, frozen=True, kw_only=True):
    """How git called: in which folder, with which words, and what it had to say."""

    folder: str
    words: tuple[str, ...] = ()
    stdin: bytes = b""
    environ: Mapping[str, str] = {}


Fields = dict[str, object]
Read = Callable[[Call], Fields]


class Moment(Struct, frozen=True, kw_only=True):
    """One event of a hook of git: its name, how its fields are found, and what becomes of an answer."""

    event: str
    read: Read
    write: Callable[[Call, object], None] | None = None

    @property
    def canonical(self) -> str:
        """The name in the table of events."""
        return self.event.partition(":")[0]


async def raised(engine: Engine, hook: str, call: Call) -> AsyncIterator[tuple[str, Outcome]]:
    """Raise the events of a hook one after another, up to the first that is blocked.

    Raises:
        HostError: Git cannot say what it is about, or the answer cannot be given to it.
    """
    session = Session(id=call.environ.get(SESSION, ""))
    known: dict[Read, Fields] = {}
    for moment in MOMENTS[hook]:
        # git is asked only about what somebody wants to know
        if not engine.registry.ready[moment.canonical]:
            continue
        if moment.read not in known:
            known[moment.read] = moment.read(call)
        outcome = await engine.emit(moment.event, known[moment.read], session=session, cwd=call.folder)
        yield moment.event, outcome
        if outcome.blocked:
            return
        if moment.write is not None and outcome.output is not UNSET:
            moment.write(call, outcome.output)
            # whoever is asked next judges what it has become
            known.clear()


def _staged(call: Call) -> list[str]:
    """List what the commit changes against the one before it: of a file that was moved both names."""
    words = ("diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff")
    raw = ask(*words, "--ignore-submodules=none", folder=call.folder) or b""
    return [os.fsdecode(name) for name in raw.split(b"\0") if name]


def _branch(call: Call) -> str:
    """Name the branch, also one without commits; empty when there is none, as in the middle of a rebase."""
    raw = ask("symbolic-ref", "--quiet", "--short", "HEAD", folder=call.folder, may_fail=True)
    return os.fsdecode(raw or b"").rstrip("\n")


def _message(call: Call) -> str:
    """Read the message as git is going to keep it: without its comments, if it drops those."""
    text = _message_path(call).read_bytes().decode("utf-8", "surrogateescape")
    raw = ask("config", "--get", "commit.cleanup", folder=call.folder, may_fail=True) or b"default"
    cleanup = raw.decode("utf-8", "replace").strip()
    # git says so where no editor was used, and then keeps lines that look like comments
    is_edited = call.environ.get("GIT_EDITOR") != ":"
    if cleanup == "verbatim":
        return text
    if is_edited and (found := _SCISSORS.search(text)):
        text = text[: found.start()]
    drops = cleanup == "strip" or (cleanup == "default" and is_edited)
    words = ("stripspace", "--strip-comments") if drops else ("stripspace",)
    cleaned = ask(*words, folder=call.folder, stdin=text.encode("utf-8", "surrogateescape")) or b""
    return cleaned.decode("utf-8", "surrogateescape").rstrip("\n")


def _message_path(call: Call) -> Path:
    path = Path(call.folder, call.words[0]) if call.words else None
    if path is None or not path.is_file():
        raise HostError("git did not say which file the message of the commit is in")
    return path


def _write_message(call: Call, message: object) -> None:
    if not isinstance(message, str):
        raise HostError(f"a hook gave {type(message).__name__} for the message of the commit, which must be text")
    path = _message_path(call)
    try:
        path.write_bytes(f"{message.rstrip()}\n".encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise HostError("a hook gave a message of the commit that is no text: half a character is in it") from None
    except OSError as problem:
        raise HostError(f"cannot write the message of the commit to {path}: {problem.strerror}") from None


def _commit(call: Call) -> Fields:
    return {"files": _staged(call), "message": _message(call), "branch": _branch(call)}


def _before_message(call: Call) -> Fields:
    return {"files": _staged(call), "branch": _branch(call)}


def _push(call: Call) -> Fields:
    remote, url = (*call.words, "", "")[:2]
    lines = [line.split(" ") for line in os.fsdecode(call.stdin).splitlines()]
    if any(len(line) != _REF_WORDS for line in lines):
        raise HostError("git did not say what is pushed in the way it is known to")
    refs = [
        {"local": local, "remote": there, "from_commit": _known(theirs), "to_commit": _known(ours)}
        for local, ours, there, theirs in lines
    ]
    # whoever wrote a password into an address did not mean to show it to hooks and traces
    return {
        "remote": _SECRETS_OF_A_URL.sub(r"\1\2", remote),
        "url": _SECRETS_OF_A_URL.sub(r"\1\2", url),
        "refs": refs,
        "branch": _branch(call),
    }


def _checkout(call: Call) -> Fields:
    before, after, flag = (*call.words, "", "", "")[:3]
    return {
        "branch": _branch(call),
        "from_commit": _known(before),
        "to_commit": _known(after),
        "is_branch": flag == "1",
    }


def _known(commit: str) -> str:
    """Git says nothing with zeros."""
    return commit if commit.strip("0") else ""


MOMENTS: Final[Mapping[str, tuple[Moment, ...]]] = MappingProxyType(
    {
        "pre-commit": (Moment(event=PRE_COMMIT, read=_before_message),),
        "commit-msg": (
            Moment(event=EventName.GIT_MESSAGE, read=_commit, write=_write_message),
            Moment(event=EventName.GIT_COMMIT, read=_commit),
        ),
        "pre-push": (Moment(event=EventName.GIT_PUSH, read=_push),),
        "post-checkout": (Moment(event=EventName.GIT_CHECKOUT, read=_checkout),),
    }
)
