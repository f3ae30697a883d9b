"""What a contained hook can and cannot do, through the engine, with real processes."""

import asyncio
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

if sys.platform != "linux":
    pytest.skip("containment is Linux's", allow_module_level=True)

from hookline import Engine, Hook, Outcome, Source
from hookline.errors import ConfigError
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Layer
from hookline.model.sandbox import LEVELS, UNCONTAINED, Sandbox
from hookline.model.workspace_paths import is_inside
from hookline.process import native
from hookline.process.containment import find_layers
from hookline.process.file_access import Secrets
from hookline.project import load_project
from hookline.user_dirs import UserDirs

pytestmark = pytest.mark.skipif(native.load_library() is None, reason="built without a compiler")

needs_landlock = pytest.mark.skipif(
    native.load_library() is None or not find_layers().landlock, reason="the kernel has no landlock"
)


class Place:
    """A home with a secret in it, a project, and hooks that run there."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.key = self.home / ".ssh" / "id_ed25519"
        self.key.parent.mkdir(parents=True)
        self.key.write_text("secret")
        (self.project / ".git" / "hooks").mkdir(parents=True)

    def run(self, line: str, **fields: Any) -> Outcome:
        """Run one shell line as a hook of the project, and return the outcome."""
        usual: dict[str, Any] = {"shell": True, "plain": True, "root": str(self.project), "sandbox": LEVELS["project"]}
        hook = Hook(id="probe", on="before_tool", command=line, source=Source.USER, **usual | fields)

        async def emit() -> Outcome:
            async with Engine() as engine:
                engine.add(hook)
                return await engine.emit("before_tool", tool="shell", args={"command": "ls"}, cwd=str(self.project))

        return asyncio.run(emit())

    def failure(self, line: str, **fields: Any) -> Failure:
        """Return the failure of a line."""
        (verdict,) = self.run(line, **fields).failures
        assert verdict.failure is not None
        return verdict.failure

    def output(self, line: str, **fields: Any) -> str:
        """Return what a line printed that ended well."""
        outcome = self.run(line, **fields)
        assert not outcome.failures, outcome.failures
        return "\n".join(outcome.context)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    found = Place(tmp_path)
    monkeypatch.setenv("HOME", str(found.home))
    return found


@needs_landlock
@pytest.mark.spec("O-28", "P-22", "U-18")
def test_contained_hook_writes_the_project_and_reads_no_secret(place: Place) -> None:
    line = 'echo made >inside; f=id_ed25519; cat "$HOME/.ssh/$f" 2>&1; echo x 2>&1 >"$HOME/outside"; true'

    printed = place.output(line)

    assert "secret" not in printed
    assert "denied" in printed
    assert (place.project / "inside").read_text() == "made\n"
    assert not (place.home / "outside").exists()


@pytest.mark.spec("P-22")
def test_contained_hook_has_no_network(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = (
            f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5); print('reached')"
        )
        line = f'{sys.executable} -c "{connect}" 2>&1 | tail -n 1'

        assert "reached" in place.output(line, sandbox=UNCONTAINED)
        assert "Operation not permitted" in place.output(line)
        assert "reached" in place.output(line, sandbox=Sandbox(write=(".",), net=True))


_TUNNEL = """
import os, socket, sys
from base64 import b64encode
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["HTTPS_PROXY"])
with socket.create_connection((proxy.hostname, proxy.port), 5) as tunnel:
    key = b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    tunnel.sendall(f"CONNECT 127.0.0.1:{sys.argv[1]} HTTP/1.1\\r\\nProxy-Authorization: Basic {key}\\r\\n\\r\\n".encode())
    print("status", tunnel.recv(99).split()[1].decode())
