import asyncio
import importlib.util
import py_compile
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline import Event, EventName, Hook, HookRunner, Reply, Request, Source, TrustedHooks
from hookline.dialects import DIALECTS
from hookline.engine.components import Components
from hookline.model.plan import Plan

EVENT = Event(name=EventName.BEFORE_TOOL, tool="shell")


class Listening:
    """A kind that only remembers which files it was given to run."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Mapping[str, bytes] | None]] = []

    def refusal(self, _hook: Hook) -> str:
        return ""

    async def call(self, hook: Hook, request: Request, *, timeout: float) -> Reply:  # noqa: ARG002 - a kind
        await asyncio.sleep(0)
        self.heard.append((hook.id, request.sealed))
        return Reply(stdout=b"{}")

    async def close(self) -> None:
        pass


def script(folder: Path, name: str, text: str) -> Hook:
    (folder / name).write_text(text)
    return Hook(id=name, command="bash", args=(str(folder / name),), root=str(folder), source=Source.WORKSPACE)


@pytest.mark.spec("O-15")
def test_vetted_bytes_reach_the_kind_whatever_way_a_hook_is_run(tmp_path: Path) -> None:
    one, two = script(tmp_path, "one.sh", "1"), script(tmp_path, "two.sh", "2")
    mine = Hook(id="mine", command="node", source=Source.USER)
    sealed = [("one.sh", {str(tmp_path / "one.sh"): b"1"}), ("two.sh", {str(tmp_path / "two.sh"): b"2"})]

    async def scenario() -> None:
        kind, trust = Listening(), TrustedHooks()
        runner = HookRunner(5, trust, components=Components(DIALECTS, {"command": kind}))
        trust.approve(one)
        trust.approve(two)
        await runner.execute_hook(one, EVENT)
        await runner.execute_hooks([two, mine], EVENT)
        assert kind.heard == [sealed[0], sealed[1], ("mine", None)]
        kind.heard.clear()
        plan = await trust.vet(Plan(((one, two),)), EVENT)
        (tmp_path / "one.sh").write_text("evil")
        await runner.run(plan, EVENT)
        assert sorted(kind.heard, key=lambda pair: pair[0]) == sealed

    asyncio.run(scenario())


def test_two_events_at_once_keep_their_bytes_apart(tmp_path: Path) -> None:
    hook = script(tmp_path, "one.sh", "1")

    async def scenario() -> None:
        kind, trust = Listening(), TrustedHooks()
        runner = HookRunner(5, trust, components=Components(DIALECTS, {"command": kind}))
        trust.approve(hook)
        first = await trust.vet(Plan(((hook,),)), EVENT)
        (tmp_path / "one.sh").write_text("2")
        trust.approve(hook)
        second = await trust.vet(Plan(((hook,),)), EVENT)
        await asyncio.gather(runner.run(first, EVENT), runner.run(second, EVENT))
        assert [sealed and list(sealed.values()) for _, sealed in kind.heard] == [[b"1"], [b"2"]]

    asyncio.run(scenario())


def test_hook_that_nobody_approved_does_not_reach_the_kind(tmp_path: Path) -> None:
    async def scenario() -> None:
        kind = Listening()
        runner = HookRunner(5, TrustedHooks(), components=Components(DIALECTS, {"command": kind}))
        execution = await runner.execute_hook_with_metadata(script(tmp_path, "one.sh", "1"), EVENT)
        assert execution.verdict.failure is not None
        assert execution.verdict.failure.message == "not run: workspace hook that is not approved"
        assert kind.heard == []

    asyncio.run(scenario())


@pytest.mark.spec("O-15")
@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (f"cd pkg && {sys.executable} -m tool", "pkg"),
        ("sh start.sh", "pkg"),
        (f"{sys.executable} site-packages/main.py", "site-packages"),
    ],
)
def test_compiled_file_that_a_project_brings_does_not_run(tmp_path: Path, command: str, folder: str) -> None:
    place = tmp_path / folder
    place.mkdir()
    (place / "evil.py").write_text("open('evidence', 'w')\n")
    (place / "helper.py").write_text("VALUE = 1\n")
    (place / "tool.py").write_text("import helper\n")
    (place / "main.py").write_text("import helper\n")
    (tmp_path / "start.sh").write_text(f"cd pkg && {sys.executable} tool.py\n")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    for name in ("helper", "tool"):
        cached = importlib.util.cache_from_source(str(place / f"{name}.py"))
        py_compile.compile(str(place / "evil.py"), cfile=cached, invalidation_mode=mode)
    (place / "evil.py").unlink()
    # with helper.py among what is approved, and its compiled file not
    hook = Hook(id="h", on="before_tool", command=command, shell=True, root=str(tmp_path), includes=(f"{folder}/*.py",))
    trust = TrustedHooks()
    trust.approve(hook, cwd=str(tmp_path))
    outcome = asyncio.run(HookRunner(trusted_hooks=trust).execute_hook(hook, replace(EVENT, cwd=str(tmp_path))))

    assert outcome.failure is None, outcome
    assert not list(tmp_path.rglob("evidence"))
