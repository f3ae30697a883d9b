"""A damaged installation is never a yes: each kind of damage, under the real launcher, a plain Python, and real git.

The guard of the person denies everything, so whatever still works denies as well, and `--if-broken block` holds for the rest.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from hookline.hosts.command_line import command_line
from hookline.model.exchange import Answer
from hookline.sources.git_install import script_beside
from tests.bridge.launching import build, socket_name
from tests.daemon.living import short_folder
from tests.waiting import PATIENCE
from tools.fuzz_payloads import is_denied

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="it is about programs and sockets of Unix"),
]

SOURCE: Final = Path(__file__).resolve().parents[2] / "src" / "hookline"
GUARD: Final = """
[[hook]]
id = "guard"
on = ["before_tool", "git_commit"]
deny = "nothing happens here"
on_error = "block"
"""
PAYLOADS: Final[Mapping[tuple[str, str], Mapping[str, object]]] = {
    ("claude-code", "PreToolUse"): {
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
    },
    ("windsurf", "pre_run_command"): {
        "agent_action_name": "pre_run_command",
        "trajectory_id": "t",
        "tool_info": {"command_line": "ls", "cwd": "/"},
    },
}
# a program of another machine, as far as the system looks
OTHER_MACHINE: Final = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf7\x7f" + bytes(44)


class Place:
    """An installation of its own, a person with a guard, and a project that is a git repository."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.python = self.bin / "python"
        self.launcher = self.bin / "hookline-hook"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        self.libraries = folder / "venv" / "lib" / version / "site-packages"
        self.package = self.libraries / "hookline"
        self.home, self.project, self.runtime = folder / "home", folder / "project", runtime
        self.config = self.home / ".config" / "hookline" / "hookline.toml"
        self.data = self.home / ".local" / "share" / "hookline"
        self.sockets = runtime / "hookline"

    @property
    def socket(self) -> Path:
        return self.sockets / socket_name(str(self.python))

    def make(self, program: Path) -> None:
        for each in (self.bin, self.libraries, self.config.parent, self.data, self.project):
            each.mkdir(parents=True)
        self.sockets.mkdir(mode=0o700)
        self.python.symlink_to(Path(sys.executable).resolve())
        (self.bin.parent / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
        (self.libraries / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        shutil.copytree(SOURCE, self.package, ignore=shutil.ignore_patterns("__pycache__", "*.c"))
        shutil.copy(program, self.launcher)
        self.config.write_text(GUARD)

    def environment(self, **more: str) -> dict[str, str]:
        usual = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime)}
        identity = {f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        return {**usual, **identity, "GIT_CONFIG_NOSYSTEM": "1", "HOOKLINE_DAEMON": "off", **more}

    def ask(self, host: str, event: str, *, launcher: bool, **more: str) -> Answer:
        """Run the line in the settings of an agent, as the agent does."""
        named = str(self.launcher) if launcher else ""
        command = command_line(host, event, python=str(self.python), policy="block", launcher=named)
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=json.dumps({**PAYLOADS[host, event], "cwd": str(self.project)}).encode(),
            capture_output=True,
            cwd=self.project,
            env=self.environment(**more),
            timeout=PATIENCE,
            check=False,
        )
        return Answer(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)

    def git(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *words],
            cwd=self.project,
            env=self.environment(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )


Damage = Callable[[Place], object]


def clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def rewrite(path: Path, raw: bytes) -> None:
    """Write a file anew: its copies are links to the same one."""
    mode = path.stat().st_mode
    path.unlink()
    path.write_bytes(raw)
    path.chmod(mode)


def empty(find: Callable[[Place], Path]) -> Damage:
    return lambda place: rewrite(find(place), b"")


