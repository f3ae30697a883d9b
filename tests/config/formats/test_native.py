import re
from collections.abc import Callable

import pytest
from msgspec.structs import fields

from hookline.config import toml
from hookline.config.formats import native
from hookline.config.reader import FileOrigin
from hookline.model.hook import Hook, Layer, OnError, Priority

Make = Callable[..., FileOrigin]

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


def read(text: str, origin: FileOrigin) -> tuple[list[Hook], list[str]]:
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
        layer=Layer.PROJECT,
        source_path="hooks.json",
        source_line=2,
        source_pointer=("hook", 0),
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
        layer=Layer.PROJECT,
        source_path="hooks.json",
        source_line=14,
        source_pointer=("hook", 1),
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
        ('on = "PreTolUse"\nrun = "x"', 2, 'unknown event "PreTolUse" (did you mean "PreToolUse"?)'),
        ('on = "custom:"\nrun = "x"', 2, 'unknown event "custom:"'),
        ("on = []\nrun = 'x'", 2, "wanted at least one name"),
        ("on = 5\nrun = 'x'", 2, "got the number 5"),
        (
            'on = "error"',
            1,
            "needs exactly one of run, call, post, ask, mcp, notify, judge, steps, raise, deny, confirm, allow, tell, context; it has none",
        ),
        ('on = "error"\nrun = "x"\npost = "y"', 1, "it has run and post"),
        ('on = "error"\nrun = []', 3, "wanted at least one name"),
        ('on = "error"\nrun = "x"\nenv = {"" = "1"}', 4, 'wanted names without "=", got the text ""'),
        ('on = "error"\nrun = "x"\nenv.A = "1"\nenv."B=C" = "1"', 4, 'wanted names without "=", got the text "B=C"'),
        ('on = "error"\nrun = ["x", 1]', 3, "got the number 1"),
        ('on = "error"\nrun = ["x"]\nshell = true', 1, "gives a list to run and wants a shell"),
        ('on = "error"\ncall = "hello"', 3, 'wanted "module:function", got the text "hello"'),
        ('on = "error"\nrun = "x"\ntools = ["a"]\nmatcher = "b"', 1, "both tools and matcher"),
        ('on = "error"\nrun = "x"\ndialect = "olm"', 4, 'unknown dialect "olm" (did you mean "ollm"?)'),
        ('on = "error"\nrun = "x"\nenabled = "no"', 4, "wanted true or false"),
        ('on = "error"\nrun = "x"\nenv = { A = [1] }', 4, "got a list"),
        ('on = "error"\nrun = "x"\nfiles = []', 4, "wanted at least one name"),
        ('on = "error"\nrun = "x"\nwrites = 5', 4, "wanted a list of texts"),
        ('on = "error"\nask = " "', 3, "wanted words, got nothing"),
        ('on = "error"\nask = "?"\nif = " "', 4, "wanted words, got nothing"),
        ('on = "error"\nrun = ""', 3, "wanted a command, got nothing"),
        ('on = "error"\nask = "x"\nrun = "y"', 1, "it has run and ask"),
    ],
)
def test_hook_that_cannot_be_meant_is_reported_and_left_out(lines: str, line: int, message: str, origin: Make) -> None:
    hooks, problems = read(f'[[hook]]\n{lines}\n[[hook]]\non = "error"\nrun = "fine"\n', origin("hookline"))

    assert [hook.command for hook in hooks] == ["fine"]
    assert [problem.startswith(f"hooks.json:{line}: error: ") and message in problem for problem in problems] == [True]


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ('priority = "urgent"', 4, "wanted critical, high, normal, low"),
        ("priority = true", 4, "got true"),
        ("timeout = -1", 4, "seconds above 0"),
        ('timeout = "5 hours"', 4, 'such as 5 or "500ms"'),
        ('on_error = "deny"', 4, 'wanted "block" or "continue", got the text "deny"; its failures block'),
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
        ["hooks.json:1: error: a hook is written [[hook]], without an s; the hook is not loaded"],
    )
    assert read('\n[hook]\non = "error"\n', origin("hookline")) == (
        [],
        ["hooks.json:2: error: a hook is written [[hook]], with two brackets; the hook is not loaded"],
    )
    assert read("hook = [5]", origin("hookline"))[1] == [
        "hooks.json:1: error: wanted a table for a hook, got the number 5"
    ]


