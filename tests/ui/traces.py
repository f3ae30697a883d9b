"""Traces of several agents, written by the real store."""

import time
from collections.abc import Iterable
from pathlib import Path

from hookline.model.record import Record, Step
from hookline.stores.sqlite import SqliteTraces

AGENTS = ("claude-code", "codex-cli", "gemini-cli")


def make_call(
    number: int,
    *,
    agent: str = "claude-code",
    session: str = "",
    subject: str = "git status",
    decision: str = "pass",
    reason: str = "",
    hook: str = "guard",
    took: float = 0.01,
    ago: float = 0.0,
) -> list[Record]:
    """Give the records of one call, as the engine writes them."""
    at = time.time() - ago

    def record(step: Step, since: float, detail: dict[str, object], name: str = "") -> Record:
        return Record(
            f"trace{number:05}", step, at + since, "before_tool", session or f"{agent}-1", name, detail,
            host=agent, project="/home/me/shop", tool="shell", subject=subject,
        )  # fmt: skip

    reasons = [reason] if reason else []
    return [
        record(Step.EVENT, 0.0, {"tool": "shell"}),
        record(Step.COMPLETED, took, {"decision": decision, "reason": reason, "duration": took}, hook),
        record(Step.OUTCOME, took, {"decision": decision, "reasons": reasons, "ran": 1, "failed": 0, "duration": took}),
    ]


def store(path: Path, calls: Iterable[list[Record]]) -> None:
    """Write records with the store that every engine has."""
    traces = SqliteTraces(path)
    for call in calls:
        for record in call:
            traces.write(record)
    traces.close()
