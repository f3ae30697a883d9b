import pytest

from hookline.config.file_patterns import file_patterns
from hookline.engine.filters import GateResult
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer, Priority, Source
from hookline.model.plan import Gate

ROOT = "/project"


def planner(*hooks: Hook) -> HookPlanner:
    registry = HookRegistry()
    for hook in hooks:
        registry.add(hook)
    return HookPlanner(registry, file_patterns=file_patterns)


def hook(**fields: object) -> Hook:
    return Hook(**{"id": "a", "command": "sh", "on": "before_tool", "root": ROOT, "layer": Layer.PROJECT} | fields)  # type: ignore[arg-type]


def call(tool: str, *, cwd: str = ROOT, **args: object) -> Event:
    return Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd=cwd)


def runs(made: Hook, event: Event) -> bool:
    asked = planner(made)
    chosen, aside = asked.plan(event).hooks, [skip.hook for skip in asked.list_unmatched(event)]
    assert [*chosen, *aside] == [made]
    return bool(chosen)


@pytest.mark.spec("D-01")
@pytest.mark.parametrize(
    ("patterns", "path", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/down/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "other/src/a.py", False),
        ("src/", "src/deep/a.txt", True),
        ("src/**/test_*.py", "src/x/y/test_a.py", True),
        ("*.py", "/project/src/a.py", True),
        ("src/*.py", "/project/src/a.py", True),
        ("src/*.py", "/project/x/../src/a.py", True),
        ("/src/*.py", "src/a.py", True),
        (".env", "/elsewhere/.env", True),
        ("/etc/", "/etc/passwd", True),
        ("/etc/", "etc/passwd", True),
        ("*.py !docs/**", "docs/a.py", False),
        ("*.py !docs/**", "src/a.py", True),
    ],
)
def test_files_are_matched_as_git_does(patterns: str, path: str, *, expected: bool) -> None:
    event = Event(name=EventName.FILE_EDITED, data={"path": path}, cwd=ROOT)

    assert runs(hook(on="file_edited", files=tuple(patterns.split())), event) is expected


def test_patterns_of_a_project_are_counted_from_its_folder_and_a_persons_own_from_where_the_agent_works() -> None:
    event = call("write_file", cwd="/project/web", path="src/a.ts")

    assert runs(hook(files=("web/src/*.ts",)), event)
    assert not runs(hook(files=("src/*.ts",)), event)
    own = {"layer": Layer.USER, "root": "/home/me/.config/hookline", "source": Source.USER}
    assert runs(hook(files=("src/*.ts",), **own), event)
    assert not runs(hook(files=("web/src/*.ts",), **own), event)


def test_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    guard = hook(writes=("~/.ssh/",))

    assert runs(guard, call("write_file", path="~/.ssh/config"))
    assert runs(guard, call("write_file", path="/home/me/.ssh/config"))
    assert not runs(guard, call("write_file", path="/project/.ssh2/config"))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (call("read_file", path="a.py"), True),
        (call("read_files", paths=["b.txt", "a.py"]), True),
        (call("grep", path="b.txt"), False),
        (call("custom_tool", file_path="a.py"), True),
        (call("apply_patch", changes=[{"op": "move", "path": "b.txt", "to": "a.py"}]), True),
        (Event(name=EventName.BEFORE_TOOL, tool="write_file", args={"path": 5}), False),
    ],
)
def test_the_files_of_a_tool_are_those_it_names(event: Event, *, expected: bool) -> None:
    assert runs(hook(files=("*.py",)), event) is expected


def test_commit_is_about_its_files() -> None:
    commit = Event(name=EventName.GIT_COMMIT, data={"files": ["a.md", "b.py"]}, cwd=ROOT)

    assert runs(hook(on="git_commit", files=("*.py",)), commit)
    assert not runs(hook(on="git_commit", files=("*.rs",)), commit)


def test_hook_about_files_has_a_reason_where_an_event_has_none() -> None:
    aside = planner(hook(files=("*.py",))).list_unmatched(call("shell", command="ls"))

    assert [(skip.gate, skip.reason) for skip in aside] == [(Gate.FILES, "this before_tool names no file")]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (call("write_file", path="config/.env"), True),
        (call("write_file", path="config/other"), False),
        (call("multi_edit", path=".env", edits=[]), True),
        (call("delete_file", paths=["x", ".env"]), True),
        (call("read_file", path=".env"), False),
        (call("grep", path=".env"), False),
        # nobody can know what these write, and a guard must not be slipped past
        (call("shell", command="make"), True),
        (call("shell", command="ls"), False),
        (call("shell", command="echo A=1 > config/.env"), True),
        (call("shell", command="echo A=1 > config/env"), False),
        (call("mcp__files__move", source="a"), True),
        (call("something_new"), True),
        (call("write_file", target="x"), True),
        (Event(name=EventName.PERMISSION_REQUEST, data={"operation": "deploy"}), True),
        (Event(name=EventName.PERMISSION_REQUEST, tool="read_file", args={"path": ".env"}), False),
    ],
)
def test_hook_about_writing_runs_for_every_call_that_may_write_the_file(event: Event, *, expected: bool) -> None:
    assert runs(hook(on=str(event.name), writes=(".env",)), event) is expected


