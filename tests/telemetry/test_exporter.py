from pathlib import Path

from hookline.model.record import Record, Step
from hookline.telemetry.exporter import CollectorTarget, TelemetryExporter
from tests.telemetry.collector import Collector, attributes
from tests.waiting import until


def target_of(collector: Collector) -> CollectorTarget:
    return CollectorTarget(
        traces=f"{collector.url}/v1/traces", metrics="", headers=(), service_name="test", timeout=1.0, arguments=False
    )


def outcome(number: int) -> Record:
    return Record(f"t{number}", Step.OUTCOME, 1_700_000_000.0 + number, "before_tool", "s", "", {"decision": "pass"})


def test_a_full_queue_drops_and_counts(tmp_path: Path, collector: Collector) -> None:
    collector.hangs = True
    exporter = TelemetryExporter(target_of(collector), tmp_path, bound=100, gather=0.01)
    exporter.put(outcome(0))
    until(lambda: collector.requests, "the first request hangs")

    for number in range(1, 151):
        exporter.put(outcome(number))
    warning = exporter.take_warning()

    assert warning is not None
    assert warning.step is Step.WARNING
    assert warning.detail["telemetry_dropped"] == 50
    assert exporter.take_warning() is None
    collector.released.set()
    exporter.close()


def test_closing_sends_the_queue_and_the_open_sessions(tmp_path: Path, collector: Collector) -> None:
    exporter = TelemetryExporter(target_of(collector), tmp_path, gather=0.01)
    exporter.put(outcome(0))
    until(lambda: collector.spans, "the first span has come")

    exporter.put(outcome(1))
    exporter.close()

    assert [span.name for span in collector.spans] == ["before_tool", "before_tool", "invoke_agent"]
    assert exporter.take_warning(is_last=True) is None


def test_span_of_a_hook_has_what_a_language_model_took(tmp_path: Path, collector: Collector) -> None:
    exporter = TelemetryExporter(target_of(collector), tmp_path, gather=0.01)
    usage = {"model": "small", "input": 120, "output": 8, "cost": 0.0004}
    detail = {"decision": "deny", "usage": usage, "duration": 0.1}
    exporter.put(Record("t0", Step.COMPLETED, 1_700_000_000.0, "before_tool", "s", "judge", detail))
    exporter.put(
        Record(
            "t0", Step.OUTCOME, 1_700_000_000.0, "before_tool", "s", "", {"decision": "deny", "decided_by": ["judge"]}
        )
    )
    until(lambda: len(collector.spans) == 2, "both spans have come")
    exporter.close()

    spans = {span.name: attributes(span) for span in collector.spans}
    hook, event = spans["hook judge"], spans["before_tool"]
    assert hook["gen_ai.request.model"] == "small"
    assert (hook["gen_ai.usage.input_tokens"], hook["gen_ai.usage.output_tokens"]) == (120, 8)
    assert hook["hookline.cost"] == 0.0004
    assert event["hookline.decided_by"] == ["judge"]
