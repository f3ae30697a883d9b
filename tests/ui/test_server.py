"""Who may use the page of `hookline ui`, and how the server ends."""

import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.cli.program import environment
from tests.ui.page import open_page
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_token_counts_once_and_gives_a_cookie_for_the_page_alone(home: Path) -> None:
    with open_page(home, enters=False) as page:
        assert page.client.head("/", params={"token": page.token}).status_code == 401
        first = page.client.get("/", params={"token": page.token})
        with httpx2.Client(base_url=page.base) as other:
            second = other.get("/", params={"token": page.token})
            refused = other.get("/api/status")

        cookie = first.headers["set-cookie"].lower()
        assert (first.status_code, first.headers["location"]) == (303, "/")
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "path=/" in cookie
        assert (second.status_code, "set-cookie" in second.headers) == (401, False)
        assert "hookline ui" in second.text
        assert (refused.status_code, list(refused.json())) == (401, ["error"])
        assert page.client.get("/").status_code == 200
        assert page.client.get("/api/status").status_code == 200
        assert page.client.get("/", params={"token": page.token}).status_code == 303


@pytest.mark.parametrize("cookie", ["", "wrong"])
def test_wrong_token_and_wrong_cookie_open_nothing(home: Path, cookie: str) -> None:
    with open_page(home, enters=False) as page:
        port = page.base.rpartition(":")[2]
        headers = {"Cookie": f"hookline_ui_{port}={cookie}"}

        assert page.client.get("/", params={"token": "wrong"}).status_code == 401
        assert page.client.get("/", headers=headers).status_code == 401
        assert page.client.get("/api/calls", headers=headers).status_code == 401
        assert page.client.get("/metrics", headers=headers).status_code == 401
        assert page.client.get("/static/index.html").status_code == 200


def test_foreign_names_and_pages_are_refused(home: Path) -> None:
    with open_page(home) as page:

        def get(**headers: str) -> int:
            return page.client.get(
                "/api/status", headers={k.replace("_", "-"): v for k, v in headers.items()}
            ).status_code

        assert get(Host="evil.example") == 403
        assert get(Host=f"evil.example:{page.base.rpartition(':')[2]}") == 403
        assert get(Origin="http://evil.example") == 403
        assert get(Origin="http://127.0.0.1:1") == 403
        assert get(Origin="null") == 403
        assert get(Sec_Fetch_Site="cross-site") == 403
        assert get(Sec_Fetch_Site="same-site") == 403
        assert get(Origin=page.base, Sec_Fetch_Site="same-origin") == 200


def test_what_changes_something_comes_from_the_page_as_json(home: Path) -> None:
    with open_page(home) as page:
        path, own = "/api/hooks/x/enable", {"Origin": page.base}

        assert page.client.post(path, json={}).status_code == 403
        assert page.client.post(path, json={}, headers={"Origin": "http://evil.example"}).status_code == 403
        assert page.client.post(path, content=b"{}", headers={**own, "Content-Type": "text/plain"}).status_code == 415
        assert (
            page.client.post(path, content=b"{", headers={**own, "Content-Type": "application/json"}).status_code == 400
        )
        assert page.client.post(path, json=[], headers=own).status_code == 400
        assert page.client.post(path, json={"project": 3}, headers=own).status_code == 400
        assert page.client.get(path).status_code == 405
        assert page.client.get("/api/nothing").status_code == 404


@pytest.mark.parametrize(
    "name",
    ["../server.py", "%2e%2e/server.py", "..%2fserver.py", "/etc/passwd", "%2fetc%2fpasswd", "..\\server.py", ""],
)
def test_no_file_beside_those_of_the_page_is_sent(home: Path, name: str) -> None:
    with open_page(home) as page:
        host, port = page.base.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as raw:
            # a client library would tidy the path
            raw.sendall(f"GET /static/{name} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
            answer = b"".join(iter(lambda: raw.recv(65_536), b""))

        assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 ")), answer
        assert b"UiServer" not in answer


@pytest.mark.parametrize("path", ["/", "/api/status", "/api/nothing", "/static/index.html", "/static/nothing"])
def test_every_answer_has_the_headers_that_protect_it(home: Path, path: str) -> None:
    with open_page(home) as page:
        for client_headers in ({}, {"Host": "evil.example"}):
            headers = page.client.get(path, headers=client_headers).headers

            assert headers["content-security-policy"] == CSP
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cross-origin-opener-policy"] == "same-origin"
            assert headers["cross-origin-resource-policy"] == "same-origin"


def test_metrics_are_for_the_token_in_a_file_of_the_user_alone(home: Path) -> None:
    with open_page(home, enters=False) as page:
        path = home / ".local" / "share" / "hookline" / "metrics.token"
        token = path.read_text().strip()

        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        metrics = page.client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert metrics.status_code == 200
        assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "# TYPE hookline_calls_total counter" in metrics.text
        assert page.client.get("/metrics", headers={"Authorization": "Bearer x"}).status_code == 401
        assert page.client.get("/api/status", headers={"Authorization": f"Bearer {token}"}).status_code == 401


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_server_ends_with_an_open_stream(home: Path, number: signal.Signals) -> None:
    with open_page(home) as page, page.client.stream("GET", "/api/stream") as stream:
        first = next(stream.iter_raw())
        page.process.send_signal(number)
        code = page.process.wait(PATIENCE)
        assert page.process.stderr is not None

        assert first.startswith(b"retry:")
        assert code == (0 if number is signal.SIGINT else 143)
        assert page.process.stderr.read() == ""


def test_port_that_is_taken_is_named(home: Path) -> None:
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "hookline", "ui", "--no-open", "--port", str(port)],
            env=environment(home),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    assert done.returncode == 1
    assert f"cannot listen at 127.0.0.1:{port}: " in done.stderr
    assert "--port" in done.stderr


def test_page_that_an_agent_started_only_shows(home: Path) -> None:
    with open_page(home, CLAUDECODE="1") as page:
        status = page.get("/api/status")
        answers = {
            name: page.post(f"/api/hooks/builtin:read-only/{name}", project=str(home.parent / "project"))
            for name in ("approve", "revoke", "disable", "test")
        }

        assert page.read_only is True
        assert status["read_only"] is True
        assert "Claude Code" in str(status["read_only_reason"])
        assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 403)
        assert all("Claude Code" in answer.json()["error"] for answer in answers.values())
