"""`hookline hook`: what agents run. Its answer is the agent's own, and so is its exit code."""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from hookline.bridge.broken import GUARDED, answer_without_hooks
from hookline.bridge.call import Call, IfBroken, moment
from hookline.bridge.serving import serve
from hookline.bridge.words import OPTION, understood
from hookline.cli._ending import TERMINATED, end_hooks_with_us
from hookline.cli._output import complain
from hookline.model.exchange import Answer

HELP: Final = "answer one call of an agent in its own words; `hookline install` has agents run this"
EXAMPLE: Final = "hookline hook claude-code PreToolUse < payload.json"

BLOCKED: Final = 2
INTERRUPTED: Final = 130
_LARGEST: Final = 256 * 1024 * 1024  # bytes


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument(
        OPTION,
        choices=[*IfBroken],
        help="what the agent is told when the hooks cannot be asked; otherwise what the hooks want when they fail",
    )
    parser.add_argument("host", metavar="HOST", help="the agent that calls; `hookline hosts` lists them")
    parser.add_argument("event", metavar="EVENT", help="the agent's own name of the event")


def run(args: argparse.Namespace) -> int:
    """Answer what stands on stdin."""
    policy = [OPTION, args.if_broken] if args.if_broken else []
    return answer_agent([*policy, args.host, args.event])


def answer_agent(words: Sequence[str]) -> int:
    """Answer what stands on stdin, as these words say."""
    call, policy, wrong = understood(words)
    if call is None:
        complain(f"hookline hook: {wrong}")
        return BLOCKED if policy is IfBroken.BLOCK else 1
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
