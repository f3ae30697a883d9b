import json
import tomllib
from pathlib import Path

import pytest

from hookline.config import pack
from tests.cli.program import configure, hookline

GUARD = """
import json
from pathlib import Path
command = json.loads(input())["args"].get("command", "")
print(json.dumps({"decision": "deny", "reason": "not here"} if "rm" in command else {}))
"""
CONFIG = """
[[hook]]
name = "guard"
on = "before_tool"
tools = ["shell"]
run = ["python3", "guard.py"]
includes = ["words.txt"]
env = { LEVEL = "high", API_KEY = "abc", KEY = "sk-1234567890abcdefghij" }

[[hook]]
name = "caller"
on = "before_model"
call = "policy:check"

[[hook]]
name = "poster"
on = "after_model"
post = "https://hooks.example/x"
headers = { Authorization = "Bearer 0123456789abcdef01", X-Team = "core" }
"""
POLICY = 'def check(event):\n    return {"context": "by the book"}\n'
FILES = {"guard.py": GUARD, "words.txt": "rm\n", "policy.py": POLICY}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "one" / "home", CONFIG, FILES)
    return tmp_path / "one" / "home"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    home = tmp_path / "two" / "home"
    home.mkdir(parents=True)
    (tmp_path / "two" / "project").mkdir()
    return home


def shared(home: Path, *words: str) -> pack.Pack:
    done = hookline(home, "share", *words)
    assert done.returncode == 0, done.stderr
    return pack.read(done.stdout, path="shared.toml")


def shell(home: Path, command: str) -> int:
    arguments = json.dumps({"command": command})
    return hookline(home, "emit", "before_tool", "--tool", "shell", "--args", arguments).returncode


@pytest.mark.spec("A-20")
def test_shared_hooks_run_for_somebody_else_once_they_are_approved(home: Path, other: Path, tmp_path: Path) -> None:
    file = tmp_path / "guard.hooks.toml"
    done = hookline(home, "share", "guard", "caller", "--output", str(file), "--version", "1.0")
    assert done.returncode == 0, done.stderr

    assert hookline(other, "add", "--from", str(file)).returncode == 0

    assert shell(other, "rm x") == 0
    for name in ("guard", "caller"):
        approved = hookline(other, "trust", "approve", name, "--yes")
        assert approved.returncode == 0, approved.stderr
    assert shell(other, "rm x") == 2
    assert shell(other, "ls") == 0
    told = hookline(other, "emit", "before_model").stdout
    assert told == '[data from hook "caller" that was downloaded] by the book\n'


def test_pack_has_the_files_and_says_where_they_are(home: Path) -> None:
    packed = shared(home, "guard")

    [hook] = packed.hooks
    assert hook["run"] == ["python3", "guard.py"]
    assert hook["includes"] == ["words.txt"]
    assert {file.path: file.content.decode() for file in packed.files} == {"guard.py": GUARD, "words.txt": "rm\n"}


def test_secrets_are_not_carried_and_that_is_said(home: Path) -> None:
    done = hookline(home, "share", "guard", "poster")

    guard, poster = tomllib.loads(done.stdout)["hook"]
    assert guard["env"] == {"LEVEL": "high"}
    assert poster["headers"] == {"X-Team": "core"}
    assert done.stderr.splitlines() == [
        "left out: guard: env.API_KEY looks like a secret",
        "left out: guard: env.KEY looks like a secret",
        "left out: poster: headers.Authorization looks like a secret",
    ]


def test_script_with_a_secret_is_refused_with_its_line(home: Path) -> None:
    (home / ".config/hookline/guard.py").write_text(f'{GUARD}\nTOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ"\n')

    done = hookline(home, "share", "guard")

    assert (done.returncode, done.stdout) == (1, "")
    assert "guard.py:7: something here looks like a secret" in done.stderr
    assert len(shared(home, "guard", "--as-is").files) == 2


