"""A home and a project of a benchmark's own, with hooks in them, and a daemon of its own where there is one.

Nothing of the person's own is read or written. Folders have short names: the path of a socket may not be long.
"""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from hookline import Hook
from hookline.hosts.command_line import command_line, find_launcher
from tests.bench.processes import Ended, encoded, family_processor_time, having, listener, round_trip, wait_until_gone

HOST: Final = "claude-code"
EVENT: Final = "PreToolUse"
PAYLOADS: Final = Path(__file__).parent.parent / "dialects" / "payloads" / "claude"
SETTLED: Final = 2.1  # seconds
LONGEST: Final = 30.0  # seconds for the daemon to come up

NO_LAUNCHER: Final = "not built: no native launcher here"
NO_DAEMON: Final = "not built: no daemon here"
WRONG: Final = "answers wrongly"
NO_WARM: Final = "not built: no warm hooks here"

# one tool for each kind of hook, so that one configuration serves all of them
NATIVE, WARM, COLD, NONE = "Bash", "Write", "Edit", "Read"
SAID: Final = {
    "hookSpecificOutput": {
        "hookEventName": EVENT,
        "permissionDecision": "allow",
        "permissionDecisionReason": "checked",
    }
}

PYTHON_HOOK: Final = """\
import json
import sys

event = json.load(sys.stdin)
if "rm -rf /" in event["tool_input"].get("command", ""):
    sys.exit("that would be all of it")
said = {"hookEventName": event["hook_event_name"], "permissionDecision": "allow", "permissionDecisionReason": "checked"}
json.dump({"hookSpecificOutput": said}, sys.stdout)
"""

HOOK: Final = """\
[[hook]]
id = {id}
on = "PreToolUse"
dialect = "claude-code"
tools = {tools}
run = {run}
"""


class WrongAnswer(SystemExit):
    """Somebody did not answer as it has to be: a wrong answer is quick, too, and counts for nothing."""


def can_be_warm() -> bool:
    """Say whether this engine knows warm hooks."""
    return "warm" in Hook.__struct_fields__


def toml_hook(name: str, tool: str, run: list[str] | str, **keys: bool | int | str) -> str:
    """Write one hook; without a tool it is for all of them."""
    tools = [tool] if tool else []
    text = HOOK.format(id=json.dumps(name), tools=json.dumps(tools), run=json.dumps(run))
    return text + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())


