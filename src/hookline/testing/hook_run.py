"""Run hooks in tests: an engine that records, one hook as a real process, expected answers, projects, and the contract of a hook."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.config.document import Severity
from hookline.config.hook_tests import HookTestError, read_expectation
from hookline.engine.confirmation import PersonAnswer, Question
from hookline.engine.engine import Engine
from hookline.errors import ConfigError, DialectError, EngineError
from hookline.model.event import EVENTS, Ability, Event
from hookline.model.exchange import Answer, Failure, Reply, Request
from hookline.model.hook import OWN_DIALECT, Hook, Source
from hookline.model.plan import Plan
from hookline.model.record import Record
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Expectation, Outcome
from hookline.project import load_project
from hookline.testing.builders import event as build_event
from hookline.testing.builders import find_dialect, list_agents, payload, read_payload
from hookline.text import quote, suggest
from hookline.user_dirs import UserDirs


class EngineCall(Struct, frozen=True):
    """One event that the engine answered."""

    event: Event
    outcome: Outcome


class HookCall(Struct, frozen=True):
    """One hook that was asked: the event it was asked about, what it was given, and what it gave back."""

    hook: Hook
    event: Event
    request: Request
    reply: Reply


class RecordingEngine(Engine):
    """An engine without configuration, stores, daemon and queue, that records everything.

    `calls` are the events that it answered, `hook_calls` the hooks that were asked, `records` what a trace would hold, and
    `questions` what the user was asked; `answer` is the user's answer to them.
    """

    def __init__(
        self,
        *,
        answer: bool | Callable[[Question], bool | PersonAnswer] = False,
        settings: Settings | None = None,
        cwd: str | None = None,
    ) -> None:
        self.calls: list[EngineCall] = []
        self.hook_calls: list[HookCall] = []
        self.records: list[Record] = []
        self.questions: list[Question] = []
        self._answer = answer
        # events that no hook wants are recorded, too
        super().__init__(settings=replace(settings or Settings(), record="all"), ask=self._answer_question, cwd=cwd)
        self.bus.subscribe(self.records.append)
        self.runner.tap = self._record_hook

    @property
    def outcomes(self) -> list[Outcome]:
        """The answers, in order."""
        return [call.outcome for call in self.calls]

    @property
    def asked(self) -> list[str]:
        """The ids of the hooks that were asked, in order."""
        return [call.hook.id for call in self.hook_calls]

    def read(self, toml: str) -> tuple[Hook, ...]:
        """Add the hooks of a hookline.toml; the test vouches for them.

        Raises:
            ConfigError: The text has a mistake.
        """
        with tempfile.TemporaryDirectory(prefix="hookline-testing-") as config:
            Path(config, "hookline.toml").write_text(toml, "utf-8")
            hooks = load_hooks(Path(self.cwd), config=Path(config))
        self.add(*hooks)
        return hooks

    async def handle(
        self, event: Event, *, host_asks: bool = False, patience: float | None = None, plan: Plan | None = None
    ) -> Outcome:
        """Answer an event, and record it with its answer."""
        outcome = await super().handle(event, host_asks=host_asks, patience=patience, plan=plan)
        await self.bus.drain()
        self.calls.append(EngineCall(event, outcome))
        return outcome

    def _record_hook(self, hook: Hook, request: Request, reply: Reply) -> None:
        self.hook_calls.append(HookCall(hook, request.event, request, reply))

    def _answer_question(self, question: Question) -> bool | PersonAnswer:
        self.questions.append(question)
        return self._answer(question) if callable(self._answer) else self._answer


def engine(
    toml: str = "",
    *,
    answer: bool | Callable[[Question], bool | PersonAnswer] = False,
    settings: Settings | None = None,
    cwd: str | Path | None = None,
) -> RecordingEngine:
    """Return a recording engine, with the hooks of a hookline.toml where one is given.

    Raises:
        ConfigError: The text has a mistake.
    """
    made = RecordingEngine(answer=answer, settings=settings, cwd=str(cwd) if cwd is not None else None)
    if toml:
        made.read(toml)
    return made


def load_hooks(root: Path, *, config: Path | None = None) -> tuple[Hook, ...]:
    """Return the hooks of a project, or those of a folder with the user's configuration, as hooks that need no approval.

    Nothing of the user who runs the test is read. Processes are contained as the engine contains them.

    Raises:
        ConfigError: A file has a mistake.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-testing-") as empty:
        dirs = UserDirs(home=Path(empty), config=config or Path(empty, "config"), data=Path(empty, "data"))
        project = load_project(root, settings=Settings(), folders=dirs, traced=False, records=False)
    for problem in project.problems:
        if problem.severity is Severity.ERROR:
            raise ConfigError(problem.message, path=problem.path, line=problem.line)
    hooks = [hook for hook in project.hooks if config is None or hook.source is Source.USER]
    return tuple(replace(hook, source=Source.BUILTIN, sandbox=hook.containment) for hook in hooks)


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
        on = hook.on or (str(event.name),)
        engine.add(replace(hook, on=on, source=Source.BUILTIN, sandbox=hook.containment))
        added = (one for hooks in engine.registry.get_all_hooks().values() for one in hooks)
        return next(one for one in added if one.id == hook.id)
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


