"""Test hooks, and agents that run them: event builders, payloads of every agent, a recording engine, `run_hook`.

Every name is imported when it is first used, so that the pytest plugin costs nothing in runs that do not use it.
"""

from importlib import import_module as _import_module

# what type checkers take for true and everybody else for what it says
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hookline.testing import strategies
    from hookline.testing.builders import (
        after_agent,
        after_model,
        after_tool,
        before_agent,
        before_model,
        before_tool,
        before_tool_selection,
        context_overflow,
        custom,
        error,
        event,
        file_created,
        file_deleted,
        file_edited,
        git_checkout,
        git_commit,
        git_message,
        git_push,
        notification,
        permission_request,
        post_compress,
        pre_compress,
        scheduled,
        session_end,
        session_start,
        setup,
        skill_trigger,
        subagent_start,
        subagent_stop,
        tool_failed,
        user_triggered,
    )
    from hookline.testing.contract import ContractReport, check_hook_contract
    from hookline.testing.expected_answer import ExpectedAnswer, answer
    from hookline.testing.hook_run import HookRun, run_hook, run_hook_async
    from hookline.testing.payloads import list_agents, payload, read_payload
    from hookline.testing.project_folder import HooklineProject
    from hookline.testing.recording_engine import EngineCall, HookCall, RecordingEngine, engine
else:
    _HOMES = {
        "builders": "after_agent after_model after_tool before_agent before_model before_tool before_tool_selection"
        " context_overflow custom error event file_created file_deleted file_edited git_checkout git_commit git_message"
        " git_push notification permission_request post_compress pre_compress scheduled session_end session_start setup"
        " skill_trigger subagent_start subagent_stop tool_failed user_triggered",
        "contract": "ContractReport check_hook_contract",
        "expected_answer": "ExpectedAnswer answer",
        "hook_run": "HookRun run_hook run_hook_async",
        "project_folder": "HooklineProject",
        "payloads": "list_agents payload read_payload",
        "recording_engine": "EngineCall HookCall RecordingEngine engine",
    }
    _HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

    def __getattr__(name: str) -> object:
        """Import what is asked for, and keep it."""
        if name == "strategies":
            return _import_module(f"{__name__}.strategies")
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(_import_module(f"{__name__}.{home}"), name)
        return value

    def __dir__() -> list[str]:
        """List everything that is public, and what is here already."""
        return sorted({*globals(), *__all__})


del TYPE_CHECKING

__all__ = [
    "ContractReport",
    "EngineCall",
    "ExpectedAnswer",
    "HookCall",
    "HookRun",
    "HooklineProject",
    "RecordingEngine",
    "after_agent",
    "after_model",
    "after_tool",
    "answer",
    "before_agent",
    "before_model",
    "before_tool",
    "before_tool_selection",
    "check_hook_contract",
    "context_overflow",
    "custom",
    "engine",
    "error",
    "event",
    "file_created",
    "file_deleted",
    "file_edited",
    "git_checkout",
    "git_commit",
    "git_message",
    "git_push",
    "list_agents",
    "notification",
    "payload",
    "permission_request",
    "post_compress",
    "pre_compress",
    "read_payload",
    "run_hook",
    "run_hook_async",
    "scheduled",
    "session_end",
    "session_start",
    "setup",
    "skill_trigger",
    "strategies",
    "subagent_start",
    "subagent_stop",
    "tool_failed",
    "user_triggered",
]
