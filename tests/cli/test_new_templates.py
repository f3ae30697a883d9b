import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from hookline.cli import new
from hookline.cli.new import LANGUAGES, SUPPORTED_DIALECTS, TEMPLATES, NewHook
from hookline.config import edit
from hookline.dialects import DIALECTS
from hookline.model.event import EVENTS, Event, EventName
from hookline.model.verdict import Decision, EffectKind, Verdict
from hookline.project import load_project
from hookline.user_dirs import UserDirs

pytestmark = pytest.mark.slow

# a text, and where there is none a word, that no rule is about
HARMLESS = "nothing to see here"


def plan(event: EventName, language: str, template: str, dialect: str = "hookline") -> NewHook:
    name = f"{template}-{event}".replace("_", "-")
    return NewHook(name=name, event=event, on=event, language=language, template=template, dialect=dialect)


def about(plan: NewHook, decision: str) -> Event:
    """Give the event that a template's rules say this about, as it comes from a host of the dialect."""
    raw = new.make_payload(plan, decision="deny" if decision == "pass" else decision)
    if decision == "pass":
        bad = json.dumps(new.find_check(plan.event).deny[2]).encode()
        raw = json.dumps(json.loads(raw)).encode().replace(bad, json.dumps(HARMLESS).encode())
    return DIALECTS[plan.dialect].decode_event(raw)


def answers(folder: Path, plans: Iterable[NewHook], decisions: Iterable[str]) -> dict[tuple[str, str], Verdict]:
    """Write the hooks as `new` does, and run each of them for each of the events."""
    made = list(plans)
    if shutil.which(LANGUAGES[made[0].language].program) is None:
        pytest.skip(f"{LANGUAGES[made[0].language].program} is not installed")
    config = folder / "config"
    (config / "hooks").mkdir(parents=True)
    text = ""
    for one in made:
        (config / new.get_script_name(one)).write_text(new.make_script(one))
        text = edit.append(text, ("hook",), {**new.make_entry(one), "timeout": 60}, path="hookline.toml")
    (config / "hookline.toml").write_text(text)
    folders = UserDirs(home=folder, config=config, data=folder / "data")

    async def run() -> dict[tuple[str, str], Verdict]:
        found: dict[tuple[str, str], Verdict] = {}
        (folder / "project").mkdir()
        async with load_project(folder / "project", folders=folders, traced=False).engine as engine:
            assert engine.problems == ()
            for one in made:
                for decision in decisions:
                    outcome = await engine.handle(about(one, decision))
                    [verdict] = outcome.verdicts
                    found[one.event, decision] = verdict
        return found

    return asyncio.run(run())


