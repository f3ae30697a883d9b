"""Hooks that are programs: the event on stdin, the answer on stdout."""

import asyncio
import errno
import os
from collections.abc import Collection, Coroutine, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary, ref

from msgspec.structs import replace

from hookline import surroundings
from hookline.errors import ConfigError
from hookline.kinds._absent import with_absence
from hookline.kinds._child import Finished
from hookline.kinds._drafts import Done, Drafted, folder_of, own_folder, variable_in
from hookline.kinds._job import Job, Launch, spoiled
from hookline.kinds._line import METACHARACTERS, WHITELIST, Line, plain_line, shell_line
from hookline.kinds._persistent import Order, Persistent
from hookline.kinds._process import run
from hookline.kinds._program import Environment, Programs, search_path, variable_of
from hookline.kinds._replies import EXIT_NOT_STARTED, not_started, refused, reply
from hookline.kinds._sealed import Seals, Vault
from hookline.kinds._sealing import (
    Handover,
    Refused,
    entered_folders,
    seal_argv,
    seal_line,
    simple_words,
)
from hookline.kinds._slots import Slots
from hookline.kinds._vetted import Vetted, describe
from hookline.kinds._warm import SUPPORTED as CAN_WARM
from hookline.kinds._warm import Warm, may_be_warm, python_script
from hookline.kinds.shell.template import ShellTemplate, compile_line, has_template
from hookline.model import run_command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import Hook, Source
from hookline.model.workspace import grounds

__all__ = ["METACHARACTERS", "WHITELIST", "Command", "may_be_warm"]

_SHELL: Final = "/bin/sh"

_NO_SHELL: Final = "it is a shell line, and there is neither sh nor bash here (cmd.exe is not supported)"

_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES})

_REMEMBERED: Final = 256


