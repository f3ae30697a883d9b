import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.engine.admission import LARGEST_VERDICT, CacheKeys, decode_verdict, encode_verdict, is_cached
from hookline.engine.engine import Engine
from hookline.model.event import Event, EventName, Session
from hookline.model.exchange import Failure, FailureKind
from hookline.model.hook import Hook, Source
from hookline.model.record import Step
from hookline.model.requirements import Caching
from hookline.model.verdict import Decision, Effect, EffectKind, Verdict
from hookline.stores.state import SqliteState
from hookline.trust.policy import TrustedHooks, TrustedHooksConfig

SCRIPT = "import pathlib\nwith pathlib.Path('asked').open('a') as file:\n    file.write('x')\n{more}\nprint('{{}}')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (tmp_path / "hook.py").write_text(SCRIPT.format(more=""))
    return made


@pytest.fixture
def engine(tmp_path: Path, folder: Path) -> Iterator[Engine]:
    made = Engine(cwd=str(folder), state=SqliteState(tmp_path / "state.db"))
    yield made
    made.close_sync()


def hook(folder: Path, cache: Caching, **fields: object) -> Hook:
    given: dict[str, object] = {
        "id": "h",
        "on": ("before_tool", "after_tool"),
        "command": sys.executable,
        "args": (str(folder.parent / "hook.py"),),
        "source": Source.USER,
        "source_path": str(folder.parent / "hookline.toml"),
        "cache": cache,
        **fields,
    }
    return Hook(**given)  # type: ignore[arg-type]


def asked(folder: Path) -> int:
    file = folder / "asked"
    return len(file.read_text()) if file.exists() else 0


def emit(engine: Engine, command: str = "ls", *, event: str = "before_tool", session: str = "", **more: object) -> bool:
    """Emit one tool call, and say whether the answer was one that was given before."""
    args = {"command": command, **more}
    outcome = engine.emit_sync(event, tool="shell", args=args, session=Session(id=session))
    assert outcome.failures == ()
    return outcome.verdicts[0].cached


@pytest.mark.spec("O-24")
def test_answer_is_given_again_and_the_hook_is_not_asked(engine: Engine, folder: Path) -> None:
    (folder.parent / "hook.py").write_text(
        SCRIPT.format(more="import sys\nprint('no', file=sys.stderr)\nraise SystemExit(2)")
    )
    engine.add(hook(folder, Caching(seconds=60)))

    first = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    again = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"}, session=Session(id="other"))

    assert (first.decision, first.reasons) == (again.decision, again.reasons) == (Decision.DENY, ("no",))
    assert [verdict.cached for verdict in (*first.verdicts, *again.verdicts)] == [False, True]
    assert asked(folder) == 1
    completed = engine.debugger.executions(step=Step.COMPLETED)
    assert [bool(record.detail.get("cached")) for record in completed] == [True, False]
    assert engine.debugger.metrics("h").timed == 1


def test_everything_the_event_says_counts_where_nothing_is_named(engine: Engine, folder: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60)))

    assert [
        emit(engine),
        emit(engine, session="another"),
        emit(engine, "ls -l"),
        emit(engine, description="list"),
        emit(engine, event="after_tool"),
        emit(engine),
    ] == [False, True, False, False, False, True]


def test_only_what_is_named_counts(engine: Engine, folder: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60, by=("args.command",))))

    assert [
        emit(engine, description="one"),
        emit(engine, description="two"),
        emit(engine, "ls -l"),
        emit(engine, event="after_tool"),
    ] == [False, True, False, False]


def test_folder_counts_always(engine: Engine, folder: Path, tmp_path: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60, by=("args.command",))))
    (tmp_path / "elsewhere").mkdir()

    for cwd, expected in ((folder, False), (tmp_path / "elsewhere", False), (folder, True)):
        outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"}, cwd=str(cwd))
        assert outcome.verdicts[0].cached is expected


