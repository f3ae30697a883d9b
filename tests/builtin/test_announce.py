"""Telling the user: nobody waits for it, a service that is down is tried again, a machine without a desktop is no failure."""

import json
from pathlib import Path

import pytest

from tests.builtin.machine import Machine
from tests.waiting import until
from tests.web_service import server

pytestmark = pytest.mark.spec("C-19")


def test_service_that_is_down_is_tried_again_and_no_other_is_told_twice(machine: Machine) -> None:
    machine.install_programs("notify-send")
    with server(status=500) as (down, refused), server() as (up, taken):
        options = f'[builtin.notification]\nslack = "{down}/slack"\nntfy = "{up}/topic"\n'
        machine.switch_on("notification", options=options)
        machine.call("claude-code", "Notification")
        machine.run("queue", "work", "--once")
        jobs = json.loads(machine.run("queue", "list", "--json").stdout)["jobs"]

    assert [job["hook"] for job in jobs] == ["builtin:notification:slack"]
    assert "500" in json.dumps(jobs)
    assert (len(refused), len(taken)) == (1, 1)
    assert len(machine.shown.read_text().splitlines()) == 1


def test_machine_without_a_desktop_is_no_failure_and_no_message(machine: Machine) -> None:
    (machine.bin / "notify-send").write_text("#!/bin/sh\necho cannot open display >&2; exit 1\n")
    (machine.bin / "notify-send").chmod(0o755)
    machine.switch_on("completion")
    machine.call("claude-code", "Stop")
    machine.work()

    queue = json.loads(machine.run("queue", "list", "--json").stdout)
    assert queue == {"jobs": [], "letters": []}
    assert "cannot open display" in machine.run("trace", "export").stdout


def test_first_program_that_works_is_used(machine: Machine) -> None:
    machine.install_programs("espeak-ng", "espeak")
    (machine.bin / "spd-say").write_text("#!/bin/sh\nexit 1\n")
    (machine.bin / "spd-say").chmod(0o755)
    machine.switch_on("completion", options="[builtin.completion]\ndesktop = false\nspeech = true\n")
    machine.call("claude-code", "Stop")
    machine.work()

    assert machine.shown.read_text() == "espeak-ng -- claude-code is done in project\n"


def test_message_is_text_and_nothing_else(machine: Machine, tmp_path: Path) -> None:
    machine.install_programs("notify-send")
    machine.switch_on("notification")
    machine.call("claude-code", "Notification", message=f"$(touch {tmp_path}/x) `touch {tmp_path}/x` <b>--</b>\x1b[31m")
    machine.work()

    shown = machine.shown.read_text()
    assert f"$(touch {tmp_path}/x)" in shown
    assert "&lt;b&gt;" in shown
    assert "\x1b" not in shown
    assert not (tmp_path / "x").exists()


def test_worker_is_started_by_itself(machine: Machine) -> None:
    machine.install_programs("notify-send")
    machine.switch_on("completion")
    payload = {"session_id": "s", "cwd": str(machine.project), "hook_event_name": "Stop", "transcript_path": ""}

    machine.run("hook", "claude-code", "Stop", stdin=json.dumps(payload), HOOKLINE_WORKER="on")

    until(machine.shown.exists, "the notification was shown")


def test_web_service_gets_a_body_and_headers_of_the_user(machine: Machine) -> None:
    with server() as (url, seen):
        options = f"""
[builtin.completion]
desktop = false
webhook = "{url}/any"
headers = {{ Authorization = "Bearer $NUMBER" }}
body = {{ title = "{{{{agent}}}}", note = "session {{{{session.id}}}}" }}
"""
        machine.switch_on("completion", options=options)
        machine.call("claude-code", "Stop")
        machine.work(NUMBER="t0ken")

    ((_, path, headers, body),) = seen
    assert (path, headers["authorization"]) == ("/any", "Bearer t0ken")
    assert json.loads(body) == {"title": "claude-code", "note": "session 00000000-0000-4000-8000-000000000001"}
