"""Scopes depend on what changes between two calls: the branch, the clock, the agent, the turn."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from hookline.model.exchange import Answer
from tests.daemon.living import CODEX, WORDS, Living, codex_payload, git, payload

pytestmark = pytest.mark.slow

Ask = Callable[..., Answer]
GUARD = '[[hook]]\nid = "guard"\ntools = "shell"\ndeny = "not here"\n'


def is_denied(answer: Answer) -> bool:
    return b"not here" in answer.stdout + answer.stderr


def test_guard_of_a_branch_follows_what_is_checked_out(living: Living, ask: Ask) -> None:
    living.configure(GUARD + 'branches = ["main", "release/*"]\n')
    git(living.project, "init", "-q", "-b", "main")
    git(living.project, "commit", "-q", "--allow-empty", "-m", "first")
    found = [is_denied(ask(payload(living.project)))]
    for branch in ("dev", "release/2"):
        git(living.project, "checkout", "-q", "-b", branch)
        found.append(is_denied(ask(payload(living.project))))
    git(living.project, "checkout", "-q", "--detach")
    found.append(is_denied(ask(payload(living.project))))
    assert found == [True, False, True, False]


def test_guard_runs_where_the_branch_cannot_be_read_and_others_do_not(living: Living, ask: Ask) -> None:
    living.configure(
        GUARD + 'branches = "main"\n[[hook]]\nid = "note"\non = "before_tool"\ntell = "noted"\nbranches = "main"\n'
    )
    (living.project / ".git").mkdir()
    answer = ask(payload(living.project))
    assert is_denied(answer)
    assert b"noted" not in answer.stdout + answer.stderr


def test_hours_are_those_of_the_caller(living: Living, ask: Ask) -> None:
    # the clock of the caller is moved by its time zone: POSIX names count westwards
    hour = datetime.now(UTC).hour
    here, far = f"Etc/GMT{hour - 12:+d}" if hour != 12 else "Etc/GMT", "Etc/GMT-14" if hour < 12 else "Etc/GMT+12"
    living.configure(GUARD + 'between = "11:00-14:00"\n')
    assert is_denied(ask(payload(living.project), TZ=here))
    assert not is_denied(ask(payload(living.project), TZ=far))


def test_hook_for_one_agent_is_left_out_under_another(living: Living, ask: Ask) -> None:
    living.configure(GUARD + 'agents = ["codex"]\n')
    assert not is_denied(ask(payload(living.project)))
    assert is_denied(ask(codex_payload(living.project), CODEX))


def test_hook_runs_once_in_each_turn(living: Living, ask: Ask) -> None:
    living.configure('[[hook]]\nid = "h"\non = "before_tool"\ncontext = "not here"\nonce = "turn"\n')
    prompt = json.dumps(
        {
            "session_id": "one",
            "transcript_path": "",
            "cwd": str(living.project),
            "hook_event_name": "UserPromptSubmit",
            "prompt": "do it",
        }
    ).encode()
    found = []
    for _ in range(2):
        ask(prompt, (*WORDS[:-1], "UserPromptSubmit"))
        found += [is_denied(ask(payload(living.project))) for _ in range(2)]
        found.append(is_denied(ask(payload(living.project, session_id="other"))))
    # the other session has no new turn
    assert found == [True, False, True, True, False, False]


def test_turn_is_the_one_that_the_agent_names(living: Living, ask: Ask) -> None:
    living.configure('[[hook]]\nid = "h"\non = "before_tool"\ncontext = "not here"\nonce = "turn"\n')
    found = [is_denied(ask(codex_payload(living.project, turn_id=turn), CODEX)) for turn in ("a", "a", "b", "b")]
    assert found == [True, False, True, False]


def test_guard_with_a_misspelt_scope_blocks_and_names_the_line(living: Living, ask: Ask) -> None:
    living.configure(GUARD + 'agents = ["claud-code"]\n')
    answer = ask(payload(living.project))
    assert b"did you mean" in answer.stdout + answer.stderr
    assert b"hookline.toml:5" in answer.stdout + answer.stderr


def test_broken_guard_of_another_branch_does_not_block_here(living: Living, ask: Ask) -> None:
    living.configure('[[hook]]\nid = "guard"\non = "before_tool"\nru = "x"\non_error = "block"\nbranches = "main"\n')
    git(living.project, "init", "-q", "-b", "dev")
    assert b"deny" not in ask(payload(living.project)).stdout
    git(living.project, "symbolic-ref", "HEAD", "refs/heads/main")
    assert b"deny" in ask(payload(living.project)).stdout