def test_slip_in_what_is_named_keeps_nothing(engine: Engine, folder: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60, by=("args.comand",))))

    assert [emit(engine, "ls"), emit(engine, "rm -rf /")] == [False, False]
    assert asked(folder) == 2


def test_missing_value_is_a_value_beside_others(engine: Engine, folder: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60, by=("args.command", "args.path"))))

    assert [emit(engine), emit(engine), emit(engine, path="a"), emit(engine, path=None)] == [False, True, False, False]


def test_changed_script_is_asked_again(engine: Engine, folder: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60)))
    assert [emit(engine), emit(engine)] == [False, True]

    (folder.parent / "hook.py").write_text(SCRIPT.format(more="# changed"))

    assert [emit(engine), emit(engine)] == [False, True]


def test_changed_definition_is_asked_again(tmp_path: Path, folder: Path) -> None:
    for seconds, cached in ((60, False), (60, True), (90, False)):
        made = Engine(cwd=str(folder), state=SqliteState(tmp_path / "state.db"))
        made.add(hook(folder, Caching(seconds=seconds)))
        assert emit(made) is cached
        made.close_sync()


def test_files_count_by_content_and_absence_counts_too(engine: Engine, folder: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60, by=("args.command",), files=("setup.cfg", "src/**/*.py"))))
    assert [emit(engine), emit(engine)] == [False, True]

    (folder / "setup.cfg").write_text("a")
    assert [emit(engine), emit(engine)] == [False, True]
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "deep" / "one.py").write_text("1")
    assert [emit(engine), emit(engine)] == [False, True]
    (folder / "src" / "deep" / "one.py").write_text("2")
    (folder / "src" / "unrelated.txt").write_text("2")
    assert [emit(engine), emit(engine)] == [False, True]
    (folder / "setup.cfg").unlink()
    assert [emit(engine), emit(engine)] == [False, True]


