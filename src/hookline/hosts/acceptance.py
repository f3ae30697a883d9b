"""Whether an agent accepts a settings file: read it as strictly as the agent does, and ask the agent where it can be asked.

An agent that does not accept its settings runs no hook from them, and some agents do not say so.
"""

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NoReturn

from msgspec import Struct

from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.jsonc import blank, parse
from hookline.errors import ConfigError

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
            **dict.fromkeys(
                (
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                    "DISABLE_TELEMETRY",
                    "DISABLE_AUTOUPDATER",
                    "DISABLE_ERROR_REPORTING",
                ),
                "1",
            ),
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
