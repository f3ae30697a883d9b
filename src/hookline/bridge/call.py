"""One call of an agent: its argv, its payload, the project it is about, and what its environment says.

The entry in the settings of an agent names the agent and the event, whatever the payload calls them. A new version of an agent
that renames an event, or a payload that is damaged on its way, must not switch guards off: at an event that can be denied, a
payload that disagrees with the entry is read as the entry's event.
"""

import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from hookline import json_codec
from hookline.bridge.notices import append_lines
from hookline.caller_context import with_env
from hookline.dialects import DIALECTS, detect_agent
from hookline.errors import DialectError
from hookline.files import make_private_folder, read_regular_file
from hookline.json_codec import Payload
from hookline.model.event import Event, EventName
from hookline.model.installed_entry import NESTING
from hookline.model.names import AGENT_ALIASES, EVENT_NAMES
from hookline.model.plan import Plan
from hookline.model.verdict import Outcome
from hookline.ports import Dialect
from hookline.project import Project
from hookline.text import sanitize
from hookline.user_dirs import working_folder

OPTION: Final = "--if-broken"
USAGE: Final = f"wanted: hookline hook [{OPTION} block|allow] HOST EVENT"

# The variables in which agents name the folder they were started in. Their working folder may be far below it, and a project
# that is no repository could not be found from there.
PROJECT_VARIABLES: Final[Mapping[str, str]] = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
    "factory-droid": "FACTORY_PROJECT_DIR",
    "gemini-cli": "GEMINI_PROJECT_DIR",
    "qwen-code": "QWEN_PROJECT_DIR",
}

# Events before something happens. The end of a turn is none: a failure of ours never keeps an agent at work.
GUARDED: Final = frozenset({EventName.BEFORE_TOOL, EventName.PERMISSION_REQUEST, EventName.BEFORE_AGENT})

# the keys under which agents write the name of an event
_EVENT_KEYS: Final = ("hook_event_name", "hookEventName", "agent_action_name", "hookName", "hook")
_MOST_KEYS: Final = 2_000
_KEY_ENDS: Final = re.compile(rb'"\s*:')
_SHOWN: Final = 80

# bytes at the beginning of a transcript, whose first line describes the session
_HEAD: Final = 16_384
_CLI_VERSION: Final = re.compile(rb'"cli_version"\s*:\s*"([^"\\]{1,40})"')
# "claude-code_2-1-325_harness"
_AGENT_VARIABLE: Final = re.compile(r"claude-code_(\d+(?:-\d+)*)_")
# reading a file is for events that a session has few of
_RARE: Final = frozenset({EventName.SESSION_START, EventName.AFTER_AGENT})


class IfBroken(StrEnum):
    """The answer to an agent when its hooks could not be asked."""

    BLOCK = "block"
    ALLOW = "allow"


class Call(Struct, frozen=True, kw_only=True):
    """The payload of an agent, its dialect, and `native`, the agent's own name of the event.

    Without `if_broken`, the failure policies of the configured hooks decide.
    """

    dialect: Dialect
    native: str
    raw: bytes
    if_broken: IfBroken | None = None


class CallState(Struct):
    """What is known of a call so far.

    `call` is in the dialect of the agent that called, `entry` is the agent whose settings hold the entry. `trouble` is why the
    hooks could not be asked: the event is unreadable (`is_unread`), the agents are nested too deeply (`is_too_deep`), or something
    failed. Without a `plan`, hooks may have to be asked. `note` is what was odd about the payload.
    """

    call: Call
    entry: str
    event: Event
    trouble: str = ""
    note: str = ""
    is_unread: bool = False
    is_too_deep: bool = False
    project: Project | None = None
    plan: Plan | None = None
    outcome: Outcome | None = None

    @property
    def has_hooks(self) -> bool:
        """Whether hooks have to be asked, as far as that is known."""
        return self.plan is None or bool(self.plan.stages)


