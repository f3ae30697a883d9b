"""Hooks that are programs: what may run, where, with what, and how it can go wrong."""

import asyncio
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.kinds.command.command import METACHARACTERS, WHITELIST, Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import Failure, FailureKind, Reply, Request
from hookline.model.hook import Hook, Source
from hookline.process.limits import LIMIT
from hookline.process.result import OUTPUT_LIMIT
from tests.children import children

LINES = "lines"  # a dialect whose commands are shell lines
COMMAND = Command(shell_dialects={LINES}, template_dialects={LINES})


def ask(
    hook: Hook,
    *,
    timeout: float = 20.0,
    cwd: str = "",
    env: Mapping[str, str] | None = None,
    values: Mapping[str, object] | None = None,
    kind: Command = COMMAND,
) -> Reply:
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": "ls"}, cwd=cwd)
    request = Request(event=event, document={"event": "before_tool"}, env=env or {}, values=values)

    async def within() -> Reply:
        async with asyncio.timeout(60):
            return await kind.call(hook, request, timeout=timeout)

    return asyncio.run(within())


def line(
    text: str, *, args: tuple[str, ...] = (), env: Mapping[str, str] | None = None, working_directory: str = ""
) -> Hook:
    return Hook(id="line", command=text, args=args, shell=True, env=env or {}, working_directory=working_directory)


def program(path: Path, text: str, *, mode: int = 0o755) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


def failure_of(reply: Reply) -> Failure:
    assert reply.failure is not None
    return reply.failure


# Hooks in any language

PYTHON_HOOK = """\
import json, sys
event = json.loads(input())
print(json.dumps({"continue": True, "seen": event["event"]}))
"""
NODE_HOOK = """\
let text = "";
process.stdin.on("data", part => { text += part; });
process.stdin.on("end", () => {
  console.log(JSON.stringify({continue: true, seen: JSON.parse(text).event}));
});
"""
JQ_HOOK = """\
#!/usr/bin/env bash
set -euo pipefail
jq -c '{continue: true, seen: .event}'
"""


def answer(reply: Reply) -> object:
    assert reply.failure is None, reply
    assert reply.exit_code == 0, reply
    return json.loads(reply.stdout)


@pytest.mark.spec("O-16", "P-01")
def test_python_hook_answers(tmp_path: Path) -> None:
    script = program(tmp_path / "hook.py", PYTHON_HOOK)

    assert answer(ask(Hook(id="py", command="python3", args=(str(script),)))) == {
        "continue": True,
        "seen": "before_tool",
    }


@pytest.mark.spec("O-16", "P-01")
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_node_hook_answers(tmp_path: Path) -> None:
    script = program(tmp_path / "hook.js", NODE_HOOK)

    assert answer(ask(Hook(id="js", command="node", args=(str(script),)))) == {"continue": True, "seen": "before_tool"}


@pytest.mark.spec("O-16", "P-01")
@pytest.mark.skipif(shutil.which("jq") is None or shutil.which("bash") is None, reason="needs bash and jq")
def test_bash_hook_answers(tmp_path: Path) -> None:
    script = program(tmp_path / "hook.sh", JQ_HOOK)

    assert answer(ask(Hook(id="sh", command=str(script)))) == {"continue": True, "seen": "before_tool"}


@pytest.mark.spec("O-21")
def test_hook_tried_by_hand_says_the_same(tmp_path: Path) -> None:
    script = program(tmp_path / "hook.py", PYTHON_HOOK)
    by_hand = subprocess.run(
        f"""echo '{{"event":"before_tool"}}' | python3 {script}""",
        shell=True,
        capture_output=True,
        timeout=60,
        check=True,
    )

    assert ask(Hook(id="py", command=f"python3 {script}")).stdout == by_hand.stdout


# What may run without a shell


