"""Entries that call a URL are tried as the agent would call them: with what stands beside them in the settings."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookline.bridge.install_check import EntryCheck, check_agents
from hookline.hosts.host import HostEnvironment
from tests.daemon.living import Living, lived

pytestmark = pytest.mark.slow

EVENT = "PostToolUse"


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Living]:
    """Give a person whose agents may call a daemon of their own, which ends with the test."""
    with lived(tmp_path) as made:
        yield made


def tried(living: Living) -> dict[str, EntryCheck]:
    around = HostEnvironment(home=living.home, data=living.data, project=living.project, environ=living.env)
    return {one.event: one for standing in check_agents(around) for one in standing.tried if one.called}


def install(living: Living) -> Path:
    living.configure("")
    done = living.hookline("install", "claude-code", "--http", "--events", f"{EVENT},Notification")
    assert done.returncode == 0, done.stderr
    return living.home / ".claude" / "settings.json"


def test_a_url_at_which_the_daemon_answers_reaches_us(living: Living) -> None:
    install(living)
    living.start()

    assert {event: one.arrived for event, one in tried(living).items()} == {EVENT: True, "Notification": True}


def test_a_daemon_that_is_not_there_is_an_alarm(living: Living) -> None:
    install(living)

    why = tried(living)[EVENT].why
    assert "there is no answer at port" in why
    assert "hookline daemon status" in why
    doctor = living.hookline("doctor").stdout.decode()
    assert "do not reach us: there is no answer at port" in doctor
    assert "`hookline daemon start` starts it" in doctor


def test_a_token_that_somebody_changed_is_found_out(living: Living) -> None:
    settings = install(living)
    token = json.loads((living.data / "http.json").read_text())["token"]
    settings.write_text(settings.read_text().replace(token, "another"))
    living.start()

    one = tried(living)[EVENT]

    assert not one.arrived
    assert "says 401" in one.why


@contextmanager
def somebody_else(port: int) -> Iterator[None]:
    """Answer at a port as a program that has nothing to do with us."""
    listening = socket.create_server(("127.0.0.1", port))

    def answer() -> None:
        while True:
            try:
                line, _ = listening.accept()
            except OSError:
                return
            with line:
                line.recv(65536)
                line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def test_somebody_else_who_answers_in_our_place_does_not_count(living: Living) -> None:
    install(living)
    with somebody_else(json.loads((living.data / "http.json").read_text())["port"]):
        one = tried(living)[EVENT]

    assert not one.arrived
    assert "says 200" in one.why


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_a_url_in_a_project_is_not_called(living: Living, name: str) -> None:
    ours = install(living)
    folder = living.project / ".claude"
    folder.mkdir()
    ours.rename(folder / name)
    living.start()

    assert "not tried" in tried(living)[EVENT].why
