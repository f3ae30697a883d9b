import os
import threading
from time import time_ns

import pytest

from hookline.engine.trace_records import new_id


def now() -> int:
    return time_ns() // 1_000_000


def test_names_of_one_moment_begin_alike_and_are_never_the_same() -> None:
    names = [new_id(1_700_000_000_000) for _ in range(1_000)]
    assert len(set(names)) == 1_000
    assert {name.rpartition("-")[0] for name in names} == {f"{1_700_000_000_000:x}-{os.getpid():x}"}


def test_names_sort_by_time() -> None:
    names = [new_id(now() + number) for number in range(100)]
    assert names == sorted(names)


def test_threads_never_give_the_same_name() -> None:
    names: list[str] = []
    threads = [
        threading.Thread(target=lambda: names.extend(new_id(number // 7) for number in range(5_000))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 20_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gives_other_names_in_the_same_moment() -> None:
    at = now()
    new_id(at)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, new_id(at).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        theirs = answer.read()
    assert f"-{child:x}-" in theirs
    assert theirs != new_id(at)
