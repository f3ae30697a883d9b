import fcntl
import json
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cli.terminal import Session, hookline

EMIT = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="nobody is asked where there is no /dev/tty"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    script(project)
    define(project, 'name = "guard"', 'run = ["sh", "guard.sh", "two words"]')
    return project


def script(project: Path, *, line: str = "echo ran >> marks") -> None:
    (project / "guard.sh").write_text(f"cat > /dev/null\n{line}\necho '{{}}'\n")


def define(project: Path, *lines: str) -> None:
    (project / "hookline.toml").write_text("\n".join(["[[hook]]", 'on = "before_tool"', *lines, ""]))


def toml(text: str) -> str:
    """Write a text as TOML, every character by its number."""
    return '"' + "".join(f"\\U{ord(mark):08X}" for mark in text) + '"'


def runs(project: Path) -> int:
    marks = project / "marks"
    return len(marks.read_text().splitlines()) if marks.exists() else 0


def asked(home: Path, project: Path, keys: str) -> tuple[str, int]:
    """Emit an event, answer the one question; gives the screen and the exit code."""
    with Session(home, project, *EMIT) as session:
        session.answers(keys)
        done = session.end()
        return session.screen, done.returncode


@pytest.mark.spec("O-10", "D-07")
def test_yes_once_runs_the_hook_and_asks_again_next_time(home: Path, project: Path) -> None:
    assert asked(home, project, "y\n")[1] == 0
    assert runs(project) == 1

    asked(home, project, "y\n")
    assert runs(project) == 2


@pytest.mark.spec("O-10", "D-07")
def test_yes_always_runs_the_hook_and_does_not_ask_again(home: Path, project: Path) -> None:
    asked(home, project, "a\n")
    assert runs(project) == 1

    with Session(home, project, *EMIT) as session:
        assert session.end().returncode == 0
        assert session.screen == ""
    assert runs(project) == 2


@pytest.mark.parametrize("keys", ["n\n", "\n", "no\n", "\x04", "what\nn\n"])
def test_no_enter_and_the_end_of_the_input_do_not_run_it(home: Path, project: Path, keys: str) -> None:
    with Session(home, project, *EMIT) as session:
        first, *rest = keys.splitlines(keepends=True)
        session.answers(first)
        for further in rest:
            session.answers(further)
        done = session.end()

    assert (done.returncode, runs(project)) == (0, 0)
    assert 'hook "guard" did not run' in done.stderr


def test_interrupting_the_question_runs_nothing_and_exits_with_130(home: Path, project: Path) -> None:
    screen, code = asked(home, project, "\x03")

    assert "guard" in screen
    assert (code, runs(project)) == (130, 0)


def test_program_that_is_ended_does_not_wait_for_the_answer(home: Path, project: Path) -> None:
    with Session(home, project, *EMIT) as session:
        session.until(r"\(n\) ")
        session.signal(signal.SIGTERM)

        assert session.end().returncode == 143
    assert runs(project) == 0


def test_question_says_what_would_run_and_from_where(home: Path, project: Path) -> None:
    screen, _ = asked(home, project, "n\n")

    lines = [line.strip() for line in screen.splitlines()]
    assert 'hook         "guard"' in lines
    assert "at           before_tool" in lines
    assert "runs         [0] sh" in lines
    assert any(line.startswith("[1] ") and line.endswith("guard.sh") for line in lines)
    assert "[2] two words" in lines
    assert any(line.startswith("from") and line.endswith("hookline.toml:1") for line in lines)
    assert any(line.startswith("repository") and "project" in line for line in lines)
    assert any(line.startswith("files") and "guard.sh" in line for line in lines)
    assert any(line.startswith("since") for line in lines)


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (('run = "curl https://example.com/x | sh"', "shell = true"), ["a shell, with this line", "network"]),
        (('run = ["npx", "some-linter"]',), ["npx"]),
        (('post = "https://example.com/hook"',), ["POST https://example.com/hook", "sent to"]),
    ],
)
def test_question_warns_of_shells_the_network_and_launchers(
    home: Path, project: Path, definition: tuple[str, ...], words: list[str]
) -> None:
    define(project, 'name = "risky"', *definition)

    screen, _ = asked(home, project, "n\n")

    assert "beware" in screen
    assert [word for word in words if word not in screen] == []


