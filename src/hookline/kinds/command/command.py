"""Hooks that are programs: the event on stdin, the answer on stdout.

A call goes through four steps: prepare (cached per hook), seal (approved files become descriptors of their bytes), run, reply.
"""

import asyncio
import errno
import os
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Final
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from hookline import caller_context
from hookline.errors import ConfigError
from hookline.kinds.command.parse import (
    METACHARACTERS,
    WHITELIST,
    CommandLine,
    can_isolate_python,
    parse_shell_line,
    parse_words,
)
from hookline.kinds.command.sealing import (
    PreparedCommand,
    SealContext,
    SealedCommand,
    SealingRefusedError,
    engine_folder,
    entered_folders,
    mark_missing_script,
    run_folder,
    seal_argv,
    seal_line,
    shell_variable,
    simple_words,
)
from hookline.model import ollm_run_command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Failure, FailureKind, Reply, Request, Sealed
from hookline.model.hook import OWN_DIALECT, Hook
from hookline.model.templates import command_names, describe_missing, has_value
from hookline.model.workspace_paths import USER_SOURCES, workspace_roots
from hookline.process import run
from hookline.process.bootstrap import NO_COMPILED_FILES, LentDescriptors, MemfdPool
from hookline.process.containment import Containment, make_cell_key
from hookline.process.environment import (
    Environment,
    EnvironmentAllowList,
    EnvironmentFilter,
    ProgramFinder,
    add_variables,
    get_search_path,
    get_variable,
)
from hookline.process.forkserver import SUPPORTED as CAN_WARM
from hookline.process.forkserver import ForkserverPool, can_run_warm, parse_python_command
from hookline.process.hook_state import STATE, describe_state_problem
from hookline.process.limits import ConcurrencyLimiter
from hookline.process.long_lived import CallOrder, LongLivedProcesses
from hookline.process.result import EXIT_NOT_STARTED, refusal_reply, result_to_reply, start_failure_reply
from hookline.process.spec import ApprovedFileSet, Launch, ProcessSpec, describe_sealing
from hookline.shell.templates import ShellTemplate, compile_line, fill_words, has_template, spread_lists
from hookline.text import shell_quote

__all__ = ["METACHARACTERS", "WHITELIST", "Command", "can_run_warm"]

_SHELL: Final = "/bin/sh"

_NO_SHELL: Final = "it is a shell line, and there is neither sh nor bash here (cmd.exe is not supported)"

_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES})

# what programs print where the kernel refuses something
_DENIALS: Final = (
    b"Permission denied",
    b"Read-only file system",
    b"Operation not permitted",
    b"EACCES",
    b"EROFS",
    b"EPERM",
)

_MOST_PREPARED: Final = 256


