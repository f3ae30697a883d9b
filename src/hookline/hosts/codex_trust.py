"""Codex runs a hook only when its `config.toml` has the hash of exactly that hook, and says nothing when it does not.

Whoever installs us into Codex wants it to run us, so the hashes of our own entries are written there; those of anybody
else stay the person's business.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from hookline.config import edit
from hookline.errors import ConfigError
from hookline.hosts.host import Call
from hookline.model.ours import Entry, is_ours


class States(Struct, frozen=True, kw_only=True):
    """The approvals of our entries: Codex's key of each one, and its hash."""

    hashes: Mapping[str, str]

    def added(self, text: str, calls: tuple[Call, ...], *, path: str) -> str:  # noqa: ARG002 - the hashes say it all
        """Approve ours."""
        newline = "\r\n" if "\r\n" in text else "\n"
        for key, said in self.hashes.items():
            pointer = ("hooks", "state", key)
            if edit.at(edit.value_of(text, path=path), pointer) is not None:
                text = edit.put(text, (*pointer, "trusted_hash"), said, path=path)
                continue
            # a table of its own, as Codex writes it
            gap = newline if text and not text.endswith("\n") else ""
            gap += newline if text.strip() else ""
            table = f"[hooks.state.{json.dumps(key)}]{newline}trusted_hash = {json.dumps(said)}{newline}"
            grown = f"{text}{gap}{table}"
            _check(grown, pointer, said, path=path)
            text = grown
        return text

    def removed(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Take back what we approved."""
        for key, said in self.hashes.items():
            value = edit.value_of(text, path=path)
            if edit.at(value, ("hooks", "state", key, "trusted_hash")) == said:
                text = edit.drop(text, _widest(value, ("hooks", "state", key)), path=path)
        return None if before is None and not text.strip() else text

    def entries(self, text: str, *, path: str) -> tuple[tuple[Entry, ...], int]:  # noqa: ARG002 - see Shape
        """Say that there are no hooks here."""
        return (), 0

    def holds(self, text: str, calls: tuple[Call, ...], *, path: str) -> bool:  # noqa: ARG002 - see Shape
        """Say whether all of ours are approved."""
        value = edit.value_of(text, path=path)
        return all(edit.at(value, ("hooks", "state", key, "trusted_hash")) == said for key, said in self.hashes.items())


def approval(folder: Path, settings: Path, text: str) -> tuple[Path, States]:
    """Say where Codex looks for approvals, and which ones our entries in its settings need."""
    # Codex spells the folder as it is told, or as it really is, depending on who told it
    paths = dict.fromkeys((str(settings), os.path.realpath(settings)))
    hashes = {f"{path}:{place}": said for path in paths for place, said in _places(text, path=str(settings))}
    return folder / "config.toml", States(hashes=hashes)


def _places(text: str, *, path: str) -> Iterator[tuple[str, str]]:
    events = edit.at(edit.value_of(text, path=path), ("hooks",))
    for event, groups in events.items() if isinstance(events, Mapping) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            handlers = group.get("hooks") if isinstance(group, Mapping) else None
            for place, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                command = handler.get("command") if isinstance(handler, Mapping) else None
                if isinstance(command, str) and is_ours(command):
                    label = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
                    yield f"{label}:{number}:{place}", fingerprint(label, command, handler.get("timeout"))


def fingerprint(label: str, command: str, timeout: object) -> str:
    """Give the hash that Codex has of a command without a matcher."""
    handler = {"async": False, "command": command, "timeout": timeout, "type": "command"}
    plain = json.dumps({"event_name": label, "hooks": [handler]}, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


def _widest(value: object, pointer: tuple[str, ...]) -> tuple[str, ...]:
    """Go up as long as there is nothing else: a table without anything in it is not there in this syntax."""
    while len(pointer) > 1:
        owner = edit.at(value, pointer[:-1])
        if not isinstance(owner, Mapping) or len(owner) > 1:
            break
        pointer = pointer[:-1]
    return pointer


def _check(text: str, pointer: tuple[str, ...], said: str, *, path: str) -> None:
    """Hand on nothing that Codex would read otherwise.

    Raises:
        ConfigError: The approvals there are written in another way.
    """
    try:
        is_there = edit.at(edit.value_of(text, path=path), (*pointer, "trusted_hash")) == said
    except ConfigError:
        is_there = False
    if not is_there:
        raise ConfigError("the approvals in this file are written in a way that is changed by hand only", path=path)
