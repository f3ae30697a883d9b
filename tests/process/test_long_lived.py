"""Commands that stay: one process for many events, and what becomes of it when something goes wrong."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest

from hookline import Engine
from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, Source
from hookline.model.verdict import Decision
from hookline.process.result import OUTPUT_LIMIT
from tests.waiting import until

pytestmark = pytest.mark.slow

T = TypeVar("T")

# answers in the words of JSON-RPC where it is asked in them, and says who it is
ECHO = """\
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    answer = {"pid": os.getpid(), "saw": request.get("n", 0)}
    if "jsonrpc" in request:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": answer}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def kind() -> Iterator[Command]:
    command = Command()
    yield command
    run(command.close())


def run(work: Coroutine[object, object, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(bounded())


def script(folder: Path, text: str, name: str = "hook.py") -> Hook:
    path = folder / name
    path.write_text(text, "utf-8")
    return Hook(id="stays", command=sys.executable, args=(str(path),), persistent=True, source=Source.USER)


def request(n: int = 0, *, rpc: bool = False, request_id: object = 1, cwd: str = "") -> Request:
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, cwd=cwd)
    rpc_fields = {"jsonrpc": "2.0", "id": request_id} if rpc else {}
    return Request(event=event, document={"n": n, **rpc_fields})


def ask(kind: Command, hook: Hook, n: int = 0, *, timeout: float = 20.0, cwd: str = "") -> Reply:
    return run(kind.call(hook, request(n, cwd=cwd), timeout=timeout))


def said(reply: Reply) -> dict[str, object]:
    assert reply.failure is None, reply.failure
    document = json.loads(reply.stdout)
    assert isinstance(document, dict)
    return document


def failure_of(reply: Reply) -> Failure:
    assert reply.failure is not None
    return reply.failure


def gone(pid: int) -> bool:
    """Say whether a process has ended; a zombie that nobody reaped has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


# One process for many events


@pytest.mark.spec("D-13")
def test_one_process_answers_many_events_of_many_loops(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO)

    answers = [said(ask(kind, hook, n)) for n in range(5)]

    assert [answer["saw"] for answer in answers] == [0, 1, 2, 3, 4]
    assert len({answer["pid"] for answer in answers}) == 1


def test_loops_of_several_threads_share_one_process(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO)
    answers: list[dict[str, object]] = []

    def work(first: int) -> None:
        async def several() -> list[Reply]:
            return await asyncio.gather(*(kind.call(hook, request(first + n), timeout=20) for n in range(20)))

        answers.extend(map(said, run(several())))

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(int(str(answer["saw"])) for answer in answers) == [100 * t + n for t in range(4) for n in range(20)]
    assert len({answer["pid"] for answer in answers}) == 1


def test_each_folder_has_a_process_that_works_there(kind: Command, tmp_path: Path) -> None:
    here = "import os, sys, json\nfor line in sys.stdin: print(json.dumps({'cwd': os.getcwd()}), flush=True)\n"
    hook = script(tmp_path, here)
    folders = [tmp_path / name for name in ("a", "b", "a")]
    for folder in folders:
        folder.mkdir(exist_ok=True)

    assert [said(ask(kind, hook, cwd=str(folder)))["cwd"] for folder in folders] == [
        str(split_names) for split_names in folders
    ]


def test_it_can_be_asked_again_after_closing(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO)

    first = said(ask(kind, hook))["pid"]
    run(kind.close())

    assert gone(int(str(first)))
    assert said(ask(kind, hook))["pid"] != first


def test_shell_line_can_stay(kind: Command) -> None:
    line = 'while read -r event; do echo "{\\"pid\\": $$}"; done'
    hook = Hook(id="line", command=line, shell=True, persistent=True, source=Source.USER)

    assert said(ask(kind, hook))["pid"] == said(ask(kind, hook))["pid"]


# Whose answer it is


BACKWARDS = """\
import json, sys
held = [json.loads(sys.stdin.readline()) for _ in range(3)]
for request in reversed(held):
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"n": request["n"]}}), flush=True)
sys.stdin.read()
"""


@pytest.mark.spec("D-13")
def test_answers_in_any_order_reach_who_asked(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, BACKWARDS)

    async def three() -> list[Reply]:
        asked = [request(n, rpc=True, request_id=f"mine-{n}") for n in range(3)]
        return await asyncio.gather(*(kind.call(hook, split_names, timeout=20) for split_names in asked))

    answers = [said(reply) for reply in run(three())]

    assert [(answer["id"], answer["result"]) for answer in answers] == [(f"mine-{n}", {"n": n}) for n in range(3)]


ONE_AT_A_TIME = """\
import json, select, sys
for line in sys.stdin:
    # whoever was sent more than one line has it waiting here
    more = bool(select.select([sys.stdin], [], [], 0.05)[0])
    print(json.dumps({"saw": json.loads(line)["n"], "more": more}), flush=True)
