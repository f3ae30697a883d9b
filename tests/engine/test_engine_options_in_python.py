"""What a program may say in Python: the keys of hookline.toml, refused at registration where they are wrong."""

import logging
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from hookline import Decision, Engine, Event, Hook, Outcome, Source, Verdict
from hookline.errors import ConfigError
from hookline.model.hook import OnError, Priority
from hookline.model.requirements import Caching, Needs


def emit(engine: Engine, command: str = "git push origin main") -> Outcome:
    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": command})
    engine.close_sync()
    return outcome


@pytest.mark.spec("U-02")
def test_rule_is_added_in_one_line() -> None:
    engine = Engine()
    hook = engine.rule("no-force", on="before_tool", runs=["git push"], deny="no {{args.command}}")

    assert (hook.kind, hook.on, hook.source) == ("rule", ("before_tool",), Source.BUILTIN)
    assert emit(engine).reasons == ("no git push origin main",)


@pytest.mark.parametrize("runs", ["git push", ["git push"], ("git push",), {"git push"}])
def test_patterns_may_be_a_text_or_several(runs: object) -> None:
    engine = Engine()
    engine.rule("r", runs=runs, deny="no")  # type: ignore[arg-type] # what people write
    engine.on("before_tool", runs=runs)(lambda _event: Verdict.deny("function"))  # type: ignore[arg-type] # the same
    engine.add(Hook(id="h", on="before_tool", runs=runs, deny="hook", source=Source.USER))  # type: ignore[arg-type]

    assert emit(engine).reasons == ("no", "function", "hook")


@pytest.mark.spec("U-02")
def test_rule_without_an_id_is_named_after_its_text() -> None:
    engine = Engine()

    made = [
        engine.rule(deny="No force pushes, {{args.command}}!", runs=["git push --force"]),
        engine.rule(deny="No force pushes", runs=["git push --mirror"]),
        engine.rule(deny=True, runs=["rm"]),
    ]

    assert [hook.id for hook in made] == ["no-force-pushes", "no-force-pushes-2", "rule"]
    assert engine.emit_sync("before_tool", tool="Bash", args={"command": "git push -f"}).blocked
    engine.close_sync()


def test_options_are_the_keys_of_hookline_toml() -> None:
    engine = Engine()

    @engine.on(
        "PreToolUse",
        id="g",
        tools=["shell", "write_file"],
        if_='args.command.startsWith("git")',
        priority="high",
        timeout="500ms",
        on_error="block",
        cooldown=timedelta(minutes=1),
        needs={"tools": ["git"]},
        cache={"for": "10m", "by": ["args.command"]},
    )
    def guard(_event: Event) -> None:
        """Say nothing."""

    hook = engine.registry.get_hook("g")
    assert hook is not None
    assert (hook.on, hook.matcher, hook.priority, hook.timeout) == (
        ("before_tool",),
        "shell|write_file",
        Priority.HIGH,
        0.5,
    )
    assert (hook.on_error, hook.cooldown, hook.condition) == (OnError.BLOCK, 60, 'args.command.startsWith("git")')
    assert (hook.needs, hook.cache) == (Needs(tools=("git",)), Caching(seconds=600, by=("args.command",)))
    engine.on("before_tool", needs=hook.needs, cache=hook.cache, timeout=None, priority=Priority.LOW)(guard)