def parse_argv(words: Sequence[str]) -> tuple[Call | None, IfBroken | None, str]:
    """Return the call, the policy as far as there is one, and the reason why the words cannot be used.

    Parsed by hand rather than by argparse: a call is made for every step of an agent, and an exit code of 2, with which argparse
    reports a typing error, would block it.
    """
    policy: IfBroken | None = None
    names: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == OPTION or word.startswith(f"{OPTION}="):
            value = word.partition("=")[2] if "=" in word else left.pop(0) if left else ""
            if value not in {*IfBroken}:
                return None, policy, f"{OPTION} is {value!r}, wanted block or allow"
            policy = IfBroken(value)
        elif word.startswith("-"):
            return None, policy, f"there is no option {word!r}"
        else:
            names.append(word)
    if len(names) != 2:  # noqa: PLR2004
        return None, policy, USAGE
    name, native = names
    dialect = DIALECTS.get(AGENT_ALIASES.get(name, name))
    if dialect is None or not dialect.SPEC.is_agent:
        known = ", ".join(sorted(name for name, module in DIALECTS.items() if module.SPEC.is_agent))
        return None, policy, f"there is no agent {name!r}; there are {known}"
    spec = dialect.SPEC
    if not (native in spec.abilities or native in spec.events.values() or native in spec.more_events):
        return None, policy, f"{spec.title} has no event {native!r}; it has {', '.join(spec.abilities)}"
    return Call(dialect=dialect, native=native, raw=b"", if_broken=policy), policy, ""


def event_from_name(dialect: Dialect, native: str) -> Event:
    """Return the event that a native name alone tells of, for a payload that could not be read."""
    spec = dialect.SPEC
    usual = next((name for name, own in spec.events.items() if own == native), None)
    if usual is not None:
        return Event(name=usual, host=spec.name)
    more = spec.more_events.get(native)
    if more is not None:
        return Event(name=more, native_name=native, host=spec.name)
    return Event(name=EventName.CUSTOM, data={"event_name": native}, native_name=native, host=spec.name)


def find_project_root(event: Event | None, *, host: str, environ: Mapping[str, str]) -> Path:
    """Return the folder that the agent names as its project, if it works inside it, else its working folder."""
    cwd = event.cwd if event is not None and os.path.isdir(event.cwd) else str(working_folder())  # noqa: PTH112 - a text
    named = environ.get(PROJECT_VARIABLES.get(host, ""), "")
    if named and os.path.isabs(named) and os.path.isdir(named):  # noqa: PTH112, PTH117
        real = Path(os.path.realpath(cwd))
        return _path(named) if real.is_relative_to(os.path.realpath(named)) else _path(cwd)
    return _path(cwd)


# an agent works in one folder for long, and parsing a path costs more than a lookup
_path = lru_cache(maxsize=64)(Path)


def read_call(entry: Call) -> CallState:
    """Read a call that an entry in the settings of an agent made."""
    entry = replace(entry, raw=Payload(entry.raw))
    name = entry.dialect.SPEC.name

    def unread(why: str) -> CallState:
        event = event_from_name(entry.dialect, entry.native)
        return CallState(call=entry, entry=name, event=event, trouble=why, is_unread=bool(why))

    wanted = _find_events(name, entry.native)
    is_guarded = bool(wanted & GUARDED)
    # before a decoder takes the parsed document
    duplicate = _find_duplicate(entry.raw) if is_guarded else ""
    call = _detect_dialect(entry)
    event, trouble = _decode(call, call.raw)
    if not is_guarded:
        return CallState(call=call, entry=name, event=event, trouble=trouble, is_unread=bool(trouble))
    # a dialect may tell two events of one native name apart, such as a prompt and a request without one
    if not trouble and (event.name in wanted or event.native_name == entry.native):
        if not duplicate:
            return CallState(call=call, entry=name, event=event)
        shown = sanitize(duplicate, longest=_SHOWN)
        return unread(f'the key "{shown}" is in it twice, and it is not known which one counts')
    # without the name of the event, it is read as the entry's
    try:
        document = json_codec.load(entry.raw)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not any(name in document for name in _EVENT_KEYS):
        return unread(trouble)
    unnamed = {key: value for key, value in document.items() if key not in _EVENT_KEYS}
    event, trouble = _decode(entry, json_codec.dump(unnamed))
    if trouble or event.name not in wanted:
        return unread(trouble or f"it is no {entry.native} event")
    title = entry.dialect.SPEC.title
    note = f"{title} says another event than {entry.native}, at which its settings call us; {entry.native} was answered"
    return CallState(call=entry, entry=name, event=event, note=note)


