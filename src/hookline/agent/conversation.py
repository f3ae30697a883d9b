"""One conversation with a model: prompts in, answers out, and an event wherever hooks have a say."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Protocol
from uuid import uuid4

from msgspec import UNSET, Struct
from msgspec.structs import replace
from pydantic_ai import Agent, RunContext, Tool, capture_run_messages
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, UsageLimitExceeded
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RunUsage, UsageLimits

from hookline import Blocked, Decision, EffectKind, Engine, EngineError, EventName, Outcome, Question
from hookline.agent import history as messages_of
from hookline.agent.models import explain_problem
from hookline.agent.project_files import DEFAULT_AGENT, Definition, fill_template
from hookline.agent.tools import AgentTool, schema
from hookline.engine.session import SessionScope, classify, classify_text

_SUMMARISE: Final = (
    "Summarise this conversation for an agent that goes on with the work: the task, what was done and decided, which files "
    "matter, what is still open. Answer with the summary only.\n\n{}"
)

# the events at which hooks judge a tool call
JUDGING: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.AFTER_TOOL})


class ModelUseError(EngineError):
    """The model could not be used, or was asked too often; the message says why."""


class View(Protocol):
    """What the user sees, and how they are asked. With `is_streaming`, the user sees a text while the model writes it."""

    is_streaming: bool

    def show(self, kind: str, text: str) -> None:
        """Show a text: "text" of the model, a "tool" call, a "note" of a hook, or an "error"."""

    def stream(self, text: str) -> None:
        """Show the next piece of what the model is writing."""

    async def confirm(self, question: str, choices: str) -> str | None:
        """Return the letter of the user's choice; None where they cannot be asked."""


class AgentLimits(Struct, frozen=True, kw_only=True):
    """When the agent asks, compacts and stops.

    `permission` is "ask", "edits" (changing files needs no question) or "all". With `subagent_hooks`, subagents raise all events.
    """

    permission: str = "ask"
    max_turns: int = 50
    window: int = 128_000
    compact_at: float = 0.8
    temperature: float | None = None
    subagent_hooks: bool = False


class ToolCall(Struct, kw_only=True):
    """One call of a tool, for reports."""

    tool: str
    args: Mapping[str, object]
    agent: str = ""
    decision: str = "pass"
    reason: str = ""
    error: str = ""
    duration: float = 0.0


class Parts(Struct, frozen=True, kw_only=True):
    """What the main agent and its subagents share. `find_model` returns a model by name."""

    view: View
    limits: AgentLimits
    transcripts: Path
    agents: Mapping[str, Definition]
    skills: Mapping[str, Definition]
    find_model: Callable[[str], Model]
    engine: Engine
    host: str
    calls: list[ToolCall]
    usage: RunUsage
    allowed: set[str]
    question_lock: asyncio.Lock


