"""Vetted files are found in any command that names them, and in shell lines wherever that is certain."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from hookline.kinds.command.command import Command
from hookline.kinds.command.sealing import simple_words
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook

pytestmark = pytest.mark.slow

LINES = "lines"  # a dialect whose commands are shell lines with templates
COMMAND = Command(shell_dialects={LINES}, template_dialects={LINES})

GOOD = {
    "x.py": "import sys, os\nprint('good', os.path.basename(__file__), *sys.argv[1:])\n",
    "x.sh": '#!/usr/bin/env bash\necho "good ${0##*/} $*"\n',
    "sub/y.py": "print('good y')\n",
    "lib.sh": "echo good lib\n",
    "rules.txt": "good rules\n",
}
EVIL = {name: 'print("evil")\n' if name.endswith("py") else "#!/bin/sh\necho evil\n" for name in GOOD}


class Project:
    """A project whose files were vetted, and are others by now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "sub").mkdir(parents=True)
        self.write(GOOD)
        self.sealed = {str(folder / name): text.encode() for name, text in GOOD.items()}

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def only(self, *names: str) -> dict[str, bytes]:
        return {str(self.folder / name): GOOD[name].encode() for name in names}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "a project")


def ask(
    project: Project, hook: Hook, sealed: Mapping[str, bytes], *, values: Mapping[str, object] | None = None
) -> Reply:
    event = Event(name=EventName.BEFORE_TOOL, cwd=str(project.folder))
    env = {"CLAUDE_PROJECT_DIR": str(project.folder), "SECOND": "x.py"}
    request = Request(event=event, document={"event": "before_tool"}, env=env, values=values)
    request.sealed = sealed
    return asyncio.run(COMMAND.call(hook, request, timeout=30))


def line(text: str) -> Hook:
    return Hook(id="x", command=text, shell=True)


@pytest.mark.parametrize(
    ("text", "names", "output"),
    [
        ("python3 x.py a 'b c'", ("x.py",), "good x.py a b c"),
        ('python3 "$CLAUDE_PROJECT_DIR"/x.py a', ("x.py",), "good x.py a"),
        ('python3 "${CLAUDE_PROJECT_DIR}/x.py" "$SECOND"', ("x.py",), None),
        ("./x.sh a", ("x.sh",), "good x.sh a"),
        ('"$PWD"/x.sh', ("x.sh",), "good x.sh"),
        ("bash x.sh a | cat", ("x.sh",), "good x.sh a"),
        ("python3 x.py && ./x.sh", ("x.py", "x.sh"), "good x.py\ngood x.sh"),
        ("cd sub && python3 y.py", ("sub/y.py",), "good y"),
        ("cd sub; python3 ../x.py", ("x.py",), "good x.py"),
        ("(python3 x.py; true) 2>/dev/null", ("x.py",), "good x.py"),
        ("if test -f x.py; then python3 x.py; fi", ("x.py",), "good x.py"),
        ("[ -x ./x.sh ] && ./x.sh", ("x.sh",), "good x.sh"),
        ('echo "$(python3 x.py)"', ("x.py",), "good x.py"),
        ("python3 x.py || exit 2", ("x.py",), "good x.py"),
        ("exec python3 x.py", ("x.py",), "good x.py"),
        ("! false && ./x.sh", ("x.sh",), "good x.sh"),
        ("timeout 20 python3 x.py a", ("x.py",), "good x.py a"),
        ("env A=1 nice bash x.sh a", ("x.sh",), "good x.sh a"),
        ("A=1 python3 x.py", ("x.py",), "good x.py"),
        (". ./lib.sh", ("lib.sh",), "good lib"),
        ("cat < rules.txt", ("rules.txt",), "good rules"),
        ("cat rules.txt", ("rules.txt",), "good rules"),
        ("python3 < x.py", ("x.py",), None),
        ("bash -c './x.sh a; python3 x.py'", ("x.sh", "x.py"), "good x.sh a\ngood x.py"),
        ('bash -c "python3 $SECOND"', ("x.py",), None),
        ('python3 x.py "$(cat rules.txt)"', ("x.py", "rules.txt"), "good x.py good rules"),
    ],
)
def test_line_runs_the_vetted_bytes_of_every_file_it_names(
    project: Project, text: str, names: tuple[str, ...], output: str | None
) -> None:
    before = ask(project, line(text), project.only(*names)) if output is None else None
    project.write(EVIL)

    reply = ask(project, line(text), project.only(*names))

    assert reply.failure is None or reply.failure.kind is FailureKind.REFUSED
    assert "evil" not in reply.stdout.decode()
    if output is not None:
        assert reply.stdout.decode().strip() == output, reply
    elif before is not None:
        assert before.stdout.startswith(b"good")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f=x.py; python3 $f", ("x.py",)),
        ("for f in x.py; do python3 $f; done", ("x.py",)),
        ("python3 *.py", ("x.py",)),
        ("python3 `echo x.py`", ("x.py",)),
        ("eval 'python3 x.py'", ("x.py",)),
        ("cd $(echo sub) && python3 ../x.py", ("x.py",)),
        ("bash -c 'cd sub; python3 ../x.py'", ("x.py",)),
        ("env -C sub python3 ../x.py", ("x.py",)),
        ("SECOND=sub/y.py; python3 $SECOND", ("sub/y.py",)),
        ("python3 -m x", ("x.py",)),
        ("case a in a) python3 $SECOND;; esac", ("x.py",)),
    ],
)
def test_file_whose_name_is_known_only_when_it_runs_is_compared(
    project: Project, text: str, names: tuple[str, ...]
) -> None:
    assert ask(project, line(text), project.only(*names)).stdout.startswith(b"good")

    project.write(EVIL)
    reply = ask(project, line(text), project.only(*names))

    assert reply.failure is not None
    assert reply.failure.message == f'"{project.folder / names[0]}" changed since it was checked'
    assert reply.stdout == b""