"""


def test_without_ids_they_are_asked_one_at_a_time(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ONE_AT_A_TIME)

    async def several() -> list[Reply]:
        return await asyncio.gather(*(kind.call(hook, request(n), timeout=20) for n in range(5)))

    assert [said(reply) for reply in run(several())] == [{"saw": n, "more": False} for n in range(5)]


SLOW_ONCE = """\
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["n"] == 0:
        time.sleep(600)
    print(json.dumps({"saw": request["n"], "pid": os.getpid()}), flush=True)
"""


def test_late_answer_is_not_taken_for_the_next_one(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, SLOW_ONCE)

    late = ask(kind, hook, 0, timeout=1)
    following = [said(ask(kind, hook, n))["saw"] for n in (1, 2, 3)]

    assert failure_of(late) == Failure(FailureKind.TIMEOUT, "gave no answer within 1 s; ended")
    assert following == [1, 2, 3]


def test_who_gives_up_leaves_no_answer_to_the_next(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, SLOW_ONCE)

    async def cancelled() -> object:
        task = asyncio.create_task(kind.call(hook, request(1), timeout=20))
        pid = said(await task)["pid"]
        task = asyncio.create_task(kind.call(hook, request(0), timeout=20))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    first = run(cancelled())

    assert said(ask(kind, hook, 2))["saw"] == 2
    until(lambda: gone(int(str(first))))


SKIPS_THE_FIRST = """\
import json, os, sys
first = None
for line in sys.stdin:
    request = json.loads(line)
    if first is None:
        first = request["id"]
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"pid": os.getpid()}}), flush=True)
    if request["n"] == 7:
        print(json.dumps({"jsonrpc": "2.0", "id": first, "result": {"late": True}}), flush=True)
"""


# answers only once it was asked about 2
ALL_AT_ONCE = """\
import json, sys
asked = []
for line in sys.stdin:
    asked.append(json.loads(line))
    if asked[-1]["n"] == 2:
        for request in asked:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": {"saw": request["n"]}}
            print(json.dumps(answer), flush=True)
