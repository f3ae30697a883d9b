import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hookline.debug.footprint import Footprint, RunFolders, read_calls, suggest_sandbox
from hookline.model.sandbox import LEVELS, Sandbox


def escape(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(text))


@pytest.fixture
def around(tmp_path: Path) -> RunFolders:
    root = tmp_path.resolve()
    for name in ("project", "home", "private"):
        (root / name).mkdir()
    return RunFolders(
        project=f"{root}/project", home=f"{root}/home", tmp=f"{root}/private", entries=frozenset({"notes.md", "src"})
    )


def test_relative_paths_are_counted_from_the_folder_of_their_process() -> None:
    parent = [f'chdir("{escape("sub")}") = 0', "clone(child_stack=NULL, flags=SIGCHLD) = 8"]
    child = [
        f'mkdir("{escape("made")}", 0777) = 0',
        f'unlinkat(5<{escape("/other")}>, "{escape("gone")}", 0) = 0',
        f'renameat2(AT_FDCWD<{escape("/p/sub")}>, "{escape("a")}", AT_FDCWD<{escape("/p/sub")}>, "{escape("b")}", 0) = 0',
        f'mkdir("{escape("refused")}", 0777) = -1 EEXIST (File exists)',
    ]

    seen = read_calls({7: parent, 8: child}, "/p")

    assert seen.written == {"/p/sub/made", "/other/gone", "/p/sub/a", "/p/sub/b"}


def test_opened_files_are_read_or_written_where_they_really_are() -> None:
    lines = [
        f'openat(AT_FDCWD<{escape("/p")}>, "{escape("link")}", O_RDONLY|O_CLOEXEC) = 3<{escape("/real")}>',
        f'openat(AT_FDCWD<{escape("/p")}>, "{escape("ö")}", O_WRONLY|O_CREAT, 0666) = 3<{escape("/p/ö")}>',
        f'openat(AT_FDCWD<{escape("/p")}>, "{escape("/dev/null")}", O_WRONLY) = 3<{escape("/dev/null")}>',
        f'openat(AT_FDCWD<{escape("/p")}>, "{escape("x")}", O_RDONLY) = -1 ENOENT (No such file or directory)',
        "exit_group(0) = ?",
    ]

    seen = read_calls({1: lines}, "/p")

    assert seen.read == {"/real"}
    assert seen.written == {"/p/ö"}


def test_connections_and_names_are_seen() -> None:
    query = "".join(f"\\x{byte:02x}" for byte in b"\x18\xc1\x01\0\0\1\0\0\0\0\0\0\3api\7example\3com\0\0\1\0\1")
    lines = [
        f'connect(3<x>, {{sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("{escape("10.0.0.1")}")}}, 16) = 0',
        f'sendto(3<x>, "{query}", 33, 0, NULL, 0) = 33',
        f'connect(4<x>, {{sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("{escape("1.2.3.4")}")}}, 16) = -1 EINPROGRESS (x)',
        f'connect(5<x>, {{sa_family=AF_UNIX, sun_path="{escape("/run/docker.sock")}"}}, 20) = 0',
        f'connect(5<x>, {{sa_family=AF_UNIX, sun_path="{escape("/var/run/nscd/socket")}"}}, 20) = -1 ENOENT (x)',
    ]

    seen = read_calls({1: lines}, "/p")

    assert seen.endpoints == {("1.2.3.4", 443)}
    assert seen.names == {"api.example.com"}
    assert seen.sockets == {"/run/docker.sock"}


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_what_strace_writes_is_understood(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    words = [
        "strace",
        "-ff",
        "-y",
        "-xx",
        "-qq",
        "-o",
        f"{folder}/log",
        "sh",
        "-c",
        "mkdir 'a b'; cd 'a b'; echo x > c; rm c",
    ]
    subprocess.run(words, cwd=folder, check=True)
    logs = {int(path.suffix[1:]): path.read_text().splitlines() for path in folder.glob("log.*")}

    seen = read_calls(logs, str(folder))

    assert seen.written == {f"{folder}/a b", f"{folder}/a b/c"}


@pytest.mark.parametrize(
    ("written", "sandbox"),
    [
        ([], LEVELS["read-only"]),
        (["{tmp}/x"], LEVELS["read-only"]),
        (["{project}/new"], LEVELS["project"]),
        (["{project}/new", "{project}/build/a"], LEVELS["project"]),
        (["{project}/notes.md"], Sandbox(write=("notes.md",))),
        (["{project}/build/a/b", "{project}/build/c"], Sandbox(write=("build/**",))),
        (["{home}/.cache/tool/a", "{home}/.cache/tool/b/c"], Sandbox(write=("~/.cache/tool",))),
        (["{home}/.toolrc"], Sandbox(write=("~/.toolrc",))),
    ],
)
def test_what_was_written_becomes_folders(around: RunFolders, written: list[str], sandbox: Sandbox) -> None:
    folders = {"project": around.project, "home": around.home, "tmp": around.tmp}
    paths = frozenset(path.format_map(folders) for path in written)

    assert suggest_sandbox(Footprint(written=paths), around) == sandbox


def test_what_others_obey_is_named_by_itself(around: RunFolders) -> None:
    hooks = Path(around.project, ".git", "hooks")
    hooks.mkdir(parents=True)

    found = suggest_sandbox(Footprint(written=frozenset({f"{hooks}/pre-commit"})), around)

    assert found.write == (".git/**", ".git/hooks")


def test_a_host_without_a_name_opens_the_network(around: RunFolders) -> None:
    local = Footprint(endpoints=frozenset({("127.0.0.1", 8080)}))
    sockets = Footprint(sockets=frozenset({"/run/x"}))

    assert suggest_sandbox(local, around).net == ("localhost:8080",)
    assert suggest_sandbox(Footprint(endpoints=frozenset({("203.0.113.9", 443)})), around).net is True
    assert suggest_sandbox(sockets, around).net == ("unix",)


def test_variables_are_named(around: RunFolders) -> None:
    assert suggest_sandbox(Footprint(), around, env=["B", "A"]) == Sandbox(level="read-only", env=("A", "B"))
