import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hookline import Decision, Engine, Event, FailureKind, Hook, OnError, Record, Settings, Source, Verdict
from hookline.engine.ordering import MAX_STEPS, HookNames, check_list
from hookline.model.hook import Layer
from hookline.model.record import Step
from hookline.model.requirements import Needs
from hookline.model.verdict import Outcome


def step(named: str, call: Callable[..., object], **fields: object) -> Hook:
    made = {"id": named, "on": "user_triggered", "call": call, "source": Source.BUILTIN}
    return Hook(**made | fields)  # type: ignore[arg-type] # field by field


def all_of(*steps: str, **fields: object) -> Hook:
    made = {"id": "all", "on": "before_tool", "steps": steps, "source": Source.BUILTIN}
    return Hook(**made | fields)  # type: ignore[arg-type] # field by field


def answered(*hooks: Hook, settings: Settings | None = None, path: str = "a.py") -> tuple[Outcome, list[Record]]:
    records: list[Record] = []

    async def scenario() -> Outcome:
        async with Engine(cwd="/project", settings=settings) as engine:
            engine.bus.subscribe(records.append)
            for hook in hooks:
                # as loading does: what is wrong between hooks takes none of them away
                engine.registry.add(hook)
            outcome = await engine.emit("before_tool", tool="write_file", args={"path": path})
            await engine.drain()
            return outcome

    return asyncio.run(scenario()), records


@pytest.mark.spec("O-32")
def test_steps_run_one_after_another_and_say_one_thing_together() -> None:
    seen: list[object] = []

    def third(event: Event) -> Verdict:
        seen.append((event.args["path"], event.data["n"]))
        return Verdict.deny("third says no")

    outcome, records = answered(
        all_of("one", "two", "three"),
        step("one", lambda _event: Verdict.rewrite({"path": "b.py"})),
        step("two", lambda _event: {"data": {"n": 1}, "context": "from two", "decision": "allow"}),
        step("three", third),
    )

    (verdict,) = outcome.verdicts
    assert (verdict.hook, verdict.decision, seen) == ("all", Decision.DENY, [("b.py", 1)])
    assert verdict.metadata == {"steps": {"one": "pass", "two": "allow", "three": "deny"}}
    assert (outcome.reasons, outcome.args, outcome.context) == (("third says no",), {"path": "b.py"}, ("from two",))
    # every step has lines of its own in the trace
    assert [(record.step, record.hook) for record in records if record.hook] == [
        (Step.STARTED, "all"),
        *((kind, name) for name in ("one", "two", "three") for kind in (Step.STARTED, Step.COMPLETED)),
        (Step.COMPLETED, "all"),
    ]


@pytest.mark.spec("O-32")
def test_lists_stand_inside_each_other_and_a_step_may_be_named_by_its_name() -> None:
    outcome, _ = answered(
        all_of("inner", "Last of all"),
        Hook(id="inner", on="user_triggered", steps=("one", "one"), source=Source.BUILTIN),
        step("one", lambda _event: Verdict.tell("one")),
        step("last", lambda _event: Verdict.tell("last"), name="Last of all"),
    )

    assert outcome.messages == ("one", "one", "last")


def test_each_step_has_gates_of_its_own_and_is_left_out_with_a_reason() -> None:
    def never(_event: Event) -> None:
        raise AssertionError

    outcome, records = answered(
        all_of("off", "other", "files", "if", "fits"),
        step("off", never, enabled=False),
        step("other", never, matcher="shell"),
        step("files", never, files=("*.md",)),
        step("if", never, condition='args.path == "b.py"'),
        step("fits", lambda _event: Verdict.tell("ran"), matcher="write_file", files=("*.py",)),
    )

    assert outcome.messages == ("ran",)
    assert [(record.hook, record.detail["gate"]) for record in records if record.step is Step.SKIPPED] == [
        ("off", "enabled"),
        ("other", "matcher"),
        ("files", "files"),
        ("if", "condition"),
    ]
    assert outcome.verdicts[0].notes[0] == 'step "off" was left out: switched off'


def test_condition_of_a_step_is_asked_about_what_earlier_steps_left() -> None:
    outcome, _ = answered(
        all_of("one", "two"),
        step("one", lambda _event: Verdict.rewrite({"path": "b.py"})),
        step("two", lambda _event: Verdict.tell("two"), condition='args.path == "b.py"'),
    )

    assert outcome.messages == ("two",)


def test_step_that_ends_the_run_ends_the_list() -> None:
    ran: list[str] = []
    outcome, _ = answered(
        all_of("one", "two"),
        step("one", lambda _event: Verdict.stop("enough")),
        step("two", lambda _event: ran.append("two")),
        step("after", lambda _event: ran.append("after"), on="before_tool"),
    )

    assert (outcome.stopped, outcome.reasons, ran) == (True, ("enough",), [])


