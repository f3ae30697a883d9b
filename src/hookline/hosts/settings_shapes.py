"""The shapes of agents' settings files: each adds our entries, and removes only ours."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.errors import ConfigError, HostError
from hookline.hosts.host import CALL_SECONDS, EventCall
from hookline.model.installed_entry import InstalledEntry, parse_entry

# under which keys commands stand, in all of the agents
_COMMANDS: Final = ("command", "bash", "powershell", "exec", "url", "prompt")

Speller = Callable[[EventCall], object]


class EventLists(Struct, frozen=True, kw_only=True):
    """Settings in JSON or TOML: a list for each event, or one list for all.

    `at` says where the list is, `{event}` standing for the event; `spell` writes one entry of it. `head` is what a file
    has to say besides, where it does not yet. `depth` is how many steps an entry is below the top, where that is not
    a list of an event with everything in it.
    """

    at: tuple[str, ...]
    spell: Speller
    head: Mapping[str, object] = {}
    depth: int = 0

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:
        """Add entries to a text that has none of ours."""
        value = edit.value_of(text, path=path)
        if not isinstance(value, Mapping):
            raise ConfigError("this is no object; nothing was changed", path=path)
        for key, said in self.head.items():
            if key not in value:
                text = edit.put(text, (key,), said, path=path)
        for call in calls:
            text = edit.append(text, self._list(call.event), self.spell(call), path=path)
        return text

    def _list(self, event: str) -> KeyPath:
        return tuple(event if step == "{event}" else step for step in self.at)

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Remove our entries, and containers that are empty without them and did not exist before."""
        value = edit.value_of(text, path=path)
        ours = [pointer for pointer, command in find_commands(value) if parse_entry(command)]
        if not ours:
            return text
        for pointer in reversed(ours):
            place = pointer[: self.depth] if self.depth else pointer
            if edit.value_at(edit.value_of(text, path=path), place) is not None:
                text = edit.drop(text, place, path=path, prune=not self.depth)
        there = edit.value_of(before or "", path=path)
        for place in dict.fromkeys(pointer[:size] for pointer in ours for size in range(len(self.at), 0, -1)):
            left = edit.value_at(edit.value_of(text, path=path), place)
            if left in ({}, []) and edit.value_at(there, place) is None:
                text = edit.drop(text, place, path=path)
        left = edit.value_of(text, path=path)
        if before is not None and not any(True for _ in find_commands(left)):
            # what the file had to say because of us
            for key, said in self.head.items():
                if edit.value_at(left, (key,)) == said and edit.value_at(there, (key,)) is None:
                    text = edit.drop(text, (key,), path=path)
        left = edit.value_of(text, path=path)
        is_bare = isinstance(left, Mapping) and all(left[key] == self.head.get(key) for key in left)
        return None if before is None and is_bare and not _has_comment(text, path=path) else text

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:
        """Return the entries of ours in a text, and count the others."""
        return count_entries(edit.value_of(text, path=path), self.at)

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:
        """Return whether a text has exactly these entries of ours already, each as it would be written now."""
        value = edit.value_of(text, path=path)
        ours = sorted(command for _, command in find_commands(value) if parse_entry(command))
        if ours != sorted(call.command for call in calls):
            return False
        entries = ((edit.value_at(value, self._list(call.event)), self.spell(call)) for call in calls)
        return all(isinstance(found, list) and wanted in found for found, wanted in entries)

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:
        """Return our entries that are at another event, or differ from what `install` writes."""
        value = edit.value_of(text, path=path)
        altered = []
        for pointer, command in find_commands(value):
            entry = parse_entry(command)
            if entry is None:
                continue
            place = self._list(entry.event)
            if pointer[: len(place)] != place:
                altered.append((entry.event, f"it stands at {'.'.join(map(str, pointer))}"))
                continue
            handler = edit.value_at(value, pointer)
            said = handler if isinstance(handler, Mapping) else {}
            headers = said.get("headers") if entry.is_url else None
            call = EventCall(
                entry.event,
                entry.command,
                (),
                seconds.get(entry.event, CALL_SECONDS),
                tuple((str(key), str(one)) for key, one in headers.items()) if isinstance(headers, Mapping) else (),
                strict=said.get("onFailure") == "block",
            )
            what = _describe_change(edit.value_at(value, pointer[: len(place) + 1]), self.spell(call))
            if what:
                altered.append((entry.event, what))
        return altered