def test_written_file_counts_as_written() -> None:
    guard = hook(on=("file_created", "before_agent"), writes=("*.key",))

    assert runs(guard, Event(name=EventName.FILE_CREATED, data={"path": "a.key"}, cwd=ROOT))
    assert not runs(guard, Event(name=EventName.FILE_CREATED, data={"path": "a.txt"}, cwd=ROOT))
    assert not runs(guard, Event(name=EventName.BEFORE_AGENT, data={"prompt": "a.key"}, cwd=ROOT))


def test_one_planner_tells_calls_of_the_same_tool_apart_by_their_files() -> None:
    made = planner(hook(files=("*.py",)), hook(id="b"), hook(id="c", writes=("*.md",)))

    planned = [[one.id for one in made.plan(call("write_file", path=path)).hooks] for path in ("a.py", "a.md", "a.py")]

    assert planned == [["a", "b"], ["b", "c"], ["a", "b"]]


def test_plan_without_files_is_made_once() -> None:
    made = planner(hook())

    assert made.plan(call("write_file", path="a")) is made.plan(call("write_file", path="b"))


@pytest.mark.parametrize("patterns", [("",), ("#x",), ("!",), ("[z-a]",)])
def test_broken_pattern_is_found_when_the_hook_is_added(patterns: tuple[str, ...]) -> None:
    made = hook(writes=patterns, source_path="hookline.toml", source_line=7)

    with pytest.raises(ConfigError) as caught:
        planner().check(made)

    assert 'hook "a": file pattern' in caught.value.message
    assert (caught.value.path, caught.value.line) == ("hookline.toml", 7)


def test_planner_by_itself_reads_patterns_too() -> None:
    registry = HookRegistry()
    registry.add(hook(files=("*.py",)))

    assert HookPlanner(registry).plan(call("read_file", path="a.py")).hooks


@pytest.mark.spec("D-19")
def test_every_gate_answers_also_behind_a_closed_one() -> None:
    off = hook(enabled=False, matcher="shell", files=("*.py",), writes=("*.md",), on=("after_tool", "before_tool"))

    assert planner(off).gates(off, call("write_file", path="a.txt")) == [
        GateResult(Gate.ENABLED, passed=False, reason="switched off"),
        GateResult(Gate.EVENT, passed=True, reason="it runs at after_tool and before_tool"),
        GateResult(Gate.HOST, passed=True, reason="no agent runs it by itself here"),
        GateResult(Gate.AGENTS, passed=True, reason="it is for every agent"),
        GateResult(Gate.MATCHER, passed=False, reason="matcher 'shell' does not match 'write_file'"),
        GateResult(Gate.FILES, passed=False, reason="files ['*.py'] do not match 'a.txt'"),
        GateResult(Gate.WRITES, passed=False, reason="writes ['*.md'] do not match '/project/a.txt'"),
        GateResult(Gate.CONDITION, passed=True, reason="it has no condition"),
    ]


@pytest.mark.spec("D-19")
def test_every_gate_says_why_it_is_open() -> None:
    made = hook(files=("*.md",), writes=("*.md",))

    assert [
        (answer.passed, answer.reason) for answer in planner(made).gates(made, call("write_file", path="a.md"))
    ] == [
        (True, "switched on"),
        (True, "it runs at before_tool"),
        (True, "no agent runs it by itself here"),
        (True, "it is for every agent"),
        (True, "it has no matcher"),
        (True, "files ['*.md'] match 'a.md'"),
        (True, "writes ['*.md'] match '/project/a.md'"),
        (True, "it has no condition"),
    ]
    other = hook(on=("custom:deploy",))
    event = Event(name=EventName.CUSTOM, data={"event_name": "deploy"})
    assert planner(other).gates(other, event)[1].passed
    assert planner(other).gates(other, call("shell"))[1].reason == "it runs at custom:deploy, not at before_tool"


def test_managed_hooks_come_right_after_builtin_ones() -> None:
    hooks = [
        hook(id="workspace"),
        hook(id="user", source=Source.USER, layer=Layer.USER),
        hook(id="managed", source=Source.USER, layer=Layer.MANAGED),
        hook(id="builtin", source=Source.BUILTIN),
        hook(id="critical", priority=Priority.CRITICAL),
    ]

    planned = [made.id for made in planner(*hooks).plan(call("shell")).hooks]

    assert planned == ["critical", "builtin", "managed", "user", "workspace"]
