"""`hookline mcp`, as a person uses it: servers, logins with OAuth on loopback, and tools as hooks."""

import json
import re
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import configure, environment, hookline
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
PLAIN = HOOKS / "mcp_plain_server.py"

# as a person's browser does: follow the link, and the redirect back to this machine
BROWSER = f"""#!{sys.executable}
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout={PATIENCE}).read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    configure(home, "")
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    return home


@contextmanager
def oauth_server(lifetime: int = 3600) -> Iterator[str]:
    line = [sys.executable, str(HOOKS / "mcp_oauth_server.py"), str(lifetime)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def control(url: str, path: str, *, method: str = "POST") -> Any:
    request = urllib.request.Request(url.removesuffix("/mcp") + path, method=method)  # noqa: S310 - of loopback
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
        return json.load(answer)


GUARD = """
[mcp.guarded]
url = "{url}"

[[hook]]
name = "no-prod"
on = "before_tool"
tools = "shell"
mcp = "guarded/scan"
arguments = {{ command = "{{{{args.command}}}}" }}
on_error = "block"
timeout = 60
"""


def login(home: Path, *options: str) -> dict[str, Any]:
    done = hookline(home, "mcp", "login", "guarded", "--json", *options, BROWSER=str(home.parent / "browser"))
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def run_shell(home: Path, command: str) -> subprocess.CompletedProcess[str]:
    return hookline(
        home, "emit", "before_tool", "--tool", "shell", "--args", json.dumps({"command": command}), "--no-input"
    )


@pytest.mark.slow
@pytest.mark.spec("D-18", "U-20")
def test_login_once_then_hooks_use_the_token_and_refresh_it(home: Path) -> None:
    with oauth_server(lifetime=1) as url:
        configure(home, GUARD.format(url=url))

        before = run_shell(home, "deploy prod")
        logged_in = login(home)
        denied = run_shell(home, "deploy prod")
        passed = run_shell(home, "ls")
        counts = control(url, "/counts", method="GET")
        status = json.loads(hookline(home, "mcp", "status", "guarded", "--json").stdout)["servers"][0]

    assert before.returncode == 2
    assert 'the MCP server "guarded" wants a login: run `hookline mcp login guarded`' in before.stderr
    assert logged_in["stored"] == "file"
    assert (denied.returncode, "deploy prod is not for agents" in denied.stderr) == (2, True)
    assert passed.returncode == 0, passed.stderr
    # a token that is valid for a second is refreshed by each run
    assert counts["refreshed"] >= 2
    assert counts["reused"] == 0
    assert status["reachable"]
    assert status["valid_until"] > 0
    path = Path(status["stored"].removeprefix("in "))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.slow
@pytest.mark.spec("D-18", "U-20")
def test_revoked_token_is_a_clear_error_at_once_and_without_a_question(home: Path) -> None:
    with oauth_server() as url:
        configure(home, GUARD.format(url=url))
        login(home)
        control(url, "/revoke-all")

        started = time.monotonic()
        first = run_shell(home, "ls")
        seconds = time.monotonic() - started
    # the server is gone: what was found out is remembered
    second = run_shell(home, "ls")

    wanted = 'the MCP server "guarded" no longer accepts the login, which was revoked or has expired: run `hookline mcp login'
    assert (first.returncode, second.returncode) == (2, 2)
    assert wanted in first.stderr
    assert wanted in second.stderr
    # less than a second on an idle machine; here with the start of a process, under load
    assert seconds < 15


@pytest.mark.slow
@pytest.mark.spec("D-18", "U-20")
def test_access_token_that_the_server_forgot_is_refreshed(home: Path) -> None:
    with oauth_server() as url:
        configure(home, GUARD.format(url=url))
        login(home)
        control(url, "/expire")

        done = run_shell(home, "deploy prod")
        counts = control(url, "/counts", method="GET")

    assert "deploy prod is not for agents" in done.stderr
    assert counts == {"refreshed": 1, "reused": 0, "valid": 1}


@pytest.mark.slow
@pytest.mark.spec("D-18", "U-20")
def test_processes_that_refresh_at_once_do_not_log_each_other_out(home: Path) -> None:
    with oauth_server() as url:
        configure(home, GUARD.format(url=url))
        login(home)
        control(url, "/expire")

        # processes of their own: the token is found to be void by all of them
        line = [sys.executable, "-m", "hookline", "emit", "before_tool", "--tool", "shell", "--no-input"]
        line += ["--args", json.dumps({"command": "deploy prod"})]
        with ThreadPoolExecutor(4) as pool:
            work = [
                pool.submit(
                    subprocess.run,
                    line,
                    cwd=home.parent / "project",
                    env=environment(home),
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE,
                    check=False,
                )
                for _ in range(4)
            ]
            done = [one.result() for one in work]
        counts = control(url, "/counts", method="GET")

    assert [("deploy prod is not for agents" in one.stderr) for one in done] == [True] * 4, [one.stderr for one in done]
    assert counts == {"refreshed": 1, "reused": 0, "valid": 1}


@pytest.mark.slow
@pytest.mark.spec("D-18")
def test_link_can_be_opened_elsewhere_and_its_end_pasted(home: Path) -> None:
    with oauth_server() as url:
        configure(home, GUARD.format(url=url))
        line = [sys.executable, "-m", "hookline", "mcp", "login", "guarded", "--no-browser"]
        with subprocess.Popen(
            line,
            cwd=home.parent / "project",
            env=environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            link = next(text.strip() for text in process.stderr if text.startswith("http"))

            class Stay(urllib.request.HTTPRedirectHandler):
                def redirect_request(self, *_args: object) -> None:
                    """Stay on the other machine, where the redirect leads nowhere."""

            try:
                urllib.request.build_opener(Stay).open(link, timeout=PATIENCE)
                raise AssertionError
            except urllib.error.HTTPError as redirect:
                address = redirect.headers["location"]
            out, _ = process.communicate(f"{address}\n", timeout=PATIENCE)
        used = run_shell(home, "deploy prod")

    assert re.match(r"http://127\.0\.0\.1:\d+/callback\?code=", address)
    assert "logged in at guarded" in out
    assert "deploy prod is not for agents" in used.stderr


@pytest.mark.slow
@pytest.mark.spec("D-18")
def test_logout_revokes_the_tokens_and_deletes_them(home: Path) -> None:
    with oauth_server() as url:
        configure(home, GUARD.format(url=url))
        login(home)

        out = json.loads(hookline(home, "mcp", "logout", "guarded", "--json").stdout)
        counts = control(url, "/counts", method="GET")
        again = hookline(home, "mcp", "logout", "guarded")
        after = run_shell(home, "ls")

    assert out == {"server": "guarded", "revoked": True, "note": None}
    assert counts["valid"] == 0
    assert "you are not logged in at guarded" in again.stdout
    assert "wants a login" in after.stderr


@pytest.mark.slow
def test_login_that_the_user_does_not_finish_stores_nothing(home: Path) -> None:
    with oauth_server() as url:
        configure(home, GUARD.format(url=url))
        done = hookline(home, "mcp", "login", "guarded", "--no-browser", "--timeout", "3")

    assert done.returncode == 1
    assert "the login was not completed within 3 s; nothing was stored" in done.stderr
    assert not list((home / ".local" / "share" / "hookline" / "mcp").glob("*.json"))


@pytest.mark.slow
@pytest.mark.spec("D-18")
def test_secrets_are_in_the_keyring_where_there_is_one(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file_keyring.py").write_text(
        "import json, pathlib\nfrom keyring.backend import KeyringBackend\n"
        f"PATH = pathlib.Path({str(tmp_path / 'ring.json')!r})\n"
        "class Ring(KeyringBackend):\n"
        "    priority = 9\n"
        "    def _all(self): return json.loads(PATH.read_text()) if PATH.exists() else {}\n"
        "    def get_password(self, service, name): return self._all().get(f'{service}|{name}')\n"
        "    def set_password(self, service, name, value):\n"
        "        PATH.write_text(json.dumps({**self._all(), f'{service}|{name}': value}))\n"
        "    def delete_password(self, service, name):\n"
        "        ring = self._all(); del ring[f'{service}|{name}']; PATH.write_text(json.dumps(ring))\n"
    )
    ring = {"PYTHONPATH": str(tmp_path), "PYTHON_KEYRING_BACKEND": "file_keyring.Ring"}
    with oauth_server() as url:
        configure(home, GUARD.format(url=url))
        browser = str(home.parent / "browser")
        done = hookline(home, "mcp", "login", "guarded", "--json", BROWSER=browser, **ring)
        stored = json.loads((tmp_path / "ring.json").read_text())
        line = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "deploy prod"}')
        used = hookline(home, *line, **ring)
        without = hookline(home, *line)

    assert json.loads(done.stdout)["stored"] == "keyring"
    assert list(stored) == [f"hookline-mcp|{url}"]
    [record] = (home / ".local" / "share" / "hookline" / "mcp").glob("*.json")
    assert json.loads(stored[f"hookline-mcp|{url}"])["access_token"] not in record.read_text()
    assert "deploy prod is not for agents" in used.stderr
    assert "the keyring that holds the token" in without.stderr


def test_server_is_added_listed_tried_and_removed(home: Path) -> None:
    added = hookline(home, "mcp", "add", "--env", "A=1", "plain", "--", sys.executable, str(PLAIN))
    text = (home / ".config" / "hookline" / "hookline.toml").read_text()
    listed = json.loads(hookline(home, "mcp", "list", "--json").stdout)["servers"]
    tools = json.loads(hookline(home, "mcp", "test", "plain", "--json").stdout)["tools"]
    said = hookline(home, "mcp", "test", "plain/say", "--arguments", '{"text": "hello"}')
    failed = hookline(home, "mcp", "test", "plain/fail")
    removed = hookline(home, "mcp", "remove", "plain")
    undone = hookline(home, "undo")

    assert added.returncode == 0, added.stderr
    assert "[mcp.plain]\n" in text
    assert [(one["name"], one["env"], one["trust"]) for one in listed] == [("plain", ["A"], "trusted")]
    assert {"scan", "say"} <= {one["name"] for one in tools}
    assert said.stdout == "hello\n"
    assert failed.returncode == 1
    assert removed.returncode == 0
    assert undone.returncode == 0
    assert (home / ".config" / "hookline" / "hookline.toml").read_text() == text


def test_own_server_is_written_with_whole_paths(home: Path) -> None:
    (home.parent / "project" / "server.py").write_text(PLAIN.read_text())

    hookline(home, "mcp", "add", "mine", "--", "python3", "server.py", "--port")
    hookline(home, "mcp", "add", "--to", "project", "shared", "--", "python3", "server.py")
    servers = json.loads(hookline(home, "mcp", "list", "--json").stdout)["servers"]

    assert [one["args"] for one in servers] == [[str(home.parent / "project" / "server.py"), "--port"], ["server.py"]]


def test_hook_is_added_with_a_tool_and_its_arguments(home: Path) -> None:
    hookline(home, "mcp", "add", "plain", "--", sys.executable, str(PLAIN))
    line = ("add", "scan", "--on", "before_tool", "--mcp", "plain/scan", "--arguments", '{"path": "{{args.path}}"}')

    added = hookline(home, *line)
    missing = hookline(home, "add", "other", "--on", "before_tool", "--mcp", "gone/scan")
    used = hookline(home, "emit", "before_tool", "--tool", "read_file", "--args", '{"path": "/x/secret"}')

    assert added.returncode == 0, added.stderr
    assert 'there is no MCP server "gone"' in missing.stdout
    assert used.returncode == 2
    assert "/x/secret is secret" in used.stderr


@pytest.mark.spec("D-18")
def test_server_of_a_project_is_approved_with_its_hook_and_again_when_it_changes(home: Path) -> None:
    project = home.parent / "project"
    (project / "server.py").write_text(PLAIN.read_text())
    definition = {"mcpServers": {"plain": {"command": sys.executable, "args": ["server.py"]}}}
    (project / ".mcp.json").write_text(json.dumps(definition))
    (project / "hookline.toml").write_text(
        '[[hook]]\nname = "scan"\non = "before_tool"\nmcp = "plain/scan"\n'
        'arguments = { path = "{{args.path}}" }\non_error = "block"\ntimeout = 60\n'
    )
    event = ("emit", "before_tool", "--tool", "read_file", "--args", '{"path": "/x/secret"}', "--json", "--no-input")

    def decide() -> str:
        return str(json.loads(hookline(home, *event).stdout)["decision"])

    unapproved = decide()
    untested = hookline(home, "mcp", "test", "plain")
    shown = hookline(home, "trust", "show", "scan").stdout
    hookline(home, "trust", "approve", "scan", "--yes")
    approved = hookline(home, *event)
    (project / "server.py").write_text(PLAIN.read_text().replace("is secret", "is fine"))
    changed_script = hookline(home, "trust", "diff", "scan").stdout
    (project / "server.py").write_text(PLAIN.read_text())
    # another server beside it is none of its business
    definition["mcpServers"]["other"] = {"command": "x", "args": []}
    (project / ".mcp.json").write_text(json.dumps(definition, indent=2))
    restored = json.loads(hookline(home, *event).stdout)["reasons"]
    definition["mcpServers"]["plain"]["env"] = {"X": "1"}  # type: ignore[assignment]
    (project / ".mcp.json").write_text(json.dumps(definition))
    changed = json.loads(hookline(home, *event).stdout)

    assert unapproved == "pass"
    assert untested.returncode == 1
    assert "hookline trust approve mcp:plain" in untested.stderr
    assert "of the server that" in shown
    assert "server.py" in shown
    assert "/x/secret is secret" in json.loads(approved.stdout)["reasons"][0], approved.stderr
    assert "server.py" in changed_script
    assert "/x/secret is secret" in restored[0]
    assert changed["decision"] == "deny"
    assert "changed since it was approved" in changed["reasons"][0]


@pytest.mark.spec("D-18")
def test_own_hook_does_not_use_the_server_of_a_project_unasked(home: Path) -> None:
    configure(home, '[[hook]]\nname = "scan"\non = "before_tool"\nmcp = "plain/pid"\non_error = "block"\n')
    (home.parent / "project" / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"plain": {"command": sys.executable, "args": [str(PLAIN)]}}})
    )

    done = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}', "--no-input")

    assert done.returncode == 2
    assert 'uses the MCP server "plain" as ".mcp.json" defines it, which is not approved' in done.stderr


def test_server_of_an_agent_is_taken_over_into_the_own_file(home: Path) -> None:
    (home / ".claude.json").write_text(
        json.dumps({"mcpServers": {"plain": {"type": "stdio", "command": sys.executable, "args": [str(PLAIN)]}}})
    )

    before = hookline(home, "mcp", "test", "plain")
    added = hookline(home, "mcp", "add", "plain")
    after = hookline(home, "mcp", "test", "plain/say", "--arguments", '{"text": "hi"}')

    assert before.returncode == 1
    assert added.returncode == 0, added.stderr
    assert after.stdout == "hi\n"


@pytest.mark.spec("D-18")
def test_missing_extra_is_a_failure_that_says_what_to_install(home: Path, tmp_path: Path) -> None:
    configure(
        home,
        f'[mcp.plain]\ncommand = "{sys.executable}"\nargs = ["{PLAIN}"]\n'
        '[[hook]]\nname = "scan"\non = "before_tool"\nmcp = "plain/pid"\non_error = "block"\n',
    )
    (tmp_path / "mcp.py").write_text("raise ImportError\n")

    line = ("emit", "before_tool", "--tool", "shell", "--args", '{"command": "ls"}')
    done = hookline(home, *line, PYTHONPATH=str(tmp_path))

    assert done.returncode == 2
    assert "pip install 'hookline[mcp]'" in done.stderr


def test_agent_may_not_add_a_server_or_log_out(home: Path) -> None:
    for words in (("add", "x", "https://example.com/mcp"), ("remove", "x"), ("logout", "x")):
        done = hookline(home, "mcp", *words, CLAUDECODE="1")
        assert (done.returncode, "is refused" in done.stderr) == (1, True), words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("test", "gone"), 'there is no MCP server "gone"'),
        (("login", "plain"), "is a program on this machine, which needs no login"),
        (("add", "plain", "--", "x"), 'there is an MCP server "plain" already'),
        (("add", "new", "ftp://example.com"), '"ftp://example.com" is no address of an MCP server'),
        (("add", "new"), "say what the server is"),
        (("add", "new", "https://example.com/mcp", "--env", "A=1"), "--env and --cwd are for a program"),
        (("test", "plain/scan", "--arguments", "[1]"), "--arguments must be a JSON object"),
    ],
)
def test_mistake_is_told_with_what_to_do(home: Path, words: tuple[str, ...], message: str) -> None:
    configure(home, f'[mcp.plain]\ncommand = "{sys.executable}"\nargs = ["{PLAIN}"]\n')

    done = hookline(home, "mcp", *words)

    assert done.returncode == 1
    assert message in done.stderr
