"""Which files a hook runs for, and what it is told of them: real programs, real payloads."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

SHOW = """\
import json, os, sys
event = json.loads(sys.stdin.readline())
names = ("HOOKLINE_EVENT", "HOOKLINE_TOOL", "HOOKLINE_FILES")
record = {"words": sys.argv[1:], "env": [os.environ.get(name) for name in names], "event": event}
with open(os.environ["SHOWN"], "a") as log:
    log.write(json.dumps(record) + "\\n")
"""

PATCH = """*** Begin Patch
*** Add File: one.py
+1
*** Update File: sub/two three.py
@@
-1
+2
*** Delete File: gone.py
*** Add File: notes.md
+text
*** End Patch
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    program = bin_folder / "formatter"
    program.write_text("#!/bin/sh\nexec python3 " + str(tmp_path / "show.py") + ' "$@"\n')
    program.chmod(0o755)
    (tmp_path / "show.py").write_text(SHOW)
    return tmp_path / "home"


def raise_event(home: Path, event: str, *more: str) -> tuple[int, str, list[dict[str, object]]]:
    log = home.parent / "shown.jsonl"
    log.unlink(missing_ok=True)
    path = f"{home.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = hookline(home, "emit", event, *more, SHOWN=str(log), PATH=path)
    shown = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return done.returncode, done.stdout + done.stderr, shown


def call(home: Path, tool: str, event: str = "after_tool", **args: object) -> list[dict[str, object]]:
    return raise_event(home, event, "--tool", tool, "--args", json.dumps(args))[2]


def words(shown: list[dict[str, object]]) -> list[object]:
    return [one["words"] for one in shown]


@pytest.mark.spec("U-05", "U-08")
def test_list_form_runs_once_for_each_written_file_that_matches(home: Path) -> None:
    configure(
        home, '[[hook]]\nname = "f"\non = "after_tool"\nwrites = ["*.py"]\nrun = ["formatter", "-q", "{{file.path}}"]\n'
    )
    project = home.parent / "project"

    assert words(call(home, "apply_patch", patch=PATCH)) == [
        ["-q", f"{project}/one.py"],
        ["-q", f"{project}/sub/two three.py"],
    ]
    assert words(call(home, "shell", command="touch 'a $(touch x).py' b.txt && echo > sub/c.py")) == [
        ["-q", f"{project}/a $(touch x).py"],
        ["-q", f"{project}/sub/c.py"],
    ]
    assert words(call(home, "write_file", path="README.md", content="x")) == []
    assert not (project / "x").exists()


@pytest.mark.spec("U-05")
def test_template_of_several_files_alone_as_a_word_is_several_words(home: Path) -> None:
    line = '[[hook]]\nname = "f"\non = "after_tool"\nwrites = ["*.py"]\n'
    project = home.parent / "project"
    files = [f"{project}/one.py", f"{project}/sub/two three.py"]

    for run in ('run = ["formatter", "--", "{{files}}"]', 'shell = true\nrun = "formatter -- {{files}}"'):
        configure(home, f"{line}{run}\n")
        (shown,) = call(home, "apply_patch", patch=PATCH)
        assert shown["words"] == ["--", *files]
        assert shown["env"] == ["after_tool", "apply_patch", "\n".join(files)]


@pytest.mark.spec("U-05")
@pytest.mark.parametrize(
    "run", ['run = ["formatter", "{{args.command}}"]', 'shell = true\nrun = "formatter {{args.command}}"']
)
@pytest.mark.parametrize(
    "value", ["'; touch pwned; '", "$(touch pwned)", "-rf", "{{cwd}} {{args}}", "a\nb", "ü ' \" \\", ""]
)
def test_value_is_one_word_and_never_syntax(home: Path, run: str, value: str) -> None:
    configure(home, f'[[hook]]\nname = "f"\non = "before_tool"\ntools = ["shell"]\n{run}\n')

    assert words(call(home, "shell", "before_tool", command=value)) == [[value]]
    assert not (home.parent / "project" / "pwned").exists()


