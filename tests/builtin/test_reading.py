import hashlib
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.builtin._ground import Ground
from hookline.builtin._readers import FD, GIT, JQ
from hookline.builtin.reading import programs_read
from hookline.core.effects.readers import READERS, Reader
from tests.builtin.ground import lines, make_project, run

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
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_project(tmp_path_factory.mktemp("reading"))


def test_the_table_has_enough_lines_and_half_of_them_are_tricks() -> None:
    everything = [*ALLOWED, *lines("ask"), *lines("deny")]

    assert len(everything) == len(set(everything)) >= 300
    assert len(ALLOWED) <= len(everything) / 2


@pytest.mark.spec("C-12")
@pytest.mark.parametrize("line", ALLOWED)
def test_a_line_that_only_reads_is_known(ground: Ground, line: str) -> None:
    assert programs_read(line, ground)


@pytest.mark.spec("C-12")
@pytest.mark.parametrize("line", [*lines("ask"), *lines("deny")])
def test_a_line_that_does_more_is_not_taken_for_reading(ground: Ground, line: str) -> None:
    assert programs_read(line, ground) == ()


@pytest.mark.parametrize("line", ALLOWED)
def test_nothing_can_be_put_before_or_after_a_line_that_reads(ground: Ground, line: str) -> None:
    taken = [line + ending for ending in ENDINGS if programs_read(line + ending, ground)]
    taken += [beginning + line for beginning in BEGINNINGS if programs_read(beginning + line, ground)]

    assert taken == []


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.sampled_from(ALLOWED), cut=st.integers(0, 60), middle=st.sampled_from(HARMFUL))
def test_what_is_put_into_the_middle_of_a_line_runs_nothing(ground: Ground, line: str, cut: int, middle: str) -> None:
    changed = line[:cut] + middle + line[cut:]

    # inside quotes it is a text like any other; outside of them it must not pass
    if programs_read(changed, ground):
        assert line[:cut].count("'") % 2 or line[:cut].count('"') % 2


@settings(deadline=None, max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from(" \t\n;&|<>(){}$`'\"\\*?[]~!#=-/.abcdlrsx0129,:"), max_size=30))
def test_no_text_makes_it_fall_over(ground: Ground, text: str) -> None:
    programs_read(text, ground)
    programs_read(f"ls {text}", ground)


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
    ground = make_project(tmp_path)
    before = _state(tmp_path)
    changed = []

    for line in ALLOWED:
        run([shell, "-c", line], Path(ground.root), Path(ground.home))
        if _state(tmp_path) != before:
            changed.append(line)
            before = _state(tmp_path)

    assert changed == []


# what makes one program or another write, delete or run something
TAILS = ["--output=new", "-onew README.md", "README.md new", "-O./evil foo", "-D main"]
READ_BY_TABLE = {**READERS, "fd": FD, "jq": JQ, **{f"git {name}": reader for name, reader in GIT.items()}}


def _with_every_option(name: str, reader: Reader) -> list[str]:
    letters = [f"-{letter}" for letter in reader.flags + reader.values + reader.glued]
    options = [
        "",
        *letters,
        *(f"{one}o" for one in letters),
        *(f"--{long}" for long in reader.long | reader.long_values),
    ]
    return [f"{name} {option} {tail}" for option in options for tail in TAILS]


@pytest.mark.spec("C-12")
def test_no_option_makes_a_program_swallow_what_would_have_been_seen(tmp_path: Path) -> None:
    """An option that takes a word for us and none for the program would let the next option through, and the reverse."""
    ground = make_project(tmp_path)
    evil = Path(ground.root) / "evil"
    evil.write_text("#!/bin/sh\n: > ran\n")
    evil.chmod(0o755)
    before = _state(tmp_path)
    changed = {}

    # programs that share a row need not all be tried
    for name, reader in {id(reader): (name, reader) for name, reader in READ_BY_TABLE.items()}.values():
        taken = [line for line in _with_every_option(name, reader) if programs_read(line, ground)]
        run(["bash", "-c", "\n".join(taken)], Path(ground.root), Path(ground.home))
        if (after := _state(tmp_path)) != before:
            changed[name] = sorted(set(after) ^ set(before))
            before = after

    assert changed == {}


def test_the_check_of_changes_sees_one(tmp_path: Path) -> None:
    ground = make_project(tmp_path)
    before = _state(tmp_path)

    run(["sh", "-c", "sort -o list.txt list.txt"], Path(ground.root), Path(ground.home))

    assert _state(tmp_path) != before


