"""Webhooks that send a body of their own: chat services, notification services, and any other endpoint."""

import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline
from tests.web_service import server


def notify(home: Path, message: str, **env: str) -> tuple[int, str]:
    done = hookline(home, "emit", "notification", "--data", json.dumps({"message": message}), **env)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.spec("U-07")
@pytest.mark.parametrize(
    ("key", "answer", "status"), [("text", b"ok", 200), ("content", b"", 204), ("message", b'{"id": 3}', 201)]
)
def test_chat_service_gets_one_json_string_whatever_the_value_holds(
    tmp_path: Path, key: str, answer: bytes, status: int
) -> None:
    home = tmp_path / "home"
    value = 'a "quoted", \\ \n {"admin": true} ${TOPIC} {{cwd}} ü'
    with server(answer, status) as (url, seen):
        configure(
            home,
            f'[[hook]]\nname = "chat"\non = "notification"\npost = "$CHAT_URL"\nbody = {{ {key} = "agent: {{{{message}}}}", deep = [{{ x = "{{{{event.name}}}}" }}, 3] }}\n',
        )
        assert notify(home, value, CHAT_URL=f"{url}/T0/secret", TOPIC="hidden") == (0, "")
    ((method, path, headers, body),) = seen
    assert (method, path, headers["content-type"]) == ("POST", "/T0/secret", "application/json")
    assert json.loads(body) == {key: f"agent: {value}", "deep": [{"x": "notification"}, 3]}


@pytest.mark.spec("U-07")
def test_plain_text_with_headers_and_another_method(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with server(b'{"id": "x", "event": "message"}') as (url, seen):
        configure(
            home,
            f'[[hook]]\nname = "ntfy"\non = "notification"\npost = "{url}/${{TOPIC}}"\nmethod = "PUT"\n'
            'headers = { Title = "Agent", Authorization = "Bearer $NTFY_AUTH", Price = "$$5" }\nbody = "{{message}} in {{project}}"\n',
        )
        assert notify(home, "waits", TOPIC="mine", NTFY_AUTH="t0k") == (0, "")
    ((method, path, headers, body),) = seen
    assert (method, path, body) == ("PUT", "/mine", b"waits in project")
    assert (headers["title"], headers["authorization"], headers["price"]) == ("Agent", "Bearer t0k", "$5")
    assert headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.spec("U-07")
def test_variable_that_is_not_set_is_a_failure_that_names_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[[hook]]\nname = "chat"\non = "notification"\npost = "$CHAT_URL"\nbody = { text = "x" }\n')

    assert notify(home, "x")[1] == 'hook "chat" failed: the variable CHAT_URL, which the hook names, is not set\n'
    told = notify(home, "x", CHAT_URL="hooks.example.com/secret")[1]
    assert "with the value of CHAT_URL, url must begin with http:// or https://" in told
    assert "secret" not in told


@pytest.mark.spec("U-07")
def test_hook_of_a_project_may_name_only_variables_that_it_lists(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    hook = '[[hook]]\nname = "chat"\non = "notification"\npost = "http://127.0.0.1:9/$TOKEN"\nbody = { text = "x" }\n'
    (tmp_path / "project" / "hookline.toml").write_text(hook)

    assert (
        'names the variable TOKEN and does not list it: write header_env = ["TOKEN"]' in hookline(home, "check").stdout
    )
    (tmp_path / "project" / "hookline.toml").write_text(hook + 'header_env = ["TOKEN"]\n')
    assert "does not list it" not in hookline(home, "check").stdout


@pytest.mark.spec("U-07")
def test_body_and_address_are_added_at_the_command_line(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    added = hookline(
        home, "add", "chat", "--on", "notification", "--post", "$CHAT_URL", "--body", '{"text": "{{message}}"}'
    )
    assert added.returncode == 0, added.stderr

    with server(b"ok") as (url, seen):
        assert notify(home, 'say "hi"', CHAT_URL=url) == (0, "")
    assert json.loads(seen[0][3]) == {"text": 'say "hi"'}


@pytest.mark.spec("U-07")
@pytest.mark.parametrize("body", ["'{\"a\": {{message}}}'", "3", "{ at = 2026-01-01 }"])
def test_body_that_cannot_be_sent_as_it_is_meant_is_refused(tmp_path: Path, body: str) -> None:
    home = tmp_path / "home"
    configure(home, f'[[hook]]\nname = "chat"\non = "notification"\npost = "http://127.0.0.1:9/"\nbody = {body}\n')

    done = hookline(home, "check")

    assert done.returncode == 1
    assert "body" in done.stdout


def test_pack_at_an_address_is_refused_with_the_whole_address(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")

    done = hookline(home, "add", "--from", "https://example.com/pack.toml")

    assert done.returncode == 1
    assert "https://example.com/pack.toml is an address: download it first" in done.stderr
