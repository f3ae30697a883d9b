from collections.abc import Iterable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.config.file_patterns import file_patterns
from hookline.dialects import DIALECTS
from hookline.engine.matchers import path_keys, pattern_keys
from hookline.engine.planner import HookPlanner
from hookline.engine.registry import HookRegistry
from hookline.errors import ConfigError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Layer


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*.py"], {".py"}),
        (["src/**/*.test.ts"], {".ts"}),
        (["src/"], {"/src"}),
        (["docs/**"], {"/docs"}),
        ([".env", "*.pem"], {"/.env", ".pem"}),
        (["*.py", "!tests/"], {".py"}),
        (["Make*"], set()),
        (["*.py", "*"], set()),
        (["*.py[co]"], set()),
        (["lib/*_test"], {"/lib"}),
        (["!*.py"], set()),
        ([r"\#odd"], set()),
    ],
)
def test_patterns_lead_to_keys_or_to_none_at_all(patterns: list[str], expected: set[str]) -> None:
    assert pattern_keys(patterns) == expected


def test_path_has_the_keys_of_all_its_parts() -> None:
    keys = path_keys(["src/app.test.ts"], "/project")

    assert keys is not None
    assert {"/project", "/src", "/app.test.ts", ".ts"} <= keys
    assert path_keys(["~/.ssh/config"], "/project") is None
    assert path_keys(["../x"], "") is None
    assert path_keys([], "/project") == frozenset()


PART = st.sampled_from(["src", "a.py", "b.ts", ".env", "lib", "x.test.ts", "Makefile", "a b", "..", "ä.py"])
PATH = st.lists(PART, min_size=1, max_size=4).map("/".join)
GLOB = st.sampled_from(["src", "*.py", "*", "**", ".env", "x*", "*.ts", "?.py", "*.test.ts", "lib", "[ab].py", "a b"])
PATTERN = st.tuples(
    st.sampled_from(["", "!", "/"]),
    st.lists(GLOB, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "/", " "]),
).map("".join)


@given(st.lists(PATTERN, min_size=1, max_size=3), PATH)
def test_no_path_that_patterns_match_is_without_their_keys(patterns: list[str], path: str) -> None:
    wanted, found = pattern_keys(patterns), path_keys([path], "/project")

    if wanted and found is not None and file_patterns(patterns)(f"/project/{path}", "/project"):
        assert wanted & found


MATCHERS = st.sampled_from(
    [
        "",
        "*",
        "shell",
        "Bash|Write",
        "write_file|shell",
        "mcp__*",
        "mcp__shop__.*",
        "*_file",
        "(Edit|Write)",
        "edit*",
        "B",
    ]
)
TOOLS = st.sampled_from(["", "shell", "write_file", "edit_file", "mcp__shop__buy", "Bash", "\u017fhell", "read_file"])
HOOKS = st.lists(
    st.builds(
        Hook,
        id=st.uuids().map(str),
        on=st.sampled_from([("before_tool",), ("file_edited",), ("before_tool", "file_edited")]),
        command=st.just("sh"),
        dialect=st.sampled_from(["hookline", "cli-agent", "ollm", "ollama-cli"]),
        matcher=MATCHERS,
        files=st.lists(PATTERN, max_size=2).map(tuple),
        writes=st.lists(PATTERN, max_size=2).map(tuple),
        deletes=st.lists(PATTERN, max_size=1).map(tuple),
        reads=st.lists(PATTERN, max_size=1).map(tuple),
        runs=st.sampled_from([(), (), ("rm",), ("cat",)]),
        urls=st.sampled_from([(), (), ("example.com",)]),
        enabled=st.booleans(),
        parallel=st.booleans(),
        priority=st.integers(0, 3),
        layer=st.sampled_from([Layer.PROJECT, Layer.USER]),
        root=st.just("/project"),
    ),
    max_size=8,
)
EVENTS = st.one_of(
    st.builds(
        Event,
        name=st.just(EventName.BEFORE_TOOL),
        tool=TOOLS,
        native_tool=st.sampled_from(["", "Bash", "Write"]),
        args=st.one_of(
            st.just({}),
            PATH.map(lambda path: {"path": path}),
            PATH.map(lambda path: {"command": f"rm {path}"}),
            PATH.map(lambda path: {"command": f"cat {path} https://example.com"}),
        ),
        cwd=st.just("/project"),
    ),
    st.builds(
        Event, name=st.just(EventName.FILE_EDITED), data=PATH.map(lambda path: {"path": path}), cwd=st.just("/project")
    ),
)


@pytest.mark.spec("D-01", "D-09")
@settings(max_examples=150)
@given(HOOKS, st.lists(EVENTS, min_size=1, max_size=3))
def test_plan_has_exactly_the_hooks_that_every_gate_lets_through(hooks: list[Hook], events: list[Event]) -> None:
    registry = HookRegistry()
    planner = HookPlanner(registry, DIALECTS, file_patterns=file_patterns)
    hooks = [hook for hook in hooks if usable(planner, hook)]
    for hook in hooks:
        registry.add(hook)

    for event in [*events, *events]:
        plan = planner.plan(event)
        open_to = [hook for hook in hooks if all(gate.passed for gate in planner.gates(hook, event))]
        assert [hook.id for hook in plan.hooks] == [hook.id for hook in sorted(open_to, key=planner.rank)]
        off = [
            hook
            for hook in hooks
            if [gate.gate for gate in planner.gates(hook, event) if not gate.passed] == ["enabled"]
        ]
        assert ids(skip.hook for skip in plan.skipped) == ids(off)
        aside = ids(skip.hook for skip in planner.list_unmatched(event))
        listening = ids(hook for hook in hooks if event.name in hook.on)
        assert sorted([*aside, *ids(plan.hooks), *ids(off)]) == listening


def usable(planner: HookPlanner, hook: Hook) -> bool:
    with suppress(ConfigError):
        planner.check(hook)
        return True
    return False


def ids(hooks: Iterable[Hook]) -> list[str]:
    return sorted(hook.id for hook in hooks)


@pytest.mark.spec("D-01")
def test_hooks_about_other_things_are_neither_asked_nor_listed() -> None:
    asked: list[str] = []

    def noting(patterns: Iterable[str]) -> object:
        matches = file_patterns(list(patterns))

        def noted(path: str, folder: str, *, above: bool = False) -> bool:
            asked.extend(patterns)
            return matches(path, folder, above=above)

        return noted

    registry = HookRegistry()
    for number in range(1000):
        registry.add(Hook(id=f"by-file-{number}", on="file_edited", command="sh", files=(f"*.x{number}",)))
        registry.add(Hook(id=f"by-name-{number}", on="file_edited", command="sh", matcher=f"file{number}"))
    planner = HookPlanner(registry, file_patterns=noting)  # type: ignore[arg-type] # told by what it is for

    plan = planner.plan(Event(name=EventName.FILE_EDITED, data={"path": "src/a.x7"}, cwd="/project"))

    assert ([hook.id for hook in plan.hooks], plan.skipped) == (["by-file-7"], ())
    assert asked == ["*.x7"]
