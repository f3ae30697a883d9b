import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from hookline import Blocked, Engine, Event, Verdict
from hookline.model.verdict import Effect, EffectKind, Outcome
from tests.cli.program import configure, hookline

# the document's pipeline: a skill raises the event, the hook dispatches to scripts, the scripts change what happens
PREPARE = """
import json

payload = json.loads(input())
given = payload["parameters"]
if "region" not in given:
    print(json.dumps({"permissionDecision": "deny", "reason": "say which region"}))
else:
    print(json.dumps({"updatedInput": {"replicas": int(given.get("replicas", 1)), "region": given["region"].lower()}}))
"""
DEPLOY = """
import json

payload = json.loads(input())
assert payload["data"]["parameters"] == payload["parameters"]
print(json.dumps({"additionalContext": payload["skill"] + " " + json.dumps(payload["parameters"], sort_keys=True)}))
"""
LOG = """
import json, pathlib

payload = json.loads(input())
with (pathlib.Path.home() / "skills.log").open("a") as file:
    file.write(payload["skill"] + chr(10))
print("{}")
"""


def _pipeline(home: Path) -> None:
    configure(home, "")
    folder = home / ".ollama"
    folder.mkdir()
    scripts = {"prepare": PREPARE, "deploy": DEPLOY, "log": LOG}
    for name, text in scripts.items():
        (folder / f"{name}.py").write_text(text)
    groups = [
        {"hooks": [{"type": "command", "command": f"python3 {folder}/log.py"}]},
        {
            "matcher": "deploy|release-.*",
            "hooks": [{"type": "command", "command": f"python3 {folder}/{name}.py"} for name in ("prepare", "deploy")],
        },
    ]
    (folder / "settings.json").write_text(json.dumps({"hooks": {"SkillTrigger": groups}}))


def _trigger(skill: str, parameters: Mapping[str, object]) -> str:
    return json.dumps({"hook": "SkillTrigger", "data": {"skill": skill, "parameters": parameters}})


@pytest.mark.spec("C-13")
def test_a_skill_goes_through_its_scripts_and_each_sees_what_the_one_before_prepared(tmp_path: Path) -> None:
    _pipeline(tmp_path / "home")
    payload = _trigger("deploy", {"replicas": "3", "region": "EU", "tag": "v1"})

    done = hookline(tmp_path / "home", "emit", "SkillTrigger", "--dialect", "ollama-cli", "--data", payload)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "updatedInput": {"replicas": 3, "region": "eu", "tag": "v1"},
        "additionalContext": 'deploy {"region": "eu", "replicas": 3, "tag": "v1"}',
    }


@pytest.mark.spec("C-13")
def test_a_skill_is_routed_by_its_name(tmp_path: Path) -> None:
    home = tmp_path / "home"
    _pipeline(home)

    other = hookline(home, "emit", "skill_trigger", "--data", '{"skill": "greet", "parameters": {}}', "--json")
    like = hookline(home, "emit", "skill_trigger", "--data", '{"skill": "release-1", "parameters": {}}', "--json")

    assert [hook["id"] for hook in json.loads(other.stdout)["hooks"]] == ["settings:SkillTrigger:1"]
    assert len(json.loads(like.stdout)["hooks"]) > 1
    assert (home / "skills.log").read_text() == "greet\nrelease-1\n"


@pytest.mark.spec("C-13")
def test_a_script_that_misses_a_parameter_stops_the_skill(tmp_path: Path) -> None:
    _pipeline(tmp_path / "home")

    done = hookline(
        tmp_path / "home", "emit", "SkillTrigger", "--dialect", "ollama-cli", "--data", _trigger("deploy", {})
    )

    assert done.returncode == 2
    assert json.loads(done.stdout)["reason"] == "say which region"


def test_an_agent_gets_the_parameters_as_its_hooks_left_them() -> None:
    engine = Engine()
    heard: list[Outcome] = []

    @engine.on("skill_trigger", matcher="deploy")
    def count(event: Event) -> Verdict:
        parameters = event.data["parameters"]
        assert isinstance(parameters, dict)
        return Verdict.rewrite({"replicas": int(parameters["replicas"])})

    @engine.on("skill_trigger", matcher="deploy")
    def double(event: Event) -> Verdict:
        parameters = event.data["parameters"]
        assert isinstance(parameters, dict)
        return Verdict.rewrite({"replicas": parameters["replicas"] * 2})

    async def deploy() -> None:
        async with engine, engine.session() as session:
            assert await session.skill("deploy", {"replicas": "2", "tag": "v1"}, on_outcome=heard.append) == {
                "replicas": 4,
                "tag": "v1",
            }
            assert await engine.skill("other", {"replicas": "2"}) == {"replicas": "2"}
            assert await engine.skill("other") == {}

    asyncio.run(deploy())
    assert len(heard) == 1


def test_parameters_that_are_handed_on_as_data_are_prepared_too() -> None:
    engine = Engine()

    @engine.on("skill_trigger")
    def prepare(_event: Event) -> Verdict:
        return Verdict(effects=(Effect(EffectKind.DATA, {"whole": True}, ("parameters",)),))

    @engine.on("skill_trigger")
    def more(_event: Event) -> Verdict:
        return Verdict.rewrite({"part": 1})

    async def ask() -> Mapping[str, object]:
        async with engine:
            return await engine.skill("x", {"old": 1})

    assert asyncio.run(ask()) == {"whole": True, "part": 1}


def test_a_hook_that_only_watches_changes_no_parameter() -> None:
    engine = Engine()

    @engine.on("skill_trigger", observe=True)
    def prepare(_event: Event) -> Verdict:
        return Verdict.rewrite({"part": 1})

    async def ask() -> Mapping[str, object]:
        async with engine:
            return await engine.skill("x", {"old": 1})

    assert asyncio.run(ask()) == {"old": 1}


def test_a_skill_that_is_stopped_does_not_run() -> None:
    engine = Engine()

    @engine.on("skill_trigger")
    def stop(_event: Event) -> Verdict:
        return Verdict.deny("not on a friday")

    async def ask() -> None:
        async with engine:
            with pytest.raises(Blocked, match="not on a friday"):
                await engine.skill("deploy", {})

    asyncio.run(ask())


def test_parameters_of_another_kind_are_left_alone() -> None:
    engine = Engine()

    @engine.on("skill_trigger")
    def look(_event: Event) -> Verdict:
        return Verdict.add_context("seen")

    async def ask() -> Outcome:
        async with engine:
            return await engine.emit("skill_trigger", {"skill": "x", "parameters": "a text"})

    outcome = asyncio.run(ask())
    assert (outcome.args, outcome.context) == (None, ("seen",))
