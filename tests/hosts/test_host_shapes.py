"""Entries of ours among those of others, as people rearrange them."""

import json

import pytest

from hookline.errors import ConfigError, HostError
from hookline.hosts import HOSTS
from hookline.hosts.host import EventCall, EventLists, OwnedFile, spell_groups

OURS = "/opt/p -E -P -m hookline hook --if-broken block claude-code PreToolUse"
CALL = EventCall("PreToolUse", OURS)
CLAUDE = EventLists(at=("hooks", "{event}"), spell=spell_groups())


def removed(value: object, shape: EventLists = CLAUDE, before: str | None = "") -> object:
    left = shape.remove(json.dumps(value), path="x.json", before=before)
    return None if left is None else json.loads(left)


def handler(command: str) -> dict[str, object]:
    return {"type": "command", "command": command}


def test_a_hook_of_others_in_our_group_stays() -> None:
    value = {"hooks": {"PreToolUse": [{"hooks": [handler("./a"), handler(OURS), handler("./b")]}]}}

    assert removed(value) == {"hooks": {"PreToolUse": [{"hooks": [handler("./a"), handler("./b")]}]}}


def test_a_group_that_a_person_gave_a_matcher_goes_as_well() -> None:
    value = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [handler(OURS)]}, {"hooks": [handler("./a")]}]}}

    assert removed(value) == {"hooks": {"PreToolUse": [{"hooks": [handler("./a")]}]}}


def test_two_of_ours_at_one_event_both_go() -> None:
    value = {"a": 1, "hooks": {"PreToolUse": [{"hooks": [handler(OURS)]}, {"hooks": [handler(OURS), handler(OURS)]}]}}

    assert removed(value) == {"a": 1}


def test_what_was_empty_before_us_is_empty_again() -> None:
    before = '{"hooks": {}}'

    assert removed({"hooks": {"Stop": [{"hooks": [handler(OURS)]}]}}, before=before) == {"hooks": {}}


def test_a_file_that_was_not_there_before_us_goes_unless_somebody_wrote_into_it() -> None:
    text = CLAUDE.add("", (CALL,), path="x.json")

    assert CLAUDE.remove(text, path="x.json") is None
    assert CLAUDE.remove("// mine\n" + text, path="x.json") == "// mine\n{}\n"


def test_a_text_without_ours_is_not_touched() -> None:
    text = '{"hooks": {"Stop": []}, }'

    assert CLAUDE.remove(text, path="x.json") == text


def test_a_changed_limit_of_time_is_no_longer_what_would_be_written() -> None:
    text = CLAUDE.add("", (CALL,), path="x.json")

    assert CLAUDE.matches(text, (CALL,), path="x.json")
    assert not CLAUDE.matches(text.replace("600", "5"), (CALL,), path="x.json")
    assert not CLAUDE.matches(text, (CALL, EventCall("Stop", OURS)), path="x.json")


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', "[]", "5"])
def test_settings_of_another_form_are_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="nothing was changed"):
        CLAUDE.add(text, (CALL,), path="x.json")


def test_an_entry_of_kiro_that_a_person_switched_off_goes_whole() -> None:
    kiro = HOSTS["kiro"].shape
    assert isinstance(kiro, EventLists)
    mine = {"name": "mine", "trigger": "Stop", "action": handler("./a")}
    ours = {"name": "x", "trigger": "PreToolUse", "action": handler(OURS), "enabled": False}

    assert removed({"version": "v1", "hooks": [ours, mine, ours]}, kiro) == {"version": "v1", "hooks": [mine]}


def test_what_others_put_into_our_bundle_stays() -> None:
    bundles = HOSTS["antigravity"].shape
    text = json.dumps({"hookline": {"Stop": [handler(OURS), handler("./a")]}, "mine": {"Stop": [handler("./b")]}})

    left = bundles.remove(text, path="x.json", before="")

    assert left is not None
    assert json.loads(left) == {"hookline": {"Stop": [handler("./a")]}, "mine": {"Stop": [handler("./b")]}}


def test_hooks_in_toml_are_counted_and_ours_go() -> None:
    text = '[[hooks.Stop]]\nhooks = [{ type = "command", command = "./a" }]\n'

    assert CLAUDE.find_entries(text, path="x.toml") == ((), 1)
    assert CLAUDE.remove(text, path="x.toml") == text


def test_a_script_of_somebody_else_is_neither_written_over_nor_removed() -> None:
    script = OwnedFile(mark="# ours", write=lambda calls: f"# ours\n{calls[0].command}\n")
    theirs = "#!/bin/sh\n./a\n"

    assert script.remove(theirs, path="x") == theirs
    assert script.find_entries(theirs, path="x") == ((), 1)
    with pytest.raises(HostError, match="x is there and is not ours"):
        script.add(theirs, (CALL,), path="x")


@pytest.mark.parametrize("name", ["gemini-cli", "codex-cli", "copilot-cli", "cursor", "kiro", "antigravity"])
def test_time_is_counted_as_the_agent_counts_it(name: str) -> None:
    host = HOSTS[name]
    text = host.shape.add("", (EventCall(host.events[0], OURS, seconds=7),), path="x.json")

    assert (":7000" if name == "gemini-cli" else ":7") in text.replace(" ", "").replace("\n", "")
    assert "7000" not in text or name == "gemini-cli"


def test_the_plugin_of_opencode_has_the_words_of_the_command_and_nothing_left_to_fill_in() -> None:
    words = (
        '/opt/my "python"',
        "-E",
        "-P",
        "-m",
        "hookline",
        "hook",
        "--if-broken",
        "block",
        "opencode",
        "session.idle",
    )

    text = HOSTS["opencode"].shape.add("", (EventCall("session.idle", "", words),), path="x.js")
    ours, foreign = HOSTS["opencode"].shape.find_entries(text, path="x.js")

    assert f"const COMMAND = {json.dumps(list(words[:-1]))}\n" in text
    assert 'const EVENTS = new Set(["session.idle"])' in text
    assert "@" not in "".join(line for line in text.splitlines() if line.startswith("const "))
    assert ([(entry.python, entry.policy, entry.event) for entry in ours], foreign) == (
        [('/opt/my "python"', "block", "session.idle")],
        0,
    )