def halve(find: Callable[[Place], Path]) -> Damage:
    def cut(place: Place) -> None:
        raw = find(place).read_bytes()
        rewrite(find(place), raw[: len(raw) // 2])

    return cut


def zero(find: Callable[[Place], Path]) -> Damage:
    return lambda place: rewrite(find(place), bytes(find(place).stat().st_size))


def remove(find: Callable[[Place], Path]) -> Damage:
    return lambda place: find(place).unlink()


def replace_by(find: Callable[[Place], Path], content: bytes, mode: int = 0o755) -> Damage:
    def put(place: Place) -> None:
        clear(find(place))
        find(place).write_bytes(content)
        find(place).chmod(mode)

    return put


def replace_by_link(find: Callable[[Place], Path]) -> Damage:
    def put(place: Place) -> None:
        clear(find(place))
        find(place).symlink_to("/nowhere")

    return put


def make_folder(find: Callable[[Place], Path]) -> Damage:
    def put(place: Place) -> None:
        clear(find(place))
        find(place).mkdir()

    return put


def listen_nowhere(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place.socket))


def module(name: str) -> Callable[[Place], Path]:
    return lambda place: place.package / name


def of_python(place: Place) -> Path:
    return place.python


def of_launcher(place: Place) -> Path:
    return place.launcher


def of_config(place: Place) -> Path:
    return place.config


# what agents and git both run through
INSTALLED: Final[Mapping[str, Damage]] = {
    "the package is gone": lambda place: shutil.rmtree(place.package),
    "the package is empty": make_folder(lambda place: place.package),
    **{
        f"{name} is {word}": damage(module(name))
        for name in (
            "__main__.py",
            "cli/main.py",
            "bridge/serve.py",
            "engine/engine.py",
            "engine/merge.py",
            "config/loader.py",
            "model/event.py",
        )
        for word, damage in {"empty": empty, "cut off": halve, "full of zeros": zero, "gone": remove}.items()
    },
    **{
        f"{name} is empty": empty(module(name))
        for name in (
            "json_codec.py",
            "errors.py",
            "ports.py",
            "wiring.py",
            "project.py",
            "dialects/__init__.py",
            "kinds/rule.py",
            "engine/planner.py",
            "config/formats/native.py",
            "model/verdict.py",
            "model/installed_entry.py",
        )
    },
    "the Python is gone": remove(of_python),
    "the Python leads nowhere": replace_by_link(of_python),
    "the Python is empty": replace_by(of_python, b""),
    "the Python is full of zeros": replace_by(of_python, bytes(1000)),
    "the Python may not be run": replace_by(of_python, b"#!/bin/sh\n", 0o644),
    "the Python is of another machine": replace_by(of_python, OTHER_MACHINE),
    "the Python is a script that does nothing": replace_by(of_python, b"#!/bin/sh\n"),
    "the Python is true": replace_by(of_python, Path("/bin/true").read_bytes()),
    "the Python is a folder": make_folder(of_python),
    "the libraries are gone": lambda place: (place.libraries / "libraries.pth").unlink(),
    "the environment of the Python is gone": lambda place: (place.bin.parent / "pyvenv.cfg").unlink(),
    "a library is empty": lambda place: (place.libraries / "msgspec.py").touch(),
    "the start of the Python ends it": lambda place: (place.libraries / "sitecustomize.py").write_text(
        "raise SystemExit(0)"
    ),
    "the start of the Python ends it at once": lambda place: (place.libraries / "usercustomize.pth").write_text(
        "import os; os._exit(0)\n"
    ),
    "the configuration is cut off": lambda place: place.config.write_text(GUARD[:40]),
    "the configuration is full of zeros": zero(of_config),
    "the configuration is a folder": make_folder(of_config),
    "the data folder is a file": replace_by(lambda place: place.data, b""),
}
# what only agents run through
BEFORE_AGENTS: Final[Mapping[str, Damage]] = {
    **{
        f"cli/hook.py is {word}": damage(module("cli/hook.py"))
        for word, damage in {"empty": empty, "gone": remove}.items()
    },
    "the dialect is empty": empty(module("dialects/claude_code.py")),
    "the launcher is gone": remove(of_launcher),
    "the launcher is empty": empty(of_launcher),
    "the launcher is cut off": halve(of_launcher),
    "the launcher is full of zeros": zero(of_launcher),
    "the launcher may not be run": lambda place: place.launcher.chmod(0o644),
    "the launcher is of another machine": replace_by(of_launcher, OTHER_MACHINE),
    "the launcher is a folder": make_folder(of_launcher),
}
# what a launcher that looks for a daemon finds
SOCKETS: Final[Mapping[str, Damage]] = {
    "the socket is a file": lambda place: place.socket.touch(),
    "the socket is a folder": lambda place: place.socket.mkdir(),
    "nobody listens at the socket": listen_nowhere,
    "the folder of the socket is gone": lambda place: place.sockets.rmdir(),
    "the folder of the socket is open to others": lambda place: place.sockets.chmod(0o777),
    "a daemon that never came was on its way": lambda place: place.socket.with_suffix(".starting").touch(),
    "a daemon cannot write its log": lambda place: place.socket.with_suffix(".log").mkdir(),
}
BEFORE_GIT: Final[Mapping[str, Damage]] = {
    "cli/git.py is empty": empty(module("cli/git.py")),
    "the script of git is cut off": halve(lambda place: place.project / ".git" / "hooks" / "commit-msg"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give an installation that nothing is wrong with, to be copied."""
    program = build(tmp_path_factory.mktemp("launcher"))
    if program is None:
        pytest.skip("no compiler here")
    folder = tmp_path_factory.mktemp("whole")
    with short_folder() as runtime:
        place = Place(folder, runtime)
        place.make(program)
        # compiled once: a copy keeps the times of its files
        place.ask("claude-code", "PreToolUse", launcher=False)
        yield folder


def copied(whole: Path, folder: Path, runtime: Path) -> Place:
    place = Place(folder, runtime)
    original = Place(whole, runtime)
    for each in (place.bin, place.config.parent, place.data, place.project):
        each.mkdir(parents=True)
    shutil.copytree(original.libraries.parent.parent, place.libraries.parent.parent, copy_function=os.link)
    shutil.copytree(original.bin, place.bin, symlinks=True, dirs_exist_ok=True)
    shutil.copy(original.bin.parent / "pyvenv.cfg", place.bin.parent)
    place.config.write_text(GUARD)
    place.sockets.mkdir(mode=0o700)
    return place


def test_there_are_at_least_forty_kinds_of_damage() -> None:
    assert len({*INSTALLED, *BEFORE_AGENTS, *SOCKETS, *BEFORE_GIT}) >= 40


NOTHING: Final[Mapping[str, Damage]] = {"nothing": lambda _: None}
WAYS: Final[Mapping[str, tuple[str, str, Mapping[str, Damage]]]] = {
    "launcher": ("claude-code", "PreToolUse", {**NOTHING, **BEFORE_AGENTS}),
    "launcher, by exit code": ("windsurf", "pre_run_command", {**NOTHING, **BEFORE_AGENTS}),
    **{
        f"launcher, what is installed, {part + 1} of 3": (
            "claude-code",
            "PreToolUse",
            dict([*INSTALLED.items()][part::3]),
        )
        for part in range(3)
    },
    "python": ("claude-code", "PreToolUse", dict([*INSTALLED.items()][::3])),
}


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("way", WAYS)
def test_no_damage_is_a_yes_to_an_agent(way: str, whole: Path, tmp_path: Path) -> None:
    host, event, damages = WAYS[way]
    passed: list[str] = []
    for number, (name, damage) in enumerate(damages.items()):
        with short_folder() as runtime:
            place = copied(whole, tmp_path / str(number), runtime)
            damage(place)
            answer = place.ask(host, event, launcher=way != "python")
            if not is_denied(host, answer):
                passed.append(f"{name}: {answer}")
            shutil.rmtree(tmp_path / str(number))
    assert passed == []


@pytest.mark.spec("U-10")
def test_no_damage_on_the_way_to_the_daemon_is_a_yes_to_an_agent(whole: Path, tmp_path: Path) -> None:
    passed: list[str] = []
    for number, (name, damage) in enumerate(SOCKETS.items()):
        with short_folder() as runtime:
            place = copied(whole, tmp_path / str(number), runtime)
            damage(place)
            answer = place.ask("claude-code", "PreToolUse", launcher=True, HOOKLINE_DAEMON="on")
            subprocess.run(
                [place.python, "-m", "hookline", "daemon", "stop"],
                env=place.environment(HOOKLINE_DAEMON="on"),
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
            if not is_denied("claude-code", answer):
                passed.append(f"{name}: {answer}")
    assert passed == []


@pytest.mark.spec("U-10")
@pytest.mark.skipif(not shutil.which("git"), reason="git is not here")
@pytest.mark.parametrize("part", range(3))
def test_no_damage_is_a_yes_to_git(part: int, whole: Path, tmp_path: Path) -> None:
    passed: list[str] = []
    damages = [*NOTHING.items(), *INSTALLED.items(), *BEFORE_GIT.items()]
    for number, (name, damage) in enumerate(damages[part::3]):
        with short_folder() as runtime:
            place = copied(whole, tmp_path / str(number), runtime)
            place.git("init", "-q")
            script = place.project / ".git" / "hooks" / "commit-msg"
            script.parent.mkdir(exist_ok=True)
            script.write_bytes(script_beside("commit-msg", python=str(place.python), shell=""))
            script.chmod(0o755)
            damage(place)
            committed = place.git("commit", "--allow-empty", "-qm", "x")
            if committed.returncode == 0:
                passed.append(f"{name}: {committed.stderr!r}")
            shutil.rmtree(tmp_path / str(number))
    assert passed == []
