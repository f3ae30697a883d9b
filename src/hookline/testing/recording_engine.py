"""An engine for tests: it keeps everything in memory, and records what was asked, answered and traced."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.document import Severity
from hookline.engine.confirmation import PersonAnswer, Question
from hookline.engine.engine import Engine
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.exchange import Reply, Request
from hookline.model.hook import Hook, Source
from hookline.model.plan import Plan
from hookline.model.record import Record
from hookline.model.settings import Settings
from hookline.model.verdict import Outcome
from hookline.project import load_project
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
        """Add the hooks of a hookline.toml; the test vouches for them..

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
