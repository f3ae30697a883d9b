"""The real daemon, called by URL as agents do: who is let in, what is answered, and what happens when things go wrong."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from hookline import caller_context
from hookline.bridge import call as bridge_call
from hookline.hosts.http_endpoint import HttpEndpoint, endpoint_path, read_endpoint
from hookline.model.installed_entry import NESTING, parse_entry
from tests.cli.program import environment
from tests.daemon.living import Living, is_alive, lived, payload
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

GUARD = """\
import json, os, sys

event = json.loads(input())
command = event["args"].get("command", "")
if "rm" in command:
    print(json.dumps({"decision": "deny", "reason": "not here"}))
elif "ask" in command:
    print(json.dumps({"decision": "ask", "reason": "are you sure?"}))
elif "change" in command:
    print(json.dumps({"decision": "allow", "args": {"command": "true"}}))
elif "fall" in command:
    sys.exit(7)
elif "slow" in command:
    import time
    open(event["cwd"] + "/pid", "w").write(str(os.getpid()))
    time.sleep(600)
else:
    print(json.dumps({"context": "in " + os.getcwd() + " with " + os.environ.get("CLAUDE_CODE_SESSION_ID", "nothing")}))
"""

HOOKS = """\
[[hook]]
name = "guard"
on = ["before_tool", "after_tool", "after_agent"]
run = "{python} guard.py"
timeout = "10m"
on_error = "block"
"""

EVENT = "PreToolUse"
TOKEN = "a" * 43


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def furnish(living: Living) -> HttpEndpoint:
    """Write what `install --http` writes, and hooks."""
    living.configure(HOOKS.format(python=sys.executable), {"guard.py": GUARD})
    made = HttpEndpoint(port=free_port(), token=TOKEN, python=sys.executable, files=("somewhere",))
    endpoint_path(living.data).write_text(
        json.dumps({"port": made.port, "token": made.token, "python": made.python, "files": made.files})
    )
    return made


def asked(
    at: HttpEndpoint, method: str, target: str, body: bytes, headers: Mapping[str, str]
) -> tuple[HTTPResponse, bytes]:
    """Say something on a connection of its own."""
    line = HTTPConnection("127.0.0.1", at.port, timeout=PATIENCE)
    try:
        line.request(method, target, body, headers)
        answer = line.getresponse()
        return answer, answer.read()
    finally:
        line.close()


def post(
    at: HttpEndpoint,
    body: bytes = b"{}",
    *,
    event: str = EVENT,
    policy: str = "block",
    headers: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Call us as an agent does."""
    given = {"Authorization": f"Bearer {at.token}", **(headers or {})}
    target = f"/hookline/v1/hook/claude-code/{event}?if-broken={policy}"
    answer, said = asked(at, "POST", target, body, {name: text for name, text in given.items() if text})
    return answer.status, said


def decided(body: bytes) -> object:
    return json.loads(body)["hookSpecificOutput"].get("permissionDecision")


@pytest.fixture
def at(living: Living) -> HttpEndpoint:
    """Give the address of a daemon that runs."""
    made = furnish(living)
    living.start()
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Living, HttpEndpoint]]:
    """Give a person with a daemon for all tests that leave it as it was."""
    with lived(tmp_path_factory.mktemp("shared")) as one:
        made = furnish(one)
        one.start()
        yield one, made


def raw(at: HttpEndpoint, said: bytes) -> bytes:
    """Say something as it is, and give all that comes back."""
    with socket.create_connection(("127.0.0.1", at.port), PATIENCE) as line:
        line.sendall(said)
        found = b""
        while part := line.recv(65536):
            found += part
        return found


def head(at: HttpEndpoint, *lines: str, event: str = EVENT, method: str = "POST") -> bytes:
    fields = [f"Host: 127.0.0.1:{at.port}", f"Authorization: Bearer {at.token}", *lines]
    return "\r\n".join([f"{method} /hookline/v1/hook/claude-code/{event} HTTP/1.1", *fields, "", ""]).encode()


