import json
import socket
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from hookline.stores.counters import Counter
from hookline.stores.trace_queries import TraceStats
from tests.daemon.living import Living
from tests.telemetry.collector import Collector, attributes
from tests.waiting import until

pytestmark = pytest.mark.slow

HOOKS = """
[settings.telemetry]
endpoint = "{url}"
headers = {{ Authorization = "$COLLECTOR_TOKEN" }}
timeout = {timeout}

[[hook]]
name = "guard"
on = "before_tool"
run = "python3 guard.py"
runs = ["git push"]

[[hook]]
name = "broken"
on = "before_tool"
run = "python3 broken.py"
on_error = "continue"
"""
SECRET = "A1b2C3d4" * 5
SCRIPTS = {
    "guard.py": f"""print('{{"decision": "deny", "reason": "no token=ghp_{SECRET} please"}}')""",
    "broken.py": "raise SystemExit(9)",
}


def configure(living: Living, url: str, timeout: int = 2) -> None:
    living.configure(HOOKS.format(url=url, timeout=timeout), SCRIPTS)


def say(living: Living, event: str, **more: object) -> tuple[bytes, tuple[str, ...]]:
    said = {"session_id": "s-1", "transcript_path": "", "cwd": str(living.project), "hook_event_name": event}
    return json.dumps(said | more).encode(), ("claude-code", event)


def run_session(living: Living, *, daemon: bool) -> None:
    ask = living.ask if daemon else living.directly
    for event, more in (
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "push it"}),
        ("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": f"git push ghp_{SECRET}"}}),
        ("SessionEnd", {"reason": "other"}),
    ):
        stdin, words = say(living, event, **more)
        answer = ask(stdin, words, COLLECTOR_TOKEN="Bearer t0ken")  # noqa: S106 - of this test
        assert answer.exit_code == 0, answer
        if event == "PreToolUse":
            assert b"deny" in answer.stdout


def dropped(living: Living) -> float:
    return TraceStats(living.data / "traces.db").totals()[Counter.DROPPED].get(("telemetry",), 0)


@pytest.mark.spec("U-15", "O-30")
@pytest.mark.parametrize("daemon", [False, True], ids=["one process each", "daemon"])
def test_a_session_reaches_the_collector_as_one_trace(living: Living, collector: Collector, *, daemon: bool) -> None:
    # as long as a busy machine needs: what does not arrive in time is dropped
    configure(living, collector.url, timeout=60)
    if daemon:
        living.start()

    run_session(living, daemon=daemon)
    if daemon:
        living.end()

    def is_complete() -> bool:
        return len(collector.spans) >= 8

    until(is_complete, "all spans have come")
    spans = collector.spans
    by_name = {span.name: span for span in spans}
    assert sorted(by_name) == [
        *("before_agent", "before_tool shell", "hook broken", "hook builtin:self-guard", "hook guard"),
        *("invoke_agent claude-code", "session_end", "session_start"),
    ]
    assert len(spans) == len(by_name)
    assert len({span.trace_id for span in spans}) == 1
    session, call = by_name["invoke_agent claude-code"], by_name["before_tool shell"]
    assert not session.parent_span_id
    for span in spans:
        parent = next((one for one in spans if one.span_id == span.parent_span_id), None)
        wanted = None if span is session else call if span.name.startswith("hook ") else session
        assert parent is wanted, span.name
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if parent is not None:
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    _check_attributes(by_name, living.project)
    assert {headers["authorization"] for headers in collector.headers} == {"Bearer t0ken"}
    assert SECRET not in str(collector.traces)
    until(
        lambda: {"hookline.calls", "hookline.hook.duration"} <= {one.name for one in collector.points}, "metrics came"
    )
    assert dropped(living) == 0


def _check_attributes(spans: dict[str, Span], project: Path) -> None:
    call = attributes(spans["before_tool shell"])
    assert call["gen_ai.conversation.id"] == "s-1"
    assert call["gen_ai.agent.name"] == "claude-code"
    assert call["gen_ai.tool.name"] == "shell"
    assert call["gen_ai.operation.name"] == "execute_tool"
    assert call["hookline.decision"] == "deny"
    assert call["hookline.project"] == str(project)
    assert "gen_ai.tool.call.arguments" not in call
    assert attributes(spans["hook guard"])["hookline.decision"] == "deny"
    assert attributes(spans["hook broken"])["error.type"]
    assert spans["hook broken"].status.code == Status.StatusCode.STATUS_CODE_ERROR
    assert spans["hook guard"].status.code == Status.StatusCode.STATUS_CODE_UNSET


@pytest.mark.spec("U-15")
@pytest.mark.parametrize("trouble", ["status 500", "hangs", "down"])
@pytest.mark.parametrize("daemon", [False, True], ids=["one process each", "daemon"])
def test_a_collector_in_trouble_changes_no_answer_and_what_it_misses_is_counted(
    living: Living, collector: Collector, trouble: str, *, daemon: bool
) -> None:
    collector.status = 500
    collector.hangs = trouble == "hangs"
    url = collector.url
    if trouble == "down":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}"
    configure(living, url)
    if daemon:
        living.start()

    # each answer comes although no request of a hanging collector was answered by then
    run_session(living, daemon=daemon)
    assert not collector.released.is_set()
    if daemon:
        living.end()

    until(lambda: dropped(living) > 0, "the loss is counted")
    assert not collector.spans


def test_without_the_table_no_variable_switches_the_export_on(living: Living, collector: Collector) -> None:
    living.configure("")
    stdin, words = say(living, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"})

    answer = living.directly(stdin, words, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_TRACES_EXPORTER="otlp")

    assert answer.exit_code == 0
    assert collector.requests == 0


def test_a_variable_fills_in_the_endpoint_of_the_table(living: Living, collector: Collector) -> None:
    living.configure("[settings.telemetry]\nmetrics = false\narguments = true\n")
    stdin, words = say(living, "PreToolUse", tool_name="Bash", tool_input={"command": f"ls ghp_{SECRET}"})

    living.directly(stdin, words, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_SERVICE_NAME="my-laptop")

    until(lambda: collector.spans, "the spans have come")
    (span,) = [span for span in collector.spans if span.name == "before_tool shell"]
    arguments = str(attributes(span)["gen_ai.tool.call.arguments"])
    assert arguments.startswith('{"command":"ls ')
    assert SECRET not in arguments
    assert "my-laptop" in str(collector.traces)
    assert not collector.metrics


def test_doctor_asks_the_collector(living: Living, collector: Collector) -> None:
    living.configure(f'[settings.telemetry]\nendpoint = "{collector.url}"\n')

    assert f"telemetry goes to {collector.url}/v1/traces" in living.hookline("doctor").stdout.decode()

    collector.status = 403
    assert "refuses telemetry with status 403" in living.hookline("doctor").stdout.decode()
