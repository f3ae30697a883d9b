import asyncio
import os
from pathlib import Path

import pytest

from hookline import Engine
from hookline.config.file_patterns import file_patterns, follow_links
from hookline.engine.filters import HookFilters
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer, Source
from hookline.model.plan import Gate
from hookline.model.verdict import Verdict

ROOT = "/project"


def hook(**fields: object) -> Hook:
    return Hook(**{"id": "a", "command": "sh", "on": "before_tool", "root": ROOT, "layer": Layer.PROJECT} | fields)  # type: ignore[arg-type]


def planner(*hooks: Hook) -> HookPlanner:
    registry = HookRegistry()
    for one in hooks:
        registry.add(one)
    return HookPlanner(registry, file_patterns=file_patterns, follow_links=follow_links)


def call(tool: str, *, cwd: str = ROOT, **args: object) -> Event:
    return Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd=cwd)


def runs(made: Hook, event: Event) -> bool:
    asked = planner(made)
    chosen, aside = asked.plan(event).hooks, [skip.hook for skip in asked.list_unmatched(event)]
    assert [*chosen, *aside] == [made]
    assert bool(chosen) is all(gate.passed for gate in asked.gates(made, event))
    return bool(chosen)


@pytest.mark.parametrize(
    ("wants", "event", "expected"),
    [
        ({"deletes": (".env",)}, call("shell", command="rm config/.env"), True),
        ({"deletes": (".env",)}, call("shell", command="echo x > .env"), False),
        ({"deletes": (".env",)}, call("shell", command="rm -r config"), True),
        ({"deletes": (".env",)}, call("delete_file", paths=["a", ".env"]), True),
        ({"deletes": (".env",)}, call("write_file", path=".env"), False),
        ({"deletes": (".git/",)}, call("shell", command="rmdir .git"), True),
        ({"reads": (".env",)}, call("read_file", path=".env"), True),
        ({"reads": (".env",)}, call("shell", command="cat .env | head"), True),
        ({"reads": (".env",)}, call("shell", command="cat other"), False),
        ({"reads": (".env",)}, call("grep", pattern="x"), True),
        ({"reads": (".env",)}, call("write_file", path=".env"), False),
        ({"reads": ("secrets/",)}, call("list_dir", path="secrets"), True),
        ({"reads": (".env",)}, call("mcp__fs__read", path="a"), True),
        ({"runs": ("rm", "git push")}, call("shell", command="cd x && rm -f a"), True),
        ({"runs": ("rm",)}, call("shell", command="ls; /bin/rm a"), True),
        ({"runs": ("rm",)}, call("shell", command="ls && touch rm"), False),
        ({"runs": ("rm",)}, call("shell", command="make"), True),
        ({"runs": ("rm",)}, call("write_file", path="rm"), False),
        ({"runs": ("rm",)}, call("code", source="x"), True),
        ({"urls": ("example.com",)}, call("web_fetch", urls=["https://api.example.com/"]), True),
        ({"urls": ("example.com",)}, call("web_fetch", urls=["https://example.org/"]), False),
        ({"urls": ("example.com",)}, call("shell", command="curl -s https://example.com/a"), True),
        ({"urls": ("example.com",)}, call("shell", command="curl -s https://example.org/a"), False),
        ({"urls": ("example.com",)}, call("shell", command="ls"), False),
        ({"urls": ("example.com",)}, call("shell", command="python get.py"), True),
        # all of them have to be so
        ({"runs": ("rm",), "deletes": ("*.key",)}, call("shell", command="rm a.key"), True),
        ({"runs": ("rm",), "deletes": ("*.key",)}, call("shell", command="rm a.txt"), False),
        ({"writes": (".git/**",)}, call("shell", command="echo x > .git/config"), True),
        ({"writes": (".git/**",)}, call("shell", command="git status"), False),
        ({"writes": (".git/**",)}, call("shell", command="ls .git && cat README.md"), False),
    ],
    ids=str,
)
def test_hook_runs_for_calls_that_may_do_what_it_waits_for(
    wants: dict[str, tuple[str, ...]], event: Event, *, expected: bool
) -> None:
    assert runs(hook(**wants), event) is expected


