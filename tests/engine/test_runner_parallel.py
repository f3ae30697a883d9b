import asyncio
import sys
from pathlib import Path

import pytest

from hookline import Engine, Hook, Source

# waits until the one that comes after it in the plan is done, so that they end in reverse
PROGRAM = """
import pathlib, sys, time
mine, waits_for, log = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
deadline = time.monotonic() + 30
while waits_for != "-" and not (log / waits_for).exists() and time.monotonic() < deadline:
    time.sleep(0.01)
with (log / "ended").open("a") as ended:
    ended.write(mine)
(log / mine).touch()
print('{"context": "%s", "data": {"last": "%s"}}' % (mine, mine))
"""


def programs(folder: Path, names: str, **fields: object) -> list[Hook]:
    script = folder / "hook.py"
    script.write_text(PROGRAM)
    waits = dict(zip(names, [*names[1:], "-"], strict=True))
    return [
        Hook(
            id=name,
            on="before_tool",
            command=sys.executable,
            args=("-S", str(script), name, waits[name], str(folder)),
            parallel=True,
            source=Source.USER,
            timeout=60,
            **fields,  # type: ignore[arg-type] # field by field
        )
        for name in names
    ]


@pytest.mark.spec("O-23")
def test_what_programs_side_by_side_say_is_in_plan_order_though_they_end_in_reverse(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Engine(cwd=str(tmp_path)) as engine:
            engine.add(*programs(tmp_path, "abc"))
            outcome = await engine.emit("before_tool", tool="shell")

            assert outcome.failures == ()
            assert (tmp_path / "ended").read_text() == "cba"
            assert [verdict.hook for verdict in outcome.verdicts] == ["a", "b", "c"]
            assert outcome.context == ("a", "b", "c")

    asyncio.run(scenario())


@pytest.mark.spec("O-25")
def test_hook_that_comes_after_another_never_runs_beside_it() -> None:
    engine = Engine()
    for name, after in [("a", ()), ("b", ()), ("c", ("a",)), ("d", ()), ("e", ("d",))]:
        engine.on("before_tool", id=name, after=after, parallel=True)(lambda _event: None)

    stages = engine.planner.plan(engine.event("before_tool", tool="shell")).stages

    assert [[hook.id for hook in stage] for stage in stages] == [["a", "b"], ["c", "d"], ["e"]]


@pytest.mark.spec("O-25")
def test_hook_after_another_sees_what_that_one_changed() -> None:
    seen: list[object] = []
    engine = Engine()
    engine.on("before_tool", id="reads", after=("writes",), parallel=True)(lambda event: seen.append(event.data["n"]))

    @engine.on("before_tool", id="writes", parallel=True)
    def writes(_event: object) -> dict[str, object]:
        return {"data": {"n": 1}}

    engine.emit_sync("before_tool", tool="shell")
    engine.close_sync()

    assert seen == [1]