def test_environment_counts_where_it_is_named(engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.add(hook(folder, Caching(seconds=60, env=("DEPLOY_TARGET",))))
    monkeypatch.delenv("DEPLOY_TARGET", raising=False)
    assert [emit(engine), emit(engine)] == [False, True]

    monkeypatch.setenv("DEPLOY_TARGET", "production-s3cret")
    monkeypatch.setenv("OTHER", "x")

    assert [emit(engine), emit(engine)] == [False, True]
    stored = b"".join(file.read_bytes() for file in folder.parent.glob("state.db*"))
    assert b"answer:" in stored
    assert b"s3cret" not in stored


def test_file_that_changes_while_the_hook_runs_keeps_nothing(engine: Engine, folder: Path) -> None:
    (folder.parent / "hook.py").write_text(SCRIPT.format(more="pathlib.Path('input').write_text('changed')"))
    engine.add(hook(folder, Caching(seconds=60, by=("args.command",), files=("input",))))
    for _ in range(2):
        (folder / "input").write_text("before")
        assert not emit(engine)

    # from now on it changes nothing any more
    assert [emit(engine), emit(engine)] == [False, True]


def test_failure_is_not_kept(engine: Engine, folder: Path) -> None:
    (folder.parent / "hook.py").write_text(SCRIPT.format(more="raise SystemExit(1)"))
    engine.add(hook(folder, Caching(seconds=60)))

    for _ in range(2):
        outcome = engine.emit_sync("before_tool", tool="shell", args={})
        assert len(outcome.failures) == 1
    assert asked(folder) == 2


def test_hook_that_raised_an_event_is_asked_each_time(folder: Path) -> None:
    engine = Engine(cwd=str(folder))
    calls: list[str] = []

    def raises(_event: Event) -> Verdict:
        calls.append("asked")
        return Verdict.raise_event("custom:checked")

    engine.add(
        Hook(id="r", on="before_tool", call=raises, cache=Caching(seconds=60), source=Source.BUILTIN),
        Hook(id="heard", on="custom:checked", call=lambda _event: calls.append("heard"), source=Source.BUILTIN),
    )
    for _ in range(2):
        asyncio.run(engine.emit("before_tool", tool="shell"))

    assert calls == ["asked", "heard", "asked", "heard"]


def test_function_of_another_program_is_not_taken_for_this_one(tmp_path: Path) -> None:
    said = []
    for answer in ("one", "two"):
        engine = Engine(state=SqliteState(tmp_path / "state.db"))
        verdict = Verdict.tell(answer)
        engine.add(
            Hook(
                id="f",
                on="before_tool",
                call=lambda _event, verdict=verdict: verdict,
                cache=Caching(seconds=60),
                source=Source.BUILTIN,
            )
        )
        outcomes = [engine.emit_sync("before_tool", tool="shell") for _ in range(2)]
        said.append([(outcome.messages, outcome.verdicts[0].cached) for outcome in outcomes])
        engine.close_sync()

    assert said == [[(("one",), False), (("one",), True)], [(("two",), False), (("two",), True)]]


def test_function_that_replaces_another_one_is_asked(tmp_path: Path) -> None:
    engine = Engine(state=SqliteState(tmp_path / "state.db"))
    guard = Hook(id="f", on="before_tool", call=lambda _event: None, cache=Caching(seconds=60), source=Source.BUILTIN)
    engine.add(guard)
    assert not engine.emit_sync("before_tool", tool="shell").blocked

    engine.registry.unregister_hook("f")
    engine.add(replace(guard, call=lambda _event: Verdict.deny("not any more")))

    assert engine.emit_sync("before_tool", tool="shell").blocked
    engine.close_sync()


def test_approved_hook_that_changed_gives_no_earlier_answer(tmp_path: Path, folder: Path) -> None:
    script = folder / "hook.py"
    script.write_text(SCRIPT.format(more=""))
    trust = TrustedHooks(TrustedHooksConfig(storage_path=tmp_path / "approvals.json"))
    engine = Engine(cwd=str(folder), trust=trust, state=SqliteState(tmp_path / "state.db"))
    theirs = hook(
        folder,
        Caching(seconds=60),
        args=("hook.py",),
        source=Source.WORKSPACE,
        root=str(folder),
        source_path=str(folder / "hookline.toml"),
    )
    engine.add(theirs)
    trust.approve(theirs, cwd=str(folder))
    assert [emit(engine), emit(engine)] == [False, True]

    script.write_text(SCRIPT.format(more="# changed"))
    outcome = engine.emit_sync("before_tool", tool="shell", args={"command": "ls"})
    assert [skip.gate for skip in outcome.skipped] == ["trust"]
    trust.approve(theirs, cwd=str(folder))
    assert [emit(engine), emit(engine)] == [False, True]
    engine.close_sync()


def test_bytes_that_were_vetted_and_are_gone_have_no_key(folder: Path) -> None:
    trust = TrustedHooks()
    one = hook(folder, Caching(seconds=60))
    event = Event(name=EventName.BEFORE_TOOL, cwd=str(folder))
    answers = CacheKeys(trust.fingerprint)
    now = dict(trust.fingerprint(one, cwd=str(folder)).files)

    assert answers.hook_digest(one, event, now)
    assert answers.hook_digest(one, event, None)
    assert answers.hook_digest(one, event, {**now, str(folder.parent / "hook.py"): b"vetted"}) == ""


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(),
        Verdict.deny("no"),
        Verdict.stop("enough"),
        Verdict.rewrite({"command": "ls", "deep": {"list": [1, 2.5, None, "ü"]}}),
        Verdict.replace_output({"text": "masked"}),
        Verdict(effects=(Effect(EffectKind.DATA, b"raw", ("key",)),), notes=("odd",), metadata={"a": 1}),
    ],
)
def test_answer_is_read_back_as_it_was(verdict: Verdict) -> None:
    assert decode_verdict(encode_verdict(verdict, 100.0), seconds=5, now=101.0) == verdict


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(failure=Failure(FailureKind.TIMEOUT, "slow")),
        Verdict(raised=("custom:x",)),
        Verdict(job="7"),
        Verdict(effects=(Effect(EffectKind.DATA, ("a", "tuple"), ("key",)),)),
        Verdict(effects=(Effect(EffectKind.DATA, object(), ("key",)),)),
        Verdict(reason="x" * (LARGEST_VERDICT + 1)),
    ],
    ids=["failure", "raised", "job", "tuple", "object", "long"],
)
def test_what_cannot_be_read_back_is_not_kept(verdict: Verdict) -> None:
    assert encode_verdict(verdict, 100.0) is None


