"""Run the benchmarks, one process each, print the goals, and write the page and the plot.

    python -m tests.bench.run                       # everything, into docs/
    python -m tests.bench.run emit command          # some
    python -m tests.bench.run --from result.json    # the page and the plot once more, out of an older result

The page is written by a run of everything with enough rounds only, or where `--page` says.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from tests.bench import harness, machine, peers
from tests.bench.page import BESIDES, DRAWN, FOR_GOALS, PLOT, Result, goals_text, page, summary
from tests.bench.plot import draw
from tests.bench.rows import GOALS, Row, Section
from tests.bench.stage import WRONG

ROOT: Final = Path(__file__).resolve().parent.parent.parent
ALL: Final = (*FOR_GOALS, *BESIDES)
NEED_PEERS: Final = frozenset({"command", "emit", "runners"})
FAILED: Final = "failed"


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the words of the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones; all without a name: {', '.join(ALL)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="write the page and the plot into this folder")
    parser.add_argument("--from", dest="source", type=Path, metavar="FILE", help="measure nothing: read this result")
    parser.add_argument("--no-install", action="store_true", help="leave out what is not installed yet")
    parser.add_argument("--strict", action="store_true", help="end with an error when a goal is missed")
    wanted = parser.parse_args(words)
    unknown = [name for name in wanted.names if name not in ALL]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(ALL)}")
    return wanted


def run_one(name: str) -> tuple[Section, ...]:
    """Run one benchmark in a process of its own, so that none inherits the memory of another."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "rows.json"
        words = [sys.executable, "-m", f"tests.bench.bench_{name}", "--json", str(found)]
        done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
        if done.returncode == 0 and found.is_file():
            return msgspec.json.decode(found.read_bytes(), type=tuple[Section, ...])
    rows = tuple(Row(what=goal.what, goal=goal.id, missing=FAILED) for goal in GOALS if goal.bench == name)
    return (Section(title=name, about=f"This benchmark failed with {done.returncode}.", rows=rows),)


def run(names: Iterable[str], *, is_installing: bool) -> Result:
    """Run these benchmarks."""
    chosen, rounds = list(names), harness.rounds()
    about = machine.describe()
    problems = peers.install() if is_installing and NEED_PEERS & set(chosen) else []
    benches = {}
    for name in chosen:
        _say(f"\n== {name}\n")
        benches[name] = run_one(name)
    return Result(
        machine=about,
        rounds=rounds,
        versions={
            "pluggy": version("pluggy"),
            "blinker": version("blinker"),
            **peers.pins(),
            "Gemini CLI": peers.GEMINI[1],
        },
        benches=benches,
        problems=tuple(problems),
    )


def write(result: Result, folder: Path) -> None:
    """Write the page and the plot."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.md").write_text(page(result), "utf-8")
    (folder / PLOT).write_text(draw(result.sections(DRAWN)), "utf-8")


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words say; end with 1 when a benchmark failed."""
    wanted = parsed(words)
    names = wanted.names or list(ALL)
    if wanted.source:
        result = msgspec.json.decode(wanted.source.read_bytes(), type=Result)
        names = list(result.benches)
    else:
        result = run(names, is_installing=not wanted.no_install)
    if wanted.json:
        wanted.json.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1))
    _say(goals_text(result, names))
    is_whole = set(names) == set(ALL) and result.rounds >= harness.ENOUGH
    if wanted.page or is_whole:
        write(result, wanted.page or ROOT / "docs")
    else:
        _say("\nNo page is written: that takes all benchmarks and enough rounds, or --page FOLDER\n")
    verdicts = summary(result)
    missed = [goal.id for goal in GOALS if goal.bench in names and verdicts[goal.id] != "met"]
    failed = [name for name, found in result.benches.items() for section in found if _has_failed(section)]
    return 1 if failed or (wanted.strict and missed) else 0


def _has_failed(section: Section) -> bool:
    return section.about.startswith("This benchmark failed") or any(row.missing == WRONG for row in section.rows)


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
