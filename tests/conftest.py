"""Settings of all tests, and the bookkeeping behind `make spec`.

A test cites the promises it keeps with `@pytest.mark.spec("P-07", …)`. Citations travel with the test's
reports, so that they also reach the process that collects the results of several workers. With
`--spec-results FILE`, that process writes who cited what, and how it ended.
"""

import json
import os
import signal
import tomllib
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import settings

CITES = "spec"

# as every user of pytest has it; also where the package was installed before it had the plugin
pytest_plugins = ["hookline.testing.pytest_plugin"]

# what a job in the background of a shell, or under `nohup`, ignores otherwise
USUAL: dict[signal.Signals, Callable[[int, FrameType | None], object] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGQUIT: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGTERM: signal.SIG_DFL,
}

# Seconds, ten times what the slowest test takes. Whoever waits once more while it is being ended is told again.
LONGEST = 240
AGAIN = 10

# A shared machine is slow now and then; a test that hangs is stopped by its own bounds.
settings.register_profile("all", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=25)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--spec-results", metavar="FILE", help="write which promise was kept by which test")


def pytest_xdist_auto_num_workers() -> int:
    """Give each two processors three workers: tests often wait for what they started."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return there + there // 2


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "all")
    # a shell starts what runs in its background deaf to these, and so would be every program under test
    for number, usual in USUAL.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    # nobody is asked in CI: a test must not put its questions to whoever started it from a terminal
    os.environ["CI"] = "true"
    # nor is the daemon of whoever runs the tests; a test that wants one says so, and where
    os.environ["HOOKLINE_DAEMON"] = "off"
    config.pluginmanager.register(Citations(_promises(config)), "hookline-citations")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(config), "hookline-failures")
    target = config.getoption("--spec-results")
    if target and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Results(config.rootpath / str(target)), "hookline-spec-results")


def _promises(config: pytest.Config) -> frozenset[str]:
    return frozenset(tomllib.loads((config.rootpath / "spec" / "promises.toml").read_text("utf-8")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have a test that hangs fail where it hangs, instead of holding up all others."""

    def give_up(*_: object) -> None:
        pytest.fail(f"{item.nodeid} takes longer than {LONGEST} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, LONGEST, AGAIN)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Failures:
    """Names a test as soon as it has failed: a run that is cut short would never come to its summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f" {report.nodeid} failed")


class Citations:
    """Attaches to each test the promises it cites, and refuses files that cite what nobody promised."""

    def __init__(self, promises: frozenset[str]) -> None:
        self._promises = promises

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        problems = [self._cite(node) for node in report.result if isinstance(node, pytest.Item)]
        text = "\n".join(filter(None, problems))
        if text:
            report.outcome = "failed"
            report.longrepr = f"{collector.nodeid}: {text}"
            report.result = []
        return report

    def _cite(self, item: pytest.Item) -> str:
        """Attach what the test cites; return what is wrong with it, if anything."""
        marks = list(item.iter_markers("spec"))
        if any(not mark.args or mark.kwargs for mark in marks):
            return f'{item.name}: write @pytest.mark.spec("P-07"), with one or more ids'
        cited = sorted({str(name) for mark in marks for name in mark.args})
        unknown = [name for name in cited if name not in self._promises]
        if unknown:
            return f"{item.name} cites {', '.join(unknown)}, not in spec/promises.toml"
        item.user_properties.extend((CITES, name) for name in cited)
        return ""


class Results:
    """Keeps how every citing test ended, and writes it down when the run is over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cites: dict[str, list[str]] = {}
        self._outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cites = [str(value) for name, value in report.user_properties if name == CITES]
        if not cites:
            return
        self._cites[report.nodeid] = cites
        # Three phases report; the worst one is the outcome, and a set-up that passed says nothing yet.
        before = self._outcomes.get(report.nodeid)
        if report.outcome != "passed":
            self._outcomes[report.nodeid] = "failed" if "failed" in (before, report.outcome) else report.outcome
        elif report.when == "call" and before is None:
            self._outcomes[report.nodeid] = "passed"

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        tests = {
            nodeid: {"promises": self._cites[nodeid], "outcome": outcome} for nodeid, outcome in self._outcomes.items()
        }
        document = {"exit_status": int(exitstatus), "tests": dict(sorted(tests.items()))}
        self._path.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
