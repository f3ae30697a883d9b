"""Run one hook as the engine runs it, as a real process, and return everything that came of it."""

import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.exchange import Answer, Failure, Reply
from hookline.model.hook import OWN_DIALECT, Hook
from hookline.model.plan import Plan
from hookline.model.verdict import Outcome
from hookline.testing.payloads import find_dialect, payload, read_payload
from hookline.testing.recording_engine import RecordingEngine, load_hooks
from hookline.text import quote, suggest

T = TypeVar("T")

# what runs a script that is not executable
_PROGRAMS: Final[Mapping[str, str]] = {
    ".py": sys.executable,
    ".sh": "sh",
    ".bash": "bash",
    ".rb": "ruby",
    ".pl": "perl",
    ".php": "php",
    **dict.fromkeys((".js", ".mjs", ".cjs"), "node"),
}
# a script, a configuration file or a folder with one, the keys of hookline.toml, or a hook
Testable = str | Path | Mapping[str, object] | Hook


class HookRun(Struct, frozen=True, kw_only=True):
    """What came of one run of one hook.

    `outcome` is the engine's answer, `skipped` says why the hook was not asked, and `answer` is what the agent gets.
    """

    hook: str
    event: Event
    outcome: Outcome
    reply: Reply = Reply()
    duration: float = 0.0
    skipped: str = ""
    answer: Answer | None = None

    @property
    def decision(self) -> str:
        """What was decided: pass, allow, ask, deny or stop."""
        return self.outcome.decision.word

    @property
    def reason(self) -> str:
        """The reason of the decision."""
        return self.outcome.reason

    @property
    def blocked(self) -> bool:
        """Whether the operation may not go on; a question that is not answered blocks, too."""
        return self.outcome.blocked

    @property
    def failure(self) -> Failure | None:
        """How the hook failed, None where it gave an answer."""
        return next((verdict.failure for verdict in self.outcome.verdicts if verdict.failure is not None), None)

    @property
    def stdout(self) -> str:
        """What the process of the hook printed."""
        return self.reply.stdout.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """What the process of the hook printed on stderr."""
        return self.reply.stderr.decode("utf-8", "replace")

    @property
    def exit_code(self) -> int:
        """The exit code of the process."""
        return self.reply.exit_code

    def describe(self) -> list[str]:
        """Return what a person needs to find out why the answer is as it is, a line each."""
        failure = self.failure
        fields = {
            "hook": self.hook,
            "event": f"{self.event.name} {self.event.tool} {json_codec.dump(self.event.args or self.event.data).decode()}",
            "skipped": self.skipped,
            "decision": self.decision,
            "reason": self.reason,
            "failure": f"{failure.kind}: {failure.message}" if failure is not None else "",
            "exit code": str(self.exit_code) if self.reply.argv else "",
            "stdout": self.stdout.strip(),
            "stderr": self.stderr.strip(),
        }
        return [f"{name}: {value}" for name, value in fields.items() if value]

    def __repr__(self) -> str:
        return f"HookRun({'; '.join(self.describe())})"


def run_hook(
    hook: Testable,
    event: Event,
    *,
    name: str = "",
    dialect: str = "",
    agent: str = "",
    cwd: str | Path | None = None,
) -> HookRun:
    """Run a hook for an event, and return what came of it; see `run_hook_async`."""
    return wait_for(run_hook_async(hook, event, name=name, dialect=dialect, agent=agent, cwd=cwd))


