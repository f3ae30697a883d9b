"""Facts are those of the moment of each call, with and without the daemon."""

import json
from collections.abc import Callable

import pytest

from hookline.model.exchange import Answer
from tests.daemon.living import Living, git, payload

pytestmark = pytest.mark.slow

RULE = """[[hook]]
id = "commit-first"
tools = "shell"
if = 'facts.git.branch == "main" && size(facts.git.changed) > 0'
deny = "commit first: {{facts.git.status}}"
"""
PROGRAM = """[[hook]]
id = "look"
on = "before_tool"
facts = ["git", "transcript"]
run = ["python3", "-c", "import json, sys; facts = json.load(sys.stdin)['facts']; print(json.dumps({'context': json.dumps(facts)}))"]
[[hook]]
id = "plain"
on = "before_tool"
plain = true
shell = true
run = "echo none of the $(grep -c 'last_commit')"
"""


def test_condition_and_texts_follow_the_repository(living: Living, ask: Callable[..., Answer]) -> None:
    living.configure(RULE)
    git(living.project, "init", "-q", "-b", "main")
    said = [ask(payload(living.project)).stdout]
    (living.project / "new").write_text("x")
    said.append(ask(payload(living.project)).stdout)
    git(living.project, "symbolic-ref", "HEAD", "refs/heads/dev")
    said.append(ask(payload(living.project)).stdout)
    assert [b"commit first: ?? new" in one for one in said] == [False, True, False]


def test_guard_runs_where_a_fact_cannot_be_had(living: Living, ask: Callable[..., Answer]) -> None:
    living.configure(RULE)
    git(living.project, "init", "-q", "-b", "dev")
    assert b"deny" not in ask(payload(living.project)).stdout
    git(living.project, "config", "core.fsmonitor", "/bin/true")
    assert b"deny" in ask(payload(living.project)).stdout


def test_program_gets_the_facts_it_asked_for_and_others_none(living: Living, ask: Callable[..., Answer]) -> None:
    living.configure(PROGRAM)
    git(living.project, "init", "-q", "-b", "main")
    transcript = living.home / "t.jsonl"
    transcript.write_text(json.dumps({"type": "user", "message": {"role": "user", "content": "hello there"}}) + "\n")
    answer = json.loads(ask(payload(living.project, transcript_path=str(transcript))).stdout)
    context = json.dumps(answer)
    assert "hello there" in context
    assert "none of the 0" in context
    assert "diff" not in context


def test_why_shows_the_values_that_decided(living: Living) -> None:
    living.configure(RULE)
    git(living.project, "init", "-q", "-b", "main")
    shown = living.hookline("why", "commit-first").stdout.decode()
    assert "is false (facts.git.branch is 'main', facts.git.changed is a list of 0)" in shown


def test_misspelt_fact_is_a_problem_and_the_guard_blocks(living: Living, ask: Callable[..., Answer]) -> None:
    living.configure(RULE.replace("facts.git.branch", "facts.git.brnach"))
    assert b"did you mean" in living.hookline("check").stdout
    assert b"deny" in ask(payload(living.project)).stdout