@pytest.mark.parametrize(("now", "found"), [(99.0, False), (100.0, True), (104.9, True), (105.0, False)])
def test_answer_holds_for_its_time_and_not_before_it_was_given(now: float, *, found: bool) -> None:
    assert (decode_verdict(encode_verdict(Verdict.tell("hi"), 100.0), seconds=5, now=now) is not None) is found


def test_damaged_answer_is_none() -> None:
    assert decode_verdict(b"\xc1 damaged", seconds=5, now=1.0) is None
    assert decode_verdict(None, seconds=5, now=1.0) is None


def test_value_that_cannot_be_compared_has_no_key_and_is_reported_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answers = CacheKeys(TrustedHooks().fingerprint)
    one = hook(folder, Caching(seconds=60))
    for _ in range(2):
        event = Event(name=EventName.BEFORE_TOOL, data={"x": object()}, cwd=str(folder))
        assert answers.key(one, event, "digest") == ""

    assert [record.message for record in caplog.records] == [
        'hook "h" is asked each time, its answers are not kept: a value of the event is of the type object, and cannot be compared'
    ]


def test_paths_that_no_text_can_hold_are_told_apart(folder: Path) -> None:
    answers = CacheKeys(TrustedHooks().fingerprint)
    one = hook(folder, Caching(seconds=60))
    paths = [os.fsdecode(b"a\xff"), os.fsdecode(b"a\xfe")]
    keys = [answers.key(one, Event(name=EventName.FILE_EDITED, data={"path": path}), "d") for path in paths]

    assert keys == ["", ""]


def test_answer_about_the_files_of_one_patch_is_none_about_those_of_another(engine: Engine, folder: Path) -> None:
    engine.add(hook(folder, Caching(seconds=60, by=("tool", "args.path")), dialect="claude-code", matcher="Edit|Write"))

    def patch(name: str) -> None:
        text = f"*** Begin Patch\n*** Update File: {name}\n@@\n-a\n+b\n*** End Patch"
        asyncio.run(engine.emit("before_tool", tool="apply_patch", args={"patch": text}, cwd=str(folder)))

    patch("one")
    assert asked(folder) == 1
    patch("two")
    assert asked(folder) == 2
    patch("one")
    assert asked(folder) == 2


def test_order_of_fields_does_not_matter(folder: Path) -> None:
    answers = CacheKeys(TrustedHooks().fingerprint)
    one = hook(folder, Caching(seconds=60))
    keys = {
        answers.key(one, Event(name=EventName.BEFORE_TOOL, args=args), "d")
        for args in ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    }

    assert len(keys) == 1
    assert "" not in keys


def test_what_others_do_is_no_answer(folder: Path) -> None:
    plain = hook(folder, Caching(seconds=60))

    assert is_cached(plain)
    assert not is_cached(hook(folder, Caching(seconds=60), background=True))
    assert not is_cached(Hook(id="s", on="before_tool", steps=("a",), cache=Caching(seconds=1)))
    assert not is_cached(Hook(id="r", on="before_tool", raises="custom:x", cache=Caching(seconds=1)))
