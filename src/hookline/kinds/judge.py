"""Hooks that ask a language model: may this go on? One structured answer, within a time and a budget.

The judge's "allow" is no opinion, as everywhere: the agent goes on to ask its user where it would. At a permission request
the answer is the permission.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from time import time
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import Struct

from hookline import caller_context
from hookline.errors import ConfigError, StoreError
from hookline.http_client import HttpClient
from hookline.kinds.python import timeout_failure
from hookline.llm.judge_client import JudgeQuestion, ModelAnswer, ask_model, make_prompt, make_question
from hookline.llm.spending import BudgetLedger
from hookline.llm.target import ModelTarget, find_target
from hookline.model.event import EventName
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook
from hookline.model.language_models import ModelUsage
from hookline.model.settings import Settings
from hookline.model.templates import template_values
from hookline.model.verdict import Decision, Verdict
from hookline.ports import StateStore
from hookline.text import escape_all

T = TypeVar("T")

ATTEMPTS: Final = 2
LONGEST_REASON: Final = 500
# tokens that are counted for an answer before it is there
_EXPECTED_ANSWER: Final = 200
_EXCERPT: Final = 200
# failures after which a request took no tokens; after any other, such as a timeout, the model may have worked
_NOT_ANSWERED: Final = frozenset({FailureKind.UNREACHABLE, FailureKind.UNAVAILABLE, FailureKind.HTTP_STATUS})
_DECISIONS: Final = {"allow": Decision.PASS, "deny": Decision.DENY, "ask": Decision.ASK}


class Judgement(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a judge, as its schema says."""

    decision: Literal["allow", "deny", "ask"]
    reason: str


class _Judgements(Struct, frozen=True, forbid_unknown_fields=True):
    answers: tuple[msgspec.Raw, ...]


class _Case(Struct, frozen=True):
    """One hook's question."""

    hook: Hook
    question: JudgeQuestion


class _Ruling(Struct, frozen=True):
    """What became of a question: an answer or a failure, and what it took."""

    answer: Judgement | Failure
    usage: ModelUsage | None = None


class _QuestionBatch:
    """The questions of parallel hooks at one event, which are asked in one request."""

    def __init__(self, ask: Callable[["_QuestionBatch"], Coroutine[object, object, list[_Ruling]]]) -> None:
        self.cases: list[_Case] = []
        self.waiting = 0
        self.task = asyncio.create_task(ask(self))


