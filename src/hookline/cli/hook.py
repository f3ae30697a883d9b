"""`hookline hook`: the command that agents run. Its answer and its exit code are in the agent's dialect."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from hookline.bridge.call import GUARDED, OPTION, Call, IfBroken, event_from_name, parse_argv
from hookline.bridge.fallback import fallback_outcome
from hookline.bridge.serve import serve
from hookline.cli._command import CliCommand, ExitCode, argument, flag
from hookline.cli._output import print_error
from hookline.cli._run_hooks import run_until_terminated
from hookline.model.exchange import Answer
from hookline.model.installed_entry import PROOF, PROVE

_LARGEST: Final = 256 * 1024 * 1024  # bytes


def run(args: argparse.Namespace) -> int:
    """Answer the event on stdin."""
    policy = [OPTION, args.if_broken] if args.if_broken else []
    return answer_agent([*([PROVE] if args.prove else []), *policy, args.host, args.event])


def answer_agent(words: Sequence[str]) -> int:
    """Answer the event on stdin, with these arguments."""
    if list(words[:1]) == [PROVE]:
        code = answer_agent(words[1:])
        return code + PROOF if code in {0, ExitCode.BLOCKED} else code
    call, policy, wrong = parse_argv(words)
    if call is None:
        print_error(f"hookline hook: {wrong}")
        return ExitCode.BLOCKED if policy is IfBroken.BLOCK else 1
    streams = _Streams()
    try:
        raw = sys.stdin.buffer.read(_LARGEST + 1) if sys.stdin is not None else b""
        if len(raw) > _LARGEST:
            # drained as well, so that the agent is not blocked, and discarded
            while sys.stdin.buffer.read(1024 * 1024):
                pass
            raise ValueError(f"the event is longer than {_LARGEST // 1024 // 1024} MiB")  # noqa: TRY301 - see below
        call = replace(call, raw=raw)
        return run_until_terminated(serve(call, streams.write))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as problem:  # noqa: BLE001 - whatever it is, the agent gets a valid answer
        return streams.refuse(call, problem)


class _Streams:
    """Reserve stdout and stderr for the answer: other output would be taken for a part of it."""

    def __init__(self) -> None:
        self._answer: Answer | None = None
        self._streams: dict[int, int] = {}
        for number in range(3):
            try:
                os.fstat(number)
            except OSError:
                # A closed stream is opened to /dev/null: otherwise the next opened file would get its descriptor, and
                # everything that is printed. This opens the lowest free descriptor, as those below are open.
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # noqa: FBT003 - it takes nothing else
                self._streams[number] = -1
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in {1, 2} - set(self._streams):
            self._streams[number] = os.dup(number)
            os.dup2(nowhere, number)
        os.close(nowhere)

    def write(self, answer: Answer) -> None:
        """Write the answer for the agent.

        Raises:
            OSError: The agent cannot read it.
        """
        # stderr first: some agents stop reading after the answer on stdout
        for number, raw in ((2, answer.stderr), (1, answer.stdout)):
            _write(self._streams[number], raw)
        self._answer = answer

    def refuse(self, call: Call, problem: Exception) -> int:
        """Answer as the policy says, in the agent's bytes, or at least with its exit code."""
        if self._answer is not None:
            # the agent has its answer already
            return self._answer.exit_code
        event = event_from_name(call.dialect, call.native)
        is_blocked = call.if_broken is not IfBroken.ALLOW
        try:
            answer = call.dialect.encode_outcome(
                fallback_outcome(call.dialect, event, repr(problem), is_blocked=is_blocked), event
            )
            self.write(answer)
        except Exception:  # noqa: BLE001 - see above
            text = f"hookline could not answer: {problem!r}; `hookline doctor` says more\n"
            with suppress(OSError):
                _write(self._streams[2], text.encode("utf-8", "backslashreplace"))
            return ExitCode.BLOCKED if is_blocked and event.name in GUARDED else 1
        return answer.exit_code


def _write(handle: int, raw: bytes) -> None:
    """Write all bytes.

    Raises:
        OSError: The stream is closed.
    """
    if handle < 0 and raw:
        raise OSError("the stream is closed")
    view = memoryview(raw)
    while view:
        view = view[os.write(handle, view) :]


COMMAND: Final = CliCommand(
    "answer one call of an agent in its dialect; `hookline install` has agents run this",
    flag(PROVE, f"add {PROOF} to the exit code of an answer, which shows that it is one"),
    argument(
        OPTION,
        "the answer when the hooks cannot be asked (default: as the hooks are configured to fail)",
        choices=[*IfBroken],
    ),
    argument("host", "the agent that calls; `hookline hosts` lists them"),
    argument("event", "the agent's own name of the event"),
    example="claude-code PreToolUse < payload.json",
    run=run,
)
