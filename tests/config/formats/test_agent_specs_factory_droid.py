from collections.abc import Callable

from hookline.conditions.compiler import PolicyCondition
from hookline.model.hook import Hook

Reads = Callable[..., tuple[list[Hook], list[str]]]

EVENTS = {
    "PreToolUse": [
        {
            "matcher": "Execute",
            "commandRegex": "^git ",
            "hooks": [{"type": "command", "command": '"$FACTORY_PROJECT_DIR"/guard.py', "timeout": 20}],
        }
    ]
}


def test_events_stand_at_the_top_and_groups_name_commands(reads: Reads) -> None:
    (hook,), problems = reads("factory-droid", EVENTS)
    runs = PolicyCondition(hook.condition)

    assert problems == []
    assert (hook.matcher, hook.timeout, hook.parallel) == ("Execute", 20, True)
    assert runs({"args": {"command": "git push"}})
    assert not runs({"args": {"command": "ls; git push"}})
    assert not runs({"args": {}})


def test_events_of_a_settings_file_stand_under_hooks(reads: Reads) -> None:
    (hook,), problems = reads("factory-droid", {"theme": "x", "hooks": EVENTS})

    assert problems == []
    assert hook.source_pointer == ("hooks", "PreToolUse", 0, "hooks", 0)