class ModelJudge:
    """Asks language models about events."""

    def __init__(self, settings: Settings, state: StateStore) -> None:
        self._models = settings.models
        self._ledger = BudgetLedger(state, settings.judge_budget)
        self._client = HttpClient()
        self._open: dict[tuple[object, ...], _QuestionBatch] = {}

    def refusal(self, hook: Hook) -> str:
        """Return why the hook cannot ask, or ""."""
        if not hook.judge.strip():
            return f'hook "{hook.id}" has no question to judge'
        if not hook.model:
            return 'it has a `judge` and no model: write model = "ollama:NAME", "openai:NAME" or "anthropic:NAME"'
        try:
            target = find_target(hook.model, self._models, {})
        except ConfigError as problem:
            return f"model: {problem.message}"
        limits = [one for _, one, _ in self._ledger.list_budgets(hook)]
        if target.prices is None and any(not one.in_tokens for one in limits):
            table = f'[settings.models."{hook.model}"]'
            return (
                f"its budget is in money, and the price of {hook.model} is not known: set input and output in {table}"
            )
        return ""

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:
        """Ask the model and return its decision; the whole exchange has `timeout` seconds."""
        if problem := self.refusal(hook):
            return Reply(failure=Failure(FailureKind.REFUSED, problem))
        values = template_values(request.event, request.facts, absolute=False) if "{{" in hook.judge else {}
        question = make_question(hook.judge, values, request.event, redact=hook.redact)
        if isinstance(question, str):
            about = f"this {request.event.name} has no {{{{{question}}}}} to judge"
            return Reply(failure=Failure(FailureKind.UNAVAILABLE, f"{about}; narrow the hook, such as with `tools`"))
        case = _Case(hook, question)
        try:
            async with asyncio.timeout(timeout):
                ruling = await self._ask_together(case, request) if hook.parallel else (await self._ask([case]))[0]
        except TimeoutError:
            return Reply(
                failure=timeout_failure(timeout, what_now=f"the model {hook.model} is not waited for any more")
            )
        return Reply(
            value=_make_verdict(case, ruling, is_permission=request.event.name is EventName.PERMISSION_REQUEST)
        )

    async def close(self) -> None:
        """Close the connections to models."""
        await self._client.close()

    async def _ask_together(self, case: _Case, request: Request) -> _Ruling:
        """Ask with other hooks of the same event and model that ask in this turn of the event loop.

        Hooks of a project are not asked together with those of the user: each reads the questions of the others.
        """
        hook, event = case.hook, request.event
        key = (asyncio.get_running_loop(), event.id or id(event), hook.model, hook.source, hook.root)
        batch = self._open.get(key)
        if batch is None:
            batch = self._open[key] = _QuestionBatch(partial(self._ask_batch, key))
        place = len(batch.cases)
        batch.cases.append(case)
        batch.waiting += 1
        try:
            return (await asyncio.shield(batch.task))[place]
        finally:
            batch.waiting -= 1
            if not batch.waiting and not batch.task.done():
                batch.task.cancel()

    async def _ask_batch(self, key: tuple[object, ...], batch: _QuestionBatch) -> list[_Ruling]:
        try:
            # hooks that start in this turn of the event loop join
            await asyncio.sleep(0)
        finally:
            del self._open[key]
        return await self._ask(batch.cases)

    async def _ask(self, cases: Sequence[_Case]) -> list[_Ruling]:
        """Ask about all cases at once, and once more about those whose answers do not fit."""
        try:
            target = find_target(cases[0].hook.model, self._models, caller_context.environ())
        except ConfigError as problem:
            failure = Failure(FailureKind.UNAVAILABLE, problem.message)
            return [_Ruling(failure) for _ in cases]
        rulings: dict[int, _Ruling] = {}
        pending = list(range(len(cases)))
        for attempt in range(ATTEMPTS):
            pending = await self._ask_once(target, cases, pending, rulings, again=attempt > 0) if pending else []
        return [rulings[place] for place in range(len(cases))]

    async def _ask_once(
        self,
        target: ModelTarget,
        cases: Sequence[_Case],
        places: Sequence[int],
        rulings: dict[int, _Ruling],
        *,
        again: bool,
    ) -> list[int]:
        """Send one request about the cases at these places; return the places whose answers do not fit."""
        prompt = make_prompt([cases[place].question for place in places], again=again)
        estimate = target.count(prompt.estimated_tokens, _EXPECTED_ANSWER * len(places))
        shares = {place: estimate.share(number, len(places)) for number, place in enumerate(places)}
        now = time()
        allowed = [
            place for place in places if await self._reserve(cases[place].hook, shares[place], now, place, rulings)
        ]
        if not allowed:
            return []
        if len(allowed) < len(places):
            prompt = make_prompt([cases[place].question for place in allowed], again=again)
        answer = await ask_model(self._client, target, prompt, environ=caller_context.environ())
        if isinstance(answer, Failure):
            for place in allowed:
                rulings[place] = _add(rulings.get(place), answer, None)
                if answer.kind in _NOT_ANSWERED:
                    await self._settle(cases[place].hook, shares[place], ModelUsage(model=target.model), now)
            return []
        found = _read_answers(answer, len(allowed))
        for number, (place, one) in enumerate(zip(allowed, found, strict=True)):
            usage = answer.usage.share(number, len(allowed))
            await self._settle(cases[place].hook, shares[place], usage, now)
            rulings[place] = _add(rulings.get(place), one, usage)
        return [place for place in allowed if isinstance(rulings[place].answer, Failure)]

    async def _reserve(
        self, hook: Hook, estimate: ModelUsage, now: float, place: int, rulings: dict[int, _Ruling]
    ) -> bool:
        """Return whether the budgets of a hook allow a request; why not is its ruling."""
        if not self._ledger.list_budgets(hook):
            return True
        try:
            reason = await self._access(lambda: self._ledger.reserve(hook, estimate, now))
        except StoreError as problem:
            reason = f"its budget cannot be counted: {problem}"
        if reason:
            rulings[place] = _add(rulings.get(place), Failure(FailureKind.UNAVAILABLE, reason), None)
        return not reason

    async def _settle(self, hook: Hook, estimate: ModelUsage, usage: ModelUsage, now: float) -> None:
        if self._ledger.list_budgets(hook):
            # the estimate stays where this cannot be written, and the next reservation says why
            with suppress(StoreError):
                await self._access(lambda: self._ledger.settle(hook, estimate, usage, now))

    async def _access(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work) if self._ledger.state.waits else work()


