from pathlib import Path

import pytest

from hookline.model.settings import Telemetry
from hookline.telemetry.exporter import find_target
from tests.daemon.living import Living

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://collector.example/otlp"}


def test_the_table_counts_before_the_environment() -> None:
    wanted = Telemetry(endpoint="http://localhost:4318/", timeout=3.0, service_name="mine")

    target, problem = find_target(wanted, {**ENDPOINT, "OTEL_SERVICE_NAME": "theirs"})

    assert not problem
    assert target is not None
    assert (target.traces, target.metrics) == ("http://localhost:4318/v1/traces", "http://localhost:4318/v1/metrics")
    assert (target.timeout, target.service_name) == (3.0, "mine")


def test_variables_fill_what_the_table_leaves_open() -> None:
    environ = {**ENDPOINT, "OTEL_EXPORTER_OTLP_HEADERS": "Api-Key=a%20b,x=1", "OTEL_EXPORTER_OTLP_TIMEOUT": "4"}
    environ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"] = "http://localhost:9/metrics"

    target, _ = find_target(Telemetry(), environ)

    assert target is not None
    assert target.traces == "https://collector.example/otlp/v1/traces"
    assert target.metrics == "http://localhost:9/metrics"
    assert target.headers == (("api-key", "a b"), ("x", "1"))
    assert target.timeout == 4.0


@pytest.mark.parametrize(
    ("wanted", "environ", "problem"),
    [
        (Telemetry(headers={"a": "$TOKEN"}), ENDPOINT, "set telemetry.endpoint"),
        (Telemetry(endpoint="http://localhost", headers={"a": "$TOKEN"}), {}, "set the variable TOKEN"),
        (Telemetry(), {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"}, "wanted a URL such as"),
        (Telemetry(), {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, 'only "http/protobuf" is spoken'),
    ],
)
def test_what_cannot_be_exported_to_is_a_problem(wanted: Telemetry, environ: dict[str, str], problem: str) -> None:
    target, found = find_target(wanted, environ)

    assert target is None
    assert found.startswith("no telemetry is exported: ")
    assert problem in found


def test_nothing_is_exported_with_both_signals_off() -> None:
    assert find_target(Telemetry(traces=False, metrics=False), {}) == (None, "")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('endpoint = "localhost:4318"', "wanted a URL such as"),
        ('endpoint = "http://me:secret@localhost"', "a token belongs into `headers`"),
        ('headers = { "a b" = "x" }', "wanted the name of a header"),
        ('endpont = "http://localhost"', 'unknown key "endpont"'),
        ("timeout = 0", "wanted seconds above 0"),
    ],
)
def test_a_wrong_table_is_reported_with_its_line(living: Living, line: str, problem: str) -> None:
    living.configure(f"[settings.telemetry]\n{line}\n")

    said = living.hookline("check").stdout.decode()

    assert problem in said
    assert "no telemetry is exported" in said
    assert "hookline.toml:" in said


def test_a_table_in_a_project_is_reported_and_has_no_effect(living: Living) -> None:
    Path(living.project, "hookline.toml").write_text('[settings.telemetry]\nendpoint = "http://localhost"\n')

    assert "settings have no effect here" in living.hookline("check").stdout.decode()


def test_without_the_extra_hooks_run_and_the_problem_is_said(living: Living, tmp_path: Path) -> None:
    # stands before the installed package, and has nothing in it
    absent = tmp_path / "absent" / "opentelemetry"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("")
    living.configure('[settings.telemetry]\nendpoint = "http://localhost"\n')

    done = living.hookline("check", PYTHONPATH=str(absent.parent))

    assert "pip install 'hookline[otel]'" in done.stdout.decode()
    assert living.hookline("emit", "notification", PYTHONPATH=str(absent.parent)).returncode == 0


def test_without_telemetry_a_call_imports_none_of_it(living: Living) -> None:
    living.configure("")
    said = b'{"session_id": "s", "cwd": "/", "hook_event_name": "SessionStart", "source": "startup"}'

    done = living.hookline("hook", "claude-code", "SessionStart", stdin=said, PYTHONPROFILEIMPORTTIME="1")

    assert b"hookline.engine.engine" in done.stderr
    assert b"telemetry" not in done.stderr
    assert b"opentelemetry" not in done.stderr