@pytest.mark.parametrize(
    ("event", "command", "policy"),
    [
        (EVENT, "ls", "block"),
        (EVENT, "rm x", "block"),
        (EVENT, "ask me", "block"),
        (EVENT, "change it", "allow"),
        (EVENT, "fall over", "block"),
        (EVENT, "fall over", "allow"),
        ("PostToolUse", "ls", "block"),
        ("PostToolUse", "rm x", "allow"),
        ("Stop", "", "block"),
        ("Notification", "", "block"),
    ],
)
def test_the_answer_is_the_one_that_a_command_gives(
    shared: tuple[Living, HttpEndpoint], event: str, command: str, policy: str
) -> None:
    living, at = shared
    fields: dict[str, object] = {
        "hook_event_name": event,
        "stop_hook_active": False,
        "message": "",
        "tool_response": {},
    }

    # in sessions of their own: what is told once in a session is told to both
    status, body = post(at, payload(living.project, command, session_id="url", **fields), event=event, policy=policy)
    said = payload(living.project, command, session_id="command", **fields)
    directly = living.directly(said, ("--if-broken", policy, "claude-code", event))

    assert (status, body) == (200, directly.stdout.strip())
    assert directly.exit_code == 0


def test_a_call_works_in_the_folder_that_the_agent_names_without_what_another_agent_left(living: Living) -> None:
    at = furnish(living)
    living.start(env={"CLAUDE_CODE_SESSION_ID": "of-another", "CLAUDE_PROJECT_DIR": str(living.home)})

    _, body = post(at, payload(living.project, "ls", hook_event_name="PostToolUse"), event="PostToolUse")

    assert json.loads(body)["hookSpecificOutput"]["additionalContext"] == f"in {living.project} with nothing"


def test_hooks_know_how_deep_the_agent_that_calls_is_in_others(living: Living, at: HttpEndpoint) -> None:
    # what a hook of a hook's agent has in its environment stands in a header, signed
    with bridge_call.nest_deeper(bridge_call.DEEPEST_NESTING - 1, living.data):
        mark = caller_context.full_environ()[NESTING]

    deep = post(at, payload(living.project, "ls"), headers={"Hookline-Nesting": mark})
    forged = post(at, payload(living.project, "ask me"), headers={"Hookline-Nesting": mark[:-1] + "x"})

    assert decided(deep[1]) == "deny"
    assert b"a hook started an agent" in deep[1]
    assert decided(forged[1]) == "ask"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_answered_whatever_they_know(living: Living, at: HttpEndpoint) -> None:
    body = payload(living.project, "rm x")
    said = head(at, f"Content-Length: {len(body)}", "Connection: close") + body
    program = (
        "import socket, sys\n"
        f"line = socket.create_connection(('127.0.0.1', {at.port}), 60)\n"
        "try:\n    line.sendall(sys.stdin.buffer.read())\n    print(line.recv(100))\nexcept OSError:\n    print(b'')\n"
    )

    def asked_by(user: int) -> bytes:
        return subprocess.run(
            ["/usr/bin/env", "python3", "-c", program] if user else [sys.executable, "-c", program],
            input=said,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
            user=user,
            group=user,
            cwd="/",
        ).stdout

    assert b"200 OK" in asked_by(0)
    assert asked_by(65534) == b"b''\n"


def test_hooks_make_files_with_the_umask_that_the_daemon_was_started_with(living: Living) -> None:
    at = furnish(living)
    living.configure(f'[[hook]]\nname = "make"\non = "after_tool"\nrun = ["sh", "-c", "touch {living.project}/made"]\n')
    before = os.umask(0o027)
    try:
        living.start()
    finally:
        os.umask(before)

    found = post(at, payload(living.project, "ls", hook_event_name="PostToolUse"), event="PostToolUse")

    assert found == (200, b"")
    assert (living.project / "made").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer something-else"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Host": "example.com"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://x", "Authorization": ""}, 403),
        ({"Transfer-Encoding": "gzip"}, 501),
    ],
)
def test_who_is_no_agent_of_this_person_is_turned_away(
    shared: tuple[Living, HttpEndpoint], headers: dict[str, str], status: int
) -> None:
    living, at = shared
    before = living.status()["answered"]

    found, body = post(at, payload(living.project, "rm x"), headers=headers)

    assert found == status
    assert b"not here" not in body
    assert living.status()["answered"] == before