def test_any_hook_is_described_as_in_a_file(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path))
    engine.hook("mark", on="before_tool", run=["bash", "-c", "touch ran"])
    engine.hook("ask", on="before_tool", ask="Look at {{args.command}}", if_="true")
    engine.hook("more", on="before_tool", raise_="custom:more")

    outcome = emit(engine)

    assert outcome.failures == ()
    assert (tmp_path / "ran").exists()
    assert outcome.follow_ups == ("Look at git push origin main",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priority": "hgih"}, "wanted critical, high, normal, low or a whole number"),
        ({"timeout": "5 parsecs"}, "wanted seconds above 0"),
        ({"timeout": -1}, "wanted seconds above 0"),
        ({"timeout": object()}, "wanted seconds above 0"),
        ({"runs": 3}, "wanted a list of texts"),
        ({"runs": []}, "wanted at least one name"),
        ({"once": "yes"}, 'wanted true, false, "session" or "turn"'),
        ({"agents": "claud-code"}, 'there is no agent "claud-code" .did you mean "claude-code"'),
        ({"branches": []}, "wanted at least one name"),
        ({"between": "nine to five"}, "there is no day"),
        ({"facts": "gti"}, 'there is no fact "gti" .did you mean "git"'),
        ({"state": True}, "means nothing for a function"),
        ({"on_error": "explode"}, 'wanted "block" or "continue"'),
        ({"needs": {"tool": ["git"]}}, "unknown key"),
        ({"cache": {"by": "x"}}, "wanted `for`"),
        ({"if_": "1 +"}, "1 [+]"),
        ({"matcher": "("}, "matcher"),
        ({"condition": "true"}, 'here it is "if_"'),
        ({"prompt": "x"}, 'here it is "ask"'),
        ({"tool": "shell"}, 'here it is "tools"'),
        ({"run": "ls"}, "means nothing for a function"),
        ({"deny": "x"}, "means nothing for a function"),
        ({"priorty": 1}, 'unknown key "priorty".*did you mean "priority"'),
        ({"tools": "shell", "matcher": "shell"}, "keep one"),
    ],
)
def test_wrong_option_of_a_function_is_refused_at_once(options: dict[str, object], message: str) -> None:
    engine = Engine()

    with pytest.raises(ConfigError, match=message):
        engine.on("before_tool", **options)(lambda _event: None)  # type: ignore[arg-type] # what is wrong is the point
    assert engine.registry.get_hook_count() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs exactly one of"),
        ({"deny": "a", "allow": True}, "only one of deny, confirm, allow"),
        ({"deny": "a", "run": "ls"}, "it has run and deny"),
        ({"deny": 3}, "wanted a text or true"),
        ({"deny": "a", "tols": ["shell"]}, "tols"),
        ({"deny": "a", "on": "before_tol"}, "before_tol"),
        ({"deny": "a", "on": 3}, "wanted"),
        ({"url": "http://x"}, 'here it is "post"'),
        ({"command": "ls"}, 'here it is "run"'),
    ],
)
def test_wrong_rule_is_refused_at_once(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Engine().hook("r", **{"on": "before_tool", **options})


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": "hgih"},
        {"timeout": "5 parsecs"},
        {"runs": 3},
        {"once": "yes"},
        {"agents": "claud"},
        {"between": "x"},
        {"facts": "x"},
        {"deny": 3},
        {"id": 3},
    ],
)
def test_wrong_field_of_a_hook_is_refused_when_it_is_added(fields: dict[str, object]) -> None:
    with pytest.raises((ConfigError, TypeError)):
        Engine().add(Hook(**{"id": "h", "on": "before_tool", "deny": "no", **fields}))  # type: ignore[arg-type]


def _yields(_event: Event) -> object:
    yield Verdict.deny("never")


@pytest.mark.parametrize("function", [3, None, "no", lambda: None, lambda _a, _b: None, _yields])
def test_what_cannot_be_called_with_an_event_is_no_hook(function: object) -> None:
    with pytest.raises(TypeError):
        Engine().on("before_tool")(function)  # type: ignore[type-var] # what is wrong is the point


def test_what_is_no_hook_is_not_added() -> None:
    with pytest.raises(TypeError, match="wanted a Hook"):
        Engine().add(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "call",
    [{"tool": 3}, {"tool": None}, {"args": 3}, {"args": ["x"]}, {"data": 3}, {"data": "x"}, {"session": "s"}],
)
@pytest.mark.parametrize("hooks", [0, 1])
def test_wrong_argument_of_emit_is_an_error(call: dict[str, object], hooks: int) -> None:
    engine = Engine()
    for number in range(hooks):
        engine.rule(f"r{number}", on="before_tool", tell="x")

    with pytest.raises(TypeError, match=next(iter(call))):
        engine.emit_sync("before_tool", **call)  # type: ignore[arg-type]
    engine.close_sync()


def test_folder_that_is_not_there_is_no_project() -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        Engine.load("/nope")


