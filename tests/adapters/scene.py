"""One scene for every library: a model that calls one tool and then answers, and an engine that hears of it."""

from collections.abc import Callable

from hookline import Engine, Event, Verdict

COMMAND = "rm -rf build"


class Scene:
    """An engine with a note of every event, and of every command that the tool really ran."""

    def __init__(self, **answers: Verdict) -> None:
        self.engine = Engine()
        self.heard: list[Event] = []
        self.ran: list[str] = []
        for name in ("before_agent", "before_tool", "after_tool", "tool_failed", "after_agent"):
            self.engine.on(name)(self._hook(answers.get(name)))

    def _hook(self, answer: Verdict | None) -> Callable[[Event], Verdict | None]:
        def hook(event: Event) -> Verdict | None:
            self.heard.append(event)
            return answer

        return hook

    def run(self, command: str) -> str:
        """Be the tool."""
        if command == "fail":
            raise OSError("the disk is full")
        self.ran.append(command)
        return f"output of {command}"

    @property
    def names(self) -> list[str]:
        """The events, in order."""
        return [str(event.name) for event in self.heard]

    def event(self, name: str) -> Event:
        """Give the first event of a name."""
        return next(event for event in self.heard if event.name == name)
