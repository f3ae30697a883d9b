"""A whole session: 120 tool calls with three hooks each, started by the agent itself, and through us."""

import resource
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from tests.bench import harness, stage
from tests.bench.processes import Ended, finish, start
from tests.bench.rows import Row, Section

CALLS: Final = 120
WARM_UP: Final = 5
TOOLS: Final = ("Bash", "Edit", "Read", "Write")

NOTHING = "the agent with an empty line instead of hooks"
DIRECT = "the agent starts the hooks itself"
DAEMON = "Hookline with its daemon"
COLD = "Hookline without a daemon"

GUARD: Final = "/rm -rf \\// { exit 2 }\n"
CHECK: Final = """\
import json
import re
import sys
from pathlib import PurePath

event = json.load(sys.stdin)
path = PurePath(event["tool_input"].get("file_path", ""))
text = event["tool_input"].get("content", "")
long = [number for number, line in enumerate(text.splitlines(), 1) if len(line.rstrip()) > 120]
odd = re.findall(r"[ \\t]+$", text, re.MULTILINE)
if path.suffix == ".py" and (long or odd):
    print(f"{path.name}: lines {long} are too long, {len(odd)} end with blanks", file=sys.stderr)
"""


class Way(Struct):
    """One way to have the hooks run, and what it has cost so far."""

    lines: Sequence[str]
    env: Mapping[bytes, bytes]
    seconds: list[float]
    processor: float = 0.0


def hooks(here: stage.Stage) -> dict[str, list[str]]:
    """Write the three hooks, and give the words that start them: a native guard, a check in Python, a logger in shell."""
    guard, check = here.folder / "guard.awk", here.folder / "check.py"
    guard.write_text(GUARD)
    check.write_text(CHECK)
    logger = here.folder / "log.sh"
    logger.write_text(
        f"#!/bin/sh\ncat >> {shlex.quote(str(here.folder / 'log.jsonl'))}\necho >> {shlex.quote(str(here.folder / 'log.jsonl'))}\n"
    )
    logger.chmod(0o755)
    awk = next(path for path in ("/usr/bin/awk", "/bin/awk") if Path(path).exists())
    return {
        "guard": [awk, "-f", str(guard)],
        "check": [sys.executable, str(check)],
        "log": [str(logger)],
    }


def write_hooks(here: stage.Stage, wanted: Mapping[str, list[str]]) -> None:
    """Configure the same hooks for us."""
    text = [
        stage.toml_hook(name, "", run, **({"warm": True} if name == "check" and stage.can_be_warm() else {}))
        for name, run in wanted.items()
    ]
    here.settings.write_text("\n".join(text).replace("tools = []\n", ""))


def run_event(way: Way, body: bytes) -> list[Ended]:
    """Do what the agent does at one event: start every line with a shell, all at once, and wait for all."""
    started = [start(["/bin/sh", "-c", line], body, way.env) for line in way.lines]
    return [finish(each) for each in started]


def spent() -> float:
    """Give the processor time of all that we started and waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play(here: stage.Stage, ways: Mapping[str, Way], calls: int) -> None:
    """Play the session, call by call, each way in turn."""
    by_daemon = 0.0
    for number in range(calls + WARM_UP):
        if number == WARM_UP:
            by_daemon = here.daemon_processor_time()
        body = here.payload(TOOLS[number % len(TOOLS)], number=number, content="print('hello')\n" * (number % 40))
        for name, way in ways.items():
            before, began = spent(), time.perf_counter()
            ended = run_event(way, body)
            elapsed = time.perf_counter() - began
            # these hooks have nothing to say about these calls; whoever says something has not run them
            if any(each.code or each.stdout for each in ended):
                raise SystemExit(f"{name}: {ended}")
            if number >= WARM_UP:
                way.seconds.append(elapsed)
                way.processor += spent() - before
    # all of it is for one way, also what it puts off until the others have their turn
    if DAEMON in ways:
        ways[DAEMON].processor += here.daemon_processor_time() - by_daemon


def wrong_ones(here: stage.Stage, ways: Mapping[str, Way]) -> dict[str, str]:
    """Try each way once; name those that have something to say, which none of the hooks has."""
    body = here.payload(TOOLS[0])
    ended = {name: run_event(way, body) for name, way in ways.items()}
    return {name: stage.WRONG for name, all_of in ended.items() if any(each.code or each.stdout for each in all_of)}


def logged(here: stage.Stage) -> int:
    """Count what the logger wrote: whether the hooks ran at all, and how often."""
    path = here.folder / "log.jsonl"
    return sum(1 for line in path.read_bytes().splitlines() if line.strip()) if path.exists() else 0


def rows_of(ways: Mapping[str, Way], missing: Mapping[str, str], calls: int) -> tuple[Row, ...]:
    """Make rows: the whole session, one call, and the processor time of the whole session."""
    figures: tuple[tuple[str, Callable[[Way], float]], ...] = (
        (f"{calls} calls, wall time", lambda way: sum(way.seconds)),
        (f"{calls} calls, processor time", lambda way: way.processor),
        ("one call, p10", lambda way: harness.p10(way.seconds)),
        ("one call beyond an empty one, p10", lambda way: harness.p10(way.seconds) - idle),
    )
    idle = harness.p10(ways[NOTHING].seconds)
    rows = []
    for what, figure in figures:
        floor = figure(ways[DIRECT])
        for name in (DIRECT, DAEMON, COLD):
            if name in missing:
                rows.append(Row(what=f"{what}: {name}", missing=missing[name]))
                continue
            way = ways[name]
            rows.append(
                Row(
                    what=f"{what}: {name}",
                    value=figure(way),
                    floor=floor,
                    against=DIRECT,
                    rounds=len(way.seconds),
                    who="floor" if name == DIRECT else "ours",
                )
            )
    return tuple(rows)


async def measure() -> Sequence[Section]:
    """Measure the session in all ways that there are here."""
    calls = CALLS if harness.rounds() >= harness.ENOUGH else max(2, min(CALLS, harness.rounds()))
    with stage.stage() as here:
        wanted = hooks(here)
        write_hooks(here, wanted)
        line = stage.installed_line()
        ways = {
            NOTHING: Way([":"], here.env, []),
            DIRECT: Way([shlex.join(run) for run in wanted.values()], here.env, []),
            COLD: Way([line], here.env_without_daemon, []),
        }
        missing = {DAEMON: here.start_daemon() if stage.launcher_words() else stage.NO_LAUNCHER}
        if not missing[DAEMON]:
            missing = {}
            ways[DAEMON] = Way([line], here.env, [])
        stage.settle()
        missing |= wrong_ones(here, ways)
        ways = {name: way for name, way in ways.items() if name not in missing}
        before = logged(here)
        play(here, ways, calls)
        due = (calls + WARM_UP) * (len(ways) - 1)
        if logged(here) - before != due:
            raise SystemExit(f"the logger ran {logged(here) - before} times, and should have {due} times")
    about = (
        f"{calls} tool calls as Claude Code says them, three hooks for each: a guard in awk, a check in Python (warm with "
        "the daemon), a logger in shell. An agent that starts them itself does it as Claude Code does: one `sh -c` for each, "
        "all at once. All ways take turns, call by call, driven by the same bare loop; an agent has "
        "costs of its own on top, in every way the same."
    )
    return [Section(title="A session", about=about, rows=rows_of(ways, missing, calls))]


if __name__ == "__main__":
    harness.main(measure)