class Conversation:
    """A conversation of the main agent, or of a subagent.

    `scope` is the session that events belong to: `async with engine.session(…) as scope` raised its start.
    """

    def __init__(
        self, scope: SessionScope, model: Model, tools: Sequence[AgentTool], parts: Parts, *, instructions: str
    ) -> None:
        self.scope = scope
        self.view = parts.view
        self.prompt = ""
        self.size = 0
        self.history: list[ModelMessage] = []
        self.tools = {tool.name: tool for tool in (*tools, *self._own_tools(parts))}
        self._base_tools = tools
        self._model = model
        self._parts = parts
        self._instructions = instructions

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The tool calls so far, also those of subagents."""
        return self._parts.calls

    @property
    def usage(self) -> RunUsage:
        """What the model was asked for so far, also by subagents."""
        return self._parts.usage

    async def emit(
        self, name: str, data: Mapping[str, object], *, tool: str = "", args: Mapping[str, object] | None = None
    ) -> Outcome:
        """Raise an event of this conversation, and show what hooks have to say to the user."""
        outcome = await (self.scope.emit(name, data, tool=tool, args=args) if tool else self.scope.emit(name, data))
        show_outcome(self.view, outcome)
        return outcome

    async def answer(self, prompt: str) -> str:
        """Work on a prompt of the user, and return the answer.

        Raises:
            Blocked: A hook denied the prompt, or stopped the agent.
            ModelUseError: The model could not be used.
        """
        self.prompt = prompt

        async def finish(response: str) -> Outcome:
            data = {"prompt": prompt, "response": response, "conversation_length": len(self.history)}
            return await self.emit("after_agent", data)

        before = await self.emit("before_agent", {"prompt": prompt})
        if before.blocked:
            raise Blocked("prompt", before)
        text = await self._expand(prompt)
        response = await self._work("\n\n".join((text, *before.context, *before.follow_ups)), finish)
        self.scope.notify("the agent finished its turn", type="idle")
        return response

    async def compact(self, trigger: str = "manual") -> bool:
        """Replace the history by a summary, because the user says so; return whether that was done."""
        # nothing is being worked on, so that all of it can be summarised
        before, self.history = self.history, await self._compact(self.history, [], trigger)
        return self.history is not before

    async def fit(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Return messages that fit into the model's context window: the same, or a summary of the older ones.

        Raises:
            Blocked: The window is full, and a hook does not let the agent go on.
        """
        limits = self._parts.limits
        size = max(self.size, messages_of.estimate_tokens(messages))
        if size >= limits.window:
            full = {"size": size, "max_size": limits.window, "utilization": min(1.0, size / limits.window)}
            outcome = await self.emit("context_overflow", full)
            if outcome.blocked:
                raise Blocked("context", outcome)
        if size < limits.window * limits.compact_at:
            return messages
        old, working = messages_of.split_history(messages)
        fresh = await self._compact(old, working, "auto") if old else old
        return messages if fresh is old else fresh

    async def call_tool(self, name: str, args: Mapping[str, object]) -> str:
        """Run a tool between its hooks, and return what the model gets to read: its result, or why there is none.

        Raises:
            Blocked: A hook stops the whole run.
        """
        tool = self.tools[name]
        call = ToolCall(tool=tool.hook_name, args=args, agent=str(self.scope.session.agent.get("id", "")))
        self._parts.calls.append(call)
        self.view.show("tool", f"{name} {_shorten(args)}")
        outcomes: list[Outcome] = []
        started = perf_counter()

        def on_outcome(outcome: Outcome) -> None:
            outcomes.append(outcome)
            show_outcome(self.view, outcome)
            call.decision = max(call.decision, outcome.decision.word, key=lambda word: Decision[word.upper()])
            if outcome.args is not None:
                call.args = outcome.args

        try:
            result = await self.scope.call_tool(
                tool.hook_name, args, tool.run, on_outcome=on_outcome, permit=partial(self._permit, tool, call)
            )
            text = str(result)
        except Blocked as blocked:
            outcome = blocked.outcome
            if not isinstance(outcome, Outcome) or outcome.stopped:
                raise
            call.decision, call.reason = "deny", outcome.reason
            text = f"Blocked: {outcome.reason}"
            self.view.show("note", text)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model reads it and tries something else
            call.error = str(error) or type(error).__name__
            text = f"Error: {call.error}"
        call.duration = perf_counter() - started
        return "\n\n".join((text, *(line for one in outcomes for line in (*one.context, *one.follow_ups))))

    async def run_subagent(self, prompt: str, type: str = "") -> str:  # noqa: A002 - the argument's name in hooks
        """Start a subagent, and return its result.

        Its start and its end are events of this conversation. In between hooks judge its tool calls, because a subagent must not
        be a way around them; all other events of a subagent are raised where the user wants it.
        """
        definition = self._parts.agents.get(type or DEFAULT_AGENT.name)
        if definition is None:
            known = ", ".join(self._parts.agents)
            raise LookupError(f'there is no subagent "{type}"; there are {known}')
        agent_id = uuid4().hex[:12]
        started = perf_counter()
        who = {"agent_id": agent_id, "agent_type": definition.name}
        start = await self.emit("subagent_start", {**who, "prompt": prompt})
        if start.blocked:
            raise Blocked(definition.name, start)
        only = None if self._parts.limits.subagent_hooks else JUDGING
        child = Conversation(
            self.scope.for_subagent(agent_id, definition.name, only=only),
            self._parts.find_model(definition.model) if definition.model else self._model,
            [tool for tool in self._base_tools if not definition.tools or tool.name in definition.tools],
            # a subagent starts no others
            replace(self._parts, agents={}),
            instructions=definition.text,
        )
        child.prompt = prompt

        async def finish(response: str) -> Outcome:
            return await self.emit("subagent_stop", {**who, "response": response, "duration": perf_counter() - started})

        return await child._work("\n\n".join((prompt, *start.context)), finish)

    async def run_skill(self, name: str, args: Mapping[str, object] | None = None) -> str:
        """Return the text of a skill, with its parameters as hooks prepared them."""
        skill = self._parts.skills.get(name)
        if skill is None:
            raise LookupError(f'there is no skill "{name}"; there are {", ".join(self._parts.skills) or "none"}')
        parameters = await self.scope.skill(name, args or {}, on_outcome=partial(show_outcome, self.view))
        return fill_template(skill.text, parameters)

    def is_skill(self, prompt: str) -> bool:
        """Return whether a prompt names a skill: `/deploy region=eu`."""
        return prompt.startswith("/") and prompt[1:].partition(" ")[0] in self._parts.skills

    async def _work(self, text: str, finish: Callable[[str], Awaitable[Outcome]]) -> str:
        """Run the model until it is done and no hook sends it back; the engine limits how often hooks do that."""
        usage = RunUsage()
        try:
            while True:
                response = await self._run(text, usage)
                end = await finish(response)
                if end.stopped:
                    raise Blocked("response", end)
                text = "\n\n".join((*((end.reason,) if end.blocked else ()), *end.follow_ups))
                if not text:
                    return response
        finally:
            self._parts.usage.incr(usage)

    async def _run(self, text: str, usage: RunUsage) -> str:
        limits = self._parts.limits
        agent = Agent(
            self._model,
            instructions=self._instructions,
            # the tools run in `call_tool`, between their hooks
            tools=[
                Tool.from_schema(tool.run, tool.name, tool.description, dict(tool.parameters))
                for tool in self.tools.values()
            ],
            capabilities=[Lifecycle(self)],
        )
        settings = ModelSettings(temperature=limits.temperature) if limits.temperature is not None else None
        with capture_run_messages() as messages:
            try:
                result = await agent.run(
                    text,
                    message_history=self.history,
                    usage=usage,
                    usage_limits=UsageLimits(request_limit=limits.max_turns),
                    model_settings=settings,
                    event_stream_handler=self._stream if self.is_streaming else None,
                )
            except asyncio.CancelledError:
                # the next prompt may be "go on"
                self.history = messages_of.drop_unfinished(messages) or self.history
                raise
            except UsageLimitExceeded:
                self.history = messages_of.drop_unfinished(messages)
                asked = f"the model was asked {limits.max_turns} times without an end"
                raise ModelUseError(f"{asked}; say more, or allow more with --max-turns") from None
            except (AgentRunError, OSError) as error:
                raise ModelUseError(await self._report(error)) from error
        self.history = result.all_messages()
        return result.output

    @property
    def is_streaming(self) -> bool:
        """Whether the user sees the text while it is written: not of a subagent, nor where a hook may still change it."""
        is_subagent = bool(self.scope.session.agent)
        has_hooks = EventName.AFTER_MODEL in self._parts.engine.registry.listening
        return self.view.is_streaming and not (is_subagent or has_hooks)

    async def _stream(self, _run: RunContext[object], events: AsyncIterable[AgentStreamEvent]) -> None:
        async for event in events:
            if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                self.view.stream(event.part.content)
            elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                self.view.stream(event.delta.content_delta)

    async def _report(self, error: Exception) -> str:
        """Raise the event of an error, and return its message."""
        message = explain_problem(self._model, error)
        kind = classify(error.__cause__ or error)
        data = {
            "error": message,
            "error_type": classify_text(message) if kind == "unknown" else kind,
            "error_code": type(error).__name__,
            "operation": "model",
        }
        await self.emit("error", data)
        return message

    async def _expand(self, prompt: str) -> str:
        """Return a prompt with what it names: a skill (`/deploy region=eu`), or a subagent (`@review this change`)."""
        first, _, rest = prompt.partition(" ")
        if self.is_skill(prompt):
            pairs = [word.partition("=") for word in rest.split()]
            given = {name: value for name, sign, value in pairs if sign}
            free = " ".join(name for name, sign, _ in pairs if not sign)
            return await self.run_skill(first[1:], {**given, **({"input": free} if free else {})})
        if first.startswith("@") and first[1:] in self._parts.agents:
            result = await self.run_subagent(rest, first[1:])
            return f"{prompt}\n\nThe subagent {first[1:]} reports:\n{result}"
        return prompt

    async def _permit(
        self, tool: AgentTool, call: ToolCall, before: Outcome, args: Mapping[str, object]
    ) -> Mapping[str, object]:
        """Return the arguments of a call that may run: a hook allowed it, it only reads, or the user says yes."""
        limits = self._parts.limits
        is_free = tool.is_reading or limits.permission == "all" or (limits.permission == "edits" and tool.is_edit)
        if is_free or before.decision is Decision.ALLOW or tool.name in self._parts.allowed:
            return args
        request = {"operation": tool.hook_name, "details": _shorten(args), "requester": self._parts.host}
        asked = await self.emit("permission_request", request, tool=tool.hook_name, args=args)
        if asked.blocked:
            raise Blocked(tool.name, asked)
        final = asked.args if asked.args is not None else args
        if asked.decision is Decision.ALLOW:
            call.decision = "allow"
            return final
        self.scope.notify(f"permission is needed for {tool.name}", type="permission")
        async with self._parts.question_lock:
            question = f"May the agent run {tool.name} {_shorten(final, longest=2_000)}?"
            answer = await self.view.confirm(question, "[y] yes  [a] always in this session  [n] no  (n) ")
        if answer in {"a", "always"}:
            self._parts.allowed.add(tool.name)
        if answer in {"a", "always", "y", "yes"}:
            call.decision = "allow"
            return final
        reason = (
            "the user said no"
            if answer is not None
            else (
                f"permission for {tool.name} is needed, and no user can be asked here; `--yes` allows it, or a hook that allows it"
            )
        )
        raise Blocked(tool.name, Outcome(decision=Decision.DENY, reasons=(reason,)))

    async def _compact(self, old: list[ModelMessage], working: list[ModelMessage], trigger: str) -> list[ModelMessage]:
        """Return a summary of the old messages in front of the others; the same old ones where a hook says no."""
        described = messages_of.describe_messages(old)
        if not described:
            return old
        session = self.scope.session
        saved = self._parts.transcripts / session.id / f"{uuid4().hex[:12]}.json"
        messages_of.save_messages(saved, [*old, *working])
        size = max(self.size, messages_of.estimate_tokens([*old, *working]))
        data = {"trigger": trigger, "messages": described, "size": size, "transcript_path": str(saved)}
        before = await self.emit("pre_compress", data)
        if before.blocked:
            self.view.show("note", f"not compacted: {before.reason}")
            return old
        shown = "\n\n".join(f"{one['role']}: {one.get('content') or one}" for one in described)
        try:
            summary = await model_request(self._model, [messages_of.make_prompt(_SUMMARISE.format(shown))])
        except (AgentRunError, OSError) as error:
            raise ModelUseError(await self._report(error)) from error
        self._parts.usage.incr(summary.usage)
        kept = [
            f"{described[at]['role']}: {described[at].get('content') or described[at]}"
            for at in _list_kept(before, described)
        ]
        texts = (f"Summary of the conversation so far:\n{summary.text or ''}", *before.context, *kept)
        fresh = [messages_of.make_prompt("\n\n".join(texts)), *working]
        self.size = 0
        after = {
            "trigger": trigger,
            "messages": messages_of.describe_messages(fresh),
            "size": messages_of.estimate_tokens(fresh),
        }
        await self.emit("post_compress", after)
        self.scope.notify(f"the conversation was compacted; all of it is in {saved}", type="compact")
        self.view.show("note", f"compacted: {size} tokens became {after['size']}; all of it is in {saved}")
        return fresh

    def _own_tools(self, parts: Parts) -> list[AgentTool]:
        """Return the tools that are conversations themselves."""
        tools: list[AgentTool] = []
        if parts.agents:
            known = "; ".join(f"{name}: {one.description}" for name, one in parts.agents.items())
            about = f"Give a task to a subagent, and get its result. Types: {known}"
            parameters = schema("prompt", prompt="the task, with all it needs to know", type="the type")
            tools.append(AgentTool("task", about, parameters, self.run_subagent, canonical="subagent", is_reading=True))
        if parts.skills:
            known = "; ".join(f"{name}: {one.description}" for name, one in parts.skills.items())
            about = f"Load the instructions of a skill. Skills: {known}"
            parameters = schema("name", name="the skill", args="object: its parameters")
            tools.append(AgentTool("skill", about, parameters, self.run_skill, is_reading=True))
        return tools


