"""How settings of agents are written, as far as hooks go: each shape adds ours, and takes out nothing but ours."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.errors import ConfigError, HostError
from hookline.hosts.host import Call
from hookline.model.ours import Entry, entry_of

# under which keys commands stand, in all of the agents
_COMMANDS: Final = ("command", "bash", "powershell", "exec", "url", "prompt")

Spelled = Callable[[Call], object]


class Document(Struct, frozen=True, kw_only=True):
    """Settings in JSON or TOML: a list for each event, or one list for all.

    `at` says where the list is, `{event}` standing for the event; `spell` writes one entry of it. `head` is what a file
    has to say besides, where it does not yet. `depth` is how many steps an entry is below the top, where that is not
    a list of an event with everything in it.
    """

    at: tuple[str, ...]
    spell: Spelled
    head: Mapping[str, object] = {}
    depth: int = 0

    def added(self, text: str, calls: tuple[Call, ...], *, path: str) -> str:
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

    def removed(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Take ours out, and what is empty without them and was not there before."""
        value = edit.value_of(text, path=path)
        ours = [pointer for pointer, command in _commands(value) if entry_of(command)]
        if not ours:
            return text
        for pointer in reversed(ours):
            place = pointer[: self.depth] if self.depth else pointer
            if edit.at(edit.value_of(text, path=path), place) is not None:
                text = edit.drop(text, place, path=path, prune=not self.depth)
        there = edit.value_of(before or "", path=path)
        for place in dict.fromkeys(pointer[:size] for pointer in ours for size in range(len(self.at), 0, -1)):
            left = edit.at(edit.value_of(text, path=path), place)
            if left in ({}, []) and edit.at(there, place) is None:
                text = edit.drop(text, place, path=path)
        left = edit.value_of(text, path=path)
        is_bare = isinstance(left, Mapping) and all(left[key] == self.head.get(key) for key in left)
        return None if before is None and is_bare and not _has_comment(text, path=path) else text

    def entries(self, text: str, *, path: str) -> tuple[tuple[Entry, ...], int]:
        """Give the entries of ours in a text, and count the others."""
        return census(edit.value_of(text, path=path), self.at)

    def holds(self, text: str, calls: tuple[Call, ...], *, path: str) -> bool:
        """Say whether a text has exactly these entries of ours already, each as it would be written now."""
        value = edit.value_of(text, path=path)
        ours = sorted(command for _, command in _commands(value) if entry_of(command))
        if ours != sorted(call.command for call in calls):
            return False
        return all(_contains(edit.at(value, self._list(call.event)), self.spell(call)) for call in calls)


class Bundles(Struct, frozen=True, kw_only=True):
    """Settings of named bundles, of which one is ours: event by event, with groups for some and not for others."""

    name: str
    spell: Spelled

    def added(self, text: str, calls: tuple[Call, ...], *, path: str) -> str:
        """Add our bundle."""
        value = edit.value_of(text, path=path)
        if edit.at(value, (self.name,)) is not None:
            raise ConfigError(f'there is a bundle "{self.name}" that is not ours; nothing was changed', path=path)
        return edit.put(text, (self.name,), {call.event: [self.spell(call)] for call in calls}, path=path)

    def removed(self, text: str, *, path: str, before: str | None = None) -> str | None:
        """Take our bundle out; what somebody else has put into it stays."""
        ours, foreign = self.entries(text, path=path)
        if not ours:
            return text
        inside = _commands(edit.at(edit.value_of(text, path=path), (self.name,)))
        if all(entry_of(command) for _, command in inside):
            text = edit.drop(text, (self.name,), path=path)
        else:
            shape = Document(at=(self.name, "{event}"), spell=self.spell)
            return shape.removed(text, path=path, before=before)
        is_bare = not foreign and edit.value_of(text, path=path) == {}
        return None if before is None and is_bare and not _has_comment(text, path=path) else text

    def entries(self, text: str, *, path: str) -> tuple[tuple[Entry, ...], int]:
        """Give the entries of ours in a text, and count the others."""
        return census(edit.value_of(text, path=path), ())

    def holds(self, text: str, calls: tuple[Call, ...], *, path: str) -> bool:
        """Say whether a text has exactly these entries of ours already."""
        wanted = {call.event: [self.spell(call)] for call in calls}
        return edit.at(edit.value_of(text, path=path), (self.name,)) == wanted


class Script(Struct, frozen=True, kw_only=True):
    """A file that is ours from the first line to the last, such as a program for one event."""

    mark: str
    write: Callable[[tuple[Call, ...]], str]

    def added(self, text: str, calls: tuple[Call, ...], *, path: str) -> str:
        """Write the whole file.

        Raises:
            HostError: There is one of somebody else.
        """
        if text.strip():
            raise HostError(f"{path} is there and is not ours; move it away, and try again")
        return self.write(calls)

    def removed(self, text: str, *, path: str, before: str | None = None) -> str | None:  # noqa: ARG002 - see Shape
        """Take the file away where it is ours."""
        return None if self.mark in text else text

    def entries(self, text: str, *, path: str) -> tuple[tuple[Entry, ...], int]:  # noqa: ARG002 - see Shape
        """Give what our file runs; any other counts as one."""
        if self.mark not in text:
            return (), int(bool(text.strip()))
        return tuple(entry for line in text.splitlines() if (entry := entry_of(line))), 0

    def holds(self, text: str, calls: tuple[Call, ...], *, path: str) -> bool:  # noqa: ARG002 - see Shape
        """Say whether the file is as it would be written now."""
        return text == self.write(calls)


def groups(*, unit: int = 1, matcher: str = "", more: Mapping[str, object] | None = None) -> Spelled:
    """Give a speller of matcher groups with one command each, or one URL; `unit` is what a second counts."""

    def spell(call: Call) -> object:
        what = called(call) if call.headers else {"type": "command", "command": call.command}
        handler = {**what, "timeout": call.seconds * unit, **(more or {})}
        return {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}

    return spell


def called(call: Call) -> dict[str, object]:
    """Spell the call of a URL; variables in a header are replaced only where they are named beside it."""
    named = [value[1:] for _, value in call.headers if value.startswith("$")]
    strict = {"onFailure": "block"} if call.strict else {}
    return {"type": "http", "url": call.command, "headers": dict(call.headers), "allowedEnvVars": named, **strict}


def census(value: object, at: Sequence[str]) -> tuple[tuple[Entry, ...], int]:
    """Give our entries below a place of a document, and count the others.

    A list of an event that has something in it without a command is counted as a hook all the same.
    """
    inside = edit.at(value, tuple(at[: at.index("{event}")] if "{event}" in at else at))
    commands = [command for _, command in _commands(inside)]
    ours = tuple(entry for command in commands if (entry := entry_of(command)))
    return ours, len(commands) - len(ours)


def _commands(value: object, pointer: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Find everything in a document that is run."""
    match value:
        case Mapping():
            said = next((value[key] for key in _COMMANDS if isinstance(value.get(key), str)), None)
            if said is not None:
                yield pointer, str(said)
                return
            for key, one in value.items():
                yield from _commands(one, (*pointer, str(key)))
        case list():
            for place, one in enumerate(value):
                yield from _commands(one, (*pointer, place))


def _contains(entries: object, wanted: object) -> bool:
    return isinstance(entries, list) and wanted in entries


def _has_comment(text: str, *, path: str) -> bool:
    """Say whether somebody wrote more into a file than its values."""
    if edit.syntax_of(path) == "toml":
        return "#" in text
    from hookline.config.jsonc import blank  # noqa: PLC0415 - only an emptied file is looked at

    return blank(text) != text
