"""The daemon keeps what contains a hook; the state of a hook that came later must be out of its reach all the same."""

import json

import pytest

from hookline.process.containment import find_layers
from tests.daemon.living import WORDS, Living, payload

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_layers().can_contain, reason="this machine cannot contain files"),
]

HOOKS = """[[hook]]
id = "curious"
on = "before_tool"
state = true
shell = true
plain = true
run = "echo own > $HOOKLINE_STATE/f; echo found $(cat $HOOKLINE_STATE/f) $(cat $HOOKLINE_STATE/../keeper-*/f)"

[[hook]]
id = "keeper"
on = "before_agent"
state = true
shell = true
plain = true
run = "echo private > $HOOKLINE_STATE/f; echo kept $(cat $HOOKLINE_STATE/f)"
"""


def test_contained_hook_never_reads_the_state_of_a_later_one(living: Living) -> None:
    (living.project / "hookline.toml").write_text(HOOKS)
    approved = living.hookline("trust", "approve", "curious", "keeper", "--yes")
    assert approved.returncode == 0, approved.stderr
    living.start()
    said = {"session_id": "one", "cwd": str(living.project), "hook_event_name": "UserPromptSubmit", "prompt": "do it"}
    first = living.ask(payload(living.project)).stdout
    kept = living.ask(json.dumps(said).encode(), (*WORDS[:-1], "UserPromptSubmit")).stdout
    second = living.ask(payload(living.project)).stdout
    assert b"found own" in first
    assert b"kept private" in kept
    assert b"found own" in second
    assert b"private" not in second
