"""AGENT-HOOKS-0.1 on Hookline's engine: an emitter for hosts, and the harness that runs the specification's vectors.

Needs the package `agent-hooks-sdk`. The SDK validates contexts, resolves declarations and writes records; the engine runs
the interceptors as hooks, composes their verdicts, and puts liftable denials to the resolver as questions.

    from agent_hooks.ctk import load_vectors, run_vectors
    from hookline.conformance.agent_hooks import HooklineHarness

    results = run_vectors(HooklineHarness, load_vectors())

Where it differs from the specification: with `on_approval: resume`, the interceptors behind a liftable denial run before the
resolver is asked, and it is asked once about all of them. Incremental output (vectors 110 to 113) is not declared: the
engine answers whole events.
"""
# ruff: noqa: SLF001 - the SDK's emitter has no public seam for another way to compose

import copy
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from agent_hooks import _core
from agent_hooks._types import Decision as TheirDecision
from agent_hooks._types import EnforcementMode, HostError, InterceptionPoint
from agent_hooks._types import Verdict as TheirVerdict
from agent_hooks.approval import ApprovalOutcome, ApprovalRequest, ApprovalResolution
from agent_hooks.composition import CompositionProfile, OnApproval, SynthesisPolicy
from agent_hooks.ctk.reference import ReferenceHarness
from agent_hooks.emitter import InterceptionEmitter, _Bound, _Outcome, _summaries, _with_unions

from hookline.engine.confirmation import PersonAnswer, Question
from hookline.engine.engine import Engine
from hookline.model.event import Event
from hookline.model.hook import Hook, OnError, Source
from hookline.model.settings import Settings
from hookline.model.verdict import Decision, Effect, EffectKind, Outcome, OutcomeCode, Verdict

AgentContext = dict[str, Any]

# The event that every interception point is raised as: one that can be denied and whose parameters can be changed.
EVENT: Final = "skill_trigger"
_PARAMETER: Final = "context"
_THEIRS: Final = "agent_hooks"

_HOST_ERRORS: Final[Mapping[str, HostError]] = {
    OutcomeCode.NO_HOOK: HostError.NO_INTERCEPTOR,
    OutcomeCode.CONFLICT: HostError.TRANSFORM_CONFLICT,
    OutcomeCode.DISAGREEMENT: HostError.COMPOSITION_DISAGREEMENT,
    OutcomeCode.ASK_FAILED: HostError.APPROVAL_RESOLVER_FAILED,
    OutcomeCode.OTHER_DIGEST: HostError.APPROVAL_IDENTITY_MISMATCH,
}


class HooklineEmitter(InterceptionEmitter):
    """An emitter of the SDK whose interceptors are run and composed by Hookline's engine."""

    __slots__ = ()

    async def _dispatch(self, ctx: AgentContext) -> _Outcome:
        return await _Emission(self, ctx).run()