def test_a_program_of_the_project_is_not_run(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = Path(ground.root) / "node_modules" / ".bin"
    shim.mkdir(parents=True, exist_ok=True)
    (shim / "grep").touch()
    monkeypatch.setenv("PATH", f"{shim}{os.pathsep}{os.environ['PATH']}")

    assert programs_read("grep foo README.md", ground) == ()
    assert programs_read("/bin/grep foo README.md", ground)
    assert programs_read("head README.md", ground)

    (Path(ground.root) / "head").touch()
    monkeypatch.setenv("PATH", f"{os.curdir}{os.pathsep}{os.environ['PATH']}")
    assert programs_read("head README.md", ground) == ()
    (Path(ground.root) / "head").unlink()
    shutil.rmtree(shim.parent)


def test_a_file_called_like_an_option_is_not_smuggled_in(tmp_path: Path) -> None:
    ground = make_project(tmp_path)
    (Path(ground.root) / "--pre=evil").touch()

    assert programs_read("rg foo *", ground) == ()
    assert programs_read("rg foo -- docs/*.md", ground)


@pytest.mark.parametrize("line", ["ls", "pwd", "git status", "cat README.md"])
def test_outside_of_the_project_nothing_is_known(ground: Ground, line: str) -> None:
    assert programs_read(line, replace(ground, bases=("/etc",))) == ()
    assert programs_read(line, replace(ground, root="")) == ()


def test_git_is_not_asked_where_a_part_of_the_project_looks_like_a_repository(ground: Ground) -> None:
    bare = f"{ground.root}/bare"

    assert programs_read("git status", replace(ground, bases=(bare,))) == ()
    assert programs_read("ls", replace(ground, bases=(bare,)))


def test_a_whole_folder_is_searched_only_without_secrets(tmp_path: Path) -> None:
    ground = make_project(tmp_path)
    assert programs_read("grep -r foo src", ground)

    (Path(ground.root) / "src" / "id_ed25519").touch()

    assert programs_read("grep -r foo src", ground) == ()


def test_a_very_long_line_is_no_opinion(ground: Ground) -> None:
    assert programs_read("echo " + "a" * 20_000, ground) == ()
    assert programs_read("echo " + "$(" * 5_000, ground) == ()
    assert programs_read("cd src;" * 1_000 + "cat app.py " * 500, ground) == ()


def test_a_variable_that_leads_elsewhere_is_heeded(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    assert programs_read("cd src && ls", ground)

    monkeypatch.setenv("CDPATH", "/etc")

    assert programs_read("cd src && ls", ground) == ()


def test_a_secret_is_one_by_its_own_name_and_by_that_of_a_link_to_it(tmp_path: Path) -> None:
    ground = make_project(tmp_path)
    (Path(ground.root) / "plain.txt").symlink_to(".env")
    (Path(ground.root) / ".netrc").symlink_to("README.md")

    assert programs_read("cat plain.txt", ground) == ()
    assert programs_read("cat .netrc", ground) == ()
    assert programs_read("ls -l plain.txt .netrc", ground)


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
    ground = make_project(tmp_path)
    root = Path(ground.root)
    program = root / "2" / "ls"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n: > evil\n")
    program.chmod(0o755)
    run(["git", "config", "core.fsmonitor", "touch evil; false"], root, Path(ground.home))

    run([shell, "-c", line], root, Path(ground.home))

    assert (root / "evil").exists(), "the trick works: this is what is kept from happening"
    assert programs_read(line, ground) == ()


def test_a_word_of_the_shell_that_another_program_starts_is_looked_up(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim = Path(ground.root) / "bin"
    shim.mkdir(exist_ok=True)
    (shim / "echo").touch()
    monkeypatch.setenv("PATH", f"{shim}{os.pathsep}{os.environ['PATH']}")

    assert programs_read("echo hello", ground)
    assert programs_read("command echo hello", ground)
    assert programs_read("timeout 5 echo hello", ground) == ()
    shutil.rmtree(shim)


def test_a_version_is_asked_of_the_program_itself_and_of_no_manager_of_versions(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    manager = tmp_path / "manager"
    shutil.copy("/bin/true", manager)
    shim = tmp_path / "perl"

    shutil.copy("/bin/true", shim)
    assert programs_read("perl --version", ground)

    shim.write_text("#!/bin/sh\n")
    shim.chmod(0o755)
    assert programs_read("perl --version", ground) == ()

    shim.unlink()
    shim.symlink_to(manager)
    assert programs_read("perl --version", ground) == ()

    assert programs_read("node -e 1", ground) == ()
