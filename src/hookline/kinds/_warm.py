"""Which calls of command hooks run warm, and in which zygote; all others run as ever.

A hook that says `warm` and is one Python script is run by a child that was forked ahead. Whatever is not exactly that,
or goes wrong before the script has begun, is left to a cold start, which is always right.
"""
# asked at each call, where pathlib costs many times more
# ruff: noqa: PTH116, PTH118, PTH123

import asyncio
import logging
import marshal
import os
import shlex
import sys
from asyncio import AbstractEventLoop
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from msgspec import Struct

from hookline import surroundings
from hookline.kinds._child import Feed, Finished, text_of
from hookline.kinds._hub import Hub, hub_of
from hookline.kinds._job import Job
from hookline.kinds._launch import PYTHON_START, STARTED, interpreter_line, stem
from hookline.kinds._process import run as run_cold
from hookline.kinds._sealed import DESCRIPTOR
from hookline.kinds._zygote import LARGEST, Lesson, WarmChild, Zygote
from hookline.kinds._zygote_child import CHANGED, STALE
from hookline.model.hook import Hook
from hookline.model.workspace import find_program

logger: Final = logging.getLogger(__name__)

# Switches that leave the start of a script as it is; -c, -m, -i, -x and the like do not.
_SWITCHES: Final = frozenset("BbEIOPqRsSu")
_EXTENSIONS: Final = frozenset({"utf8", "dev", "faulthandler", "int_max_str_digits", "no_debug_ranges"})

# What Python, its C library, and files in site-packages that run at each start look at.
_AT_START: Final = (b"PYTHON", b"LC_", b"LD_", b"MALLOC_", b"OPENSSL_", b"SSL_", b"GLIBC_", b"COV", b"SETUPTOOLS_")
_AT_START_TOO: Final = frozenset({b"PATH", b"HOME", b"LANG", b"LANGUAGE", b"TZ", b"TZDIR", b"VIRTUAL_ENV"})

_PROGRAM: Final = b"\x7fELF"
_MOST_ZYGOTES: Final = 16
_MOST_NESTS: Final = 128
_IDLE: Final = 600.0
# A child is made in a few milliseconds; a start takes some thirty.
_PATIENCE: Final = 0.25
_MOST_FAILURES: Final = 3
_FIRST_LINE: Final = 512
_MORE_THAN_ONE: Final = frozenset(";&|`()<>")


class Script(Struct, frozen=True):
    """A command that is one Python script: how its interpreter is started, and what it is to run.

    `words` are the script and its arguments, `text` its bytes where they were vetted.
    """

    program: str
    command: tuple[str, ...]
    words: tuple[str, ...]
    text: bytes | None = None


def python_script(program: str, argv: Sequence[str]) -> Script | None:
    """Take a Python command apart; None when it is none, or not one that runs a script."""
    if stem(argv[0]) != "python" or stem(program) != "python":
        return None
    place = 1
    while place < len(argv) and len(argv[place]) > 1 and argv[place][0] == "-":
        word = argv[place]
        if word == "-c":
            return _vetted(program, argv, place)
        if word in {"-W", "-X"}:
            place += 1
            word = "".join(argv[place - 1 : place + 1])
        if not _is_harmless(word):
            return None
        place += 1
    if place >= len(argv) or argv[place] == "-":
        return None
    return Script(program, tuple(argv[:place]), tuple(argv[place:]))


def _is_harmless(switch: str) -> bool:
    if switch.startswith("-X"):
        return switch[2:].partition("=")[0] in _EXTENSIONS
    return switch.startswith("-W") or _SWITCHES.issuperset(switch[1:])


def _vetted(program: str, argv: Sequence[str], place: int) -> Script | None:
    """Recognize how a script is started from vetted bytes."""
    if argv[place + 1] != PYTHON_START or not argv[place + 2].startswith(DESCRIPTOR):
        return None
    descriptor = int(argv[place + 2][len(DESCRIPTOR) :])
    text = os.pread(descriptor, LARGEST, 0)
    return Script(program, tuple(argv[:place]), tuple(argv[place + 3 :]), text) if len(text) < LARGEST else None


def _is_read_at_start(name: bytes) -> bool:
    return name.startswith(_AT_START) or name in _AT_START_TOO


def may_be_warm(hook: Hook) -> bool:
    """Say whether a command looks like one Python script; a `#!` line is looked for in whatever else is one file."""
    try:
        words = [*shlex.split(hook.command), *hook.args]
    except ValueError:
        return False
    if not words or _MORE_THAN_ONE.intersection("".join(words)):
        return False
    return python_script(words[0], words) is not None or (stem(words[0]) not in STARTED and "/" in words[0])


