import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline import Decision, Engine, Event, FailureKind, Hook, OnError, Record, Session, Settings, Source, Verdict
from hookline.engine.chaining import DEPTH, MOST, check_raisable
from hookline.engine.confirmation import Question
from hookline.engine.planner import HookPlanner
from hookline.model.plan import Plan
from hookline.model.record import Step
from hookline.model.verdict import Outcome


def hook(name: str, on: str, call: Callable[..., object] | None = None, **fields: object) -> Hook:
    made = {"id": name, "on": on, "call": call, "source": Source.BUILTIN}
    return Hook(**made | fields)  # type: ignore[arg-type] # field by field


def answered(*hooks: Hook, settings: Settings | None = None) -> tuple[Outcome, list[Record]]:
    records: list[Record] = []

    async def scenario() -> Outcome:
        async with Engine(cwd="/project", settings=settings) as engine:
            engine.bus.subscribe(records.append)
            engine.add(*hooks)
            session = Session(id="s1")
            outcome = await engine.emit("before_tool", tool="shell", args={"command": "ls"}, session=session)
            await engine.drain()
            return outcome

    return asyncio.run(scenario()), records


def raising(name: str, *, noting: Callable[[Event], None]) -> Callable[[Event], Verdict]:
    def call(event: Event) -> Verdict:
        noting(event)
        return Verdict.raise_event(name)

    return call


def warnings(records: list[Record]) -> list[object]:
    return [record.detail["message"] for record in records if record.step is Step.WARNING]


@pytest.mark.spec("A-23")
def test_hook_raises_an_event_that_carries_the_first_one() -> None:
    heard: list[Event] = []
    outcome, records = answered(
        hook("release", "before_tool", raises="custom:deploy"), hook("listens", "custom:deploy", heard.append)
    )

    (event,) = heard
    assert event.data == {
        "payload": {"event": "before_tool", "data": {}, "tool": "shell", "args": {"command": "ls"}},
        "source": "release",
        "event_name": "deploy",
    }
    assert (event.chain, event.parent, event.session.id, event.cwd) == (("release",), outcome.trace, "s1", "/project")
    (begun,) = (record for record in records if record.step is Step.EVENT and record.event == "custom")
    assert (begun.detail["chain"], begun.detail["parent"]) == (("release",), outcome.trace)


@pytest.mark.spec("A-23")
def test_what_the_hooks_of_a_raised_event_say_counts_as_said_by_the_one_that_raised_it() -> None:
    outcome, _ = answered(
        hook("release", "before_tool", lambda _event: Verdict.raise_event("custom:deploy", {"n": 1})),
        hook("freeze", "custom:deploy", lambda event: Verdict.deny(f"no release {event.data['n']}")),
        hook("says", "custom:deploy", lambda _event: {"context": "for the model", "message": "for the person"}),
    )

    assert (outcome.blocked, outcome.reasons) == (True, ("no release 1",))
    assert (outcome.context, outcome.messages) == (("for the model",), ("for the person",))
    assert [(verdict.hook, verdict.raised) for verdict in outcome.verdicts] == [("release", ("custom:deploy",))]


def test_question_of_a_raised_event_is_asked_once_about_the_first_one() -> None:
    asked: list[str] = []

    def yes(question: Question) -> bool:
        asked.append(f"{question.event.name}: {' '.join(question.reasons)}")
        return True

    async def scenario() -> Outcome:
        async with Engine(ask=yes) as engine:
            engine.add(
                hook("release", "before_tool", raises="custom:deploy"),
                hook("asks", "custom:deploy", lambda _event: Verdict.ask("sure?")),
            )
            return await engine.emit("before_tool", tool="shell")

    outcome = asyncio.run(scenario())
    assert (asked, outcome.blocked) == (["before_tool: sure?"], False)


@pytest.mark.spec("A-23")
def test_program_raises_events_with_its_answer(tmp_path: Path) -> None:
    script = tmp_path / "hook.py"
    script.write_text(
        'print(\'{"raise": ["custom:one", {"event": "custom:two", "data": {"n": 2}}], "message": "raised"}\')'
    )
    heard: list[tuple[str, object]] = []

    def hears(event: Event) -> None:
        heard.append((event.subject, event.data.get("n")))

    outcome, _ = answered(
        Hook(
            id="says",
            on="before_tool",
            command=sys.executable,
            args=("-S", str(script)),
            working_directory=str(tmp_path),
            source=Source.USER,
        ),
        hook("listens", "custom", hears),
    )

    assert outcome.failures == ()
    assert (heard, outcome.messages) == ([("one", None), ("two", 2)], ("raised",))


