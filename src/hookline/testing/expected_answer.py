"""What a test expects of an answer: `assert run == answer("deny", reason="force")`, with the differences where it fails."""

from collections.abc import Mapping

from hookline.config.hook_tests import HookTestError, read_expectation
from hookline.model.verdict import Expectation, Outcome
from hookline.testing.hook_run import HookRun


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