def test_hooks_with_an_s_are_found_where_they_stand(origin: Make) -> None:
    assert read('# mine\n\n[[hooks]]\non = "error"\n', origin("hookline"))[1] == [
        "hooks.json:3: error: a hook is written [[hook]], without an s; the hook is not loaded"
    ]


def test_unknown_key_keeps_a_hook_from_being_loaded_and_a_guard_as_a_refused_one(origin: Make) -> None:
    text = '[[hook]]\non = "before_tool"\nrun = "x"\ntimout = 5\n'
    guard = '[[hook]]\nid = "g"\non = "PreToolUse"\ntools = ["Bash"]\ndeny = "x"\nwrite = "*.py"\n'

    hooks, problems = read(text + guard, origin("hookline"))

    assert [(hook.id, hook.kind, hook.on, hook.matcher, hook.on_error) for hook in hooks] == [
        ("g", "invalid", ("before_tool",), "Bash", "block")
    ]
    assert hooks[0].invalid == (
        'unknown key "write" in hook "g" (did you mean "writes"?); it is not in force: mend hooks.json:10,'
        " then `hookline check`"
    )
    assert [problem.split(" (")[0] for problem in problems] == [
        'hooks.json:4: error: unknown key "timout" in a hook',
        'hooks.json:10: error: unknown key "write" in hook "g"',
    ]


@pytest.mark.spec("U-01")
@pytest.mark.parametrize(
    ("lines", "matcher"),
    [
        ('on = "beforeShellExecution"', "shell"),
        ('on = "beforeShellExecution"\ntools = ["Bash"]', "Bash"),
        ('on = ["pre_run_command", "pre_mcp_tool_use"]', "shell|mcp__*"),
    ],
)
def test_names_of_events_and_agents_become_a_matcher(lines: str, matcher: str, origin: Make) -> None:
    (hook,), problems = read(f'[[hook]]\n{lines}\ntell = "x"\n', origin("hookline"))

    assert (hook.on, hook.matcher, problems) == (("before_tool",), matcher, [])


def test_hook_says_its_files_and_what_it_asks(origin: Make) -> None:
    text = """
[[hook]]
on = "file_edited"
files = ["*.py", "!vendor/"]
ask = "Lint {{file.path}}"
source_version = 2

[[hook]]
on = "before_tool"
writes = ".env"
run = "python3 guard.py"
includes = ["lib/*.py"]
plain = true
"""
    (lint, guard), problems = read(text, origin("hookline"))

    assert problems == []
    assert (lint.kind, lint.prompt, lint.files) == ("ask_agent", "Lint {{file.path}}", ("*.py", "!vendor/"))
    assert lint.source_version == "2"
    assert (guard.writes, guard.includes, guard.plain) == ((".env",), ("lib/*.py",), True)


@pytest.mark.parametrize(
    ("written", "seconds"), [('"5s"', 5.0), ('"500ms"', 0.5), ('"1.5 m"', 90.0), ("2", 2.0), ("0.25", 0.25)]
)
def test_time_may_have_its_unit(written: str, seconds: float, origin: Make) -> None:
    (hook,), problems = read(f'[[hook]]\non = "error"\nrun = "x"\ntimeout = {written}\n', origin("hookline"))

    assert problems == []
    assert hook.timeout == seconds


