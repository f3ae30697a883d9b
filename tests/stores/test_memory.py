from hookline import json_codec
from hookline.model.record import Record, Step
from hookline.stores.memory import MemoryTraces


def line(trace: str, session: str) -> Record:
    return Record(trace, Step.EVENT, 1.0, "before_tool", session)


def test_full_store_drops_the_oldest_and_says_how_many_of_which_session() -> None:
    store = MemoryTraces(bound=3)

    for number in range(6):
        store.write(line(f"trace-{number}", f"s{number % 2}"))
    store.write(line("trace-6", ""))

    assert store.traces() == ["trace-6", "trace-5", "trace-4", "dropped-s1", "dropped-s0"]
    (warning,) = store.records("dropped-s0")
    assert (warning.step, warning.session, warning.detail["dropped"]) == (Step.WARNING, "s0", 2)
    assert "2 older records were dropped" in str(warning.detail["message"])
    assert store.traces(session="s1") == ["trace-5", "dropped-s1"]


def test_counts_of_very_many_sessions_stay_bounded_and_add_up() -> None:
    store = MemoryTraces(bound=1)

    for number in range(3_000):
        store.write(line("one", f"session-{number}"))

    dropped = [document["detail"] for text in store.export() if isinstance(document := json_codec.load(text), dict)]
    assert len(dropped) <= 1_002
    assert sum(detail.get("dropped", 0) for detail in dropped) == 2_999
