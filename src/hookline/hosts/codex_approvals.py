"""Approve our entries for Codex CLI, which runs a hook only once its hash stands in `config.toml`."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from hookline.config import edit
from hookline.errors import ConfigError
from hookline.model.installed_entry import is_ours


def find_approvals(folder: Path, settings: Path, text: str) -> tuple[Path, Mapping[str, str]]:
    """Return where Codex looks for approvals, and those that our entries in its settings need: keys and hashes."""
    # Codex uses the folder as given or its real path, depending on the caller
    paths = dict.fromkeys((str(settings), os.path.realpath(settings)))
    hashes = {f"{path}:{place}": said for path in paths for place, said in _hash_entries(text, path=str(settings))}
    return folder / "config.toml", hashes


def _hash_entries(text: str, *, path: str) -> Iterator[tuple[str, str]]:
    events = edit.value_at(edit.value_of(text, path=path), ("hooks",))
    for event, groups in events.items() if isinstance(events, Mapping) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            handlers = group.get("hooks") if isinstance(group, Mapping) else None
            for place, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                command = handler.get("command") if isinstance(handler, Mapping) else None
                if isinstance(command, str) and is_ours(command):
                    label = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
                    yield f"{label}:{number}:{place}", codex_hash(label, command, handler.get("timeout"))


def codex_hash(label: str, command: str, timeout: object) -> str:
    """Return the hash that Codex has of a command without a matcher."""
    handler = {"async": False, "command": command, "timeout": timeout, "type": "command"}
    plain = json.dumps({"event_name": label, "hooks": [handler]}, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(plain.encode()).hexdigest()}"


def approve(text: str, hashes: Mapping[str, str], *, path: str) -> str:
    """Return the text of `config.toml` with these approvals.

    Raises:
        ConfigError: The approvals there are written in another way than Codex writes them.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    for key, said in hashes.items():
        pointer = ("hooks", "state", key)
        if edit.value_at(edit.value_of(text, path=path), pointer) is not None:
            text = edit.put(text, (*pointer, "trusted_hash"), said, path=path)
            continue
        # a table of its own, as Codex writes it
        gap = newline if text and not text.endswith("\n") else ""
        gap += newline if text.strip() else ""
        text = f"{text}{gap}{_spell_table(key, said, newline)}"
        try:
            is_there = edit.value_at(edit.value_of(text, path=path), (*pointer, "trusted_hash")) == said
        except ConfigError:
            is_there = False
        if not is_there:
            raise ConfigError("the approvals in this file are written in a way that is changed by hand only", path=path)
    return text


def withdraw(text: str, approvals: Iterable[tuple[str, str]], *, path: str) -> str:
    """Return the text of `config.toml` without these approvals: the key and the hash of each."""
    newline = "\r\n" if "\r\n" in text else "\n"
    for key, said in approvals:
        value = edit.value_of(text, path=path)
        pointer: tuple[str, ...] = ("hooks", "state", key)
        if edit.value_at(value, (*pointer, "trusted_hash")) != said:
            continue
        # up to where something else is left: a table without anything in it is not there in this syntax
        while len(pointer) > 1:
            owner = edit.value_at(value, pointer[:-1])
            if not isinstance(owner, Mapping) or len(owner) > 1:
                break
            pointer = pointer[:-1]
        dropped = edit.drop(text, pointer, path=path)
        # where the table is as we wrote it, the empty line before it goes, too
        table = _spell_table(key, said, newline)
        spaced = f"{newline}{newline}{table}"
        plain = text.replace(spaced, newline, 1) if spaced in text else text.replace(table, "", 1)
        is_same = plain != text and edit.value_of(plain, path=path) == edit.value_of(dropped, path=path)
        text = plain if is_same else dropped
    return text


def are_approved(text: str, hashes: Mapping[str, str], *, path: str) -> bool:
    """Return whether all of ours are approved, and none is switched off."""
    value = edit.value_of(text, path=path)
    states = [(edit.value_at(value, ("hooks", "state", key)), said) for key, said in hashes.items()]
    return all(
        isinstance(state, Mapping) and state.get("trusted_hash") == said and state.get("enabled") is not False
        for state, said in states
    )


def _spell_table(key: str, said: str, newline: str) -> str:
    return f"[hooks.state.{json.dumps(key)}]{newline}trusted_hash = {json.dumps(said)}{newline}"
