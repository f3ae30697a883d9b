"""Stored logins: whose file it is, and one process at a time."""

import stat
import threading
from pathlib import Path

import pytest

from hookline.errors import McpError
from hookline.mcp.logins import Login, LoginSecrets, Storage, TokenStore

# ruff: noqa: S106 - made up
URL = "https://example.com/mcp"


def make_login(url: str = URL) -> Login:
    return Login(url=url, name="x", token_endpoint="https://example.com/token", client_id="c")


@pytest.mark.spec("D-18")
def test_login_is_stored_where_only_the_user_reads_it(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "data")

    login = store.save(make_login(), LoginSecrets(access_token="a", refresh_token="r"))
    found = TokenStore(tmp_path / "data").load(URL)

    assert found == login
    assert store.read_secrets(login) == LoginSecrets(access_token="a", refresh_token="r")
    assert stat.S_IMODE(store.path(URL).stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path(URL).parent.stat().st_mode) == 0o700
    assert [path.name for path in store.path(URL).parent.iterdir()] == [store.path(URL).name]


def test_login_belongs_to_the_url_and_not_to_the_name(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    store.save(make_login(), LoginSecrets(access_token="a"))

    assert store.load("https://evil.example/mcp") is None


def test_keyring_that_is_not_there_falls_back_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    login = Login(url=URL, name="x", token_endpoint="t", client_id="c", storage=Storage.KEYRING)

    stored = TokenStore(tmp_path).save(login, LoginSecrets(access_token="a"))

    assert stored.storage is Storage.FILE


def test_forgotten_login_is_gone(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    login = store.save(make_login(), LoginSecrets(access_token="a"))

    store.forget(login)

    assert store.load(URL) is None


def test_broken_file_says_what_to_do(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    store.save(make_login(), LoginSecrets())
    store.path(URL).write_text("{")

    with pytest.raises(McpError, match="remove it, and log in again"):
        store.load(URL)


@pytest.mark.spec("D-18")
def test_lock_is_held_by_one_at_a_time_and_waited_for_in_vain(tmp_path: Path) -> None:
    store = TokenStore(tmp_path)
    problems: list[McpError] = []

    def try_it() -> None:
        try:
            with TokenStore(tmp_path).lock(URL, patience=0.1):
                pass
        except McpError as problem:
            problems.append(problem)

    with store.lock(URL):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    try_it()

    assert len(problems) == 1
    assert "another process refreshes this token" in str(problems[0])