@pytest.mark.spec("U-05")
def test_line_without_a_shell_is_filled_word_by_word(home: Path) -> None:
    configure(
        home,
        '[[hook]]\nname = "f"\non = "after_tool"\nrun = "python3 show.py {{ file.path }} --tool={{tool}}"\n',
        {"show.py": SHOW},
    )

    shown = call(home, "write_file", path="a b.txt", content="x")

    assert words(shown) == [[f"{home.parent}/project/a b.txt", "--tool=write_file"]]


@pytest.mark.spec("U-05")
@pytest.mark.parametrize(
    "run",
    ['["bash", "-c", "echo {{args.command}}"]', '["sh", "-c", "{{args.command}}"]', '["{{args.command}}", "x"]'],
)
def test_template_that_would_be_program_text_is_refused(home: Path, run: str) -> None:
    configure(home, f'[[hook]]\nname = "f"\non = "before_tool"\nrun = {run}\non_error = "block"\n')

    code, told, _ = raise_event(home, "before_tool", "--tool", "shell", "--args", '{"command": "touch pwned"}')

    assert code == 2
    assert "{{args.command}}" in told
    assert hookline(home, "check").returncode == 1
    assert not (home.parent / "project" / "pwned").exists()


@pytest.mark.spec("U-05")
def test_value_that_the_event_lacks_is_named_and_the_command_does_not_run(home: Path) -> None:
    hook = '[[hook]]\nname = "f"\non = "after_tool"\nrun = ["formatter", "{{file.path}}"]\n'
    configure(home, hook)

    code, _, shown = raise_event(home, "after_tool", "--tool", "shell", "--args", '{"command": "true"}')

    assert (code, shown) == (0, [])
    assert "has no {{file.path}}, so the command was not run" in hookline(home, "trace", "show", "last").stdout
    configure(home, hook.replace("after_tool", "before_tool") + 'on_error = "block"\n')
    code, told, shown = raise_event(home, "before_tool", "--tool", "shell", "--args", '{"command": "true"}')
    assert (code, shown) == (2, [])
    assert "this before_tool of shell has no {{file.path}}" in told


@pytest.mark.spec("U-05")
@pytest.mark.parametrize(
    ("wrong", "right"),
    [("file.paht", "file.path"), ("flie.path", "file.path"), ("fils", "files"), ("effects.wirtes", "effects.writes")],
)
def test_check_names_the_nearest_right_template(home: Path, wrong: str, right: str) -> None:
    configure(home, f'[[hook]]\nname = "f"\non = "after_tool"\nrun = ["sh", "x", "{{{{{wrong}}}}}"]\n')

    assert f"names {{{{{wrong}}}}}" in (told := hookline(home, "check").stdout)
    assert f'did you mean "{right}"?' in told


@pytest.mark.spec("U-05")
def test_payload_carries_what_the_call_does_and_the_files_it_touches(home: Path) -> None:
    configure(home, '[[hook]]\nname = "f"\non = "before_tool"\nrun = "python3 show.py"\n', {"show.py": SHOW})
    project = home.parent / "project"

    (shown,) = call(home, "apply_patch", "before_tool", patch=PATCH)
    event = shown["event"]
    assert isinstance(event, dict)
    names = ["one.py", "sub/two three.py", "gone.py", "notes.md"]
    assert event["files"] == [f"{project}/{name}" for name in names]
    assert event["effects"]["deletes"] == [f"{project}/gone.py"]
    assert event["effects"]["unknown"] == []

    (shown,) = call(home, "shell", "before_tool", command="curl -o page.html https://example.com/a; make")
    event = shown["event"]
    assert isinstance(event, dict)
    assert f"{project}/page.html" in event["files"]
    assert "https://example.com/a" in event["effects"]["urls"]
    assert "make" in event["effects"]["runs"]
    assert "writes" in event["effects"]["unknown"]
    assert set(event["effects"]) == {"runs", "writes", "deletes", "reads", "urls", "opaque", "unknown"}