@pytest.mark.spec("A-23")
def test_loop_ends_where_a_hook_would_run_again_and_is_reported() -> None:
    runs: list[str] = []

    def noted(name: str, then: str) -> Callable[[Event], Verdict]:
        return raising(then, noting=lambda _event: runs.append(name))

    outcome, records = answered(
        hook("start", "before_tool", noted("start", "custom:a")),
        hook("one", "custom:a", noted("one", "custom:b")),
        hook("two", "custom:b", noted("two", "custom:a")),
    )

    assert runs == ["start", "one", "two"]
    assert warnings(records) == ["not run again: it led to this event itself: start → one → two → one"]
    notes = [record.detail.get("notes") for record in records if record.step is Step.COMPLETED and record.hook == "two"]
    assert notes == [
        ('hook "one" was not run again for "custom:a": it led to this event itself: start → one → two → one',)
    ]
    assert (outcome.blocked, outcome.failures) == (False, ())


@pytest.mark.spec("A-23")
def test_chain_ends_after_as_many_hooks_as_are_allowed_and_that_is_reported() -> None:
    ran: list[str] = []

    def link(number: int) -> Callable[[Event], Verdict]:
        return raising(f"custom:{number + 1}", noting=lambda event: ran.append(event.subject))

    links = [hook(f"h{number}", f"custom:{number}", link(number)) for number in range(1, 12)]
    _, records = answered(hook("h0", "before_tool", link(0)), *links)

    assert len(ran) == DEPTH + 1
    (warning,) = warnings(records)
    assert str(warning).startswith(
        f'the event "custom:{DEPTH + 1}" was not raised: {DEPTH} hooks led here already: h0 → h1'
    )


def test_hooks_that_all_raise_what_the_others_listen_to_do_not_run_for_ever() -> None:
    ran: list[str] = []
    listens = raising("custom:x", noting=lambda event: ran.append(event.id))
    everybody = [hook(f"h{number}", "custom", listens) for number in range(12)]
    _, records = answered(hook("first", "before_tool", raises="custom:x"), *everybody)

    events = [record for record in records if record.step is Step.EVENT and record.event == "custom"]
    assert len(events) == MOST
    assert len(ran) <= MOST * len(everybody)
    assert any(f"{MOST} events came of this one already" in str(message) for message in warnings(records))


def test_next_event_may_raise_as_many_again() -> None:
    heard: list[str] = []

    async def scenario() -> None:
        async with Engine() as engine:
            engine.add(
                hook("first", "before_tool", raises="custom:x"), hook("hears", "custom:x", lambda e: heard.append(e.id))
            )
            for _ in range(MOST + 5):
                await engine.emit("before_tool", tool="shell")

    asyncio.run(scenario())
    assert len(heard) == MOST + 5


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("custom:deploy", ""),
        ("notification", ""),
        ("skill_trigger", ""),
        ("error", ""),
        (
            "permission_request",
            'the event "permission_request" is not a hook\'s to raise; a hook may raise custom:NAME',
        ),
        ("before_tool", "is not a hook's to raise"),
        ("user_triggered", "is not a hook's to raise"),
        ("custom", "is not a hook's to raise"),
        ("custom:", 'there is no event "custom:"'),
        ("notificaton", 'there is no event "notificaton" (did you mean "notification"?)'),
        ("deploy", 'there is no event "deploy" (for an event of your own say "custom:deploy")'),
    ],
)
def test_only_events_that_are_a_hooks_to_raise_are_raised(name: str, says: str) -> None:
    said = check_raisable(name)

    assert says in said
    assert bool(said) is bool(says)


@pytest.mark.parametrize(("policy", "blocked"), [(OnError.BLOCK, True), (OnError.CONTINUE, False)])
def test_event_that_may_not_be_raised_is_a_failure_of_the_hook(policy: OnError, *, blocked: bool) -> None:
    ran: list[Event] = []
    outcome, _ = answered(
        hook("forges", "before_tool", lambda _event: Verdict.raise_event("permission_request"), on_error=policy),
        hook("allows", "permission_request", ran.append),
    )

    (verdict,) = outcome.verdicts
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.INVALID_REPLY
    assert (outcome.blocked, ran) == (blocked, [])


def test_observed_hook_raises_nothing() -> None:
    ran: list[Event] = []
    outcome, _ = answered(
        hook("first", "before_tool", raises="custom:x"),
        hook("hears", "custom:x", ran.append),
        settings=Settings(observe=True),
    )

    assert ran == []
    assert outcome.verdicts[0].notes == ('it wanted to raise the event "custom:x"',)


def test_event_nobody_listens_to_is_raised_in_vain() -> None:
    outcome, records = answered(hook("first", "before_tool", raises="custom:x"))

    assert outcome.decision is Decision.PASS
    assert [record.event for record in records if record.step is Step.EVENT] == ["before_tool"]


def test_raised_event_has_the_time_that_is_left() -> None:
    async def slow(_event: Event) -> None:
        await asyncio.sleep(3600)

    outcome, _ = answered(
        hook("first", "before_tool", raises="custom:x"),
        hook("slow", "custom:x", slow, timeout=600),
        hook("guard", "custom:x", lambda _event: None, on_error=OnError.BLOCK),
        settings=Settings(budget=0.2),
    )

    assert outcome.blocked
    assert "the event's budget of 0.2 s was used up" in outcome.reason


