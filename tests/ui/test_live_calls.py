from pathlib import Path

from hookline.stores.trace_queries import TraceFilter, TraceQueries
from hookline.ui.live_calls import LiveCalls
from tests.ui.traces import make_call, store


def test_first_read_looks_back_and_later_ones_add_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    store(path, [make_call(1, decision="deny", reason="no"), make_call(2, agent="codex-cli")])
    live = LiveCalls(path)

    first = live.read(TraceFilter())
    store(path, [make_call(3, decision="deny", subject="rm x")])
    second = live.read(TraceFilter())

    assert [call.trace for call in first.calls] == ["trace00002", "trace00001"]
    assert [call.trace for call in second.calls] == ["trace00003", "trace00002", "trace00001"]
    assert [call.trace for call in second.blocked] == ["trace00003", "trace00001"]
    assert {(lane.agent, lane.calls, lane.blocked, len(lane.times)) for lane in second.lanes} == {
        ("claude-code", 2, 2, 2),
        ("codex-cli", 1, 0, 1),
    }
    assert second.lanes[0].subject == "rm x"
    assert sum(second.spans) == 3


def test_filter_holds_for_stored_and_for_new_calls(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    calls = [make_call(1, subject="rm -rf build"), make_call(2), make_call(3, agent="codex-cli", subject="rm x")]
    store(path, calls)
    live = LiveCalls(path)
    wanted = TraceFilter(text="RM", host="claude-code", decision="pass,ask")

    assert [call.subject for call in live.read(wanted).calls] == ["rm -rf build"]
    store(path, [make_call(4, subject="rm y", decision="deny"), make_call(5, subject="rm z"), make_call(6)])
    assert [call.subject for call in live.read(wanted).calls] == ["rm z", "rm -rf build"]
    assert len(live.read(TraceFilter()).calls) == 6


def test_file_that_does_not_exist_yet_and_one_that_was_emptied_are_read_from_their_start(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    live = LiveCalls(path)
    assert live.read(TraceFilter()).calls == ()
    store(path, [make_call(number) for number in range(5)])
    assert len(live.read(TraceFilter()).calls) == 5

    path.unlink()
    assert live.read(TraceFilter()).calls == ()
    store(path, [make_call(9)])
    assert [call.trace for call in live.read(TraceFilter()).calls] == ["trace00009"]
    assert TraceQueries(path).count() == 3
