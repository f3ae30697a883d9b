"""Everything a hook needs, looked for at once and remembered for a moment."""

import asyncio
from pathlib import Path

import pytest

from hookline import Engine, Hook
from hookline.model.hook import OnError, Source
from hookline.model.requirements import Needs
from hookline.model.verdict import Decision
from hookline.requirements import CHECKS, clear_cache, find_missing


def hook(needs: Needs | None, source: Source = Source.USER, **more: object) -> Hook:
    build = dict(more)
    return Hook(id="h", on="before_tool", command="/bin/true", needs=needs, source=source, **build)  # type: ignore[arg-type]


def missing(needs: Needs | None, cwd: Path) -> str:
    return asyncio.run(find_missing(hook(needs), str(cwd)))


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    clear_cache()


def test_hook_without_needs_misses_nothing(tmp_path: Path) -> None:
    assert missing(None, tmp_path) == ""
    assert missing(Needs(), tmp_path) == ""


def test_every_list_of_needs_is_looked_for() -> None:
    # what answers have to do is the agent's business, and nothing to look for
    assert {*CHECKS, "answers"} == set(Needs.__struct_fields__)


@pytest.mark.spec("D-12")
def test_all_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    needs = Needs(tools=("no-tool",), files=("no-file",), services=("tcp://127.0.0.1:1",), env=("NO_VARIABLE",))

    text = missing(needs, tmp_path)

    assert [word in text for word in ("no-tool", "no-file", "127.0.0.1:1", "NO_VARIABLE")] == [True] * 4


@pytest.mark.spec("D-12")
def test_variable_counts_when_it_is_set_and_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = Needs(env=("WANTED_HERE",))
    monkeypatch.delenv("WANTED_HERE", raising=False)
    unset = missing(needs, tmp_path)
    monkeypatch.setenv("WANTED_HERE", "")
    empty = missing(needs, tmp_path)
    monkeypatch.setenv("WANTED_HERE", "yes")

    assert unset == empty == "the variable WANTED_HERE is not set: set it, or give it in the hook's env"
    assert missing(needs, tmp_path) == ""


def test_variable_that_the_hook_sets_itself_is_there(tmp_path: Path) -> None:
    own = hook(Needs(env=("OF_THE_HOOK",)), env={"OF_THE_HOOK": "1"})

    assert asyncio.run(find_missing(own, str(tmp_path))) == ""


def test_what_was_found_is_not_looked_for_again_at_once(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "counted"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\necho 1.0\n")
    tool.chmod(0o755)
    wanted = hook(Needs(tools=("counted>=1",)), env={"PATH": f"{tool.parent}:/usr/bin:/bin"})

    async def often() -> set[str]:
        return {await find_missing(wanted, str(tmp_path / "project")) for _ in range(20)}

    assert asyncio.run(often()) == {""}
    assert len((tmp_path / "runs").read_text().split()) < 20


def test_another_folder_is_looked_at_anew(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f").touch()
    (tmp_path / "b").mkdir()
    needs = Needs(files=("f",))

    assert missing(needs, tmp_path / "a") == ""
    assert "is not there" in missing(needs, tmp_path / "b")


# With an engine


def emit(tmp_path: Path, one: Hook) -> tuple[Decision, list[str], list[str]]:
    engine = Engine(cwd=str(tmp_path))
    engine.add(one)
    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    engine.close_sync()
    return outcome.decision, list(outcome.reasons), [f"{skip.gate}: {skip.reason}" for skip in outcome.skipped]


@pytest.mark.spec("D-12", "D-01")
def test_hook_that_lacks_something_is_left_out_with_the_reason(tmp_path: Path) -> None:
    one = Hook(
        id="h",
        on="before_tool",
        command="touch ran",
        shell=True,
        needs=Needs(files=("absent.txt",)),
        source=Source.USER,
    )

    decision, _, skipped = emit(tmp_path, one)

    assert decision is Decision.PASS
    assert not (tmp_path / "ran").exists()
    assert skipped == [
        f'needs: the file "{tmp_path}/absent.txt" is not there: make it, or correct files in needs',
    ]


@pytest.mark.spec("D-12")
def test_guard_that_lacks_something_blocks(tmp_path: Path) -> None:
    decision, reasons, _ = emit(tmp_path, hook(Needs(files=("absent.txt",)), on_error=OnError.BLOCK))

    assert decision is Decision.DENY
    assert "absent.txt" in reasons[0]


def test_nothing_is_looked_for_on_behalf_of_a_hook_nobody_approved(tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "looked"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho 1.0\n")
    tool.chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    one = hook(
        Needs(tools=("looked>=1",)),
        Source.WORKSPACE,
        env={"PATH": f"{tool.parent}:/usr/bin:/bin"},
        root=str(project),
    )

    _, _, skipped = emit(project, one)

    assert [text.partition(":")[0] for text in skipped] == ["trust"]
    assert not (tmp_path / "ran").exists()
