"""What a contained process cannot do: the table in `escapes/attacks.py`, tried for real by root and by another user.

Each row is also tried without containment, where it must get through, so that it cannot fail for another reason; and with one
of the two layers for files, where exactly the rows get through that only the other one stops.
"""

import asyncio
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

if sys.platform != "linux" or platform.machine() != "x86_64":
    pytest.skip("the table names system calls of Linux by the numbers of x86-64", allow_module_level=True)

from hookline.model.exchange import FailureKind
from hookline.model.sandbox import LEVELS, NONE, PROJECT, READ_ONLY, SHARED, Sandbox
from hookline.process.containment import Cell, CellKey, Containment, find_layers
from hookline.process.linux import is_supported, run
from hookline.process.result import ContainmentError, ProcessResult, result_to_reply
from hookline.process.spec import ProcessSpec
from tests.cli.program import configure, hookline
from tests.process.escapes.attacks import (
    ALWAYS,
    ANYBODY,
    ATTACKS,
    HIDDEN,
    LANDLOCK,
    MOUNTS,
    NOTHING,
    ROOT,
    SECRET,
    UNUSED_USER,
    Attack,
)
from tests.waiting import until

pytestmark = pytest.mark.slow

if not is_supported() or find_layers().lacking:
    pytest.skip(f"this machine cannot contain: {find_layers().lacking}", allow_module_level=True)

ROOT_FOLDER = Path(__file__).parents[2]
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable

NOT_STOPPED = {
    "create_agent_settings": "a mount covers what exists; what does not exist yet could only be covered by creating it",
    "read_earlier_hard_link": "the user gave the file a second name in a folder that is no secret",
    "look_at_key": "landlock guards contents and lists, not the names, sizes and times of files",
    "read_command_lines": "the command lines of all processes are public on Linux, unless /proc is mounted otherwise",
}
"""What gets through with all layers, and why none of them can stop it."""

MUST_WORK = {"use_socket_pair", "limit_itself", "use_own_folder", "end_own_process"}
"""What a hook may do at every level."""


class Machine(NamedTuple):
    """Who runs the engine, and which layer is switched off."""

    user: int
    without: str

    @property
    def levels(self) -> tuple[str, ...]:
        return (READ_ONLY, PROJECT) if self.without else (NONE, READ_ONLY, PROJECT)

    def forces(self, level: str) -> set[str]:
        """Return what stops attacks at a level."""
        if level == NONE:
            return set()
        found = {ALWAYS, LANDLOCK, MOUNTS} - {self.without}
        return found | {HIDDEN} if LANDLOCK not in found else found

    def expects(self, row: Attack, level: str) -> str:
        """Return "through", "stopped", or "" where it depends on the machine."""
        stops = {*row.stops, LANDLOCK, MOUNTS} if row.is_inside and level == READ_ONLY else set(row.stops)
        if stops & self.forces(level) and level not in row.allowed:
            return "stopped"
        return "through" if row.control == ANYBODY or (row.control == ROOT and not self.user) else ""

    def find_difference(self, row: Attack, level: str, result: str) -> str:
        """Say what is wrong with how a row ended; "absent" is what this machine does not have."""
        expected = self.expects(row, level)
        is_wrong = result == "died" or (
            result != "absent" and expected not in {"", "through" if result == "through" else "stopped"}
        )
        return f"{level}: {row.name} ({row.tries}) was to be {expected}, and is: {result}" if is_wrong else ""


USERS = sorted({os.getuid(), UNUSED_USER if os.getuid() == 0 else os.getuid()})
MACHINES = [Machine(user, without) for user in USERS for without in ("", MOUNTS, LANDLOCK)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that another user can reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="escapes-", ignore_cleanup_errors=True) as path:
        Path(path).chmod(0o755)
        yield Path(path).resolve()


