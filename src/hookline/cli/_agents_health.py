"""What `hookline doctor` finds out about agents: which of their calls reach us, and which never did."""

import os
import time
from collections.abc import Iterator
from typing import Final

from hookline.bridge import ledger
from hookline.bridge.missed import missed
from hookline.bridge.trial import GONE, Standing, try_out
from hookline.cli._finding import Finding, Health
from hookline.cli._output import counted
from hookline.hosts.host import Around
from hookline.workspace import Opened

_RECENT: Final = 7 * 86_400.0  # seconds
_MOST: Final = 50


def agents(project: Opened) -> Iterator[Finding]:
    """Call us as each agent would that has us in its settings."""
    folders = project.folders
    around = Around(home=folders.home, data=folders.data, project=project.root, environ=dict(os.environ))
    standings = list(try_out(around))
    if not standings:
        yield Finding(Health.NOTE, "no agent has us in its settings", "`hookline install` puts us there")
    for standing in standings:
        yield from _standing(standing)


def _standing(standing: Standing) -> Iterator[Finding]:
    again = f"`hookline install {standing.host}` writes the entries anew"
    woken = "`hookline daemon start` starts it; the next session of the agent does so, too"
    arrived = [one for one in standing.tried if one.arrived]
    if arrived:
        names = ", ".join(dict.fromkeys(one.event for one in arrived))
        text = f"{standing.host}: {counted(len(arrived), 'event')} of {len(standing.tried)} reach us: {names}"
        yield Finding(Health.OK, text)
    silent: dict[tuple[str, str, bool], list[str]] = {}
    for one in standing.tried:
        if not one.arrived:
            silent.setdefault((one.path, one.why, one.called), []).append(one.event)
    for (path, why, called), events in silent.items():
        text = f"{standing.host}: {', '.join(events)} in {path} do not reach us: {why}"
        yield Finding(Health.ERROR, text, woken if called else again)
    # a program that has gone was found out by trying already
    gone = tuple(one.why.partition(GONE)[2] for one in standing.tried if GONE in one.why)
    for text in standing.obstacles:
        if gone and text.startswith(gone):
            continue
        yield Finding(Health.ERROR, f"{standing.host} would not run our entries: {text}")
    for text in standing.problems:
        yield Finding(Health.WARNING, f"{standing.host}: {text}")


def sessions(project: Opened) -> Iterator[Finding]:
    """Compare what agents wrote down in the last days with the calls that reached us."""
    compared = 0
    for path in list(ledger.ledgers(project.folders.data, since=time.time() - _RECENT))[:_MOST]:
        compared += 1
        # calls have to have reached us at least once: what stands in the settings now says nothing about then
        alarm = missed(path, is_installed=lambda: False)
        if alarm:
            yield Finding(Health.ERROR, f"in a session of the last days {alarm.partition('; ')[0]}")
    if compared:
        yield Finding(Health.OK, f"{counted(compared, 'session')} of the last days looked at for calls that we missed")