@pytest.mark.spec("O-12", "A-25")
@pytest.mark.parametrize("character", METACHARACTERS)
def test_metacharacter_is_refused_in_command_and_in_args(tmp_path: Path, character: str) -> None:
    canary = tmp_path / "canary"
    in_command = Hook(id="a", command=f"/bin/sh -c /usr/bin/touch{character}{canary}", shell=False)
    in_args = Hook(id="b", command="/usr/bin/touch", args=(f"{canary}{character}",))

    for hook, place in ((in_command, "command"), (in_args, "args")):
        assert COMMAND.refusal(hook).startswith(f'{place} holds "{character}"')
        assert failure_of(ask(hook)) == Failure(FailureKind.REFUSED, COMMAND.refusal(hook))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spec("O-13")
@pytest.mark.parametrize("name", ["node", "python", "python3", "bash", "sh", "npx", "uvx"])
def test_whitelisted_program_needs_no_path(name: str) -> None:
    assert name in WHITELIST
    assert COMMAND.refusal(Hook(id="w", command=name, args=("script",))) == ""
    assert COMMAND.refusal(Hook(id="w", command=f"{name} script")) == ""


@pytest.mark.spec("O-12", "O-13")
@pytest.mark.parametrize("name", ["rm", "perl", "python4", "NODE", "bash5", "-c", "~/bin/hook"])
def test_other_program_needs_its_absolute_path(name: str) -> None:
    refusal = COMMAND.refusal(Hook(id="w", command=name, args=("script",)))

    assert refusal.startswith(f'program "{name}" is ')
    assert "write" in refusal


@pytest.mark.spec("O-12")
def test_relative_path_is_refused_and_the_message_says_what_to_write() -> None:
    hook = Hook(id="r", command="./guard.sh", args=("x",))

    assert COMMAND.refusal(hook) == 'program "./guard.sh" is a relative path: write the absolute one'


@pytest.mark.spec("O-12")
def test_absolute_path_may_run() -> None:
    assert COMMAND.refusal(Hook(id="a", command="/opt/guards/rm")) == ""


@pytest.mark.parametrize(
    ("command", "refusal"),
    [
        ("python 'x", "the command has a quote that is not closed: python 'x"),
        ("''", "the command is empty"),
        ("  ", "the command is empty"),
        ("python a\0b", "command holds a NUL character"),
        ("python {{tool_name}}", 'command holds "{", which is refused without a shell: templates are filled in shell'),
    ],
)
def test_command_that_cannot_be_read_is_refused(command: str, refusal: str) -> None:
    assert COMMAND.refusal(Hook(id="x", command=command)).startswith(refusal)


OWN = Command(template_dialects=("hookline",))


@pytest.mark.parametrize(
    "command",
    [
        "ruff format {{file.path}}",
        "prettier --write 'a file.md'",
        "eslint '*.js' a\\* \"*.ts\"",
        "'my linter'",
        "npm run lint",
    ],
)
def test_line_of_a_rule_file_names_any_program(command: str) -> None:
    assert OWN.refusal(Hook(id="x", command=command, dialect="hookline")) == ""


@pytest.mark.parametrize(
    "command",
    ["ruff check *.py", "ruff check ~/a", "ruff check && true", "ruff >log", "ruff $HOME", "ruff {{file.path}} | cat"],
)
def test_line_that_only_a_shell_understands_says_how_to_get_one(command: str) -> None:
    assert "shell = true" in OWN.refusal(Hook(id="x", command=command, dialect="hookline"))


def test_shell_line_with_args_is_refused() -> None:
    assert "has no args" in COMMAND.refusal(line("echo", args=("a",)))


@given(command=st.text(min_size=1), args=st.lists(st.text()), shell=st.sampled_from([True, False, None]))
@pytest.mark.spec("O-12")
def test_no_text_makes_the_check_fall_over(*, command: str, args: list[str], shell: bool | None) -> None:
    hook = Hook(id="x", command=command, args=tuple(args), shell=shell, dialect=LINES)

    refusal = COMMAND.refusal(hook)

    if shell is False and set(METACHARACTERS) & set("".join([command, *args])):
        assert refusal


