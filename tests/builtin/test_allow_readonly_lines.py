import hashlib
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.builtin._boundaries import Boundaries
from hookline.builtin.allow_readonly import list_readers
from hookline.shell.program import Program
from hookline.shell.read_only import READERS
from tests.builtin.bounds import lines, make_project, run
from tests.helpers.each import each

pytestmark = pytest.mark.slow

ALLOWED = lines("allow")
# what turns any line into one that does more than read, wherever it is put
ENDINGS = [
    "; rm -rf x",
    " && rm x",
    " || rm x",
    " | tee y",
    " | sh",
    " & rm x",
    "\nrm x",
    "\r\nrm x",
    " > y",
    " >> README.md",
    " >| y",
    " 2> y",
    " &> y",
    " >& y",
    " <> y",
    " $(rm x)",
    ' "$(rm x)"',
    " `rm x`",
    ' "`rm x`"',
    " $X",
    ' "$X"',
    " ${X:=1}",
    " <(rm x)",
    " >(rm x)",
    " {a,b}",
    " &",
    " # x",
    "\\\n; rm x",
    "\0",
    "\x1b[2J",
    "'",
    '"',
    "\\",
    " ~/.ssh/id_rsa; rm x",
    "; x() { rm x; }; x",
    " <<EOF\n$(rm x)\nEOF",
]
HARMFUL = [ending for ending in ENDINGS if "rm" in ending or ">" in ending]
BEGINNINGS = [
    "rm x; ",
    "X=1 ",
    "LD_PRELOAD=./x ",
    "PATH=. ",
    "GIT_PAGER=./x ",
    "sudo ",
    "env ",
    "eval ",
    "exec ",
    "nohup ",
    "xargs ",
    "! ",
    "(",
    "{ ",
    "$X ",
    "$(rm x) ",
    "./",
    "> y; ",
    "rm x | ",
    "alias ls=rm; ",
    "time ",
    "builtin ",
]


@pytest.fixture(scope="module")
def bounds(tmp_path_factory: pytest.TempPathFactory) -> Boundaries:
    return make_project(tmp_path_factory.mktemp("reading"))


def test_the_table_has_enough_lines_and_half_of_them_are_tricks() -> None:
    everything = [*ALLOWED, *lines("ask"), *lines("deny")]

    assert len(everything) == len(set(everything)) >= 300
    assert len(ALLOWED) <= len(everything) / 2


@pytest.mark.spec("C-12")
@each("line", ALLOWED)
def test_a_line_that_only_reads_is_known(bounds: Boundaries, line: str) -> None:
    assert list_readers(line, bounds)


@pytest.mark.spec("C-12")
@each("line", [*lines("ask"), *lines("deny")])
def test_a_line_that_does_more_is_not_taken_for_reading(bounds: Boundaries, line: str) -> None:
    assert list_readers(line, bounds) == ()


@each("line", ALLOWED)
def test_nothing_can_be_put_before_or_after_a_line_that_reads(bounds: Boundaries, line: str) -> None:
    taken = [line + ending for ending in ENDINGS if list_readers(line + ending, bounds)]
    taken += [beginning + line for beginning in BEGINNINGS if list_readers(beginning + line, bounds)]

    assert taken == []


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.sampled_from(ALLOWED), cut=st.integers(0, 60), middle=st.sampled_from(HARMFUL))
def test_what_is_put_into_the_middle_of_a_line_runs_nothing(
    bounds: Boundaries, line: str, cut: int, middle: str
) -> None:
    changed = line[:cut] + middle + line[cut:]

    # inside quotes it is a text like any other; outside of them it must not pass
    if list_readers(changed, bounds):
        assert line[:cut].count("'") % 2 or line[:cut].count('"') % 2


@settings(deadline=None, max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from(" \t\n;&|<>(){}$`'\"\\*?[]~!#=-/.abcdlrsx0129,:"), max_size=30))
def test_no_text_makes_it_fall_over(bounds: Boundaries, text: str) -> None:
    list_readers(text, bounds)
    list_readers(f"ls {text}", bounds)