def native_hook(folder: Path, answer: str) -> list[str]:
    """Compile a hook that gives an answer, and give its words; without a compiler, `/bin/cat` has to do."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        file = folder / "answer"
        file.write_text(answer)
        return ["/bin/cat", str(file)]
    program, source = folder / "hook", Path(__file__).with_name("hook.c")
    # a text in JSON is one in C as well
    subprocess.run([compiler, "-O2", f"-DANSWER={json.dumps(answer)}", "-o", program, source], check=True)
    return [str(program)]


class Stage:
    """Where a benchmark of whole programs plays."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.project = folder, folder / "home", folder / "project"
        self.runtime = folder / "run"
        for each in (self.home, self.project, self.runtime):
            each.mkdir(mode=0o700)
        self.settings = self.home / ".config" / "hookline" / "hookline.toml"
        # as they are from the second call of a person on
        for each in (self.settings.parent, self.home / ".local" / "share" / "hookline"):
            each.mkdir(mode=0o700, parents=True)
        self.native = native_hook(folder, json.dumps(SAID, separators=(",", ":")) + "\n")
        self.script = folder / "hook.py"
        self.script.write_text(PYTHON_HOOK)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "LANG": "C.UTF-8",
            "SHLVL": "1",
        }
        self.env = encoded(self.environment)
        self.env_without_daemon = encoded({**self.environment, "HOOKLINE_DAEMON": "off"})

    def write_usual_hooks(self) -> None:
        """Give each kind of hook a tool of its own."""
        python = [sys.executable, str(self.script)]
        hooks = [
            toml_hook("native", NATIVE, self.native),
            toml_hook("python", COLD, python),
            *([toml_hook("warm", WARM, python, warm=True)] if can_be_warm() else ()),
        ]
        self.settings.write_text("\n".join(hooks))

    def payload(self, tool: str, *, number: int = 0, **args: str) -> bytes:
        """Give a call of a tool as Claude Code was recorded to say it, as if it happened here."""
        recorded = json.loads((PAYLOADS / "PreToolUse.Bash.json").read_text())
        recorded |= {
            "cwd": str(self.project),
            "transcript_path": str(self.home / ".claude" / "projects" / "p" / "session.jsonl"),
            "tool_name": tool,
            "tool_use_id": f"toolu_{number}",
            "tool_input": {"command": "make test", "file_path": str(self.project / "a.py"), **args},
        }
        return json.dumps(recorded).encode()

    def hookline(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run our program here."""
        return subprocess.run(
            [sys.executable, "-m", "hookline", *words],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def socket(self) -> Path | None:
        """Give the daemon's socket, once there is one."""
        return next(iter(sorted((self.runtime / "hookline").glob("*.sock"))), None)

    def daemon(self) -> int:
        """Give the number of the daemon's process; 0 without one."""
        path = self.socket()
        return listener(path) if path else 0

    def start_daemon(self) -> str:
        """Start a daemon, or say why there is none."""
        done = self.hookline("daemon", "start")
        end = time.monotonic() + (LONGEST if done.returncode == 0 else 0)
        while not self.daemon():
            if time.monotonic() >= end:
                return NO_DAEMON
            time.sleep(0.05)
        return ""

    def stop_daemon(self) -> None:
        """Stop the daemon, kindly at first; then whatever still runs here, such as one that was just taking over."""
        if pid := self.daemon():
            self.hookline("daemon", "stop")
            wait_until_gone(pid)
        for stray in having(f"XDG_RUNTIME_DIR={self.runtime}"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(stray, signal.SIGKILL)

    def kill_daemon(self) -> None:
        """End the daemon at once, and leave nothing of it, as if there had never been one."""
        if pid := self.daemon():
            os.kill(pid, signal.SIGKILL)
            wait_until_gone(pid)
        shutil.rmtree(self.runtime / "hookline", ignore_errors=True)

    def answered(self) -> int:
        """Give how many calls the daemon has answered."""
        done = self.hookline("daemon", "status", "--json")
        return int(json.loads(done.stdout).get("answered", 0))

    def daemon_processor_time(self) -> float:
        """Give the processor time of the daemon and of all that it started."""
        pid = self.daemon()
        return family_processor_time(pid) if pid else 0.0


def launcher_words(installed: str = "") -> list[str]:
    """Give the launcher and its words, as an installed line has them; nothing without a native launcher."""
    words = shlex.split(installed or installed_line())
    if words[:2] != ["test", "-s"]:
        return []
    return words[words.index("&&") + 1 : words.index("exit") - 1]


def installed_line() -> str:
    """Give the line that stands in the settings of the agent."""
    return command_line(HOST, EVENT, python=sys.executable, policy="block", launcher=launcher())


@cache
def launcher() -> str:
    """Give the native launcher that belongs to this Python; empty without one."""
    return find_launcher(sys.executable)


def settle() -> None:
    """Let files grow old enough: one that has just changed may change again, and is read anew each time."""
    time.sleep(SETTLED)


def calling(
    argv: list[str], body: bytes, env: Mapping[bytes, bytes], *, answer: bytes | None = None
) -> Callable[[], None]:
    """Make a candidate of a whole program; one that ends badly, or with another answer, ends the benchmark."""

    def call() -> None:
        ended = round_trip(argv, body, env)
        if ended.code or answer not in {None, ended.stdout}:
            raise SystemExit(f"{argv[:1]} ended with {ended.code}: {ended.stdout[:500]!r}")

    return call


def checked(what: str, ended: Ended, *, has_answer: bool) -> bytes:
    """Give an answer that is as it has to be.

    Raises:
        WrongAnswer: It is another one; unless somebody minds, that is the end of the benchmark.
    """
    said = json.loads(ended.stdout) if ended.stdout.strip() else None
    if ended.code or said != (SAID if has_answer else None):
        raise WrongAnswer(f"{what} did not answer as it should: {ended}")
    return ended.stdout


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    """Set the stage, go there, and clear it away."""
    folder = Path(tempfile.mkdtemp(prefix="hkb-", dir="/tmp" if Path("/tmp").is_dir() else None))  # noqa: S108 - short, and nobody else's: mkdtemp
    before = Path.cwd()
    made = Stage(folder)
    os.chdir(made.project)
    try:
        yield made
    finally:
        os.chdir(before)
        made.stop_daemon()
        shutil.rmtree(folder, ignore_errors=True)
