"""Who may use the page: the browser that opened the link first, and has a cookie from then on."""

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

METRICS_TOKEN: Final = "metrics.token"  # noqa: S105 - the name of a file


class SignIn:
    """Exchanges a token that counts once for a cookie that counts as long as the server runs."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._is_used = False

    def exchange(self, token: str) -> str:
        """Return the cookie for the token; empty if it is wrong, or was used before."""
        is_right = hmac.compare_digest(token.encode(), self.token.encode())
        if not is_right or self._is_used:
            return ""
        self._is_used = True
        return self._cookie

    def is_known(self, cookies: Mapping[str, str], name: str) -> bool:
        """Return whether a client has the cookie."""
        return hmac.compare_digest(cookies.get(name, "").encode(), self._cookie.encode())


def read_metrics_token(data: Path) -> str:
    """Return the token with which a program reads the metrics; it is made when it is first needed, for the user alone."""
    path = data / METRICS_TOKEN
    try:
        return path.read_text("utf-8").strip()
    except FileNotFoundError:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text("utf-8").strip()
    token = secrets.token_urlsafe(32)
    with os.fdopen(handle, "w") as file:
        file.write(f"{token}\n")
    return token