def test_this_machine_may_be_called_by_its_other_name(shared: tuple[Living, HttpEndpoint]) -> None:
    living, at = shared
    status, body = post(at, payload(living.project, "rm x"), headers={"Host": f"LocalHost:{at.port}"})

    assert (status, decided(body)) == (200, "deny")


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE", "OPTIONS", "BREW"])
def test_only_post_is_understood(shared: tuple[Living, HttpEndpoint], method: str) -> None:
    _, at = shared
    target = f"/hookline/v1/hook/claude-code/{EVENT}"

    answer, _ = asked(at, method, target, b"", {"Authorization": f"Bearer {at.token}"})

    assert (answer.status, answer.getheader("Allow")) == (405, "POST")


@pytest.mark.parametrize(
    "target",
    [
        "/",
        "/v1/hook/claude-code/PreToolUse",
        "/hookline/v1/hook/claude-code",
        "/hookline/v1/hook/claude-code/",
        "/hookline/v1/hook/claude-code/NoSuchEvent",
        "/hookline/v1/hook/no-such-agent/PreToolUse",
        "/hookline/v1/hook/claude-code/PreToolUse/more",
        "/x/hookline/v1/hook/claude-code/PreToolUse",
        "/hookline/v1/hook/claude-code/PreToolUse?if-broken=maybe",
        "/hookline/v1/hook/claude-code/PreToolUse?other=1",
        # a no would be an exit code there, which nobody reads
        "/hookline/v1/hook/claude-code/TaskCreated",
        # somebody has to wake the daemon
        "/hookline/v1/hook/claude-code/SessionStart",
        # it calls no URLs
        "/hookline/v1/hook/codex-cli/PreToolUse",
    ],
)
def test_what_nobody_answers_for_is_not_found(shared: tuple[Living, HttpEndpoint], target: str) -> None:
    _, at = shared
    assert asked(at, "POST", target, b"{}", {"Authorization": f"Bearer {at.token}"})[0].status == 404


def test_one_connection_carries_many_calls(shared: tuple[Living, HttpEndpoint]) -> None:
    living, at = shared
    before = living.status()["answered"]
    found = []
    line = HTTPConnection("127.0.0.1", at.port, timeout=PATIENCE)
    for command in ("rm x", "ask me", "rm y"):
        target, headers = f"/hookline/v1/hook/claude-code/{EVENT}", {"Authorization": f"Bearer {at.token}"}
        line.request("POST", target, payload(living.project, command), headers)
        found.append((line.sock.getsockname(), decided(line.getresponse().read())))
    line.close()

    assert [decision for _, decision in found] == ["deny", "ask", "deny"]
    assert len({name for name, _ in found}) == 1
    assert living.status()["answered"] == int(str(before)) + 3


def test_calls_that_are_said_in_one_breath_are_answered_one_after_another(shared: tuple[Living, HttpEndpoint]) -> None:
    living, at = shared
    bodies = [payload(living.project, command) for command in ("rm x", "ask me", "rm y")]
    said = b"".join(head(at, f"Content-Length: {len(body)}") + body for body in bodies[:2])
    said += head(at, f"Content-Length: {len(bodies[2])}", "Connection: close") + bodies[2]

    found = raw(at, said)

    assert found.count(b"HTTP/1.1 200 OK") == 3
    assert [found.find(word) for word in (b'"deny"', b'"ask"')] == sorted(
        found.find(word) for word in (b'"deny"', b'"ask"')
    )
    assert found.lower().count(b"connection: close") == 1


