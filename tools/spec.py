"""Show which promise is kept by how many passing tests.

    python tools/spec.py            every promise
    python tools/spec.py --due      only those that must be kept now
    python tools/spec.py --json     the same for programs

Reads `spec/promises.toml` and the results that the last whole test run left in `.spec.json` (`make test`).
Exits 1 when a promise that is due has no passing test. A test that was skipped keeps nothing.
"""

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

ROOT = Path(__file__).resolve().parent.parent


class Promise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One promise, and whether it must be kept now."""

    text: str
    due: bool = False


class CitingTest(msgspec.Struct, frozen=True, kw_only=True):
    """How one test ended, and what it cites."""

    promises: tuple[str, ...]
    outcome: Literal["passed", "failed", "skipped"]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """What a whole test run left behind."""

    exit_status: int
    tests: dict[str, CitingTest]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One promise and the tests that cite it, counted by how they ended."""

    id: str
    text: str
    due: bool
    passed: int
    failed: int
    skipped: int

    @property
    def broken(self) -> bool:
        """Whether this promise is due and nothing shows that it is kept."""
        return self.due and not self.passed

    @property
    def state(self) -> str:
        """Say in a word or two where the promise stands."""
        if self.passed:
            return "kept"
        if self.failed:
            return "FAILING" if self.due else "failing"
        if self.skipped:
            return "ONLY SKIPPED" if self.due else "only skipped"
        return "NO TEST" if self.due else "-"


def load_promises(path: Path) -> dict[str, Promise]:
    """Read the list of promises."""
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), dict[str, Promise])


def tabulate(promises: Mapping[str, Promise], results: Results) -> list[Row]:
    """Count for each promise the tests that cite it."""
    counts = Counter((name, test.outcome) for test in results.tests.values() for name in test.promises)
    return [
        Row(
            id=name,
            text=promise.text,
            due=promise.due,
            passed=counts[name, "passed"],
            failed=counts[name, "failed"],
            skipped=counts[name, "skipped"],
        )
        for name, promise in promises.items()
    ]


def render(rows: Iterable[Row]) -> str:
    """Draw the table, one promise a line."""
    head = f"{'':5} {'due':3} {'passed':>6} {'failed':>6} {'skipped':>7}  {'':12} promise"
    lines = [
        f"{row.id:5} {'due' if row.due else '':3} {row.passed:6} {row.failed or '':>6} {row.skipped or '':>7}  "
        f"{row.state:12} {row.text}"
        for row in rows
    ]
    return "\n".join([head, *lines])


def summarize(rows: list[Row], results: Results) -> str:
    """Say in a few lines what is kept and what is not."""
    due = [row for row in rows if row.due]
    untested = [row.id for row in rows if not row.passed + row.failed + row.skipped]
    lines = [f"{sum(row.passed > 0 for row in due)} of {len(due)} due promises kept, {len(rows)} promises listed"]
    if untested:
        lines.append(f"without a test: {' '.join(untested)}")
    lines += [f"DUE, BUT {row.state}: {row.id} {row.text}" for row in due if row.broken]
    if results.exit_status:
        lines.append(f"the test run itself did not pass (pytest exit status {results.exit_status})")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--promises", type=Path, default=ROOT / "spec" / "promises.toml")
    parser.add_argument("--results", type=Path, default=ROOT / ".spec.json")
    parser.add_argument("--due", action="store_true", help="only promises that must be kept now")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    try:
        promises = load_promises(args.promises)
        results = msgspec.json.decode(args.results.read_bytes(), type=Results)
    except (OSError, ValueError) as problem:
        print(f"{problem}; run `make test` first", file=sys.stderr)
        return 1
    rows = [row for row in tabulate(promises, results) if row.due or not args.due]
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(rows), indent=2).decode())
    else:
        print(render(rows), summarize(rows, results), sep="\n\n")
    return 1 if any(row.broken for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