def test_template_line_is_sealed_and_filled_in(project: Project) -> None:
    hook = Hook(id="x", command="python3 x.py {{word}} | cat; ./x.sh '{{word}}'", dialect=LINES)
    project.write(EVIL)

    reply = ask(project, hook, project.only("x.py", "x.sh"), values={"word": "a $(b)"})

    assert reply.stdout == b"good x.py a $(b)\ngood x.sh a $(b)\n"


def test_long_template_value_and_vetted_file_do_not_meet(project: Project) -> None:
    hook = Hook(id="x", command="printf %s {{word}} | wc -c; python3 x.py", dialect=LINES)
    project.write(EVIL)

    reply = ask(project, hook, project.only("x.py"), values={"word": "a" * 300_000})

    assert reply.stdout.split() == [b"300000", b"good", b"x.py"]


def test_program_that_only_names_a_file_gets_its_name(project: Project) -> None:
    assert ask(project, line("echo x.py && ls x.py"), project.only("x.py")).stdout == b"x.py\nx.py\n"


RUNNER = """\
#!/bin/sh
echo "$0 $*" | sed "s|.*/||"
"""


@pytest.mark.parametrize("name", ["uv", "npx", "ssh", "docker"])
def test_program_with_its_own_way_to_run_a_script_gets_its_name(project: Project, tmp_path: Path, name: str) -> None:
    runner = tmp_path / name
    runner.write_text(RUNNER)
    runner.chmod(0o755)

    reply = ask(project, line(f"{runner} run x.py a"), project.only("x.py"))
    project.write(EVIL)
    changed = ask(project, line(f"{runner} run x.py a"), project.only("x.py"))

    assert reply.stdout.decode() == f"{name} run x.py a\n"
    assert changed.failure is not None


def test_interpreter_behind_a_runner_gets_vetted_bytes(project: Project, tmp_path: Path) -> None:
    runner = tmp_path / "uv"
    runner.write_text('#!/bin/sh\nshift; exec "$@"\n')
    runner.chmod(0o755)
    project.write(EVIL)

    assert ask(project, line(f"{runner} run python3 x.py a"), project.only("x.py")).stdout == b"good x.py a\n"