@pytest.mark.parametrize("slip", sorted(native.FOREIGN_KEYS))
def test_word_of_another_system_is_named_with_ours(slip: str, origin: Make) -> None:
    lines = {"on": '"error"', "run": '"x"'} | {slip: '"y"'}
    lines.pop(native.FOREIGN_KEYS[slip], None)
    text = "\n".join(f"{key} = {value}" for key, value in lines.items())
    hooks, problems = read(f"[[hook]]\n{text}\n", origin("hookline"))

    assert [hook for hook in hooks if not hook.invalid] == []
    expected = (
        f'error: unknown key "{slip}" in a hook: here it is "{native.FOREIGN_KEYS[slip]}"; the hook is not loaded'
    )
    assert [problem.partition(": ")[2] for problem in problems] == [expected]


def test_tables_for_other_readers_are_left_to_them(origin: Make) -> None:
    text = '"$schema" = "x"\n[settings]\nenabled = true\n[pack]\nname = "a"\n[[file]]\npath = "a"\n'

    assert read(text, origin("hookline")) == ([], [])


def test_everything_a_hook_can_be_told_can_be_written() -> None:
    told = {field.name for field in fields(Hook) if not field.name.startswith("source_")} | {"source_version"}
    # where it was found and whose it is follows from the file; a function of a running program is in no file
    told -= {
        "source",
        "trusted",
        "layer",
        "root",
        "kind",
        "call",
        "undo_call",
        "run_by",
        "native_event",
        "invalid",
        "implicit",
    }
    told -= {"default_sandbox", "model_url"}  # settings of the user
    told -= {"server"}  # a table of its own, or a file of an agent
    written = {key.field for key in native.KEYS.values() if key.field} | {"id", "name", "on", "dialect"}

    assert told - {"command", "args", "platforms", "module", "function"} == written


@pytest.mark.spec("U-02")
def test_actions_are_keys_of_a_hook(origin: Make) -> None:
    text = """
[[hook]]
id = "push"
runs = ["git push --force"]
deny = "no force pushes"
tell = "stopped {{args.command}}"

[[hook]]
id = "publish"
on = "before_tool"
confirm = true

[[hook]]
id = "hint"
on = "session_start"
context = "Use make test."
"""
    (push, publish, hint), problems = read(text, origin("hookline"))

    assert problems == []
    assert (push.kind, push.on, push.actions) == (
        "rule",
        ("before_tool",),
        {"deny": "no force pushes", "tell": "stopped {{args.command}}"},
    )
    assert push.on_error is OnError.BLOCK
    assert publish.actions == {"confirm": True}
    assert hint.actions == {"context": "Use make test."}


@pytest.mark.spec("U-02")
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('on = "before_tool"\ndeny = "a"\nrun = "b"', "needs exactly one of .*; it has run and deny"),
        ('on = "before_tool"\ntell = "a"\nask = "b"', "it has ask and tell"),
        ('on = "before_tool"\ndeny = "a"\nallow = true', "only one of deny, confirm, allow; it has deny and allow"),
        ('on = "before_tool"\ndeny = false', "deny of .* wanted a text or true, got false"),
        ('on = "before_tool"\ndeny = " "', "wanted words, got nothing"),
        ('on = "before_tool"\ntell = true', "tell of .* wanted a text, got true"),
        ('on = "before_tool"\nblock = "a"', 'here it is "deny"'),
        ('on = "before_tool"\ndeny = "a"\nbackground = true', "cannot wait in the background"),
        ('deny = "a"', "has no `on`"),
        ('tell = "a"\nruns = "git push"', "has no `on`"),
    ],
)
def test_action_that_cannot_be_meant_is_an_error_at_its_line(lines: str, message: str, origin: Make) -> None:
    hooks, problems = read(f'[[hook]]\nid = "r"\n{lines}\n', origin("hookline"))

    assert [hook for hook in hooks if not hook.invalid] == []
    assert re.search(rf":[0-9]+: .*{message}", problems[0])