def wait_for(work: Coroutine[object, object, T]) -> T:
    """Run a coroutine to its end, in a thread of its own where this thread has a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class ExpectedAnswer:
    """Equals every run of a hook, and every outcome, whose answer is as expected."""

    __hash__ = None  # type: ignore[assignment]  # it equals answers that differ

    def __init__(self, expectation: Expectation) -> None:
        self.expectation = expectation

    def find_differences(self, answer: object) -> list[str]:
        """Return a line for each part of an answer that is not as expected."""
        if isinstance(answer, HookRun):
            lines = self.expectation.find_differences(answer.outcome)
            return [*lines, *answer.describe()] if lines else []
        if isinstance(answer, Outcome):
            return self.expectation.find_differences(answer)
        return [f"expected the run of a hook or an outcome, got {answer!r}"]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HookRun | Outcome):
            return NotImplemented
        return not self.find_differences(other)

    def __repr__(self) -> str:
        return f"answer({self.expectation})"


def answer(
    decision: str = "",
    *,
    reason: str = "",
    context: str = "",
    message: str = "",
    args: Mapping[str, object] | None = None,
) -> ExpectedAnswer:
    """Return what a test expects: a decision, parts of texts, and arguments after all changes.

    `decision` is pass, allow, ask (or confirm), deny or stop. The answer of a hook that failed is never the expected one.

    Raises:
        ValueError: There is no such decision, or nothing is expected.
    """
    texts = {"decision": decision, "reason": reason, "context": context, "message": message}
    wanted = {key: text for key, text in texts.items() if text}
    try:
        return ExpectedAnswer(read_expectation({**wanted, "args": args} if args else wanted))
    except HookTestError as problem:
        raise ValueError(str(problem)) from None


class HooklineProject:
    """A project in a test: `path` is its folder, `write` writes its files, `run` asks one of its hooks."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, text: str, name: str = "hookline.toml") -> Path:
        """Write a file of the project, the configuration unless it is named, and return its path."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def run(self, event: Event, *, name: str = "", agent: str = "") -> HookRun:
        """Run a hook of the project for an event; `name` chooses it where there are several.

        Raises:
            ConfigError: There is no such hook, or a definition has a mistake.
        """
        return run_hook(self.path, event, name=name, agent=agent, cwd=self.path)

    def engine(self) -> RecordingEngine:
        """Return a recording engine with all hooks of the project; the test closes it.

        Raises:
            ConfigError: A definition has a mistake.
        """
        made = RecordingEngine(cwd=str(self.path))
        made.add(*load_hooks(self.path))
        return made


# processes of hooks that run together
_TOGETHER: Final = 4
_LONG: Final = "x" * 100_000
_ODD_TEXT: Final = "\u202e'\"`$(touch /tmp/x)\n\t{{args.command}} \U0001f512 \\u0000"


class ContractReport(Struct, frozen=True, kw_only=True):
    """What a contract test found: the runs of the hook, and a line for each breach."""

    runs: tuple[HookRun, ...]
    breaches: tuple[str, ...] = ()


def check_hook_contract(
    hook: Testable,
    events: Sequence[Event] = (),
    *,
    name: str = "",
    dialect: str = "",
    agents: Sequence[str] = (),
    cwd: str | Path | None = None,
) -> ContractReport:
    """Run a hook under every agent, and raise an AssertionError for each breach of its contract.

    Each of the events, or a sample of each event of the hook, is sent as each agent sends it that has the event. The hook must
    give an answer that the agent understands; what it denies for one agent it must deny for all, and so must the answer that
    the agent reads. It must also answer to odd events: without arguments, with a tool that it does not know, with very long
    texts.

    Raises:
        AssertionError: The hook breaks its contract; the message has a line for each breach.
        ConfigError: There is no such hook or agent, or its definition has a mistake.
    """
    if not events:
        tried = read_testable(hook, RecordingEngine(), build_event("before_tool"), name=name, dialect=dialect)
        events = tuple(build_event(str(one)) for one in tried.on)
    run = partial(run_hook_async, hook, name=name, dialect=dialect, cwd=cwd)
    report = wait_for(_check(events, agents, run=run))
    if report.breaches:
        raise AssertionError("\n".join((f"{len(report.breaches)} breaches of the hook's contract:", *report.breaches)))
    return report


async def _check(
    events: Sequence[Event], agents: Sequence[str], *, run: Callable[..., Awaitable[HookRun]]
) -> ContractReport:
    limit = asyncio.Semaphore(_TOGETHER)

    async def run_limited(event: Event, agent: str = "") -> HookRun:
        async with limit:
            return await run(event, agent=agent)

    runs: list[HookRun] = []
    breaches: list[str] = []
    for event in events:
        spoken = [agent for agent in list_agents(event.name) if not agents or agent in agents]
        first, *others = await asyncio.gather(*(run_limited(event, agent) for agent in ("", *spoken)))
        runs += [first, *others]
        for agent, one in zip(("", *spoken), (first, *others), strict=True):
            breaches += (f"{agent or 'hookline'}, {event.name}: {line}" for line in _find_breaches(one, agent, first))
    odd = await asyncio.gather(*map(run_limited, list_odd_events(events)))
    for one in odd:
        if one.failure is not None:
            breaches.append(f"odd event: {'; '.join(one.describe())[:500]}")
    return ContractReport(runs=(*runs, *odd), breaches=tuple(breaches))


def _find_breaches(run: HookRun, agent: str, first: HookRun) -> Iterator[str]:
    if run.failure is not None:
        yield "; ".join(run.describe())
        return
    denied = first.outcome.decision >= Decision.DENY
    able = find_dialect(agent).SPEC.able(run.event) if agent else None
    can_block = able is None or Ability.BLOCK in able
    if denied and can_block and run.outcome.decision < Decision.DENY:
        yield f"the hook denies this in Hookline's words, and here it says {run.decision}; {'; '.join(run.describe())}"
    if run.answer is None:
        return
    try:
        request = find_dialect(agent).encode_event(run.event, Hook(id="contract", kind="command", command="contract"))
        reply = Reply(stdout=run.answer.stdout, stderr=run.answer.stderr, exit_code=run.answer.exit_code)
        read = find_dialect(agent).decode_reply(reply, request)
    except (DialectError, EngineError) as problem:
        yield f"the agent cannot read the answer {run.answer.stdout!r}: {problem}"
        return
    if run.outcome.decision >= Decision.DENY and can_block and not read.blocks:
        yield f"the hook says {run.decision}, and the agent reads {read.decision} from {run.answer.stdout!r}"


def list_odd_events(events: Sequence[Event]) -> Iterator[Event]:
    """Yield events that no agent sends as a rule, and that a hook must not fail at."""
    for event in {event.name: event for event in events}.values():
        yield replace(event, data={})
        yield replace(event, data={**event.data, **dict.fromkeys(EVENTS[event.name].fields, _ODD_TEXT)})
        yield replace(event, data={**event.data, "unknown_field": [None, {"deep": [[[]]]}, 1e300]})
        if EVENTS[event.name].subject == "tool":
            yield replace(event, args={})
            yield replace(event, tool="mcp__unknown__tool", args={"input": _ODD_TEXT})
            yield replace(event, args=dict.fromkeys(event.args, _LONG))
            yield replace(event, args=dict.fromkeys(event.args))
