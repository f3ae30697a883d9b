from hookline import Engine, Event, Verdict
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate
from hookline.model.verdict import Outcome


def answered(*hooks: Hook, path: str = "notes.txt") -> tuple[Outcome, list[str]]:
    engine = Engine(cwd="/project")
    engine.add(*hooks)
    outcome = engine.emit_sync("before_tool", tool="write_file", args={"path": path, "content": "x"})
    engine.close_sync()
    return outcome, [verdict.hook for verdict in outcome.verdicts]


def hook(name: str, answer: Verdict, **fields: object) -> Hook:
    made = {"id": name, "on": "before_tool", "call": lambda _event: answer, "source": Source.BUILTIN}
    return Hook(**made | fields)  # type: ignore[arg-type]


GUARD = hook("guard", Verdict.deny("secrets stay as they are"), writes=(".env",))
MOVES = hook("moves", Verdict.rewrite({"path": ".env"}))


def test_change_of_the_path_does_not_slip_past_a_guard_for_the_new_one() -> None:
    outcome, ran = answered(GUARD, MOVES)

    assert (outcome.blocked, outcome.reason) == (True, "secrets stay as they are")
    assert ran == ["moves", "guard"]
    assert outcome.skipped == ()


def test_hook_asked_again_sees_the_change_and_may_change_it_once_more() -> None:
    seen: list[object] = []

    def back(event: Event) -> Verdict:
        seen.append(event.args["path"])
        return Verdict.rewrite({"path": "b.md"})

    outcome, ran = answered(
        hook("docs", Verdict(), files=("*.md",)), hook("back", Verdict(), call=back, writes=(".env",)), MOVES
    )

    assert (seen, ran) == ([".env"], ["moves", "back", "docs"])
    assert outcome.args == {"path": "b.md", "content": "x"}


def test_hook_about_other_files_is_not_asked_again_by_a_change_that_does_not_concern_it() -> None:
    outcome, ran = answered(GUARD, hook("writes", Verdict.rewrite({"content": "y"})))

    assert ran == ["writes"]
    assert outcome.skipped == ()


def test_hook_is_asked_again_when_its_condition_comes_true_and_has_its_reason_until_then() -> None:
    careful = hook("careful", Verdict.deny("not there"), condition='args.path == ".env"')

    outcome, ran = answered(careful, hook("writes", Verdict.rewrite({"content": "y"})))
    assert (ran, [(skip.hook.id, skip.gate) for skip in outcome.skipped]) == (["writes"], [("careful", Gate.CONDITION)])

    outcome, ran = answered(careful, MOVES)
    assert (ran, outcome.reason, outcome.skipped) == (["moves", "careful"], "not there", ())


def test_hook_started_by_name_brings_no_others_along_when_it_changes_the_arguments() -> None:
    engine = Engine(cwd="/project")
    engine.add(GUARD, MOVES)
    event = engine.event("before_tool", tool="write_file", args={"path": "notes.txt"})

    outcome = engine.wait_for(engine.start(MOVES, event))
    engine.close_sync()

    assert [verdict.hook for verdict in outcome.verdicts] == ["moves"]


def test_nobody_is_asked_again_after_a_hook_ended_the_run() -> None:
    outcome, ran = answered(GUARD, MOVES, hook("ends", Verdict.stop("enough")))

    assert ran == ["moves", "ends"]
    assert outcome.stopped


def test_untrusted_hook_that_becomes_due_does_not_run() -> None:
    foreign = Hook(id="foreign", on="before_tool", command="sh", writes=(".env",), source=Source.WORKSPACE)
    outcome, ran = answered(foreign, MOVES)

    assert ran == ["moves"]
    assert [(skip.hook.id, skip.gate) for skip in outcome.skipped] == [("foreign", Gate.TRUST)]


def test_guard_that_asks_for_data_or_a_result_is_asked_again_when_they_change() -> None:
    engine = Engine(cwd="/project")
    secret = {"condition": 'result.contains("secret")', "on": "after_tool", "priority": 0}
    engine.add(
        hook("leaks", Verdict.deny("a secret"), **secret),
        hook("reads", Verdict.replace_output("secret"), on="after_tool"),
        hook("risk", Verdict.deny("too risky"), condition="has(data.risk) && data.risk > 1", priority=0),
        hook("judge", Verdict(), call=lambda _event: {"data": {"risk": 2}}),
        hook("skills", Verdict.deny("not there"), on="skill_trigger", condition='data.parameters.to == "prod"'),
        hook("turns", Verdict.rewrite({"to": "prod"}), on="skill_trigger"),
    )

    after = engine.emit_sync("after_tool", {"result": "fine"}, tool="shell")
    before = engine.emit_sync("before_tool", tool="shell")
    skill = engine.emit_sync("skill_trigger", {"skill": "deploy", "parameters": {"to": "test"}})
    engine.close_sync()

    assert [outcome.reason for outcome in (after, before, skill)] == ["a secret", "too risky", "not there"]


def test_values_that_cannot_be_compared_are_no_obstacle() -> None:
    class Odd:
        __hash__ = None  # type: ignore[assignment] # as arrays are

        def __eq__(self, _other: object) -> bool:
            raise ValueError("which of them?")

    engine = Engine(cwd="/project")
    engine.add(hook("tells", Verdict.rewrite({"content": "y"})))
    outcome = engine.emit_sync("before_tool", tool="write_file", args={"path": "a", "odd": [Odd()]})
    engine.close_sync()

    assert outcome.args is not None
    assert outcome.args["content"] == "y"