@pytest.mark.spec("O-14")
def test_line_without_a_shell_is_split_into_words(tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    script = program(folder / "show", '#!/bin/sh\nprintf "[%s]" "$@"\n')

    assert ask(Hook(id="x", command=f"'{script}' a 'b  c' *")).stdout == b"[a][b  c][*]"


def test_args_arrive_one_by_one_and_the_command_beside_them_is_not_split(tmp_path: Path) -> None:
    script = program(tmp_path / "two words", '#!/bin/sh\nprintf "[%s]" "$@"\n')

    assert ask(Hook(id="x", command=str(script), args=("a b", "", "*", "'"))).stdout == b"[a b][][*][']"


# Shell lines


@pytest.mark.spec("C-03")
def test_hook_that_asks_for_a_shell_gets_one() -> None:
    assert COMMAND.refusal(line("cat | tr a-z A-Z; echo $((1 + 1))")) == ""
    assert ask(line("cat | tr a-z A-Z; echo $((1 + 1))")).stdout == b'{"EVENT":"BEFORE_TOOL"}\n2\n'


def test_dialect_of_shell_lines_implies_a_shell_unless_the_hook_says_otherwise() -> None:
    assert ask(Hook(id="x", dialect=LINES, command="echo a | cat")).stdout == b"a\n"
    assert failure_of(ask(Hook(id="x", dialect=LINES, command="echo a | cat", shell=False))).kind is FailureKind.REFUSED
    assert failure_of(ask(Hook(id="x", command="echo a | cat"))).kind is FailureKind.REFUSED


def test_args_mean_no_shell_even_in_a_dialect_of_shell_lines() -> None:
    assert ask(Hook(id="x", dialect=LINES, command="/bin/echo", args=("*", "~"))).stdout == b"* ~\n"


@pytest.mark.parametrize("text", ["./say hello", "sh say hello", "{folder}/say hello", "./say 'hello'", "./say $WHAT"])
def test_line_means_the_same_whether_or_not_a_shell_is_needed(tmp_path: Path, text: str) -> None:
    program(tmp_path / "say", '#!/bin/sh\necho "$1" from "$(pwd -P)"\n')
    hook = line(text.format(folder=tmp_path), env={"WHAT": "hello"}, working_directory=str(tmp_path))

    assert ask(hook).stdout.decode() == f"hello from {tmp_path.resolve()}\n"


@pytest.mark.parametrize("text", ["/nowhere/guard --strict", "nowhere-at-all", "./missing", "exit 127"])
def test_shell_line_whose_program_is_missing_exits_as_shells_do(text: str) -> None:
    reply = ask(line(text))

    assert (reply.exit_code, reply.failure) == (127, None)


def test_shell_line_whose_program_may_not_run_exits_as_shells_do(tmp_path: Path) -> None:
    script = program(tmp_path / "guard", "#!/bin/sh\n", mode=0o644)

    assert ask(line(f"{script}")).exit_code == 126


@pytest.mark.spec("P-20", "A-25")
def test_event_data_in_variables_and_input_is_never_run(tmp_path: Path) -> None:
    evil = f"$(touch {tmp_path}/canary)`touch {tmp_path}/canary`; touch {tmp_path}/canary"

    reply = ask(line('cat >/dev/null; printf %s "$PAYLOAD"'), env={"PAYLOAD": evil})

    assert reply.stdout.decode() == evil
    assert list(tmp_path.iterdir()) == []


# Templates


@pytest.mark.spec("A-05", "P-20", "A-25")
def test_template_value_is_one_word(tmp_path: Path) -> None:
    evil = f"a'b\"c $(touch {tmp_path}/canary); touch {tmp_path}/canary"
    hook = Hook(id="x", dialect=LINES, command="printf '[%s]' {{tool_args.path}} '{{tool_args.path}}'")

    assert COMMAND.refusal(hook) == ""
    assert ask(hook, values={"tool_args": {"path": evil}}).stdout.decode() == f"[{evil}][{evil}]"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("folder", ["", "/"])
def test_template_value_too_long_for_an_argument_still_arrives(folder: str) -> None:
    value = "long value " * 30_000
    hook = Hook(id="x", dialect=LINES, command="printf %s {{result}}; cat", working_directory=folder)

    reply = ask(hook, values={"result": value})

    assert reply.stdout.decode() == value + '{"event":"before_tool"}\n'


def test_unsafe_template_is_refused_before_and_instead_of_running(tmp_path: Path) -> None:
    hook = Hook(id="x", dialect=LINES, command=f"touch {tmp_path}/canary; eval {{{{result}}}}")

    assert COMMAND.refusal(hook) != ""
    assert failure_of(ask(hook, values={"result": "x"})) == Failure(FailureKind.REFUSED, COMMAND.refusal(hook))
    assert list(tmp_path.iterdir()) == []


def test_braces_mean_nothing_in_a_dialect_without_templates() -> None:
    hook = line("eval echo '{{result}}'")

    assert COMMAND.refusal(hook) == ""
    assert ask(hook).stdout == b"{{result}}\n"


# How it can end


@pytest.mark.parametrize("code", [0, 1, 2, 3, 126, 127, 255])
def test_exit_code_is_no_failure_but_reported(code: int) -> None:
    text = f"echo out; echo err >&2; exit {code}"

    assert ask(line(text)) == Reply(stdout=b"out\n", stderr=b"err\n", exit_code=code, argv=("sh", "-c", text))


@pytest.mark.spec("P-16")
def test_hook_ended_by_a_signal_is_a_failure() -> None:
    reply = ask(line("echo out; kill -SEGV $$"))

    assert reply == Reply(
        stdout=b"out\n",
        exit_code=128 + signal.SIGSEGV,
        failure=Failure(FailureKind.KILLED, "was ended by SIGSEGV before it finished"),
        argv=("sh", "-c", "echo out; kill -SEGV $$"),
    )


@pytest.mark.spec("P-03", "O-14", "A-09")
def test_hook_that_gives_no_answer_in_time_is_ended_and_what_it_said_is_kept() -> None:
    reply = ask(line("echo out; echo err >&2; exec sleep 60"), timeout=1.5)

    assert (reply.stdout, reply.stderr) == (b"out\n", b"err\n")
    assert failure_of(reply) == Failure(FailureKind.TIMEOUT, "gave no answer within 1.5 s; ended")


@pytest.mark.spec("P-03")
def test_hook_that_exits_with_success_when_ended_did_not_succeed() -> None:
    reply = ask(line("trap 'exit 0' TERM; while :; do sleep 0.05; done"), timeout=1.5)

    assert failure_of(reply).kind is FailureKind.TIMEOUT
    assert reply.exit_code != 0


@pytest.mark.spec("O-14", "A-25")
def test_hook_that_prints_too_much_is_ended() -> None:
    reply = ask(line("exec yes"))

    assert failure_of(reply) == Failure(
        FailureKind.TOO_MUCH_OUTPUT, "printed more than 1 MB on stdout and stderr; ended"
    )
    assert len(reply.stdout) == OUTPUT_LIMIT


def test_hook_that_prints_no_text_is_heard_as_it_is() -> None:
    assert ask(line(r"printf '\377\000\376'")).stdout == b"\xff\x00\xfe"


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="asyncio makes up an exit code")
def test_hook_whose_exit_code_was_taken_is_a_failure_and_not_run_again(tmp_path: Path) -> None:
    program(tmp_path / "count", "#!/bin/sh\necho x >>ran\n")
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        reply = ask(line(f"{tmp_path}/count"), cwd=str(tmp_path))
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert failure_of(reply).kind is FailureKind.INTERNAL
    assert (tmp_path / "ran").read_text("utf-8") == "x\n"


