from pathlib import Path

import pytest

from tests.worker_chaos import Chaos

pytestmark = pytest.mark.slow


@pytest.mark.spec("A-22")
def test_every_job_runs_though_workers_and_emitters_are_killed_all_the_time(tmp_path: Path) -> None:
    account = Chaos(tmp_path, seed=7).run(1_000, pause=0.3)

    assert account.owed >= 1_000
    assert account.missing == 0
    assert account.left == 0
    assert account.unmarked == 0
    # or nothing was shown: somebody has to have died in the middle of something
    assert account.killed_workers > 0
    assert account.killed_emitters > 0
    assert account.runs == account.ran + account.duplicates
