from hookline.model.event import Event, EventName, Session
from hookline.model.templates import event_context


def test_fields_of_an_event_are_names_and_its_own_words_stay_what_they_are() -> None:
    event = Event(name=EventName.NOTIFICATION, data={"message": "hi", "tool": "evil", "event": "evil", "args": 1})
    context = event_context(event)

    assert context["message"] == "hi"
    assert (context["tool"], context["args"]) == ("", {})
    assert context["data"] == event.data
    assert context["event"] == {
        "type": "notification",
        "name": "notification",
        "timestamp": 0,
        "data": event.data,
    }


def test_type_is_what_the_host_calls_it_and_name_what_we_do() -> None:
    context = event_context(Event(name=EventName.CUSTOM, native_name="Deployed"))

    assert context["event"] == {"type": "Deployed", "name": "custom", "timestamp": 0, "data": {}}


def test_tool_call_has_both_names_of_its_tool() -> None:
    context = event_context(Event(name=EventName.BEFORE_TOOL, tool="shell", native_tool="Bash", args={"command": "ls"}))

    assert (context["tool"], context["tool_name"]) == ("shell", "Bash")
    assert context["args"] == context["tool_args"] == {"command": "ls"}


def test_file_is_there_with_what_is_known_of_it() -> None:
    edited = Event(name=EventName.FILE_EDITED, data={"path": "a.py", "content": "x", "diff": "+x"})
    called = Event(name=EventName.BEFORE_TOOL, tool="write_file", args={"path": "b.py"})

    assert event_context(edited)["file"] == {"path": "a.py", "content": "x", "changes": "+x"}
    assert event_context(called)["file"] == {"path": "b.py"}
    assert event_context(Event(name=EventName.ERROR))["file"] == {}
    assert event_context(Event(name=EventName.ERROR, data={"file": "x"}))["file"] == "x"


def test_session_tells_who_works_with_which_model() -> None:
    context = event_context(Event(name=EventName.ERROR, session=Session(id="s", user="u", model="m", provider="p")))

    assert context["session"] == {"id": "s", "user": "u", "model": "m", "provider": "p"}
