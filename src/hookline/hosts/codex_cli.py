"""Codex CLI: groups in `hooks.json`, each approved by its hash in `config.toml`."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.errors import ConfigError
from hookline.hosts.acceptance import ReadingStrictness, ask_codex, find_group_faults
from hookline.hosts.host import EventCall, Host, Scope, SettingsFolder
from hookline.hosts.settings_shapes import EventLists, spell_groups
from hookline.model.installed_entry import InstalledEntry, is_ours


class TrustedHashes(Struct, frozen=True, kw_only=True):
    """The approvals of our entries: Codex's key of each one, and its hash; `earlier` are some that we wrote before."""

    hashes: Mapping[str, str]
    earlier: tuple[tuple[str, str], ...] = ()

    def with_hashes(self, hashes: Mapping[str, str], *, earlier: tuple[tuple[str, str], ...] = ()) -> "TrustedHashes":
        """Return the same shape with other approvals, and with those that we wrote earlier."""
        return TrustedHashes(hashes=hashes, earlier=earlier)

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:  # noqa: ARG002 - the hashes say it all
        """Approve our entries."""
        newline = "\r\n" if "\r\n" in text else "\n"
        for key, said in self.hashes.items():
            pointer = ("hooks", "state", key)
            if edit.value_at(edit.value_of(text, path=path), pointer) is not None:
                text = edit.put(text, (*pointer, "trusted_hash"), said, path=path)
                continue
            # a table of its own, as Codex writes it
            gap = newline if text and not text.endswith("\n") else ""
            gap += newline if text.strip() else ""
            grown = f"{text}{gap}{_spell_table(key, said, newline)}"
            _check(grown, pointer, said, path=path)
            text = grown
        return text

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Remove our approvals."""
        for key, said in (*self.hashes.items(), *self.earlier):
            value = edit.value_of(text, path=path)
            if edit.value_at(value, ("hooks", "state", key, "trusted_hash")) == said:
                dropped = edit.drop(text, _widen_pointer(value, ("hooks", "state", key)), path=path)
                plain = _cut_table(text, key, said)
                is_same = plain is not None and edit.value_of(plain, path=path) == edit.value_of(dropped, path=path)
                text = plain if is_same and plain is not None else dropped
        return None if before is None and not text.strip() else text

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:  # noqa: ARG002 - see SettingsShape
        """Return nothing: this file holds no hooks."""
        return (), 0

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:  # noqa: ARG002 - see SettingsShape
        """Return whether all of ours are approved, and none is switched off."""
        value = edit.value_of(text, path=path)
        states = [(edit.value_at(value, ("hooks", "state", key)), said) for key, said in self.hashes.items()]
        return all(
            isinstance(state, Mapping) and state.get("trusted_hash") == said and state.get("enabled") is not False
            for state, said in states
        )

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:  # noqa: ARG002 - see SettingsShape
        """Find nothing: there are no hooks here."""
        return []


def find_approvals(folder: Path, settings: Path, text: str) -> tuple[Path, TrustedHashes]:
    """Return where Codex looks for approvals, and which ones our entries in its settings need."""
    # Codex uses the folder as given or its real path, depending on the caller
    paths = dict.fromkeys((str(settings), os.path.realpath(settings)))
    hashes = {f"{path}:{place}": said for path in paths for place, said in _find_entries(text, path=str(settings))}
    return folder / "config.toml", TrustedHashes(hashes=hashes)


def _find_entries(text: str, *, path: str) -> Iterator[tuple[str, str]]:
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


def _spell_table(key: str, said: str, newline: str) -> str:
    return f"[hooks.state.{json.dumps(key)}]{newline}trusted_hash = {json.dumps(said)}{newline}"


def _cut_table(text: str, key: str, said: str) -> str | None:
    """Cut a table out as it was written, with the empty line before it; None where it is written in another way."""
    newline = "\r\n" if "\r\n" in text else "\n"
    table = _spell_table(key, said, newline)
    for spelled in (f"{newline}{newline}{table}", table):
        if spelled in text:
            return text.replace(spelled, newline if spelled != table else "", 1)
    return None


def _widen_pointer(value: object, pointer: tuple[str, ...]) -> tuple[str, ...]:
    """Go up as long as there is nothing else: a table without anything in it is not there in this syntax."""
    while len(pointer) > 1:
        owner = edit.value_at(value, pointer[:-1])
        if not isinstance(owner, Mapping) or len(owner) > 1:
            break
        pointer = pointer[:-1]
    return pointer


def _check(text: str, pointer: tuple[str, ...], said: str, *, path: str) -> None:
    """Check that Codex will find the approval in the text.

    Raises:
        ConfigError: The approvals there are written in another way.
    """
    try:
        is_there = edit.value_at(edit.value_of(text, path=path), (*pointer, "trusted_hash")) == said
    except ConfigError:
        is_there = False
    if not is_there:
        raise ConfigError("the approvals in this file are written in a way that is changed by hand only", path=path)


_TOP: Final = frozenset({"description", "hooks"})
_TYPES: Final = frozenset({"command", "prompt", "agent", "mcp_tool"})


def _find_faults(value: object) -> Iterator[tuple[KeyPath, str]]:
    """Find what makes Codex drop the whole file: an unknown key at the top, a group or a handler of another shape."""
    if isinstance(value, Mapping):
        yield from (((key,), "is no key of this file; it has `description` and `hooks`") for key in value.keys() - _TOP)
    yield from find_group_faults(value, needs_hooks=False, types=_TYPES)


HOST: Final = Host(
    name="codex-cli",
    programs=("codex",),
    home=SettingsFolder(default=".codex", moved=(("CODEX_HOME", ""),)),
    # without a matcher: it is part of what is approved, and says nothing
    shape=EventLists(at=("hooks", "{event}"), spell=spell_groups()),
    files={Scope.USER: "hooks.json", Scope.PROJECT: ".codex/hooks.json"},
    reads={Scope.USER: ("hooks.json", "config.toml"), Scope.PROJECT: (".codex/hooks.json", ".codex/config.toml")},
    system=("/etc/codex/hooks.json", "/etc/codex/config.toml"),
    left_out={"PreModelRequest": "before every request to the model, which no answer changes"},
    # it waits no longer for these
    seconds={"SessionEnd": 3},
    switches=((("features", "hooks"), False), (("features", "codex_hooks"), False)),
    notes={
        Scope.USER: ("Codex runs a hook only once it is approved; ours are, and `/hooks` in Codex shows them",),
        Scope.PROJECT: (
            (
                "Codex runs hooks of a project only where you trust the project, and once each hook is approved; ours "
                "are approved for you, everybody else has to do it with `/hooks` in Codex"
            ),
        ),
    },
    approval=find_approvals,
    # tried with version 0.166.0
    strictness=ReadingStrictness(repeated_keys=False, find_faults=_find_faults, ask=ask_codex),
)
