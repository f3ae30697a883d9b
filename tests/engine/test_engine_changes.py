"""A change of hooks, trust or the engine itself counts from the next event on."""

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from hookline import Engine, Event, Hook, Outcome, Source, Verdict
from hookline.model.plan import Gate, Plan
from hookline.trust.policy import TrustedHooks


def silent(_event: Event) -> None:
    """Say nothing."""


def deny(_event: Event) -> Verdict:
    return Verdict.deny("no")


def test_a_guard_that_another_thread_adds_is_never_lost() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(50):
            engine = Engine(cwd="/")
            engine.on("before_tool", id="first")(silent)
            ready = threading.Barrier(2)

            def add(engine: Engine = engine, ready: threading.Barrier = ready) -> None:
                ready.wait(30)
                engine.on("before_tool", id="guard")(deny)

            adding = threading.Thread(target=add)

            async def main(
                engine: Engine = engine, adding: threading.Thread = adding, ready: threading.Barrier = ready
            ) -> bool:
                adding.start()
                ready.wait(30)
                await engine.emit("before_tool", tool="shell")
                adding.join(30)
                return (await engine.emit("before_tool", tool="shell")).blocked

            assert asyncio.run(main())
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("in_place", [True, False])
def test_who_decides_on_trust_instead_is_asked_also_where_it_comes_after_the_engine(*, in_place: bool) -> None:
    class Suspicious(TrustedHooks):
        async def vet(self, plan: Plan, event: Event) -> Plan:
            assert event.tool == "shell"
            return Plan((), plan.skipped)

    async def main() -> None:
        async with Engine() as engine:
            engine.on("before_tool")(deny)
            if in_place:
                engine.trust.vet = Suspicious().vet  # type: ignore[method-assign] # what a program may do
            else:
                engine.trust = Suspicious()
            assert not (await engine.emit("before_tool", tool="shell")).blocked

    asyncio.run(main())


@pytest.mark.parametrize("in_place", [True, False])
def test_who_decides_on_trust_instead_is_asked_about_a_program_that_has_run_before(*, in_place: bool) -> None:
    class Suspicious(TrustedHooks):
        async def vet(self, plan: Plan, event: Event) -> Plan:  # noqa: ARG002 - as it is called
            return Plan((), plan.skipped)

    async def main() -> None:
        async with Engine() as engine:
            hook = Hook(id="h", on="before_tool", command="/bin/true", dialect="hookline", source=Source.WORKSPACE)
            await engine.trust.store_approval(hook, engine.trust.digest(hook))
            engine.add(hook)
            for _ in range(2):
                assert len((await engine.emit("before_tool", tool="shell")).verdicts) == 1
            if in_place:
                engine.trust.vet = Suspicious().vet  # type: ignore[method-assign] # what a program may do
            else:
                engine.trust = Suspicious()
            assert not (await engine.emit("before_tool", tool="shell")).verdicts

    asyncio.run(main())


@pytest.mark.parametrize("change", ["edited", "revoked"])
def test_program_that_is_no_longer_what_was_approved_does_not_run_again(tmp_path: Path, change: str) -> None:
    script = tmp_path / "hook.sh"
    script.write_text("echo ran\n")

    async def main() -> None:
        async with Engine(cwd=str(tmp_path)) as engine:
            hook = Hook(
                id="h", on="before_tool", command="sh", args=(str(script),), plain=True, source=Source.WORKSPACE
            )
            engine.trust.approve(hook, cwd=str(tmp_path))
            engine.add(hook)
            for _ in range(2):
                assert len((await engine.emit("before_tool", tool="shell")).verdicts) == 1
            if change == "edited":
                script.write_text("echo something else\n")
            else:
                assert engine.trust.revoke(hook.id)
            outcome = await engine.emit("before_tool", tool="shell")
            assert not outcome.verdicts
            assert [skip.gate for skip in outcome.skipped] == [Gate.TRUST]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("data", "tool", "count"),
    [
        ({}, "shell", 1),
        ({"tool": "shell"}, "", 1),
        ({"tool_name": "shell", "args": {"command": "ls"}}, "", 1),
        ({"args": {"command": "ls"}}, "shell", 1),
        ({"tool": "read_file"}, "", 0),
        ({}, "read_file", 0),
        ({}, "", 0),
    ],
)
def test_tool_call_inside_the_data_finds_the_same_programs(data: dict[str, object], tool: str, count: int) -> None:
    async def main() -> None:
        async with Engine() as engine:
            engine.add(
                Hook(
                    id="h",
                    on="before_tool",
                    matcher="shell",
                    command="/bin/true",
                    dialect="hookline",
                    source=Source.USER,
                )
            )
            for _ in range(2):
                # what other events have found is no answer to this one
                assert len((await engine.emit("before_tool", tool="shell", args={})).verdicts) == 1
                assert len((await engine.emit("before_tool", data, tool=tool)).verdicts) == count

    asyncio.run(main())


@pytest.mark.parametrize("in_place", [True, False])
def test_program_that_answers_events_in_its_own_way_is_asked_about_programs_too(*, in_place: bool) -> None:
    heard: list[Event] = []

    class Hearing(Engine):
        async def handle(
            self, event: Event, *, host_asks: bool = False, patience: float | None = None, plan: Plan | None = None
        ) -> Outcome:
            heard.append(event)
            return await super().handle(event, host_asks=host_asks, patience=patience, plan=plan)

    async def main() -> None:
        async with Engine() if in_place else Hearing() as engine:
            if in_place:
                usual = engine.handle

                async def handle(event: Event) -> Outcome:
                    heard.append(event)
                    return await usual(event)

                engine.handle = handle  # type: ignore[method-assign, assignment] # what a program may do
            engine.add(Hook(id="h", on="before_tool", command="/bin/true", dialect="hookline", source=Source.USER))
            for _ in range(3):
                assert len((await engine.emit("before_tool", tool="shell")).verdicts) == 1

    asyncio.run(main())
    assert len(heard) == 3


def test_trust_may_be_whatever_can_vet() -> None:
    class Trusting:
        """No more than an engine asks for."""

        def __init__(self) -> None:
            self._inner = TrustedHooks()
            self.fingerprint = self._inner.fingerprint

        async def vet(self, plan: Plan, event: Event) -> Plan:
            return await self._inner.vet(plan, event)

    async def main() -> None:
        async with Engine(trust=Trusting()) as engine:  # type: ignore[arg-type] # what a program may do
            engine.add(Hook(id="h", on="before_tool", command="/bin/true", dialect="hookline", source=Source.USER))
            for _ in range(2):
                assert len((await engine.emit("before_tool", tool="shell")).verdicts) == 1

    asyncio.run(main())
