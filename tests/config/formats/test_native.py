from collections.abc import Callable

import pytest

from hookline.config import toml
from hookline.config.formats import native
from hookline.config.reading import Origin
from hookline.model.hook import Hook, OnError, Priority

Make = Callable[..., Origin]

TEXT = """
[[hook]]
name = "No Force Push"
on = "before_tool"
tools = ["shell", "mcp__git__*"]
run = ["python3", "guards/push.py", "--strict mode"]
timeout = 2.5
on_error = "block"
priority = "critical"
env = { LEVEL = "high" }
cwd = "tools"
version = 1.2

[[hook]]
on = ["PreToolUse", "PostToolUse", "custom:deploy"]
dialect = "cli-agent"
matcher = "Bash"
run = "echo {{tool_name}} >> log"
shell = true
parallel = true
observe = true
enabled = false
priority = 150

[[hook]]
on = "session_start"
call = "greetings:hello"
isolated = true

[[hook]]
id = "told"
on = "notification"
post = "https://example.org/hook"
method = "PUT"
[hook.headers]
Authorization = "none"
"""


def read(text: str, origin: Origin) -> tuple[list[Hook], list[str]]:
    hooks, problems = native.read(toml.parse(text), origin=origin)
    return hooks, [str(problem) for problem in problems]


def test_every_key_means_what_it_says(origin: Make) -> None:
    (guard, audit, hello, told), problems = read(TEXT, origin("hookline"))

    assert problems == []
    assert guard == Hook(
        id="no-force-push",
        name="No Force Push",
        on=("before_tool",),
        matcher="shell|mcp__git__.*",
        command="python3",
        args=("guards/push.py", "--strict mode"),
        shell=False,
        timeout=2.5,
        on_error=OnError.BLOCK,
        priority=Priority.CRITICAL,
        env={"LEVEL": "high"},
        working_directory="tools",
        version="1.2",
        source_path="hooks.json",
        source_line=2,
    )
    assert audit == Hook(
        id="hooks:PreToolUse:1",
        on=("before_tool", "after_tool", "tool_failed", "custom:deploy"),
        dialect="cli-agent",
        matcher="Bash",
        command="echo {{tool_name}} >> log",
        shell=True,
        parallel=True,
        observe=True,
        enabled=False,
        priority=150,
        source_path="hooks.json",
        source_line=14,
    )
    assert (hello.kind, hello.module, hello.function, hello.isolated) == ("python", "greetings", "hello", True)
    assert (told.id, told.url, told.method, told.source_line) == ("told", "https://example.org/hook", "PUT", 30)
    assert told.headers == {"Authorization": "none"}


def test_program_with_a_space_in_its_name_stays_one_word(origin: Make) -> None:
    (hook,), problems = read('[[hook]]\non = "error"\nrun = ["/opt/my tools/guard"]\n', origin("hookline"))

    assert problems == []
    assert (hook.command, hook.args, hook.shell) == ("'/opt/my tools/guard'", (), False)


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ('run = "x"', 1, "has no `on`"),
        ('on = "before_tol"\nrun = "x"', 2, '(did you mean "before_tool"?)'),
        ('on = "PreToolUse"\nrun = "x"', 2, 'that is its name in ollama-cli, here it is "before_tool"'),
        ('on = "custom:"\nrun = "x"', 2, 'unknown event "custom:"'),
        ("on = []\nrun = 'x'", 2, "wanted at least one name"),
        ("on = 5\nrun = 'x'", 2, "got the number 5"),
        ('on = "error"', 1, "needs exactly one of run, call and post; it has none"),
        ('on = "error"\nrun = "x"\npost = "y"', 1, "it has run and post"),
        ('on = "error"\nrun = []', 3, "wanted at least one name"),
        ('on = "error"\nrun = ["x", 1]', 3, "got the number 1"),
        ('on = "error"\nrun = ["x"]\nshell = true', 1, "gives a list to run and wants a shell"),
        ('on = "error"\ncall = "hello"', 3, 'wanted "module:function", got the text "hello"'),
        ('on = "error"\nrun = "x"\ntools = ["a"]\nmatcher = "b"', 1, "both tools and matcher"),
        ('on = "error"\nrun = "x"\ndialect = "olm"', 4, 'unknown dialect "olm" (did you mean "ollm"?)'),
        ('on = "error"\nrun = "x"\nenabled = "no"', 4, "wanted true or false"),
        ('on = "error"\nrun = "x"\nenv = { A = [1] }', 4, "got a list"),
    ],
)
def test_hook_that_cannot_be_meant_is_reported_and_left_out(lines: str, line: int, message: str, origin: Make) -> None:
    hooks, problems = read(f'[[hook]]\n{lines}\n[[hook]]\non = "error"\nrun = "fine"\n', origin("hookline"))

    assert [hook.command for hook in hooks] == ["fine"]
    assert [problem.startswith(f"hooks.json:{line}: error: ") and message in problem for problem in problems] == [True]


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ("timout = 5", 4, '(did you mean "timeout"?)'),
        ('priority = "urgent"', 4, "wanted critical, high, normal, low"),
        ("priority = true", 4, "got true"),
        ("timeout = -1", 4, "seconds above 0"),
        ("version = [1]", 4, "got a list"),
        ("timeout = 2024-01-01", 4, "got a date"),
    ],
)
def test_slip_in_a_detail_is_reported_and_the_hook_still_guards(
    lines: str, line: int, message: str, origin: Make
) -> None:
    hooks, problems = read(f'[[hook]]\non = "error"\nrun = "x"\n{lines}\n', origin("hookline"))

    assert len(hooks) == 1
    assert [problem.startswith(f"hooks.json:{line}: ") and message in problem for problem in problems] == [True]


def test_tables_that_mean_nothing_are_reported(origin: Make) -> None:
    assert read('[[hooks]]\non = "error"\n', origin("hookline")) == (
        [],
        ['hooks.json:1: warning: unknown key "hooks" in the file (did you mean "hook"?)'],
    )
    assert read('\n[hook]\non = "error"\n', origin("hookline")) == (
        [],
        ["hooks.json:2: error: a hook is written [[hook]], with two brackets"],
    )
    assert read("hook = [5]", origin("hookline"))[1] == [
        "hooks.json:1: error: wanted a table for a hook, got the number 5"
    ]