def start(folder: Path, plan: NewHook, event: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a hook that was written, by itself."""
    program = shutil.which(LANGUAGES[plan.language].program) or ""
    script = folder / "config" / new.get_script_name(plan)
    return subprocess.run(
        [program, str(script)],
        input=event,
        # a log without a folder of its own is written here
        cwd=folder,
        env={**os.environ, "HOME": str(folder), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def said(folder: Path, plan: NewHook, event: str, **env: str) -> dict[str, object]:
    """Give what the hook answers."""
    answer: dict[str, object] = json.loads(start(folder, plan, event, **env).stdout)
    return answer


@pytest.mark.spec("O-34")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("template", ["validation", "policy"])
def test_guard_of_every_event_objects_to_what_it_is_about(tmp_path: Path, language: str, template: str) -> None:
    verdicts = answers(tmp_path, [plan(event, language, template) for event in EventName], ["deny"])

    for event in EventName:
        verdict, reason = verdicts[event, "deny"], new.find_check(event).deny[1]
        told = [effect.value for effect in verdict.effects if effect.kind is EffectKind.MESSAGE]
        assert verdict.failure is None, event
        if EVENTS[event].can_block:
            assert (verdict.decision, verdict.reason) == (Decision.DENY, reason), event
        else:
            assert (verdict.decision, told) == (Decision.PASS, [reason]), event


@pytest.mark.spec("O-34")
@pytest.mark.parametrize("language", LANGUAGES)
def test_log_of_every_event_has_a_line_for_each(tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "logs" / "all.jsonl"
    monkeypatch.setenv("HOOKLINE_LOG", str(log))

    verdicts = answers(tmp_path, [plan(event, language, "logging") for event in EventName], ["deny"])

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["event"]["event"] for line in lines] == list(EventName)
    assert all(line["at"].startswith("20") for line in lines)
    assert {(verdict.decision, verdict.failure) for verdict in verdicts.values()} == {(Decision.PASS, None)}
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.spec("O-34")
@pytest.mark.parametrize("language", LANGUAGES)
def test_context_of_every_event_reaches_the_model(tmp_path: Path, language: str) -> None:
    verdicts = answers(tmp_path, [plan(event, language, "context") for event in EventName], ["deny"])

    for event in EventName:
        [effect] = verdicts[event, "deny"].effects
        assert effect.kind is EffectKind.CONTEXT, event
        assert str(effect.value).startswith("Today is "), event


@pytest.mark.spec("O-34")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dialect", SUPPORTED_DIALECTS)
def test_policy_says_each_decision_in_the_words_of_its_dialect(tmp_path: Path, language: str, dialect: str) -> None:
    events = [EventName.BEFORE_TOOL, EventName.GIT_COMMIT]
    verdicts = answers(
        tmp_path, [plan(event, language, "policy", dialect) for event in events], ["deny", "ask", "allow", "pass"]
    )

    for event in events:
        found = [verdicts[event, word] for word in ("deny", "ask", "allow", "pass")]
        assert [verdict.decision for verdict in found] == [Decision.DENY, Decision.ASK, Decision.ALLOW, Decision.PASS]
        assert [verdict.failure for verdict in found] == [None] * 4
        assert [verdict.notes for verdict in found] == [()] * 4
        assert [verdict.reason for verdict in found[:2]] == [
            new.find_check(event).deny[1],
            new.find_check(event).ask[1],
        ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_number_of_the_request_comes_back_as_it_was(tmp_path: Path, language: str) -> None:
    one = plan(EventName.FILE_EDITED, language, "logging", "ollm-rpc")
    answers(tmp_path, [one], [])
    request = json.loads(new.make_payload(one))

    for number in (1, 42, "7", "a-b"):
        assert said(tmp_path, one, json.dumps({**request, "id": number}))["id"] == number


@pytest.mark.parametrize("language", LANGUAGES)
def test_guard_without_the_field_it_looks_at_goes_on(tmp_path: Path, language: str) -> None:
    one = plan(EventName.BEFORE_TOOL, language, "validation")
    answers(tmp_path, [one], [])

    for odd in ("{}", '{"args": "rm -rf x"}', '{"args": {"command": null}}', "[]"):
        assert said(tmp_path, one, odd) == {"decision": "pass"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_guard_that_is_given_no_json_fails_rather_than_passes(tmp_path: Path, language: str) -> None:
    one = plan(EventName.BEFORE_TOOL, language, "validation")
    answers(tmp_path, [one], [])

    assert start(tmp_path, one, "rm -rf x").returncode != 0
    assert new.make_entry(one)["on_error"] == "block"


def test_bash_hook_reads_json_without_jq(tmp_path: Path) -> None:
    one = plan(EventName.BEFORE_TOOL, "bash", "validation")
    answers(tmp_path, [one], [])
    tools = tmp_path / "tools"
    tools.mkdir()
    for program in ("bash", "cat"):
        (tools / program).symlink_to(shutil.which(program) or program)
    (tools / "python3").symlink_to(Path(sys.executable).resolve())

    assert said(tmp_path, one, new.make_payload(one).decode(), PATH=str(tools))["decision"] == "deny"

    (tools / "python3").unlink()
    done = start(tmp_path, one, "{}", PATH=str(tools))
    assert done.returncode == 1
    assert "needs jq or python3 to read JSON" in done.stderr


def test_rules_are_known_for_every_event_and_every_reason_is_plain() -> None:
    for event in EventName:
        check = new.find_check(event)
        for pattern, reason, _ in (check.deny, check.ask, check.allow):
            # they stand between quotes of three languages
            assert not set("'\"\\\n") & set(reason)
            assert "'" not in pattern


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_of_a_template_is_left_unfilled(language: str, template: str) -> None:
    for dialect in SUPPORTED_DIALECTS:
        text = new.make_script(plan(EventName.BEFORE_TOOL, language, template, dialect))
        assert "@@" not in text
        assert not re.search(r"@[a-z_]+@", text)
        assert "\n\n\n\n" not in text
