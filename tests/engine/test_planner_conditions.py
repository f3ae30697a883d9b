import pytest

from hookline import Engine
from hookline.engine.engine import Engine as CoreEngine
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, OnError, Source
from hookline.model.plan import Gate
from hookline.model.verdict import Decision, Verdict


def engine(**fields: object) -> CoreEngine:
    made = Engine()

    def deny(_event: Event) -> Verdict:
        return Verdict(decision=Decision.DENY, reason="no")

    made.add(Hook(id="a", on="before_tool", call=deny, source=Source.USER, **fields))  # type: ignore[arg-type]
    return made


def the_hook(made: CoreEngine) -> Hook:
    (hook,) = made.registry.get_hooks_for_event("before_tool")
    return hook


@pytest.mark.spec("A-21")
@pytest.mark.spec("D-01")
def test_hook_runs_only_where_its_condition_is_true() -> None:
    made = engine(condition='tool == "shell" && args.command.contains("rm ")')

    decisions = [
        made.emit_sync("before_tool", tool=tool, args={"command": command}).decision
        for tool, command in (("shell", "rm x"), ("shell", "ls"), ("write_file", "rm x"))
    ]
    made.close_sync()
    assert decisions == [Decision.DENY, Decision.PASS, Decision.PASS]


@pytest.mark.spec("D-09")
def test_hook_left_out_by_its_condition_has_the_reason() -> None:
    made = engine(condition='args.command == "ls"')

    (skip,) = made.planner.plan(made.event("before_tool", tool="shell", args={"command": "rm"})).skipped
    assert (skip.gate, skip.reason) == (Gate.CONDITION, 'if `args.command == "ls"` is false')


def test_undecided_condition_leaves_the_hook_out_and_says_why() -> None:
    made = engine(condition="args.n > 1")

    plan = made.planner.plan(made.event("before_tool", tool="shell", args={"command": "ls"}))
    assert plan.hooks == ()
    assert plan.skipped[0].reason == 'if `args.n > 1` cannot be decided: args has no "n"'


@pytest.mark.parametrize(
    "fields",
    [
        {"on_error": OnError.BLOCK},
        # a dialect whose failures block
        {"dialect": "ollm-protocol"},
    ],
)
def test_guard_whose_condition_cannot_be_decided_is_asked(fields: dict[str, object]) -> None:
    made = engine(condition="args.n > 1", **fields)

    outcome = made.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    made.close_sync()
    assert (outcome.decision, outcome.reason) == (Decision.DENY, "no")


def test_guard_whose_condition_is_false_is_not_asked() -> None:
    made = engine(condition="args.n > 1", on_error=OnError.BLOCK)

    assert made.emit_sync("before_tool", tool="shell", args={"n": 1}).decision is Decision.PASS
    made.close_sync()


def test_guard_that_may_go_on_in_a_strict_dialect_is_left_out() -> None:
    made = engine(condition="args.n > 1", dialect="ollm-protocol", on_error=OnError.CONTINUE)

    assert made.planner.plan(made.event("before_tool", tool="shell")).hooks == ()


def test_broken_condition_is_refused_when_the_hook_is_added() -> None:
    with pytest.raises(ConfigError) as caught:
        engine(condition="tool = 1", source_path="x.toml", source_line=7)

    assert str(caught.value) == (
        'x.toml:7: hook "a": if: "=" alone is no operator; "==" compares, at column 6: tool -->= 1'
    )


def test_whoever_asks_why_is_told_what_decided() -> None:
    made = engine(condition='tool == "shell"\n&& has(args.n)')
    event = made.event("before_tool", tool="shell", args={"command": "ls"})

    (answer,) = (one for one in made.planner.gates(the_hook(made), event) if one.gate is Gate.CONDITION)
    assert answer.reason == ("if `tool == \"shell\" && has(args.n)` is false (tool is 'shell', there is no args.n)")


def test_hook_without_a_condition_is_always_meant() -> None:
    made = engine()

    results = made.planner.gates(the_hook(made), made.event("before_tool", tool="shell"))
    assert [one.reason for one in results if one.gate is Gate.CONDITION] == ["it has no condition"]


@pytest.mark.parametrize("name", [*EventName])
def test_every_event_has_the_words_that_conditions_begin_with(name: EventName) -> None:
    made = Engine()
    condition = f'event.name == "{name}" && tool == "" && size(args) == 0 && !has(file.path) && data == event.data'
    made.add(Hook(id="a", on=str(name), condition=condition, prompt="x", source=Source.USER))

    assert [hook.id for hook in made.planner.plan(made.event(str(name))).hooks] == ["a"]
