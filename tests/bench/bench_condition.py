"""What asking a condition costs, against the same question in plain Python and against the official CEL library."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from cel_expr_python import cel  # type: ignore[import-untyped]

from hookline.conditions.compiler import PolicyCondition
from hookline.engine.components import Condition
from hookline.model.event import Event, EventName
from hookline.model.templates import event_context
from tests.bench import harness
from tests.bench.rows import Section

INNER = 1000
FLOOR = "the same in plain Python"
OURS = "a condition"
THEIRS = "the official library, which reads the event each time"
PATTERN = "a condition with a pattern"
LOOP = "a condition with a loop over two paths"
READ = "read a condition"

TEXT = 'tool == "shell" && args.command.contains("rm ")'
EVENT = event_context(
    Event(
        name=EventName.BEFORE_TOOL,
        tool="shell",
        args={"command": "cd build && rm -rf *.o", "paths": ["src/a.py", "b.py"]},
        cwd="/home/me/project",
    )
)


def python(event: Mapping[str, object]) -> bool:
    """Ask the same without a condition."""
    args = event["args"]
    return event["tool"] == "shell" and isinstance(args, Mapping) and "rm " in args["command"]


def asking(condition: Condition | Callable[[Mapping[str, object]], bool]) -> Callable[[int], Awaitable[None]]:
    """Ask often."""
    if condition(EVENT) is not True:
        raise SystemExit("this condition should be true")

    async def ask(times: int) -> None:
        for _ in range(times):
            condition(EVENT)

    return ask


async def reading(times: int) -> None:
    """Read the same condition often."""
    for _ in range(times):
        PolicyCondition(TEXT)


async def measure() -> Sequence[Section]:
    """Measure all side by side."""
    expression = cel.NewEnv(variables={"tool": cel.Type.DYN, "args": cel.Type.DYN}).compile(TEXT)
    data = {name: EVENT[name] for name in ("tool", "args")}

    async def official(times: int) -> None:
        for _ in range(times):
            expression.eval(data=data).value()

    candidates = {
        FLOOR: asking(python),
        OURS: asking(PolicyCondition(TEXT)),
        PATTERN: asking(PolicyCondition(r'args.command.matches(r"\brm\s+-[a-z]*r")')),
        LOOP: asking(PolicyCondition('args.paths.exists(path, path.startsWith("src/"))')),
        THEIRS: official,
        READ: reading,
    }
    timings = await harness.interleave_loops(candidates, harness.rounds(), inner=INNER)
    rows = harness.rows(timings, floor=FLOOR, most={OURS: 5.0}, peers=(THEIRS,))
    return [Section(title="Asking a condition", about="Processor time of one question.", rows=rows)]


if __name__ == "__main__":
    harness.main(measure)
