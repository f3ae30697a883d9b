import asyncio
import subprocess
from pathlib import Path

import pytest

from hookline import Effect, EffectKind, Engine, Event, Outcome, Verdict


@pytest.fixture
def repository(tmp_path: Path) -> str:
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    (tmp_path / "new").write_text("x")
    return str(tmp_path)


def call(engine: Engine, folder: str, command: str = "ls") -> Outcome:
    return asyncio.run(engine.emit("before_tool", tool="shell", args={"command": command}, cwd=folder))


def test_function_gets_the_facts_of_the_event_and_they_are_gathered_once(repository: str) -> None:
    engine = Engine()
    seen: list[Event] = []
    for name in ("one", "two"):
        engine.on("before_tool", id=name, facts=["git"])(seen.append)
    call(engine, repository)
    first, second = seen
    assert first.facts is not None
    assert first.facts["git"] is (second.facts or {})["git"]
    assert first.facts["git"]["changed"] == ["new"]  # type: ignore[index]


def test_event_without_hooks_that_ask_has_no_facts(repository: str) -> None:
    engine = Engine()
    seen: list[Event] = []
    engine.on("before_tool", id="plain")(seen.append)
    engine.on("before_tool", id="other", tools="write_file", facts="git")(seen.append)
    call(engine, repository)
    assert [event.facts for event in seen] == [None]


def test_step_of_a_list_gets_its_facts(repository: str) -> None:
    engine = Engine()
    engine.rule("step", on="custom:never", if_='facts.git.branch == "main"', deny="not on {{facts.git.branch}}")
    engine.hook("list", on="before_tool", steps=["step"])
    assert call(engine, repository).reason == "not on main"


def test_guard_of_a_rewritten_call_looks_at_facts_too(repository: str) -> None:
    engine = Engine()

    @engine.on("before_tool", facts="git")
    def rewrite(event: Event) -> Verdict | None:
        if event.args["command"] == "ls":
            return Verdict(effects=(Effect(EffectKind.REWRITE, "git push", ("args", "command")),))
        return None

    engine.rule("clean", runs=["git push"], if_='facts.diff == "something"', deny="never")
    engine.rule("guard", runs=["git push"], if_='facts.diff == "" && facts.git.branch == "main"', deny="not from main")
    assert call(engine, repository).reasons == ("not from main",)


def test_condition_on_a_fact_that_cannot_be_had_runs_a_guard_only(repository: str) -> None:
    subprocess.run(["git", "config", "core.fsmonitor", "x"], cwd=repository, check=True, timeout=60)
    engine = Engine()
    engine.rule("guard", tools="shell", if_='facts.git.branch == "dev"', deny="unknown")
    engine.rule("advice", on="before_tool", if_='facts.git.branch == "dev"', tell="unknown")
    outcome = call(engine, repository)
    assert outcome.reasons == ("unknown",)
    assert [skip.hook.id for skip in outcome.skipped] == ["advice"]