class Command:
    """Reaches hooks that are programs, each call in a process of its own."""

    def __init__(self, *, shell_dialects: Collection[str] = (), template_dialects: Collection[str] = ()) -> None:
        """Take the names of the dialects whose commands are shell lines, and of those that fill `{{…}}` in."""
        self._shell_dialects = frozenset(shell_dialects)
        self._template_dialects = frozenset(template_dialects)
        self._environment = Environment()
        self._programs = Programs()
        self._shell = _SHELL if Path(_SHELL).exists() else ""
        self._grounds: dict[tuple[str, Source, str], tuple[str, ...]] = {}
        self._vault = Vault()
        self._drafts: dict[str, Drafted] = {}
        self._done: dict[tuple[object, ...], Done] = {}
        self._persistent = Persistent()
        self._warm = Warm()
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, Slots] = WeakKeyDictionary()
        # those of the loop that asked last: to look them up takes longer than the rest of a turn
        self._last_slots: tuple[ref[asyncio.AbstractEventLoop], Slots] | None = None

    def refusal(self, hook: Hook) -> str:
        """Say why this hook may not run as it is written; empty when it may."""
        if objection := run_command.refusal(hook) or _unable_to_stay(hook):
            return objection
        line = self._line(hook)
        if line.script and not line.refusal:
            if not self._find_shell(surroundings.environ().get("PATH", os.defpath)):
                return _NO_SHELL
            if hook.dialect in self._template_dialects:
                return _template_refusal(line.script)
        return line.refusal

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Run the program and wait at most `timeout` seconds from its start."""
        # asked here again only where there can be an answer: at each call, a function less
        if hook.source_format == run_command.FORMAT:
            objection = run_command.refusal(hook, at=request.event.name)
            if objection:
                return refused(objection)
        draft = self._draft(hook, request)
        if type(draft) is Failure:
            return Reply(failure=draft, exit_code=EXIT_NOT_STARTED)
        if hook.persistent:
            answer = await self._ask_who_stays(hook, draft, request, timeout=timeout)
            return answer if not answer.exit_code else _with_absence(answer, draft, request.sealed or {})
        sealed = request.sealed
        # what is still to be sealed is none
        job = self._ready(draft, request.values) if sealed is None else self._free(draft, sealed)
        if type(job) is Failure:
            return Reply(failure=job, exit_code=EXIT_NOT_STARTED)
        loop, last = asyncio.get_running_loop(), self._last_slots
        slots = last[1] if last is not None and last[0]() is loop else self._slots_of(loop)
        # a coroutine less where nobody has to wait
        if not slots.take_now():
            await slots.take()
        try:
            if job is not None:
                words = job.argv if sealed is None else _written(draft)
                answer = await self._answer(job, request, argv=words, timeout=timeout)
            else:
                # it is told by its identity whether they are the same files, also where there are none
                files = {} if sealed is None else sealed
                answer = await self._answer_sealed(draft, request, sealed=files, timeout=timeout)
        finally:
            slots.give()
        if sealed is not None and answer.failure is not None:
            self._done.clear()  # a program may not be where it was
        return answer if not answer.exit_code else _with_absence(answer, draft, sealed or {})

    def _slots_of(self, loop: asyncio.AbstractEventLoop) -> Slots:
        slots = self._slots.get(loop)
        if slots is None:
            slots = self._slots[loop] = Slots()
        self._last_slots = (ref(loop), slots)
        return slots

    async def _ask_who_stays(self, hook: Hook, draft: Job, request: Request, *, timeout: float) -> Reply:
        order = Order(
            hook=hook,
            draft=draft,
            request=request,
            launch=partial(self._launch, draft, request),
            another=self._another_way,
        )
        return await self._persistent.ask(order, timeout=timeout)

    def sealing(self, hook: Hook, sealed: Sealed, *, cwd: str = "") -> str:
        """Say in words which of a hook's files run from the bytes that were vetted, and which are only compared."""
        draft = self._draft(hook, Request(event=Event(name=EventName.BEFORE_TOOL, cwd=cwd)))
        if isinstance(draft, Failure):
            return draft.message
        with Seals(self._vault) as seals:
            try:
                vetted = self._sealed(draft, sealed, seals)[1]
            except Refused as objection:
                return str(objection)
        return describe(vetted)

    async def close(self) -> None:
        """End who stays, and give back what is kept for the next call; no other child outlives its own."""
        await self._persistent.close()
        await self._warm.close()
        self._vault.close()

    def _line(self, hook: Hook) -> Line:
        shell = hook.shell
        if shell is None:
            shell = hook.dialect in self._shell_dialects and not hook.args
        return shell_line(hook.command, hook.args) if shell else plain_line(hook.command, hook.args)

    def _find_shell(self, path: str) -> str:
        return self._shell or self._programs.find("sh", path) or self._programs.find("bash", path)

    async def _answer(self, job: Job, request: Request, *, argv: tuple[str, ...], timeout: float) -> Reply:
        """Run it; `argv` are the words a person knows it by."""
        try:
            warm = await self._warm.run(job, stdin=request.written, timeout=timeout) if job.warm else None
            finished = warm or await _run(job, request, timeout)
        except (OSError, ValueError) as problem:
            return await self._answer_otherwise(job, request, problem, argv=argv, timeout=timeout)
        return reply(finished, timeout, argv)

    async def _answer_otherwise(
        self, job: Job, request: Request, problem: OSError | ValueError, *, argv: tuple[str, ...], timeout: float
    ) -> Reply:
        """Run what could not be started in another way, if there is one."""
        other = self._another_way(job, problem.errno or 0) if isinstance(problem, OSError) else None
        if other is not None:
            try:
                return reply(await _run(other, request, timeout), timeout, argv)
            except (OSError, ValueError) as again:
                problem = again
        return not_started(job.program, job.cwd, argv, problem=problem)

    def _free(self, draft: Job, sealed: Sealed) -> Job | None:
        """Give the job that was made of this draft before, where no file of it was vetted; None where it is to be sealed."""
        done = self._done.get(_command_of(draft))
        if done is None or done.draft is not draft or done.sealed is not sealed or not done.is_free:
            return None
        return done.job

    async def _answer_sealed(self, draft: Job, request: Request, *, sealed: Sealed, timeout: float) -> Reply:
        """Run exactly what was vetted; what has to stay where it lies is compared before and after."""
        with Seals(self._vault) as seals:
            opened = self._opened(draft, request, sealed=sealed, seals=seals)
            if isinstance(opened, Reply):
                return opened
            job, vetted = opened
            answer = await self._answer(job, request, argv=_written(draft), timeout=timeout)
            taint = spoiled(seals, vetted)
        return refused(taint) if taint else answer

    def _opened(self, draft: Job, request: Request, *, sealed: Sealed, seals: Seals) -> tuple[Job, Vetted] | Reply:
        """Make a draft ready to run from vetted bytes; a reply says why it cannot."""
        try:
            sealed_draft, vetted = self._sealed(draft, sealed, seals)
        except Refused as objection:
            return refused(str(objection))
        except OSError as problem:
            return refused(f"its files cannot be kept from changing: {problem.strerror}")
        job = sealed_draft if sealed_draft.program else self._ready(sealed_draft, request.values)
        if isinstance(job, Failure):
            return Reply(failure=job, exit_code=EXIT_NOT_STARTED)
        if changed := vetted.changed():
            return refused(f'"{changed}" changed since it was checked')
        return job, vetted

    def _launch(self, draft: Job, request: Request) -> Launch | Reply:
        """Make ready what stays; what it was handed is taken back when it has gone."""
        if request.sealed is None:
            job = self._ready(draft, request.values)
            if isinstance(job, Failure):
                return Reply(failure=job, exit_code=EXIT_NOT_STARTED)
            return Launch(job=job, words=_written(draft))
        seals = Seals(self._vault)
        opened = self._opened(draft, request, sealed=request.sealed, seals=seals)
        if isinstance(opened, Reply):
            seals.__exit__()
            return opened
        return Launch(job=opened[0], words=_written(draft), seals=seals, vetted=opened[1])

    def _sealed(self, draft: Job, sealed: Sealed, seals: Seals) -> tuple[Job, Vetted]:
        """Put vetted bytes where a command names files, or remember how that was done with the same files."""
        folder, key = draft.folder, _command_of(draft)
        done = self._done.get(key)
        if done is not None and done.sealed is sealed:
            job = done.again(draft, folder, seals)
            if job is not None:
                return job, done.vetted
        asked: dict[str, str | None] = {}
        first = len(seals.contents)
        job, vetted = self._sealed_anew(draft, folder, sealed=sealed, seals=seals, asked=asked)
        job = replace(job, files=tuple(seals.descriptors))
        if seals.lasting:
            if len(self._done) >= _REMEMBERED:
                self._done.clear()
            self._done[key] = Done(
                draft=draft,
                sealed=sealed,
                variables=asked,
                contents=tuple(seals.contents[first:]),
                descriptors=tuple(seals.descriptors[first:]),
                job=job,
                vetted=vetted,
                is_free=not sealed and bool(job.program),
            )
        return job, vetted

    def _sealed_anew(
        self, draft: Job, folder: str, *, sealed: Sealed, seals: Seals, asked: dict[str, str | None]
    ) -> tuple[Job, Vetted]:
        def variable(name: str) -> str | None:
            value = asked[name] = variable_in(draft, folder, name)
            return value

        def find(name: str) -> str:
            return self._programs.find(name, draft.path, draft.foreign)

        words = simple_words(draft.script, variable) if draft.script else draft.argv
        entered = () if words else entered_folders(draft.script, variable)
        vetted = Vetted(sealed, folder, entered=entered)
        handover = Handover(vetted, seals, find, variable, draft.foreign)
        if words:
            program, argv = seal_argv(words, handover)
            program = program or (argv[0] if "/" in argv[0] else "")
            return replace(draft, program=program, argv=argv, script=""), vetted
        return replace(draft, script=seal_line(draft.script, handover), argv=()), vetted

    def _draft(self, hook: Hook, request: Request) -> Job | Failure:
        """Put together what is known before anything is looked for; most often that is what it was for the last event."""
        here = own_folder()
        caller = surroundings.current()
        base = self._environment.of(caller)
        cwd = request.event.cwd or ("" if caller is None else caller.folder)
        umask = None if caller is None else caller.umask
        is_sealed = request.sealed is not None
        known = self._drafts.get(hook.id)
        if (
            known is not None
            and known.hook is hook
            and known.base is base
            and known.cwd == cwd
            and known.here == here
            and known.umask == umask
            and known.env == request.env
            and known.is_sealed is is_sealed
        ):
            return known.job
        job = self._draft_anew(hook, request, cwd=cwd, here=here)
        # whose home it is may change without a variable that does
        if isinstance(job, Job) and not hook.working_directory:
            if len(self._drafts) >= _REMEMBERED:
                self._drafts.clear()
            self._drafts[hook.id] = Drafted(
                hook=hook,
                base=base,
                env=dict(request.env),
                cwd=cwd,
                here=here,
                umask=umask,
                is_sealed=is_sealed,
                job=job,
            )
        return job

    def _draft_anew(self, hook: Hook, request: Request, *, cwd: str, here: str) -> Job | Failure:
        line = self._line(hook)
        if line.refusal:
            return Failure(FailureKind.REFUSED, line.refusal)
        folder = folder_of(hook, cwd, here)
        umask = surroundings.umask()
        env = self._environment.with_layers(request.env, {"PWD": folder} if folder else {}, hook.env)
        words, script = line.words, line.script
        if hook.warm and script:
            # a line that is nothing but such a command needs no shell
            alone = simple_words(script, partial(variable_of, env))
            if alone and python_script(alone[0], alone):
                words, script = alone, ""
        name = words[0] if words else ""
        return Job(
            # what is vetted decides for itself what runs under this name
            program=name if "/" in name and request.sealed is None else "",
            argv=words,
            env=env,
            cwd=folder,
            here=here,
            path=search_path(env),
            script=script,
            warm=hook.warm and CAN_WARM,
            foreign=self._foreign(hook, request.event.cwd),
            umask=-1 if umask is None else umask,
        )

    def _foreign(self, hook: Hook, cwd: str) -> tuple[str, ...]:
        """Say which folders no program is taken from; remembered, because links are followed to find out."""
        try:
            key = (hook.root, hook.source, cwd or surroundings.folder())
        except OSError:  # our own folder was removed, so nothing lies in it
            return ()
        known = self._grounds.get(key)
        if known is None:
            if len(self._grounds) >= _REMEMBERED:
                self._grounds.clear()
            known = self._grounds[key] = grounds(hook, cwd)
        return known

    def _ready(self, job: Job, values: Mapping[str, object] | None) -> Job | Failure:
        """Find the file to execute: the program's, or a shell's."""
        if job.program:
            return job
        name = job.argv[0] if job.argv else ""
        program = name if "/" in name or not name else self._programs.find(name, job.path, job.foreign)
        if program:
            return replace(job, program=program)
        inside = self._programs.find(name, job.path) if name else ""
        if inside:
            text = f'program "{name}" is on PATH only as "{inside}", inside the project: name it by its path to use it'
            return Failure(FailureKind.REFUSED, text)
        if not job.script:
            return Failure(FailureKind.NOT_FOUND, f'program "{name}" not found on PATH')
        return self._shell_job(job, values)

    def _shell_job(self, job: Job, values: Mapping[str, object] | None) -> Job | Failure:
        shell = self._find_shell(job.path)
        if not shell:
            return Failure(FailureKind.NOT_FOUND, _NO_SHELL)
        if values is None or "{{" not in job.script:
            return replace(job, program=shell, argv=("sh", "-c", job.script), script="")
        try:
            bound = _template(job.script).bind(values)
        except ConfigError as problem:
            return Failure(FailureKind.REFUSED, problem.message)
        argv = ("sh", "-c", bound.script, "hookline", *bound.arguments)
        return replace(job, program=shell, argv=argv, script="", extra=bound.long_values)

    def _another_way(self, job: Job, code: int) -> Job | None:
        """Say how else a program may be started that could not be; None when there is no other way."""
        if code == errno.ECHILD:  # it did start
            return None
        if job.script:
            # It is a shell line: the shell says what is wrong with it, as its author expects.
            other = self._shell_job(job, None)
            return other if isinstance(other, Job) else None
        if code == errno.ENOEXEC and _is_text(Path(job.cwd, job.program)):
            # No "#!" line: shells run it themselves.
            return replace(job, program=self._find_shell(job.path), argv=("sh", job.program, *job.argv[1:]))
        if code in _GONE and "/" not in job.argv[0]:
            found = self._programs.find_again(job.argv[0], job.path, job.foreign)
            return replace(job, program=found) if found not in {"", job.program} else None
        return None