def attack(machine: Machine, folder: Path) -> dict[str, Any]:
    """Run the whole table at every level; return what happened at each."""
    shutil.copyfile(Path(__file__).with_name("escapes") / "attacks.py", folder / "attacks.py")
    (folder / "attacks.py").chmod(0o644)
    done = subprocess.run(
        [sys.executable, "-m", "tests.process.escapes.driver", folder, str(machine.user), *machine.levels],
        cwd=ROOT_FOLDER,
        env={**os.environ, "HOOKLINE_WITHOUT": machine.without, "SESSION_SECRET": SECRET.decode()},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.spec("P-22", "O-28", "A-25")
@pytest.mark.parametrize(
    "machine",
    [pytest.param(machine, marks=[pytest.mark.slow] if machine.without else []) for machine in MACHINES],
    ids=[f"{machine.user}-without-{machine.without or 'nothing'}" for machine in MACHINES],
)
def test_every_attempt_works_uncontained_and_fails_contained(machine: Machine, folder: Path) -> None:
    found = attack(machine, folder)
    problems = [
        problem
        for level in machine.levels
        for name, result in found[level]["results"].items()
        if (problem := machine.find_difference(ATTACKS[name], level, result))
    ]
    assert problems == []
    for level in machine.levels:
        what = found[level]
        assert what["results"], what["stderr"]
        assert {layer.split()[0] for layer in what["layers"]} == (
            set() if level == NONE else {LANDLOCK, "seccomp", "limits", MOUNTS} - {machine.without}
        )
    # what attacks say of themselves is one thing, what has really happened another
    for level in (READ_ONLY, PROJECT):
        what = found[level]
        changed = {Path(path).name for path in what["changed"]}
        assert changed <= {name for name, row in ATTACKS.items() if machine.expects(row, level) == "through"}
        assert what["visits"] == 0
        if machine.without != LANDLOCK:
            assert (what["signals"], what["ended"]) == (0, [])
        if not machine.without:
            assert changed == set()
            through = {name for name, result in what["results"].items() if result == "through"}
            allowed = {"write_project", "create_agent_settings"} if level == PROJECT else set()
            assert through == ({*NOT_STOPPED} - {"create_agent_settings"}) | MUST_WORK | allowed


def test_the_table_has_a_sentence_for_each_of_more_than_a_hundred_rows() -> None:
    assert len(ATTACKS) > 130
    assert [name for name, row in ATTACKS.items() if not row.tries.endswith(".")] == []
    assert {name for name, row in ATTACKS.items() if NOTHING in row.stops} <= {*NOT_STOPPED, *MUST_WORK}


# ---- what it may use ----


class Place(NamedTuple):
    """A home folder and a project."""

    home: Path
    project: Path

    def key(self, sandbox: Sandbox) -> CellKey:
        return CellKey(sandbox, str(self.project), str(self.home))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path.resolve() / "home", tmp_path.resolve() / "project")
    (made.home / ".config").mkdir(parents=True)
    made.project.mkdir()
    return made


@pytest.fixture
def containment() -> Iterator[Containment]:
    pool = Containment()
    yield pool
    pool.close()


def spec_of(line: str, place: Place, cell: Cell | None) -> ProcessSpec:
    words = ("/bin/sh", "-c", line, "sh", PYTHON)
    env = {b"PATH": os.environb[b"PATH"], b"HOME": os.fsencode(place.home), b"TMPDIR": b"/tmp"}
    spec = ProcessSpec(program="/bin/sh", argv=words, env=env, cwd=str(place.project))
    return spec if cell is None else spec.put_into(cell)


def run_line(line: str, place: Place, cell: Cell | None, *, timeout: float = 60) -> ProcessResult:
    """Run a shell line to its end, and give its cell back."""
    try:
        return asyncio.run(run(spec_of(line, place, cell), stdin=b"", timeout=timeout))
    finally:
        if cell is not None:
            cell.release()