def test_program_that_may_look_at_names_gets_a_copy_with_the_same_name(project: Project, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text('#!/bin/sh\necho "${1##*/}"; cat "$1"\n')
    tool.chmod(0o755)
    project.write(EVIL)

    assert ask(project, line(f"{tool} rules.txt"), project.only("rules.txt")).stdout == b"rules.txt\ngood rules\n"


def test_argument_of_a_script_is_handed_over_under_its_name(project: Project) -> None:
    (project.folder / "reads.py").write_text(
        "import os, sys\nprint(os.path.basename(sys.argv[1]), open(sys.argv[1]).read().strip())\n"
    )
    script = project.folder / "reads.py"
    sealed = {**project.only("rules.txt"), str(script): script.read_bytes()}
    project.write(EVIL)

    reply = ask(project, Hook(id="x", command="python3", args=("-Wignore", "reads.py", "rules.txt")), sealed)

    assert reply.stdout == b"rules.txt good rules\n"


def test_line_that_names_a_file_in_two_folders_is_compared(project: Project) -> None:
    (project.folder / "sub" / "x.py").write_text("print('other')\n")
    sealed = {**project.only("x.py"), str(project.folder / "sub" / "x.py"): b"print('other')\n"}

    assert ask(project, line("cd sub && python3 x.py"), sealed).stdout == b"other\n"
    (project.folder / "sub" / "x.py").write_text("print('evil')\n")
    assert ask(project, line("cd sub && python3 x.py"), sealed).stdout == b""


def test_reply_shows_the_words_as_they_were_written(project: Project) -> None:
    assert ask(project, Hook(id="x", command="python3 x.py"), project.only("x.py")).argv == ("python3", "x.py")
    assert ask(project, line("./x.sh | cat"), project.only("x.sh")).argv == ("sh", "-c", "./x.sh | cat")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("python3 x.py", "runs from the bytes that were checked: {0}/x.py"),
        ("python3 $f", "runs from where it lies, compared before and after each run: {0}/x.py"),
        ("true", "runs from where it lies, compared before and after each run: {0}/x.py"),
    ],
)
def test_what_is_sealed_is_said_in_words(project: Project, text: str, said: str) -> None:
    sealed = project.only("x.py")

    assert COMMAND.sealing(line(text), sealed, cwd=str(project.folder)) == said.format(project.folder)
    assert COMMAND.sealing(line("true"), {}) == "no file of its own"


def test_what_cannot_run_is_said_instead(project: Project) -> None:
    refused = Hook(id="x", command="ruby x.rb", shell=False)

    assert "is none of" in COMMAND.sealing(refused, {})
    assert "was not there" in COMMAND.sealing(line("python3 x.py"), {}, cwd=str(project.folder))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a | b",
            "python3 x &",
            "(python3 x)",
            "! python3 x",
            "A=1 python3 x",
            "python3 x > y",
            "echo x",
            "python3 $(x)",
        ),
        *(
            "time python3 x",
            "exec python3 x",
            "cd x",
            "",
            "python3 'x",
            "{ python3 x; }",
            "python3 x # why",
            "f() { x; }",
        ),
    ],
)
def test_line_a_shell_has_to_read_is_left_to_it(text: str) -> None:
    assert simple_words(text, lambda _name: None) is None


def test_line_that_is_one_program_is_read_as_the_shell_would() -> None:
    assert simple_words("  python3 'a b'\\ c \"$X\" \n", {"X": "x y"}.get) == ("python3", "a b c", "x y")


@pytest.mark.parametrize(
    ("text", "output"),
    [("python3 x.py", "good x.py"), ("./x.sh | cat", "good x.sh"), ('python3 "$SECOND"', "good x.py")],
)
def test_command_sealed_before_is_sealed_again(project: Project, text: str, output: str) -> None:
    kind = Command()
    sealed = project.only("x.py", "x.sh")
    hook = line(text)

    async def calls() -> list[str]:
        replies = []
        for second in ("x.py", "x.py", "./x.py", "x.py"):
            event = Event(name=EventName.BEFORE_TOOL, cwd=str(project.folder))
            request = Request(event=event, document={}, env={"SECOND": second})
            request.sealed = sealed
            project.write({**GOOD, next(name for name in ("x.py", "x.sh") if name in output): EVIL["x.py"]})
            replies.append(await kind.call(hook, request, timeout=30))
            await kind.close()  # gives the descriptors back: the next ones may have other numbers
            os.close(os.dup(0))
        return [reply.stdout.decode().strip() for reply in replies]

    assert asyncio.run(calls()) == [output] * 4