class _Nest:
    """The zygotes of one script, run by one interpreter with its switches in one folder, and how they do.

    What one script imports, another must not find: it may look for a module of that name elsewhere.
    """

    def __init__(self, interpreter: str) -> None:
        self.interpreter = interpreter
        self.state = _state_of(interpreter)
        self.zygotes: list[Zygote] = []
        self.failures = 0
        self.lessons: dict[str, Lesson] = {}

    def fitting(self, env: Mapping[bytes, bytes]) -> Zygote | None:
        """Give the zygote whose libraries are what they would be with these variables."""
        return next((zygote for zygote in self.zygotes if zygote.fits(env)), None)

    def is_replaced(self) -> bool:
        """Say whether the interpreter is another than it was."""
        return _state_of(self.interpreter) != self.state

    def fail(self, words: Sequence[str], reason: str) -> None:
        """Count a call that could not run warm; after some in a row nobody tries any more."""
        self.failures += 1
        if self.failures == _MOST_FAILURES:
            logger.warning('"%s" runs without warm = true from now on: %s', " ".join(words), reason)
            self.retire()

    def retire(self) -> None:
        """Let all of them end."""
        for zygote in self.zygotes:
            zygote.retire()


_Key = tuple[str, tuple[str, ...], str, str, tuple[bytes, ...], tuple[bytes, ...]]