def test_failing_step_follows_its_own_policy() -> None:
    def broken(_event: Event) -> None:
        raise ValueError("oh")

    careless, _ = answered(all_of("a", "b"), step("a", broken), step("b", lambda _event: Verdict.tell("b")))
    careful, _ = answered(all_of("a", "b"), step("a", broken, on_error=OnError.BLOCK), step("b", lambda _event: None))

    assert (careless.blocked, careless.messages) == (False, ("b",))
    assert careless.verdicts[0].notes[0].startswith('step "a" failed: ValueError: oh')
    assert careful.blocked
    assert careful.reason.startswith('hook "a" failed: ValueError: oh')


@pytest.mark.spec("O-32", "P-02")
def test_step_that_nobody_approved_does_not_run(tmp_path: Path) -> None:
    theirs = Hook(
        id="theirs",
        on="user_triggered",
        command=sys.executable,
        args=("-c", f"open({str(tmp_path / 'ran')!r}, 'w')"),
        source=Source.WORKSPACE,
        layer=Layer.PROJECT,
    )

    outcome, records = answered(all_of("theirs", "mine"), theirs, step("mine", lambda _event: Verdict.tell("mine")))

    assert not (tmp_path / "ran").exists()
    assert outcome.messages == ("mine",)
    assert [record.detail["gate"] for record in records if record.step is Step.SKIPPED] == ["trust"]


def test_list_that_nobody_approved_starts_none_of_a_persons_own_hooks() -> None:
    ran: list[str] = []

    outcome, _ = answered(all_of("mine", source=Source.WORKSPACE), step("mine", lambda _event: ran.append("mine")))

    assert (ran, [skip.gate for skip in outcome.skipped]) == ([], ["trust"])


@pytest.mark.parametrize(("policy", "blocked"), [(OnError.BLOCK, True), (OnError.CONTINUE, False)])
def test_unknown_step_is_a_failure_and_the_others_run(policy: OnError, *, blocked: bool) -> None:
    outcome, _ = answered(
        all_of("scret", "secrets", on_error=policy), step("secrets", lambda _event: Verdict.tell("ran"))
    )

    (verdict,) = outcome.verdicts
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.NOT_FOUND
    assert verdict.failure.message == 'there is no hook "scret" (did you mean "secrets"?)'
    assert (outcome.blocked, outcome.messages) == (blocked, ("ran",))


def test_list_that_contains_itself_is_refused_at_run_time_too() -> None:
    outcome, _ = answered(
        all_of("inner", on_error=OnError.BLOCK),
        Hook(id="inner", on="user_triggered", steps=("all",), source=Source.BUILTIN),
    )

    assert outcome.reason.startswith(
        'hook "all" failed: hook "all" contains itself: "all" → "inner" → "all"; `hookline'
    )


def test_depth_and_length_are_bounded() -> None:
    deep = [Hook(id=f"d{number}", steps=(f"d{number + 1}",)) for number in range(9)]
    wide = [Hook(id=f"w{number}", steps=(f"w{number + 1}",) * 10) for number in range(4)]
    names = HookNames([*deep, *wide, Hook(id="d9", command="sh"), Hook(id="w4", command="sh")])

    assert check_list(deep[1], names) == ""
    assert check_list(deep[0], names).startswith("has more than 8 lists inside each other: d0 → d1")
    assert check_list(wide[2], names) == ""
    assert check_list(wide[0], names) == f"comes to 10000 steps, and {MAX_STEPS} are the most"


def test_time_of_the_list_holds_for_all_its_steps() -> None:
    async def slow(_event: Event) -> None:
        await asyncio.sleep(3600)

    ran: list[str] = []
    outcome, _ = answered(
        all_of("slow", "next", timeout=0.2), step("slow", slow), step("next", lambda _event: ran.append("next"))
    )

    notes = outcome.verdicts[0].notes
    assert 'this was all that was left of the time of "all" of 0.2 s' in notes[0]
    assert notes[1].startswith('step "next" failed: not started: the time of "all" of 0.2 s was used up by "slow"')
    assert ran == []


def test_list_without_a_time_of_its_own_has_the_budget_of_the_event() -> None:
    async def slow(_event: Event) -> None:
        await asyncio.sleep(3600)

    outcome, _ = answered(
        all_of("slow", "guard"),
        step("slow", slow, timeout=600),
        step("guard", lambda _event: None, on_error=OnError.BLOCK),
        settings=Settings(budget=0.2),
    )

    assert outcome.blocked


def test_observed_list_decides_nothing_raises_nothing_and_is_written_down() -> None:
    raised: list[Event] = []
    outcome, _ = answered(
        all_of("one", "two", observe=True),
        step("one", lambda _event: Verdict.raise_event("custom:x")),
        step("two", lambda _event: Verdict.deny("no")),
        step("listens", raised.append, on="custom:x"),
    )

    (verdict,) = outcome.verdicts
    assert (outcome.blocked, raised) == (False, [])
    assert (verdict.decision, verdict.observed) == (Decision.DENY, True)
    assert verdict.notes == ('step "one": it wanted to raise the event "custom:x"',)


