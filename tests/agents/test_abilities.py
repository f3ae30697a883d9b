"""What our tables say an agent can do with an answer, tried on the agent itself.

One hook answers everything: its answers stand in a file, by event and by a word in the command. Where a table says that
an agent cannot do something, what the answer became is tried in its place: a question or a change that an agent cannot
carry keeps the command from running.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from hookline.dialects import DIALECTS
from hookline.model.event import Ability, EventName
from tests.agents.agents import AGENTS, Agent
from tests.agents.scenario import python
from tests.agents.speech import Turn
from tests.agents.world import Report, World

ANSWER: Final = """
import json, sys
from pathlib import Path

event, here = json.load(sys.stdin), Path(sys.argv[1])
command = event.get("args", {}).get("command", "")
for key, answer in json.loads((here / "answers.json").read_text()).items():
    name, _, word = key.partition(":")
    once = here / (key + ".given")
    if name == event["event"] and word in command and not once.exists():
        once.touch()
        print(json.dumps(answer))
        break
"""

BEFORE, AFTER = EventName.BEFORE_TOOL, EventName.AFTER_TOOL

# what the hook answers in one long session
ANSWERS: Final[Mapping[str, Mapping[str, object]]] = {
    "session_start:": {"context": "told-at-the-start"},
    "before_agent:": {"context": "told-with-the-prompt"},
    "before_tool:b-block": {"decision": "deny", "reason": "because-b-block"},
    "before_tool:b-ask": {"decision": "ask", "reason": "because-b-ask"},
    "before_tool:b-args": {"args": {"command": "echo changed | tee b-args.txt"}},
    "before_tool:b-context": {"context": "told-before-the-tool"},
    "after_tool:a-block": {"decision": "deny", "reason": "because-a-block"},
    "after_tool:a-context": {"context": "told-after-the-tool"},
    "after_tool:a-output": {"output": "replaced-result"},
    "after_agent:": {"ask_agent": "one-more-thing"},
}
WORDS: Final = [word for key in ANSWERS if (word := key.partition(":")[2])]


@dataclass(frozen=True, slots=True)
class Tried:
    """A session in which the hook answered."""

    agent: Agent
    world: World
    report: Report

    def can(self, moment: EventName, ability: Ability) -> bool:
        """Say whether our table has it."""
        return can(self.agent, moment, ability)

    def written(self, word: str) -> str | None:
        """Give what a command wrote; None when it did not run."""
        path = self.world.project / f"{word}.txt"
        return path.read_text("utf-8") if path.exists() else None

    def result(self, word: str) -> str:
        """Give what the model was told of a command."""
        return self.report.results[WORDS.index(word)]


def can(agent: Agent, moment: EventName, ability: Ability) -> bool:
    """Say whether our table has it that an agent can do something."""
    spec = DIALECTS[agent.name].SPEC
    return ability in spec.abilities[spec.events[moment]]


def waits(agent: Agent) -> bool:
    """Say whether a question would keep an agent waiting for a person for ever."""
    return agent.waits and can(agent, BEFORE, Ability.ASK)


def attempt(agent: Agent, root: Path, answers: Mapping[str, object], words: Sequence[str]) -> Tried:
    """Let an agent run one command for each word."""
    world = World.make(root, agent)
    script = root / "answer.py"
    script.write_text(ANSWER, "utf-8")
    (root / "answers.json").write_text(json.dumps(answers), "utf-8")
    moments = json.dumps(sorted({key.partition(":")[0] for key in answers}))
    world.configure(f'[[hook]]\nname = "answer"\non = {moments}\nrun = {json.dumps(python(script, root))}\n')
    world.install(agent)
    turns = [Turn("", [agent.shell(f"echo {word} | tee {word}.txt")]) for word in words]
    return Tried(agent, world, world.run(agent, [*turns, Turn("All done.")]))


@pytest.fixture(
    scope="module",
    params=[pytest.param(agent, id=name) for name, agent in AGENTS.items()],
)
def agent(request: pytest.FixtureRequest) -> Agent:
    found: Agent = request.param
    return found


@pytest.fixture(scope="module")
def tried(agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    answers = {key: answer for key, answer in ANSWERS.items() if answer.get("decision") != "ask" or not waits(agent)}
    return attempt(agent, tmp_path_factory.mktemp(agent.name) / "machine", answers, WORDS)


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (EventName.SESSION_START, "told-at-the-start"),
        (EventName.BEFORE_AGENT, "told-with-the-prompt"),
        (BEFORE, "told-before-the-tool"),
        (AFTER, "told-after-the-tool"),
    ],
)
def test_context_reaches_the_model_where_the_table_says_so(tried: Tried, moment: EventName, said: str) -> None:
    assert (said in tried.report.heard) is tried.can(moment, Ability.CONTEXT)


def test_a_call_is_blocked_and_the_model_told_why(tried: Tried) -> None:
    assert tried.can(BEFORE, Ability.BLOCK)
    assert tried.written("b-block") is None
    assert "because-b-block" in tried.result("b-block")


def test_a_question_that_nobody_answers_is_no_yes(tried: Tried) -> None:
    if waits(tried.agent):
        pytest.skip("without a person it waits for ever")
    assert tried.written("b-ask") is None
    assert tried.can(BEFORE, Ability.ASK) or "because-b-ask" in tried.result("b-ask")


def test_a_call_is_changed_or_does_not_run(tried: Tried) -> None:
    assert tried.written("b-args") == ("changed\n" if tried.can(BEFORE, Ability.ARGS) else None)


def test_a_result_is_objected_to_where_the_table_says_so(tried: Tried) -> None:
    assert tried.written("a-block") == "a-block\n"
    assert "because-a-block" in tried.report.heard


def test_a_result_is_replaced_where_the_table_says_so(tried: Tried) -> None:
    assert "replaced-result" in tried.report.heard
    assert ("a-output" not in tried.result("a-output")) is tried.can(AFTER, Ability.OUTPUT)


def test_an_agent_that_is_done_is_given_one_more_thing(tried: Tried) -> None:
    assert tried.can(EventName.AFTER_AGENT, Ability.FOLLOW_UP)
    assert "one-more-thing" in json.dumps(tried.report.bodies[-1])
    assert len(tried.report.bodies) == len(WORDS) + 2


STOP: Final[dict[str, Any]] = {"decision": "stop", "reason": "because-of-the-end"}


@pytest.mark.parametrize("moment", [BEFORE, AFTER, EventName.BEFORE_AGENT])
def test_a_session_is_ended_where_the_table_says_so(agent: Agent, moment: EventName, tmp_path: Path) -> None:
    tried = attempt(agent, tmp_path / "machine", {f"{moment}:": STOP}, ["once", "twice"])

    asked = 0 if moment is EventName.BEFORE_AGENT else 1
    if tried.can(moment, Ability.STOP):
        assert len(tried.report.bodies) == asked
        assert (tried.written("once") is None) is (moment is not AFTER)
    else:
        assert tried.can(moment, Ability.BLOCK)
    assert (tried.written("once") is None) is (moment is not AFTER)


def test_a_prompt_is_blocked_before_the_model_hears_it(agent: Agent, tmp_path: Path) -> None:
    answers = {"before_agent:": {"decision": "deny", "reason": "because-of-the-prompt"}}
    tried = attempt(agent, tmp_path / "machine", answers, ["once"])

    assert tried.can(EventName.BEFORE_AGENT, Ability.BLOCK)
    assert not tried.report.bodies
