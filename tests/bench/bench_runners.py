"""Whole hook programs, as an agent or git starts them with one trivial hook: ours, and those of others."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.bench import bench_bridge, harness, peers, stage
from tests.bench.processes import encoded, round_trip
from tests.bench.rows import Row, Section

CCHOOKS = "from cchooks import create_context\n\ncreate_context().output.exit_success()\n"
AGENT_HOOKS = """\
import asyncio
import json
import sys

from agent_hooks import AgentContextBuilder, InterceptionEmitter, Verdict


class Policy:
    def intercept(self, context):
        return Verdict.allow()


event = json.load(sys.stdin)
builder = AgentContextBuilder(agent_id="claude", framework="claude-code", session_id=event["session_id"])
emitter = InterceptionEmitter().register(Policy())
call = builder.pre_tool_call(call_id=event["tool_use_id"], name=event["tool_name"], args=event["tool_input"])
asyncio.run(emitter.emit(call))
"""
PRE_COMMIT = """\
repos:
- repo: local
  hooks:
  - {id: nothing, name: nothing, entry: /bin/true, language: system, pass_filenames: false, always_run: true}
"""
LEFTHOOK = "pre-commit:\n  jobs:\n    - run: /bin/true\n"

SHELL = "sh -c with a native hook, as Claude Code does"
NAMES = {
    "cchooks": "cchooks: python hook.py",
    "agent-hooks-sdk": "agent-hooks-sdk: python hook.py",
    "nah": "nah: its hook for Claude Code",
    "lefthook": "lefthook: run pre-commit",
    "pre-commit": "pre-commit: run",
}
DRAWN = (bench_bridge.IDLE, bench_bridge.NATIVE, bench_bridge.WARM, bench_bridge.PLAIN)

Candidate = Callable[[], None]


def make_repository(here: stage.Stage) -> None:
    """Make the project a git repository with one file, for those that are made for git."""
    (here.project / "a.txt").write_text("a\n")
    (here.project / ".pre-commit-config.yaml").write_text(PRE_COMMIT)
    (here.project / "lefthook.yml").write_text(LEFTHOOK)
    names = ("-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run(["git", *names, *words], cwd=here.project, env=here.environment, check=True)


def scripts(here: stage.Stage) -> dict[str, list[str]]:
    """Write the scripts of those that are libraries, and give the words that start each of them all."""
    python = str(peers.python())
    for name, text in (("cchooks.hook.py", CCHOOKS), ("agent_hooks.hook.py", AGENT_HOOKS)):
        (here.folder / name).write_text(text)
    return {
        "cchooks": [python, str(here.folder / "cchooks.hook.py")],
        "agent-hooks-sdk": [python, str(here.folder / "agent_hooks.hook.py")],
        "nah": [str(peers.program("nah")), "_claude-hook"],
        "lefthook": [str(peers.lefthook() or ""), "run", "pre-commit", "--force"],
        "pre-commit": [str(peers.program("pre-commit")), "run", "--all-files"],
    }


def others(here: stage.Stage) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Make candidates of the others, each tried once; and say which are missing, and why."""
    body = here.payload(stage.NATIVE)
    env = encoded({**here.environment, "LEFTHOOK_QUIET": "meta,summary,execution", "PRE_COMMIT_COLOR": "never"})
    made: dict[str, Candidate] = {}
    missing: dict[str, str] = {}
    for package, argv in scripts(here).items():
        if not peers.has(package) or not Path(argv[0]).is_file():
            missing[NAMES[package]] = peers.ABSENT
        elif ended := round_trip(argv, body, env).code:
            missing[NAMES[package]] = f"does not run here: it ends with {ended}"
        else:
            made[NAMES[package]] = stage.calling(argv, body, env)
    return made, missing


async def measure() -> Sequence[Section]:
    """Measure all of them side by side."""
    with stage.stage() as here:
        make_repository(here)
        ours, missing = bench_bridge.ours(here)
        theirs, absent = others(here)
        native = stage.calling(["/bin/sh", "-c", " ".join(here.native)], here.payload(stage.NATIVE), here.env)
        mine = {name: candidate for name, candidate in ours.items() if name in DRAWN}
        candidates = {**bench_bridge.floors(here), **mine, SHELL: native, **theirs}
        timings = await harness.interleave(candidates, harness.rounds(), warm_up=3)
    rows = list(
        harness.rows(timings, floor=bench_bridge.TRUE, peers=(bench_bridge.BARE, bench_bridge.PYTHON, SHELL, *theirs))
    )
    rows += [Row(what=name, who="ours", missing=reason) for name, reason in missing.items() if name in DRAWN]
    rows += [Row(what=name, who="peer", missing=reason) for name, reason in absent.items()]
    version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    about = (
        f"Whole programs from start to end, each with one trivial hook; wall time; all in {version}. `cchooks` and "
        "`agent-hooks-sdk` are libraries: the program is a script of a few lines. `nah` decides about a harmless "
        "command. `lefthook` is its native program without its wrapper. `lefthook` and `pre-commit` are made for git: "
        "they look at a repository with a single commit."
    )
    return [Section(title="Hook programs", about=about, rows=tuple(rows), is_drawn=True)]


if __name__ == "__main__":
    harness.main(measure)
