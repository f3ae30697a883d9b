import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

OLLAMA = """{
  "model": "m", // mine
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [
      {"type": "command", "command": "python3 a.py", "name": "a", "timeout": 5},
      {"type": "command", "command": "python3 b.py"}
    ]}]
  }
}
"""
LEGACY = '{"name": "Lint on Save", "when": {"type": "fileEdited", "patterns": ["*.py"]}, "then": {"type": "askAgent", "prompt": "lint"}}\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", '[[hook]]\nname = "mine"\non = "before_tool"\nrun = "python3 mine.py"\n')
    for name, text in ((".ollama/settings.json", OLLAMA), (".ollm/hooks/lint.json", LEGACY)):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path / "home"


def project(home: Path, name: str) -> Path:
    return home.parent / "project" / name


def test_the_new_text_is_printed_and_what_cannot_be_carried_is_listed(home: Path) -> None:
    done = hookline(home, "migrate", "all", "modern")

    assert done.returncode == 0
    assert json.loads(done.stdout)["hooks"][0]["eventType"] == "fileEdited"
    assert sorted(done.stderr.splitlines()) == [
        "  a: not written, the event before_tool has no name in ollm-rpc",
        "  mine: not written, the event before_tool has no name in ollm-rpc",
        "  settings:PreToolUse:1: not written, the event before_tool has no name in ollm-rpc",
        "what cannot be carried over:",
    ]


def test_a_system_is_carried_to_our_format_and_its_hooks_stay_the_same(home: Path) -> None:
    before = json.loads(hookline(home, "migrate", "ollama-cli", "ollama-cli", "--json").stdout)

    done = hookline(home, "migrate", "ollama-cli", "native", "--write", "--remove-old")

    assert (done.returncode, done.stderr) == (0, "")
    assert tomllib.loads(project(home, "hookline.toml").read_text())["hook"] == [
        {
            "name": "a",
            "on": "before_tool",
            "tools": ["Bash"],
            "run": "python3 a.py",
            "dialect": "ollama-cli",
            "timeout": 5,
        },
        {"on": "before_tool", "tools": ["Bash"], "run": "python3 b.py", "dialect": "ollama-cli"},
    ]
    assert project(home, ".ollama/settings.json").read_text() == '{\n  "model": "m", // mine\n  "hooks": {}\n}\n'
    after = json.loads(hookline(home, "migrate", "native", "ollama-cli", "--hook", "a", "--json").stdout)
    carried = json.loads(after["documents"][0]["text"])["hooks"]["PreToolUse"][0]["hooks"][0]
    assert carried == json.loads(before["documents"][0]["text"])["hooks"]["PreToolUse"][0]["hooks"][0]


def test_one_undo_brings_all_files_back(home: Path) -> None:
    hookline(home, "migrate", "ollama-cli", "native", "--write", "--remove-old")

    hookline(home, "undo")

    assert project(home, ".ollama/settings.json").read_text() == OLLAMA
    assert not project(home, "hookline.toml").exists()


@pytest.mark.spec("D-14")
def test_a_legacy_file_is_written_back_in_the_modern_form(home: Path) -> None:
    path = ".ollm/hooks/lint.json"

    done = hookline(home, "migrate", path, "modern", "--output", path, "--remove-old")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(project(home, path).read_text()) == {
        "id": "lint-on-save",
        "name": "Lint on Save",
        "eventType": "fileEdited",
        "filePatterns": ["*.py"],
        "action": {"type": "askAgent", "prompt": "lint"},
        "trusted": False,
        "enabled": True,
    }


def test_one_hook_a_file_makes_a_file_for_each(home: Path) -> None:
    done = hookline(home, "migrate", ".ollama/settings.json", "per_file", "--write")

    folder = project(home, ".config/agent/hooks")
    assert done.returncode == 0
    assert sorted(path.name for path in folder.iterdir()) == ["pre-a.json", "pre-settings-pretooluse-1.json"]
    assert json.loads((folder / "pre-a.json").read_text())["command"] == "python3 a.py"
    assert "a: it speaks ollama-cli; hooks in this file are spoken to in cli-agent" in done.stderr


def test_what_is_not_carried_whole_stays_where_it_was(home: Path) -> None:
    done = hookline(home, "migrate", ".ollama/settings.json", "per_file", "--write", "--remove-old")

    assert "not carried whole, so the old one stays: a, settings:PreToolUse:1" in done.stdout
    assert project(home, ".ollama/settings.json").read_text() == OLLAMA


