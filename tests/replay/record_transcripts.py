"""Record the transcripts in `tests/replay/transcripts`: real agents, a scripted model, made-up content only.

    python -m tests.replay.record_transcripts

Needs the programs of `tests/agents/programs.py`. Folders of this machine are replaced by `/home/sam` and `/home/sam/project`.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.agents.agents import AGENTS
from tests.agents.speech import Turn
from tests.agents.world import World

FOLDER: Final = Path(__file__).parent / "transcripts"
RULE: Final = """
[[hook]]
name = "no-removal"
runs = "rm"
deny = "removing files is not for agents"
"""
# lines and fields with long texts of the agent's maker, and with commands of this machine
DROPPED: Final = frozenset(
    {"attachment", "system", "world_state", "api-request-shape", "api-request-blob", "api-request"}
)
DROPPED_FIELDS: Final = frozenset({"base_instructions", "description", "displayName"})


def trim(text: str) -> Iterator[str]:
    """Yield the lines of a transcript without what is not about the session."""
    for line in text.splitlines():
        document = json.loads(line)
        if document.get("type") not in DROPPED and document.get("payload", {}).get("role") != "developer":
            yield json.dumps(without_fields(document), ensure_ascii=False, separators=(",", ":")) + "\n"


def without_fields(value: Any) -> Any:
    """Return a value without the fields that are dropped, at any depth."""
    if isinstance(value, list):
        return [without_fields(item) for item in value]
    if isinstance(value, dict):
        return {key: without_fields(item) for key, item in value.items() if key not in DROPPED_FIELDS}
    return value


def record(name: str) -> None:
    """Let one agent work through a script, and keep its transcript."""
    agent = AGENTS[name]
    with tempfile.TemporaryDirectory() as folder:
        world = World.make(Path(folder, "machine").resolve(), agent)
        world.configure(RULE)
        world.install(agent)
        calls = [
            agent.shell("echo hello"),
            agent.write(world.project / "notes.txt", "one\ntwo\n"),
            agent.shell("rm -r build"),
            agent.shell("git push --force origin main"),
        ]
        world.run(agent, [*(Turn("Next.", [call]) for call in calls), Turn("All done.")])
        (transcript,) = world.home.glob(agent.transcripts)
        text = transcript.read_text("utf-8").replace(str(world.project), "/home/sam/project")
        text = text.replace(str(world.home), "/home/sam").replace(str(world.root), "/home/sam")
        (FOLDER / f"{name}{transcript.suffix}").write_text("".join(trim(text)), "utf-8")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or ("claude-code", "codex-cli", "gemini-cli"):
        record(wanted)