@pytest.mark.parametrize("decision", ["no", "", 3, None])
def test_verdict_with_an_unknown_decision_cannot_be_made(decision: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        Verdict(decision=decision)  # type: ignore[arg-type]


def test_verdict_takes_the_word_of_a_decision() -> None:
    assert Verdict(decision="deny").decision is Decision.DENY  # type: ignore[arg-type] # what people write
    with pytest.raises(TypeError):
        Verdict.deny(3)  # type: ignore[arg-type]


def test_decision_is_written_as_its_word() -> None:
    assert f"{Decision.DENY} {Decision.ASK!s} {Decision.PASS:>5}" == "deny ask  pass"
    assert Decision.DENY > Decision.ASK


RETURNS = {
    "False": (False, Decision.DENY, "the function returned False"),
    "deny": ("deny", Decision.DENY, "blocked without a reason"),
    "a reason": ("deny: no force pushes", Decision.DENY, "no force pushes"),
    "another word": ("Block", Decision.DENY, "blocked without a reason"),
    "ask": ("ask: sure?", Decision.DENY, "sure?"),
    "allow": ("allow", Decision.ALLOW, ""),
    "stop": ("stop: enough", Decision.STOP, "enough"),
    "a decision": (Decision.DENY, Decision.DENY, "blocked without a reason"),
    "a pair": ((False, "not now"), Decision.DENY, "not now"),
    "a pair of texts": (("block", "not now"), Decision.DENY, "not now"),
    "True": (True, Decision.PASS, ""),
    "None": (None, Decision.PASS, ""),
    "pass": ("pass", Decision.PASS, ""),
    "a dict": ({"decision": "deny", "reason": "x"}, Decision.DENY, "x"),
}


def _sync(value: object) -> Callable[[Event], object]:
    return lambda _event: value


def _async(value: object) -> Callable[[Event], object]:
    async def function(_event: Event) -> object:
        return value

    return function


@pytest.mark.parametrize("make", [_sync, _async])
@pytest.mark.parametrize("case", RETURNS)
def test_returned_value_means_what_a_person_expects(case: str, make: Callable[[object], Callable[..., object]]) -> None:
    value, decision, reason = RETURNS[case]
    engine = Engine()
    engine.on("before_tool")(make(value))

    outcome = emit(engine)

    assert outcome.decision is decision
    assert outcome.failures == ()
    assert (outcome.reasons[0] if outcome.reasons else "") == reason


@pytest.mark.parametrize("value", [3, 0, 1.5, "perhaps", ["deny"], ("deny", 3), object(), b"deny", Verdict, {1, 2}])
@pytest.mark.parametrize("make", [_sync, _async])
def test_value_that_says_nothing_is_a_failure_that_is_logged(
    value: object, make: Callable[[object], Callable[..., object]], caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine()
    engine.on("before_tool", id="weak")(make(value))
    engine.on("before_tool", id="strict", on_error="block")(make(value))

    with caplog.at_level(logging.WARNING):
        outcome = emit(engine)

    assert [verdict.hook for verdict in outcome.failures] == ["weak", "strict"]
    assert outcome.decision is Decision.DENY
    assert "is no answer" in outcome.reason
    assert 'hook "weak" failed at before_tool' in caplog.text


def test_function_that_raises_is_logged_and_blocks_where_it_guards(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_event: Event) -> None:
        raise KeyError("nope")

    engine = Engine()
    engine.on("before_tool", id="weak")(broken)
    with caplog.at_level(logging.WARNING):
        assert not emit(engine).blocked
    assert "KeyError" in caplog.text

    engine = Engine()
    engine.on("before_tool", on_error="block")(broken)
    assert emit(engine).blocked


@pytest.mark.parametrize("where", ["isolated", "here"])
@pytest.mark.parametrize(("body", "decision"), [("False", Decision.DENY), ("'deny: x'", Decision.DENY), ("7", None)])
def test_function_of_a_module_returns_the_same(
    where: str, body: str, decision: Decision | None, tmp_path: Path
) -> None:
    (tmp_path / "guard.py").write_text(f"def check(event):\n    return {body}\n")
    hook = Hook(
        id="p",
        on="before_tool",
        module="guard",
        function="check",
        isolated=where == "isolated",
        source=Source.USER,
        working_directory=str(tmp_path),
    )
    engine = Engine(cwd=str(tmp_path))
    engine.add(hook)

    outcome = emit(engine)

    assert outcome.decision is (decision or Decision.PASS)
    assert bool(outcome.failures) is (decision is None)
