"""What the tests of the SQLite store share."""

import subprocess
import sys
from pathlib import Path

from hookline.model.record import Record, Step

# what every program below begins with
PRELUDE = """
import gc, os, signal, sys, threading, time
from hookline.errors import StoreError
from hookline.model.record import Record, Step
from hookline.stores.sqlite import SqliteTraces

def line(trace, number=0):
    return Record(trace, Step.EVENT, 1.0 + number, "before_tool", "s", "lint", {"number": number})

store = SqliteTraces(sys.argv[1])
"""


def line(trace: str, number: int = 0) -> Record:
    return Record(trace, Step.EVENT, 1.0 + number, "before_tool", "s", "lint", {"number": number})


def run(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    # newer Pythons warn about every fork of a program with threads, which is what some tests are about
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + program, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
