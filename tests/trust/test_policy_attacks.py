"""Attacks that ran: each has a hook, what a person saw, and what a workspace changed afterwards."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.engine.engine import Engine
from hookline.model.hook import Hook, Source
from hookline.model.verdict import Outcome
from hookline.trust.policy import TrustedHooks, TrustedHooksConfig

FINE = "#!/bin/sh\ntrue\n"
EVIL = "#!/bin/sh\ntouch evidence\n"
EVIL_PYTHON = "open('evidence', 'w')\n"
EVIL_MAKE = "lint:\n\t@touch $(TOP)/evidence\n"

Files = Mapping[str, str]


def write(root: Path, files: Files) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("$(TOP)", str(root)).replace("touch evidence", f"touch {root}/evidence"))
        path.chmod(0o755 if text.startswith("#!") else 0o644)


def emit(hook: Hook, trust: TrustedHooks, cwd: Path) -> Outcome:
    async def run() -> Outcome:
        async with Engine(trust=trust, cwd=str(cwd)) as engine:
            engine.add(hook)
            return await engine.emit("before_tool", tool="shell", args={"command": "ls"})

    return asyncio.run(run())


def line(root: Path, text: str, **more: object) -> Hook:
    plain = Hook(
        id="h",
        on="before_tool",
        command=text,
        shell=True,
        root=str(root),
        source_path=str(root / "hookline.toml"),
        source_line=1,
    )
    return replace(plain, **more)


LINES: list[tuple[str, Files, Files]] = [
    ("make -s -C sub lint", {"sub/Makefile": "lint:\n\t@true\n"}, {"sub/Makefile": EVIL_MAKE}),
    ("make -s", {"Makefile": "include r.mk\nall:\n", "r.mk": ""}, {"r.mk": "$(shell touch $(TOP)/evidence)\n"}),
    ("make -s", {"Makefile": "all:\n\t@./s.sh\n", "s.sh": FINE}, {"s.sh": EVIL}),
    ("PATH=$PWD/bin:$PATH lint", {"bin/lint": FINE}, {"bin/lint": EVIL}),
    ("export PATH=bin:$PATH; lint", {"bin/lint": FINE}, {"bin/lint": EVIL}),
    ("for f in hooks/*.sh; do sh $f; done", {"hooks/a.sh": FINE}, {"hooks/b.sh": EVIL}),
    ("cat hooks/*.sh | sh", {"hooks/a.sh": FINE}, {"hooks/a.sh": EVIL}),
    ("D=hooks; sh $D/a.sh", {"hooks/a.sh": FINE}, {"hooks/a.sh": EVIL}),
    ("sh ${D:-hooks}/a.sh", {"hooks/a.sh": FINE}, {"hooks/a.sh": EVIL}),
    ('sh "$(pwd)/a.sh"', {"a.sh": FINE}, {"a.sh": EVIL}),
    ("cd a; cd b; sh x.sh", {"a/b/x.sh": FINE}, {"a/b/x.sh": EVIL}),
    ('cd "my dir" && sh x.sh', {"my dir/x.sh": FINE}, {"my dir/x.sh": EVIL}),
    ("env -C a sh x.sh", {"a/x.sh": FINE}, {"a/x.sh": EVIL}),
    ("python3 a.py", {"a.py": "from foo import *", "foo.py": ""}, {"foo.py": EVIL_PYTHON}),
    ("python3 -m json.tool --help", {}, {"argparse.py": EVIL_PYTHON}),
    (
        "python3 -m pkg.tool",
        {"pkg/tool.py": "import pkg.other", "pkg/other.py": ""},
        {"pkg/other.py": EVIL_PYTHON},
    ),
    ("PYTHONPATH=lib python3 a.py", {"a.py": "", "lib/x": ""}, {"lib/sitecustomize.py": EVIL_PYTHON}),
    ("sh a.sh", {"a.sh": '"$(dirname "$0")/b.sh"\n', "b.sh": FINE}, {"b.sh": EVIL}),
    ("sh hooks/a.sh", {"hooks/a.sh": "exec python3 hooks/b.py\n", "hooks/b.py": ""}, {"hooks/b.py": EVIL_PYTHON}),
    ("find . -name '*.sh' -exec sh {} \\;", {"a.sh": FINE}, {"a.sh": EVIL}),
    ("find . -name '*.sh' -exec sh {} \\;", {"a.sh": FINE}, {"deep/down/b.sh": EVIL}),
    ("find hooks -type f | xargs -n1 sh", {"hooks/a": FINE}, {"hooks/sub/b": EVIL}),
    ("find hooks -newer hooks/old -exec sh {} \\;", {"hooks/old": "", "hooks/a": FINE}, {"hooks/a": EVIL}),
    ("find hooks -name a -o -name b | xargs sh", {"hooks/a": FINE, "hooks/b": FINE}, {"hooks/b": EVIL}),
    ("cd && cd - >/dev/null; sh {a,b}.sh", {"a.sh": FINE, "b.sh": FINE}, {"a.sh": EVIL}),
    ("bash <<E\n. $PWD/a.sh\nE", {"a.sh": FINE}, {"a.sh": EVIL}),
    ("sh check", {"check": ". ./lib\n", "lib": "true\n"}, {"lib": "touch evidence\n"}),
]


@pytest.mark.spec("O-15")
@pytest.mark.parametrize(("text", "approved", "changed"), LINES, ids=[text for text, _, _ in LINES])
def test_approved_line_does_not_run_what_it_was_not_approved_with(
    tmp_path: Path, text: str, approved: Files, changed: Files
) -> None:
    write(tmp_path, approved)
    trust = TrustedHooks()
    hook = line(tmp_path, text)
    trust.approve(hook, cwd=str(tmp_path))
    assert emit(hook, trust, tmp_path).skipped == ()
    assert not (tmp_path / "evidence").exists()

    write(tmp_path, changed)
    outcome = emit(hook, trust, tmp_path)

    assert not (tmp_path / "evidence").exists()
    assert [skip.reason for skip in outcome.skipped] == ["changed since it was approved"]


@pytest.mark.parametrize(
    ("variable", "value", "file"),
    [("BASH_ENV", "more.sh", "more.sh"), ("PATH", "bin:/usr/bin:/bin", "bin/lint")],
)
def test_file_that_a_hooks_environment_leads_to_is_part_of_it(
    tmp_path: Path, variable: str, value: str, file: str
) -> None:
    write(tmp_path, {file: FINE})
    trust = TrustedHooks()
    hook = line(tmp_path, "bash -c true; lint || true", env={variable: value})
    trust.approve(hook, cwd=str(tmp_path))

    write(tmp_path, {file: EVIL})
    outcome = emit(hook, trust, tmp_path)

    assert not (tmp_path / "evidence").exists()
    assert [skip.reason for skip in outcome.skipped] == ["changed since it was approved"]


@pytest.mark.parametrize(
    ("text", "variables", "file"),
    [
        ("bash -l -c true", {"HOME": "home"}, "home/.bash_profile"),
        ("bash -lc true", {"HOME": "home"}, "home/.profile"),
        ("HOME=home bash --login -c true", {}, "home/.bash_profile"),
        ("env HOME=home sh -l -c true", {}, "home/.profile"),
    ],
)
def test_profile_that_a_login_shell_reads_in_a_home_of_the_project_is_part_of_the_hook(
    tmp_path: Path, text: str, variables: dict[str, str], file: str
) -> None:
    write(tmp_path, {file: "true\n"})
    trust = TrustedHooks()
    hook = line(tmp_path, text, env=variables)
    trust.approve(hook, cwd=str(tmp_path))
    assert emit(hook, trust, tmp_path).skipped == ()

    write(tmp_path, {file: "touch evidence\n"})
    outcome = emit(hook, trust, tmp_path)

    assert not (tmp_path / "evidence").exists()
    assert [skip.reason for skip in outcome.skipped] == ["changed since it was approved"]


@pytest.mark.spec("U-10")
@pytest.mark.parametrize(
    ("variables", "text", "file", "content"),
    [
        ({"PYTHONPATH": "lib"}, "python3 {home}/guard.py", "lib/sitecustomize.py", EVIL_PYTHON),
        ({"PYTHONPATH": "src"}, "python3 {home}/guard.py", "src/json.py", EVIL_PYTHON),
        ({}, "{python} -m json.tool --help", "argparse.py", EVIL_PYTHON),
        ({}, "{python} -m json.tool --help", "typing_extensions.py", EVIL_PYTHON),
        ({}, "{python} -c 'import json'", "json.py", EVIL_PYTHON),
        ({}, "cd . && {python} -m json.tool --help", "argparse.py", EVIL_PYTHON),
        ({"NODE_OPTIONS": "--require ./more.js"}, "node -e 1", "more.js", "require('fs').writeFileSync('evidence','')"),
        ({"PATH": "bin:{path}"}, "tool || true", "bin/tool", EVIL),
        ({"PATH": "{root}/.venv/bin:{path}"}, "tool || true", ".venv/bin/tool", EVIL),
        ({"PATH": "{root}/node_modules/.bin:{path}"}, "echo no; test 1; exit 0", "node_modules/.bin/echo", EVIL),
        ({"BASH_FUNC_true%%": "() {{ touch evidence; }}"}, "bash -c true", "unused", ""),
        ({"PERL5LIB": "lib"}, "perl -Mstrict -e 1", "lib/strict.pm", "open(my $f, '>', 'evidence'); 1;"),
        ({"GIT_CONFIG_GLOBAL": "{root}/conf"}, "git x || true", "conf", '[alias]\n\tx = "!touch evidence"\n'),
    ],
)
def test_environment_of_a_project_does_not_lead_an_own_hook_into_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    text: str,
    file: str,
    content: str,
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "guard.py").write_text("import json\n")
    root = workspace(tmp_path, {file: content})
    (root / file).chmod(0o755)
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(root=root, path=os.environ["PATH"]))

    outcome = emit(
        own(tmp_path / "home", text.format(home=tmp_path / "home", python=sys.executable)), TrustedHooks(), root
    )

    assert not outcome.skipped
    assert len(outcome.verdicts) == 1
    assert not (root / "evidence").exists()


def test_two_files_that_are_spelled_alike_behind_a_link_both_count(tmp_path: Path) -> None:
    write(tmp_path, {"x.sh": FINE, "a/x.sh": FINE, "a/b/c": ""})
    (tmp_path / "link").symlink_to("a/b")
    trust = TrustedHooks()
    hook = line(tmp_path, "env -C . sh link/../x.sh")
    trust.approve(hook, cwd=str(tmp_path))

    write(tmp_path, {"a/x.sh": EVIL})
    emit(hook, trust, tmp_path)

    assert not (tmp_path / "evidence").exists()


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("python3 a.py >> log.txt", {"a.py": "", "log.txt": "1"}, {"log.txt": "2"}),
        ("cat *.md; python3 a.py *.md", {"a.py": "", "a.md": "1"}, {"a.md": "2"}),
        (
            "sh guard.sh",
            {"guard.sh": "case $1 in\n deploy/x.sh|deploy/y.sh) exit 2;;\nesac\n", "deploy/x.sh": "1"},
            {"deploy/x.sh": "2", "deploy/y.sh": "2"},
        ),
    ],
)
def test_what_a_hook_only_looks_at_may_change(tmp_path: Path, text: str, before: Files, after: Files) -> None:
    write(tmp_path, before)
    trust = TrustedHooks()
    hook = line(tmp_path, text)
    trust.approve(hook, cwd=str(tmp_path))

    write(tmp_path, after)

    assert trust.reason_denied(hook, cwd=str(tmp_path)) == ""


def own(home: Path, text: str) -> Hook:
    return line(home, text, source=Source.USER, source_path=str(home / "hookline.toml"))


def workspace(tmp_path: Path, files: Files) -> Path:
    (tmp_path / "project" / "sub").mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    write(tmp_path / "project", files)
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("make -s -C .. lint", {"Makefile": EVIL_MAKE}),
        ("sh ../x", {"x": "touch evidence\n"}),
        ("cat x | sh", {"sub/x": "touch evidence\n"}),
        ("sh < x", {"sub/x": "touch evidence\n"}),
        (". ./x", {"sub/x": "touch evidence\n"}),
        ("D=hooks; sh $D/a.sh", {"sub/hooks/a.sh": EVIL}),
        ("for f in hooks/*; do sh $f; done", {"sub/hooks/a": EVIL}),
        ("cd hooks; for f in *; do ./$f; done", {"sub/hooks/a": EVIL}),
        ("echo a.sh | xargs sh", {"sub/a.sh": EVIL}),
        ('grep -q x; echo "$(sh a.sh)"', {"sub/a.sh": EVIL}),
        ("PATH=bin:$PATH; tool", {"sub/bin/tool": EVIL}),
        ("PYTHONPATH=. python3 -m json.tool --help", {"sub/argparse.py": EVIL_PYTHON}),
    ],
)
def test_own_hook_does_not_run_what_a_project_put_in_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, files: Files
) -> None:
    root = workspace(tmp_path, files)
    # a relative folder, and an activated environment of the project while the agent works further down
    monkeypatch.setenv("PATH", f"bin:{root}/.venv/bin:{os.environ['PATH']}")

    outcome = emit(own(tmp_path / "home", text), TrustedHooks(), root / "sub")

    assert not (root / "evidence").exists()
    assert [skip.reason for skip in outcome.skipped] == [
        f'runs "{next(iter(files))}" of this workspace, which is not approved'
    ]


@pytest.mark.parametrize(
    "text",
    [
        "sed -n 1p README.md",
        "awk '{print}' README.md",
        "python3 -c 'print(1)' README.md",
        "ls *.md",
        "cat package.json | grep -q x || true",
    ],
)
def test_own_hook_may_read_what_lies_in_a_project(tmp_path: Path, text: str) -> None:
    root = workspace(tmp_path, {"sub/README.md": "x", "sub/package.json": "{}"})

    assert emit(own(tmp_path / "home", text), TrustedHooks(), root / "sub").skipped == ()


@pytest.mark.parametrize(
    "text",
    [
        'case $(cat) in *"rm -rf"*) echo no >&2; exit 2;; esac',
        'x=$(cat); [[ $x == *"rm -rf"* ]] && exit 2; true',
        "grep -q deploy.sh && { echo no >&2; exit 2; }; true",
        "if grep -qE 'rm|deploy.sh'; then exit 2; fi",
    ],
)
def test_own_guard_is_not_taken_away_by_files_named_like_its_words(tmp_path: Path, text: str) -> None:
    names = ("no", "rm", "2", "case", "cat", "in", "exit", "grep", "x", "true", "deploy.sh", "README.md")
    root = workspace(tmp_path, {f"sub/{name}": EVIL for name in names})
    for name in names:
        (root / "sub" / name).chmod(0o755)

    assert emit(own(tmp_path / "home", text), TrustedHooks(), root / "sub").skipped == ()
    assert not (root / "evidence").exists()


def test_pipe_in_the_place_of_a_script_is_not_fed_to_an_own_hook(tmp_path: Path) -> None:
    root = workspace(tmp_path, {})
    os.mkfifo(root / "x.sh")

    outcome = emit(own(tmp_path / "home", "sh x.sh"), TrustedHooks(), root)

    assert [skip.reason for skip in outcome.skipped] == ['runs "x.sh" of this workspace, which is not approved']


def test_pipe_in_the_place_of_a_program_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x", 0o755)
    hook = replace(line(tmp_path, f"{tmp_path}/x"), shell=None, command=f"{tmp_path}/x")

    assert TrustedHooks().reason_denied(hook, cwd=str(tmp_path)) == "workspace hook that is not approved"


@pytest.mark.parametrize(
    ("more", "sizes", "problem"),
    [
        ({"command": "sh big"}, {"big": 10 << 30}, '"big" is larger than 512 MB, too much to read before each run'),
        (
            {"command": "true", "includes": ("d",)},
            {f"d/{number}": 16 << 20 for number in range(8)},
            "its files are larger than 64 MB, too much to read before each run",
        ),
    ],
)
def test_files_too_large_to_read_before_each_run_cannot_be_approved(
    tmp_path: Path, more: dict[str, object], sizes: Mapping[str, int], problem: str
) -> None:
    for name, size in sizes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)

    assert TrustedHooks().reason_denied(line(tmp_path, "true", **more), cwd=str(tmp_path)) == problem


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"w{number}" for number in range(25_000)),
        "".join(f"cd a{number};" for number in range(500)),
        "".join(f"w{number};" for number in range(500)),
        "$(" * 30_000,
        "echo /*/*/*/*/*/*/x | sh; sh /*/*/*/*/*/*/*/x",
    ],
)
def test_line_too_long_to_look_through_cannot_be_approved(tmp_path: Path, text: str) -> None:
    found = TrustedHooks().fingerprint(line(tmp_path, text), cwd=str(tmp_path))

    assert "put it into a script" in found.problem or "name fewer" in found.problem


def test_broken_approvals_do_not_keep_a_persons_own_guard_from_running(tmp_path: Path) -> None:
    (tmp_path / "approvals.json").write_text("{")
    trust = TrustedHooks(TrustedHooksConfig(storage_path=tmp_path / "approvals.json"))

    async def run() -> Outcome:
        async with Engine(trust=trust, cwd=str(tmp_path)) as engine:
            engine.add(replace(own(tmp_path / "home", "exit 2"), id="guard"), line(tmp_path, "true"))
            return await engine.emit("before_tool", tool="shell", args={})

    outcome = asyncio.run(run())

    assert outcome.blocked
    assert [skip.hook.id for skip in outcome.skipped] == ["h"]
    assert "is no list of approvals" in outcome.skipped[0].reason


def test_nothing_is_read_of_a_hook_in_a_repository_where_nobody_approved_anything(tmp_path: Path) -> None:
    hook = line(tmp_path, "exit 2", includes=("/**/x",))
    trust = TrustedHooks()
    assert "includes leads through more than" in trust.reason_denied(hook, cwd=str(tmp_path))

    outcome = emit(hook, trust, tmp_path)

    assert [skip.reason for skip in outcome.skipped] == ["workspace hook that is not approved"]


def test_hook_is_read_once_somebody_approved_something_in_its_repository(tmp_path: Path) -> None:
    hook = line(tmp_path, "sh x.sh")
    (tmp_path / "x.sh").write_text("exit 2")
    trust = TrustedHooks()
    assert not emit(hook, trust, tmp_path).blocked

    trust.approve(hook, cwd=str(tmp_path))

    assert emit(hook, trust, tmp_path).blocked


def test_hook_that_we_stumble_over_does_not_bring_down_the_guard_beside_it(tmp_path: Path) -> None:
    guard = replace(own(tmp_path / "home", "exit 2"), id="guard")

    async def run() -> Outcome:
        async with Engine(trust=TrustedHooks(), cwd=str(tmp_path)) as engine:
            # no file that is loaded can say so, but the next mistake of ours is not known yet
            engine.add(replace(line(tmp_path, "true"), root="\0"), guard)
            return await engine.emit("before_tool", tool="shell", args={})

    outcome = asyncio.run(run())

    assert outcome.blocked
    assert "error inside Hookline" in outcome.skipped[0].reason


@settings(max_examples=300, deadline=None)
@given(
    command=st.text("abm$(){}`'\"\\ ;|&<>*?[]~=/.-\n\0\ud800\u00e9", min_size=1, max_size=60),
    head=st.sampled_from(["", "sh ", "cd ", "python3 -m ", "PATH=", "node ", "find . -exec ", "make -C "]),
    is_person=st.booleans(),
)
def test_no_command_is_too_odd_to_be_judged(command: str, head: str, *, is_person: bool) -> None:
    source = Source.USER if is_person else Source.WORKSPACE
    hook = line(
        Path("/nowhere"), f"{head}{command}", source=source, env={"NODE_OPTIONS": command, "PYTHONPATH": command}
    )

    assert TrustedHooks().decide(hook, cwd="/nowhere").status


@pytest.mark.spec("O-15")
@pytest.mark.parametrize("words", [("bash", "say.sh"), ("sh", "-eu", "say.sh"), ("env", "bash", "say.sh"), ("say.sh",)])
def test_script_outside_the_project_runs_when_approved_and_not_when_changed(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    root, script = tmp_path / "project", tmp_path / "elsewhere" / "say.sh"
    write(root, {"hookline.toml": ""})
    write(script.parent, {"say.sh": '#!/bin/sh\necho \'{"message": "hi"}\'\n'})
    program, *args = [str(script) if word == "say.sh" else word for word in words]
    hook = line(root, program, args=tuple(args), shell=False)
    if program == "env":
        hook = replace(hook, command="/usr/bin/env")
    trust = TrustedHooks(TrustedHooksConfig(storage_path=tmp_path / "data" / "approvals.json"))
    trust.approve(hook, cwd=str(root))

    assert emit(hook, trust, root).messages == ("hi",)

    script.write_text(f"#!/bin/sh\ntouch {root}/evidence\n")
    assert emit(hook, trust, root).verdicts == ()
    assert not (root / "evidence").exists()
