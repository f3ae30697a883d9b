import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CONFIG = """# mine
[[hook]]
   name = "guard"      # what it is called
   on = "before_tool"
   run = "python3 guard.py"
   timeout = 5         # seconds
   description = {a = 1}

[[hook]]
name = "other"
on = "after_agent"
run = "python3 other.py"
"""
SETTINGS = """{ "hooks": { "PreToolUse": [
   { "matcher": "Bash", "hooks": [ { "type": "command", "command": "python3 a.py", "name": "alone" } ] },
   { "matcher": "Edit", "hooks": [
      { "type": "command", "command": "python3 b.py", "name": "left" },
      { "type": "command", "command": "python3 c.py", "name": "right" } ] } ] } }
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG)
    (tmp_path / "project" / ".ollama").mkdir()
    (tmp_path / "project" / ".ollama" / "settings.json").write_text(SETTINGS)
    return tmp_path / "home"


def own(home: Path) -> Path:
    return home / ".config" / "hookline" / "hookline.toml"


def settings(home: Path) -> Path:
    return home.parent / "project" / ".ollama" / "settings.json"


@pytest.mark.spec("D-16")
def test_only_the_keys_that_were_named_change(home: Path) -> None:
    done = hookline(
        home, "edit", "guard", "timeout=10", 'on=["before_tool", "after_tool"]', "env.LEVEL=1.10", "priority=high"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert 'changed timeout, on, env.LEVEL, priority of "guard"' in done.stdout
    assert own(home).read_text() == (
        CONFIG.replace("timeout = 5 ", "timeout = 10 ")
        .replace('on = "before_tool"', 'on = ["before_tool", "after_tool"]')
        .replace("{a = 1}\n", '{a = 1}\n   env = {LEVEL = "1.10"}\n   priority = "high"\n')
    )


def test_a_key_is_taken_out(home: Path) -> None:
    hookline(home, "edit", "guard", "--unset", "timeout")

    assert own(home).read_text() == CONFIG.replace("   timeout = 5         # seconds\n", "")


def test_a_text_that_looks_like_a_number_stays_a_text_where_one_is_wanted(home: Path) -> None:
    hookline(home, "edit", "other", "name=5")

    assert 'name = "5"' in own(home).read_text()


def test_the_matcher_of_a_group_of_its_own_changes(home: Path) -> None:
    done = hookline(home, "edit", "alone", "matcher=Write")

    assert (done.returncode, done.stderr) == (0, "")
    assert "hookline trust approve alone" in done.stdout
    assert settings(home).read_text() == SETTINGS.replace('"Bash"', '"Write"')


def test_the_matcher_that_others_share_is_left_alone(home: Path) -> None:
    done = hookline(home, "edit", "left", "matcher=Write")

    assert (done.returncode, "shared with 1 more" in done.stderr) == (1, True)
    assert settings(home).read_text() == SETTINGS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["guard"], "say what to change"),
        (["guard", "timeout"], "wanted KEY=VALUE"),
        (["guard", "tmeout=5"], 'did you mean "timeout"?'),
        (["guard", "timeout=soon"], "wanted"),
        (["guard", "on=nowhere"], 'unknown event "nowhere"'),
        (["guard", "matcher=("], "is no regular expression"),
        (["guard", "--unset", "run"], "nothing was changed"),
        (["guard", "--unset", "priority"], "there is nothing at"),
        (["guard", "call=a:b"], "nothing was changed"),
        (["guard", "timeout=5", "--editor"], "--editor goes alone"),
        (["gard", "timeout=5"], 'did you mean "guard"?'),
    ],
)
def test_what_would_not_load_is_refused_and_nothing_is_written(home: Path, words: list[str], message: str) -> None:
    done = hookline(home, "edit", *words)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert own(home).read_text() == CONFIG


def editor(home: Path, script: str) -> str:
    path = home / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


def test_the_editor_changes_a_copy_that_takes_the_place_of_the_file(home: Path) -> None:
    program = editor(home, "sed -i 's/timeout = 5 /timeout = 9 /' \"$1\"")

    done = hookline(home, "edit", "guard", "--editor", EDITOR=program, VISUAL="")

    assert (done.returncode, done.stderr) == (0, "")
    assert 'edited "guard"' in done.stdout
    assert own(home).read_text() == CONFIG.replace("timeout = 5 ", "timeout = 9 ")
    hookline(home, "undo")
    assert own(home).read_text() == CONFIG


def test_a_broken_text_is_shown_with_its_line_and_kept(home: Path, tmp_path: Path) -> None:
    program = editor(home, 'sed -i \'s/on = "before_tool"/on = "before_tol"/\' "$1"')
    (tmp_path / "tmp").mkdir()

    done = hookline(home, "edit", "guard", "--editor", VISUAL=program, TMPDIR=str(tmp_path / "tmp"))

    [copy] = (tmp_path / "tmp").rglob("hookline.toml")
    assert done.returncode == 1
    assert f'{copy}:4: unknown event "before_tol"' in done.stderr
    assert f"your text is kept in {copy}" in done.stderr
    assert own(home).read_text() == CONFIG
    assert "before_tol" in copy.read_text()


def test_a_file_that_changes_while_it_is_edited_is_not_overwritten(home: Path) -> None:
    program = editor(home, f"echo '# mine' >> \"$1\"; echo '# theirs' >> {own(home)}")

    done = hookline(home, "edit", "guard", "--editor", VISUAL=program, TMPDIR=str(home))

    assert (done.returncode, "changed meanwhile" in done.stderr) == (1, True)
    [copy] = home.glob("hookline-*/hookline.toml")
    assert copy.read_text() == CONFIG + "# mine\n"
    assert own(home).read_text() == CONFIG + "# theirs\n"


@pytest.mark.parametrize(
    ("program", "message"),
    [("", "set VISUAL or EDITOR"), ("/nowhere/vi", "cannot be started"), ("false", "ended with 1")],
)
def test_an_editor_that_does_not_work_changes_nothing(home: Path, program: str, message: str) -> None:
    done = hookline(home, "edit", "guard", "--editor", EDITOR=program, VISUAL="", TMPDIR=str(home))

    assert (done.returncode, message in done.stderr) == (1, True)
    assert own(home).read_text() == CONFIG
    assert list(home.glob("hookline-*")) == []


def test_json_says_what_was_done(home: Path) -> None:
    done = json.loads(hookline(home, "edit", "guard", "timeout=7", "--json").stdout)

    assert (done["changed"], done["what"], done["undo"]) == (True, 'changed timeout of "guard"', 1)


def test_a_key_for_people_does_not_keep_a_hook_from_getting_another_name(home: Path) -> None:
    done = hookline(home, "edit", "guard", "name=watchman")

    assert (done.returncode, done.stderr) == (0, "")
    assert own(home).read_text() == CONFIG.replace('"guard"', '"watchman"')


def test_a_hook_that_is_switched_off_is_not_said_to_run(home: Path) -> None:
    hookline(home, "disable", "guard")

    done = hookline(home, "edit", "guard", "timeout=7")

    assert '"guard" is switched off: hookline enable guard' in done.stdout
    assert "runs" not in done.stdout


def test_the_same_hook_in_another_file_is_named_when_this_one_changes(home: Path) -> None:
    other = home.parent / "project" / "hookline.toml"
    other.write_text(own(home).read_text())

    done = hookline(home, "edit", "guard", "timeout=7")

    assert f'"guard" is also defined in {other}:' in done.stdout


def test_a_name_that_another_hook_has_is_refused(home: Path) -> None:
    for assignment in ("name=guard", "id=guard"):
        done = hookline(home, "edit", "other", assignment)

        assert (done.returncode, 'there is a hook "guard" already' in done.stderr) == (1, True)
    assert own(home).read_text() == CONFIG


def test_a_text_that_leaves_hooks_out_is_said_to_remove_them(home: Path) -> None:
    done = hookline(home, "edit", "guard", "--editor", VISUAL=editor(home, ': > "$1"'), TMPDIR=str(home))

    assert done.stdout.startswith('removed "guard", "other"\n')
    assert "edited" not in done.stdout


@pytest.mark.parametrize(
    ("script", "message"),
    [('rm "$1"', "took the text away"), ("printf '\\377' > \"$1\"", "the text is not UTF-8")],
)
def test_a_text_that_is_none_changes_nothing(home: Path, script: str, message: str) -> None:
    done = hookline(home, "edit", "guard", "--editor", VISUAL=editor(home, script), TMPDIR=str(home))

    assert (done.returncode, message in done.stderr) == (1, True)
    assert own(home).read_text() == CONFIG


def test_schedule_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "home"
    text = '[[hook]]\nname = "nightly"\nschedule = "0 2 * * *"\nask = "And?"\n'
    folder = configure(home, text)

    done = hookline(home, "edit", "nightly", "schedule=at night")

    assert done.returncode == 1
    assert 'schedule "at night" cannot be read' in done.stderr
    assert (folder / "hookline.toml").read_text() == text


def test_circle_that_was_there_before_hinders_no_other_change(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(
        home,
        '[[hook]]\nname = "a"\non = "error"\nafter = "b"\nask = "?"\n'
        '[[hook]]\nname = "b"\non = "error"\nafter = "a"\nask = "?"\n',
    )

    assert hookline(home, "edit", "a", "once=true").returncode == 0
    assert hookline(home, "edit", "a", "after=c").returncode == 0
    assert "cannot be put in order" in hookline(home, "edit", "a", "after=b").stderr