def test_a_body_may_come_in_chunks(shared: tuple[Living, HttpEndpoint]) -> None:
    living, at = shared
    body = payload(living.project, "rm x")
    chunks = b"".join(
        b"%x;more=1\r\n%s\r\n" % (len(body[at : at + 7]), body[at : at + 7]) for at in range(0, len(body), 7)
    )

    found = raw(at, head(at, "Transfer-Encoding: chunked", "Connection: close") + chunks + b"0\r\nTrailer: x\r\n\r\n")

    assert found.startswith(b"HTTP/1.1 200")
    assert b'"deny"' in found


def test_who_waits_for_leave_to_send_a_body_gets_it(shared: tuple[Living, HttpEndpoint]) -> None:
    living, at = shared
    body = payload(living.project, "rm x")
    with socket.create_connection(("127.0.0.1", at.port), PATIENCE) as line:
        line.sendall(head(at, f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close"))
        assert line.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.sendall(body)
        assert line.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01 something else\r\n\r\n",
        b"POST / HTTP/2\r\n\r\n",
        b"POST /a b HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nno field\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(shared: tuple[Living, HttpEndpoint], said: bytes) -> None:
    living, at = shared
    assert raw(at, said).startswith(b"HTTP/1.1 400 ")
    assert living.is_there()


def test_chunks_that_lie_are_refused(shared: tuple[Living, HttpEndpoint]) -> None:
    _, at = shared
    for chunks in (b"zz\r\n", b"2\r\nabcd\r\n", b"-1\r\n"):
        assert raw(at, head(at, "Transfer-Encoding: chunked") + chunks).startswith(b"HTTP/1.1 400 ")


def test_a_head_without_an_end_is_refused(shared: tuple[Living, HttpEndpoint]) -> None:
    _, at = shared
    assert raw(at, b"POST / HTTP/1.1\r\nX: " + b"a" * 70_000).startswith(b"HTTP/1.1 431 ")


def test_who_takes_for_ever_does_not_keep_others_waiting(shared: tuple[Living, HttpEndpoint]) -> None:
    living, at = shared
    slow = [socket.create_connection(("127.0.0.1", at.port), PATIENCE) for _ in range(20)]
    for line in slow:
        line.sendall(b"POST / HTT")

    assert post(at, payload(living.project, "rm x"))[0] == 200
    for line in slow:
        line.close()


@pytest.mark.parametrize(("policy", "decision"), [("block", "deny"), ("allow", None)])
def test_an_event_that_is_too_large_is_answered_as_the_policy_says(
    shared: tuple[Living, HttpEndpoint], policy: str, decision: str | None
) -> None:
    _, at = shared
    size = 257 * 1024 * 1024
    target = f"POST /hookline/v1/hook/claude-code/{EVENT}?if-broken={policy} HTTP/1.1\r\n"
    fields = f"Host: 127.0.0.1:{at.port}\r\nAuthorization: Bearer {at.token}\r\nContent-Length: {size}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", at.port), PATIENCE) as line:
        line.sendall((target + fields).encode())
        for _ in range(257):
            line.sendall(bytes(1024 * 1024))
        found = HTTPResponse(line)
        found.begin()
        body = found.read()

    assert found.status == 200
    assert (decided(body) if body else None) == decision


@pytest.mark.parametrize("body", [b"", b"no JSON", b"[]", b'{"hook_event_name": 7}', b"\xff\xfe"])
@pytest.mark.parametrize("policy", ["block", "allow"])
def test_what_cannot_be_read_is_denied_where_a_hook_could_deny(
    shared: tuple[Living, HttpEndpoint], body: bytes, policy: str
) -> None:
    _, at = shared
    status, said = post(at, body, policy=policy)

    assert (status, decided(said)) == (200, "deny")