"""


def test_who_is_called_off_does_not_end_what_others_wait_for(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ALL_AT_ONCE)

    async def talk() -> list[object]:
        calls = [asyncio.create_task(kind.call(hook, request(n, rpc=True), timeout=30)) for n in (0, 1)]
        await asyncio.sleep(0.5)
        calls[0].cancel()
        await asyncio.wait(calls[:1])
        calls.append(asyncio.create_task(kind.call(hook, request(2, rpc=True), timeout=30)))
        return [json.loads((await call).stdout)["result"]["saw"] for call in calls[1:]]

    assert run(talk()) == [1, 2]


def test_late_answer_with_an_id_is_dropped_and_the_process_stays(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, SKIPS_THE_FIRST)

    async def talk() -> tuple[Reply, list[object]]:
        slow = asyncio.create_task(kind.call(hook, request(0, rpc=True), timeout=5))
        await asyncio.sleep(0.1)
        pids = []
        while not slow.done():
            reply = await kind.call(hook, request(1, rpc=True), timeout=20)
            pids.append(json.loads(reply.stdout)["result"]["pid"])
            await asyncio.sleep(0.05)
        for n in (7, 8):
            reply = await kind.call(hook, request(n, rpc=True), timeout=20)
            pids.append(json.loads(reply.stdout)["result"]["pid"])
        return await slow, pids

    late, pids = run(talk())

    assert failure_of(late).kind is FailureKind.TIMEOUT
    assert len(set(pids)) == 1


def test_error_without_an_id_reaches_who_asked(kind: Command, tmp_path: Path) -> None:
    hook = script(
        tmp_path,
        "import sys\nfor line in sys.stdin:\n"
        '    print(\'{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}\', flush=True)\n',
    )

    answer = said(run(kind.call(hook, request(rpc=True), timeout=20)))

    assert answer["error"] == {"code": -32700, "message": "what?"}


TWICE = "os.write(1, (json.dumps(answer) + '\\n' + json.dumps({'n': 'x'}) + '\\n').encode())"


def test_two_lines_for_one_event_end_the_process_before_they_are_mistaken(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO.replace("print(json.dumps(answer), flush=True)", TWICE))

    answers = [ask(kind, hook, n) for n in range(3)]

    assert [json.loads(reply.stdout).get("saw") for reply in answers] == [0, 1, 2]
    # said with the answer where both lines came together, else with the next one
    assert "more than one line of JSON" in " ".join(note for reply in answers for note in reply.notes)


def test_other_text_on_stdout_is_kept_for_the_trace(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, "print('ready')\n" + ECHO)

    first, second = ask(kind, hook), ask(kind, hook)

    assert first.stdout.splitlines()[0] == b"ready"
    assert json.loads(first.stdout.splitlines()[1])["saw"] == 0
    assert json.loads(second.stdout)["saw"] == 0


def test_answer_spread_over_lines_is_shown_when_the_time_is_over(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO.replace("json.dumps(answer)", "json.dumps(answer, indent=1)"))

    failure = failure_of(ask(kind, hook, timeout=5))

    assert failure.kind is FailureKind.TIMEOUT
    assert "it printed, and that is not one line of JSON" in failure.message
    assert '"saw": 0' in failure.message


# How it can end

DIES = """\
import json, os, sys
line = sys.stdin.readline()
with open(sys.argv[0] + ".log", "a") as log: log.write(line)
sys.stderr.write("lost my way")
sys.stderr.flush()
"""


@pytest.mark.parametrize(
    ("how", "kind_of_failure", "code"),
    [
        ("sys.exit(3)", None, 3),
        ("sys.exit(2)", None, 2),
        ("sys.exit(0)", FailureKind.INVALID_REPLY, 1),
        ("os.kill(os.getpid(), 9)", FailureKind.KILLED, 137),
    ],
)
def test_death_without_an_answer_is_told_with_its_last_words(
    kind: Command, tmp_path: Path, how: str, kind_of_failure: FailureKind | None, code: int
) -> None:
    hook = script(tmp_path, DIES + how)

    reply = ask(kind, hook, 5)

    assert (reply.failure.kind if reply.failure else None) is kind_of_failure
    assert reply.exit_code == code
    assert reply.stderr == b"lost my way"


def test_event_is_never_given_to_a_second_process(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, DIES + "sys.exit(1)")

    ask(kind, hook, 7)

    assert [json.loads(line)["n"] for line in (tmp_path / "hook.py.log").read_text().splitlines()] == [7]


def test_who_was_not_asked_yet_does_not_share_the_fate_of_who_was(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO.replace("answer = {", "sys.exit(3) if request['n'] == 1 else None\n    answer = {", 1))

    async def several() -> list[Reply]:
        return await asyncio.gather(*(kind.call(hook, request(n), timeout=20) for n in range(5)))

    replies = run(several())

    assert [reply.exit_code for reply in replies] == [0, 3, 0, 0, 0]
    assert [said(replies[n])["saw"] for n in (0, 2, 3, 4)] == [0, 2, 3, 4]


def test_closing_tells_all_who_wait(tmp_path: Path) -> None:
    command = Command()
    hook = script(tmp_path, SLOW_ONCE)

    async def several() -> list[Reply]:
        calls = [asyncio.create_task(command.call(hook, request(0), timeout=20)) for _ in range(3)]
        await asyncio.sleep(0.5)
        await command.close()
        return await asyncio.gather(*calls)

    replies = run(several())

    assert {failure_of(reply).message for reply in replies} == {"was ended because the engine was closed"}


def test_one_that_never_listens_is_not_started_for_ever(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, "import os, time\nopen(__file__ + '.runs', 'a').write('x')\nos.close(0)\ntime.sleep(600)\n")

    replies = [ask(kind, hook, timeout=1) for _ in range(3)]

    assert all(reply.failure is not None for reply in replies)
    assert len((tmp_path / "hook.py.runs").read_text()) <= 4


def test_dead_process_is_replaced_when_it_is_needed(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO)
    first = int(str(said(ask(kind, hook))["pid"]))

    os.kill(first, signal.SIGKILL)
    until(lambda: gone(first))
    answer = run(_until_answered(lambda: kind.call(hook, request(2), timeout=20)))

    assert said(answer)["pid"] != first


async def _until_answered(call: Callable[[], Awaitable[Reply]]) -> Reply:
    """Ask again while the news of a death is on its way."""
    while True:
        reply = await call()
        if reply.failure is None:
            return reply
        assert reply.failure.kind is FailureKind.KILLED


def test_who_dies_again_and_again_rests_until_it_was_mended(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, DIES + "sys.exit(1)")

    replies = [ask(kind, hook, n) for n in range(12)]
    resting = [reply for reply in replies if reply.failure is not None]
    mended = script(tmp_path, ECHO)

    assert resting
    assert failure_of(resting[0]).kind is FailureKind.UNAVAILABLE
    assert "times before it answered anything: lost my way; started again in" in failure_of(resting[0]).message
    assert said(ask(kind, mended, 3))["saw"] == 3


def test_one_that_answers_once_and_goes_works_all_the_same(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, "import sys\nsys.stdin.readline()\nsys.stdout.write('{\"a\": 1}')\n")

    assert [said(ask(kind, hook)) for _ in range(4)] == [{"a": 1}] * 4


def test_process_that_closed_its_ears_is_replaced(kind: Command, tmp_path: Path) -> None:
    hook = script(
        tmp_path,
        "import os, time\nline = os.read(0, 65536)\nos.close(0)\n"
        "os.write(1, b'{\"pid\": %d}\\n' % os.getpid())\ntime.sleep(600)\n",
    )

    pids = [int(str(said(ask(kind, hook))["pid"])) for _ in range(2)]

    assert pids[0] != pids[1]
    until(lambda: gone(pids[0]))


def test_flood_is_stopped(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, f"import time\nprint('x' * {OUTPUT_LIMIT + 10}, flush=True)\ntime.sleep(600)\n")

    assert failure_of(ask(kind, hook)).kind is FailureKind.TOO_MUCH_OUTPUT


def test_only_the_end_of_stderr_is_kept(kind: Command, tmp_path: Path) -> None:
    hook = script(
        tmp_path,
        "import sys\nsys.stdin.readline()\nsys.stderr.write('y' * 500000 + 'end')\nsys.stderr.flush()\nsys.exit(4)\n",
    )

    reply = ask(kind, hook)

    assert reply.exit_code == 4
    assert reply.stderr.endswith(b"yend")
    assert len(reply.stderr) <= 65536


def test_large_event_arrives_whole(kind: Command, tmp_path: Path) -> None:
    hook = script(
        tmp_path,
        "import json, sys\nfor line in sys.stdin: print(json.dumps({'size': len(json.loads(line)['n'])}), flush=True)\n",
    )
    event = Event(name=EventName.BEFORE_TOOL)
    large = Request(event=event, document={"n": "z" * 3_000_000})

    assert said(run(kind.call(hook, large, timeout=30)))["size"] == 3_000_000


GRANDCHILD = """\
import json, subprocess, sys
other = subprocess.Popen(["sleep", "600"])
for line in sys.stdin:
    print(json.dumps({"other": other.pid}), flush=True)
