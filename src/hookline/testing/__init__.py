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
        list_agents,
        notification,
        payload,
        permission_request,
        post_compress,
        pre_compress,
        read_payload,
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
    from hookline.testing.hook_run import (
        ContractReport,
        EngineCall,
        ExpectedAnswer,
        HookCall,
        HooklineProject,
        HookRun,
        RecordingEngine,
        answer,
        check_hook_contract,
        engine,
        run_hook,
        run_hook_async,
    )
else:
    _OF_RUNS = frozenset(
        [
            "ContractReport",
            "EngineCall",
            "ExpectedAnswer",
            "HookCall",
            "HookRun",
            "HooklineProject",
            "RecordingEngine",
            "answer",
            "check_hook_contract",
            "engine",
            "run_hook",
            "run_hook_async",
        ]
    )

    def __getattr__(name: str) -> object:
        """Import what is asked for, and keep it."""
        if name == "strategies":
            return _import_module(f"{__name__}.strategies")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = "hook_run" if name in _OF_RUNS else "builders"
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
