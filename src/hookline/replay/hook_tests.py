"""Run the tests that stand beside hooks: each event is given to its hook alone, contained and without effects."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hookline.config.hook_tests import HookTest, HookTestError, read_test
from hookline.debug.samples import complete_event
from hookline.engine.engine import Engine
from hookline.engine.trace_records import find_subject
from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate, Plan
from hookline.project import Project
from hookline.replay.replay import Unasked, make_effectless_engine, unasked_hooks
from hookline.trust.policy import suggest_approval


class HookTestResult(Struct, frozen=True, kw_only=True):
    """What came of one test: `problems` has a line for each difference, and is empty for a test that passed.

    `ran` is False for a test whose hook could not be asked.
    """

    hook: str
    number: int
    name: str
    given: str = ""
    expected: str = ""
    got: str = ""
    problems: tuple[str, ...] = ()
    ran: bool = True
    path: str = ""
    line: int = 0

    @property
    def passed(self) -> bool:
        """Whether the answer was the expected one."""
        return not self.problems


async def run_hook_tests(project: Project, hooks: Sequence[Hook], *, uncontained: bool = False) -> list[HookTestResult]:
    """Run the tests of these hooks of a project.

    A hook that is not approved is not run, unless it is a rule, whose answer is in its definition.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-test-") as folder:
        return [result for hook in hooks for result in await _run_tests(hook, project, folder, uncontained=uncontained)]


async def _run_tests(hook: Hook, project: Project, folder: str, *, uncontained: bool) -> list[HookTestResult]:
    # a hook that consists of others, or raises an event for them, needs them; any other is alone
    others = [one for one in project.hooks if one.id != hook.id] if hook.steps or hook.raises else []
    # the answer of a rule is in its definition: testing it runs nothing, so that it needs no approval
    hooks = [
        replace(one, source=Source.BUILTIN) if one.kind == "rule" else one
        for one in (replace(hook, enabled=True), *others)
    ]
    engine, _ = make_effectless_engine(
        hooks, project, folder, state_root=str(Path(folder, "state")), uncontained=uncontained
    )
    engine.settings = replace(engine.settings, no_hooks="pass")
    async with engine:
        return [await _run_test(engine, hooks[0], number, table) for number, table in enumerate(hook.tests, 1)]


async def _run_test(engine: Engine, hook: Hook, number: int, table: Mapping[str, object]) -> HookTestResult:
    label = f"test {number}" + (f", {table['name']}" if isinstance(table.get("name"), str) else "")
    result = HookTestResult(
        hook=hook.id, number=number, name=label, path=hook.source_path, line=hook.source_line, expected=""
    )
    try:
        test = read_test(table, hook.on)
        event = _build_event(engine, hook, test)
    except (HookTestError, ConfigError) as problem:
        return replace(result, problems=(str(problem),), ran=False)
    result = replace(result, given=_describe(event), expected=str(test.expect))
    if obstacle := _find_obstacle(engine, hook, event):
        return replace(result, problems=(obstacle,), ran=False)
    unasked: list[Unasked] = []
    unasked_hooks.set(unasked)
    stages = (tuple(one for one in stage if one.id == hook.id) for stage in engine.planner.plan(event).stages)
    outcome = await engine.handle(event, host_asks=True, plan=Plan(tuple(stage for stage in stages if stage)))
    if unasked:
        problems = tuple(f"hook {one.hook} was not run: {one.reason}" for one in unasked)
        return replace(result, problems=problems, ran=False)
    problems = tuple(test.expect.find_differences(outcome))
    return replace(result, got=outcome.decision.word, problems=problems)


def _build_event(engine: Engine, hook: Hook, test: HookTest) -> Event:
    def fits(event: Event) -> bool:
        return all(one.passed for one in engine.planner.gates(hook, event) if one.gate is Gate.MATCHER)

    cwd = str(Path(engine.cwd, test.cwd)) if test.cwd else engine.cwd
    return complete_event(test.event, tool=test.tool, args=test.args, data=test.data, cwd=cwd, hook=hook, fits=fits)


def _find_obstacle(engine: Engine, hook: Hook, event: Event) -> str:
    if hook.invalid:
        return hook.invalid
    objection = engine.trust.reason_denied(hook, cwd=event.cwd)
    return f"not run: {objection}; {suggest_approval(hook)}" if objection else ""


def _describe(event: Event) -> str:
    return " ".join(filter(None, (event.name, event.tool, find_subject(event))))
