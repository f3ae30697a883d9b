"""Answers that are an exit code and a text."""

import pytest

from hookline.dialects import _reply_codec
from hookline.errors import DialectError
from hookline.model.exchange import Answer, Reply
from hookline.model.verdict import Decision, Outcome


@pytest.mark.parametrize("value", [{"decision": "allow"}, "no", 0, False, []])
def test_function_cannot_answer_by_exit_code_and_is_told_so(value: object) -> None:
    with pytest.raises(DialectError, match="answer with their exit code"):
        _reply_codec.read_exit_code(Reply(value=value), dialect="kiro", is_context=True)


def test_function_that_returns_nothing_goes_on() -> None:
    assert _reply_codec.read_exit_code(Reply(value=None), dialect="kiro", is_context=True).decision is Decision.PASS


def test_bytes_that_are_no_text_are_read_and_kept_short() -> None:
    verdict = _reply_codec.read_exit_code(Reply(stdout=b"\xff" * 9000, exit_code=2), dialect="kiro", is_context=True)

    assert verdict.decision is Decision.DENY
    assert len(verdict.notes[0]) < 4100


def test_reason_with_half_a_character_is_still_said() -> None:
    answer = _reply_codec.encode_exit_code(Outcome(decision=Decision.DENY, reasons=("bad \ud800",)), is_context=False)

    assert answer == Answer(stderr=b"bad ?\n", exit_code=2)
