import asyncio
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hookline import Engine, Verdict
from hookline.model.record import Record, Step
from hookline.stores import counters
from hookline.stores.sqlite import SqliteTraces
from hookline.stores.trace_queries import TraceQueries
from hookline.telemetry.prometheus import METRICS, render_metrics
from tests.ui.page import open_page
from tests.waiting import until

ROOT = Path(__file__).resolve().parent.parent.parent


def read(data: Path) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(render_metrics(data))
    return {(one.name, tuple(one.labels.items())): one.value for family in families for one in family.samples}


def outcome(number: int, decision: str = "pass", *, hook: str = "lint") -> list[Record]:
    about = ("claude-code", "/work", "shell", "ls")
    at = 1_700_000_000.0 + number
    return [
        Record(
            f"t{number}",
            Step.COMPLETED,
            at,
            "before_tool",
            "s",
            hook,
            {"decision": decision, "duration": 0.003},
            *about,
        ),
        Record(
            f"t{number}", Step.OUTCOME, at, "before_tool", "s", "", {"decision": decision, "duration": 0.004}, *about
        ),
    ]


def fill(data: Path, records: list[Record]) -> None:
    store = SqliteTraces(data / "traces.db")
    for record in records:
        store.write(record)
    store.close()


def test_nothing_recorded_yet_is_valid(tmp_path: Path) -> None:
    found = read(tmp_path)

    assert found["hookline_trace_records", ()] == 0
    assert not [name for name, _ in found if name.startswith("hookline_hook")]


@pytest.mark.spec("O-30", "U-15")
def test_what_an_engine_did_is_counted(tmp_path: Path) -> None:
    store = SqliteTraces(tmp_path / "traces.db")

    async def run() -> None:
        async with Engine(store=store) as engine:
            engine.on("before_tool", id="guard")(lambda _: Verdict.deny("no"))
            engine.on("before_tool", id="watcher", observe=True)(lambda _: Verdict.deny("no"))

            @engine.on("before_tool", id="broken", on_error="continue")
            def fail(_: object) -> None:
                raise RuntimeError("no")

            for _ in range(3):
                await engine.emit("before_tool", tool="shell", args={"command": "ls"})

    asyncio.run(run())
    found = read(tmp_path)

    assert found["hookline_calls_total", (("agent", ""), ("event", "before_tool"), ("decision", "deny"))] == 3
    assert found["hookline_hook_denials_total", (("hook", "guard"), ("mode", "enforced"))] == 3
    assert found["hookline_hook_denials_total", (("hook", "watcher"), ("mode", "observed"))] == 3
    assert found["hookline_hook_runs_total", (("hook", "broken"),)] == 3
    assert sum(value for (name, _), value in found.items() if name == "hookline_hook_failures_total") == 3
    assert found["hookline_hook_duration_seconds_count", (("hook", "guard"),)] == 3
    assert found["hookline_hook_duration_seconds_sum", (("hook", "guard"),)] > 0
    buckets = [
        value for (name, labels), value in found.items() if name.endswith("_bucket") and ("hook", "guard") in labels
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 3


def test_counters_stay_when_records_are_removed(tmp_path: Path) -> None:
    fill(tmp_path, [record for number in range(50) for record in outcome(number, "deny")])
    before = read(tmp_path)

    TraceQueries(tmp_path / "traces.db").prune(keep=10)
    after = read(tmp_path)

    gauges = {metric.name for metric in METRICS if metric.type == "gauge"}
    assert after["hookline_trace_records", ()] == 10
    assert {key: value for key, value in after.items() if key[0] not in gauges} == {
        key: value for key, value in before.items() if key[0] not in gauges
    }


def test_hostile_names_of_hooks_are_escaped_and_masked(tmp_path: Path) -> None:
    secret = "ghp_" + "A1b2C3d4" * 5
    hook = 'a"b\\c\nd\x1b[31m' + f" {secret}"
    fill(tmp_path, outcome(1, hook=hook))

    text = render_metrics(tmp_path)

    assert "\x1b" not in text
    assert secret not in text
    (shown,) = [labels[0][1] for name, labels in read(tmp_path) if name == "hookline_hook_runs_total"]
    assert shown.startswith('a"b\\c\\nd\\x1b[31m')


def test_the_number_of_series_is_bounded(tmp_path: Path) -> None:
    records = [outcome(number, hook=f"hook-{number}")[0] for number in range(counters.MOST_SERIES // 2)]
    fill(tmp_path, records)

    found = read(tmp_path)
    runs = {labels[0][1]: value for (name, labels), value in found.items() if name == "hookline_hook_runs_total"}

    assert len(runs) < counters.MOST_SERIES // 2
    assert runs[counters.OTHER] > 1
    assert sum(runs.values()) == len(records)


def test_dashboard_uses_only_metrics_that_exist() -> None:
    dashboard = json.loads((ROOT / "docs" / "grafana.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    known = {metric.name for metric in METRICS if metric.type != "histogram"}
    for metric in METRICS:
        if metric.type == "histogram":
            known |= {f"{metric.name}{end}" for end in ("_bucket", "_sum", "_count")}
    words = {word for query in queries for word in _metric_names(query)}

    assert words
    assert words <= known
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


def _metric_names(query: str) -> set[str]:
    return set(re.findall(r"\bhookline_[a-z_]+", query))


def test_document_has_a_row_for_every_metric() -> None:
    page = (ROOT / "docs" / "telemetry.md").read_text()

    assert [metric.name for metric in METRICS if f"`{metric.name}`" not in page] == []


def require(program: str) -> str:
    """Return where a program of the Debian package is."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"PROMETHEUS NOT TESTED: {program} is not installed; `make test-programs` installs it on Debian")
    return found


@pytest.mark.slow
def test_promtool_finds_nothing_wrong(tmp_path: Path) -> None:
    fill(tmp_path, outcome(1, "deny", hook='odd "name"'))

    done = subprocess.run(
        [require("promtool"), "check", "metrics"],
        input=render_metrics(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.spec("U-15", "O-30")
def test_a_real_prometheus_scrapes_and_answers(tmp_path: Path) -> None:
    program = require("prometheus")
    home = tmp_path / "home"
    data = home / ".local" / "share" / "hookline"
    data.mkdir(parents=True)
    fill(data, [*outcome(1), *outcome(2, "deny")])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open_page(home, enters=False) as page:
        (tmp_path / "prometheus.yml").write_text(
            "scrape_configs:\n- job_name: hookline\n  scrape_interval: 1s\n"
            f"  authorization: {{credentials_file: {data / 'metrics.token'}}}\n"
            f"  static_configs: [{{targets: ['{page.base.removeprefix('http://')}']}}]\n"
        )
        process = subprocess.Popen(
            [
                program,
                f"--config.file={tmp_path / 'prometheus.yml'}",
                f"--storage.tsdb.path={tmp_path / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            decisions = until(lambda: query(port, "sum by (decision) (hookline_calls_total)"), "it has scraped")
            quantile = query(port, "histogram_quantile(0.5, sum by (le) (hookline_hook_duration_seconds_bucket))")
        finally:
            process.terminate()
            process.wait(60)

    assert {one["metric"]["decision"]: one["value"][1] for one in decisions} == {"deny": "1", "pass": "1"}
    assert 0.0025 <= float(quantile[0]["value"][1]) <= 0.005


def query(port: int, text: str) -> list[dict[str, Any]]:
    """Ask Prometheus; an empty list while it has no answer."""
    time.sleep(0.1)
    url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(text)}"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found
    except OSError:
        return []
