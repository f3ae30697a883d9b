"""A model that says one turn of a script after another, whatever the history is: a summary shortens it, and subagents have their own."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.agents.model import ASIDE, Conversation, speaking
from tests.agents.speech import Json, Request, Turn


@dataclass(slots=True)
class Script(Conversation):
    """Says its turns in order; a request without tools is for a summary."""

    said: int = field(default=0)

    def next(self, body: Json, request: Request) -> Turn:
        """Keep a request, and give the next turn."""
        with self.lock:
            self.bodies.append(body)
            if not request.has_tools:
                return ASIDE
            self.said += 1
            return self.turns[min(self.said, len(self.turns)) - 1]

    @property
    def last_texts(self) -> str:
        """All that the model was sent with the last request."""
        return str(self.bodies[-1])


@contextmanager
def scripted(*turns: Turn) -> Iterator[tuple[Script, str]]:
    """Serve a script on loopback, and give it with the address of the server."""
    script = Script(turns)
    with speaking(script) as port:
        yield script, f"http://127.0.0.1:{port}"


def texts(*said: str) -> Sequence[Turn]:
    """Make turns of texts."""
    return [Turn(one) for one in said]