# Programs that cannot be started


@pytest.mark.spec("P-16")
def test_program_that_is_not_on_the_search_path_is_named(tmp_path: Path) -> None:
    hook = Hook(id="x", command="node", args=("x.js",), env={"PATH": str(tmp_path)})

    assert failure_of(ask(hook)) == Failure(FailureKind.NOT_FOUND, 'program "node" not found on PATH')


@pytest.mark.spec("P-16")
@pytest.mark.parametrize("folder", ["", "/"])
def test_program_that_cannot_be_started_is_a_failure_that_says_why(tmp_path: Path, folder: str) -> None:
    plain = program(tmp_path / "plain", "#!/bin/sh\n", mode=0o644)
    orphan = program(tmp_path / "orphan", "#!/nowhere/interpreter\n")
    alien = tmp_path / "alien"
    alien.write_bytes(b"\x7fELF\0\0\0\0 not for this machine\n")
    alien.chmod(0o755)
    missing = tmp_path / "missing"
    wanted = {
        missing: Failure(FailureKind.NOT_FOUND, f'program "{missing}" does not exist'),
        plain / "x": Failure(FailureKind.NOT_FOUND, f'program "{plain}/x" does not exist'),
        plain: Failure(
            FailureKind.REFUSED, f'"{plain}" may not be executed: chmod +x it, or name its interpreter first'
        ),
        tmp_path: Failure(FailureKind.REFUSED, f'"{tmp_path}" is a folder, not a program'),
        orphan: Failure(FailureKind.NOT_FOUND, f'the interpreter in the first line of "{orphan}" does not exist'),
        alien: Failure(FailureKind.REFUSED, f'"{alien}" is not a program this machine can run'),
    }

    replies = {path: ask(Hook(id="x", command=str(path), working_directory=folder)) for path in wanted}

    assert {path: reply.failure for path, reply in replies.items()} == wanted
    assert {reply.exit_code for reply in replies.values()} == {126, 127}


