"""Whether an agent accepts our entries: read its settings as strictly as it does, ask it where it can be asked, and approve.

An agent that does not accept its settings runs no hook from them, and some agents do not say so.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn

from msgspec import Struct

from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.jsonc import blank, parse
from hookline.errors import ConfigError
from hookline.model.installed_entry import is_ours

_BYTE_ORDER_MARK: Final = "\ufeff"
_ASK_SECONDS: Final = 15
# nothing answers at this port, so that an agent that is asked about its settings cannot reach the network
_NOWHERE: Final = "http://127.0.0.1:1"

# finds what an agent refuses in a document: where it stands, and what is wrong
FindFaults = Callable[[object], Iterator[tuple[KeyPath, str]]]


class Rejection(Struct, frozen=True):
    """What an agent itself says against its settings: against one entry, or against the `whole` file."""

    reason: str
    whole: bool = True


# asks a program about a settings text
AskProgram = Callable[[str, bytes, Mapping[str, str]], list[Rejection]]


class ReadingStrictness(Struct, frozen=True, kw_only=True):
    """How strictly an agent reads the settings file that has its hooks.

    `consequence` completes "the agent …" for a file that it does not accept. `is_known` is False where it has not been
    tried with the program: the strictest reading is assumed then.
    """

    comments: bool = False
    byte_order_mark: bool = False
    repeated_keys: bool = True
    consequence: str = "ignores the whole file, so that no hook in it runs"
    is_known: bool = True
    find_faults: FindFaults | None = None
    ask: AskProgram | None = None


UNKNOWN: Final = ReadingStrictness(
    is_known=False, consequence="is not known to read that, and may ignore the whole file"
)


def check(text: str, reading: ReadingStrictness, *, path: str, title: str, name: str) -> None:
    """Read a settings text as the agent does.

    Raises:
        ConfigError: The agent would not accept it; the message says where, what the agent does, and how to mend it.
    """
    if edit.syntax_of(path) != "json" or not text.strip():
        return
    mend = f"take it out, or let `hookline install {name} --clean` do it, which `hookline uninstall` brings back"

    def reject(what: str, line: int, mend: str) -> NoReturn:
        raise ConfigError(f"because of {what}, {title} {reading.consequence}; {mend}", path=path, line=line)

    plain = text.removeprefix(_BYTE_ORDER_MARK)
    if plain != text and not reading.byte_order_mark:
        reject("a byte order mark", 1, mend)
    for position, is_comment in _lenient_parts(plain, blank(plain, path=path)):
        if not (is_comment and reading.comments):
            what = "a comment" if is_comment else "a trailing comma"
            reject(what, plain.count("\n", 0, position) + 1, mend)
    document = parse(plain, path=path)
    if document.repeated and not reading.repeated_keys:
        (pointer, line), *_ = document.repeated
        reject(f"the key {'.'.join(map(str, pointer))} twice", line, "take one of them out")
    for pointer, fault in reading.find_faults(document.value) if reading.find_faults is not None else ():
        reject(f"{'.'.join(map(str, pointer))}, which {fault}", document.line_of(pointer), "mend it there")


def clean(text: str, *, path: str) -> str:
    """Take comments, trailing commas and a byte order mark out of a JSON text; lines with nothing else go with them.

    Raises:
        ConfigError: A comment is never closed.
    """
    if edit.syntax_of(path) != "json":
        return text
    plain = text.removeprefix(_BYTE_ORDER_MARK)
    strict = blank(plain, path=path)
    if strict == plain:
        return plain
    kept = []
    for before, after in zip(plain.splitlines(keepends=True), strict.splitlines(keepends=True), strict=True):
        if before == after:
            kept.append(after)
        elif after.strip():
            ending = after[len(after.rstrip("\r\n")) :]
            kept.append(after.rstrip() + ending)
    return "".join(kept)


def ask_program(
    programs: tuple[str, ...], reading: ReadingStrictness, raw: bytes, *, environ: Mapping[str, str], project: Path
) -> list[Rejection]:
    """Ask the agent itself what it does not load of a settings text; empty where it loads all, or cannot be asked.

    A program inside the project is not run.
    """
    if reading.ask is None:
        return []
    path = environ.get("PATH", os.defpath)
    program = next((found for one in programs if (found := shutil.which(one, path=path))), "")
    if not program or Path(os.path.realpath(program)).is_relative_to(os.path.realpath(project)):
        return []
    return reading.ask(program, raw, {"PATH": path})


def ask_claude(program: str, raw: bytes, environ: Mapping[str, str]) -> list[Rejection]:
    """Have `claude doctor` read a settings text in an empty home: it lists what it does not load."""
    with tempfile.TemporaryDirectory(prefix="hookline-") as folder:
        settings = Path(folder, "settings.json")
        settings.write_bytes(raw)
        more = {
            "CLAUDE_CONFIG_DIR": folder,
            "ANTHROPIC_BASE_URL": _NOWHERE,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }
        said = _run([program, "doctor"], b"", {**environ, **more}, folder)
        found = re.search(r"^Invalid settings\n((?:[-\s].*\n?)+)", said, re.MULTILINE)
        # the program may name the file with its folder resolved
        names = "|".join(re.escape(name) for name in {str(settings), os.path.realpath(settings)})
        reasons = re.findall(rf"^- (?:{names})[\s:\u203a]*(.*)", found[1] if found else "", re.MULTILINE)
        return [Rejection(reason, whole=" ignored" not in reason) for reason in reasons]


def ask_codex(program: str, raw: bytes, environ: Mapping[str, str]) -> list[Rejection]:
    """Have Codex's app server list the hooks of a settings text in an empty home: it says what it does not load."""
    with tempfile.TemporaryDirectory(prefix="hookline-") as folder:
        settings = Path(folder, "hooks.json")
        settings.write_bytes(raw)
        calls = (
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "hookline", "version": "1"}}},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": {"cwds": [folder]}},
        )
        asked = b"".join(json.dumps(call).encode() + b"\n" for call in calls)
        said = _run([program, "app-server"], asked, {**environ, "CODEX_HOME": folder}, folder, until=b'"id":2')
        for line in said.splitlines():
            try:
                answer = json.loads(line)
            except ValueError:
                continue
            match answer:
                case {"id": 2, "result": {"data": [{"warnings": list(warnings), "errors": list(errors)}]}}:
                    texts = [one if isinstance(one, str) else json.dumps(one) for one in (*warnings, *errors)]
                    plain = (text.replace(str(settings), settings.name) for text in texts)
                    return [Rejection(text, whole="failed to parse" in text) for text in plain]
        return []