def _run(job: Job, request: Request, timeout: float) -> Coroutine[object, object, Finished]:
    return run(
        *(job.program, job.argv),
        stdin=request.written,
        env=job.env,
        cwd=job.cwd,
        timeout=timeout,
        extra=job.extra,
        files=job.files,
    )


@lru_cache(maxsize=512)
def _template(line: str) -> ShellTemplate:
    return compile_line(line)


def _template_refusal(line: str) -> str:
    if "{{" not in line:
        return ""
    try:
        _template(line)
    except ConfigError as problem:
        return problem.message
    return ""


def _unable_to_stay(hook: Hook) -> str:
    """Say why a command cannot answer many events; empty when it need not, or can."""
    if not hook.persistent:
        return ""
    if hook.plain:
        return "plain text has no end that could be seen: a persistent command answers each event with a line of JSON"
    if has_template(hook.command):
        return "a persistent command is started once for many events: read their values from stdin instead of {{…}}"
    return "persistent commands are not for Windows" if os.name == "nt" else ""


def _is_text(file: Path) -> bool:
    """Tell a script from a program of another machine, as shells do: by a NUL in the first line."""
    try:
        with file.open("rb") as opened:
            return b"\0" not in opened.readline(256)
    except OSError:
        return False


def _command_of(draft: Job) -> tuple[object, ...]:
    """Give what says which files a command names."""
    return draft.argv, draft.script, draft.cwd or draft.here, draft.path, draft.foreign


def _written(draft: Job) -> tuple[str, ...]:
    """Give the words a person knows a command by."""
    return draft.argv or ("sh", "-c", draft.script)


def _with_absence(answer: Reply, draft: Job, vetted: Sealed) -> Reply:
    try:
        folder = draft.cwd or own_folder()
    except OSError:  # our own folder was removed: nobody can say what a name means
        return answer

    def variable(name: str) -> str | None:
        return variable_in(draft, folder, name)

    return with_absence(answer, draft.argv, draft.script, folder=folder, variable=variable, vetted=vetted)