def _detect_dialect(call: Call) -> Call:
    """Return the call in the dialect it was made in.

    Agents run each other's settings files, and then the argv of an entry names another agent than the one that runs it: it is
    answered in its own dialect all the same.
    """
    try:
        document = json_codec.peek(call.raw)
    except ValueError:
        return call
    agent = detect_agent(document, named=call.dialect.SPEC.name) if isinstance(document, dict) else None
    return call if agent is None else replace(call, dialect=DIALECTS[agent])


@cache
def _find_events(host: str, native: str) -> frozenset[EventName]:
    """Return the events that an agent's own name stands for."""
    known = EVENT_NAMES.get(host, {}).get(native, ())
    return frozenset({event_from_name(DIALECTS[host], native).name, *(EventName(name) for name in known)})


def _decode(call: Call, raw: bytes) -> tuple[Event, str]:
    try:
        return call.dialect.decode_event(raw, call.native), ""
    except DialectError as problem:
        why = str(problem)
    except Exception as problem:  # noqa: BLE001 - a bug in a decoder must not become an answer by accident
        why = f"reading what the agent said shows a bug in hookline ({problem!r}); please report it"
    return event_from_name(call.dialect, call.native), why


def _find_duplicate(raw: bytes) -> str:
    """Return a key that stands twice in an object of a payload; empty where none does."""
    try:
        document = json_codec.peek(raw)
    except ValueError:
        # a payload that the dialect can repair is not refused
        return ""
    # every key is followed by a colon, and quotes inside of texts can only add to the count
    left, count = [document], 0
    while left and count < _MOST_KEYS:
        value = left.pop()
        if isinstance(value, dict):
            count += len(value)
            left += value.values()
        elif isinstance(value, list):
            left += value
    if count == len(_KEY_ENDS.findall(raw)):
        return ""
    duplicates: list[str] = []

    def check(pairs: list[tuple[str, object]]) -> None:
        names = Counter(name for name, _ in pairs)
        duplicates.extend(name for name, count in names.items() if count > 1)

    try:
        json.loads(raw, object_pairs_hook=check)
    except (ValueError, RecursionError):
        return ""
    return duplicates[0] if duplicates else ""


def find_agent_version(event: Event, environ: Mapping[str, str]) -> str:
    """Return the version of the agent that raised an event; empty where the agent does not say it."""
    find = _FINDERS.get(event.host)
    return find(event, environ) if find is not None else ""


def _from_variable(_event: Event, environ: Mapping[str, str]) -> str:
    found = _AGENT_VARIABLE.match(environ.get("AI_AGENT", ""))
    return found[1].replace("-", ".") if found is not None else ""


def _from_payload(event: Event, _environ: Mapping[str, str]) -> str:
    version = event.data.get("cursor_version")
    return version[:40] if isinstance(version, str) else ""


def _from_transcript(event: Event, _environ: Mapping[str, str]) -> str:
    path = event.data.get("transcript_path")
    if event.name not in _RARE or not isinstance(path, str) or not path:
        return ""
    found = _CLI_VERSION.search(read_regular_file(path, _HEAD) or b"")
    return found[1].decode("utf-8", "replace") if found is not None else ""


_FINDERS: Final[Mapping[str, Callable[[Event, Mapping[str, str]], str]]] = {
    "claude-code": _from_variable,
    "codex-cli": _from_transcript,
    "cursor": _from_payload,
}


# Probes: calls that `hookline doctor` makes as an agent would, to see whether they reach us. No hook is asked about them. The
# environment carries a token, and a file in the user's data folder proves that it is real: a project that ships an environment
# could otherwise switch every guard off.
PROBE_VARIABLE: Final = "HOOKLINE_CANARY"

_PROBES: Final = "canary"
_PROBE_TOKEN: Final = re.compile(r"[0-9a-f]{32}")
_LARGEST_REPORT: Final = 64 * 1024
_PROBE_LIFE: Final = 600.0  # seconds; a token left by a doctor that was killed expires