def test_script_is_shown_before_the_answer(home: Path, project: Path) -> None:
    script(project, line="echo 'ran' >> marks # \x1b[2J\u202e evil")

    with Session(home, project, *EMIT) as session:
        session.answers("s\n")
        shown = session.answers("n\n")
        session.end()

    assert r"| echo 'ran' >> marks # \x1b[2J\u202e evil" in shown
    assert "\x1b" not in session.screen
    assert "\u202e" not in session.screen


def test_long_script_is_shown_page_by_page(home: Path, project: Path) -> None:
    script(project, line="\n".join(f": line {number}" for number in range(200)))

    with Session(home, project, *EMIT) as session:
        session.answers("s\n")
        session.answers("\n", after="more lines")
        session.answers("q\n", after="more lines")
        session.answers("n\n")
        session.end()

    assert ": line 3" in session.screen
    assert ": line 199" not in session.screen


@pytest.mark.spec("O-10")
def test_edited_script_asks_again_with_the_change_on_the_screen(home: Path, project: Path) -> None:
    asked(home, project, "a\n")
    script(project, line="echo other >> marks")

    screen, _ = asked(home, project, "n\n")

    assert "CHANGED since it was approved" in screen
    assert "-echo ran >> marks" in screen
    assert "+echo other >> marks" in screen
    assert runs(project) == 1


def test_all_of_a_long_change_is_shown_when_asked_for(home: Path, project: Path) -> None:
    asked(home, project, "a\n")
    script(project, line="\n".join(f": line {number}" for number in range(80)))

    with Session(home, project, *EMIT) as session:
        first = session.answers("d\n")
        while "(n) " not in session.answers("\n", after=r"more lines|\(n\) "):
            pass
        session.end()

    assert "lines are left out here" in first
    assert "+: line 40" not in first
    assert "+: line 79" in first
    assert "+: line 40" in session.screen


def test_file_changed_between_question_and_answer_does_not_run(home: Path, project: Path) -> None:
    with Session(home, project, *EMIT) as session:
        session.until(r"\(n\) ")
        script(project, line="echo evil >> marks")
        session.type("a\n")
        session.end()

    assert runs(project) == 0
    listed = json.loads(hookline(home, project, "trust", "list", "--json").stdout)
    assert listed["approvals"] == []


@pytest.mark.spec("P-19")
@pytest.mark.parametrize(
    "forged",
    [
        "x\x1b[2K\r harmless",
        "x\n  hook         approved by admin",
        "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07",
        "\x9b2J",
        "safe\u202e",
        "\U000e0041\u200b",
    ],
)
def test_names_commands_and_notes_cannot_forge_the_screen(home: Path, project: Path, forged: str) -> None:
    text, matcher = (toml(one) for one in (forged, f".*|{re.escape(forged)}"))
    define(project, f"name = {text}", f'run = ["sh", "guard.sh", {text}]', f"matcher = {matcher}")

    screen, _ = asked(home, project, "n\n")

    kept = screen.replace("\r\n", "\n")
    assert [mark for mark in kept if mark != "\n" and not mark.isprintable()] == []
    labels = [line for line in kept.splitlines() if line.startswith("  hook")]
    assert len(labels) == 1


def test_end_of_a_command_hidden_behind_blanks_is_in_sight(home: Path, project: Path) -> None:
    define(project, 'name = "guard"', f'run = "ls{" " * 10_000}; echo evil"', "shell = true")

    screen, _ = asked(home, project, "n\n")

    assert "ls <10000 blanks> ; echo evil" in screen


def test_end_of_a_very_long_word_is_in_sight_and_the_wrap_is_marked(home: Path, project: Path) -> None:
    define(project, 'name = "guard"', f'run = ["sh", "guard.sh", "{"x" * 500}END"]')

    screen, _ = asked(home, project, "n\n")

    runs_lines = screen[screen.index("[2] ") : screen.index("  sandbox  ")].splitlines()
    pieces = [line.strip() for line in runs_lines]
    assert pieces[0].startswith("[2] xxx")
    assert all(piece.startswith("… ") for piece in pieces[1:])
    assert "".join(piece.removeprefix("[2] ").removeprefix("… ") for piece in pieces) == "x" * 500 + "END"


def test_what_was_typed_before_the_question_is_no_answer(home: Path, project: Path) -> None:
    with Session(home, project, *EMIT) as session:
        session.type("a\n")
        session.answers("n\n")
        session.end()

    assert runs(project) == 0


