"""Whether a failing hook blocks: decided here and nowhere else."""

from msgspec.structs import replace

from hookline.model.exchange import Failure
from hookline.model.hook import Hook, OnError
from hookline.model.verdict import Decision, Verdict


def failed(failure: Failure, *, notes: tuple[str, ...] = ()) -> Verdict:
    """Make the verdict of a hook that gave no usable answer; `settle` decides what follows from it."""
    return Verdict(failure=failure, notes=notes)


def settle(verdict: Verdict, *, hook: Hook, default: OnError) -> Verdict:
    """Apply the failure policy: the hook's own `on_error`, else its dialect's default.

    A denial of the hook itself stands: a failure is not a way to take it back. A yes or a question of a hook that fell
    over beside it does not, where its failures block.
    """
    if verdict.failure is None or verdict.blocks:
        return verdict
    if (hook.on_error or default) is OnError.CONTINUE:
        return verdict
    return replace(
        verdict,
        decision=Decision.DENY,
        reason=f'hook "{hook.name or hook.id}" failed: {verdict.failure.message}',
    )
