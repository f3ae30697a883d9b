"""Single benchmarks, in small."""

import asyncio
import socket
import struct
import threading
from pathlib import Path

import pytest

from tests.bench import bench_bridge, bench_memory, bench_plan, bench_session, bench_throughput, stage
from tests.bench.rows import Row

pytestmark = pytest.mark.slow


def test_session_runs_every_hook_once_for_each_call() -> None:
    calls = 3
    with stage.stage() as here:
        wanted = bench_session.hooks(here)
        ways = {
            bench_session.NOTHING: bench_session.Way([":"], here.env, []),
            bench_session.DIRECT: bench_session.Way([" ".join(run) for run in wanted.values()], here.env, []),
        }
        bench_session.play(here, ways, calls)
        logged = bench_session.logged(here)
    missing = {bench_session.DAEMON: stage.NO_DAEMON, bench_session.COLD: stage.NO_LAUNCHER}
    rows = bench_session.rows_of(ways, missing, calls)

    assert logged == calls + bench_session.WARM_UP
    assert [len(way.seconds) for way in ways.values()] == [calls, calls]
    assert len([row for row in rows if row.missing == stage.NO_DAEMON]) == 4
    assert all(row.value for row in rows if not row.missing)
    assert all(0 < way.processor < 60 for way in ways.values())


def test_guard_of_the_session_blocks_what_it_is_for() -> None:
    with stage.stage() as here:
        guard = bench_session.Way([" ".join(bench_session.hooks(here)["guard"])], here.env, [])
        harmless = bench_session.run_event(guard, here.payload("Bash", command="ls"))
        harmful = bench_session.run_event(guard, here.payload("Bash", command="rm -rf / --no-preserve-root"))

    assert [each.code for each in (*harmless, *harmful)] == [0, 2]


@pytest.mark.parametrize("line", ["exit 1", "echo blocked"])
def test_session_ends_when_a_hook_fails_or_an_answer_is_not_that_of_the_hooks(line: str) -> None:
    with stage.stage() as here:
        ways = {"broken": bench_session.Way([line], here.env, [])}
        with pytest.raises(SystemExit, match="broken"):
            bench_session.play(here, ways, 1)


def test_session_configures_the_same_hooks_for_us() -> None:
    with stage.stage() as here:
        wanted = bench_session.hooks(here)
        bench_session.write_hooks(here, wanted)
        done = here.hookline("list")

    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in wanted)


def test_call_of_the_daemon_is_written_in_parts_with_their_lengths() -> None:
    raw = bench_memory.request(b"{}", {b"A": b"1"}, Path("/p"))
    length = struct.unpack_from("<I", raw, 4)[0]

    assert raw[:4] == b"HKL1"
    assert len(raw) == 8 + length
    assert struct.unpack_from("<II", raw, 8) == (0o022, 4)
    assert raw[16:].startswith(struct.pack("<I", 11) + b"--if-broken")
    assert raw.endswith(b"\2\0\0\0/p" + b"\4\0\0\0A=1\0" + b"\2\0\0\0{}")


def test_call_of_the_daemon_gives_all_that_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(1000))
                connection.sendall(b"a")
                connection.sendall(b"nswer")

        thread = threading.Thread(target=serve)
        thread.start()
        said = bench_memory.call(Path("s"), b"question")
        thread.join()

    assert (heard, said) == ([b"question"], b"answer")


def test_goal_about_memory_needs_all_of_its_events() -> None:
    *_, whole = bench_memory.rows_of(100_000, 40, 42)
    *_, late, goal = bench_memory.rows_of(3_000, 40, 42)

    assert (whole.goal, whole.ratio) == ("daemon-memory", 1.05)
    assert (late.goal, late.ratio) == ("", 1.05)
    assert (goal.goal, goal.missing) == ("daemon-memory", "3,000 events only in this run")


def test_answer_of_the_daemon_is_read_frame_by_frame() -> None:
    said = b"k\0\0\0\0" + b"k\0\0\0\0" + b"a\3\0\0\0yes"

    assert list(bench_memory.frames(said)) == [(b"k", b""), (b"k", b""), (b"a", b"yes")]
    assert list(bench_memory.frames(b"")) == []


def test_throughput_is_how_many_there_are_in_a_second() -> None:
    row = bench_throughput.per_second(Row(what="w", value=0.5, median=1.0, floor=2.0, goal="throughput"))

    assert (row.value, row.median, row.floor, row.unit) == (128, 64, 32, "per s")
    assert row.ratio == 4


def test_never_more_than_sixteen_run_at_once() -> None:
    running, most, ran = 0, 0, 0

    async def one() -> None:
        nonlocal running, most, ran
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        ran += 1

    asyncio.run(bench_throughput.sixteen_at_once(one))

    assert (most, ran) == (bench_throughput.AT_ONCE, bench_throughput.RUNS)


@pytest.mark.parametrize("title", bench_plan.CASES)
def test_every_case_of_many_hooks_matches_those_it_means(title: str) -> None:
    mine, other, say = bench_plan.CASES[title]
    hooks = [*(mine(number) for number in range(3)), *(other(number) for number in range(20))]

    assert len(bench_plan.engine_with(hooks).planner.plan(say(1)).hooks) == 3


def test_one_that_answers_wrongly_is_left_out_and_the_others_are_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls = (("right", stage.NATIVE, True), ("wrong", stage.NONE, False))
    with stage.stage() as here:
        yes = here.native
        made, wrong = bench_bridge.tried(
            here, {name: (yes, tool, here.env_without_daemon, is_said) for name, tool, is_said in calls}
        )
        made["right"]()

    assert list(made) == ["right"]
    assert wrong == {"wrong": stage.WRONG}
    assert "wrong did not answer as it should" in capsys.readouterr().err


def test_way_of_the_session_that_answers_wrongly_is_left_out() -> None:
    with stage.stage() as here:
        ways = {
            name: bench_session.Way([line], here.env, []) for name, line in (("right", ":"), ("wrong", "echo blocked"))
        }
        wrong = bench_session.wrong_ones(here, ways)

    assert wrong == {"wrong": stage.WRONG}