ENDLESS = "while :; do :; done"
ALLOCATE = "b = b'x' * (60 << 20); import time; time.sleep(30)"
SHARE = "import mmap, time; m = mmap.mmap(-1, 300 << 20); m.write(b'x' * (300 << 20)); time.sleep(30)"
MAKE_FILES = (
    "import os, time; fs = [os.memfd_create('x') for _ in range(5)]; "
    "[os.write(f, b'x' * (1 << 20)) for f in fs for _ in range(60)]; time.sleep(30)"
)
# more of them than a watch that gets no share of the processor could count and end
DOUBLE = "import os, time; [os.fork() for _ in range(10)]; time.sleep(30)"
BOMBS = {
    "fork bomb": ("processes", 20, "n=0; while [ $n -lt 60 ]; do sleep 30 & n=$((n+1)); done; wait"),
    "fork bomb that doubles": ("processes", 20, f'"$1" -S -c "{DOUBLE}"'),
    "memory bomb": ("memory", 100 << 20, '"$1" -c "x = bytearray(300 << 20)"'),
    "memory bomb of shared pages": ("memory", 100 << 20, f'"$1" -c "{SHARE}"'),
    "memory bomb of files in memory": ("memory", 100 << 20, f'"$1" -c "{MAKE_FILES}"'),
    "memory bomb of several processes": (
        "memory",
        100 << 20,
        f'for n in 1 2 3 4; do "$1" -c "{ALLOCATE}" & done; wait',
    ),
    "disk bomb": ("file_size", 1 << 20, 'exec head -c 5000000 /dev/zero >"$TMPDIR/big"'),
    "processor bomb": ("cpu", 1, ENDLESS),
    "processor bomb of several processes": ("cpu", 1, f"({ENDLESS}) & ({ENDLESS}) & ({ENDLESS}) & wait"),
    "open files bomb": ("open_files", 20, '"$1" -c "x = [open(\'/dev/null\') for n in range(50)]"'),
}
"""What uses too much: the limit, its figure, and a shell line."""


@pytest.mark.spec("P-21", "O-29", "A-25")
def test_what_uses_too_much_is_ended_and_the_limit_is_named(place: Place, containment: Containment) -> None:
    async def explode(limit: str, figure: int, line: str) -> tuple[str, str]:
        sandbox = replace(LEVELS[READ_ONLY], **{limit: figure})
        cell = containment.acquire(place.key(sandbox))
        result = await run(spec_of(line, place, cell), stdin=b"", timeout=60)
        cell.release()
        reply = result_to_reply(result, 60, ("bomb",), sandbox=sandbox)
        return (reply.failure.kind, reply.failure.message) if reply.failure is not None else ("", str(result))

    async def explode_all() -> list[tuple[str, str]]:
        return await asyncio.gather(*(explode(*bomb) for bomb in BOMBS.values()))

    for (name, (limit, *_)), (kind, message) in zip(BOMBS.items(), asyncio.run(explode_all()), strict=True):
        assert (name, kind) == (name, FailureKind.LIMIT), message
        assert f"(sandbox.{limit})" in message, name


LEAVERS = {
    "fork": "sleep {0} &",
    "session": "setsid sleep {0} &",
    "double fork": "(sleep {0} & ) &",
    "group": "\"$1\" -c \"import os, time; os.setpgid(0, 0); os.execvp('sleep', ['sleep', '{0}'])\" &",
    "nohup": "nohup sleep {0} >/dev/null 2>&1 &",
    "daemon": "(setsid sh -c 'exec sleep {0}' <&- >&- 2>&- &) &",
    "deaf": "(trap '' TERM HUP INT; sleep {0}) &",
    "new group of a shell": "set -m; sleep {0} & set +m",
}
"""How processes stay behind."""