def _state(folder: Path) -> dict[str, tuple[int, str]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        # git notes there which files it has looked at
        if path.match(".git/index") or path.is_symlink() or path.is_dir():
            found[str(path)] = (path.lstat().st_mode, "")
        else:
            found[str(path)] = (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
    return found


@pytest.mark.spec("C-12")
@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
def test_every_line_that_is_allowed_changes_nothing_when_it_is_run(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    bounds = make_project(tmp_path)
    before = _state(tmp_path)
    changed = []

    for line in ALLOWED:
        run([shell, "-c", line], Path(bounds.root), Path(bounds.home))
        if _state(tmp_path) != before:
            changed.append(line)
            before = _state(tmp_path)

    assert changed == []


# what makes one program or another write, delete or run something
TAILS = ["--output=new", "-onew README.md", "README.md new", "-O./evil foo", "-D main"]


def _list_rows(name: str, row: Program) -> list[tuple[str, Program]]:
    inner = [found for sub, one in row.subcommands.items() for found in _list_rows(f"{name} {sub}", one)]
    return [(name, row), *inner]


def _with_every_option(name: str, row: Program) -> list[str]:
    letters = [one for one in row.options if not one.startswith("--")]
    options = ["", *letters, *(f"{one}o" for one in letters), *(one for one in row.options if one.startswith("--"))]
    return [f"{name} {option} {tail}" for option in options for tail in TAILS]


@pytest.mark.spec("C-12")
def test_no_option_makes_a_program_swallow_what_would_have_been_seen(tmp_path: Path) -> None:
    """An option that takes a word for us and none for the program would let the next option through, and the reverse."""
    bounds = make_project(tmp_path)
    evil = Path(bounds.root) / "evil"
    evil.write_text("#!/bin/sh\n: > ran\n")
    evil.chmod(0o755)
    before = _state(tmp_path)
    changed = {}

    # programs that share a row need not all be tried
    rows = [found for name, row in READERS.items() for found in _list_rows(name, row)]
    for name, row in {id(row): (name, row) for name, row in rows}.values():
        taken = [line for line in _with_every_option(name, row) if list_readers(line, bounds)]
        run(["bash", "-c", "\n".join(taken)], Path(bounds.root), Path(bounds.home))
        if (after := _state(tmp_path)) != before:
            changed[name] = sorted(set(after) ^ set(before))
            before = after

    assert changed == {}


def test_the_check_of_changes_sees_one(tmp_path: Path) -> None:
    bounds = make_project(tmp_path)
    before = _state(tmp_path)

    run(["sh", "-c", "sort -o list.txt list.txt"], Path(bounds.root), Path(bounds.home))

    assert _state(tmp_path) != before


def test_a_program_of_the_project_is_not_run(bounds: Boundaries, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = Path(bounds.root) / "node_modules" / ".bin"
    shim.mkdir(parents=True, exist_ok=True)
    (shim / "grep").touch()
    monkeypatch.setenv("PATH", f"{shim}{os.pathsep}{os.environ['PATH']}")

    assert list_readers("grep foo README.md", bounds) == ()
    assert list_readers("/bin/grep foo README.md", bounds)
    assert list_readers("head README.md", bounds)

    (Path(bounds.root) / "head").touch()
    monkeypatch.setenv("PATH", f"{os.curdir}{os.pathsep}{os.environ['PATH']}")
    assert list_readers("head README.md", bounds) == ()
    (Path(bounds.root) / "head").unlink()
    shutil.rmtree(shim.parent)


def test_a_file_called_like_an_option_is_not_smuggled_in(tmp_path: Path) -> None:
    bounds = make_project(tmp_path)
    (Path(bounds.root) / "--pre=evil").touch()

    assert list_readers("rg foo *", bounds) == ()
    assert list_readers("rg foo -- docs/*.md", bounds)


@pytest.mark.parametrize("line", ["ls", "pwd", "git status", "cat README.md"])
def test_outside_of_the_project_nothing_is_known(bounds: Boundaries, line: str) -> None:
    assert list_readers(line, replace(bounds, bases=("/etc",))) == ()
    assert list_readers(line, replace(bounds, root="")) == ()


def test_git_is_not_asked_where_a_part_of_the_project_looks_like_a_repository(bounds: Boundaries) -> None:
    bare = f"{bounds.root}/bare"

    assert list_readers("git status", replace(bounds, bases=(bare,))) == ()
    assert list_readers("ls", replace(bounds, bases=(bare,)))


def test_a_whole_folder_is_searched_only_without_secrets(tmp_path: Path) -> None:
    bounds = make_project(tmp_path)
    assert list_readers("grep -r foo src", bounds)

    (Path(bounds.root) / "src" / "id_ed25519").touch()

    assert list_readers("grep -r foo src", bounds) == ()


def test_a_very_long_line_is_no_opinion(bounds: Boundaries) -> None:
    assert list_readers("echo " + "a" * 20_000, bounds) == ()
    assert list_readers("echo " + "$(" * 5_000, bounds) == ()
    assert list_readers("cd src;" * 1_000 + "cat app.py " * 500, bounds) == ()


def test_a_variable_that_leads_elsewhere_is_heeded(bounds: Boundaries, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list_readers("cd src && ls", bounds)

    monkeypatch.setenv("CDPATH", "/etc")

    assert list_readers("cd src && ls", bounds) == ()


def test_a_secret_is_one_by_its_own_name_and_by_that_of_a_link_to_it(tmp_path: Path) -> None:
    bounds = make_project(tmp_path)
    (Path(bounds.root) / "plain.txt").symlink_to(".env")
    (Path(bounds.root) / ".netrc").symlink_to("README.md")

    assert list_readers("cat plain.txt", bounds) == ()
    assert list_readers("cat .netrc", bounds) == ()
    assert list_readers("ls -l plain.txt .netrc", bounds)


@pytest.mark.spec("C-12")
@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "printf 'xx%n' PATH; ls"),
        ("zsh", "printf '%d' PATH=2; ls"),
        ("zsh", "printf '%*s' PATH=2 x; ls"),
        ("fish", "echo '\\'' ; touch evil #'"),
        ("bash", "git status"),
    ],
)
def test_what_really_runs_a_program_of_the_project_is_never_allowed(tmp_path: Path, shell: str, line: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    bounds = make_project(tmp_path)
    root = Path(bounds.root)
    program = root / "2" / "ls"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n: > evil\n")
    program.chmod(0o755)
    run(["git", "config", "core.fsmonitor", "touch evil; false"], root, Path(bounds.home))

    run([shell, "-c", line], root, Path(bounds.home))

    assert (root / "evil").exists(), "the trick works: this is what is kept from happening"
    assert list_readers(line, bounds) == ()


def test_a_word_of_the_shell_that_another_program_starts_is_looked_up(
    bounds: Boundaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = Path(bounds.root) / "bin"
    shim.mkdir(exist_ok=True)
    (shim / "echo").touch()
    monkeypatch.setenv("PATH", f"{shim}{os.pathsep}{os.environ['PATH']}")

    assert list_readers("echo hello", bounds)
    assert list_readers("command echo hello", bounds)
    assert list_readers("timeout 5 echo hello", bounds) == ()
    shutil.rmtree(shim)


def test_a_version_is_asked_of_the_program_itself_and_of_no_manager_of_versions(
    bounds: Boundaries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    manager = tmp_path / "manager"
    shutil.copy("/bin/true", manager)
    shim = tmp_path / "perl"

    shutil.copy("/bin/true", shim)
    assert list_readers("perl --version", bounds)

    shim.write_text("#!/bin/sh\n")
    shim.chmod(0o755)
    assert list_readers("perl --version", bounds) == ()

    shim.unlink()
    shim.symlink_to(manager)
    assert list_readers("perl --version", bounds) == ()

    assert list_readers("node -e 1", bounds) == ()
