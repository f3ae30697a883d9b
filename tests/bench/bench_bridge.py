"""What one call costs an agent: our launcher, with a daemon and without, against programs that do nothing."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence

from tests.bench import harness, stage
from tests.bench.processes import Environment, round_trip
from tests.bench.rows import Row, Section

TRUE = "/bin/true"
BARE = "python -I -S -c pass"
PYTHON = "python hook.py, cold"
IDLE = "launcher + daemon, no matching hook"
NATIVE = "launcher + daemon, one native command hook"
WARM = "launcher + daemon, one warm Python hook"
PLAIN = "launcher, no daemon, one native command hook"
FIRST = "launcher, first call, which starts the daemon"
LINE = "the installed line with sh -c, no matching hook"

# for each of ours: what it is held against, and the goal
OURS = {
    IDLE: (TRUE, "launcher-idle"),
    NATIVE: (TRUE, "launcher-command"),
    WARM: (PYTHON, "launcher-warm"),
    PLAIN: (BARE, ""),
    FIRST: (PLAIN, "launcher-first"),
    LINE: (TRUE, ""),
}

# one that gives a float has timed itself
Candidate = Callable[[], object]
# the words, the tool that it is about, the environment, and whether some hook has an opinion
Call = tuple[list[str], str, Environment, bool]


def floors(here: stage.Stage) -> dict[str, Candidate]:
    """Make candidates of what cannot be any quicker."""
    body = here.payload(stage.NATIVE)
    return {
        TRUE: stage.calling(["/bin/true"], body, here.env),
        BARE: stage.calling([sys.executable, "-I", "-S", "-c", "pass"], body, here.env),
        PYTHON: stage.calling([sys.executable, str(here.script)], body, here.env),
    }


def ours(here: stage.Stage) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Make candidates of ours, each tried once; and say what cannot be measured, and why."""
    here.write_usual_hooks()
    words = stage.launcher_words()
    if not words:
        return {}, dict.fromkeys(OURS, stage.NO_LAUNCHER)
    stage.settle()
    line = ["/bin/sh", "-c", stage.installed_line()]
    calls: dict[str, Call] = {
        IDLE: (words, stage.NONE, here.env, False),
        NATIVE: (words, stage.NATIVE, here.env, True),
        LINE: (line, stage.NONE, here.env, False),
        WARM: (words, stage.WARM, here.env, True),
    }
    missing = {} if stage.can_be_warm() else {WARM: stage.NO_WARM}
    if reason := here.start_daemon():
        missing |= {name: reason for name, (_, _, env, _) in calls.items() if env is here.env}
    made, wrong = tried(here, {name: call for name, call in calls.items() if name not in missing})
    return made, missing | wrong


def tried(here: stage.Stage, calls: Mapping[str, Call]) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Make candidates of those that answer as they have to; name the others."""
    made, wrong = {}, {}
    for name, (argv, tool, env, has_answer) in calls.items():
        try:
            made[name] = candidate(here, name, (argv, tool, env, has_answer))
        except stage.WrongAnswer as problem:
            sys.stderr.write(f"{problem}\n")
            wrong[name] = stage.WRONG
    return made, wrong


def candidate(here: stage.Stage, what: str, call: Call) -> Candidate:
    """Make a candidate that is tried once: by the daemon, where that is not switched off, and by nobody else.

    Raises:
        WrongAnswer: It does not answer as it has to.
    """
    words, tool, env, has_answer = call
    body, before = here.payload(tool), here.answered()
    answer = stage.checked(what, round_trip(words, body, env), has_answer=has_answer)
    if env is here.env and here.answered() == before:
        raise stage.WrongAnswer(f"{what} was not answered by the daemon")
    return stage.calling(words, body, env, answer=answer)


def starting(here: stage.Stage) -> tuple[dict[str, Candidate], dict[str, str]]:
    """Make candidates of a call without a daemon, and of the first one on a machine, which starts the daemon."""
    here.settings.write_text(stage.toml_hook("native", stage.NATIVE, here.native))
    words = stage.launcher_words()
    if not words:
        return {}, dict.fromkeys((PLAIN, FIRST), stage.NO_LAUNCHER)
    stage.settle()
    made, wrong = tried(here, {PLAIN: (words, stage.NATIVE, here.env_without_daemon, True)})
    body = here.payload(stage.NATIVE)
    answer = stage.checked(FIRST, round_trip(words, body, here.env), has_answer=True)
    call = stage.calling(words, body, here.env, answer=answer)

    def first() -> float:
        here.kill_daemon()
        begun = time.perf_counter()
        call()
        return time.perf_counter() - begun

    return {**made, FIRST: first}, wrong


async def measure() -> Sequence[Section]:
    """Measure each side by side with what it is held against: what takes fifty times longer leaves a cold machine."""
    with stage.stage() as here, stage.stage() as alone:
        made, missing = ours(here)
        without, lacking = starting(alone)
        missing |= lacking
        base = floors(here)
        slow = {BARE: base[BARE], PYTHON: base[PYTHON], **without}
        slow |= {name: made.pop(name) for name in list(made) if OURS[name][0] in slow}
        timings = await harness.interleave({TRUE: base[TRUE], **made}, harness.rounds(200))
        timings |= await harness.interleave(slow, harness.rounds(50))
    rows = [harness.row(timings, name, floor=TRUE, who="floor") for name in (TRUE, BARE, PYTHON)]
    for name, (floor, goal) in OURS.items():
        if name in missing:
            rows.append(Row(what=name, against=floor, goal=goal, missing=missing[name]))
        else:
            rows.append(harness.row(timings, name, floor=floor, goal=goal, who="ours"))
    about = (
        "Whole programs, from their start to their end, with a tool call of Claude Code on stdin and a pipe at stdout; "
        "wall time. The native hook is a small C program that reads the event and prints an answer, the Python hook reads "
        "and writes JSON. The daemon keeps a trace of every call."
    )
    return [Section(title="One call of an agent", about=about, rows=tuple(rows))]


if __name__ == "__main__":
    harness.main(measure)