class Command:
    """Runs hooks that are programs, each call in a process of its own."""

    def __init__(
        self,
        *,
        shell_dialects: Collection[str] = (),
        template_dialects: Collection[str] = (),
        containment: Containment | None = None,
    ) -> None:
        """Take the names of the dialects whose commands are shell lines, and of those that fill `{{…}}` in."""
        self._containment = containment or Containment()
        self._shell_dialects = frozenset(shell_dialects)
        self._template_dialects = frozenset(template_dialects)
        self._environment = Environment()
        self._programs = ProgramFinder()
        self._shell = _SHELL if Path(_SHELL).exists() else ""
        self._memfds = MemfdPool()
        self._prepared: dict[str, PreparedCommand] = {}
        self._long_lived = LongLivedProcesses()
        self._forkservers = ForkserverPool(self._containment)
        self._limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, ConcurrencyLimiter] = WeakKeyDictionary()

    def refusal(self, hook: Hook) -> str:
        """Return why the hook may not run as it is written, or ""."""
        if reason := ollm_run_command.why_refused(hook) or _persistence_problem(hook):
            return reason
        line = self._line(hook)
        if line.script and not line.refusal:
            if not self._find_shell(caller_context.environ().get("PATH", os.defpath)):
                return _NO_SHELL
            if hook.dialect in self._template_dialects:
                return _template_refusal(line.script)
        return line.refusal

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Run the program and wait at most `timeout` seconds from its start."""
        if reason := ollm_run_command.why_refused(hook, at=request.event.name):
            return refusal_reply(reason)
        if hook.state:
            try:
                request.env = {**request.env, **self._containment.prepare_state(hook, request.event.session.id)}
            except OSError as problem:
                return Reply(failure=describe_state_problem(problem), exit_code=EXIT_NOT_STARTED)
        prepared = self._prepare(hook, request)
        if isinstance(prepared, Failure):
            return Reply(failure=prepared, exit_code=EXIT_NOT_STARTED)
        if prepared.spec.has_templates and (missing := _missing_value(hook, request)):
            return Reply(failure=Failure(FailureKind.UNAVAILABLE, missing), exit_code=EXIT_NOT_STARTED)
        if hook.persistent:
            reply = await self._call_long_lived(hook, prepared, request, timeout=timeout)
            return _check_script(reply, prepared.spec, request.sealed)
        loop = asyncio.get_running_loop()
        limiter = self._limiters.get(loop)
        if limiter is None:
            limiter = self._limiters[loop] = ConcurrencyLimiter()
        await limiter.acquire()
        try:
            # not before it is its turn: files that are used in place are compared right before the start
            launch = self._launch(prepared, request)
            if isinstance(launch, Reply):
                return launch
            try:
                spec = _fill_call(launch.spec, request)
                stdin = request.body
                try:
                    result = await self._forkservers.run(spec, stdin=stdin, timeout=timeout) if spec.warm else None
                    result = result or await run(spec, stdin=stdin, timeout=timeout)
                    reply = result_to_reply(result, timeout, launch.display_argv, sandbox=spec.sandbox)
                except (OSError, ValueError) as problem:
                    reply = await self._call_fallback(spec, stdin, problem, argv=launch.display_argv, timeout=timeout)
                if launch.layers:
                    notes = (*reply.notes, *_explain_denial(hook, reply, spec))
                    reply = replace(reply, sandbox=launch.layers, notes=notes)
                tampering = launch.find_tampering()
            finally:
                launch.release()
        finally:
            limiter.release()
        if reply.failure is not None:
            prepared.sealed = None  # a program may have moved
        if tampering:
            return refusal_reply(tampering, layers=launch.layers)
        return _check_script(reply, prepared.spec, request.sealed)

    def launch(self, hook: Hook, request: Request) -> Launch | Reply:
        """Make the command of a hook ready to start, with the approved bytes of its files and contained as it has to be.

        The caller starts it, and releases what is lent to it. A reply says why it cannot be started.
        """
        prepared = self._prepare(hook, request)
        if isinstance(prepared, Failure):
            return Reply(failure=prepared, exit_code=EXIT_NOT_STARTED)
        return self._launch(prepared, request)

    def sealing(self, hook: Hook, sealed: Sealed, *, cwd: str = "") -> str:
        """Describe which of a hook's files run from the approved bytes, and which are only compared."""
        prepared = self._prepare(hook, Request(event=Event(name=EventName.BEFORE_TOOL, cwd=cwd)))
        if isinstance(prepared, Failure):
            return prepared.message
        with LentDescriptors(self._memfds) as lent:
            try:
                approved = self._seal(prepared, sealed, lent)[1]
            except SealingRefusedError as problem:
                return str(problem)
        return describe_sealing(approved)

    async def close(self) -> None:
        """End the processes that outlive a call, and close the descriptors kept for the next one."""
        await self._long_lived.close()
        await self._forkservers.close()
        self._memfds.close()
        self._containment.close()

    # Prepare: parse the command, and put its environment and folder together

    def _line(self, hook: Hook) -> CommandLine:
        shell = hook.shell
        if shell is None:
            shell = hook.dialect in self._shell_dialects and not hook.args
        if shell:
            return parse_shell_line(hook.command, hook.args)
        folders = tuple(dict.fromkeys(filter(None, (os.path.dirname(hook.source_path), hook.root))))  # noqa: PTH120
        has_templates = self._fills_words(hook)
        is_list = has_templates and hook.shell is False
        return parse_words(hook.command, hook.args, templates=has_templates, literal=is_list, folders=folders)

    def _fills_words(self, hook: Hook) -> bool:
        """Return whether the words of a hook may hold templates, and a missing value keeps it from running."""
        return hook.dialect == OWN_DIALECT and OWN_DIALECT in self._template_dialects

    def _prepare(self, hook: Hook, request: Request) -> PreparedCommand | Failure:
        """Return what the calls of a hook have in common, from the cache while nothing it is made of has changed."""
        engine_cwd = engine_folder()
        caller = caller_context.current()
        cwd = request.event.cwd or ("" if caller is None else caller.folder)
        umask = -1 if caller is None or caller.umask is None else caller.umask
        folder = run_folder(hook, cwd, engine_cwd)
        base, is_sealed = self._environment.for_caller(caller), request.sealed is not None
        key = (hook, base, cwd, folder, engine_cwd, umask, request.env, is_sealed)
        prepared = self._prepared.get(hook.id)
        if prepared is not None and prepared.key == key:
            return prepared
        line = self._line(hook)
        if line.refusal:
            return Failure(FailureKind.REFUSED, line.refusal)
        untrusted_dirs = _untrusted_dirs(hook, request.event.cwd)
        sandbox = hook.containment
        shield = EnvironmentFilter(untrusted_dirs, folder or engine_cwd) if hook.source in USER_SOURCES else None
        safety = _python_safety(line, is_sealed=is_sealed, is_own=shield is not None)
        env = self._environment.with_layers(
            safety,
            request.env,
            {"PWD": folder} if folder else {},
            hook.env,
            env_filter=EnvironmentAllowList(sandbox.env) if sandbox.is_contained else shield,
        )
        words, script = line.words, line.script
        if hook.warm and script:
            # a line that is nothing but a Python command needs no shell
            alone = simple_words(script, partial(get_variable, env))
            if alone and parse_python_command(alone[0], alone):
                words, script = alone, ""
        spec = ProcessSpec(
            # sealing decides which approved file runs under this name
            program=words[0] if words and "/" in words[0] and not is_sealed else "",
            argv=words,
            env=env,
            cwd=folder,
            engine_cwd=engine_cwd,
            path=get_search_path(env),
            script=script,
            warm=hook.warm and CAN_WARM,
            untrusted_dirs=untrusted_dirs,
            umask=umask,
            has_templates=self._fills_words(hook) and bool(command_names(hook)),
            cell_key=make_cell_key(
                hook,
                cwd or engine_cwd,
                is_long_lived=hook.persistent,
                state=request.env.get(STATE, "") if hook.state else "",
            ),
        )
        if len(self._prepared) >= _MOST_PREPARED:
            self._prepared.clear()
        # a dialect may change the variables of a request afterwards
        key = (hook, base, cwd, folder, engine_cwd, umask, dict(request.env), is_sealed)
        prepared = self._prepared[hook.id] = PreparedCommand(key=key, spec=spec)
        return prepared

    # Launch: replace approved files by their bytes, and find the program

    def _launch(self, prepared: PreparedCommand, request: Request) -> Launch | Reply:
        """Make a prepared command ready to start; a reply says why it cannot. The caller releases what is lent to it."""
        launch = self._lend(prepared, request)
        key = prepared.spec.cell_key
        if key is None or isinstance(launch, Reply):
            return launch
        try:
            return replace(launch, spec=launch.spec.put_into(self._containment.acquire(key)))
        except OSError as problem:
            launch.release()
            return refusal_reply(f"not run, because it could not be contained: {problem.strerror or problem}")

    def _lend(self, prepared: PreparedCommand, request: Request) -> Launch | Reply:
        """Replace approved files by descriptors of their bytes, and find the program."""
        if request.sealed is None:
            spec = self._resolve(prepared.spec, request)
            if isinstance(spec, Failure):
                return Reply(failure=spec, exit_code=EXIT_NOT_STARTED)
            return Launch(spec=spec, display_argv=spec.argv)
        lent = LentDescriptors(self._memfds)
        reply: Reply | None = None
        try:
            sealed, approved = self._seal(prepared, request.sealed, lent)
            spec = sealed if sealed.program else self._resolve(sealed, request)
            if isinstance(spec, Failure):
                reply = Reply(failure=spec, exit_code=EXIT_NOT_STARTED)
            elif changed := approved.find_changed():
                reply = refusal_reply(f'"{changed}" changed since it was checked')
            else:
                return Launch(spec=spec, display_argv=prepared.display_argv, lent=lent, approved=approved)
        except SealingRefusedError as problem:
            reply = refusal_reply(str(problem))
        except OSError as problem:
            reply = refusal_reply(f"its files cannot be kept from changing: {problem.strerror}")
        lent.__exit__()
        return reply

    def _seal(
        self, prepared: PreparedCommand, files: Sealed, lent: LentDescriptors
    ) -> tuple[ProcessSpec, ApprovedFileSet]:
        """Replace the names of approved files by descriptors of their bytes, as in the last call where it is the same.

        Raises:
            SealingRefusedError: It would run a file that was not approved.
            OSError: The bytes cannot be stored.
        """
        last = prepared.sealed
        if last is not None and last.files == files and lent.lend_again(last.contents, last.descriptors):
            return last.spec, last.approved
        first = len(lent.contents)
        spec = prepared.spec
        variable = partial(shell_variable, spec, spec.working_dir)
        words = simple_words(spec.script, variable) if spec.script else spec.argv
        entered = () if words else entered_folders(spec.script, variable)
        # a secret that its command names is not handed to a contained hook, which cannot open it by itself
        hidden = self._containment.list_hidden(spec.cell_key, files) if spec.cell_key is not None else ()
        handed = {path: content for path, content in files.items() if path not in hidden}
        approved = ApprovedFileSet(handed, spec.working_dir, entered=entered)

        def find_program(name: str) -> str:
            return self._programs.find(name, spec.path, spec.untrusted_dirs)

        context = SealContext(approved, lent, find_program, variable, spec.untrusted_dirs)
        if words:
            program, argv = seal_argv(words, context)
            program = program or (argv[0] if "/" in argv[0] else "")
            spec = replace(spec, program=program, argv=argv, script="")
        else:
            spec = replace(spec, script=seal_line(spec.script, context), argv=())
        spec = replace(spec, pass_fds=tuple(lent.descriptors))
        if lent.is_reusable:
            prepared.sealed = SealedCommand(
                files=files,
                contents=tuple(lent.contents[first:]),
                descriptors=tuple(lent.descriptors[first:]),
                spec=spec,
                approved=approved,
            )
        return spec, approved

    def _resolve(self, spec: ProcessSpec, request: Request) -> ProcessSpec | Failure:
        """Find the file to execute: the program's, or a shell's."""
        if spec.program:
            return spec
        name = spec.argv[0] if spec.argv else ""
        program = name if "/" in name or not name else self._programs.find(name, spec.path, spec.untrusted_dirs)
        if program:
            return replace(spec, program=program)
        inside = self._programs.find(name, spec.path) if name else ""
        if inside:
            text = f'program "{name}" is on PATH only as "{inside}", inside the project: name it by its path to use it'
            return Failure(FailureKind.REFUSED, text)
        if not spec.script:
            return Failure(FailureKind.NOT_FOUND, f'program "{name}" not found on PATH')
        return self._shell_spec(spec, request.values if "{{" in spec.script else None)

    def _find_shell(self, path: str) -> str:
        return self._shell or self._programs.find("sh", path) or self._programs.find("bash", path)

    def _shell_spec(self, spec: ProcessSpec, values: Mapping[str, object] | None) -> ProcessSpec | Failure:
        shell = self._find_shell(spec.path)
        if not shell:
            return Failure(FailureKind.NOT_FOUND, _NO_SHELL)
        if values is None:
            return replace(spec, program=shell, argv=("sh", "-c", spec.script), script="")
        try:
            bound = _compile_template(spread_lists(spec.script, values)).bind(values)
        except ConfigError as problem:
            return Failure(FailureKind.REFUSED, problem.message)
        argv = ("sh", "-c", bound.script, "hookline", *bound.arguments)
        return replace(spec, program=shell, argv=argv, script="", fd3_data=bound.long_values, has_templates=False)

    # Other ways to run it

    async def _call_long_lived(
        self, hook: Hook, prepared: PreparedCommand, request: Request, *, timeout: float
    ) -> Reply:
        order = CallOrder(
            hook=hook,
            spec=prepared.spec,
            request=request,
            prepare=partial(self._launch, prepared, request),
            fallback=self._fallback_spec,
        )
        return await self._long_lived.request(order, timeout=timeout)

    async def _call_fallback(
        self,
        spec: ProcessSpec,
        stdin: bytes,
        problem: OSError | ValueError,
        *,
        argv: tuple[str, ...],
        timeout: float,
    ) -> Reply:
        """Run a program that could not be started in another way, if there is one."""
        other = self._fallback_spec(spec, problem.errno or 0) if isinstance(problem, OSError) else None
        if other is not None:
            try:
                result = await run(other, stdin=stdin, timeout=timeout)
                return result_to_reply(result, timeout, argv, sandbox=spec.sandbox)
            except (OSError, ValueError) as again:
                problem = again
        return start_failure_reply(spec.program, spec.cwd, argv, problem=problem)

    def _fallback_spec(self, spec: ProcessSpec, code: int) -> ProcessSpec | None:
        """Return how else to start a program that could not be started, or None."""
        if code == errno.ECHILD:  # it did start
            return None
        if spec.script:
            # the shell reports what is wrong with a shell line, as its author expects
            other = self._shell_spec(spec, None)
            return other if isinstance(other, ProcessSpec) else None
        if code == errno.ENOEXEC and _is_text(Path(spec.cwd, spec.program)):
            # without a "#!" line, shells run a script themselves
            return replace(spec, program=self._find_shell(spec.path), argv=("sh", spec.program, *spec.argv[1:]))
        if code in _GONE and "/" not in spec.argv[0]:
            program = self._programs.find_anew(spec.argv[0], spec.path, spec.untrusted_dirs)
            return replace(spec, program=program) if program not in {"", spec.program} else None
        return None