def _add(before: _Ruling | None, answer: Judgement | Failure, usage: ModelUsage | None) -> _Ruling:
    """Return the newer answer with what both took."""
    earlier = before.usage if before is not None else None
    return _Ruling(answer, earlier.add(usage) if earlier and usage else usage or earlier)


def _read_answers(answer: ModelAnswer, count: int) -> list[Judgement | Failure]:
    """Return the answer to each question, checked by itself."""
    if answer.refusal:
        said = escape_all(answer.refusal[:_EXCERPT])
        return [Failure(FailureKind.INVALID_REPLY, f"the model refused to answer: {said}")] * count
    raws: Sequence[bytes | msgspec.Raw] = [answer.raw]
    if count > 1:
        try:
            raws = msgspec.json.decode(answer.raw, type=_Judgements).answers
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            return [_unfit(answer.raw, problem)] * count
        if len(raws) != count:
            message = f"the model gave {len(raws)} answers to {count} questions"
            return [Failure(FailureKind.INVALID_REPLY, message)] * count
    found: list[Judgement | Failure] = []
    for raw in map(bytes, raws):
        try:
            found.append(msgspec.json.decode(raw, type=Judgement))
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            found.append(_unfit(raw, problem))
    return found


def _unfit(raw: bytes, problem: Exception) -> Failure:
    said = escape_all(" ".join(raw.decode("utf-8", "replace").split())[:_EXCERPT]) or "nothing"
    return Failure(
        FailureKind.INVALID_REPLY, f"the model's answer does not fit the schema ({problem}); it said: {said}"
    )


def _make_verdict(case: _Case, ruling: _Ruling, *, is_permission: bool) -> Verdict:
    answer, hook = ruling.answer, case.hook
    if isinstance(answer, Failure):
        return Verdict(failure=answer, usage=ruling.usage)
    decision = _DECISIONS[answer.decision]
    name, said = escape_all(hook.name or hook.id), escape_all(answer.reason[:LONGEST_REASON]).strip()
    if decision is Decision.PASS and case.question.is_cut:
        reason = f'judge "{name}" saw only a part of a long value, so it cannot allow this by itself; it said: {said}'
        return Verdict(decision=Decision.ASK, reason=reason, usage=ruling.usage)
    if decision is Decision.PASS:
        decision = Decision.ALLOW if is_permission else Decision.PASS
        return Verdict(decision=decision, notes=(f"{hook.model} allows it: {said}",), usage=ruling.usage)
    # the model has read what others wrote, so its words are named as its own and stay on one line
    return Verdict(decision=decision, reason=f'judge "{name}": {said or decision.word}', usage=ruling.usage)