def _run(command: list[str], said: bytes, environ: Mapping[str, str], folder: str, *, until: bytes = b"") -> str:
    """Run an agent with an empty home and no way into the network; with `until`, end it once it has said that."""
    import subprocess  # noqa: PLC0415 - only an installation needs it
    import threading  # noqa: PLC0415

    proxies = {name: _NOWHERE for base in ("http_proxy", "https_proxy", "all_proxy") for name in (base, base.upper())}
    env = {**proxies, "NO_PROXY": "", **environ, "HOME": folder, "TERM": "dumb", "LANG": "C.UTF-8"}
    output: list[bytes] = []
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with (
        contextlib.suppress(OSError),
        subprocess.Popen(
            command, env=env, cwd=folder, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True
        ) as process,
    ):
        timer = threading.Timer(_ASK_SECONDS, process.kill)
        timer.start()
        try:
            assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
            process.stdin.write(said)
            process.stdin.flush()
            if not until:
                process.stdin.close()
            for line in process.stdout:
                output.append(line)
                if until and until in line:
                    break
        finally:
            timer.cancel()
            process.kill()
    return b"".join(output).decode("utf-8", "replace")


def find_group_faults(
    value: object, *, needs_hooks: bool, types: frozenset[str], events: frozenset[str] | None = None
) -> Iterator[tuple[KeyPath, str]]:
    """Find groups and handlers below `hooks` of which one is enough for the agent to drop the whole file.

    `events` are those at which that is so; None means at all of them.
    """
    found = value.get("hooks") if isinstance(value, Mapping) else None
    if found is not None and not isinstance(found, Mapping):
        yield ("hooks",), "must be an object with a list for each event"
        return
    for event, groups in (found or {}).items():
        if events is not None and event not in events:
            continue
        if not isinstance(groups, list):
            yield ("hooks", event), "must be a list of groups"
            continue
        for number, group in enumerate(groups):
            yield from _find_faults_of_group(group, ("hooks", event, number), types, needs_hooks=needs_hooks)


# what a handler of each type cannot do without
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "command": ("command",),
    "http": ("url",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "mcp_tool": ("server", "tool"),
}


def _find_faults_of_group(
    group: object, at: KeyPath, types: frozenset[str], *, needs_hooks: bool
) -> Iterator[tuple[KeyPath, str]]:
    if not isinstance(group, Mapping):
        yield at, "must be an object with a list `hooks`"
        return
    if not isinstance(group.get("matcher", ""), str | None):
        yield (*at, "matcher"), "must be a text"
    handlers = group.get("hooks", None if needs_hooks else [])
    if not isinstance(handlers, list):
        yield at, "must have a list `hooks`"
        return
    for number, handler in enumerate(handlers):
        place = (*at, "hooks", number)
        if not isinstance(handler, Mapping) or handler.get("type") not in types:
            yield place, f"must be an object with a `type`: {', '.join(sorted(types))}"
            continue
        for key in _REQUIRED[str(handler["type"])]:
            if not isinstance(handler.get(key), str):
                yield place, f"must have a text `{key}`"
        timeout = handler.get("timeout", 1)
        if isinstance(timeout, bool) or not isinstance(timeout, int | float):
            yield (*place, "timeout"), "must be a number of seconds"


def _lenient_parts(text: str, strict: str) -> Iterator[tuple[int, bool]]:
    """Find where a text is more than strict JSON, first place first: its position, and whether it is a comment."""
    position = 0
    while position < len(text):
        if text[position] != strict[position]:
            is_comment = text[position] == "/"
            yield position, is_comment
            if is_comment:
                end = text.find("\n", position) if text.startswith("//", position) else text.find("*/", position) + 2
                position = end if end > position else len(text)
                continue
        position += 1


# Codex CLI runs a hook only once its hash stands in `config.toml`


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