class _Place:
    """Everything warm in one event loop."""

    def __init__(self, loop: AbstractEventLoop, hub: Hub) -> None:
        self.hub = hub
        self._loop = loop
        self._nests: dict[_Key, _Nest] = {}
        self._counting: dict[tuple[bytes, ...], tuple[bytes, ...]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def nest(self, script: Script, folder: str, env: Mapping[bytes, bytes]) -> _Nest | None:
        """Give the nest of a script; None when it is asked for the first time, because there may be no second."""
        # which names count is asked once for each set of them
        names = tuple(env)
        counting = self._counting.get(names)
        if counting is None:
            if len(self._counting) >= _MOST_ZYGOTES:
                self._counting.clear()
            counting = self._counting[names] = tuple(filter(_is_read_at_start, names))
        values = tuple([env[name] for name in counting])
        key = (script.program, script.command, script.words[0], folder, counting, values)
        nest = self._nests.get(key)
        if nest is not None and not nest.is_replaced():
            return nest
        if nest is not None:
            nest.retire()
        if len(self._nests) >= _MOST_NESTS:
            # scripts that are written anew for each call
            self._nests = {key: nest for key, nest in self._nests.items() if any(map(_is_living, nest.zygotes))}
        self._nests[key] = _Nest(os.path.join(folder, script.program))
        return None

    def hatch(self, nest: _Nest, script: Script, folder: str, env: Mapping[bytes, bytes]) -> None:
        """Start a zygote; the oldest goes where there are many.

        Raises:
            OSError: It cannot be started.
        """
        with open(nest.interpreter, "rb") as file:
            if file.read(len(_PROGRAM)) != _PROGRAM:
                raise OSError("its interpreter is itself a script, which may start another each time")
        living = list(filter(_is_living, self.zygotes()))
        if len(living) >= _MOST_ZYGOTES:
            min(living, key=lambda zygote: zygote.used).retire()
        nest.zygotes = list(filter(_is_living, nest.zygotes))
        zygote = Zygote(script.command, program=script.program, env=env, cwd=folder, hub=self.hub)
        nest.zygotes.append(zygote)
        for path, lesson in nest.lessons.items():
            zygote.learn(path, lesson)
        if self._timer is None:
            self._timer = self._loop.call_later(_IDLE, self._sweep)

    def zygotes(self) -> list[Zygote]:
        """Give all there are."""
        return [zygote for nest in self._nests.values() for zygote in nest.zygotes]

    def _sweep(self) -> None:
        """Let go of what nobody has used for long; an event loop with nothing but this timer still ends."""
        self._timer = None
        oldest = self._loop.time() - _IDLE
        for key, nest in list(self._nests.items()):
            for zygote in nest.zygotes:
                if zygote.used <= oldest:
                    zygote.retire()
            nest.zygotes = list(filter(_is_living, nest.zygotes))
            if not nest.zygotes and not nest.failures:
                del self._nests[key]
        if self.zygotes():
            self._timer = self._loop.call_later(_IDLE / 2, self._sweep)

    async def close(self) -> None:
        """End them all."""
        if self._timer is not None:
            self._timer.cancel()
        zygotes = self.zygotes()
        self._nests.clear()
        for zygote in zygotes:
            zygote.retire()
        for zygote in zygotes:
            await zygote.end()

    def drop(self) -> None:
        """End them all at once, from another loop."""
        for zygote in self.zygotes():
            zygote.drop()
        self._nests.clear()


class Warm:
    """Runs Python scripts in children that were forked ahead."""

    def __init__(self) -> None:
        self._places: WeakKeyDictionary[AbstractEventLoop, _Place] = WeakKeyDictionary()

    async def run(self, job: Job, *, stdin: Feed, timeout: float) -> Finished | None:
        """Run a job warm, with the contract of `_process.run`; None when it has to be started, and nothing has run."""
        script = self._script(job)
        if script is None or not job.folder:
            return None
        env = cast("Mapping[bytes, bytes]", job.env)
        nest = self._place().nest(script, job.folder, env)
        if nest is None or nest.failures >= _MOST_FAILURES:
            return None
        umask = surroundings.umask()
        values: tuple[Any, ...] = (
            *(script.words, (*script.command, *script.words), env, job.folder),
            *(-1 if umask is None else umask, script.text),
        )
        message = marshal.dumps(values, 2)
        if len(message) > LARGEST // 2:
            return None
        zygote = nest.fitting(env)
        if zygote is None:
            if any(other.is_retired and not other.is_ready for other in nest.zygotes):
                nest.fail(script.words, "its interpreter prints something, or starts a thread, before it runs a script")
            elif any(other.is_lost for other in nest.zygotes):
                nest.fail(script.words, "the process that waits for its calls ends by itself")
            self._hatch(nest, script, job.folder, env)
            return None
        spare = await zygote.take(_PATIENCE) if zygote.is_ready else None
        if spare is not None:
            child = WarmChild(spare, zygote, hub=self._place().hub, timeout=timeout)
            return await _run(child, message, stdin, zygote=zygote, nest=nest, script=script)
        return None

    async def close(self) -> None:
        """End everything that waits for calls."""
        here = asyncio.get_running_loop()
        places = dict(self._places)
        self._places.clear()
        for loop, place in places.items():
            if loop is here:
                await place.close()
            else:
                place.drop()

    def _script(self, job: Job) -> Script | None:
        """Take a job apart; a script with a `#!` line is what the system would make of it."""
        if job.script or job.extra or len(job.files) > 1 or not job.argv:
            return None
        if stem(job.program) == "python":
            return python_script(job.program, job.argv)
        try:
            with open(os.path.join(job.folder, job.program), "rb", buffering=0) as file:
                text = file.read(_FIRST_LINE)
        except OSError:
            return None
        line = interpreter_line(text)
        if not line or stem(line[0]) != "python" or not os.access(os.path.join(job.folder, job.program), os.X_OK):
            return None
        if not text[2:].lstrip(b" \t").startswith(b"/"):
            return None  # the system takes that for a file in the folder it is in
        # looked for at each call, as `env` does
        program = line[0] if "/" in line[0] else find_program(line[0], job.path)
        return python_script(program, (*line, job.program, *job.argv[1:])) if program else None

    def _place(self) -> _Place:
        loop = asyncio.get_running_loop()
        place = self._places.get(loop)
        if place is None:
            for other in [other for other in list(self._places) if other.is_closed()]:
                self._places.pop(other).drop()
            place = self._places[loop] = _Place(loop, hub_of(loop))
        return place

    def _hatch(self, nest: _Nest, script: Script, folder: str, env: Mapping[bytes, bytes]) -> None:
        if nest.failures >= _MOST_FAILURES:
            return
        try:
            self._place().hatch(nest, script, folder, env)
        except OSError as problem:
            nest.fail(script.words, str(problem))


async def _run(
    child: WarmChild, message: bytes, stdin: Feed, *, zygote: Zygote, nest: _Nest, script: Script
) -> Finished | None:
    """Run a script in a child; None when it has not begun."""
    try:
        child.tell(message)
    except OSError:
        child.drop()
        nest.fail(script.words, "a process that was to run it was gone")
        return None
    try:
        child.feed(text_of(stdin))
        child.watch()
        finished = await child.finished
    except asyncio.CancelledError:
        await child.kill()
        raise
    except BaseException:
        child.drop()
        raise
    if child.refusal:
        if child.refusal in {STALE, CHANGED}:
            zygote.retire()
            nest.lessons.clear()
        if child.refusal == STALE:
            nest.fail(script.words, "its libraries change from call to call, or a file beside it has the name of one")
        return None
    zygote.sample = message
    if child.lesson:
        path, mark, *names = child.lesson
        lesson = nest.lessons[path] = Lesson(tuple(names), mark, script.text)
        zygote.learn(path, lesson)
    else:
        nest.failures = 0
    return finished


def _is_living(zygote: Zygote) -> bool:
    return not zygote.is_retired


def _state_of(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_ino, found.st_dev, found.st_size, found.st_mtime_ns


SUPPORTED: Final = sys.platform == "linux" and run_cold.__module__.endswith("._process")
"""Whether this system has what it takes: pidfds, and processes that may fork."""