@pytest.mark.parametrize(
    ("wants", "event", "gate", "reason"),
    [
        ({"deletes": ("*.key",)}, call("shell", command="ls"), Gate.DELETES, "shell deletes no file"),
        ({"reads": ("*.key",)}, call("todo"), Gate.READS, "todo reads no file"),
        ({"runs": ("rm",)}, call("shell", command="ls"), Gate.RUNS, "runs ['rm'] do not match 'ls'"),
        ({"urls": ("a.b",)}, call("write_file", path="a"), Gate.URLS, "write_file reaches no URL"),
    ],
)
def test_hook_that_does_not_run_says_why(
    wants: dict[str, tuple[str, ...]], event: Event, gate: Gate, reason: str
) -> None:
    aside = list(planner(hook(**wants)).list_unmatched(event))

    assert [(skip.gate, skip.reason) for skip in aside] == [(gate, reason)]


def test_hook_that_runs_says_whether_it_was_meant_or_only_may_be() -> None:
    made = hook(runs=("git push",))
    asked = planner(made)

    def said(command: str) -> str:
        answers = asked.gates(made, call("shell", command=command))
        return next(answer.reason for answer in answers if answer.gate is Gate.RUNS)

    assert said("git push origin") == "runs ['git push'] match 'git push origin'"
    assert said("make") == 'unknown: it cannot be known which commands shell runs; unknown = "match"'
    assert said("git $X") == """unknown: it cannot be known whether 'git $X' is such a command; unknown = "match\""""


TOUCHED = {"reads": (".env",), "writes": (".env", ".git/**"), "deletes": ("*.db",), "deny": "no", "command": ""}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat .env", True),
        ("echo x > .env", True),
        ("rm app.db", True),
        ("cat .env > copy", True),
        ("git commit -m x", False),
        ("cat app.db", False),
        ("cat .git/config", False),
        ("make test", False),
    ],
)
@pytest.mark.spec("U-03")
def test_rule_about_files_that_are_read_or_written_needs_only_one_of_them(command: str, *, expected: bool) -> None:
    assert runs(hook(**TOUCHED), call("shell", command=command)) is expected


def test_files_that_are_touched_in_one_of_several_ways_are_narrowed_by_commands() -> None:
    made = hook(**TOUCHED | {"runs": ("python",)})
    assert not runs(made, call("shell", command="cat .env"))
    assert runs(made, call("shell", command="cat .env && python3 --version"))


def test_way_that_cannot_be_known_counts_more_than_one_that_is_known_not_to_be() -> None:
    made = hook(reads=(".env",), writes=("*.lock",), runs=("npm install",))
    assert runs(made, call("shell", command="npm install"))
    assert not runs(hook(reads=(".env",), writes=("*.lock",), unknown="skip"), call("shell", command="npm install"))
    reasons = {gate.gate: gate.reason for gate in planner(made).gates(made, call("shell", command="cat .env"))}
    assert reasons[Gate.WRITES] == "shell writes no file; reads match, and one of them is enough"


def test_gates_that_a_hook_does_not_have_are_not_told() -> None:
    gates = [answer.gate for answer in planner(hook()).gates(hook(), call("shell", command="ls"))]

    assert not {Gate.DELETES, Gate.READS, Gate.RUNS, Gate.URLS} & set(gates)


@pytest.mark.parametrize("wants", [{"deletes": ("#x",)}, {"reads": ("",)}, {"runs": (" ",)}, {"urls": (" ",)}], ids=str)
def test_broken_pattern_is_found_when_the_hook_is_added(wants: dict[str, tuple[str, ...]]) -> None:
    with pytest.raises(ConfigError, match='hook "a"'):
        planner().check(hook(**wants))


