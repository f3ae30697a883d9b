"""Explain what hooks do: the answer of every gate, with its reason, and what is exchanged while a hook runs."""

import ast
import asyncio
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final, TypeVar

from msgspec import UNSET, Struct

from hookline import json_codec
from hookline.dialects import DIALECTS
from hookline.engine.engine import Engine
from hookline.errors import StoreError
from hookline.files import read_regular_file
from hookline.kinds.python import Python
from hookline.model.event import Event
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook, Layer, Source, describe_actions
from hookline.model.plan import Gate, Skip
from hookline.model.record import Record, Step
from hookline.shell.programs import find_program as find_row
from hookline.shell.programs import read_arguments
from hookline.shell.script import Word
from hookline.text import redact, suggest
from hookline.trust.files_and_programs import LONGEST_SHEBANG, parse_shebang
from hookline.trust.policy import TrustStatus

# the program, script or module that a hook would start

# a line with any of these needs a shell to be resolved
_SHELL_SYNTAX: Final = re.compile(r"[;&|`$(){}\[\]<>*?~#=\n]")

# a module with one of these may define any name
_IS_OPEN: Final = frozenset({"*", "__getattr__", "globals", "exec", "vars", "setattr"})

# a longer module takes too long to parse
_LONGEST_MODULE: Final = 1_000_000

_EXECUTABLE: Final = "chmod +x it, or name its interpreter first"
_MISSING_SCRIPT: Final = "script {} does not exist"
_FIRST_LINE: Final = "does not exist, which is named in the first line of"


class ResolvedProgram(Struct, frozen=True, kw_only=True):
    """The program and the script of a hook, as far as known; `trouble` is why it cannot start."""

    program: str = ""
    script: str = ""
    trouble: str = ""


def find_program(hook: Hook, *, shell: bool, cwd: str) -> ResolvedProgram:
    """Find what a command hook would start in this folder; other kinds start nothing."""
    if hook.kind != "command":
        return ResolvedProgram()
    folder = os.path.expanduser(hook.working_directory)  # noqa: PTH111 - does not raise for an unknown person
    folder = os.path.join(cwd or str(Path.cwd()), folder)  # noqa: PTH118 - the same
    if not os.path.isdir(folder):  # noqa: PTH112 - does not raise, whatever the text is
        return ResolvedProgram(trouble=f"there is no folder {folder} to run in")
    words = [hook.command, *hook.args]
    if not hook.args:
        try:
            needs_shell = shell and _SHELL_SYNTAX.search(hook.command)
            words = [] if needs_shell else shlex.split(hook.command)
        except ValueError:
            words = []
    if not words:
        return ResolvedProgram()
    program = shutil.which(words[0]) if "/" not in words[0] else os.path.join(folder, words[0])  # noqa: PTH118 - words of strangers
    if program is None:
        # may be a builtin of the shell
        return ResolvedProgram() if shell else ResolvedProgram(trouble=f'program "{words[0]}" not found on PATH')
    script = _find_script(words, folder)
    trouble = _find_trouble(program, script)
    if trouble == _MISSING_SCRIPT.format(script) and script not in words and hook.source is Source.USER:
        # users expect it beside the file that names it
        beside = Path(hook.source_path).parent / os.path.relpath(script, folder)
        trouble = f"{_MISSING_SCRIPT.format(beside)}, nor is it in {folder.rstrip('/')}"
    return ResolvedProgram(program=program, script=script, trouble=trouble)


def find_module(hook: Hook, path: str) -> ResolvedProgram:
    """Check the module of a Python hook, whose file is `path`; without one it has to be installed.

    Nothing is imported: the code may be untrusted.
    """
    if path:
        return ResolvedProgram(script=path, trouble=_find_module_trouble(hook, path))
    name = hook.module.partition(".")[0]
    if name in sys.stdlib_module_names or PathFinder.find_spec(name) is not None:
        return ResolvedProgram()
    return ResolvedProgram(
        trouble=f'module "{hook.module}" is neither beside {hook.source_path or "the program"} nor installed'
    )


