"""Ten thousand background hooks while workers and emitters are killed with -9: what ran, what ran twice, what is left."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import harness
from tests.bench.rows import Row, Section
from tests.worker_chaos import Chaos

SEED = harness.number_in("BENCH_SEED", 1)


def jobs() -> int:
    """Say how many hooks there are: fewer for a quick look."""
    return harness.number_in("BENCH_JOBS", 10_000 if harness.rounds() >= harness.ENOUGH else 500)


async def measure() -> Sequence[Section]:
    """Run it, and end with an error when a job was lost."""
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        account = Chaos(Path(folder), seed=SEED).run(jobs())
    if account.missing or account.left or account.unmarked:
        raise SystemExit(f"a job was lost, left behind, or ran twice without a mark: {account}")
    figures = {
        "owed": account.owed,
        "ran at least once": account.owed - account.missing,
        "ran in all": account.runs,
        "ran for emitters that were killed before they noted it": account.ran - account.owed,
        "ran more than once, each marked so": account.duplicates,
        "lost": account.missing,
        "left in the queue": account.left,
    }
    rows = tuple(Row(what=what, value=float(figure), unit="") for what, figure in figures.items())
    rows += (Row(what="time for all of it", value=account.seconds),)
    killed = f"{account.killed_workers} workers and {account.killed_emitters} emitters were killed with -9 meanwhile."
    return [Section(title="Background hooks under fire", about=killed, rows=rows)]


if __name__ == "__main__":
    harness.main(measure)
