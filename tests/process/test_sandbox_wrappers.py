"""Hooks of a project where our own library cannot contain them: what another program holds them to, and what is said."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hookline.model.sandbox import LEVELS, Sandbox
from hookline.process.containment import MachineLayers, list_lacking
from hookline.process.sandbox_wrappers import FileRules, Wrapper, find_wrapper, make_profile, make_words
from tests.cli.program import environment
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap is for Linux")
BUBBLEWRAP = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

NO_LIBRARY = {"HOOKLINE_NATIVE": "0"}
OLD_KERNEL = {"HOOKLINE_WITHOUT": "landlock,mounts"}
OTHER_PROCESSOR = {"HOOKLINE_WITHOUT": "seccomp"}
WAYS = pytest.mark.parametrize(
    "way", [NO_LIBRARY, OLD_KERNEL, OTHER_PROCESSOR], ids=["no library", "old kernel", "other processor"]
)
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
USERS = pytest.mark.parametrize(
    "user",
    [
        (),
        pytest.param(
            NOBODY,
            marks=pytest.mark.skipif(
                os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root becomes another user"
            ),
        ),
    ],
    ids=["as it is", "as nobody"],
)

HOOK = """
[[hook]]
name = "probe"
on = "before_tool"
run = "sh probe.sh"
on_error = "block"
"""
# each line of the report is what a hook tried, and whether it could
PROBE = r"""
cat > /dev/null
say() { if eval "$2" 2> /dev/null > /dev/null; then echo "$1 yes"; else echo "$1 no"; fi; }
{
say keys 'grep SECRET ~/.ssh/id'
say outside 'echo x > ../outside'
say project 'echo x > inside'
say git 'echo x > .git/config'
say temporary 'echo x > $TMPDIR/file'
say variable 'test -n "$MY_VALUE"'
say network "$PYTHON -c 'import os, socket; socket.create_connection((\"127.0.0.1\", int(os.environ[\"PORT\"])), 5)'"
say cores 'test "$(ulimit -c)" != 0'
} > report
echo '{"decision": "deny", "reason": "the hook ran"}'
"""


class Place:
    """A project and a home folder that any user may use, and the real program in it."""

    def __init__(self, root: Path, user: tuple[str, ...]) -> None:
        self.home, self.project, self._user = root / "home", root / "project", user
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text("SECRET")
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "config").write_text("mine")
        (root / "outside").write_text("mine")
        (self.project / "probe.sh").write_text(PROBE)

    def configure(self, text: str, **env: str) -> None:
        (self.project / "hookline.toml").write_text(text)
        if self._user:
            for path in (self.home.parent, *self.home.parent.rglob("*")):
                os.chown(path, 65534, 65534)
        approved = self.run("trust", "approve", "probe", "--yes", **env)
        assert approved.returncode == 0, approved.stderr

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        variables = environment(self.home, PYTHON=sys.executable, MY_VALUE="t", PYTHONDONTWRITEBYTECODE="1", **env)
        return subprocess.run(
            [*(shutil.which(word) or word for word in self._user), sys.executable, "-m", "hookline", *arguments],
            cwd=self.project,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def emit(self, **env: str) -> subprocess.CompletedProcess[str]:
        return self.run("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}', **env)

    def report(self) -> Mapping[str, str]:
        return dict(line.split() for line in (self.project / "report").read_text().splitlines())

    def layers(self) -> list[str]:
        explained = json.loads(self.run("sandbox", "explain", "probe", "--json").stdout)
        assert explained["lately"] is not None
        layers: list[str] = explained["lately"]["layers"]
        return layers


@pytest.fixture
def place(user: tuple[str, ...]) -> Iterator[Place]:
    # not tmp_path, which is only for the user who runs the tests
    folder = Path(tempfile.mkdtemp(prefix="wrapped-")).resolve()
    folder.chmod(0o755)
    yield Place(folder, user)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def without_bubblewrap() -> Iterator[str]:
    """Give a search path with everything that the hook needs, and without bubblewrap."""
    folder = Path(tempfile.mkdtemp(prefix="programs-"))
    folder.chmod(0o755)
    for name in ("sh", "cat", "grep"):
        (folder / name).symlink_to(str(shutil.which(name)))
    yield str(folder)
    shutil.rmtree(folder)


@LINUX
@BUBBLEWRAP
@WAYS
@USERS
@pytest.mark.spec("O-28", "P-22", "U-18")
def test_bubblewrap_contains_what_the_library_cannot(place: Place, way: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = f'env = {{ PORT = "{server.getsockname()[1]}", PYTHON = "{sys.executable}" }}\n'
        place.configure(HOOK + env)
        done = place.emit(**way)

    assert "the hook ran" in done.stdout + done.stderr
    assert place.report() == {
        "keys": "no",
        "outside": "no",
        "project": "yes",
        "git": "no",
        "temporary": "yes",
        "variable": "no",
        "network": "no",
        "cores": "no",
    }
    assert place.layers() == ["bubblewrap", "limits"]
    assert (place.project / ".git" / "config").read_text() == "mine"


@LINUX
@BUBBLEWRAP
@pytest.mark.parametrize("user", [()], ids=["as it is"])
def test_folders_that_are_named_are_all_that_can_be_read(place: Place) -> None:
    (place.project / "src").mkdir()
    (place.project / "src" / "a").write_text("in\n")
    (place.project / "other").write_text("out")
    sandbox = '{ level = "read-only", read = ["src"], write = ["build/**"] }'
    shell = "cat src/a; cat other; echo x > build/b; cat build/b; ls /srv /var/log"

    done = place.run("sandbox", "run", "--sandbox", sandbox, "--", "sh", "-c", shell, **NO_LIBRARY)

    assert done.stdout.split() == ["in", "x"]
    assert "other" in done.stderr


@LINUX
@BUBBLEWRAP
@pytest.mark.parametrize("user", [()], ids=["as it is"])
def test_limits_hold_under_bubblewrap(place: Place) -> None:
    sandbox = '{ file_size = "1MB", open_files = 17, cpu = "3s", memory = "64MB" }'

    done = place.run(
        "sandbox",
        "run",
        "--sandbox",
        sandbox,
        "--",
        "sh",
        "-c",
        "ulimit -f -n; ulimit -n; ulimit -t; ulimit -d",
        **NO_LIBRARY,
    )

    assert done.stdout.split()[-3:] == ["17", "3", "65536"]


@LINUX
@WAYS
@USERS
@pytest.mark.spec("U-18")
def test_what_nothing_contains_is_called_uncontained(
    place: Place, way: dict[str, str], without_bubblewrap: str
) -> None:
    place.configure(HOOK, PATH=without_bubblewrap)

    done = place.emit(**way, PATH=without_bubblewrap)

    assert "the hook ran" in done.stdout + done.stderr
    assert place.report()["keys"] == "yes"
    # its variables are filtered all the same
    assert place.report()["variable"] == "no"
    assert place.layers()[0] == "uncontained"
    explained = place.run("sandbox", "explain", "probe", **way, PATH=without_bubblewrap).stdout
    assert "nothing: this machine cannot contain it" in explained
    assert "bubblewrap is not installed" in explained


@LINUX
@WAYS
@USERS
@pytest.mark.spec("U-18")
def test_a_guard_that_must_be_contained_blocks_where_it_cannot_be(
    place: Place, way: dict[str, str], without_bubblewrap: str
) -> None:
    place.configure(HOOK + "sandbox = { required = true }\n", PATH=without_bubblewrap)

    done = place.emit(**way, PATH=without_bubblewrap)

    assert done.returncode == 2
    assert not (place.project / "report").exists()
    assert "it must be contained" in done.stdout + done.stderr
    assert "install bubblewrap" in done.stdout + done.stderr
    why = place.run("why", "probe", **way, PATH=without_bubblewrap).stdout
    assert "It would not run: it must be contained" in why


@LINUX
@pytest.mark.parametrize("user", [()], ids=["as it is"])
def test_a_bubblewrap_that_fails_is_no_answer_of_the_hook(place: Place) -> None:
    programs = place.home / "bin"
    programs.mkdir()
    # it works when it is tried, and then no more
    (programs / "bwrap").write_text(
        f'#!/bin/sh\n[ -e {programs}/tried ] || {{ touch {programs}/tried; exit 0; }}\necho "bwrap: no space" >&2\nexit 1\n'
    )
    (programs / "bwrap").chmod(0o755)
    place.configure(HOOK)

    done = place.emit(**NO_LIBRARY, PATH=f"{programs}:{os.environ['PATH']}")

    assert done.returncode == 2
    assert "not run, because it could not be contained: bubblewrap: no space" in done.stdout + done.stderr


@LINUX
@pytest.mark.parametrize("user", [()], ids=["as it is"])
def test_a_bubblewrap_of_the_project_is_not_used(place: Place, without_bubblewrap: str) -> None:
    programs = place.project / "bin"
    programs.mkdir()
    (programs / "bwrap").write_text("#!/bin/sh\nexit 0\n")
    (programs / "bwrap").chmod(0o755)
    path = f"{programs}:{without_bubblewrap}"
    place.configure(HOOK, PATH=path)

    done = place.emit(**NO_LIBRARY, PATH=path)

    assert "the hook ran" in done.stdout + done.stderr
    assert place.layers() == ["uncontained"]


@LINUX
@BUBBLEWRAP
@pytest.mark.parametrize("user", [()], ids=["as it is"])
def test_nothing_that_a_hook_started_outlives_it_under_bubblewrap(place: Place) -> None:
    shell = "(sleep 1; echo late > late) & exit 0"

    done = place.run("sandbox", "run", "--", "sh", "-c", shell, **NO_LIBRARY)

    assert done.returncode == 0
    subprocess.run(["sleep", "1.5"], check=True)
    assert not (place.project / "late").exists()


@LINUX
@BUBBLEWRAP
@pytest.mark.parametrize("user", [()], ids=["as it is"])
def test_the_agent_of_ssh_is_out_of_reach_under_bubblewrap(place: Place) -> None:
    path = place.home / "agent"
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({str(path)!r}); print('connected')"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        words = ("--", sys.executable, "-c", connect)
        contained = place.run("sandbox", "run", *words, **NO_LIBRARY, SSH_AUTH_SOCK=str(path))
        named = place.run(
            "sandbox", "run", "--sandbox", '{ net = ["unix"] }', *words, **NO_LIBRARY, SSH_AUTH_SOCK=str(path)
        )

    assert contained.stdout == ""
    assert named.stdout == "connected\n"


def test_a_network_of_some_hosts_is_said_to_be_open() -> None:
    gaps = list_lacking(Sandbox(net=("api.example.com:443",)), MachineLayers(wrapper="bubblewrap"))

    assert any("the network is in reach" in gap for gap in gaps)
    words = make_words(
        Wrapper("bubblewrap", "/usr/bin/bwrap"), Sandbox(net=("a.example:443",)), FileRules(project="/p")
    )
    assert "--unshare-net" not in words
    assert "--unshare-net" in make_words(Wrapper("bubblewrap", "/usr/bin/bwrap"), Sandbox(), FileRules(project="/p"))


def test_nothing_is_hidden_inside_of_what_is_hidden(tmp_path: Path) -> None:
    (tmp_path / "keys-2").mkdir()
    inner = tmp_path / "keys" / "inner"
    inner.mkdir(parents=True)
    hidden = (str(tmp_path / "keys"), str(tmp_path / "keys-2"), str(inner))
    wrapper = Wrapper("bubblewrap", "/usr/bin/bwrap")

    words = make_words(wrapper, Sandbox(net=True), FileRules(project="/p", hidden=hidden))
    narrow = make_words(wrapper, Sandbox(net=True), FileRules(project="/p", readable=("/usr",), hidden=hidden))

    assert [words[place + 1] for place, word in enumerate(words) if word == "--tmpfs"] == [*hidden[:2]]
    assert "--tmpfs" not in narrow


def test_profile_for_macos_says_what_the_sandbox_says() -> None:
    rules = FileRules(
        project="/p", writable=("/p", "/private/tmp/x"), protected=("/p/.git/hooks",), hidden=('/u/.ssh "a" \\',)
    )

    lines = make_profile(LEVELS["project"], rules).splitlines()

    assert lines[:2] == ["(version 1)", "(allow default)"]
    write = lines.index("(deny file-write*)")
    assert '(subpath "/p") (subpath "/private/tmp/x")' in lines[write + 1]
    assert '(literal "/dev/null")' in lines[write + 1]
    # of several rules, the last one counts
    assert lines[write + 2] == '(deny file-write* (subpath "/p/.git/hooks"))'
    assert lines[write + 3] == '(deny file-read* file-write* (subpath "/u/.ssh \\"a\\" \\\\"))'
    assert lines[-1] == "(deny network*)"


def test_profile_for_macos_opens_what_is_named() -> None:
    rules = FileRules(project="/p", readable=("/p/src",))

    assert "(deny network*)" not in make_profile(Sandbox(net=True), rules)
    assert make_profile(Sandbox(net=("unix",)), rules).endswith("(allow network-outbound (remote unix-socket))")
    lines = make_profile(Sandbox(), rules).splitlines()
    assert '(subpath "/p/src")' in lines[lines.index("(deny file-read-data)") + 1]


def test_words_for_macos_end_with_a_shell_that_sets_the_limits() -> None:
    words = make_words(Wrapper("sandbox-exec", "/usr/bin/sandbox-exec"), Sandbox(cpu=2.0), FileRules(project="/p"))

    assert words[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert words[3:5] == ("/bin/sh", "-c")
    assert "ulimit -t 2 " in words[5]
    assert words[5].endswith('exec "$@"')


def test_a_machine_without_a_wrapper_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.process.sandbox_wrappers.sys.platform", "win32")

    assert find_wrapper() == Wrapper("", problem="this system has no way to contain a process")
