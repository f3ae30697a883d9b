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


def test_hook_about_other_files_stays_left_out_with_its_reason() -> None:
    outcome, ran = answered(GUARD, hook("writes", Verdict.rewrite({"content": "y"})))

    assert ran == ["writes"]
    assert [(skip.hook.id, skip.gate) for skip in outcome.skipped] == [("guard", Gate.WRITES)]


def test_nobody_is_asked_again_after_a_hook_ended_the_run() -> None:
    outcome, ran = answered(GUARD, MOVES, hook("ends", Verdict.stop("enough")))

    assert ran == ["moves", "ends"]
    assert outcome.stopped


def test_untrusted_hook_that_becomes_due_does_not_run() -> None:
    foreign = Hook(id="foreign", on="before_tool", command="sh", writes=(".env",), source=Source.WORKSPACE)
    outcome, ran = answered(foreign, MOVES)

    assert ran == ["moves"]
    assert [(skip.hook.id, skip.gate) for skip in outcome.skipped] == [("foreign", Gate.TRUST)]
