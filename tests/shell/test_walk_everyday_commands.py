"""Everyday command lines and forbidden ones, both ways, from commands.toml."""

import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from hookline.config.file_patterns import file_patterns, follow_links, list_files
from hookline.effects.effects import Effects
from hookline.effects.tools import find_effects
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Source

pytestmark = pytest.mark.spec("U-03")

TABLE: Final = tomllib.loads((Path(__file__).parent / "commands.toml").read_text("utf-8"))
FILES: Final = (
    *(".env", ".env.example", ".env.local", "README.md", "package.json", "package-lock.json", "a.txt", "data.csv"),
    *("yarn.lock", "poetry.lock", "Makefile", "docs/x.md", "../../.ssh/id_rsa"),
    *("src/app.py", "certs/server.pem", ".git/HEAD", ".git/config", ".git/hooks/pre-commit", ".git/index.lock"),
)


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    # not below /tmp, which the rules leave open
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        folder = Path(home).resolve() / "work" / "project"
        for name in FILES:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("x\n", "utf-8")
        yield folder


@pytest.fixture
def planner(project: Path, monkeypatch: pytest.MonkeyPatch) -> HookPlanner:
    monkeypatch.setenv("HOME", str(project.parent.parent))
    registry = HookRegistry()
    for name, keys in {**TABLE["rules"], **TABLE["special"]}.items():
        registry.register_hook("before_tool", Hook(id=name, on="before_tool", deny="no", source=Source.USER, **keys))
    return HookPlanner(registry, file_patterns=file_patterns, follow_links=follow_links, list_files=list_files)


def lines_of(group: dict[str, str]) -> Iterator[str]:
    for line in group["lines"].splitlines():
        if line:
            yield line.replace("⏎", "\n")


def tripped(planner: HookPlanner, project: Path, line: str) -> set[str]:
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": line}, cwd=str(project))
    return {hook.id for hook in planner.plan(event).hooks}


def test_line_is_read_again_as_it_was_read_first(project: Path) -> None:
    groups = (*TABLE["everyday"], *TABLE["forbidden"], *TABLE["allowed"])
    lines = [line for group in groups for line in lines_of(group)]

    def effects() -> list[Effects]:
        calls = (Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": one}) for one in lines)
        return [find_effects(replace(call, cwd=str(project))) for call in calls]

    # what is cached of a line must not change by being read
    assert effects() == effects()


def test_everyday_lines_trip_no_rule(planner: HookPlanner, project: Path) -> None:
    wrong = [
        f"{line!r} trips {sorted(found)}"
        for group in TABLE["everyday"]
        for line in lines_of(group)
        if (found := tripped(planner, project, line) - set(group.get("except", ())) - set(TABLE["special"]))
    ]

    assert wrong == []


@pytest.mark.parametrize("group", TABLE["forbidden"], ids=lambda group: group["rule"])
def test_forbidden_lines_trip_their_rule(group: dict[str, str], planner: HookPlanner, project: Path) -> None:
    wrong = [line for line in lines_of(group) if group["rule"] not in tripped(planner, project, line)]

    assert wrong == []


@pytest.mark.parametrize("group", TABLE["allowed"], ids=lambda group: group["rule"])
def test_near_misses_do_not_trip_the_rule(group: dict[str, str], planner: HookPlanner, project: Path) -> None:
    wrong = [line for line in lines_of(group) if group["rule"] in tripped(planner, project, line)]

    assert wrong == []


def test_the_table_is_long_enough_to_mean_something() -> None:
    counts = {
        name: sum(len(list(lines_of(group))) for group in TABLE[name]) for name in ("everyday", "forbidden", "allowed")
    }

    assert counts["everyday"] >= 800
    assert counts["forbidden"] >= 1500
    assert counts["allowed"] >= 100
