"""One answer, given by any of these: a program of its own, the daemon, or the launcher before either of them.

What is compared is every byte that the agent gets.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct

from hookline.model.exchange import Answer
from tests.daemon.living import Living, lived
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

SPARE: Final = ("spare", "", "2")
SETTLED: Final = 2.2  # seconds until what was written is believed not to change any more
THOROUGH: Final = frozenset({"no", "context", "no opinion"})
HOOK: Final = '[[hook]]\nid = "h"\non = ["before_tool", "before_agent", "session_start"]\nrun = ["/bin/sh", "h.sh"]\n'
PAYLOADS: Final = Path(__file__).resolve().parents[1] / "dialects" / "payloads"


class Case(Struct, frozen=True, kw_only=True):
    """What somebody configured, and what their hook does."""

    config: str = HOOK
    script: str = "cat >/dev/null\n"
    project: Mapping[str, str] = {}
    env: Mapping[str, str] = {}


def says(text: str) -> str:
    return f"cat >/dev/null; printf '%s\\n' '{text}'\n"


CASES: Final[Mapping[str, Case]] = {
    "nothing configured": Case(config=""),
    "no opinion": Case(),
    "for other tools": Case(config=HOOK.replace("run =", 'tools = "other"\nrun =')),
    "yes": Case(script=says('{"decision": "allow"}')),
    "no": Case(script=says('{"decision": "deny", "reason": "not so, ümlaut"}')),
    "question": Case(script=says('{"decision": "ask", "reason": "sure?"}')),
    "stop": Case(script=says('{"decision": "stop", "reason": "enough"}')),
    "context": Case(script=says('{"context": "the moon is full"}')),
    "message": Case(script=says('{"message": "look here"}')),
    "other arguments": Case(script=says('{"args": {"command": "true"}}')),
    "exit code of a no": Case(script="cat >/dev/null; echo why >&2; exit 2\n"),
    "falls over": Case(script="cat >/dev/null; echo broken >&2; exit 3\n"),
    "falls over, and is a guard": Case(config=HOOK + 'on_error = "block"\n', script="exit 3\n"),
    "says nonsense": Case(script="cat; echo; echo {{{\n"),
    "is not there": Case(config=HOOK.replace("/bin/sh", "/does/not/exist")),
    "takes too long": Case(config=HOOK + 'timeout = 0.5\non_error = "block"\n', script="sleep 30\n"),
    "reads nothing": Case(script="exit 0\n"),
    "says too much": Case(script="cat >/dev/null; yes | head -c 3000000\n"),
    "observed": Case(config=HOOK + "observe = true\n", script=says('{"decision": "deny", "reason": "x"}')),
    "looks around": Case(script='cat >/dev/null; printf \'{"context": "%s %s"}\' "$PWD" "$WHO"\n', env={"WHO": "me"}),
    "a condition": Case(config=HOOK + "if = 'tool == \"shell\"'\n", script=says('{"decision": "deny", "reason": "c"}')),
    "files": Case(config=HOOK + 'writes = ["**/*.md"]\n', script=says('{"decision": "deny", "reason": "f"}')),
    "two hooks": Case(
        config=HOOK + HOOK.replace('"h"', '"second"'), script=says('{"decision": "deny", "reason": "both"}')
    ),
    "switched off": Case(script=says('{"decision": "deny", "reason": "x"}'), env={"HOOKS_ENABLED": "false"}),
    "unreadable": Case(config="[[hook]\n"),
    "a slip": Case(config=HOOK.replace("before_tool", "before_tol")),
    "nobody approved it": Case(config="", project={"hookline.toml": HOOK, "h.sh": says('{"decision": "deny"}')}),
    "broken in the project": Case(project={"hookline.toml": "[[["}),
    "a webhook that is not there": Case(
        config='[[hook]]\nid = "w"\non = "before_tool"\nurl = "http://127.0.0.1:1/"\non_error = "block"\n'
    ),
    "python": Case(config='[[hook]]\nid = "p"\non = "before_tool"\ncall = "mine:check"\n', project={}),
}
SAID: Final = ("claude/PreToolUse.Bash", "claude/UserPromptSubmit", "codex/PreToolUse", "gemini/BeforeTool")
HOSTS: Final = {"claude": "claude-code", "codex": "codex-cli", "gemini": "gemini-cli", "qwen": "qwen-code"}


class Agent:
    """An agent's call, made in every way."""

    def __init__(self, living: Living, case: Case, said: str, program: Path) -> None:
        self._living = living
        self._case = case
        folder, _, name = said.partition("/")
        self._program = program
        living.configure(case.config, {"h.sh": case.script, "mine.py": "def check(event):\n    return None\n"})
        for file, text in case.project.items():
            (living.project / file).write_text(text)
        document = json.loads((PAYLOADS / folder / f"{name}.json").read_bytes())
        self._document = {**document, "cwd": str(living.project)}
        self._words = ("--if-broken", "block", HOSTS[folder], name.partition(".")[0])
        self._count = 0

    def _said(self) -> bytes:
        """Say it in a session of its own: what the person is told once a session is told each time."""
        self._count += 1
        return json.dumps({**self._document, "session_id": f"session {self._count}"}).encode()

    def _run(self, words: list[str], **more: str) -> Answer:
        done = subprocess.run(
            words,
            cwd=self._living.project,
            env={**self._living.env, **self._case.env, **more},
            input=self._said(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        return Answer(stdout=done.stdout, stderr=done.stderr, exit_code=done.returncode)

    def by_a_program(self) -> Answer:
        return self._run([sys.executable, "-m", "hookline", "hook", *self._words])

    def by_the_daemon(self) -> Answer:
        return self._living.ask(self._said(), self._words, **self._case.env)

    def by_the_launcher(self, **more: str) -> Answer:
        return self._run([str(self._program), sys.executable, "hook", *self._words], **more)

    def by_the_launcher_alone(self) -> Answer:
        return self.by_the_launcher(HOOKLINE_DAEMON="off")


WAYS: Final[Mapping[str, Callable[[Agent], Answer]]] = {
    "daemon": Agent.by_the_daemon,
    "launcher and daemon": Agent.by_the_launcher,
    "launcher alone": Agent.by_the_launcher_alone,
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory, program: Path) -> Iterator[Mapping[tuple[str, str], Agent]]:
    """Give a person for each case, all of whose agents one daemon answers, with nothing that was written just now."""
    folder = tmp_path_factory.mktemp("people")
    made: dict[tuple[str, str], Agent] = {}
    places = [(name, said) for name in CASES for said in (SAID if name in THOROUGH else SAID[:1])]
    with lived(tmp_path_factory.mktemp("first")) as first:
        for number, (name, said) in enumerate(places):
            (folder / str(number)).mkdir()
            made[name, said] = Agent(Living(folder / str(number), first.runtime), CASES[name], said, program)
        first.start()
        time.sleep(SETTLED)
        yield made
        status = first.status()
    assert int(str(status["answered"])) > 0
    assert status["declined"] == 0


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_the_same_whoever_gives_it(people: Mapping[tuple[str, str], Agent], name: str) -> None:
    for said in SAID if name in THOROUGH else SAID[:1]:
        agent = people[name, said]
        expected = agent.by_a_program()
        assert {way: ask(agent) for way, ask in WAYS.items()} == dict.fromkeys(WAYS, expected), said
        # once more, now that everybody has had reason to remember something
        assert agent.by_the_launcher() == expected


def test_the_answer_is_the_same_though_everything_was_written_just_now(living: Living, program: Path) -> None:
    living.start()
    agent = Agent(living, CASES["no"], SAID[0], program)
    expected = agent.by_a_program()
    assert {way: ask(agent) for way, ask in WAYS.items()} == dict.fromkeys(WAYS, expected)