@pytest.mark.parametrize(("policy", "decision"), [("block", "deny"), ("allow", None)])
def test_what_cannot_be_read_is_answered_as_the_policy_says_where_no_hook_could_deny(
    living: Living, at: HttpEndpoint, policy: str, decision: str | None
) -> None:
    living.configure("")
    status, said = post(at, b"no JSON", policy=policy)

    assert status == 200
    assert (json.loads(said).get("hookSpecificOutput", {}).get("permissionDecision") if said else None) == decision


def test_hooks_that_cannot_be_loaded_are_answered_for_as_the_policy_says(living: Living, at: HttpEndpoint) -> None:
    living.configure("[[hook]]\nname = \n")

    assert decided(post(at, payload(living.project))[1]) == "deny"


def test_who_hangs_up_has_the_hooks_end(living: Living, at: HttpEndpoint) -> None:
    body = payload(living.project, "slow")
    line = socket.create_connection(("127.0.0.1", at.port), PATIENCE)
    line.sendall(head(at, f"Content-Length: {len(body)}") + body)
    until(lambda: (living.project / "pid").exists() and (living.project / "pid").read_text() != "", "the hook runs")
    pid = int((living.project / "pid").read_text())

    line.close()

    until(lambda: not _runs(pid), "the hook has ended")
    assert post(at, payload(living.project, "rm x"))[0] == 200


def _runs(pid: int) -> bool:
    try:
        return is_alive(pid)
    except FileNotFoundError:
        return False


def test_a_daemon_listens_when_somebody_has_urls_installed_and_not_any_longer(living: Living) -> None:
    living.configure(HOOKS.format(python=sys.executable), {"guard.py": GUARD})
    living.start()
    assert living.status()["http"] == ""

    assert living.hookline("install", "claude-code", "--http").returncode == 0
    at = read_endpoint(living.data)
    assert at is not None
    until(lambda: living.status()["http"] == f"http://127.0.0.1:{at.port}", "it listens")
    said = payload(living.project, "rm x", hook_event_name="PostToolUse")
    assert post(at, said, event="PostToolUse")[0] == 200

    assert living.hookline("uninstall", "claude-code").returncode == 0
    until(lambda: living.status()["http"] == "", "it does not listen any more")
    with pytest.raises(ConnectionRefusedError):
        post(at, said)


def test_a_daemon_of_another_python_leaves_the_port_alone(living: Living) -> None:
    made = furnish(living)
    endpoint_path(living.data).write_text(
        json.dumps({"port": made.port, "token": made.token, "python": "/another/python"})
    )
    living.start()

    assert living.status()["http"] == ""


def test_nobody_listens_anywhere_but_on_this_machine_itself(shared: tuple[Living, HttpEndpoint]) -> None:
    living, at = shared
    assert living.status()["http"] == f"http://127.0.0.1:{at.port}"
    near = [
        line.split()[1]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{at.port:04X}") and line.split()[3] == "0A"
    ]
    assert near == [f"0100007F:{at.port:04X}"]


def test_a_daemon_that_starts_again_has_the_same_port_and_one_with_urls_does_not_end_for_being_idle(
    living: Living,
) -> None:
    at = furnish(living)
    first = living.start("--idle", "0.2")
    assert post(at, payload(living.project, "rm x"))[0] == 200
    first.terminate()
    first.wait(PATIENCE)
    assert not living.is_there()

    again = living.start("--idle", "0.2")
    # long enough for one that minds
    time.sleep(1.0)
    assert decided(post(at, payload(living.project, "rm x"))[1]) == "deny"
    endpoint_path(living.data).unlink()
    until(lambda: again.poll() is not None, "it ends, as nobody calls it by URL any more")


def test_a_port_that_somebody_else_has_is_taken_when_it_is_free(living: Living) -> None:
    at = furnish(living)
    with socket.socket() as other:
        other.bind(("127.0.0.1", at.port))
        other.listen()
        living.start("--idle", "0.2", env={})
        assert living.status()["http"] == ""
        # it would end for being idle
        living.ask(payload(living.project))
    until(lambda: not living.is_there() or living.status()["http"] != "", "it listens, or has gone")


