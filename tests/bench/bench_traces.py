"""What questions about a million records cost, against a command that reads none of them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hookline.stores.sqlite import SqliteTraces
from tests.bench import harness
from tests.bench.rows import Row, Section
from tests.ui.traces import AGENTS, make_call

RECORDS = harness.number_in("BENCH_RECORDS", 1_000_000)
SESSIONS = 5_000
HOOKS = 40
ROUNDS = 10

FLOOR = "hookline events, which reads no record"
QUESTIONS = {
    "hookline trace list": ("trace", "list"),
    "hookline trace list --blocked": ("trace", "list", "--blocked"),
    "hookline trace list --session": ("trace", "list", "--session", "session-77"),
    "hookline stats": ("stats",),
}


def fill(data: Path) -> int:
    """Store calls of three agents, the oldest of which go when the file has reached its limit; return its size."""
    data.mkdir(parents=True, mode=0o700)
    calls = RECORDS // 3
    store = SqliteTraces(data / "traces.db", bound=RECORDS)
    for number in range(calls):
        is_denied = number % 17 == 0
        call = make_call(
            number,
            agent=AGENTS[number % len(AGENTS)],
            session=f"session-{number % SESSIONS}",
            subject=f"git log -{number}",
            hook=f"hook-{number % HOOKS}",
            decision="deny" if is_denied else "pass",
            reason="not here" if is_denied else "",
            ago=float(calls - number),
        )
        for record in call:
            store.write(record)
    store.close()
    return (data / "traces.db").stat().st_size


async def measure() -> Sequence[Section]:
    """Ask the real program."""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as project:
        size = fill(Path(home, ".local/share/hookline"))
        env = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")} | {"HOME": home}

        def ask(words: Sequence[str]) -> None:
            command = [sys.executable, "-m", "hookline", *words]
            done = subprocess.run(command, env=env, cwd=project, capture_output=True, text=True, check=True)
            if "trace" in words and "git log" not in done.stdout:
                raise SystemExit(f"{words} found nothing: {done.stdout}{done.stderr}")

        candidates = {what: lambda words=words: ask(words) for what, words in {FLOOR: ("events",), **QUESTIONS}.items()}
        timings = await harness.interleave(candidates, min(harness.rounds(), ROUNDS), warm_up=1)
    rows = (*harness.rows(timings, floor=FLOOR), Row(what="size of the file", value=size / 1e6, unit="MB"))
    about = f"{RECORDS:,} records of {SESSIONS:,} sessions, as many of them kept as the file may hold; whole programs, wall time."
    return [Section(title="Questions about many records", about=about, rows=rows)]


if __name__ == "__main__":
    harness.main(measure)