@pytest.mark.parametrize("folder", ["", "/"])
def test_script_without_a_first_line_for_the_system_is_run_as_shells_run_it(tmp_path: Path, folder: str) -> None:
    script = program(tmp_path / "old", 'echo "$0 $1"\n')

    reply = ask(Hook(id="x", command=str(script), args=("a b",), working_directory=folder))

    assert reply.stdout.decode() == f"{script} a b\n"


def test_environment_too_long_for_the_system_is_a_failure() -> None:
    reply = ask(line("true; true", env={"LONG": "x" * 200_000}))

    assert failure_of(reply).kind is FailureKind.TOO_LONG
    assert "longer than the system allows" in failure_of(reply).message


@pytest.mark.parametrize("name", ["", "A=B"])
def test_variable_name_no_program_can_have_is_a_failure(name: str) -> None:
    assert failure_of(ask(line("true; true", env={name: "x"}))).kind is FailureKind.REFUSED


# Where it runs and with what


@pytest.mark.spec("A-09")
def test_hook_runs_where_it_says_or_where_the_event_happened(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    where = 'pwd -P; echo "$PWD"'
    here = Path.cwd().resolve()
    folder = tmp_path.resolve()

    def seen(hook: Hook, cwd: str = "") -> list[str]:
        return ask(hook, cwd=cwd).stdout.decode().splitlines()

    assert seen(line(where))[0] == str(here)
    assert seen(line(where), cwd=str(folder)) == [str(folder)] * 2
    assert seen(line(where, working_directory="sub"), cwd=str(folder)) == [str(folder / "sub")] * 2
    assert seen(line(where, working_directory="/"), cwd=str(folder)) == ["/"] * 2
    assert seen(line(where, working_directory="~")) == [str(Path.home().resolve())] * 2


@pytest.mark.spec("A-09")
def test_folder_that_does_not_exist_is_a_failure_that_names_it(tmp_path: Path) -> None:
    wanted = Failure(FailureKind.NOT_FOUND, f'there is no folder "{tmp_path}/gone" to run in')

    homeless = line("true", working_directory="~nobody-of-this-name")

    assert failure_of(ask(line("true; true"), cwd=f"{tmp_path}/gone")) == wanted
    assert failure_of(ask(homeless)).kind is FailureKind.NOT_FOUND
    assert failure_of(ask(Hook(id="x", command="/bin/true", working_directory="gone"), cwd=str(tmp_path))) == wanted


@pytest.mark.spec("A-09")
def test_variables_of_the_hook_win_over_those_of_the_event_and_those_over_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ONE", "TWO", "THREE"):
        monkeypatch.setenv(name, "ours")

    reply = ask(line('echo "$ONE $TWO $THREE"', env={"THREE": "hook"}), env={"TWO": "event", "THREE": "event"})

    assert reply.stdout == b"ours event hook\n"


def test_change_of_our_environment_reaches_the_next_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    said = []
    for value in ("first", "second"):
        monkeypatch.setenv("HOOKLINE_TEST", value)
        said.append(ask(line('echo "$HOOKLINE_TEST"')).stdout)
    monkeypatch.delenv("HOOKLINE_TEST")
    said.append(ask(line('echo "$HOOKLINE_TEST"')).stdout)

    assert said == [b"first\n", b"second\n", b"\n"]


@pytest.mark.spec("A-25")
def test_variable_without_a_name_that_we_were_given_keeps_no_hook_from_running(tmp_path: Path) -> None:
    """Programs may be started with one, as by `env =x`, and Python then has it."""
    script = """
import asyncio, os, sys
from hookline import Engine, Hook, Source
assert os.environ[""] == "x"
async def main():
    async with Engine() as engine:
        hook = Hook(id="h", on="before_tool", command="/bin/true", dialect="hookline", source=Source.USER)
        engine.add(hook)
        for cwd in ("", sys.argv[1]):
            print((await engine.emit("before_tool", tool="shell", cwd=cwd)).failures)
asyncio.run(main())
"""
    done = subprocess.run(
        ["/usr/bin/env", "=x", sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("()\n()\n", "")


@pytest.mark.parametrize("variable", ["BASH_ENV", "ENV"])
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_shell_reads_no_file_because_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(program(tmp_path / "rc", "echo from rc\n")))

    reply = ask(Hook(id="x", command="bash", args=(str(program(tmp_path / "hook", f'echo "[${variable}]"\n')),)))

    assert reply.stdout == b"[]\n"


def test_no_value_an_event_can_hold_keeps_a_hook_from_running() -> None:
    reply = ask(line('printf "%s|%s" "$A" "$B"'), env={"A": "a\0b", "B": "x\ud800y"})

    assert reply.stdout.decode() == "a\N{SYMBOL FOR NULL}b|x?y"


def test_hook_starts_from_a_folder_that_was_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    before = Path.cwd()
    os.chdir(gone)
    try:
        gone.rmdir()
        replies = [ask(line("echo fine")), ask(line("echo fine"), cwd=str(tmp_path))]
    finally:
        os.chdir(before)

    assert [reply.stdout for reply in replies] == [b"fine\n", b"fine\n"]


def test_program_that_moved_on_the_search_path_is_found_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        program(folder / "python3", f"#!/bin/sh\necho {folder.name}\n")
    hook = Hook(id="x", command="python3", args=("x",), env={"PATH": f"{first}{os.pathsep}{second}"})

    said = [ask(hook).stdout]
    (first / "python3").unlink()
    said.append(ask(hook).stdout)
    (second / "python3").unlink()

    assert said == [b"first\n", b"second\n"]
    assert failure_of(ask(hook)).kind is FailureKind.NOT_FOUND


@pytest.mark.spec("A-25")
def test_folder_an_agent_works_in_does_not_decide_what_a_program_is(tmp_path: Path) -> None:
    program(tmp_path / "python3", "#!/bin/sh\necho planted\n")
    hook = Hook(id="x", command="python3", args=("-V",), env={"PATH": f".:{os.environ['PATH']}"})

    reply = ask(hook, cwd=str(tmp_path))

    assert reply.stdout.startswith(b"Python 3")


def test_file_that_may_not_be_executed_is_not_taken_for_a_program(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    program(tmp_path / "one" / "python3", "", mode=stat.S_IRUSR)
    hook = Hook(
        id="x", command="python3", args=("-V",), env={"PATH": f"{tmp_path / 'one'}:{Path(sys.executable).parent}"}
    )

    assert ask(hook, cwd="/").stdout.startswith(b"Python 3")


@pytest.mark.spec("A-25")
@pytest.mark.parametrize("shell", [False, True])
def test_activated_environment_of_a_project_does_not_decide_what_a_program_is(tmp_path: Path, *, shell: bool) -> None:
    project = tmp_path / "project"
    (project / ".venv" / "bin").mkdir(parents=True)
    program(project / ".venv" / "bin" / "python3", "#!/bin/sh\necho planted\n")
    (tmp_path / "link").symlink_to(project / ".venv" / "bin")
    planted = f"{project / '.venv' / 'bin'}:{tmp_path / 'link'}"
    hook = Hook(id="x", command="python3 -V", shell=shell, env={"PATH": f"{planted}:{os.environ['PATH']}"})

    assert ask(hook, cwd=str(project)).stdout.startswith(b"Python 3")
    assert ask(hook, cwd="/usr").stdout == b"planted\n"  # there it is no project


@pytest.mark.spec("A-25")
@pytest.mark.parametrize("shell", [False, True])
def test_program_that_only_the_project_brings_is_refused_unless_named_by_its_path(
    tmp_path: Path, *, shell: bool
) -> None:
    planted = program(tmp_path / "python3", "#!/bin/sh\necho planted\n")
    env = {"PATH": str(tmp_path)}

    found = failure_of(ask(Hook(id="x", command="python3 -V", shell=shell, env=env), cwd=str(tmp_path)))

    assert found.kind is FailureKind.REFUSED
    assert f'only as "{planted}", inside the project: name it by its path' in found.message
    assert ask(Hook(id="x", command=f"{planted} -V", shell=shell, env=env), cwd=str(tmp_path)).stdout == b"planted\n"


def test_project_of_a_hook_counts_even_where_the_agent_works_elsewhere(tmp_path: Path) -> None:
    planted = program(tmp_path / "python3", "#!/bin/sh\necho planted\n")
    env = {"PATH": str(tmp_path)}
    hook = Hook(id="x", command="python3 -V", env=env, source=Source.WORKSPACE, root=str(tmp_path))

    assert str(planted) in failure_of(ask(hook, cwd="/usr")).message


# Many at once


@pytest.mark.spec("A-25")
def test_more_hooks_than_may_run_at_once_all_answer() -> None:
    event = Event(name=EventName.NOTIFICATION)
    request = Request(event=event, document={})

    async def everything() -> list[Reply]:
        async with asyncio.timeout(60):
            calls = (COMMAND.call(line("cat"), request, timeout=20) for _ in range(LIMIT * 5))
            return await asyncio.gather(*calls)

    assert asyncio.run(everything()) == [Reply(stdout=b"{}\n", argv=("sh", "-c", "cat"))] * (LIMIT * 5)


@pytest.mark.spec("A-25")
def test_cancelled_hooks_leave_no_process_and_make_room_for_others() -> None:
    before = children()
    request = Request(event=Event(name=EventName.NOTIFICATION), document={})

    async def everything() -> Reply:
        async with asyncio.timeout(60):
            calls = [
                asyncio.ensure_future(COMMAND.call(line("exec sleep 60"), request, timeout=30))
                for _ in range(LIMIT * 2)
            ]
            await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            assert all(call.cancelled() for call in calls)
            return await COMMAND.call(line("cat"), request, timeout=20)

    assert asyncio.run(everything()) == Reply(stdout=b"{}\n", argv=("sh", "-c", "cat"))
    assert children() == before


def test_closing_gives_nothing_back_because_nothing_is_kept() -> None:
    kind = Command()
    assert ask(Hook(id="x", command="/bin/echo hi"), kind=kind).stdout == b"hi\n"

    asyncio.run(kind.close())

    assert ask(Hook(id="x", command="/bin/echo hi"), kind=kind).stdout == b"hi\n"