class NamedBundle(Struct, frozen=True, kw_only=True):
    """Settings of named bundles, of which one is ours: event by event, with groups for some and not for others."""

    name: str
    spell: Speller

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:
        """Add our bundle."""
        value = edit.value_of(text, path=path)
        if edit.value_at(value, (self.name,)) is not None:
            raise ConfigError(f'there is a bundle "{self.name}" that is not ours; nothing was changed', path=path)
        return edit.put(text, (self.name,), {call.event: [self.spell(call)] for call in calls}, path=path)

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Remove our bundle, but keep entries of others in it."""
        ours, foreign = self.find_entries(text, path=path)
        if not ours:
            return text
        inside = find_commands(edit.value_at(edit.value_of(text, path=path), (self.name,)))
        if all(parse_entry(command) for _, command in inside):
            text = edit.drop(text, (self.name,), path=path)
        else:
            shape = EventLists(at=(self.name, "{event}"), spell=self.spell)
            return shape.remove(text, path=path, before=before)
        is_bare = not foreign and edit.value_of(text, path=path) == {}
        return None if before is None and is_bare and not _has_comment(text, path=path) else text

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:
        """Return the entries of ours in a text, and count the others."""
        return count_entries(edit.value_of(text, path=path), ())

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:
        """Return whether a text has exactly these entries of ours already."""
        wanted = {call.event: [self.spell(call)] for call in calls}
        return edit.value_at(edit.value_of(text, path=path), (self.name,)) == wanted

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:
        """Find entries of ours in our bundle that are not as we write them."""
        return EventLists(at=(self.name, "{event}"), spell=self.spell).find_altered(text, path=path, seconds=seconds)


class OwnedFile(Struct, frozen=True, kw_only=True):
    """A file that is ours from the first line to the last, such as a program for one event."""

    mark: str
    write: Callable[[tuple[EventCall, ...]], str]

    def add(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> str:
        """Write the whole file.

        Raises:
            HostError: The file exists and is not ours.
        """
        if text.strip():
            raise HostError(f"{path} is there and is not ours; move it away, and try again")
        return self.write(calls)

    def remove(self, text: str, *, path: str, before: str | None = None) -> str | None:  # noqa: ARG002 - see SettingsShape
        """Take the file away where it is ours."""
        return None if self.mark in text else text

    def find_entries(self, text: str, *, path: str) -> tuple[tuple[InstalledEntry, ...], int]:  # noqa: ARG002 - see SettingsShape
        """Return what our file runs; any other counts as one."""
        if self.mark not in text:
            return (), int(bool(text.strip()))
        return tuple(entry for line in text.splitlines() if (entry := parse_entry(line))), 0

    def matches(self, text: str, calls: tuple[EventCall, ...], *, path: str) -> bool:  # noqa: ARG002 - see SettingsShape
        """Return whether the file is as it would be written now."""
        return text == self.write(calls)

    def find_altered(self, text: str, *, path: str, seconds: Mapping[str, int]) -> list[tuple[str, str]]:  # noqa: ARG002 - see SettingsShape
        """Find nothing: a file that is ours as a whole is compared as a whole."""
        return []


# a user may give an agent another time limit, as long as a guard has time to answer
_LIMITS: Final = frozenset({"timeout", "timeoutSec"})


def _describe_change(found: object, wanted: object, at: str = "") -> str:
    """Return how an entry differs from the one we write; empty where it does not, but for its time limit."""
    match found, wanted:
        case Mapping(), Mapping():
            more = [key for key in found if key not in wanted]
            less = [key for key in wanted if key not in found and key not in _LIMITS]
            if more or less:
                said = [f"`{key}` is added" for key in more] + [f"`{key}` is missing" for key in less]
                return ", ".join(said)
            texts = (_describe_change(found[key], wanted[key], str(key)) for key in found if key not in _LIMITS)
            return next(filter(None, texts), "")
        case list(), list() if len(found) == len(wanted):
            return next(filter(None, (_describe_change(a, b, at) for a, b in zip(found, wanted, strict=True))), "")
        case list(), list() if wanted and at == "hooks":
            # a hook of another program in our group is left alone
            return "" if any(not _describe_change(one, wanted[0]) for one in found) else f"`{at}` is changed"
        case _:
            return "" if found == wanted else f"`{at}` is changed"


def spell_groups(*, unit: int = 1, matcher: str = "", more: Mapping[str, object] | None = None) -> Speller:
    """Return a speller of matcher groups with one command each, or one URL; `unit` is what a second counts."""

    def spell(call: EventCall) -> object:
        what: dict[str, object] = {"type": "command", "command": call.command}
        if call.headers:
            # variables in a header are replaced only where they are named beside it
            named = [value[1:] for _, value in call.headers if value.startswith("$")]
            what = {"type": "http", "url": call.command, "headers": dict(call.headers), "allowedEnvVars": named}
            what |= {"onFailure": "block"} if call.strict else {}
        handler = {**what, "timeout": call.seconds * unit, **(more or {})}
        return {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}

    return spell


def count_entries(value: object, at: Sequence[str]) -> tuple[tuple[InstalledEntry, ...], int]:
    """Return our entries below a place of a document, and count the others.

    A list of an event that has something in it without a command is counted as a hook all the same.
    """
    inside = edit.value_at(value, tuple(at[: at.index("{event}")] if "{event}" in at else at))
    commands = [command for _, command in find_commands(inside)]
    ours = tuple(entry for command in commands if (entry := parse_entry(command)))
    return ours, len(commands) - len(ours)


def find_commands(value: object, pointer: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Yield every command in a document, with its pointer."""
    match value:
        case Mapping():
            said = next((value[key] for key in _COMMANDS if isinstance(value.get(key), str)), None)
            if said is not None:
                yield pointer, str(said)
                return
            for key, one in value.items():
                yield from find_commands(one, (*pointer, str(key)))
        case list():
            for place, one in enumerate(value):
                yield from find_commands(one, (*pointer, place))


def _has_comment(text: str, *, path: str) -> bool:
    """Return whether a file has comments."""
    if edit.syntax_of(path) == "toml":
        return "#" in text
    from hookline.config.jsonc import blank  # noqa: PLC0415 - only an emptied file is looked at

    return blank(text) != text
