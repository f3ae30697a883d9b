"""Generated events and payloads for property-based tests, with Hypothesis."""

from collections.abc import Mapping
from typing import Final

from hookline.debug.samples import DATA, TOOLS
from hookline.errors import ConfigError
from hookline.events import TYPED_EVENTS
from hookline.model.event import EVENTS, Event, EventName, Session
from hookline.testing.builders import list_agents, payload

try:
    from hypothesis import strategies as st
except ImportError:
    raise ImportError("hookline.testing.strategies needs Hypothesis: pip install hypothesis") from None

texts: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
"""Any text that JSON can hold."""
_words: Final = texts.filter(bool)
_numbers: Final = st.integers(0, 2**31)
_values: Final[st.SearchStrategy[object]] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
_objects: Final = st.dictionaries(texts, _values, max_size=3)
_commands: Final = st.sampled_from(
    [
        "ls",
        "git status",
        "git push --force",
        "rm -rf /",
        "cat .env",
        "make && ./deploy.sh",
        "echo 'a; b' | sh",
        "sudo -n id",
    ]
)
_paths: Final = st.sampled_from(["src/example.py", ".env", "../outside", "/etc/passwd", "a b/ü.txt", "~/.ssh/id_rsa"])
_BY_NAME: Final[Mapping[str, st.SearchStrategy[object]]] = {
    "command": _commands | texts,
    "path": _paths | _words,
    "paths": st.lists(_paths | _words, max_size=3),
}
_BY_TYPE: Final[Mapping[object, st.SearchStrategy[object]]] = {
    str: texts,
    int: _numbers,
    float: st.floats(0, 1e6, allow_nan=False),
    bool: st.booleans(),
    object: _values,
}


@st.composite
def events(draw: st.DrawFn, *names: str) -> Event:
    """Generate events of these canonical names, or of all.

    Fields have the types that the events have; arguments of tools are what agents send, dangerous commands, and any text.

    Raises:
        ConfigError: There is no such event.
    """
    for wanted in names:
        if wanted not in EVENTS:
            raise ConfigError(f"there is no event {wanted!r}; there are {', '.join(EVENTS)}")
    name = EventName(draw(st.sampled_from([*(names or EVENTS)])))
    data = {
        field: draw(_BY_TYPE.get(kind, st.just(DATA[name].get(field, []))))
        for field, kind in TYPED_EVENTS[name].fields.items()
        if draw(st.booleans())
    }
    tool, args = "", {}
    if EVENTS[name].subject == "tool":
        tool = draw(st.sampled_from([*TOOLS, "mcp__files__write", "deploy"]))
        known = TOOLS.get(tool, {})
        args = {key: draw(_BY_NAME.get(key, st.just(value))) for key, value in known.items()}
        args |= draw(_objects) if not known else {}
    session = Session(id=draw(_words), model=draw(texts))
    return Event(
        name=name, data=data, tool=tool, args=args, session=session, cwd=draw(st.sampled_from(["/work", "/a b"]))
    )


@st.composite
def payloads(draw: st.DrawFn, agent: str, *names: str) -> bytes:
    """Generate the bytes that an agent sends, at these events or at all that it has.

    Raises:
        ConfigError: There is no such agent, or it does not have the event.
    """
    known = names or tuple(name for name in EVENTS if agent in list_agents(name))
    return payload(agent, draw(events(*known)))
