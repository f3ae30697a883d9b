"""A guard for one file at a time, and an agent that changes several with one call."""

import json
import shlex
from pathlib import Path

import pytest

from tests.agents.agents import AGENTS, Agent
from tests.agents.scenario import KEEP, KEPT, LOG, add_hooks, grouped, python
from tests.agents.speech import Call, Turn
from tests.agents.world import World

PATCH = """\
*** Begin Patch
*** Update File: README.md
@@
-# a project
+# a better project
*** Add File: {}
+hello
*** End Patch
"""


@pytest.fixture
def agent() -> Agent:
    return AGENTS["codex-cli"]


def test_the_second_file_of_a_patch_is_caught(agent: Agent, tmp_path: Path) -> None:
    world = World.make(tmp_path / "machine", agent)
    (world.root / "keep.py").write_text(KEEP, "utf-8")
    (world.root / "log.py").write_text(LOG, "utf-8")
    log = world.root / "seen.log"
    hooks = grouped("PreToolUse", "Edit|Write", shlex.join(python(world.root / "keep.py")))
    hooks["PreToolUse"] += grouped("PreToolUse", "Edit|Write", shlex.join(python(world.root / "log.py", log)))[
        "PreToolUse"
    ]
    add_hooks(world.home / ".claude/settings.json", hooks)
    world.install(agent)

    calls = [Call("apply_patch", PATCH.format(name)) for name in ("secret.txt", "hello.txt")]
    report = world.run(agent, [*(Turn("", [call]) for call in calls), Turn("All done.")])

    assert not (world.project / "secret.txt").exists()
    assert KEPT in report.results[0]
    # of the patch that was refused nothing was done, and the other one was
    assert (world.project / "hello.txt").read_text() == "hello\n"
    assert (world.project / "README.md").read_text() == "# a better project\n"
    seen = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [(one["tool_name"], Path(one["tool_input"]["file_path"]).name) for one in seen[-2:]] == [
        ("Edit", "README.md"),
        ("Write", "hello.txt"),
    ]