def test_shell_line_that_names_files_is_refused(home: Path) -> None:
    project = home.parent / "project"
    (project / "guard.py").write_text(GUARD)
    (project / "hookline.toml").write_text(
        '[[hook]]\nname = "line"\non = "after_model"\nrun = "python3 guard.py | tee log"\nshell = true\n'
    )

    done = hookline(home, "share", "line")

    assert done.returncode == 1
    assert 'hook "line" is a line for a shell' in done.stderr


def test_file_from_elsewhere_is_refused(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "elsewhere.py"
    script.write_text(GUARD)
    configure(home, f'[[hook]]\nname = "far"\non = "before_tool"\nrun = ["python3", "{script}"]\n')

    done = hookline(home, "share", "far")

    assert done.returncode == 1
    assert f"needs {script}, which is outside its folder" in done.stderr


def test_script_that_is_not_there_is_said(home: Path) -> None:
    (home / ".config/hookline/guard.py").unlink()
    configure(home, '[[hook]]\nname = "gone"\non = "before_tool"\nrun = ["./gone.sh", "now"]\n')

    done = hookline(home, "share", "gone")

    assert (done.returncode, done.stdout) == (1, "")
    assert "gone.sh, which is not there" in done.stderr


def test_hook_of_another_system_is_shared_in_its_own_words(home: Path) -> None:
    folder = home.parent / "project" / ".ollm" / "hooks"
    folder.mkdir(parents=True)
    (folder / "block.py").write_text("print('{\"continue\": true}')\n")
    (folder / "block.json").write_text(
        '{"id": "block", "name": "Block", "event": "before_tool", "command": "python3", "args": ["block.py"]}'
    )

    packed = shared(home, "block")

    assert packed.hooks == ({"name": "Block", "on": "before_tool", "run": ["python3", "block.py"], "dialect": "ollm"},)
    assert [file.path for file in packed.files] == ["block.py"]


def test_two_files_of_one_name_are_both_carried(home: Path) -> None:
    project = home.parent / "project"
    (project / "guard.py").write_text("print('{}')\n")
    (project / "hookline.toml").write_text(
        '[[hook]]\nname = "theirs"\non = "before_tool"\nrun = ["python3", "guard.py"]\n'
    )

    packed = shared(home, "guard", "theirs")

    assert [hook["run"] for hook in packed.hooks] == [["python3", "guard.py"], ["python3", "theirs/guard.py"]]
    assert {file.path for file in packed.files} == {"guard.py", "words.txt", "theirs/guard.py"}


def test_file_that_is_there_is_not_written_over(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("dear to me")

    done = hookline(home, "share", "guard", "--output", str(file))

    assert done.returncode == 1
    assert "write over it with --force" in done.stderr
    assert file.read_text() == "dear to me"
    assert hookline(home, "share", "guard", "--output", str(file), "--force").returncode == 0
    assert pack.read_file(file).name == "guard"


def test_json_says_what_is_in_the_pack(home: Path) -> None:
    said = json.loads(hookline(home, "share", "poster", "--json", "--name", "team").stdout)

    assert pack.read(said.pop("pack"), path="team.toml").name == "team"
    assert said == {
        "name": "team",
        "version": "",
        "output": None,
        "hooks": ["poster"],
        "files": [],
        "left_out": ["poster: headers.Authorization looks like a secret"],
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gard"], 'there is no hook "gard" (did you mean "guard"?)'),
        (["guard", "--name", "../x"], '"../x" is no name for a pack'),
        (["guard", "--output", "/nowhere/at/all"], "/nowhere/at/all: the pack cannot be written"),
    ],
)
def test_wrong_words_are_an_error(home: Path, words: list[str], message: str) -> None:
    done = hookline(home, "share", *words)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_step_that_stays_behind_is_said(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(
        home,
        '[[hook]]\nname = "all"\non = "error"\nsteps = ["one"]\n'
        '[[hook]]\nname = "one"\non = "user_triggered"\nask = "And?"\n',
    )

    alone, both = hookline(home, "share", "all"), hookline(home, "share", "all", "one")

    assert 'left out: all: its step "one"; name it, too' in alone.stderr
    assert both.stderr == ""
