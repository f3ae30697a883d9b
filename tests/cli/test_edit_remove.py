from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CONFIG = """# all my hooks

# keeps me safe
[[hook]]
name = "a"
on = "before_tool"
run = "python3 a.py"

# tells me things
[[hook]]
name = "b"
on = "after_agent"
run = "python3 b.py"
[hook.env]
A = "1"

[[hook]]
name = "c"
on = "before_tool"
run = "python3 c.py"
"""
GROUPED = """{
\t"hooks": {
\t\t"PreToolUse": [
\t\t\t{"matcher": "Bash", "hooks": [{"type": "command", "command": "python3 x.py", "name": "x"}]},
\t\t\t{"hooks": [
\t\t\t\t{"type": "command", "command": "python3 y.py"}, // unnamed
\t\t\t\t{"type": "command", "command": "python3 z.py"}
\t\t\t]}
\t\t],
\t\t"Stop": [{"hooks": [{"type": "command", "command": "python3 s.py", "name": "s"}]}]
\t},
\t"other": [1,2, 3]
}"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG)
    (tmp_path / "project" / ".ollama").mkdir()
    (tmp_path / "project" / ".ollama" / "settings.json").write_text(GROUPED)
    return tmp_path / "home"


def settings(home: Path) -> str:
    return (home.parent / "project" / ".ollama" / "settings.json").read_text()


@pytest.mark.spec("D-16")
def test_a_hook_goes_with_its_comment_and_its_tables(home: Path) -> None:
    done = hookline(home, "remove", "b")

    assert (done.returncode, done.stderr) == (0, "")
    before, _, rest = CONFIG.partition("# tells me things")
    own = home / ".config" / "hookline" / "hookline.toml"
    assert own.read_text() == before + rest[rest.index('[[hook]]\nname = "c"') :]


def test_several_of_several_files_go_at_once_and_come_back_at_once(home: Path) -> None:
    hookline(home, "remove", "a", "c", "x", "s")

    own = home / ".config" / "hookline" / "hookline.toml"
    assert [line for line in own.read_text().splitlines() if "name" in line] == ['name = "b"']
    _, first, unnamed = GROUPED.partition('\t\t\t{"hooks": [\n')
    assert settings(home) == '{\n\t"hooks": {\n\t\t"PreToolUse": [\n' + first + unnamed.replace(
        '],\n\t\t"Stop": [{"hooks": [{"type": "command", "command": "python3 s.py", "name": "s"}]}]\n', "]\n"
    )
    hookline(home, "undo")
    assert (own.read_text(), settings(home)) == (CONFIG, GROUPED)


def test_an_empty_group_or_event_is_not_left_behind(home: Path) -> None:
    hookline(home, "remove", "s")

    assert settings(home) == GROUPED.replace(
        '],\n\t\t"Stop": [{"hooks": [{"type": "command", "command": "python3 s.py", "name": "s"}]}]\n', "]\n"
    )


def test_of_hooks_that_were_counted_the_right_one_goes(home: Path) -> None:
    done = hookline(home, "remove", "settings:PreToolUse:1")

    assert done.returncode == 0
    assert settings(home) == GROUPED.replace('\t\t\t\t{"type": "command", "command": "python3 y.py"}, // unnamed\n', "")


def test_a_file_that_is_nothing_but_the_hook_goes_and_comes_back(home: Path) -> None:
    path = home.parent / "project" / ".ollm" / "hooks" / "one.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"id": "one", "event": "before_tool", "command": "python3 o.py"}')

    done = hookline(home, "remove", "one")
    assert f"removed {path}" in done.stdout
    assert not path.exists()

    hookline(home, "undo")
    assert path.read_bytes() == b'{"id": "one", "event": "before_tool", "command": "python3 o.py"}'


def test_a_twin_that_is_in_force_now_is_named(home: Path) -> None:
    twin = home.parent / "project" / "hookline.toml"
    twin.write_text('[[hook]]\nname = "a"\non = "before_tool"\nrun = "python3 a.py"\n')

    done = hookline(home, "remove", "a")

    assert f'"a" is also defined in {twin}:1, which counts from now on' in done.stdout


def test_a_dry_run_changes_nothing(home: Path) -> None:
    done = hookline(home, "remove", "x", "--dry-run")

    assert [line for line in done.stdout.splitlines() if line.startswith("-") and '"matcher": "Bash"' in line]
    assert settings(home) == GROUPED