@pytest.mark.parametrize("field", ["deletes", "reads", "runs", "urls"])
def test_pattern_of_a_stranger_must_not_take_for_ever(field: str) -> None:
    slow = hook(**{field: ("a*b*c*d*e*f",)}, source=Source.WORKSPACE)

    with pytest.raises(ConfigError, match="for ever"):
        planner().check(slow)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project in which a harmless name is a link to where no one may write."""
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    (made / "innocent").symlink_to(".git")
    (made / "deep").mkdir()
    (made / "deep" / "up").symlink_to(made / ".git" / "hooks")
    return made


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "innocent/config"}),
        ("write_file", {"path": "innocent/new/file"}),
        ("shell", {"command": "echo x > innocent/config"}),
        ("shell", {"command": "cd innocent && touch config"}),
        # to the system, what lies above a link is what lies above its target
        ("shell", {"command": "touch deep/up/../config"}),
        ("shell", {"command": "cd deep/up && touch ../config"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: innocent/a\n+x\n*** End Patch"}),
    ],
)
def test_link_does_not_lead_past_a_guard(project: Path, tool: str, args: dict[str, object]) -> None:
    guard = hook(writes=(".git/",), root=str(project))

    assert runs(guard, call(tool, cwd=str(project), **args))
    assert not runs(guard, call("write_file", cwd=str(project), path="deep/a"))


def test_project_that_is_reached_by_a_link_is_the_same_project(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    guard = hook(writes=("/src/",), root=str(tmp_path / "link"))

    assert runs(guard, call("write_file", cwd=str(project), path="src/a"))
    assert runs(guard, call("write_file", cwd=str(tmp_path / "link"), path="src/a"))
    assert not runs(guard, call("write_file", cwd=str(project), path="lib/a"))


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("shell", {"command": "echo x > ../.git/config"}),
        ("shell", {"command": "cd .. && echo x > .git/config"}),
        ("write_file", {"path": "../.git/config"}),
        ("write_file", {"path": "secret/a"}),
    ],
)
def test_agent_that_has_gone_down_into_a_repository_does_not_leave_a_persons_guard_behind(
    project: Path, tool: str, args: dict[str, object]
) -> None:
    own = {"layer": Layer.USER, "source": Source.USER, "root": ""}
    guard = hook(writes=(".git/**", "deep/secret/**"), **own)

    assert runs(guard, call(tool, cwd=str(project / "deep"), **args))
    assert not runs(guard, call("write_file", cwd=str(project / "deep"), path="a"))
    # a project's own patterns are about its own folder, whatever lies around it
    inner = hook(writes=("/deep/secret/",), root=str(project / "deep"))
    assert not runs(inner, call("write_file", cwd=str(project / "deep"), path="secret/a"))


def test_home_that_is_a_link_is_guarded_under_both_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    guard = hook(reads=("~/.ssh/**",))

    assert runs(guard, call("read_file", path="~/.ssh/id"))
    assert runs(guard, call("read_file", path=str(tmp_path / "home/.ssh/id")))
    assert runs(guard, call("shell", command=f"cat {tmp_path}/real/.ssh/id"))
    assert not runs(guard, call("shell", command=f"cat {tmp_path}/real/.sshx/id"))


def test_link_to_itself_is_compared_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")

    assert runs(hook(writes=("loop",), root=str(tmp_path)), call("write_file", cwd=str(tmp_path), path="loop"))


def test_effects_of_one_event_are_worked_out_once() -> None:
    filters, event = HookFilters(file_patterns, None), call("shell", command="ls")

    assert filters.effects(event) is filters.effects(event)
    assert filters.effects(call("shell", command="rm a")).deletes == ("/project/a",)
    assert filters.facts(event).real("/x") == "/x"


def judged(condition: str, tool: str, **args: object) -> bool:
    engine = Engine(cwd=os.sep)
    engine.on("before_tool", if_=condition)(lambda _event: Verdict.deny("no"))

    async def ask() -> bool:
        async with engine:
            return (await engine.emit("before_tool", tool=tool, args=args)).blocked

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("condition", "tool", "args", "expected"),
    [
        ('effects.writes.exists(p, p.startsWith("/etc"))', "write_file", {"path": "/etc/hosts"}, True),
        ('effects.writes.exists(p, p.startsWith("/etc"))', "shell", {"command": "echo x | tee /etc/hosts"}, True),
        ('effects.writes.exists(p, p.startsWith("/etc"))', "shell", {"command": "cat /etc/hosts"}, False),
        ("effects.opaque", "shell", {"command": "make"}, True),
        ("effects.opaque", "shell", {"command": "ls"}, False),
        ("effects.opaque", "todo", {}, False),
        ('"deletes" in effects.unknown', "shell", {"command": "rm -r x"}, True),
        ('effects.runs.exists(c, c.startsWith("git push"))', "shell", {"command": "cd x; git push"}, True),
        ("size(effects.urls) > 0", "web_fetch", {"urls": ["https://a.b"]}, True),
        # an event cannot say of itself that it is harmless
        ("effects.opaque", "mcp__a__b", {"effects": {"opaque": False}}, True),
    ],
)
def test_condition_may_ask_what_a_call_does(
    condition: str, tool: str, args: dict[str, object], *, expected: bool
) -> None:
    assert judged(condition, tool, **args) is expected
