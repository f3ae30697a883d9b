"""The failure policy: the one place that decides whether a failed hook blocks."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Hook, OnError
from hookline.model.verdict import Decision, Verdict
from hookline.text import escape_all, shell_quote

# the command that helps with each kind of failure: a hook that could not run has to be repaired, others are tried out
_CHECK: Final = "`hookline check` says what is wrong, `hookline show {0}` shows the hook"
_TEST: Final = "`hookline test {0}` runs it and shows what it says"
_REMEDIES: Final[Mapping[FailureKind, str]] = {
    **dict.fromkeys(FailureKind, _TEST),
    FailureKind.NOT_FOUND: _CHECK,
    FailureKind.REFUSED: _CHECK,
    FailureKind.UNAVAILABLE: "`hookline why {0}` says what is missing, `hookline limits` what is used up",
    FailureKind.INTERNAL: "`hookline doctor` says more",
}
_MARK: Final = "`hookline "


def failed_verdict(failure: Failure, *, notes: tuple[str, ...] = ()) -> Verdict:
    """Return the verdict of a hook without a usable answer, before the failure policy is applied."""
    return Verdict(failure=failure, notes=notes)


def fails_closed(hook: Hook, default: OnError, failure: Failure | None = None) -> bool:
    """Return whether a failure of the hook blocks: its own `on_error` decides, else its dialect's default.

    The agent chooses the length of a value. So unless the hook sets `on_error`, a value that is too long for its program
    blocks: otherwise a long command would bypass every guard.
    """
    if hook.on_error is None and failure is not None and failure.kind is FailureKind.TOO_LONG:
        return True
    return (hook.on_error or default) is OnError.BLOCK


def suggest_command(hook: Hook, failure: Failure) -> str:
    """Return the command that helps with a failure, or "" where its message names one."""
    return "" if _MARK in failure.message else _REMEDIES[failure.kind].format(shell_quote(hook.id))


def apply_failure_policy(verdict: Verdict, *, hook: Hook, default: OnError) -> Verdict:
    """Deny where the hook failed and fails closed; the reason names the failure and the command that helps.

    A denial of the hook itself stands: a failure is not a way to take it back. An allow or a question beside a failure
    does not stand where the hook fails closed.
    """
    if verdict.failure is None or verdict.blocks or not fails_closed(hook, default, verdict.failure):
        return verdict
    reason = f'hook "{escape_all(hook.name or hook.id)}" failed: {verdict.failure.message}'
    remedy = suggest_command(hook, verdict.failure)
    return replace(verdict, decision=Decision.DENY, reason=f"{reason}; {remedy}" if remedy else reason)
