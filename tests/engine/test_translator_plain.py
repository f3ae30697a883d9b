import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from hookline import Engine
from hookline.dialects import DIALECTS
from hookline.engine.translator import LONGEST_TEXT
from hookline.model.exchange import FailureKind
from hookline.model.hook import Hook, OnError, Source
from hookline.model.verdict import Decision, Outcome, Verdict

Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return partial(_run, tmp_path / "program.py")


def _run(script: Path, code: str, *, plain: bool = True, dialect: str = "ollm-rpc") -> Outcome:
    script.write_text(code, encoding="utf-8")
    engine = Engine()
    engine.add(
        Hook(
            id="a",
            on="after_agent",
            command=sys.executable,
            args=(str(script),),
            shell=False,
            plain=plain,
            dialect=dialect,
            source=Source.USER,
            on_error=OnError.CONTINUE,
        )
    )
    outcome = engine.emit_sync("after_agent", {"response": "done"})
    engine.close_sync()
    return outcome


@pytest.mark.spec("D-06")
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_what_a_plain_program_prints_goes_on_as_context(dialect: str, run: Run) -> None:
    outcome = run("print('2 warnings')", dialect=dialect)

    assert (outcome.context, outcome.failures, outcome.decision) == (("2 warnings",), (), Decision.PASS)


def test_silent_plain_program_says_nothing(run: Run) -> None:
    outcome = run("pass")

    assert (outcome.effects, outcome.failures) == ((), ())


def test_json_that_is_no_answer_is_text_too(run: Run) -> None:
    outcome = run("""print('{"errors": 3}')""")

    assert (outcome.context, outcome.failures) == (('{"errors": 3}',), ())


@pytest.mark.spec("D-06")
def test_answer_of_its_dialect_is_read_as_one(run: Run) -> None:
    outcome = run("""print('{"jsonrpc": "2.0", "id": 1, "result": {"action": "block", "reason": "no"}}')""")

    assert (outcome.decision, outcome.reason, outcome.context) == (Decision.DENY, "no", ())


@pytest.mark.spec("D-06")
def test_other_exit_code_is_a_failure_with_what_it_said(run: Run) -> None:
    outcome = run("import sys; print('out'); sys.exit('broken build')")

    (verdict,) = outcome.failures
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.EXIT_CODE
    assert verdict.failure.message == "ended with exit code 1: broken build"
    assert outcome.context == ()


def test_text_of_any_other_hook_stays_a_broken_answer(run: Run) -> None:
    outcome = run("print('2 warnings')", plain=False)

    assert [verdict.failure.kind for verdict in outcome.failures if verdict.failure] == [FailureKind.INVALID_REPLY]


def test_long_text_is_cut_at_its_start_and_it_is_said(run: Run) -> None:
    outcome = run(f"print('a' * {LONGEST_TEXT} + 'end')")

    assert outcome.context == ("a" * (LONGEST_TEXT - 3) + "end",)
    assert outcome.verdicts[0].notes == (
        f"it printed {LONGEST_TEXT + 3} characters, the last {LONGEST_TEXT} are given on",
    )


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_function_may_answer_in_our_words_whatever_its_dialect(dialect: str) -> None:
    engine = Engine()
    engine.add(
        Hook(id="a", on="before_tool", call=lambda _event: Verdict.deny("no"), dialect=dialect, source=Source.BUILTIN)
    )
    outcome = engine.emit_sync("before_tool", tool="shell")
    engine.close_sync()

    assert (outcome.blocked, outcome.reason) == (True, "no")