def test_observed_step_counts_for_nothing() -> None:
    outcome, _ = answered(all_of("one"), step("one", lambda _event: Verdict.deny("no"), observe=True))

    assert not outcome.blocked


def test_list_without_steps_is_refused() -> None:
    outcome, _ = answered(all_of(kind="steps", on_error=OnError.BLOCK))

    assert outcome.reason.startswith('hook "all" failed: hook "all" has no steps; `hookline check`')


def broken(_event: Event) -> None:
    raise ValueError("oh")


async def never_ends(_event: Event) -> None:
    await asyncio.sleep(3600)


@pytest.mark.spec("P-16")
@pytest.mark.parametrize(
    ("guard", "why"),
    [
        (step("guard", broken), "ValueError: oh"),
        (step("guard", never_ends, timeout=0.05), "within 0.05 s"),
        (step("guard", broken, condition="args.nothing == 1"), "ValueError: oh"),
        (step("guard", broken, needs=Needs(env=("HOOKLINE_NOT_SET",))), "HOOKLINE_NOT_SET is not set"),
        (Hook(id="guard", on="user_triggered", command="true", source=Source.WORKSPACE), "not approved"),
        (Hook(id="guard", on="user_triggered", steps=("inner",), source=Source.BUILTIN), "ValueError: oh"),
    ],
    ids=["fails", "times out", "condition undecided", "lacks something", "not approved", "fails in a list inside"],
)
def test_list_whose_failures_block_is_not_slipped_past_by_a_step_that_could_not_answer(guard: Hook, why: str) -> None:
    says_yes = step("yes", lambda _event: Verdict.allow("fine"))
    hooks = (guard, says_yes, step("inner", broken))

    closed, _ = answered(all_of("guard", "yes", on_error=OnError.BLOCK), *hooks)
    open_, _ = answered(all_of("guard", "yes"), *hooks)

    assert (closed.decision, why in closed.reason) == (Decision.DENY, True)
    assert open_.decision is Decision.ALLOW


def test_step_that_says_what_its_failures_mean_is_left_at_that() -> None:
    outcome, _ = answered(
        all_of("advice", on_error=OnError.BLOCK), step("advice", broken, on_error=OnError.CONTINUE, priority=1)
    )

    assert not outcome.blocked


@pytest.mark.parametrize(
    "narrow", [{"condition": 'args.path == ".env"'}, {"writes": (".env",)}, {"files": (".env",)}], ids=str
)
def test_change_by_a_later_step_does_not_slip_past_a_step_before_it(narrow: dict[str, object]) -> None:
    moves = step("moves", lambda _event: Verdict.rewrite({"path": ".env"}))
    guard = step("guard", lambda event: Verdict.deny(f"not {event.args['path']}"), **narrow)

    outcome, records = answered(all_of("guard", "moves"), guard, moves)

    assert (outcome.reason, outcome.verdicts[0].notes) == ("not .env", ())
    assert [record.hook for record in records if record.step is Step.SKIPPED] == []


def test_steps_that_change_to_and_fro_come_to_an_end() -> None:
    outcome, _ = answered(
        all_of("to-a", "to-b", "last"),
        step("to-a", lambda _event: Verdict.rewrite({"path": "a.py"}), condition='args.path == "b.py"'),
        step("to-b", lambda _event: Verdict.rewrite({"path": "b.py"}), condition='args.path == "a.py"'),
        step("last", lambda _event: None, condition='args.path == "c.py"'),
    )

    assert outcome.args == {"path": "a.py"}
    assert outcome.verdicts[0].notes == ('step "last" was left out: if `args.path == "c.py"` is false',)


@pytest.mark.parametrize(("theirs", "called"), [("theirs", "guard"), ("guard", "")], ids=["name", "id"])
def test_nobody_takes_the_place_of_a_persons_step_by_taking_its_name(theirs: str, called: str) -> None:
    stranger = Hook(id=theirs, name=called, on="user_triggered", command="true", source=Source.WORKSPACE)

    outcome, _ = answered(
        all_of("guard", source=Source.USER),
        step("mine", lambda _event: Verdict.deny("guarded"), name="guard", source=Source.USER),
        stranger,
    )

    assert (outcome.reason, outcome.verdicts[0].failure) == ("guarded", None)


@pytest.mark.spec("D-11")
def test_limits_of_a_list_hold_for_the_whole_of_it() -> None:
    ran: list[str] = []

    async def scenario() -> list[Outcome]:
        async with Engine(cwd="/project") as engine:
            engine.add(all_of("one", "one", once=True, per_minute=5), step("one", lambda _event: ran.append("one")))
            return [await engine.emit("before_tool", tool="shell") for _ in range(2)]

    outcomes = asyncio.run(scenario())

    assert ran == ["one", "one"]
    assert [[skip.gate for skip in outcome.skipped] for outcome in outcomes] == [[], ["once"]]