def _find_module_trouble(hook: Hook, path: str) -> str:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as below
            raw = file.read(_LONGEST_MODULE + 1)
        if len(raw) > _LONGEST_MODULE:
            return ""
        names = _list_names(ast.parse(raw))
    except SyntaxError as problem:
        return f"{path}:{problem.lineno or 1}: {problem.msg}"
    except (OSError, ValueError, RecursionError, MemoryError):
        return f"{path} cannot be read as Python"
    name = hook.function.partition(".")[0]
    if not name or name in names or _IS_OPEN & names:
        return ""
    return f'{path} has no "{name}"{suggest(name, sorted(names))}'


def _list_names(tree: ast.Module) -> set[str]:
    """Return every name that is bound or used anywhere in a module."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
    return found


def _find_script(words: list[str], folder: str) -> str:
    """Return the script that an interpreter would run; empty if it runs something else."""
    row = find_row(words[0])
    if row is None or not row.interpreter:
        return ""
    arguments = read_arguments(row, [Word(word, word) for word in words[1:]])
    if not arguments.operands or arguments.has("-c") or arguments.has_role("code", "module"):
        return ""
    return os.path.join(folder, arguments.operands[0].text)  # noqa: PTH118 - words of strangers


def _find_trouble(program: str, script: str) -> str:
    # unlike the methods of Path, these never raise
    exists, is_folder, is_file = os.path.exists, os.path.isdir, os.path.isfile
    interpreters = parse_shebang(read_regular_file(program, LONGEST_SHEBANG) or b"")
    interpreter = interpreters[-1] if interpreters else ""
    objections = (
        (not exists(program), f"program {program} does not exist"),
        (is_folder(program), f"program {program} is a folder"),
        (not is_file(program), f"program {program} is no file"),
        (not _can_access(program, os.X_OK), f"program {program} may not be executed: {_EXECUTABLE}"),
        (bool(interpreter) and shutil.which(interpreter) is None, f'"{interpreter}" {_FIRST_LINE} {program}'),
        (bool(script) and not exists(script), _MISSING_SCRIPT.format(script)),
        (is_folder(script), f"script {script} is a folder"),
        (bool(script) and not _can_access(script, os.R_OK), f"script {script} may not be read"),
    )
    return next((text for applies, text in objections if applies), "")


def _can_access(path: str, mode: int) -> bool:
    try:
        return os.access(path, mode)
    except ValueError:
        return False


# gates

# kinds that start something that may be missing, and what to report if that cannot be checked
_UNCHECKED: Final = {"command": "the shell looks for what its line names", "python": "an installed module"}
_TRUST_REASONS: Final = {
    TrustStatus.TRUSTED: "needs no approval: it is yours, or you trust this workspace",
    TrustStatus.APPROVED: "approved as it is now",
    TrustStatus.ONCE: "approved for this once",
}


_Result = TypeVar("_Result")


class GateAnswer(Struct, frozen=True):
    """The answer of one gate, with its reason."""

    gate: str
    passed: bool
    reason: str


class Explanation(Struct, frozen=True, kw_only=True):
    """The answers of all gates for a hook and an event, in order."""

    hook: Hook
    event: Event
    gates: tuple[GateAnswer, ...]

    @property
    def runs(self) -> bool:
        """Whether the hook would run."""
        return self.closed is None

    @property
    def closed(self) -> GateAnswer | None:
        """The first gate that is closed."""
        return next((answer for answer in self.gates if not answer.passed), None)


def explain(hook: Hook, event: Event, *, engine: Engine) -> Explanation:
    """Check every gate, also those behind a closed one."""
    if hook.facts:
        event = _run_in_thread(engine.runner.gather_facts(hook.facts, event))
    answers = tuple(answer for gate in GATES for answer in gate(hook, event, engine))
    return Explanation(hook=hook, event=event, gates=answers)


def _run_in_thread(awaited: Coroutine[object, object, _Result]) -> _Result:
    # the caller may have a running event loop
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, awaited).result()


def uses_shell(hook: Hook) -> bool:
    """Return whether a command is a shell line."""
    return hook.shell if hook.shell is not None else DIALECTS[hook.dialect].SPEC.shell and not hook.args


def _check_enabled(hook: Hook, _event: Event, engine: Engine) -> Iterator[GateAnswer]:
    # an engine with managed hooks is enabled, and its registry lacks the hooks that are switched off
    if not engine.settings.enabled or not engine.registry.has_hook(hook.id):
        reason = "all hooks are switched off, by HOOKS_ENABLED or by your settings"
        yield GateAnswer("hooks", passed=False, reason=reason)
    elif hook.layer is Layer.MANAGED:
        yield GateAnswer("hooks", passed=True, reason="it is managed, and stays on when all hooks are switched off")
    else:
        yield GateAnswer("hooks", passed=True, reason="hooks are switched on")


def _check_plan(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    # gates that are only reported for hooks with this field
    fields = {Gate.CONDITION: hook.condition, Gate.HOST: hook.run_by, Gate.AGENTS: hook.agents}
    for result in engine.planner.gates(hook, event):
        if fields.get(result.gate, True):
            yield GateAnswer(str(result.gate), result.passed, result.reason)


def _check_trust(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    clearance = engine.trust.decide(hook, cwd=event.cwd)
    reason = clearance.reason_denied or _TRUST_REASONS[clearance.status]
    yield GateAnswer("trust", not clearance.reason_denied, reason)


def _check_needs(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    if hook.needs is None:
        return
    # checking needs has effects, which an untrusted hook must not cause
    if engine.trust.reason_denied(hook, cwd=event.cwd):
        yield GateAnswer("needs", passed=True, reason="looked at once it is trusted")
        return
    missing = _run_in_thread(engine.admission.missing(hook, event))
    yield GateAnswer("needs", not missing, missing or "everything it needs is there")


def _check_scopes(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    for one in engine.admission.scope_status(hook, event):
        yield GateAnswer(str(one.gate), one.passed, one.reason)


def _check_limits(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    try:
        standing = engine.admission.limit_status(hook, event)
    except StoreError as problem:
        yield GateAnswer("limits", passed=True, reason=f"not known, so it runs without them: {problem}")
        return
    for one in standing:
        yield GateAnswer(str(one.gate), one.passed, one.reason)


def _check_command(hook: Hook, event: Event, engine: Engine) -> Iterator[GateAnswer]:
    refusal = engine.runner.refusal(hook)
    yield GateAnswer("command", not refusal, refusal or "may be run as it is written")
    if hook.kind == "rule":
        yield GateAnswer("answer", passed=True, reason=f"{describe_actions(hook)} (a constant answer, no program runs)")
    # a refused command is not resolved
    if hook.kind in _UNCHECKED and not refusal:
        program = resolve_program(hook, event)
        where = " with ".join(filter(None, (program.program, program.script)))
        yield GateAnswer("file", not program.trouble, program.trouble or where or _UNCHECKED[hook.kind])


def resolve_program(hook: Hook, event: Event) -> ResolvedProgram:
    """Find the program, script or module that a hook would start."""
    if hook.kind == "python":
        return find_module(hook, Python().file(hook, event))
    return find_program(hook, shell=uses_shell(hook), cwd=event.cwd)


# In the order in which the engine checks them. A new gate is a function and a row here.
GATES: Final[Sequence[Callable[[Hook, Event, Engine], Iterator[GateAnswer]]]] = (
    *(_check_enabled, _check_plan, _check_trust, _check_scopes, _check_needs, _check_limits, _check_command),
)


# hooks while they run: when each starts and ends, and optionally everything that was exchanged

PrintLine = Callable[[str], None]

# of one exchanged text; the trace has all of it
MOST_LINES: Final = 200


class LiveView:
    """Prints records as they come; with `raw` also what hooks got and returned."""

    def __init__(self, print_line: PrintLine, *, raw: bool = False) -> None:
        self._print: PrintLine = lambda text: print_line(redact(text))
        self._raw = raw
        self._dialects: dict[str, str] = {}
        self._exchanges: dict[str, tuple[Hook, Request, Reply]] = {}

    def __call__(self, record: Record, /) -> None:
        """Print a record."""
        detail = record.detail
        if record.step is Step.STARTED:
            self._dialects[record.hook] = str(detail.get("dialect", ""))
        dialect = self._dialects.get(record.hook)
        hook = f"hook {record.hook} ({dialect})" if dialect else f"hook {record.hook}"
        match record.step:
            case Step.STARTED:
                self._print(f"{hook}: starts at {record.event}")
            case Step.COMPLETED | Step.FAILED:
                exchange = self._exchanges.pop(record.hook, None)
                for line in describe_exchange(*exchange) if exchange is not None else ():
                    self._print(line)
                self._print(f"{hook}: {_describe_result(record)}")
                for name in ("effects", "notes", "metadata") if self._raw else ():
                    for line in _label_lines(name, json_codec.dump(detail[name])) if name in detail else ():
                        self._print(line)
            case Step.QUEUED:
                self._print(f"{hook}: waits in the queue, job {detail.get('job', '')}")
            case Step.WARNING:
                self._print(f"warning: {detail.get('message', '')}")

    def tap(self, hook: Hook, request: Request, reply: Reply) -> None:
        """Keep what was exchanged until the record of the run comes, so that lines are in order."""
        self._exchanges[hook.id] = (hook, request, reply)


def attach_live_view(engine: Engine, print_line: PrintLine, *, raw: bool = False) -> None:
    """Print what the hooks of an engine do from now on."""
    view = LiveView(print_line, raw=raw)
    engine.bus.subscribe(view)
    if raw:
        engine.runner.tap = view.tap


def _describe_result(record: Record) -> str:
    detail = record.detail
    duration = detail.get("duration")
    took = f" after {duration * 1000:.0f} ms" if isinstance(duration, int | float) else ""
    if detail.get("cached"):
        took = ", as it did before"
    if record.step is Step.FAILED:
        follows = "blocks" if detail.get("blocked_by_failure") else "the operation goes on"
        return f"failed{took} ({detail.get('failure')}): {detail.get('message', '')}; {follows}"
    reason = f": {detail['reason']}" if detail.get("reason") else ""
    only = " (observed, not enforced)" if detail.get("observed") else ""
    return f"{detail.get('decision', 'done')}{took}{only}{reason}"


def describe_exchange(hook: Hook, request: Request, reply: Reply) -> Iterator[str]:
    """Yield everything that a hook got and returned, line by line."""
    if reply.argv:
        yield from _label_lines("argv", json.dumps(reply.argv, ensure_ascii=False))
    elif hook.kind == "webhook":
        yield from _label_lines("url", f"{hook.method} {hook.url}")
    yield from _label_lines("cwd", os.path.normpath(os.path.join(request.event.cwd, hook.working_directory)))  # noqa: PTH118 - a text to show
    for name, value in {**request.env, **hook.env}.items():
        yield from _label_lines("env", f"{name}={value}")
    yield from _label_lines("stdin" if reply.argv else "document", request.body)
    if reply.value is not UNSET:
        yield from _label_lines("value", repr(reply.value))
    yield from _label_lines("stdout", reply.stdout)
    yield from _label_lines("stderr", reply.stderr)
    if reply.argv:
        yield from _label_lines("exit code", str(reply.exit_code))


def describe_skips(skips: Iterable[Skip]) -> Iterator[str]:
    """Return a line for each skipped hook."""
    return (f"hook {skip.hook.id} ({skip.hook.dialect}): not run, {skip.gate}: {skip.reason}" for skip in skips)


def _label_lines(label: str, text: bytes | str) -> Iterator[str]:
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    # before splitting: some secrets have several lines
    lines = redact(shown).splitlines()
    yield from (f"  {label:<9} | {line}" for line in lines[:MOST_LINES])
    if len(lines) > MOST_LINES:
        yield f"  {label:<9} | … {len(lines) - MOST_LINES} more lines"
