"""Show what happened, as it happens."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from rich.console import Console
from rich.text import Text

from hookline.model.record import Record, Step
from hookline.model.verdict import Effect, EffectKind

_COLOURS: Final = {"pass": "green", "allow": "green", "ask": "yellow", "deny": "red", "stop": "red"}
_EFFECTS: Final[Mapping[EffectKind, str]] = MappingProxyType(
    {
        EffectKind.REWRITE: "rewrites",
        EffectKind.CONTEXT: "tells the model",
        EffectKind.MESSAGE: "tells the person",
        EffectKind.ASK_AGENT: "asks the agent",
        EffectKind.DATA: "hands on",
    }
)


class Timeline:
    """A sink that prints the records of each event under its name."""

    def __init__(self, console: Console, started: float, described: Mapping[str, str]) -> None:
        self._console = console
        self._started = started
        self._described = described
        # a notification runs beside other events; each event is shown whole, when it is over
        self._lines: dict[str, list[Text]] = {}
        self._show: Mapping[Step, Callable[[Record], Text]] = MappingProxyType(
            {
                Step.EVENT: self._event,
                Step.COMPLETED: self._completed,
                Step.FAILED: self._failed,
                Step.SKIPPED: self._skipped,
                Step.OUTCOME: self._outcome,
            }
        )

    def __call__(self, record: Record, /) -> None:
        """Take one record."""
        if record.step in self._show:
            self._lines.setdefault(record.trace, []).append(self._show[record.step](record))
        if record.step is Step.OUTCOME:
            self._console.print()
            for line in self._lines.pop(record.trace):
                self._console.print(line, no_wrap=True, overflow="ellipsis")

    def _event(self, record: Record) -> Text:
        head = Text.assemble((f"{record.at - self._started:6.2f} s  ", "dim"), (record.event, "bold cyan"))
        if "tool" in record.detail:
            return head.append(f"  {record.detail['tool']} {_short(record.detail.get('args'))}")
        return head.append(f"  {_short(record.detail.get('data'))}", "dim")

    def _completed(self, record: Record) -> Text:
        decision = str(record.detail["decision"])
        line = self._line(record, decision, _COLOURS[decision])
        return line.append("".join(f"  {text}" for text in self._said(record)))

    def _failed(self, record: Record) -> Text:
        word = "failed, blocks" if record.detail.get("blocked_by_failure") else "failed"
        return self._line(record, word, "magenta").append(f"  {record.detail['message']}")

    def _skipped(self, record: Record) -> Text:
        line = Text.assemble(
            "         · ", (f"{record.hook:14}", "bold"), (f"{self._described[record.hook]:26}", "dim")
        )
        return line.append("not run", "yellow").append(f": {record.detail['reason']}")

    def _outcome(self, record: Record) -> Text:
        decision = str(record.detail["decision"])
        line = Text.assemble("         = ", (decision, _COLOURS[decision]), f" after {_ms(record.detail['duration'])}")
        reasons = record.detail["reasons"]
        if isinstance(reasons, tuple) and reasons:
            line.append(f": {'; '.join(reasons)}")
        return line

    def _line(self, record: Record, word: str, colour: str) -> Text:
        return Text.assemble(
            "         · ",
            (f"{record.hook:14}", "bold"),
            (f"{self._described.get(record.hook, ''):26}", "dim"),
            f"{_ms(record.detail['duration']):>9}  ",
            (word, colour),
        )

    def _said(self, record: Record) -> Iterable[str]:
        if record.detail.get("reason"):
            yield str(record.detail["reason"])
        effects = record.detail.get("effects", ())
        for effect in effects if isinstance(effects, tuple) else ():
            if isinstance(effect, Effect):
                yield f"{_EFFECTS[effect.kind]} {'.'.join(effect.path)} {_short(effect.value)}".replace("  ", " ")


def _ms(seconds: object) -> str:
    return f"{seconds * 1000:.1f} ms" if isinstance(seconds, float) else ""


def _short(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_short(item)}" for key, item in value.items())
    text = str(value).replace("\n", "⏎")
    return text if len(text) <= 70 else f"{text[:70]}…"  # noqa: PLR2004 - what fits a line
