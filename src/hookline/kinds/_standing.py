"""One process that stays: questions in on stdin, answers out on stdout, one line of JSON each.

Questions with an id of their own (JSON-RPC) may be under way side by side, and their answers come in any order. All
others are asked one at a time, because only their order says which answer belongs to which.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from hookline import wire
from hookline.kinds._child import GRACE, OUTPUT_LIMIT, STDERR, STDOUT, Finished
from hookline.kinds._job import Launch
from hookline.kinds._replies import reply
from hookline.model.exchange import Failure, FailureKind, Reply

IDLE: Final = 600.0
"""Seconds without a question after which a process is ended; the next question starts another."""

# What a process left in its pipes arrives within a turn of the loop; a grandchild that holds them is not waited for.
_DRAIN: Final = 0.25
# Who has no ids and prints a second line for one event would have it taken for the next answer; most such lines come
# at once, and are seen for what they are if the next question waits a moment.
_SETTLE: Final = 0.01
_STDIN: Final = 0
_STDERR_KEPT: Final = 65_536


Leaving: TypeAlias = Callable[["Standing"], None]


class Question:
    """One document on its way: its line, and the id it was given on this way; `asked` is the id it came with.

    `limit` is how long somebody waits for its answer.
    """

    __slots__ = ("answer", "asked", "limit", "line", "seen", "tag")

    def __init__(self, document: object, tag: int, limit: asyncio.Timeout) -> None:
        self.limit = limit
        self.tag = 0
        self.asked: object = None
        if isinstance(document, dict) and "jsonrpc" in document:
            self.tag = tag
            self.asked = document.get("id")
            document = {**document, "id": tag}
        self.line = wire.dump(document) + b"\n"
        self.seen = 0
        self.answer: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()


class Standing(asyncio.SubprocessProtocol):
    """One process that stays, from its start to its burial.

    `answered` counts its answers, and `fell` says that it ended by itself. `left` is what it had printed besides
    answers, on both streams, when it ended. `complaint` is what the next one to ask should know. `leave` is called
    when nobody can ask it any more, and `forget` when nothing is left of it.
    """

    def __init__(self, launch: Launch, *, leave: Leaving, forget: Leaving) -> None:
        self.launch = launch
        self.answered = 0
        self.fell = False
        self.left = (b"", b"")
        self.complaint = ""
        self._leave = leave
        self._forget = forget
        self._given_up: set[int] = set()
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Question] = deque()
        self._under_way: dict[int, Question] = {}
        self._line = bytearray()
        self._noise = bytearray()
        self._stderr = bytearray()
        self._open = {_STDIN, STDOUT, STDERR}
        self._ending = False
        self._retired = False
        self._ready_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.SubprocessTransport | None = None
        self.buried: asyncio.Task[None] | None = None

    @property
    def usable(self) -> bool:
        """Whether it can be asked."""
        return not (self._ending or self._retired or self._exited.done()) and {_STDIN, STDOUT} <= self._open

    @property
    def pid(self) -> int:
        """Its number, which is also its group's; 0 before it was started."""
        return self._transport.get_pid() if self._transport is not None else 0

    async def ask(self, question: Question) -> Reply | None:
        """Wait for an answer; None when the process ended before it was asked, so that another one may be.

        Who gives up waiting ends a process that is stuck.
        """
        if self._timer is not None:
            self._timer.cancel()
        self._waiting.append(question)
        self._send()
        try:
            return await question.answer
        except asyncio.CancelledError:
            self._abandon(question)
            raise

    def retire(self) -> None:
        """Let it answer what it was asked, then end it."""
        self._retired = True
        if not self._under_way and not self._waiting:
            self.end(Failure(FailureKind.INTERNAL, "was ended because nothing was left to ask"))

    def end(self, failure: Failure, *, for_good: bool = False) -> None:
        """End it and everything it started; who was asked about gets the failure, with `for_good` whoever waits, too."""
        if self._ending:
            return
        self._ending = True
        if self._timer is not None:
            self._timer.cancel()
        if not self.fell:
            self.left = (self._noise_taken(), self._stderr_taken())
        said = Reply(failure=failure, stderr=self.left[1], exit_code=1, argv=self.launch.words)
        self._settle_all(said, waiting=said if for_good else None)
        self._leave(self)
        self._close_stdin()
        if not self._exited.done():
            self._signal("SIGTERM")
        self.buried = self._loop.create_task(self._bury())

    # what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that it runs."""
        if isinstance(transport, asyncio.SubprocessTransport):
            self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Read answers line by line, and keep the end of what it says on stderr."""
        if fd == STDERR:
            self._stderr += data
            del self._stderr[:-_STDERR_KEPT]
            return
        self._line += data
        *lines, rest = self._line.split(b"\n")
        self._line = rest
        for line in lines:
            self._hear(bytes(line))
        if len(self._line) + len(self._noise) > OUTPUT_LIMIT:
            text = f"printed more than {OUTPUT_LIMIT >> 20} MB without an answer; ended"
            self.end(Failure(FailureKind.TOO_MUCH_OUTPUT, text))
        self._send()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that one stream ended; without stdout nobody hears it any more."""
        self._open.discard(fd)
        if fd == _STDIN and not self._under_way:
            self._await_end()
        if fd == STDOUT and self._line:
            line, self._line = bytes(self._line), bytearray()
            self._hear(line)
        if fd == STDOUT:
            self._await_end()
        if self._exited.done() and STDOUT not in self._open and STDERR not in self._open:
            self._die()

    def process_exited(self) -> None:
        """Note its end; others may still hold its output."""
        _set(self._exited)
        if STDOUT not in self._open and STDERR not in self._open:
            self._die()
        else:
            self._await_end()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Note that nothing is held any more."""
        _set(self._closed)

    # questions and answers

    def _noise_taken(self) -> bytes:
        taken = bytes(self._noise)
        self._noise.clear()
        return taken

    def _stderr_taken(self) -> bytes:
        taken = bytes(self._stderr)
        self._stderr.clear()
        return taken

    def _send(self) -> None:
        pipe = self._transport.get_pipe_transport(_STDIN) if self._transport is not None else None
        if self._ending or not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing():
            return
        while self._waiting and (self._waiting[0].tag or not self._under_way):
            if self._loop.time() < self._ready_at:
                self._loop.call_at(self._ready_at, self._send)
                return
            question = self._waiting.popleft()
            question.seen = self.answered
            self._under_way[question.tag] = question
            pipe.write(question.line)

    def _hear(self, line: bytes) -> None:
        document, rest = wire.last_object(line) if line.lstrip().startswith(b"{") else (None, "")
        if document is None or rest:
            self._noise += line + b"\n" if line.strip() else b""
            return
        asked = self._asked(document)
        for question in asked:
            self._answer(question, document)
        if not asked:
            self._unasked(document, line)

    def _asked(self, document: dict[str, object]) -> list[Question]:
        """Say whose answer this is; nobody's if they gave up waiting for it."""
        if 0 in self._under_way:
            return [self._under_way[0]]
        tag = document.get("id")
        if tag is None and document.get("error") is not None:
            # it could not read a question, and so does not know its id: which one, nobody can say
            return list(self._under_way.values())
        is_answer = "result" in document or "error" in document
        question = self._under_way.get(tag) if isinstance(tag, int) and tag is not True and is_answer else None
        return [question] if question is not None else []

    def _answer(self, question: Question, document: dict[str, object]) -> None:
        del self._under_way[question.tag]
        self.answered += 1
        if not question.tag:
            self._ready_at = self._loop.time() + _SETTLE
        if question.tag and document.get("id") is not None:
            document = {**document, "id": question.asked}
        stdout = self._noise_taken() + wire.dump(document)
        _settle(question, Reply(stdout=stdout, stderr=self._stderr_taken(), argv=self.launch.words))
        if not self._under_way and not self._waiting:
            self._rest()
        elif not self._under_way and _STDIN not in self._open:
            self._await_end()

    def _unasked(self, document: dict[str, object], line: bytes) -> None:
        """Decide about a document that answers nobody who waits."""
        tag = document.get("id")
        if isinstance(tag, int) and tag in self._given_up:
            self._given_up.discard(tag)  # late: whoever asked has gone
        elif "jsonrpc" in document or self._under_way:
            self._noise += line + b"\n"  # answers have ids here, so that it cannot be mistaken for one
        else:
            # the next one to ask would take it for their answer
            self.complaint = "its process was ended, because it printed more than one line of JSON for one event"
            self.end(Failure(FailureKind.INVALID_REPLY, "printed more than one line of JSON for one event; ended"))

    def _rest(self) -> None:
        if self._retired or _STDIN not in self._open:
            self.retire()
        else:
            self._timer = self._loop.call_later(IDLE, self.retire)

    def _abandon(self, question: Question) -> None:
        if question in self._waiting:
            self._waiting.remove(question)
        elif self._under_way.pop(question.tag, None) is not None:
            self._given_up.add(question.tag)
            # others still wait, and who was only called off says nothing about the process
            spared = question.tag and self._under_way and not question.limit.expired()
            if question.seen == self.answered and not spared:
                # who has answered nobody since is stuck; without ids, the late answer would be the next one's
                self.end(Failure(FailureKind.KILLED, "was ended, because it did not answer an earlier event in time"))
        if not self._under_way and not self._waiting and not self._ending:
            self._rest()

    def _settle_all(self, answer: Reply, *, waiting: Reply | None = None) -> None:
        for question in self._under_way.values():
            _settle(question, answer)
        for question in self._waiting:
            _settle(question, waiting)
        self._under_way.clear()
        self._waiting.clear()

    # the end

    def _await_end(self) -> None:
        """Give what is left in its pipes, and its exit code, a moment to arrive."""
        self._loop.call_later(_DRAIN, self._die)

    def _die(self) -> None:
        """Say that it ended without being asked to."""
        if self._ending:
            return
        self.fell = True
        code = self._transport.get_returncode() if self._transport is not None else None
        noise, stderr = self.left = (self._noise_taken(), self._stderr_taken())
        said = reply(Finished(exit_code=code or 0, stdout=noise, stderr=stderr), 0.0, self.launch.words)
        if not code:
            how = "closed its stdout" if code is None else "ended with exit code 0"
            failure = Failure(FailureKind.INVALID_REPLY, f"{how} without an answer")
            said = Reply(stdout=noise, stderr=stderr, exit_code=1, failure=failure, argv=self.launch.words)
        self._settle_all(said)
        self.end(Failure(FailureKind.KILLED, "ended"))

    async def _bury(self) -> None:
        """Wait for its end, make it end, and give back everything held for it."""
        await _within(GRACE, self._exited)
        self._signal("SIGKILL")
        await _within(GRACE, self._exited)
        if self._transport is not None:
            _close(self._transport)
        await _within(GRACE, self._closed)
        self.launch.release()
        self._forget(self)

    def _signal(self, name: str) -> None:
        if self.pid:
            kill_group(self.pid, name)

    def _close_stdin(self) -> None:
        pipe = self._transport.get_pipe_transport(_STDIN) if self._transport is not None else None
        if pipe is not None:
            pipe.close()


def kill_group(pid: int, name: str = "SIGKILL") -> None:
    """Signal everything a process started; it may be gone, or be another user's."""
    try:
        os.killpg(pid, getattr(signal, name))
    except (ProcessLookupError, PermissionError):
        return


def _settle(question: Question, answer: Reply | None) -> None:
    if not question.answer.done():
        question.answer.set_result(answer)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _within(seconds: float, future: asyncio.Future[None]) -> None:
    await asyncio.wait((future,), timeout=seconds)


def _close(transport: asyncio.SubprocessTransport) -> None:
    # asyncio signals a child that still runs, which is refused when it runs as another user (sudo)
    try:
        transport.close()
    except PermissionError:
        return