def find_processes(word: str) -> list[int]:
    """Return the processes that have a word in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (path / "cmdline").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue
    return found


def has_ended(word: str) -> bool:
    return not find_processes(word)


@pytest.mark.parametrize("ending", ["", "\nwait; sleep 60"], ids=["that ends", "that is late"])
def test_nothing_that_a_contained_hook_started_lives_on(place: Place, containment: Containment, ending: str) -> None:
    words = {name: f"{6000 + index}.{os.getpid()}" for index, name in enumerate(LEAVERS)}

    async def leave(name: str) -> None:
        cell = containment.acquire(place.key(LEVELS[READ_ONLY]))
        line = LEAVERS[name].format(words[name]) + (ending or "\nsleep 0.2")
        await run(spec_of(line, place, cell), stdin=b"", timeout=1 if ending else 60)
        cell.release()

    async def leave_all() -> None:
        await asyncio.gather(*map(leave, LEAVERS))

    asyncio.run(leave_all())
    for name, word in words.items():
        until(partial(has_ended, word), f"everything ended that was started by: {name}")


def test_an_uncontained_hook_leaves_processes_behind(place: Place) -> None:
    word = f"7000.{os.getpid()}"
    run_line(f"setsid sleep {word} >&- 2>&- & sleep 0.2", place, None)
    for pid in until(lambda: find_processes(word)):
        os.kill(pid, 9)


# ---- named hosts ----

NAMED = replace(LEVELS[READ_ONLY], net=("api.example.com:443",))
WAYS_OUT = {
    "connect": "socket.create_connection(ADDRESS, 5)",
    "fast open": "socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ADDRESS)",
    "fast open of a message": "socket.socket().sendmsg([b'x'], [], socket.MSG_FASTOPEN, ADDRESS)",
    "postponed": "s = socket.socket(); s.setsockopt(6, 30, 1); s.connect(ADDRESS); s.send(b'x')",
    "multipath": "socket.socket(2, 1, 262).connect(ADDRESS)",
    "datagram": "socket.socket(2, 2).sendto(b'x', ADDRESS)",
}


@pytest.mark.spec("P-22")
@pytest.mark.parametrize("address", ["another port", "the port of the proxy on another machine"])
@pytest.mark.parametrize("way", WAYS_OUT)
def test_hook_that_names_hosts_cannot_go_around_the_proxy(
    place: Place, containment: Containment, way: str, address: str
) -> None:
    cell = containment.acquire(place.key(NAMED))
    own = int(cell.variables["HTTPS_PROXY"].rpartition(":")[2])
    # every address that begins with 127 is one of loopback, and another than that of the proxy
    with socket.create_server(("127.0.0.2", 0 if address == "another port" else own)) as server:
        line = f"import socket; {WAYS_OUT[way]}; print('out')".replace("ADDRESS", str(server.getsockname()))
        server.settimeout(5)
        if way not in {"datagram", "multipath"}:
            assert run_line(f'"$1" -c "{line}"', place, None).stdout == b"out\n"
            server.accept()[0].close()
        assert run_line(f'"$1" -c "{line}"', place, cell).stdout == b""
        server.setblocking(False)  # noqa: FBT003 - its only argument
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "network" in cell.layers


@pytest.mark.parametrize("without", ["mounts", "mounts,landlock>3"])
def test_hook_that_names_hosts_is_told_about_what_else_it_can_reach_and_does_not_run_if_it_must_be_contained(
    tmp_path: Path, without: str
) -> None:
    home, project = tmp_path.resolve() / "home", tmp_path.resolve() / "project"
    configure(home, "")
    off = {"HOOKLINE_WITHOUT": without, "HOOKLINE_DAEMON": "0"}
    table = 'sandbox = { net = ["api.example.com:443"], required = REQUIRED }\n'
    for required, code in (("false", 0), ("true", 2)):
        (project / "hookline.toml").write_text(
            '[[hook]]\nid = "one"\non = "before_tool"\nrun = "sh -c true"\non_error = "block"\n'
            + table.replace("REQUIRED", required)
        )
        assert hookline(home, "trust", "approve", "one", "--yes").returncode == 0
        assert hookline(home, "emit", "before_tool", "--tool", "shell", **off).returncode == code
        assert "in reach" in hookline(home, "sandbox", "explain", "one", **off).stdout
        assert "mounts, network" in hookline(home, "sandbox", "explain", "one").stdout
    assert "It would not run: it must be contained, and" in hookline(home, "why", "one", **off).stdout


# ---- cells that are used again ----


def test_secret_and_settings_that_appear_later_are_out_of_reach_of_the_next_call(
    place: Place, containment: Containment
) -> None:
    line = "cat ~/.config/gh/hosts.yml; echo x >.claude/settings.json"
    assert run_line(line, place, containment.acquire(place.key(LEVELS[PROJECT]))).stdout == b""
    for path in (place.home / ".config/gh/hosts.yml", place.project / ".claude/settings.json"):
        path.parent.mkdir()
        path.write_text("token")
    result = run_line(line, place, containment.acquire(place.key(LEVELS[PROJECT])))
    assert (result.stdout, result.exit_code != 0) == (b"", True)
    assert (place.project / ".claude/settings.json").read_text() == "token"
    assert run_line(line, place, None).stdout == b"token"


def test_link_to_settings_that_appears_later_protects_what_it_leads_to(place: Place, containment: Containment) -> None:
    line = "echo x >settings/one.json; echo x >.claude/one.json"
    (place.project / "settings").mkdir()
    assert run_line(line, place, containment.acquire(place.key(LEVELS[PROJECT]))).exit_code
    (place.project / "settings/one.json").write_text("intact")
    (place.project / ".claude").symlink_to("settings")
    assert run_line(line, place, containment.acquire(place.key(LEVELS[PROJECT]))).exit_code
    assert (place.project / "settings/one.json").read_text() == "intact"


def test_settings_in_a_folder_that_is_named_are_protected_as_those_of_the_project(
    place: Place, containment: Containment
) -> None:
    (place.project / "part/.claude").mkdir(parents=True)
    line = "echo x >part/made; echo x >part/.claude/settings.json"
    assert run_line(line, place, containment.acquire(place.key(Sandbox(write=("part",))))).exit_code
    assert [path.name for path in sorted((place.project / "part").rglob("*"))] == [".claude", "made"]


@pytest.mark.parametrize("folder", [".", ".."], ids=["home", "around home"])
def test_home_folder_is_no_project_that_a_hook_may_write(place: Place, containment: Containment, folder: str) -> None:
    (place.home / ".bashrc").write_text("intact")
    around = (place.home / folder).resolve()
    result = run_line(
        "echo x >~/.bashrc", place, containment.acquire(CellKey(LEVELS[PROJECT], str(around), str(place.home)))
    )
    assert (result.exit_code != 0, (place.home / ".bashrc").read_text()) == (True, "intact")
    # a folder in there that is named is meant
    sandbox = replace(LEVELS[READ_ONLY], write=(f"{place.home}/out/**",))
    (place.home / "out").mkdir()
    cell = containment.acquire(CellKey(sandbox, str(around), str(place.home)))
    assert run_line("echo x >~/out/made", place, cell).exit_code == 0


def test_settings_of_a_worktree_cannot_be_led_elsewhere(place: Place, containment: Containment) -> None:
    (place.project / ".git").write_text("gitdir: ../main/.git/worktrees/one")
    for line in ("echo gitdir: evil >.git", "rm .git", "mv .git gone", "echo x >new; mv -f new .git"):
        assert run_line(line, place, containment.acquire(place.key(LEVELS[PROJECT]))).exit_code, line
    assert (place.project / ".git").read_text() == "gitdir: ../main/.git/worktrees/one"


def test_temporary_folder_that_was_replaced_by_a_link_is_not_followed_when_it_is_emptied(
    place: Place, containment: Containment
) -> None:
    (place.home / "precious").write_text("kept")
    # another home: this one lies in the shared folder, which then is not writable as a whole
    key = CellKey(replace(LEVELS[READ_ONLY], tmp=SHARED), str(place.project), "/nonexistent")
    cell = containment.acquire(key)
    assert run_line(f"rmdir {cell.tmp} && ln -s {place.home} {cell.tmp}", place, cell).exit_code == 0
    assert (place.home / "precious").read_text() == "kept"
    assert Path(cell.tmp).is_symlink()
    Path(cell.tmp).unlink()
    assert containment.acquire(key).tmp != cell.tmp


def test_shared_memory_is_its_own_and_empty_at_each_call(place: Place, containment: Containment) -> None:
    code = (
        "import multiprocessing, os; print(os.listdir('/dev/shm')); open('/dev/shm/left', 'w'); "
        "print(multiprocessing.Pool(2).map(abs, [-1, -2]))"
    )
    for _ in range(2):
        result = run_line(f'"$1" -c "{code}"', place, containment.acquire(place.key(LEVELS[READ_ONLY])))
        assert result.stdout == b"[]\n[1, 2]\n", result.stderr
    assert not Path("/dev/shm/left").exists()  # noqa: S108 - that of the machine is meant


@pytest.mark.parametrize(
    "sandbox", [{"read": ("~/.ssh/id_rsa",)}, {"write": ("~/.ssh/id_rsa",)}, {"read": ("~/.ssh",)}]
)
def test_secret_that_a_definition_names_is_not_read_either(
    place: Place, containment: Containment, monkeypatch: pytest.MonkeyPatch, sandbox: dict[str, tuple[str, ...]]
) -> None:
    monkeypatch.setenv("HOME", str(place.home))
    (place.home / ".ssh").mkdir()
    (place.home / ".ssh/id_rsa").write_text("key")
    cell = containment.acquire(place.key(replace(LEVELS[READ_ONLY], **sandbox)))
    result = run_line("cat ~/.ssh/id_rsa; echo x >~/.ssh/id_rsa", place, cell)
    assert (result.stdout, (place.home / ".ssh/id_rsa").read_text()) == (b"", "key")


def test_refused_sandbox_leaves_no_folder_behind(place: Place, containment: Containment) -> None:
    (place.project / "build").symlink_to(place.home)
    before = {*Path(tempfile.gettempdir()).glob("hookline-*")}
    for sandbox in (Sandbox(write=("build",)), replace(LEVELS[PROJECT], user="there is nobody")):
        with pytest.raises(ContainmentError):
            containment.acquire(place.key(sandbox))
    assert {path for path in Path(tempfile.gettempdir()).glob("hookline-*") if path not in before} == set()


def test_temporary_folder_that_was_made_unreadable_does_no_harm(place: Place, containment: Containment) -> None:
    line = 'mkdir "$TMPDIR/a" && touch "$TMPDIR/a/b" && chmod 0 "$TMPDIR/a" "$TMPDIR"'
    for _ in range(2):
        assert run_line(line, place, containment.acquire(place.key(LEVELS[READ_ONLY]))).exit_code == 0


def test_link_of_the_project_gives_no_right_to_what_it_leads_to(place: Place, containment: Containment) -> None:
    (place.project / "build").symlink_to(place.home)
    for entry in ("build", "build/**", "build/.config"):
        with pytest.raises(ContainmentError, match="leads out of the project"):
            containment.acquire(place.key(Sandbox(write=(entry,))))


def test_folder_that_became_a_link_between_two_calls_gives_no_right_either(
    place: Place, containment: Containment
) -> None:
    (place.project / "build").mkdir()
    key = place.key(Sandbox(write=("build",)))
    line = "echo x >build/made; echo x >$HOME/made"
    run_line(line, place, containment.acquire(key))
    assert (place.project / "build/made").exists()
    shutil.rmtree(place.project / "build")
    (place.project / "build").symlink_to(place.home)
    # a cell that is kept is refused by the kernel, and one that has to be made anew before
    with pytest.raises(ContainmentError, match=r"symbolic links|leads out of the project"):
        run_line(line, place, containment.acquire(key))
    assert not (place.home / "made").exists()


# ---- from end to end ----


@pytest.mark.parametrize(
    "line",
    [
        "echo x >>.git/config",
        "echo x >.git/hooks/pre-commit",
        "mv .git .gone; mkdir -p .git/hooks",
        "chmod 777 .git/config",
        "touch -r .git/config stamp; echo y >.git/config; touch -r stamp .git/config",
    ],
)
def test_what_others_obey_is_compared_afterwards_where_no_mount_protects_it(tmp_path: Path, line: str) -> None:
    home, project = tmp_path.resolve() / "home", tmp_path.resolve() / "project"
    configure(home, "")
    (project / ".git/hooks").mkdir(parents=True)
    (project / ".git/config").write_text("x")
    (project / "change.sh").write_text(f"cat >/dev/null\n{line}\n")
    (project / "hookline.toml").write_text('[[hook]]\nid = "one"\non = "before_tool"\nrun = "sh ./change.sh"\n')
    assert hookline(home, "trust", "approve", "one", "--yes").returncode == 0
    said = hookline(
        home, "emit", "before_tool", "--tool", "shell", "--json", HOOKLINE_WITHOUT="mounts", HOOKLINE_DAEMON="0"
    )
    assert "was made or changed while the hook ran" in json.loads(said.stdout)["hooks"][0]["failure"]["message"]


INTRUSIONS = {
    "read the key": "cat ~/.ssh/id_rsa",
    "read the approvals": "cat ~/.local/share/hookline/approvals.json",
    "wrote outside": "echo x >~/made",
    "wrote the settings of git": "echo x >>.git/config",
    "wrote the project": "echo x >made",
    "saw the token": 'test -n "$SESSION_TOKEN"',
    "reached the engine": "kill -0 $PPID",
    "connected": 'bash -c "exec 3<>/dev/tcp/127.0.0.1/PORT"',
}


@pytest.mark.spec("U-18", "O-28")
@pytest.mark.parametrize(
    ("sandbox", "done"),
    [("", ["wrote the project"]), ('sandbox = "read-only"', []), ('sandbox = "none"', list(INTRUSIONS))],
    ids=["default", READ_ONLY, NONE],
)
def test_approved_hook_of_a_project_does_what_its_level_allows_and_the_trace_has_the_layers(
    tmp_path: Path, sandbox: str, done: list[str]
) -> None:
    home, project = tmp_path.resolve() / "home", tmp_path.resolve() / "project"
    configure(home, "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        tries = "".join(f'({line}) >/dev/null 2>&1 && found="$found;{name}"\n' for name, line in INTRUSIONS.items())
        files = {
            home / ".ssh/id_rsa": SECRET.decode(),
            project / ".git/config": "",
            project / "intrude.sh": f"{tries.replace('PORT', str(server.getsockname()[1]))}"
            'echo "{\\"message\\": \\"$found\\"}"\n',
            project
            / "hookline.toml": f'[[hook]]\nid = "one"\non = "before_tool"\nrun = "sh ./intrude.sh"\n{sandbox}\n',
        }
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert hookline(home, "trust", "approve", "one", "--yes").returncode == 0
        said = hookline(home, "emit", "before_tool", "--tool", "shell", "--json", SESSION_TOKEN="sesame")  # noqa: S106
    outcome = json.loads(said.stdout)
    assert outcome["hooks"][0]["failure"] is None, outcome
    assert [name for name in INTRUSIONS if name in str(outcome["messages"])] == done
    trace = hookline(home, "trace", "export").stdout
    assert (f"landlock {find_layers().landlock}" in trace) == (sandbox != 'sandbox = "none"')