async def run_hook_async(
    hook: Testable,
    event: Event,
    *,
    name: str = "",
    dialect: str = "",
    agent: str = "",
    cwd: str | Path | None = None,
) -> HookRun:
    """Run a hook for an event: its process is started, given its input, contained and limited as by the engine.

    `hook` is a script, a configuration file (`hookline.toml`, `.claude/settings.json`) or the folder of a project, of which
    `name` chooses the hook; or the keys of hookline.toml, or a `Hook`. A script reads the event in the words of `dialect`. With
    `agent`, the event is sent as that agent sends it, and `answer` is what the agent gets. The test vouches for the hook, so
    that it needs no approval; its filters apply, and `skipped` says which of them kept it from being asked.

    Raises:
        ConfigError: There is no such hook, or its definition has a mistake.
    """
    folder = os.path.abspath(cwd or event.cwd or ".")  # noqa: ASYNC240, PTH100 - as quick as a test wants it
    event = replace(event, cwd=event.cwd or folder, project=event.project or folder)
    if agent:
        event = replace(read_payload(agent, payload(agent, event), event.name), project=folder)
    engine = RecordingEngine(cwd=folder)
    async with engine:
        chosen = read_testable(hook, engine, event, name=name, dialect=dialect)
        # limits and caches are for calls that follow each other
        tap, engine.runner = engine.runner.tap, engine.runner.for_trial()
        engine.runner.tap = tap
        stages = engine.planner.plan(event).stages
        is_asked = any(one.id == chosen.id for stage in stages for one in stage)
        skips = {skip.hook.id: skip.reason for skip in engine.planner.list_unmatched(event)}
        reason = "" if is_asked else skips.get(chosen.id) or f"it is not for {event.name}"
        outcome = await engine.handle(event, host_asks=True, plan=Plan(((chosen,),) if is_asked else ()))
    call = next((one for one in engine.hook_calls if one.hook.id == chosen.id), None)
    return HookRun(
        hook=chosen.id,
        event=event,
        outcome=outcome,
        reply=call.reply if call is not None else Reply(),
        duration=outcome.duration,
        skipped=reason,
        answer=find_dialect(agent).encode_outcome(outcome, event) if agent else None,
    )


def read_testable(hook: Testable, engine: RecordingEngine, event: Event, *, name: str, dialect: str) -> Hook:
    """Add what a test names to an engine, and return the hook that is tested.

    Raises:
        ConfigError: There is no such hook, or its definition has a mistake.
    """
    if isinstance(hook, Hook):
        engine.add(replace(hook, on=hook.on or (str(event.name),)))
        return _choose(engine, hook.id)
    if isinstance(hook, Mapping):
        given = {"on": str(event.name), **hook} if "schedule" not in hook else dict(hook)
        words = {**given, **({"dialect": dialect} if dialect else {})}
        return engine.hook(str(words.pop("id", "") or words.get("name", "") or "test"), **words)
    path = Path(hook).absolute()
    if not path.exists():
        raise ConfigError(f'there is no file {path}; a command line is given as {{"run": "…"}}')
    if path.is_dir() or path.suffix in {".toml", ".json", ".yaml", ".yml"}:
        hooks = _load(path)
        engine.add(*hooks)
        return _pick(hooks, name, path)
    command = [str(path)] if os.access(path, os.X_OK) else [_PROGRAMS.get(path.suffix, ""), str(path)]
    if not command[0]:
        raise ConfigError(
            f"it is not executable, and its ending does not say what runs it: chmod +x {path}", path=str(path)
        )
    return engine.hook(path.stem, on=str(event.name), run=command, dialect=dialect or OWN_DIALECT)


def _load(path: Path) -> tuple[Hook, ...]:
    """Return the hooks of a project, or of one of its files: its project is the nearest folder above that reads it."""
    if path.is_dir():
        return load_hooks(path)
    for folder in path.parents[:4]:
        hooks = load_hooks(folder)
        if found := tuple(hook for hook in hooks if hook.source_path and Path(hook.source_path) == path):
            return found
    raise ConfigError("it has no hooks, or is not where a project has its configuration", path=str(path))


def _pick(hooks: tuple[Hook, ...], name: str, path: Path) -> Hook:
    known = [hook.id for hook in hooks]
    if not name:
        if len(hooks) == 1:
            return hooks[0]
        raise ConfigError(f"name one of its hooks: {', '.join(known) or 'it has none'}", path=str(path))
    for hook in hooks:
        if name in {hook.id, hook.name}:
            return hook
    raise ConfigError(f"there is no hook {quote(name)}{suggest(name, known)}", path=str(path))


def _choose(engine: RecordingEngine, ident: str) -> Hook:
    return next(hook for hooks in engine.registry.get_all_hooks().values() for hook in hooks if hook.id == ident)


def wait_for(work: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where this thread has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