def test_untrusted_hook_of_a_raised_event_does_not_run(tmp_path: Path) -> None:
    theirs = Hook(
        id="theirs",
        on="custom:x",
        command=sys.executable,
        args=("-c", f"open({str(tmp_path / 'ran')!r}, 'w')"),
        source=Source.WORKSPACE,
    )
    answered(hook("first", "before_tool", raises="custom:x"), theirs)

    assert not (tmp_path / "ran").exists()


def test_value_that_is_no_object_is_no_event_to_raise() -> None:
    def wrong(_event: Event) -> Verdict:
        made = Verdict.raise_event("custom:x")
        (effect,) = made.effects
        return Verdict(effects=(type(effect)(effect.kind, "text", effect.path),))

    outcome, _ = answered(hook("wrong", "before_tool", wrong))

    assert outcome.verdicts[0].failure is not None


@pytest.mark.parametrize("policy", list(OnError))
def test_denial_is_not_lost_to_an_event_that_cannot_be_raised(policy: OnError) -> None:
    # the arguments of a tool are an object: nobody can make an event of this
    effects = Verdict.raise_event("custom:x", {"tool": "shell", "args": 5}).effects
    said = Verdict(decision=Decision.DENY, reason="no", effects=effects)

    outcome, _ = answered(
        hook("guard", "before_tool", lambda _event: said, on_error=policy), hook("hears", "custom:x", lambda _e: None)
    )

    (verdict,) = outcome.verdicts
    assert outcome.reason == "no"
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.INVALID_REPLY
    assert "could not be raised: the arguments of shell are int" in verdict.failure.message


@pytest.mark.parametrize(("policy", "wanted"), [(OnError.BLOCK, Decision.DENY), (OnError.CONTINUE, Decision.ALLOW)])
def test_event_that_could_not_be_raised_follows_the_failure_policy(policy: OnError, wanted: Decision) -> None:
    class FailingPlanner(HookPlanner):
        def plan(self, event: Event) -> Plan:
            if event.chain:
                raise RuntimeError("a bug of ours")
            return super().plan(event)

    async def scenario() -> Outcome:
        async with Engine() as engine:
            engine.planner.__class__ = FailingPlanner
            said = Verdict(decision=Decision.ALLOW, effects=Verdict.raise_event("custom:x").effects)
            engine.add(hook("guard", "before_tool", lambda _event: said, on_error=policy))
            return await engine.emit("before_tool", tool="shell")

    outcome = asyncio.run(scenario())

    assert outcome.decision is wanted
    assert [verdict.failure.kind for verdict in outcome.failures if verdict.failure] == [FailureKind.INTERNAL]


@pytest.mark.parametrize(("policy", "blocked"), [(OnError.BLOCK, True), (None, False)])
def test_guard_whose_event_is_not_raised_any_more_blocks(policy: OnError | None, *, blocked: bool) -> None:
    names = ["before_tool", *(f"custom:{number}" for number in range(DEPTH + 1))]
    links = [
        hook(f"h{number}", name, raising(names[number + 1], noting=lambda _event: None))
        for number, name in enumerate(names[:DEPTH])
    ]
    guard = hook("guard", names[DEPTH], raising(names[DEPTH + 1], noting=lambda _event: None), on_error=policy)

    outcome, records = answered(*links, guard)

    assert outcome.blocked is blocked
    assert any("8 hooks led here already" in str(message) for message in warnings(records))


def raises_many(_event: Event) -> Verdict:
    effects = [effect for number in range(100) for effect in Verdict.raise_event(f"custom:{number}").effects]
    return Verdict(effects=tuple(effects))


@pytest.mark.parametrize(
    "hooks",
    [
        [hook("many", "before_tool", raises_many)],
        [hook("one", "before_tool", raises_many), hook("two", "before_tool", raises_many)],
        [hook(name, "before_tool", raises_many, parallel=True) for name in ("one", "two", "three")],
        [hook("all", "before_tool", steps=("many",) * 5), hook("many", "user_triggered", raises_many)],
    ],
    ids=["one hook", "one after another", "side by side", "steps"],
)
def test_no_more_events_come_of_one_however_they_are_raised(hooks: list[Hook]) -> None:
    heard: list[Event] = []
    listens = hook("listens", "custom", heard.append)

    outcome, _ = answered(*hooks, listens)
    assert len(heard) == MOST
    assert any(f"{MOST} events came of this one already" in note for said in outcome.verdicts for note in said.notes)

    async def twice() -> None:
        async with Engine() as engine:
            engine.add(*hooks, listens)
            for _ in range(2):
                await engine.emit("before_tool", tool="shell")

    heard.clear()
    asyncio.run(twice())
    # the next event has as many of its own
    assert len(heard) == 2 * MOST