@contextmanager
def new_probe(data: Path) -> Iterator[str]:
    """Create a token that is valid until the block ends.

    Raises:
        OSError: The data folder cannot be written to.
    """
    token = os.urandom(16).hex()
    path = data / _PROBES / token
    make_private_folder(path.parent)
    path.touch(mode=0o600, exist_ok=False)
    try:
        yield token
    finally:
        path.unlink(missing_ok=True)
        with suppress(OSError):
            path.parent.rmdir()


def is_probe(environ: Mapping[str, str], data: Path) -> bool:
    """Return whether doctor made this call."""
    token = environ.get(PROBE_VARIABLE, "")
    if not _PROBE_TOKEN.fullmatch(token):
        return False
    try:
        return abs(time.time() - (data / _PROBES / token).lstat().st_mtime) < _PROBE_LIFE
    except OSError:
        return False


def report_probe(environ: Mapping[str, str], data: Path, report: str) -> None:
    """Report to doctor that a call arrived, and how it was decoded."""
    append_lines(
        data / _PROBES / environ[PROBE_VARIABLE], f"{report}\n".encode("utf-8", "replace"), largest=_LARGEST_REPORT
    )


def read_reports(data: Path, token: str) -> list[str]:
    """Return the reports of the calls that arrived with a token."""
    try:
        return (data / _PROBES / token).read_text(errors="replace").splitlines()
    except OSError:
        return []


# Endless recursion: a hook starts an agent, whose hooks start the next agent, and so on. The environment of hook processes carries
# the depth. It is signed with a key in the user's data folder, so that a project that ships an environment cannot switch hooks
# off with it.

# an agent that a hook asks for its opinion may well have such hooks itself, but not without end
DEEPEST_NESTING: Final = 3

_NESTING_KEY: Final = "nesting.key"
_KEY_LENGTH: Final = 32  # bytes
_NESTING_LIFE: Final = 86_400.0  # seconds; a process started a day ago does not count as a parent
# Seconds. Within them the mark, and so the environment of hook processes, stays the same, and what was prepared for one call
# serves the next.
_NESTING_TICK: Final = 3600
_MARK_FORMAT: Final = re.compile(r"([1-9][0-9]?)-([0-9]{1,12})-([0-9a-f]{64})")


def find_nesting(environ: Mapping[str, str], data: Path) -> int:
    """Return how many hooks, each started by an agent, are around this call; 0 without a valid signature."""
    mark = _MARK_FORMAT.fullmatch(environ.get(NESTING, ""))
    key = _read_key(data) if mark is not None else b""
    if mark is None or not key or abs(time.time() - int(mark[2])) > _NESTING_LIFE:
        return 0
    return int(mark[1]) if mark[0] == _sign(int(mark[1]), int(mark[2]), key) else 0


def explain_nesting(level: int) -> str:
    """Return why hooks at this depth are not asked."""
    return (
        f"a hook started an agent, whose hooks started the next, and so on, {level} times by now: have the hook that "
        "does so start it without hooks, or not be asked about what it does"
    )


@contextmanager
def nest_deeper(level: int, data: Path) -> Iterator[None]:
    """Mark every process started within the block as one level deeper; without a key, no mark is set."""
    key = _read_key(data)
    if not key:
        # of two that are created at once, the one in place in the end counts
        beside = data / f"{_NESTING_KEY}.{os.urandom(6).hex()}"
        try:
            data.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(beside, "xb", opener=partial(os.open, mode=0o600)) as file:
                file.write(os.urandom(_KEY_LENGTH))
            beside.replace(data / _NESTING_KEY)
        except OSError:
            with suppress(OSError):
                beside.unlink()
        key = _read_key(data)
    with with_env(NESTING, _sign(level + 1, int(time.time()) // _NESTING_TICK * _NESTING_TICK, key) if key else ""):
        yield


def _sign(level: int, at: int, key: bytes) -> str:
    text = f"{level}-{at}"
    return f"{text}-{hashlib.blake2b(text.encode(), key=key, digest_size=_KEY_LENGTH).hexdigest()}"


def _read_key(data: Path) -> bytes:
    raw = read_regular_file(data / _NESTING_KEY, _KEY_LENGTH + 1) or b""
    return raw if len(raw) == _KEY_LENGTH else b""