def test_a_call_that_is_under_way_is_answered_before_the_daemon_goes(living: Living, at: HttpEndpoint) -> None:
    marker = living.project / "go"
    living.configure(
        f'[[hook]]\nname = "wait"\non = "before_tool"\nrun = ["{sys.executable}", "wait.py"]\n',
        {
            "wait.py": (
                "import json, pathlib, time\n"
                "event = json.loads(input())\n"
                "pathlib.Path(event['cwd'], 'came').touch()\n"
                f"while not pathlib.Path({str(marker)!r}).exists(): time.sleep(0.02)\n"
                "print(json.dumps({'decision': 'deny', 'reason': 'late'}))\n"
            )
        },
    )
    body = payload(living.project)
    with socket.create_connection(("127.0.0.1", at.port), PATIENCE) as line:
        line.sendall(head(at, f"Content-Length: {len(body)}") + body)
        until((living.project / "came").exists, "the hook runs")
        living.started[0].send_signal(signal.SIGTERM)
        until(lambda: not living.is_there(), "the daemon takes nobody else")
        marker.touch()
        found = b""
        while part := line.recv(65536):
            found += part

    assert b"late" in found
    assert b"connection: close" in found.lower()


def test_callers_wait_while_a_daemon_becomes_the_new_version_of_itself(living: Living, tmp_path: Path) -> None:
    # a copy of the program, which is changed while it runs
    package = Path(sys.modules["hookline"].__file__ or "").parent
    shutil.copytree(package, tmp_path / "copy" / "hookline", ignore=shutil.ignore_patterns("__pycache__"))
    at = furnish(living)
    make = f'[[hook]]\nname = "make"\non = "after_tool"\nrun = ["sh", "-c", "touch {living.project}/made"]\n'
    with (living.config / "hookline.toml").open("a") as opened:
        opened.write(make)
    env = {**environment(living.home, XDG_RUNTIME_DIR=str(living.runtime)), "PYTHONPATH": str(tmp_path / "copy")}
    process = subprocess.Popen(
        [sys.executable, "-m", "hookline", "daemon", "run"],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        umask=0o027,
    )
    living.started.append(process)
    until(living.is_there, "the daemon answers")
    started = living.status()["started"]
    version = tmp_path / "copy" / "hookline" / "version.py"
    version.write_text(version.read_text() + "\n# another one\n")

    def is_another() -> bool:
        assert decided(post(at, payload(living.project, "rm x"))[1]) == "deny"
        try:
            return living.status()["started"] != started
        except Exception:  # noqa: BLE001 - it is on its way
            return False

    # none of the calls meanwhile is lost
    until(is_another, "the new version answers")
    assert process.poll() is None
    # and it is started as the old one was
    assert post(at, payload(living.project, "ls", hook_event_name="PostToolUse"), event="PostToolUse")[0] == 200
    assert (living.project / "made").stat().st_mode & 0o777 == 0o640


def test_what_is_installed_is_what_is_answered(living: Living) -> None:
    living.configure(HOOKS.format(python=sys.executable), {"guard.py": GUARD})
    living.hookline("install", "claude-code", "--http-all")
    at = read_endpoint(living.data)
    assert at is not None
    living.start()
    settings = json.loads((living.home / ".claude" / "settings.json").read_text())
    urls = {
        event: handler
        for event, groups in settings["hooks"].items()
        for handler in groups[0]["hooks"]
        if handler["type"] == "http"
    }
    assert {"PreToolUse", "PostToolUse", "Stop"} <= set(urls)

    for event, handler in urls.items():
        entry = parse_entry(handler["url"])
        assert entry is not None
        assert (entry.host, entry.event, entry.policy) == ("claude-code", event, "block")
        target = handler["url"].removeprefix(f"http://127.0.0.1:{at.port}")
        headers = {name: value for name, value in handler["headers"].items() if not value.startswith("$")}
        answer, _ = asked(at, "POST", target, payload(living.project, hook_event_name=event), headers)
        assert answer.status == 200, event
