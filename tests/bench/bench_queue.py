"""Ten thousand background hooks while workers and emitters are killed with -9: what ran, what ran twice, what is left."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.background.chaos import Chaos

JOBS = int(os.environ.get("BENCH_JOBS", "10000"))
SEED = int(os.environ.get("BENCH_SEED", "1"))


def main() -> None:
    """Run it, print the account, and end with an error when a job was lost."""
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        account = Chaos(Path(folder), seed=SEED).run(JOBS)
    killed = f"{account.killed_workers} workers and {account.killed_emitters} emitters killed"
    lines = (
        f"\nbackground hooks, {killed} with -9 in {account.seconds:.0f} s",
        f"  owed                 {account.owed}",
        f"  ran at least once    {account.owed - account.missing}",
        f"  ran in all           {account.runs}, {account.ran - account.owed} of them of emitters killed before they noted it",
        f"  ran more than once   {account.duplicates}, {account.unmarked} of them without the mark",
        f"  lost                 {account.missing}",
        f"  left in the queue    {account.left}",
    )
    print("\n".join(lines))  # noqa: T201 - printing is what a benchmark is for
    if account.missing or account.left or account.unmarked:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
