"""The whole watcher in one process: real files, real programs, and the rules that keep it from going round."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hookline.errors import ConfigError
from hookline.model.event import Event
from hookline.model.hook import Hook
from hookline.model.verdict import Outcome
from hookline.project import Project
from hookline.sources import live_project as configured_module
from hookline.sources import watcher as watcher_module
from hookline.sources.live_project import LiveProject
from hookline.sources.watcher import Watcher, WatchListener, WatchOptions, relative_paths, select_file_hooks

pytestmark = pytest.mark.slow

SOON = 90
EVENTS = '["file_created", "file_edited", "file_deleted"]'


class Place:
    """A home and a project, and everything a watcher said about them."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.settings = folder / "home" / ".config" / "hookline" / "hookline.toml"
        self.runs = folder / "runs"
        self.heard: list[tuple[Event, Outcome]] = []
        self.loads: list[Project] = []
        self.told: list[str] = []

    def hook(self, name: str, script: str, more: str = "") -> str:
        """Write a hook of the person that notes its runs and does something."""
        path = self.settings.parent / f"{name}.sh"
        path.write_text(f"#!/bin/sh\ncat > /dev/null\necho {name} >> {self.runs}\n{script}\n")
        path.chmod(0o755)
        on = "" if "schedule" in more else f"on = {EVENTS}\n"
        return f'[[hook]]\nid = "{name}"\n{on}run = ["{path}"]\n{more}\n'

    def ran(self) -> list[str]:
        return self.runs.read_text().split() if self.runs.exists() else []

    def paths(self) -> list[tuple[str, str]]:
        return [(str(event.name), event.subject) for event, outcome in self.heard if outcome.verdicts]

    async def come(self, is_there: Callable[[], bool]) -> None:
        async with asyncio.timeout(SOON):
            while not is_there():  # noqa: ASYNC110 - what comes true is on the disk
                await asyncio.sleep(0.02)

    def watch(self, toml: str, scenario: Callable[[], Awaitable[None]], **wanted: object) -> None:
        self.settings.write_text(toml)

        async def run() -> None:
            configured = LiveProject(self.project)
            audience = WatchListener(
                lambda event, outcome: self.heard.append((event, outcome)), self.loads.append, self.told.append
            )
            watcher = Watcher(configured, audience, WatchOptions(quiet=0.05, **wanted))  # type: ignore[arg-type]
            watching = asyncio.create_task(watcher.run())
            try:
                await self._ready(watcher, watching)
                await scenario()
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
                await configured.close()

        asyncio.run(run())

    async def _ready(self, watcher: Watcher, watching: asyncio.Task[None]) -> None:
        """Wait for the first word about a file that comes and goes, if anybody listens."""
        await self.come(lambda: bool(self.loads) or watching.done())
        if watcher._follow_task is None:  # noqa: SLF001 - nobody is about files
            return
        number = 0

        def probed() -> bool:
            nonlocal number
            number += 1
            (self.project / "probe").write_text(f"{number}")
            return bool(self.heard)

        await self.come(probed)
        await asyncio.sleep(0.3)
        (self.project / "probe").unlink()
        await self.come(lambda: ("file_deleted", "probe") in self.paths())
        await asyncio.sleep(0.3)
        self.heard.clear()
        self.runs.unlink(missing_ok=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in [name for name in os.environ if name.startswith(("XDG_", "HOOKS_", "HOOKLINE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(configured_module, "POLL_SECONDS", 0.05)
    made = Place(tmp_path)
    made.settings.parent.mkdir(parents=True)
    made.project.mkdir()
    return made


@pytest.mark.spec("D-02")
def test_hooks_hear_of_the_files_their_patterns_match(place: Place) -> None:
    toml = place.hook("python", "", 'files = ["*.py", "probe"]')

    async def scenario() -> None:
        (place.project / "a.txt").write_text("x")
        (place.project / "a.py").write_text("x")
        await place.come(lambda: ("file_created", "a.py") in place.paths())
        (place.project / "a.py").write_text("y")
        await place.come(lambda: ("file_edited", "a.py") in place.paths())
        (place.project / "a.py").unlink()
        await place.come(lambda: ("file_deleted", "a.py") in place.paths())

    place.watch(toml, scenario)

    assert place.paths() == [("file_created", "a.py"), ("file_edited", "a.py"), ("file_deleted", "a.py")]


@pytest.mark.spec("D-08")
def test_an_edit_is_told_with_content_and_diff(place: Place) -> None:
    (place.project / "a.py").write_text("a = 1\n")

    async def scenario() -> None:
        (place.project / "a.py").write_text("a = 2\n")
        await place.come(lambda: ("file_edited", "a.py") in place.paths())

    place.watch(place.hook("any", ""), scenario)

    event = place.heard[0][0]
    assert event.data["content"] == "a = 2\n"
    assert "-a = 1\n+a = 2\n" in str(event.data["diff"])
    assert event.cwd == str(place.project)
    assert event.session.id.startswith("watch-")


def test_a_condition_may_ask_about_the_content(place: Place) -> None:
    toml = place.hook("todo", "", 'if = \'path == "probe" || content.contains("TODO")\'')

    async def scenario() -> None:
        (place.project / "a.py").write_text("fine")
        (place.project / "b.py").write_text("TODO: more")
        await place.come(lambda: ("file_created", "b.py") in place.paths())

    place.watch(toml, scenario)

    assert place.paths() == [("file_created", "b.py")]


@pytest.mark.slow
def test_a_formatter_is_told_of_its_own_change_once_and_then_all_is_quiet(place: Place) -> None:
    toml = place.hook("format", f"[ -f {place.project}/a.py ] && echo formatted > {place.project}/a.py; true")

    async def scenario() -> None:
        (place.project / "a.py").write_text("messy\n")
        await place.come(lambda: (place.project / "a.py").read_text() == "formatted\n")
        await place.come(lambda: len(place.ran()) == 2)
        await asyncio.sleep(1)

    place.watch(toml, scenario)

    assert place.paths() == [("file_created", "a.py"), ("file_edited", "a.py")]
    assert place.told == []


@pytest.mark.slow
def test_a_hook_that_changes_its_file_each_time_comes_to_an_end_and_that_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher_module, "ROUND_WAITS", (0.1, 0.2, 0.3))
    toml = place.hook("grow", f"[ -f {place.project}/a.py ] && echo more >> {place.project}/a.py; true")

    async def scenario() -> None:
        (place.project / "a.py").write_text("one\n")
        await place.come(lambda: bool(place.told))
        ended = len(place.ran())
        await asyncio.sleep(1)
        assert len(place.ran()) == ended <= watcher_module.LAST_ROUND + 1
        # whoever changes it when all is quiet is heard
        await asyncio.sleep(2.5)
        (place.project / "a.py").write_text("mine\n")
        await place.come(lambda: len(place.ran()) > ended)

    place.watch(toml, scenario)

    assert "a.py: changed again each time hooks ran" in place.told[0]


@pytest.mark.slow
def test_a_hook_that_makes_another_file_each_time_comes_to_an_end(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher_module, "ROUND_WAITS", (0.1, 0.2, 0.3))
    toml = place.hook("spread", f"n=$(ls {place.project} | wc -l); [ $n -gt 1 ] && touch {place.project}/f$n; true")

    async def scenario() -> None:
        (place.project / "a").write_text("x")
        (place.project / "b").write_text("x")
        await place.come(lambda: bool(place.told))
        count = len(list(place.project.iterdir()))
        await asyncio.sleep(1)
        assert len(list(place.project.iterdir())) == count

    place.watch(toml, scenario)


def test_two_hooks_that_change_each_others_files_come_to_an_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_module, "ROUND_WAITS", (0.1, 0.2, 0.3))
    there = f"[ -f {place.project}/a ] &&"
    toml = place.hook("ping", f"{there} echo x >> {place.project}/b; true", 'files = ["a", "probe"]')
    toml += place.hook("pong", f"{there} echo x >> {place.project}/a; true", 'files = ["b"]')

    async def scenario() -> None:
        (place.project / "a").write_text("start\n")
        await place.come(lambda: bool(place.told))

    place.watch(toml, scenario)

    assert {"ping", "pong"} == set(place.ran())


@pytest.mark.slow
def test_a_person_who_saves_while_hooks_run_is_heard(place: Place) -> None:
    """The hook is slow, and each save but the first comes while it runs: the last one is never lost."""
    toml = place.hook("slow", f"cat {place.project}/a.py >> {place.runs}.seen 2> /dev/null; sleep 0.3")

    async def scenario() -> None:
        for number in range(12):
            (place.project / "a.py").write_text(f"save{number}\n")
            await asyncio.sleep(0.25)
        seen = Path(f"{place.runs}.seen")
        await place.come(lambda: seen.exists() and "save11" in seen.read_text())

    place.watch(toml, scenario)

    assert place.told == []


@pytest.mark.slow
@pytest.mark.spec("D-02")
def test_two_thousand_files_in_a_second_are_each_told_once(place: Place) -> None:
    """The hook is a program that runs once for each of them, and nothing runs afterwards."""
    for number in range(2_000):
        path = place.project / f"d{number % 50}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("old")

    async def scenario() -> None:
        for number in range(2_000):
            (place.project / f"d{number % 50}" / f"{number}.txt").write_text("new")
            (place.project / f"d{number % 50}" / f"{number}.log").write_text("not meant")
        await place.come(lambda: len(place.heard) >= 2_000)
        await asyncio.sleep(1.5)

    place.watch(place.hook("count", "", 'files = ["*.txt", "probe"]'), scenario)

    assert sorted(place.paths()) == sorted(("file_edited", f"d{number % 50}/{number}.txt") for number in range(2_000))
    assert len(place.ran()) == 2_000
    assert place.told == []


def test_a_hook_that_nobody_approved_neither_runs_nor_has_anything_read_for_it(place: Place) -> None:
    (place.project / "hookline.toml").write_text(
        f'[[hook]]\nid = "theirs"\non = {EVENTS}\nrun = ["sh", "-c", "touch ran"]\n'
    )
    (place.project / "secret").write_text("old\n")

    async def run() -> None:
        configured = LiveProject(place.project)
        audience = WatchListener(
            lambda event, outcome: place.heard.append((event, outcome)), place.loads.append, place.told.append
        )
        watching = asyncio.create_task(Watcher(configured, audience, WatchOptions(quiet=0.05)).run())
        number = 0

        def heard() -> bool:
            nonlocal number
            number += 1
            (place.project / "secret").write_text(f"{number}\n")
            return bool(place.heard)

        await place.come(heard)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await configured.close()

    asyncio.run(run())

    event, outcome = place.heard[0]
    assert set(event.data) == {"path", "size", "changed"}
    assert [str(skip.gate) for skip in outcome.skipped] == ["trust"]
    assert not (place.project / "ran").exists()


def test_an_approval_that_comes_while_watching_counts_from_the_next_edit_on(place: Place) -> None:
    (place.project / "hookline.toml").write_text(
        f'[[hook]]\nid = "theirs"\non = {EVENTS}\nrun = ["sh", "-c", "true"]\n'
    )
    (place.project / "a").write_text("old\n")

    async def run() -> None:
        configured = LiveProject(place.project)
        audience = WatchListener(
            lambda event, outcome: place.heard.append((event, outcome)), place.loads.append, place.told.append
        )
        watching = asyncio.create_task(Watcher(configured, audience, WatchOptions(quiet=0.05)).run())
        await place.come(lambda: bool(place.loads))
        configured.engine.trust.approve(configured.project.hooks[0], cwd=str(place.project))
        await place.come(lambda: len(place.loads) == 2)
        await asyncio.sleep(0.5)
        (place.project / "a").write_text("new\n")
        await place.come(lambda: bool(place.paths()))
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await configured.close()

    asyncio.run(run())

    assert "-old\n+new\n" in str(place.heard[0][0].data["diff"])


def test_hooks_that_come_while_watching_are_heard_and_those_that_go_are_not(place: Place) -> None:
    async def scenario() -> None:
        assert place.loads[0].loaded.hooks == ()
        place.settings.write_text(place.hook("late", ""))
        await place.come(lambda: len(place.loads) == 2)
        number = 0

        def heard() -> bool:
            nonlocal number
            number += 1
            (place.project / "a").write_text(f"{number}")
            return bool(place.heard)

        await place.come(heard)
        place.settings.write_text("[[hook]\n")
        await place.come(lambda: len(place.loads) == 3)
        assert place.loads[-1].problems
        await asyncio.sleep(0.5)
        place.heard.clear()
        (place.project / "a").write_text("nobody listens")
        await asyncio.sleep(0.5)
        assert place.heard == []

    place.watch("", scenario)


def test_a_hook_runs_by_the_clock_and_its_event_says_when(place: Place) -> None:
    toml = place.hook("tick", "", 'schedule = "* * * * * *"')

    async def scenario() -> None:
        await place.come(lambda: len(place.heard) >= 2)

    place.watch(toml, scenario)

    first, second = (event for event, _ in place.heard[:2])
    assert first.name == "scheduled"
    assert first.subject == "tick"
    assert first.data["schedule"] == "* * * * * *"
    assert int(str(second.data["due"])) > int(str(first.data["due"]))
    assert len(place.ran()) >= 2


def test_a_hook_that_takes_longer_than_its_schedule_is_not_started_twice(place: Place) -> None:
    toml = place.hook("long", "sleep 2.5", 'schedule = "* * * * * *"')

    async def scenario() -> None:
        await place.come(lambda: bool(place.told))
        assert place.ran() == ["long"]

    place.watch(toml, scenario)

    assert 'hook "long" is still running' in place.told[0]


def test_a_warning_about_an_endless_chain_is_in_the_trace(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_module, "ROUND_WAITS", (0.1, 0.1, 0.1))
    toml = place.hook("grow", f"[ -f {place.project}/a ] && echo more >> {place.project}/a; true")
    warned: list[str] = []

    async def scenario() -> None:
        (place.project / "a").write_text("one\n")
        engine = place.loads[-1].engine
        engine.bus.subscribe(lambda record: warned.append(json.dumps(record.detail, default=str)))
        await place.come(lambda: bool(place.told))
        await engine.drain()

    place.watch(toml, scenario)

    assert any("changed again each time hooks ran" in line for line in warned)


def test_hooks_about_files_are_chosen_by_their_events() -> None:
    hooks = [
        Hook(id="files", on="file_deleted", command="x"),
        Hook(id="off", on="file_deleted", command="x", enabled=False),
        Hook(id="tools", on="before_tool", command="x"),
    ]

    assert [hook.id for hook in select_file_hooks(hooks)] == ["files"]


def test_paths_are_counted_from_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    project = tmp_path / "project"
    monkeypatch.chdir(project)

    assert relative_paths(project, [Path("src"), project / "src"]) == ("src", "src")
    assert relative_paths(project, [Path("src"), Path()]) == ()
    with pytest.raises(ConfigError, match="is not in the project"):
        relative_paths(project, [tmp_path / "other"])
    with pytest.raises(ConfigError, match="there is no"):
        relative_paths(project, [Path("missing")])