def test_scripts_are_counted_from_where_the_new_file_is_read(home: Path) -> None:
    (home / ".config" / "hookline" / "mine.py").write_text("")
    script = project(home, ".ollm/hooks/check.py")
    script.write_text("")
    project(home, ".ollm/hooks/c.json").write_text('{"id": "c", "event": "before_tool", "command": "python3 check.py"}')

    done = json.loads(hookline(home, "migrate", "all", "native", "--json").stdout)

    runs = [
        hook["run"]
        for document in done["documents"]
        for hook in tomllib.loads(document["text"])["hook"]
        if "run" in hook
    ]
    assert ["python3", ".ollm/hooks/check.py"] in runs
    assert ["python3", "mine.py"] in runs


def test_an_existing_file_keeps_what_it_has(home: Path) -> None:
    project(home, "hookline.toml").write_text(
        "# mine\n[[hook]]\nname = 'x'\non = 'before_tool'\nrun = 'python3 x.py'\n"
    )
    before = project(home, "hookline.toml").read_text()

    hookline(home, "migrate", "ollama-cli", "native", "--write", "--hook", "a")

    assert project(home, "hookline.toml").read_text().startswith(before)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["all", "natve"], 'did you mean "native"?'),
        (["alll", "native"], 'did you mean "all"?'),
        (["cli-agent", "native"], "no hook was found"),
        (["all", "native", "--hook", "nobody"], 'there is no hook "nobody"'),
        (["all", "native", "--remove-old"], "goes with --write or --output"),
        (["all", "native", "--write", "--output", "x.toml"], "keep one"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused(home: Path, words: list[str], message: str) -> None:
    done = hookline(home, "migrate", *words)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr


def test_migrating_twice_adds_nothing_twice_and_every_hook_runs_once(home: Path) -> None:
    """With a script beside it, a line is words after it was loaded; written as words it is still the same hook."""
    project(home, "a.py").write_text("print('{}')\n")
    before = json.loads(hookline(home, "list", "--json").stdout)

    hookline(home, "migrate", "ollama-cli", "native", "--write")
    once = project(home, "hookline.toml").read_text()
    again = hookline(home, "migrate", "all", "native", "--hook", "a", "--write")

    assert again.stdout.startswith("nothing to change\n")
    assert project(home, "hookline.toml").read_text() == once
    assert len(json.loads(hookline(home, "list", "--json").stdout)) == len(before)


def test_what_is_not_carried_whole_is_said_to_run_twice(home: Path) -> None:
    done = hookline(home, "migrate", "all", "cli-agent", "--hook", "a", "--write")

    assert "no longer quite the same, so both run: a\n" in done.stdout


def test_a_file_that_is_read_nowhere_names_ones_own_scripts_in_full(home: Path, tmp_path: Path) -> None:
    script = home / ".config" / "hookline" / "mine.py"
    script.write_text("print('{}')\n")

    hookline(home, "migrate", "native", "ollm", "--output", str(tmp_path / "out.json"))

    assert json.loads((tmp_path / "out.json").read_text())["args"] == [str(script)]


def test_a_hook_of_its_own_file_does_not_take_the_file_of_another(home: Path) -> None:
    other = project(home, ".config/agent/hooks/pre-a.json")
    other.parent.mkdir(parents=True)
    other.write_text('{"command": "echo other"}')

    done = hookline(home, "migrate", "ollama-cli", "per_file", "--hook", "a", "--write")

    assert (done.returncode, f"{other}: there is another hook in this file already" in done.stderr) == (1, True)
    assert other.read_text() == '{"command": "echo other"}'


def test_printed_document_is_whole(home: Path) -> None:
    header = {"Authorization": "Bearer abcdefgh12345678abcdefgh"}
    entry = {"type": "webhook", "name": "post", "url": "http://127.0.0.1:9/x", "headers": header}
    document = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [entry]}]}}
    project(home, ".ollama/settings.json").write_text(json.dumps(document))

    done = hookline(home, "migrate", "all", "native")

    assert "Bearer abcdefgh12345678abcdefgh" in done.stdout


def test_all_leaves_out_what_others_packed_and_its_name_takes_it_along(home: Path) -> None:
    pack = home / ".config/hookline/packs/theirs"
    pack.mkdir(parents=True)
    (pack / "hookline.toml").write_text('[[hook]]\nname = "packed"\non = "before_tool"\nrun = "python3 p.py"\n')

    everything = hookline(home, "migrate", "all", "native").stdout
    named = hookline(home, "migrate", str(pack / "hookline.toml"), "native").stdout

    assert "packed" not in [hook.get("name") for hook in tomllib.loads(everything)["hook"]]
    assert [hook["name"] for hook in tomllib.loads(named)["hook"]] == ["packed"]