"""


@pytest.mark.parametrize("words", ['["sleep", "600"]', """["sh", "-c", "trap '' TERM; while :; do sleep 1; done"]"""])
def test_closing_ends_it_and_everything_it_started(tmp_path: Path, words: str) -> None:
    command = Command()
    hook = script(tmp_path, GRANDCHILD.replace('["sleep", "600"]', words))
    other = int(str(said(ask(command, hook))["other"]))

    run(command.close())

    until(lambda: gone(other))


DEAF = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ECHO + "import time\ntime.sleep(600)\n"


def test_closing_ends_one_that_does_not_want_to(tmp_path: Path) -> None:
    command = Command()
    pid = int(str(said(ask(command, script(tmp_path, DEAF)))["pid"]))

    run(command.close())

    assert gone(pid)


PARENT = """\
import json, os, signal, sys, time
from hookline import Engine, Hook
from hookline.model.hook import Source
engine = Engine()
engine.add(Hook(id="s", on="before_tool", command=sys.executable, args=(sys.argv[1],), persistent=True,
                source=Source.USER))
outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
print(outcome.verdicts[0].metadata["pid"], flush=True)
"""
OURS = ECHO.replace('answer = {"pid"', 'answer = {"metadata": {"pid": os.getpid()}, "pid"')


@pytest.mark.parametrize(
    ("end", "text"),
    [("os.kill(os.getpid(), signal.SIGKILL)", OURS), ("sys.exit(0)", OURS), ("sys.exit(0)", OURS + DEAF)],
    ids=["killed", "forgot-to-close", "forgot-to-close-a-deaf-one"],
)
def test_no_process_outlives_the_program_that_started_it(tmp_path: Path, end: str, text: str) -> None:
    (tmp_path / "hook.py").write_text(text)

    done = subprocess.run(
        [sys.executable, "-c", PARENT + end, str(tmp_path / "hook.py")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    pid = int(done.stdout)
    until(lambda: gone(pid))


# What it runs


def test_vetted_bytes_run_and_other_vetted_bytes_get_another_process(kind: Command, tmp_path: Path) -> None:
    path = str(tmp_path / "hook.py")
    (tmp_path / "hook.py").write_text("not even Python")
    hook = Hook(id="stays", command="python3", args=(path,), persistent=True)

    def vetted(text: str) -> dict[str, object]:
        asked = request(cwd=str(tmp_path))
        asked.sealed = {path: text.encode()}
        return said(run(kind.call(hook, asked, timeout=20)))

    first, same = vetted(ECHO), vetted(ECHO)
    other = vetted(ECHO.replace('"saw"', '"seen"'))

    assert first["pid"] == same["pid"] != other["pid"]
    assert "seen" in other
    until(lambda: gone(int(str(first["pid"]))))


def test_what_it_was_handed_is_taken_back_when_it_has_gone(tmp_path: Path) -> None:
    def memfds() -> int:
        links = []
        for entry in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                links.append(str(entry.readlink()))
        return sum("memfd:hookline" in link for link in links)

    path = str(tmp_path / "hook.py")
    hook = Hook(id="stays", command="python3", args=(path,), persistent=True)
    asked = request(cwd=str(tmp_path))
    asked.sealed = {path: (ECHO + f"# {tmp_path}").encode()}
    command = Command()
    before = memfds()

    said(run(command.call(hook, asked, timeout=20)))
    during = memfds()
    run(command.close())

    assert (during, memfds()) == (before + 1, before)


def test_edited_script_of_ones_own_is_started_anew(kind: Command, tmp_path: Path) -> None:
    hook = script(tmp_path, ECHO)
    first = said(ask(kind, hook))
    edited = script(tmp_path, ECHO.replace('"saw"', '"seen"'))

    assert edited == hook
    assert "seen" in said(ask(kind, edited))
    until(lambda: gone(int(str(first["pid"]))))


def test_changed_definition_gets_another_process(kind: Command, tmp_path: Path) -> None:
    text = "import json, os, sys\nfor line in sys.stdin: print(json.dumps({'a': os.environ.get('A')}), flush=True)\n"
    script(tmp_path, text)

    def answer(value: str) -> object:
        path = str(tmp_path / "hook.py")
        hook = Hook(
            id="stays", command=sys.executable, args=(path,), env={"A": value}, persistent=True, source=Source.USER
        )
        return said(ask(kind, hook))["a"]

    assert [answer("1"), answer("2")] == ["1", "2"]


def test_missing_program_and_missing_script_are_no_answer(kind: Command, tmp_path: Path) -> None:
    absent = Hook(id="p", command=str(tmp_path / "absent"), persistent=True, source=Source.USER)
    no_script = Hook(id="s", command=sys.executable, args=(str(tmp_path / "absent.py"),), persistent=True)

    assert failure_of(ask(kind, absent)).kind is FailureKind.NOT_FOUND
    # Python's exit code 2 would be a no in many dialects
    assert failure_of(ask(kind, no_script)).kind is FailureKind.NOT_FOUND


def test_script_without_a_first_line_is_run_by_a_shell(kind: Command, tmp_path: Path) -> None:
    path = tmp_path / "hook"
    path.write_text("while read -r event; do echo '{\"shell\": true}'; done\n")
    path.chmod(0o755)
    hook = Hook(id="p", command=str(path), persistent=True, source=Source.USER)

    assert said(ask(kind, hook)) == {"shell": True}


@pytest.mark.parametrize(
    ("hook", "word"),
    [
        (Hook(id="a", command="python3 a.py", plain=True, persistent=True), "plain text has no end"),
        (Hook(id="a", command="echo {{tool_name}}", shell=True, persistent=True), "read their values from stdin"),
    ],
)
def test_what_cannot_answer_many_events_is_refused(kind: Command, hook: Hook, word: str) -> None:
    assert word in kind.refusal(hook)


# With an engine


def test_nothing_starts_before_it_is_approved(tmp_path: Path) -> None:
    (tmp_path / "hook.py").write_text("open('ran', 'w').close()\n" + OURS)
    engine = Engine(cwd=str(tmp_path))
    engine.add(
        Hook(id="s", on="before_tool", command=sys.executable, args=("hook.py",), persistent=True, root=str(tmp_path))
    )

    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    engine.close_sync()

    assert [skip.gate for skip in outcome.skipped] == ["trust"]
    assert not (tmp_path / "ran").exists()


def test_guard_that_died_blocks_if_it_was_asked_to(tmp_path: Path) -> None:
    hook = script(tmp_path, "import sys\nsys.exit(1)\n")
    engine = Engine()
    engine.add(
        Hook(
            id="g",
            on="before_tool",
            command=hook.command,
            args=hook.args,
            persistent=True,
            on_error="block",  # type: ignore[arg-type]
            source=Source.USER,
        )
    )
    outcomes = [engine.emit_sync("before_tool", tool="shell", args={"command": "ls"}) for _ in range(5)]
    engine.close_sync()

    assert {outcome.decision for outcome in outcomes} == {Decision.DENY}