def test_script_that_appears_between_two_calls_with_the_same_files_does_not_run(project: Project) -> None:
    kind = Command()
    sealed: dict[str, bytes] = {}
    event = Event(name=EventName.BEFORE_TOOL, cwd=str(project.folder))

    async def calls() -> list[Reply]:
        replies = []
        for _ in range(2):
            request = Request(event=event, document={})
            request.sealed = sealed
            replies.append(await kind.call(line("python3 new.py"), request, timeout=30))
            project.write({"new.py": "print('evil')"})
        return replies

    missing, refused = asyncio.run(calls())

    assert missing.failure is not None
    assert missing.failure.kind is FailureKind.NOT_FOUND
    assert refused.failure is not None
    assert "was not there when the hook was checked" in refused.failure.message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("./new.sh || true", "new.sh"),
        ("sub/new.sh || true", "sub/new.sh"),
        ("env -C sub python3 new.py || true", "sub/new.py"),
    ],
)
def test_what_a_line_could_not_start_is_not_forgotten_when_it_appears(project: Project, text: str, name: str) -> None:
    kind = Command()
    sealed: dict[str, bytes] = {}
    event = Event(name=EventName.BEFORE_TOOL, cwd=str(project.folder))
    (project.folder / "sub").mkdir(exist_ok=True)

    async def calls() -> list[Reply]:
        replies = []
        for _ in range(2):
            request = Request(event=event, document={})
            request.sealed = sealed
            replies.append(await kind.call(line(text), request, timeout=30))
            project.write({name: "#!/usr/bin/env python3\nprint('evil')"})
            (project.folder / name).chmod(0o755)
        return replies

    missing, refused = asyncio.run(calls())

    assert missing.failure is None
    assert refused.failure is not None
    assert refused.failure.kind is FailureKind.REFUSED
    assert refused.stdout == b""


# What cannot be known


@pytest.mark.parametrize(
    "text",
    [
        'python3 "${NOWHERE:-.}/x.py"',
        "python3 ?.py",
        "for f in *.py; do python3 $f; done",
        'D=$(pwd); "$D/x.sh"',
        'D=$PWD; . "$D/lib.sh"',
        "sh -c 'python3 \"$(pwd)\"/x.py'",
    ],
)
def test_script_nobody_could_check_does_not_run(project: Project, text: str) -> None:
    reply = ask(project, line(text), {})

    assert reply.failure is not None
    assert reply.failure.kind is FailureKind.REFUSED
    assert "is known only when it runs, so it was not checked" in reply.failure.message


def test_script_named_at_run_time_is_compared_though_it_is_handed_over_elsewhere(project: Project) -> None:
    text = 'python3 x.py && python3 "$(pwd)"/x.py'
    assert ask(project, line(text), project.only("x.py")).stdout == b"good x.py\ngood x.py\n"

    project.write(EVIL)
    reply = ask(project, line(text), project.only("x.py"))

    assert reply.failure is not None
    assert "changed since it was checked" in reply.failure.message


@pytest.mark.parametrize("text", ["cd -- sub && python3 x.py", "cd -P sub; python3 x.py", "env -C sub python3 x.py"])
def test_file_of_the_same_name_in_a_folder_nobody_looked_into_does_not_run(project: Project, text: str) -> None:
    (project.folder / "sub" / "x.py").write_text(EVIL["x.py"])

    reply = ask(project, line(text), project.only("x.py"))

    assert reply.stdout == b""
    assert reply.failure is not None
    assert str(project.folder / "sub" / "x.py") in reply.failure.message


# Words that name a file and do not want its bytes


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("flock rules.txt python3 x.py a", "good x.py a"),
        ("flock rules.txt -c 'python3 x.py'", "good x.py"),
        ("command . ./lib.sh", "good lib"),
        ("find . -maxdepth 1 -name rules.txt", "./rules.txt"),
        ("xargs -a rules.txt echo", "good rules"),
        ("sed -i s/good/bad/ missing.txt rules.txt 2>/dev/null; echo done", None),
    ],
)
def test_wrapper_keeps_its_own_words(project: Project, text: str, output: str | None) -> None:
    reply = ask(project, line(text), project.sealed)

    if output is None:  # it changed one of its own files, which is said
        assert reply.failure is not None
        assert "changed while the hook ran" in reply.failure.message
    else:
        assert (reply.failure, reply.stdout.decode().strip()) == (None, output)


def test_hook_that_writes_to_its_copy_of_a_file_is_told(project: Project, tmp_path: Path) -> None:
    program = tmp_path / "fixer"
    program.write_text('#!/bin/sh\nrm -f "$1" && echo fixed > "$1"\n')
    program.chmod(0o755)

    reply = ask(project, line(f"{program} rules.txt"), project.only("rules.txt"))

    assert reply.failure is not None
    assert reply.failure.message.startswith('it wrote to "rules.txt", which it was given as a copy')
