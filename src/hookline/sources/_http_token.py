"""What a caller has to show: a token for programs of the person, and a secret for services that sign what they send.

Both lie in the person's data folder, readable by nobody else. They are made when they are first needed.
"""

import hashlib
import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.errors import ConfigError, StoreError

_SHORTEST: Final = 32
_LARGEST: Final = 4096
_SCHEME: Final = "sha256="


class Token(Struct, frozen=True, kw_only=True):
    """The token and the secret, and the files they are in."""

    value: str
    path: Path
    secret: str
    secret_path: Path

    def is_shown(self, given: str) -> bool:
        """Say whether a caller has the token; how long that takes tells nothing about it."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.value.encode())

    def has_signed(self, signature: str, body: bytes) -> bool:
        """Say whether a body was signed with the secret, as GitHub does in `X-Hub-Signature-256`."""
        wanted = _SCHEME + hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(signature.encode("utf-8", "replace"), wanted.encode())


def read_token(data: Path) -> Token:
    """Read the token and the secret from the person's data folder, made now if this is the first time.

    Raises:
        ConfigError: Others may read one of the files, or it holds too little.
        StoreError: They cannot be read or written.
    """
    path, secret_path = data / "http-token", data / "http-secret"
    return Token(value=_kept(path), path=path, secret=_kept(secret_path), secret_path=secret_path)


def _kept(path: Path) -> str:
    try:
        if not os.path.lexists(path):
            _make(path)
        return _read(path)
    except OSError as problem:
        raise StoreError(f"cannot use {path}: {problem.strerror or problem}") from None


def _make(path: Path) -> None:
    """Write the file whole or not at all: of two programs that come first, one wins and both use what it wrote."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink()


def _read(path: Path) -> str:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise ConfigError("this is no plain file; remove it, and a new one is made", path=str(path))
        if hasattr(os, "getuid") and (info.st_uid != os.getuid() or info.st_mode & 0o077):
            raise ConfigError(
                "others may read or change this; remove it, and a new one is made that only you can read",
                path=str(path),
            )
        value = file.read(_LARGEST).decode("ascii", "replace").strip()
    if len(value) < _SHORTEST or not value.isprintable() or " " in value:
        raise ConfigError(
            f"this is no token of {_SHORTEST} or more plain characters; remove it, and a new one is made",
            path=str(path),
        )
    return value