@dataclass
class Lifecycle(AbstractCapability[Any]):
    """Raise the events of model requests and tool calls where Pydantic AI has a moment for them."""

    conversation: Conversation
    _started: float = field(default=0.0)

    async def prepare_tools(self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
        """Offer the model its tools, or none where a hook says so."""
        names = [self.conversation.tools[tool.name].hook_name for tool in tool_defs]
        data = {"messages": messages_of.describe_messages(ctx.messages), "tools": names}
        outcome = await self.conversation.emit("before_tool_selection", data)
        return [] if outcome.blocked else tool_defs

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Compact the history where it is too long, and let hooks stop the request."""
        conversation = self.conversation
        fitted = await conversation.fit(request_context.messages)
        if fitted is not request_context.messages:
            request_context.messages = list(fitted)
            ctx.messages[:] = fitted
        data = {**self._describe(ctx), "temperature": (request_context.model_settings or {}).get("temperature")}
        outcome = await conversation.emit("before_model", data)
        if outcome.blocked:
            raise Blocked("model", outcome)
        for text in outcome.context:
            ctx.enqueue(text)
        self._started = perf_counter()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Let hooks see the answer, change its text, or stop the run."""
        del request_context
        conversation = self.conversation
        conversation.size = response.usage.input_tokens + response.usage.output_tokens
        data = {
            **self._describe(ctx),
            "response": response.text or "",
            "duration": perf_counter() - self._started,
            "tokens": response.usage.total_tokens,
        }
        outcome = await conversation.emit("after_model", data)
        if outcome.blocked:
            raise Blocked("response", outcome)
        if outcome.output is not UNSET:
            others = [part for part in response.parts if not isinstance(part, TextPart)]
            response.parts = [TextPart(str(outcome.output)), *others]
        if response.text and response.tool_calls and not conversation.is_streaming:
            conversation.view.show("text", response.text)
        return response

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run a tool between its hooks; the conversation knows what to run."""
        del ctx, tool_def, args, handler
        return await self.conversation.call_tool(call.tool_name, call.args_as_dict())

    def _describe(self, ctx: RunContext[Any]) -> dict[str, object]:
        return {
            "prompt": self.conversation.prompt,
            "messages": messages_of.describe_messages(ctx.messages),
            "model": self.conversation.scope.session.model,
        }


def show_outcome(view: View, outcome: Outcome) -> None:
    """Show what hooks have to say to the user, and which of them failed."""
    for text in outcome.messages:
        view.show("note", text)
    for verdict in outcome.failures:
        if verdict.failure is not None and not outcome.blocked:
            view.show("error", f"hook {verdict.hook} failed: {verdict.failure.message}")


def make_ask(view: View) -> Callable[[Question], Awaitable[bool]]:
    """Return what answers hooks that want the user to decide; the engine takes it as its `ask`."""

    async def ask(question: Question) -> bool:
        event = question.event
        what = f"{event.tool} {_shorten(event.args, longest=2_000)}" if event.tool else str(event.name)
        asked = f"A hook asks about {what}: {'; '.join(question.reasons)}"
        return await view.confirm(asked, "[y] yes  [n] no  (n) ") in {"y", "yes"}

    return ask


def _list_kept(outcome: Outcome, described: Sequence[object]) -> list[int]:
    """Return the places of the messages that hooks want to keep: `{"data": {"keep": [0, 3]}}`."""
    named = [effect.value for effect in outcome.effects if effect.kind is EffectKind.DATA and effect.path == ("keep",)]
    places = {at for value in named if isinstance(value, list) for at in value if isinstance(at, int)}
    return sorted(at for at in places if 0 <= at < len(described))


def _shorten(args: Mapping[str, object], *, longest: int = 200) -> str:
    """Return arguments on one line: one break of a command line may be the whole difference, so that it is shown."""
    values = [str(value) for value in args.values()]
    text = values[0] if len(values) == 1 else " ".join(f"{key}={value}" for key, value in args.items())
    text = "\\n".join(text.splitlines())
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"
