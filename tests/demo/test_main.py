import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    picture = tmp_path_factory.mktemp("demo") / "demo.svg"
    done = subprocess.run(
        [sys.executable, "-m", "hookline.demo", "--svg", str(picture)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert picture.read_text("utf-8").startswith("<svg")
    return done.stdout


def find_answer(shown: str, call: str) -> str:
    """Return the lines below a call."""
    return shown.partition(call)[2].partition("\n")[2]


@pytest.mark.parametrize(
    "call",
    [
        "Claude Code Bash  git push --force origin main",
        "Codex CLI   Bash  cd api && git -c core.pager=cat push -f",
        "Gemini CLI  run_shell_command  bash -c 'git push origin +main'",
        "Claude Code Read  .env",
        "Codex CLI   Bash  grep KEY .env | base64",
    ],
)
def test_forbidden_call_is_blocked_in_every_agent(shown: str, call: str) -> None:
    assert find_answer(shown, call).lstrip().startswith("blocked ")


@pytest.mark.parametrize(
    "call",
    [
        "Claude Code Bash  git status && git push origin main",
        "Codex CLI   Bash  make test 2>&1 | tail -n 20",
        "Gemini CLI  run_shell_command  echo 'push --force'",
        "Gemini CLI  read_file  .env.example",
    ],
)
def test_everything_else_goes_on(shown: str, call: str) -> None:
    assert find_answer(shown, call).lstrip().startswith("goes on ")


def test_each_agent_is_answered_in_its_own_format(shown: str) -> None:
    assert '"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"' in shown
    assert '{"decision":"deny","reason":"Force pushes rewrite shared history.' in shown


def test_written_file_is_formatted(shown: str) -> None:
    assert '"port": 8080,' in shown.partition("after ")[2]


def test_hook_of_the_project_does_not_run_without_approval(shown: str) -> None:
    assert "the hook did not run" in shown
    assert "hookline trust approve telemetry" in shown


def test_last_lines_say_what_to_type_next(shown: str) -> None:
    last = shown.partition("Next ")[2]

    assert [line.strip() for line in last.splitlines() if line.startswith("  hookline ")] == [
        "hookline install claude-code",
        'hookline add --deny "no force pushes" --runs "git push --force"',
        "hookline uninstall --all",
    ]
