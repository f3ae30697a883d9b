"""Logins at MCP servers: one file each in the data folder, and the secrets in the keyring of the system where it works.

A login belongs to a URL, not to a name: a project that gives its own server the name of another gets no token of that one.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hookline.errors import McpError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

_FOLDER: Final = "mcp"
_SERVICE: Final = "hookline-mcp"
_PROBE: Final = "hookline-mcp-probe"
_POLL: Final = 0.02
_PATIENCE: Final = 20.0


class Storage(StrEnum):
    """Where the secrets of a login are stored."""

    KEYRING = "keyring"
    FILE = "file"


class LoginSecrets(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is secret about a login."""

    access_token: str = ""
    refresh_token: str = ""
    client_secret: str = ""


class Login(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A login at a server. `expires_at` is 0 if the server did not say; `problem` says why it no longer counts.

    `secrets` are in the file only where there is no keyring.
    """

    url: str
    name: str
    token_endpoint: str
    client_id: str
    storage: Storage = Storage.FILE
    auth_method: str = ""
    revocation_endpoint: str = ""
    issuer: str = ""
    resource: str = ""
    scope: str = ""
    expires_at: float = 0.0
    at: float = 0.0
    problem: str = ""
    secrets: LoginSecrets | None = None


def login_needed(name: str, why: str) -> McpError:
    """Return the error for a server that wants a login."""
    return McpError(f'the MCP server "{name}" {why}: run `hookline mcp login {name}`', kind="unavailable")


class TokenStore:
    """The logins of a user."""

    def __init__(self, data: Path) -> None:
        """Take the data folder of the user."""
        self._folder = data / _FOLDER

    def load(self, url: str) -> Login | None:
        """Return the login at a server; None if there is none.

        Raises:
            McpError: It cannot be read.
        """
        try:
            return msgspec.json.decode(self.path(url).read_bytes(), type=Login)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as problem:
            text = f"{self.path(url)} cannot be read ({problem}); remove it, and log in again with `hookline mcp login`"
            raise McpError(text, kind="unavailable") from None

    def read_secrets(self, login: Login) -> LoginSecrets:
        """Return the secrets of a login, without a question to the user.

        Raises:
            McpError: The keyring is locked, or no longer has them.
        """
        if login.secrets is not None:
            return login.secrets
        backend = _find_keyring()
        if backend is None or _is_locked(backend):
            text = f'the keyring that holds the token of the MCP server "{login.name}" is locked or not there'
            what_now = f"unlock it, or run `hookline mcp login {login.name} --store file`"
            raise McpError(f"{text}: {what_now}", kind="unavailable")
        try:
            stored = backend.get_password(_SERVICE, login.url)
            return msgspec.json.decode(stored or "", type=LoginSecrets)
        except Exception:  # noqa: BLE001 - each backend raises errors of its own
            raise login_needed(login.name, "has no token in the keyring any more") from None

    def save(self, login: Login, secrets: LoginSecrets) -> Login:
        """Store a login; where the keyring fails, in a file that only the user can read."""
        login = replace(login, secrets=None)
        if login.storage is Storage.KEYRING:
            try:
                _require_keyring().set_password(_SERVICE, login.url, msgspec.json.encode(secrets).decode())
            except Exception:  # noqa: BLE001 - as above
                login = replace(login, storage=Storage.FILE)
        if login.storage is Storage.FILE:
            login = replace(login, secrets=secrets)
        self._write(login)
        return login

    def void(self, login: Login, problem: str) -> None:
        """Note that a login no longer counts, so that no request is made with it."""
        self._write(replace(login, problem=problem))

    def forget(self, login: Login) -> None:
        """Delete a login and its secrets."""
        if login.storage is Storage.KEYRING:
            with suppress(Exception):
                _require_keyring().delete_password(_SERVICE, login.url)
        self.path(login.url).unlink(missing_ok=True)

    def path(self, url: str) -> Path:
        """Return the file of the login at a server."""
        return self._folder / f"{hashlib.sha256(url.encode()).hexdigest()[:32]}.json"

    @contextmanager
    def lock(self, url: str, patience: float = _PATIENCE) -> Iterator[None]:
        """Keep other processes from changing a login: two that refresh a token at once would void each other's.

        Raises:
            McpError: Another process holds the lock for too long.
        """
        self._make_folder()
        handle = os.open(self.path(url).with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _wait_for_lock(handle, time.monotonic() + patience)
            yield
        finally:
            os.close(handle)

    def _write(self, login: Login) -> None:
        self._make_folder()
        # a reader sees the old file or the new one; the file is made with the mode 0600
        with NamedTemporaryFile(dir=self._folder, prefix=".", delete=False) as file:
            file.write(msgspec.json.encode(login))
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(self.path(login.url))

    def _make_folder(self) -> None:
        # one by one: with `parents` the mode would not apply to the data folder
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.mkdir(mode=0o700, exist_ok=True)


def choose_storage() -> Storage:
    """Return where secrets can be stored: the keyring is tried with a value."""
    backend = _find_keyring()
    try:
        if backend is None:
            return Storage.FILE
        backend.set_password(_PROBE, _PROBE, _PROBE)
        works = backend.get_password(_PROBE, _PROBE) == _PROBE
        backend.delete_password(_PROBE, _PROBE)
    except Exception:  # noqa: BLE001 - each backend raises errors of its own
        return Storage.FILE
    return Storage.KEYRING if works else Storage.FILE


def _find_keyring() -> "KeyringBackend | None":
    try:
        import keyring  # noqa: PLC0415 - takes 0.1 s, and is only installed with the extra
        from keyring.backends import chainer, fail, null  # noqa: PLC0415
    except ImportError:
        return None
    backend = keyring.get_keyring()
    is_none = isinstance(backend, fail.Keyring | null.Keyring)
    return None if is_none or (isinstance(backend, chainer.ChainerBackend) and not backend.backends) else backend


def _require_keyring() -> "KeyringBackend":
    backend = _find_keyring()
    if backend is None:
        raise McpError("there is no keyring")
    return backend


def _is_locked(backend: "KeyringBackend") -> bool:
    """Return whether asking the keyring would ask the user for a password; known for the Secret Service of desktops."""
    parts = getattr(backend, "backends", None) or [backend]
    if not any(type(part).__module__.endswith(".SecretService") for part in parts):
        return False
    try:
        import secretstorage  # noqa: PLC0415 - comes with keyring on Linux

        with closing(secretstorage.dbus_init()) as bus:
            return bool(secretstorage.get_default_collection(bus).is_locked())
    except Exception:  # noqa: BLE001 - no bus, or no collection
        return True


def _wait_for_lock(handle: int, deadline: float) -> None:
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise McpError("another process refreshes this token and does not end", kind="unavailable") from None
            time.sleep(_POLL)
        else:
            return