"""


@needs_landlock
@pytest.mark.spec("P-22")
def test_hook_that_names_hosts_reaches_those_through_the_proxy_and_nothing_else(place: Place) -> None:
    (place.project / "tunnel.py").write_text(_TUNNEL)
    with socket.create_server(("127.0.0.1", 0)) as named, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [server.getsockname()[1] for server in (named, other)]
        sandbox = Sandbox(write=(".",), net=(f"127.0.0.1:{ports[0]}",))
        direct = f"import socket; socket.create_connection(('127.0.0.1', {ports[0]}), 5)"
        udp = "import socket; socket.socket(type=socket.SOCK_DGRAM)"
        line = (
            f"{sys.executable} tunnel.py {ports[0]}; {sys.executable} tunnel.py {ports[1]};"
            f'{sys.executable} -c "{direct}" 2>&1 | tail -n 1; {sys.executable} -c "{udp}" 2>&1 | tail -n 1'
        )

        printed = place.output(line, sandbox=sandbox).splitlines()

    assert printed == [
        *("status 200", "status 403", "PermissionError: [Errno 13] Permission denied"),
        "PermissionError: [Errno 1] Operation not permitted",
    ]


def test_failure_of_a_contained_hook_that_was_denied_something_has_a_note(place: Place) -> None:
    (verdict,) = place.run('touch "$HOME/outside"', on_error="continue").failures

    assert "it is contained; `hookline sandbox explain probe` says what it may do" in verdict.notes


def test_file_that_may_be_written_and_is_not_there_is_named_when_the_hook_fails(place: Place) -> None:
    sandbox = replace(LEVELS["read-only"], write=("report.txt",))
    (verdict,) = place.run("touch report.txt", on_error="continue", sandbox=sandbox).failures

    assert any(f'"{place.project}/report.txt" is not there, so it cannot be written' in note for note in verdict.notes)
    (place.project / "report.txt").touch()
    assert not place.run("touch report.txt", on_error="continue", sandbox=sandbox).failures


def test_level_read_only_writes_nothing_but_its_temporary_folder(place: Place) -> None:
    line = 'echo x >inside || echo refused; echo y >"$TMPDIR/t" && cat "$TMPDIR/t"'

    assert place.output(line, sandbox=LEVELS["read-only"]) == "refused\ny"
    assert not (place.project / "inside").exists()


def test_temporary_folder_of_a_contained_hook_is_empty_at_each_call_and_gone_afterwards(place: Place) -> None:
    line = 'ls -A "$TMPDIR"; echo "$TMPDIR"; touch "$TMPDIR/left"'

    async def twice() -> list[str]:
        async with Engine() as engine:
            engine.add(
                Hook(
                    id="t",
                    on="before_tool",
                    command=line,
                    shell=True,
                    plain=True,
                    source=Source.USER,
                    sandbox=LEVELS["project"],
                )
            )
            outcomes = [await engine.emit("before_tool", tool="shell", cwd=str(place.project)) for _ in range(2)]
        return ["\n".join(outcome.context) for outcome in outcomes]

    # one line each: the listing was empty; another program that changes the folder above makes the next one another folder
    for folder in asyncio.run(twice()):
        assert "\n" not in folder
        assert "hookline-hook" in folder
        assert not Path(folder).exists()


@pytest.mark.parametrize("name", ["MY_TOKEN", "HOOKLINE_PERSON_TOKEN", "AWS_PROFILE", "SSH_AUTH_SOCK"])
def test_variables_of_the_user_are_not_seen_but_those_it_names(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "t0ken")
    monkeypatch.setenv("LANG", "C.UTF-8")
    line = f'echo "[${name}] $LANG $HOME"'

    assert place.output(line) == f"[] C.UTF-8 {place.home}"
    assert place.output(line, sandbox=Sandbox(env=(name,))) == f"[t0ken] C.UTF-8 {place.home}"
    assert place.output(line, sandbox=UNCONTAINED) == f"[t0ken] C.UTF-8 {place.home}"


def test_process_that_a_contained_hook_leaves_behind_is_ended(place: Place) -> None:
    line = "setsid sleep 600 >/dev/null 2>&1 </dev/null & echo $!"

    pid = int(place.output(line))

    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("limits", "line", "text"),
    [
        ({"memory": 64 << 20}, "{python} -c 'x = bytearray(10**9)'", "64 MB for memory (sandbox.memory)"),
        (
            {"memory": 200 << 20},
            "for i in 1 2 3 4; do {python} -c 'import time; x = b\"x\" * 80_000_000; time.sleep(20)' & done; wait",
            "200 MB for memory (sandbox.memory)",
        ),
        ({"cpu": 1.0}, "while :; do :; done", "1 s for processor time (sandbox.cpu)"),
        ({"file_size": 1 << 20}, "head -c 3000000 /dev/zero >big", "1 MB for the size of a file (sandbox.file_size)"),
        (
            {"open_files": 20},
            "{python} -c 'x = [open(\"/dev/null\") for _ in range(99)]'",
            "20 for open files (sandbox.open_files)",
        ),
        ({"processes": 20}, "for i in $(seq 60); do sleep 20 & done; wait", "20 for processes (sandbox.processes)"),
    ],
    ids=["memory", "memory of several", "cpu", "file_size", "open_files", "processes"],
)
@pytest.mark.spec("P-21", "O-29", "A-25")
def test_hook_that_uses_too_much_fails_with_the_limit_and_its_figure(
    place: Place, limits: dict[str, float], line: str, text: str
) -> None:
    sandbox = convert({"write": (".",), **limits}, Sandbox)

    failure = place.failure(line.replace("{python}", sys.executable), sandbox=sandbox)

    assert (failure.kind, failure.message) == (FailureKind.LIMIT, f"ended by its limit of {text}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a hook as another user")
@pytest.mark.spec("P-22")
def test_hook_of_root_runs_as_the_user_it_names(place: Place) -> None:
    assert place.output("id -u; id -G", sandbox=Sandbox(user="nobody")) == "65534\n65534"


def test_user_who_does_not_exist_is_a_refusal_and_nothing_runs(place: Place) -> None:
    failure = place.failure("touch ran", sandbox=Sandbox(write=(".",), user="no-such-user"))

    assert failure.kind is FailureKind.REFUSED
    assert 'there is no user "no-such-user"' in failure.message
    assert not (place.project / "ran").exists()


@needs_landlock
def test_hook_that_names_what_it_reads_reads_nothing_else(place: Place) -> None:
    (place.project / "data").mkdir()
    (place.project / "data" / "a").write_text("a")
    (place.project / "b").write_text("b")

    assert place.output("cat data/a; cat b || echo refused", sandbox=Sandbox(read=("data",))) == "arefused"


def test_what_git_and_agents_obey_cannot_be_changed_by_a_hook_that_writes_the_project(place: Place) -> None:
    if not find_layers().mounts:
        pytest.skip("a process cannot have mounts of its own here")
    (place.project / ".claude").mkdir()

    printed = place.output(
        "exec 2>/dev/null; echo x >.git/hooks/pre-commit || echo hooks; echo x >.claude/settings.json || echo agent;"
        " mv .git gone || echo git; mv .claude gone || echo claude; echo x >.git/index && echo index"
    )

    assert printed == "hooks\nagent\ngit\nclaude\nindex"


def test_hook_that_makes_what_agents_obey_has_failed(place: Place) -> None:
    failure = place.failure("mkdir .claude && echo '{}' >.claude/settings.json")

    assert failure.kind is FailureKind.REFUSED
    assert f'"{place.project}/.claude" was made or changed while the hook ran' in failure.message


@needs_landlock
def test_secret_that_comes_between_two_calls_is_not_read(place: Place) -> None:
    token = place.home / ".config" / "gh" / "hosts.yml"
    (place.home / ".config").mkdir()

    async def emits() -> list[str]:
        async with Engine() as engine:
            line = 'cat "$HOME/.config/gh/hosts.yml" || echo none'
            engine.add(
                Hook(
                    id="t",
                    on="before_tool",
                    command=line,
                    shell=True,
                    plain=True,
                    source=Source.USER,
                    sandbox=LEVELS["project"],
                )
            )
            first = await engine.emit("before_tool", tool="shell", cwd=str(place.project))
            token.parent.mkdir()
            token.write_text("token")
            return [*first.context, *(await engine.emit("before_tool", tool="shell", cwd=str(place.project))).context]

    assert asyncio.run(emits()) == ["none", "none"]


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0 or not Path("/root").is_dir(), reason="only root reads the files of others")
def test_hook_of_root_reads_the_secrets_of_nobody_else_either(place: Place) -> None:
    secrets = Secrets(str(place.home))
    assert os.path.realpath("/root") in secrets.folders
    # one of them, where root has any
    for path in [path for path in secrets.paths if is_inside(path, ("/root",)) and Path(path).is_file()][:1]:
        assert place.output(f"cat {path} >/dev/null 2>&1 || echo refused") == "refused"


def test_folder_that_comes_between_two_calls_is_read(place: Place) -> None:
    async def emits() -> list[str]:
        async with Engine() as engine:
            line = 'cat "$HOME/notes/todo" || echo none'
            hook = Hook(
                id="t",
                on="before_tool",
                command=line,
                shell=True,
                plain=True,
                source=Source.USER,
                sandbox=LEVELS["project"],
            )
            engine.add(hook)
            first = await engine.emit("before_tool", tool="shell", cwd=str(place.project))
            (place.home / "notes").mkdir()
            (place.home / "notes" / "todo").write_text("milk")
            return [*first.context, *(await engine.emit("before_tool", tool="shell", cwd=str(place.project))).context]

    assert asyncio.run(emits()) == ["none", "milk"]


@pytest.mark.parametrize(
    ("source", "layer", "level"),
    [
        (Source.BUILTIN, Layer.USER, "none"),
        (Source.USER, Layer.USER, "none"),
        (Source.USER, Layer.MANAGED, "none"),
        (Source.WORKSPACE, Layer.PROJECT, "project"),
        (Source.DOWNLOADED, Layer.USER, "project"),
        (Source.EXTENSION, Layer.EXTENSION, "project"),
        (Source.WORKSPACE, Layer.PROGRAM, "none"),
    ],
)
@pytest.mark.spec("U-18")
def test_hooks_of_others_are_contained_unless_they_say_otherwise(source: Source, layer: Layer, level: str) -> None:
    hook = Hook(id="h", command="true", source=source, layer=layer)

    assert hook.containment == LEVELS[level]


def test_engine_that_is_killed_does_not_leave_a_contained_hook_running(place: Place) -> None:
    failure = place.failure("sleep 600 & setsid sleep 600 & wait", timeout=0.3)

    assert failure.kind is FailureKind.TIMEOUT
    # the group was killed: a process with the project as its folder would still be there
    assert not [
        pid
        for pid in map(int, filter(str.isdigit, os.listdir("/proc")))  # noqa: PTH208
        if pid != os.getpid() and _folder(pid) == str(place.project)
    ]


def _folder(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


def test_contained_hook_is_not_deaf_to_signals_that_the_engine_ignores(place: Place) -> None:
    handler = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        failure = place.failure("kill -TERM $$; echo deaf")
    finally:
        signal.signal(signal.SIGTERM, handler)

    assert failure.kind is FailureKind.KILLED


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("readonly", 'wanted "none", "read-only" or "project"'),
        ({"writes": ["."]}, 'unknown key "writes"'),
        ({"write": ["src/*.py"]}, "wanted folders"),
        ({"write": ["/"]}, "wanted folders"),
        ({"memory": "lots"}, 'memory: wanted a size above 0, such as "512MB"'),
        ({"memory": 0}, "memory: wanted a size above 0"),
        ({"memory": 512}, "memory: wanted a size of at least 1MB"),
        ({"processes": 0}, "processes: wanted a whole number above 0"),
        ({"env": ["TOKEN=1"]}, "env: wanted a variable's name"),
        ({"net": "api.example.com:443"}, "net: wanted true, false or a list of hosts"),
        ({"net": ["https://api.example.com"]}, "net: "),
        ({"cpu": "fast"}, "wanted seconds above 0"),
        ({"tmp": "mine"}, 'wanted "private" or "shared"'),
        ({"level": "none", "net": True}, 'wanted "read-only" or "project"'),
        ({}, "wanted a table with some of"),
        (True, 'wanted a level ("none", "read-only", "project") or a table'),
    ],
)
def test_sandbox_that_cannot_be_meant_is_an_error(value: object, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Engine().hook("h", on="before_tool", run="true", sandbox=value)

    assert text in str(caught.value)


def test_user_chooses_the_level_of_hooks_of_others_and_a_project_does_not(place: Place) -> None:
    hook = '[[hook]]\nname = "h"\non = "before_tool"\nrun = "true"\n'
    (place.project / "hookline.toml").write_text(f'[settings]\nsandbox = "none"\n{hook}')
    config = place.home / ".config" / "hookline"
    config.mkdir(parents=True)
    dirs = UserDirs(home=place.home, config=config, data=place.home / "data")

    levels = []
    for settings in ("", '[settings]\nsandbox = "read-only"\n', '[settings]\nsandbox = "open"\n'):
        (config / "hookline.toml").write_text(settings)
        levels.append(load_project(place.project, folders=dirs).hooks[0].containment.level)

    assert levels == ["project", "read-only", "project"]
