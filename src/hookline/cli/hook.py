"""`hookline hook`: what agents run. Its answer is the agent's own, and so is its exit code.

Its words are read by hand: it is called for every step of an agent, and a slip in them must not end with the code that
means "blocked".
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from hookline.bridge.broken import GUARDED, answer_without_hooks
from hookline.bridge.call import Call, IfBroken, is_known, moment
from hookline.bridge.serving import serve
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain
from hookline.dialects import DIALECTS
from hookline.model.exchange import Answer
from hookline.ports import Dialect

HELP: Final = "answer one call of an agent in its own words; `hookline install` has agents run this"
EXAMPLE: Final = "hookline hook claude-code PreToolUse < payload.json"

BLOCKED: Final = 2
INTERRUPTED: Final = 130
_OPTION: Final = "--if-broken"
_LARGEST: Final = 256 * 1024 * 1024  # bytes


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument(
        _OPTION,
        choices=[*IfBroken],
        help="what the agent is told when the hooks cannot be asked; otherwise what the hooks want when they fail",
    )
    parser.add_argument("host", metavar="HOST", help="the agent that calls; `hookline hosts` lists them")
    parser.add_argument("event", metavar="EVENT", help="the agent's own name of the event")


def run(args: argparse.Namespace) -> int:
    """Answer what stands on stdin."""
    policy = [_OPTION, args.if_broken] if args.if_broken else []
    return answer_agent([*policy, args.host, args.event])


def answer_agent(words: Sequence[str]) -> int:
    """Answer what stands on stdin, as these words say."""
    policy, names, wrong = _parsed(words)
    dialect = _dialect(names[0]) if names else None
    if not wrong and dialect is None:
        known = ", ".join(sorted(name for name, module in DIALECTS.items() if module.SPEC.is_agent))
        wrong = f"there is no agent {names[0]!r}; there are {known}" if names else "wanted: hookline hook HOST EVENT"
    if not wrong and dialect is not None and not is_known(dialect, names[1]):
        known = ", ".join(dialect.SPEC.abilities or ())
        wrong = f"{dialect.SPEC.title} has no event {names[1]!r}; it has {known}"
    if wrong or dialect is None:
        complain(f"hookline hook: {wrong}")
        return BLOCKED if policy is IfBroken.BLOCK else 1
    call = Call(dialect=dialect, native=names[1], raw=b"", if_broken=policy)
    streams = _Streams()
    try:
        call = replace(call, raw=_read())
        return asyncio.run(_serve(call, streams.say))
    except asyncio.CancelledError:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as problem:  # noqa: BLE001 - whatever it is, the agent gets an answer that somebody meant
        return streams.refuse(call, problem)


async def _serve(call: Call, say: Callable[[Answer], None]) -> int:
    end_hooks_with_us()
    return await serve(call, say)


def _parsed(words: Sequence[str]) -> tuple[IfBroken | None, list[str], str]:
    """Read the words: the policy, the names, and what is wrong with them."""
    policy: IfBroken | None = None
    names: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == _OPTION or word.startswith(f"{_OPTION}="):
            value = word.partition("=")[2] if "=" in word else left.pop(0) if left else ""
            if value not in {*IfBroken}:
                return policy, names, f"{_OPTION} is {value!r}, wanted block or allow"
            policy = IfBroken(value)
        elif word.startswith("-"):
            return policy, names, f"there is no option {word!r}"
        else:
            names.append(word)
    return policy, names, "" if len(names) == 2 else "wanted: hookline hook [--if-broken block|allow] HOST EVENT"  # noqa: PLR2004


def _dialect(name: str) -> Dialect | None:
    """Find an agent by its name, or by another word for it."""
    agents = (module for module in DIALECTS.values() if module.SPEC.is_agent)
    return next((module for module in agents if name == module.SPEC.name or name in module.SPEC.aliases), None)


def _read() -> bytes:
    """Read the event; what is more than any agent says is read, too, so that it can go on, and thrown away.

    Raises:
        ValueError: It is too long.
    """
    if sys.stdin is None:
        return b""
    raw = sys.stdin.buffer.read(_LARGEST + 1)
    if len(raw) <= _LARGEST:
        return raw
    while sys.stdin.buffer.read(1024 * 1024):
        pass
    raise ValueError(f"the event is longer than {_LARGEST // 1024 // 1024} MiB")


class _Streams:
    """Keep stdout and stderr for the answer: what anybody else prints would be taken for a part of it."""

    def __init__(self) -> None:
        closed = [number for number in range(3) if _was_closed(number)]
        self._kept = {number: -1 if number in closed else _moved(number) for number in (1, 2)}
        self._said: Answer | None = None

    def say(self, answer: Answer) -> None:
        """Give the agent an answer.

        Raises:
            OSError: Nobody can read it.
        """
        # what is to be read beside the answer first: some stop reading with the answer
        for number, raw in ((2, answer.stderr), (1, answer.stdout)):
            _write(self._kept[number], raw)
        self._said = answer

    def refuse(self, call: Call, problem: Exception) -> int:
        """Answer as the policy says, in the agent's bytes, or at least with its exit code."""
        if self._said is not None:
            # it stands, whatever happened then
            return self._said.exit_code
        event = moment(call.dialect, call.native)
        is_blocked = call.if_broken is not IfBroken.ALLOW
        try:
            answer = call.dialect.encode_outcome(
                answer_without_hooks(call.dialect, event, repr(problem), is_blocked=is_blocked), event
            )
            self.say(answer)
        except Exception:  # noqa: BLE001 - see above
            text = f"hookline could not answer: {problem!r}; `hookline doctor` says more\n"
            with suppress(OSError):
                _write(self._kept[2], text.encode("utf-8", "backslashreplace"))
            return BLOCKED if is_blocked and event.name in GUARDED else 1
        return answer.exit_code


def _was_closed(number: int) -> bool:
    """Say whether a stream was closed; it is open then, and leads nowhere.

    Otherwise the next file that is opened would get its number, and everything that is printed.
    """
    try:
        os.fstat(number)
    except OSError:
        # the lowest number that is free: those below are open
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - it takes nothing else
        return True
    return False


def _moved(number: int) -> int:
    """Give a copy of a stream, and lead the stream itself nowhere."""
    copy = os.dup(number)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
    return copy


def _write(handle: int, raw: bytes) -> None:
    """Write all of it.

    Raises:
        OSError: Nobody can read it.
    """
    if handle < 0 and raw:
        raise OSError("the stream is closed")
    view = memoryview(raw)
    while view:
        view = view[os.write(handle, view) :]