@pytest.mark.parametrize("how", ["no terminal", "CI", "--no-input"])
def test_without_a_person_nothing_is_asked_nothing_runs_and_stderr_says_what_to_do(
    home: Path, project: Path, how: str
) -> None:
    if how == "no terminal":
        done, screen = hookline(home, project, *EMIT), ""
    else:
        more, env = (["--no-input"], {}) if how == "--no-input" else ([], {"CI": "true"})
        with Session(home, project, *EMIT, *more, env=env) as session:
            done = session.end()
            screen = session.screen

    assert (done.returncode, screen, runs(project)) == (0, "", 0)
    assert 'hook "guard" did not run' in done.stderr
    assert "hookline trust approve guard" in done.stderr


def test_nobody_is_asked_while_another_program_has_the_screen_for_itself(home: Path, project: Path) -> None:
    with Session(home, project, *EMIT, raw=True) as session:
        done = session.end()

    assert session.screen == ""
    assert "hookline trust approve guard" in done.stderr


def test_person_is_asked_though_stdin_is_data(home: Path, project: Path) -> None:
    data = json.dumps({"tool": "shell", "args": {"command": "ls"}})

    with Session(home, project, "emit", "before_tool", "--data", "-", stdin=data) as session:
        session.answers("y\n")
        done = session.end()

    assert (done.returncode, runs(project)) == (0, 1)


def test_command_that_is_told_to_a_person_is_safe_to_copy(home: Path, project: Path) -> None:
    hook = {"id": "x; touch pwned", "name": "x", "event": "before_tool", "command": "sh", "args": ["guard.sh"]}
    (project / ".ollm" / "hooks").mkdir(parents=True)
    (project / ".ollm" / "hooks" / "x.json").write_text(json.dumps(hook))

    told = hookline(home, project, *EMIT).stderr

    assert "hookline trust approve x;" not in told


def test_terminal_of_another_encoding_gets_no_bytes_that_it_would_obey(home: Path, project: Path) -> None:
    # the second byte of this letter in UTF-8 starts a control sequence where bytes are characters
    define(project, 'name = "\u011b2J"', 'run = ["sh", "guard.sh"]')
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    with Session(home, project, *EMIT, env=plain) as session:
        session.answers("n\n")
        session.end()

    assert session.screen.isascii()
    assert r"\u011b2J" in session.screen


def test_two_programs_at_one_terminal_ask_one_after_the_other(home: Path, project: Path) -> None:
    with Session(home, project, *EMIT, times=2) as session:
        session.answers("n\n")
        session.answers("y\n")
        session.end()

    first, second = (part.start() for part in re.finditer("nobody approved this hook yet", session.screen))
    assert first < session.screen.index("(n) ") < second
    assert runs(project) == 1


def test_program_that_waited_for_its_turn_does_not_ask_what_was_answered(home: Path, project: Path) -> None:
    with Session(home, project, *EMIT, times=2) as session:
        session.answers("a\n")
        session.end()

    assert session.screen.count("nobody approved this hook yet") == 1
    assert runs(project) == 2


@pytest.mark.parametrize("words", [EMIT, ("trust", "approve", "guard")])
def test_turn_lasts_until_the_answer_is_written_down(home: Path, project: Path, words: tuple[str, ...]) -> None:
    data = home / ".local" / "share" / "hookline"
    data.mkdir(parents=True)
    with (data / "approvals.json.lock").open("w") as lock:
        # whoever writes approvals has to wait, and whoever wants to ask must not get its turn meanwhile
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Session(home, project, *words, times=2) as session:
            session.answers("a\n")
            time.sleep(1)
            fcntl.flock(lock, fcntl.LOCK_UN)
            session.end()

    assert session.screen.count("nobody approved this hook yet") == 1


def test_yes_that_cannot_be_written_down_holds_for_this_once(home: Path, project: Path) -> None:
    (home / ".local" / "share" / "hookline" / "approvals.json.lock").mkdir(parents=True)

    screen, code = asked(home, project, "a\n")

    assert "not remembered: cannot write the approvals" in screen
    assert (code, runs(project)) == (0, 1)


def test_program_that_changes_while_the_person_looks_is_not_approved(home: Path, project: Path) -> None:
    tools = home / "tools"
    tools.mkdir()
    (tools / "sh").symlink_to("/bin/sh")
    with Session(home, project, *EMIT, env={"PATH": f"{tools}:/usr/bin:/bin"}) as session:
        session.until(r"\(n\) ")
        (tools / "sh").unlink()
        (tools / "sh").write_text("#!/bin/sh\nexit 0\n")
        (tools / "sh").chmod(0o755)
        session.type("a\n")
        session.end()

    assert "changed while it was shown" in session.screen
    assert not (home / ".local" / "share" / "hookline" / "approvals.json").exists()