def _untrusted_dirs(hook: Hook, cwd: str) -> tuple[str, ...]:
    """Return the folders from which no program is taken."""
    try:
        return workspace_roots(hook, cwd)
    except OSError:  # the working folder was removed, so there is nothing in it
        return ()


def _explain_denial(hook: Hook, reply: Reply, spec: ProcessSpec) -> Iterator[str]:
    """Yield notes for a contained hook that failed because something was denied to it."""
    if not reply.exit_code or not any(words in reply.stderr for words in _DENIALS):
        return
    yield f"it is contained; `hookline sandbox explain {shell_quote(hook.id)}` says what it may do"
    for path in spec.cell.named if spec.cell is not None else ():
        if not os.path.lexists(path):
            yield (
                f'"{path}" is not there, so it cannot be written: let sandbox.write name the folder around it, '
                'or end with "/**", and the folder is made'
            )


def _fill_call(spec: ProcessSpec, request: Request) -> ProcessSpec:
    """Return the command with what belongs to this one call: values in its words, and variables."""
    variables = request.call_variables()
    if variables:
        spec = replace(spec, env=add_variables(spec.env, variables))
    if spec.has_templates and request.values is not None:
        # a shell has its values as arguments already
        spec = replace(spec, argv=fill_words(spec.argv, request.values), has_templates=False)
    return spec