class _Emission:
    """One interception point: its context, its interceptors as hooks, and the answer of the resolver."""

    def __init__(self, emitter: HooklineEmitter, context: AgentContext) -> None:
        self._emitter = emitter
        self._context = context
        self._active: list[_Bound] = emitter._active(context)
        self._profile: CompositionProfile = emitter.composition.profile
        self._verdicts: dict[int, TheirVerdict] = {}
        self._resolution: TheirVerdict | None = None
        self._resolved_by: str | None = None
        self._is_consulted = (
            emitter.mode is EnforcementMode.ENFORCE
            and emitter._resolver is not None
            and context.get("interception_point") != InterceptionPoint.AGENT_SHUTDOWN.value
        )

    async def run(self) -> _Outcome:
        """Raise the event, and read the outcome in the words of the specification."""
        config = self._emitter.composition
        is_unanimous = self._profile is CompositionProfile.PARALLEL_UNANIMOUS
        knob = config.on_disagreement if is_unanimous else config.on_transform_conflict
        settings = Settings(
            composition="unanimous" if is_unanimous else "strongest",
            on_conflict="confirm" if knob is SynthesisPolicy.APPROVAL and self._is_consulted else "deny",
            no_hooks="deny",
        )
        engine = Engine(settings=settings, ask=self._ask if self._is_consulted else None, identify=self._identify)
        for index, bound in enumerate(self._active):
            engine.add(
                Hook(
                    id=f"{index}",
                    on=EVENT,
                    call=self._make_hook(index, bound),
                    parallel=not self._profile.is_sequential,
                    on_error=OnError.BLOCK,
                    source=Source.BUILTIN,
                )
            )
        async with engine:
            parameters = {_PARAMETER: copy.deepcopy(self._context)}
            outcome = await engine.emit(EVENT, {"skill": _THEIRS, "parameters": parameters})
        return self._read_outcome(outcome)

    def _make_hook(self, index: int, bound: _Bound) -> Callable[[Event], Any]:
        async def intercept(event: Event) -> Verdict:
            seen = _context_of(event)
            verdict = await self._emitter._invoke(bound, seen)
            if verdict.decision is TheirDecision.TRANSFORM:
                verdict = self._fold(seen, verdict)
            self._verdicts[index] = verdict
            return self._translate(verdict, seen)

        return intercept

    def _fold(self, context: AgentContext, verdict: TheirVerdict) -> TheirVerdict:
        """Apply a transform to a context; in evaluate_only mode it is only validated."""
        folded: TheirVerdict = self._emitter._fold_transform(context, verdict)
        return folded

    def _translate(self, verdict: TheirVerdict, context: AgentContext) -> Verdict:
        """Return an interceptor's verdict as a hook's."""
        is_first_deny = self._profile is CompositionProfile.SEQUENTIAL_FIRST_DENY
        if verdict.decision is TheirDecision.DENY:
            asks = verdict.is_liftable and self._is_consulted
            resumes = asks and self._emitter.composition.on_approval is OnApproval.RESUME
            failed_transform = self._profile.is_sequential and (verdict.reason or "") in _TRANSFORM_ERRORS
            return Verdict(
                decision=Decision.ASK if asks else Decision.DENY,
                reason=verdict.reason or "",
                ends=(is_first_deny and not resumes) or failed_transform,
            )
        if verdict.decision is TheirDecision.TRANSFORM:
            return Verdict(effects=(Effect(EffectKind.REWRITE, context, ("args", _PARAMETER)),))
        return Verdict.allow(verdict.reason or "")

    # the question to the user

    def _identify(self, event: Event) -> str:
        return self._emitter._compute_identity(self._redact(_context_of(event))) or ""

    def _redact(self, context: AgentContext) -> AgentContext:
        redact = self._emitter._approval_redactor
        return redact(context) if redact is not None else context

    async def _ask(self, question: Question) -> PersonAnswer:
        """Put a question to the SDK's resolver, and check its answer as the specification orders."""
        self._resolved_by = "rejection"
        context = _context_of(question.event)
        liftable = self._first(liftable=True)
        denied = TheirVerdict.host_error(HostError.COMPOSITION_DISAGREEMENT, liftable=True)
        request = ApprovalRequest(
            context_identity=question.digest or None,
            interception_point=InterceptionPoint(context["interception_point"]),
            # the denial that the resolver is asked to lift
            verdict=denied if liftable is None else self._verdicts[liftable],
            context=self._redact(context),
        )
        resolver = self._emitter._resolver
        if resolver is None:
            return PersonAnswer(allowed=False)
        verdict = resolver.resolve(request)
        resolution: ApprovalResolution = await verdict if inspect.isawaitable(verdict) else verdict
        if (resolution.context_identity or "") == question.digest:
            self._resolution = self._check(resolution)
        permits = self._resolution is not None and self._resolution.decision.permits
        args: Mapping[str, object] | None = None
        if permits and self._resolution is not None:
            self._resolved_by = "approval"
            if self._resolution.decision is TheirDecision.TRANSFORM:
                self._resolution = self._fold(context, self._resolution)
                permits = self._resolution.decision.permits
                args = {_PARAMETER: context}
        return PersonAnswer(
            allowed=permits,
            digest=resolution.context_identity or "",
            args=args,
            reason=(self._resolution.reason or "") if self._resolution is not None else "",
        )

    def _check(self, resolution: ApprovalResolution) -> TheirVerdict:
        if resolution.outcome is ApprovalOutcome.UNRESOLVED or resolution.verdict is None:
            return TheirVerdict.host_error(HostError.APPROVAL_UNRESOLVED)
        try:
            gated = json.loads(_core.validate_verdict(json.dumps(resolution.verdict.to_wire())))
            verdict = TheirVerdict.from_wire(gated)
        except Exception as problem:  # noqa: BLE001 - an invalid verdict, whatever the exception
            return TheirVerdict.host_error(HostError.VERDICT_INVALID, str(problem))
        if verdict.decision.permits is not (resolution.outcome is ApprovalOutcome.APPROVE):
            return TheirVerdict.host_error(HostError.VERDICT_INVALID, "the outcome and its verdict disagree")
        return verdict

    # the outcome

    def _read_outcome(self, outcome: Outcome) -> _Outcome:
        names = [bound.name for bound in self._active]
        verdicts = [self._verdicts[index] for index in sorted(self._verdicts)]
        combined, decided_by = self._combine(outcome)
        permits = combined.decision.permits
        if permits and outcome.args is not None and self._emitter.mode is EnforcementMode.ENFORCE:
            changed = outcome.args.get(_PARAMETER)
            if isinstance(changed, dict):
                self._context.clear()
                self._context.update(changed)
        pool = [*verdicts, *([self._resolution] if self._resolution is not None and permits else [])]
        is_first_deny = self._profile is CompositionProfile.SEQUENTIAL_FIRST_DENY
        return _Outcome(
            _with_unions(combined, pool),
            decided_by,
            _summaries(verdicts, names),
            len(self._verdicts) < len(self._active) if is_first_deny and self._active else None,
            self._resolved_by,
        )

    def _combine(self, outcome: Outcome) -> tuple[TheirVerdict, int | None]:
        """Return the combined verdict and the interceptor it came from, as the engine decided."""
        resumes = self._emitter.composition.on_approval is OnApproval.RESUME
        if self._resolution is not None and (self._resolved_by == "rejection" or not resumes):
            is_ours = (self._resolution.reason or "").startswith("host_error:")
            return self._resolution, None if is_ours or not self._profile.is_sequential else self._first(liftable=True)
        if outcome.code in _HOST_ERRORS:
            return TheirVerdict.host_error(_HOST_ERRORS[outcome.code]), None
        if outcome.blocked:
            index = self._first(liftable=False)
            index = self._first(liftable=True) if index is None else index
            if index is None:
                return TheirVerdict.host_error(HostError.INTERCEPTOR_FAILED, outcome.reason), None
            is_failed_transform = (self._verdicts[index].reason or "") in _TRANSFORM_ERRORS
            return self._verdicts[index], None if is_failed_transform else index
        transforms = [index for index, verdict in self._verdicts.items() if verdict.decision is TheirDecision.TRANSFORM]
        if transforms:
            return self._verdicts[max(transforms)], max(transforms)
        return self._resolution or TheirVerdict.allow(), None

    def _first(self, *, liftable: bool) -> int | None:
        """Return the first interceptor that denied, in a way that can be lifted or not."""
        denied = (index for index, verdict in sorted(self._verdicts.items()) if verdict.decision is TheirDecision.DENY)
        return next((index for index in denied if self._verdicts[index].is_liftable is liftable), None)


_TRANSFORM_ERRORS: Final = frozenset({HostError.TRANSFORM_INVALID.value, HostError.TRANSFORM_TARGET_FORBIDDEN.value})


def _context_of(event: Event) -> AgentContext:
    """Return a copy of the specification's context that an event carries."""
    parameters = event.data["parameters"]
    found = parameters[_PARAMETER] if isinstance(parameters, Mapping) else {}
    return copy.deepcopy(dict(found))


class HooklineHarness(ReferenceHarness):
    """The scripted agent of the SDK's test kit, with Hookline's engine in place of the SDK's dispatch."""

    name = "hookline"

    def _start(self, scenario: Any, emitter: InterceptionEmitter) -> None:
        # the test kit builds its emitters by the name of the SDK's class
        emitter.__class__ = HooklineEmitter
        super()._start(scenario, emitter)
