"""The built-in logs: prompts, tool calls, errors, permissions, skills, subagents, completions and notifications."""

from collections.abc import Callable, Mapping

from hookline.builtin._json_log import JsonLog
from hookline.builtin.catalogue import BuiltinScope, Judge, Options
from hookline.engine.session import classify_text
from hookline.model.event import EVENTS, Event, EventName

# returns what is written about an event; None where it is no event of the log
_Describe = Callable[[Event], Mapping[str, object] | None]


def log_events(_scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that writes down every event."""
    return _make_log(options, describe_event)


def log_errors(_scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that writes down failures, each with its class."""
    return _make_log(options, describe_error)


def log_permissions(scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that writes down what the user is asked to permit, and whether it only reads files of the project."""

    def describe(event: Event) -> Mapping[str, object]:
        from hookline.builtin import allow_readonly  # noqa: PLC0415 - reads shell lines, which only this log needs

        is_read_only = allow_readonly.judge(event, root=scope.root, home=scope.home) is not None
        return {**describe_event(event), "read_only": is_read_only}

    return _make_log(options, describe)


def log_skills(_scope: BuiltinScope, options: Options) -> Judge:
    """Return a hook that writes down which skills are used: events of their own, or calls of a tool that starts one."""
    return _make_log(options, describe_skill)


def _make_log(options: Options, describe: _Describe) -> Judge:
    log = JsonLog(options)

    def judge(event: Event) -> None:
        fields = describe(event)
        if fields is not None:
            log.write(event, fields)

    return judge


def describe_event(event: Event) -> dict[str, object]:
    """Return the canonical fields of an event that say something."""
    called = {"tool": event.tool, "native_tool": event.native_tool, "args": event.args} if event.tool else {}
    fields = {name: event.data[name] for name in EVENTS[event.name].fields if event.data.get(name) is not None}
    return {**{name: value for name, value in called.items() if value}, **fields}


def describe_error(event: Event) -> Mapping[str, object] | None:
    """Return what is known of a failure; None for a tool call that did not fail, as far as its result says."""
    if event.name is EventName.AFTER_TOOL:
        error = _find_error(event.data.get("result"))
        if not error:
            return None
        return {**describe_event(event), "error": error, "error_type": classify_text(error)}
    error = str(event.data.get("error", ""))
    return {"error_type": classify_text(error), **describe_event(event)}


def _find_error(result: object) -> str:
    """Return what a result of a tool says of a failure; empty where it says nothing of one."""
    if not isinstance(result, Mapping):
        return ""
    code = next((result[key] for key in ("exit_code", "exitCode", "code", "status") if key in result), 0)
    has_failed = isinstance(code, int) and code != 0
    has_failed = has_failed or result.get("is_error") is True or result.get("success") is False
    error = result.get("error")
    if not has_failed and not error:
        return ""
    texts = (error, result.get("stderr"), result.get("message"), result.get("output"), f"exit code {code}")
    return next(str(text) for text in texts if text)


def describe_skill(event: Event) -> Mapping[str, object] | None:
    """Return the skill that an event is about, and its parameters; None where it is about none."""
    if event.name is EventName.SKILL_TRIGGER:
        return describe_event(event)
    if event.tool != "skill":
        return None
    parameters = {key: value for key, value in event.args.items() if key != "name"}
    return {"skill": event.args.get("name", ""), "parameters": parameters}