def _missing_value(hook: Hook, request: Request) -> str:
    """Return which value the command names and the event lacks, or ""."""
    values = request.values or {}
    missing = [path for path in command_names(hook) if not has_value(values, path)]
    return describe_missing(".".join(missing[0]), request.event, hook) if missing else ""


@lru_cache(maxsize=512)
def _compile_template(line: str) -> ShellTemplate:
    return compile_line(line)


def _template_refusal(line: str) -> str:
    if "{{" not in line:
        return ""
    try:
        _compile_template(line)
    except ConfigError as problem:
        return problem.message
    return ""


def _persistence_problem(hook: Hook) -> str:
    """Return why a persistent command cannot answer many events, or ""."""
    if not hook.persistent:
        return ""
    if hook.plain:
        return "plain text has no end that could be seen: a persistent command answers each event with a line of JSON"
    if has_template(hook.command) or any(map(has_template, hook.args)):
        return "a persistent command is started once for many events: read their values from stdin instead of {{…}}"
    return "persistent commands are not for Windows" if os.name == "nt" else ""


def _is_text(file: Path) -> bool:
    """Return whether a file is a script and not a program of another machine, as shells do: by a NUL in the first line."""
    try:
        with file.open("rb") as opened:
            return b"\0" not in opened.readline(256)
    except OSError:
        return False


def _python_safety(line: CommandLine, *, is_sealed: bool, is_own: bool) -> Mapping[str, str]:
    """Return the variables that keep Python from loading modules that were not checked.

    For a hook that needed approval, no compiled file that a project brings counts, and none is written: a file may claim
    to be made of any source. The bootstrap of a Python script sees to it by itself, which leaves it the compiled files of
    the standard library. A user's own hook finds no modules in the folder where it runs, unless it runs a
    script, whose folder is its own.
    """
    if is_sealed:
        is_script = bool(line.words) and parse_python_command(line.words[0], line.words) is not None
        return {} if is_script else NO_COMPILED_FILES
    return {"PYTHONSAFEPATH": "1"} if is_own and can_isolate_python(line.words, line.script) else {}


def _check_script(reply: Reply, spec: ProcessSpec, approved: Sealed | None) -> Reply:
    """Return the reply, as a failure where it only says that the script is missing."""
    if reply.stdout:
        return reply
    folder = spec.cwd or engine_folder()
    variable = partial(shell_variable, spec, folder)
    return mark_missing_script(reply, spec.argv, spec.script, folder=folder, variable=variable, approved=approved or {})
