import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.engine.registry import HookRegistry, event_key
from hookline.errors import ConfigError
from hookline.model.event import EventName
from hookline.model.hook import Hook, Source

HOOK = Hook(id="log", name="Log Model Calls", command="node", args=("hook.js",), source=Source.USER)


@pytest.mark.spec("O-17", "O-03")
@pytest.mark.parametrize("event", list(EventName))
def test_hook_is_found_under_the_event_it_was_registered_for(event: EventName) -> None:
    registry = HookRegistry()
    registry.register_hook(event, HOOK)

    assert registry.get_hooks_for_event(event) == [HOOK]
    assert registry.get_all_hooks() == {event: [HOOK]}
    assert event in registry.listening


@pytest.mark.spec("O-17")
def test_every_call_of_the_document_answers() -> None:
    registry = HookRegistry()
    registry.register_hook("before_model", HOOK)
    registry.register_hook("after_model", HOOK)

    assert registry.get_hook_count() == 1
    assert registry.has_hook("log")
    assert registry.get_hook("log") == HOOK
    registry.clear_event("after_model")
    assert registry.get_hooks_for_event("after_model") == []
    assert registry.unregister_hook("log")
    assert not registry.unregister_hook("log")
    assert registry.get_hook("log") is None
    registry.register_hook("before_model", HOOK)
    registry.clear()
    assert registry.get_hook_count() == 0
    assert registry.listening == set()
    assert registry.idle == {*EventName}


@pytest.mark.spec("O-17")
def test_definition_as_the_document_writes_it_is_a_hook() -> None:
    registry = HookRegistry()
    registry.register_hook(
        "before_model",
        {
            "id": "log-model-calls",
            "name": "Log Model Calls",
            "command": "node",
            "args": ["/path/to/hook.js"],
            "source": "user",
            "sourcePath": "/path/to/hook.js",
        },
    )

    assert registry.get_hook("log-model-calls") == Hook(
        id="log-model-calls",
        name="Log Model Calls",
        dialect="ollm",
        command="node",
        args=("/path/to/hook.js",),
        source=Source.USER,
        source_path="/path/to/hook.js",
    )


def test_unknown_event_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r'unknown event "before_tol" .did you mean "before_tool"'):
        HookRegistry().register_hook("before_tol", HOOK)


def test_unknown_key_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r'unknown key "timout" in hook "a" .did you mean "timeout"'):
        HookRegistry().register_hook("before_tool", {"id": "a", "command": "node", "timout": 3})


def test_wrong_type_in_a_definition_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r'hook "a": .*timeout'):
        HookRegistry().register_hook("before_tool", {"id": "a", "command": "node", "timeout": "soon"})


def test_second_hook_with_the_same_id_does_not_replace_the_first() -> None:
    registry = HookRegistry()
    registry.register_hook("before_tool", HOOK)

    with pytest.raises(ConfigError, match="another hook has the id"):
        registry.register_hook("before_tool", Hook(id="log", command="sh", source=Source.USER))
    registry.register_hook("before_tool", HOOK)
    assert registry.get_hooks_for_event("before_tool") == [HOOK]


def test_hook_without_events_is_refused() -> None:
    with pytest.raises(ConfigError, match='"log" names no event'):
        HookRegistry().add(HOOK)


def test_custom_event_has_a_key_of_its_own_and_wakes_custom() -> None:
    registry = HookRegistry()
    registry.register_hook("custom:deploy", HOOK)

    assert "custom" in registry.listening
    assert registry.get_hooks_for_event("custom") == []
    assert registry.get_hooks_for_event("custom:deploy") == [HOOK]


def test_function_in_a_definition_is_kept() -> None:
    registry = HookRegistry()
    registry.register_hook("before_tool", {"id": "f", "call": len})

    found = registry.get_hook("f")
    assert found is not None
    assert found.call is len
    assert found.kind == "function"


@pytest.mark.spec("O-33")
@given(st.lists(st.tuples(st.sampled_from([*EventName]), st.text("abc", min_size=1, max_size=2)), max_size=30))
def test_counts_and_look_ups_agree_whatever_was_registered(calls: list[tuple[EventName, str]]) -> None:
    registry = HookRegistry()
    for event, name in calls:
        registry.register_hook(event, Hook(id=name, command="node"))

    ids = {name for _, name in calls}
    assert registry.get_hook_count() == len(ids)
    assert all(registry.has_hook(name) for name in ids)
    for event in EventName:
        wanted = list(dict.fromkeys(name for called, name in calls if called is event))
        assert [hook.id for hook in registry.get_hooks_for_event(event)] == wanted
        assert (event in registry.listening, event not in registry.idle) == (bool(wanted), bool(wanted))


@given(st.text(max_size=20))
def test_event_key_gives_a_known_name_or_a_config_error(text: str) -> None:
    try:
        key = event_key(text)
    except ConfigError:
        return
    assert key in [*EventName] or key.startswith("custom:")


def test_hooks_that_come_and_go_in_many_threads_are_all_known_in_the_end() -> None:
    registry = HookRegistry()
    problems: list[BaseException] = []
    before = sys.getswitchinterval()

    def change(event: str) -> None:
        try:
            for number in range(100):
                registry.add(Hook(id=f"{event} {number}", on=(event, f"custom:{event}{number}"), command="true"))
                registry.get_all_hooks()
                # the event has hooks whenever this thread looks, whatever the others do
                assert event in registry.listening
                if number % 2:
                    registry.unregister_hook(f"{event} {number}")
                    assert event in registry.listening
        except BaseException as problem:  # noqa: BLE001 - told below
            problems.append(problem)

    events = ["before_tool", "after_tool", "notification", "before_model"]
    threads = [threading.Thread(target=change, args=(event,)) for event in events]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert problems == []
    assert registry.get_hook_count() == 4 * 50
    assert registry.listening == {*events, "custom"} == {*EventName} - registry.idle
