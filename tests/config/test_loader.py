import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from hookline.config.loader import LARGEST, Loaded, load, read_text
from hookline.config.problem import Severity
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Source
from hookline.wiring import native_names, shell_dialects


class Desk(Protocol):
    project: Path
    home: Path
    config: Path

    def put(self, path: Path, content: object) -> Path: ...

    def load(
        self, *, unusable: Callable[[Hook], str] | None = None, refusal: Callable[[Hook], str] | None = None
    ) -> Loaded: ...


def settings(event: str, *commands: str, **more: object) -> dict[str, object]:
    entries = [{"type": "command", "command": command, **more} for command in commands]
    return {"hooks": {event: [{"matcher": "*", "hooks": entries}]}}


def errors(loaded: Loaded) -> list[str]:
    return [str(problem) for problem in loaded.problems]


@pytest.mark.spec("A-02", "C-02", "O-04")
def test_hooks_of_every_system_are_loaded_together(desk: Desk) -> None:
    desk.put(desk.project / "hookline.toml", '[[hook]]\nname = "mine"\non = "before_tool"\nrun = "python3 x.py"\n')
    desk.put(desk.config / "hookline.toml", '[[hook]]\nname = "always"\non = "before_tool"\nrun = "python3 y.py"\n')
    desk.put(
        desk.project / ".ollm/hooks/a.json", {"id": "a", "command": "node", "args": ["a.js"], "event": "before_tool"}
    )
    desk.put(desk.home / ".ollm/hooks/b.json", {"before_tool": [{"id": "b", "command": "node", "args": ["b.js"]}]})
    desk.put(desk.project / ".ollama/settings.json", settings("PreToolUse", "python3 p.py"))
    desk.put(desk.home / ".config/cli-agent/settings.json", settings("PostToolUse", "logger {{tool_name}}"))
    loaded = desk.load()

    assert errors(loaded) == []
    assert [(hook.id, hook.dialect, hook.source) for hook in loaded.hooks] == [
        ("mine", "hookline", Source.WORKSPACE),
        ("always", "hookline", Source.USER),
        ("a", "ollm", Source.WORKSPACE),
        ("b", "ollm", Source.USER),
        ("settings:PreToolUse:1", "ollama-cli", Source.WORKSPACE),
        ("settings:PostToolUse:1", "cli-agent", Source.USER),
    ]
    assert len(loaded.files) == 6
    assert all(hook.source_path in loaded.files and hook.source_line >= 1 for hook in loaded.hooks)


@pytest.mark.spec("A-02")
def test_the_four_settings_files_of_cli_agent_are_merged_strongest_first(desk: Desk) -> None:
    desk.put(desk.home / ".config/cli-agent/settings.json", settings("Stop", "echo 4"))
    desk.put(desk.home / ".config/agent/settings.json", settings("Stop", "echo 3"))
    desk.put(desk.project / ".config/agent/settings.json", settings("Stop", "echo 2"))
    desk.put(desk.project / ".config/agent/settings.local.json", settings("Stop", "echo 1"))

    assert [hook.command for hook in desk.load().hooks] == ["echo 1", "echo 2", "echo 3", "echo 4"]


def test_same_hook_in_two_files_runs_once_and_is_noted(desk: Desk) -> None:
    desk.put(desk.project / ".config/agent/settings.json", settings("Stop", "echo done"))
    first = desk.put(desk.project / ".config/agent/settings.local.json", settings("Stop", "echo done"))
    loaded = desk.load()

    assert [hook.source_path for hook in loaded.hooks] == [str(first)]
    assert [(problem.severity, problem.line) for problem in loaded.problems] == [(Severity.NOTE, 7)]
    assert f"the same hook as in {first}:" in errors(loaded)[0]


@pytest.mark.spec("O-04")
def test_workspace_copy_does_not_take_the_trust_from_the_persons_own_hook(desk: Desk) -> None:
    desk.put(desk.project / ".config/agent/settings.local.json", settings("PreToolUse", "guard"))
    mine = desk.put(desk.home / ".config/agent/settings.json", settings("PreToolUse", "guard"))
    (hook,) = desk.load().hooks

    assert (hook.source, hook.source_path) == (Source.USER, str(mine))


def test_hooks_that_differ_in_anything_are_two(desk: Desk) -> None:
    desk.put(desk.project / ".config/agent/settings.json", settings("Stop", "echo done", timeout=5))
    desk.put(desk.home / ".config/agent/settings.json", settings("Stop", "echo done"))

    assert len(desk.load().hooks) == 2


def test_ids_are_unique_and_the_persons_own_hooks_choose_first(desk: Desk) -> None:
    desk.put(desk.project / "hookline.toml", '[[hook]]\nname = "Guard"\non = "error"\nrun = "node theirs.js"\n')
    desk.put(desk.config / "hookline.toml", '[[hook]]\nid = "guard"\non = "error"\nrun = "node mine.js"\n')
    loaded = desk.load()

    assert {hook.id: hook.command for hook in loaded.hooks} == {"guard": "node mine.js", "guard-2": "node theirs.js"}
    assert [problem.severity for problem in loaded.problems] == [Severity.NOTE]


def test_ids_made_of_file_names_are_told_apart_without_ado(desk: Desk) -> None:
    desk.put(desk.project / ".config/agent/settings.json", settings("Stop", "echo 1", "echo 2"))
    desk.put(desk.project / ".ollama/settings.json", settings("Stop", "node 3.js"))
    loaded = desk.load()

    assert [hook.id for hook in loaded.hooks] == ["settings:Stop:1", "settings:Stop:1-2", "settings:Stop:2"]
    assert loaded.problems == ()


def test_scripts_are_found_from_the_project_or_beside_the_persons_file(desk: Desk) -> None:
    desk.put(desk.project / "hooks/check.py", "")
    desk.put(desk.home / ".ollm/hooks/count.js", "")
    desk.put(desk.project / ".ollama/settings.json", settings("Stop", "python3 hooks/check.py"))
    desk.put(desk.home / ".ollm/hooks/c.json", {"id": "c", "command": "node", "args": ["count.js"], "event": "error"})
    desk.put(desk.project / "hookline.toml", '[[hook]]\non = "error"\nrun = "./guard.sh"\n')
    commands = [(hook.command, *hook.args) for hook in desk.load().hooks]

    assert commands == [
        (f"{desk.project}/guard.sh",),
        ("node", f"{desk.home}/.ollm/hooks/count.js"),
        ("python3", f"{desk.project}/hooks/check.py"),
    ]


@pytest.mark.spec("O-04", "D-07")
def test_link_in_the_workspace_to_the_persons_own_file_stays_a_workspace_hook(desk: Desk) -> None:
    mine = desk.put(desk.home / "elsewhere.json", {"id": "a", "command": "node", "event": "before_tool"})
    link = desk.project / ".ollm/hooks/a.json"
    link.parent.mkdir(parents=True)
    link.symlink_to(mine)
    (hook,) = desk.load().hooks

    assert (hook.source, hook.source_path) == (Source.WORKSPACE, str(link))


@pytest.mark.spec("D-17")
def test_broken_file_is_reported_and_the_others_still_load(desk: Desk) -> None:
    broken = desk.put(desk.project / ".ollm/hooks/broken.json", '{\n  "id": "x",\n  "command": \n}')
    desk.put(desk.project / ".ollm/hooks/fine.json", {"id": "fine", "command": "node", "event": "before_tool"})
    loaded = desk.load()

    assert [hook.id for hook in loaded.hooks] == ["fine"]
    assert errors(loaded) == [f"{broken}:4: error: Expecting value (column 1); nothing in this file is in force"]


@pytest.mark.spec("D-14", "D-17")
def test_automation_files_among_the_others_are_read_and_reported(desk: Desk) -> None:
    legacy = {"name": "Ask", "when": {"type": "fileEdited"}, "then": {"type": "askAgent", "prompt": "look"}}
    path = desk.put(desk.project / ".ollm/hooks/ask.json", legacy)
    loaded = desk.load()

    assert loaded.hooks == ()
    assert errors(loaded) == [f'{path}:1: warning: hook "ask": askAgent hooks are not run yet']


def test_file_that_is_no_file_is_reported_and_nobody_waits_for_it(desk: Desk) -> None:
    folder = desk.project / ".ollm/hooks"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    (folder / "nowhere.json").symlink_to("missing")
    (folder / "endless.json").symlink_to("/dev/zero")
    (folder / "large.json").write_bytes(b" " * (LARGEST + 1))
    (folder / "latin.json").write_bytes(b'{\n"id": "\xe9"}')
    problems = {Path(problem.path).name: (problem.line, problem.message) for problem in desk.load().problems}

    assert problems == {
        "endless.json": (0, "this is not a file"),
        "folder.json": (0, "this is not a file"),
        "large.json": (0, "the file is larger than 1024 KB; nothing in it is in force"),
        "latin.json": (2, "the file is not UTF-8; nothing in it is in force"),
        "nowhere.json": (0, "the file cannot be read: No such file or directory"),
        "pipe.json": (0, "this is not a file"),
    }


def test_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf{}\r\n")

    assert read_text(str(path)) == "{}\r\n"


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_text(str(tmp_path / "none"))


def test_unusable_hook_is_left_out_and_a_refused_one_stays(desk: Desk) -> None:
    desk.put(desk.project / ".config/agent/settings.json", settings("Stop", "bad matcher", "bad command", "fine"))
    loaded = desk.load(
        unusable=lambda hook: "its matcher is broken" if "matcher" in hook.command else "",
        refusal=lambda hook: "no such program" if "command" in hook.command else "",
    )

    assert [hook.command for hook in loaded.hooks] == ["bad command", "fine"]
    assert [problem.message for problem in loaded.problems] == [
        'hook "settings:Stop:1" is not loaded: its matcher is broken',
        'hook "settings:Stop:2" will not be run: no such program',
    ]


def test_control_characters_of_a_file_do_not_reach_the_message(desk: Desk) -> None:
    desk.put(desk.project / "hookline.toml", '[[hook]]\non = "\\u001b[2Jx"\nrun = "y"\n"\\u202ek" = 1\n')
    text = "".join(errors(desk.load()))

    assert "\\x1b[2Jx" in text
    assert "\\u202ek" in text
    assert text.isprintable()


def test_empty_project_and_home_have_no_hooks(desk: Desk) -> None:
    assert desk.load() == Loaded()


FOURTEEN = (
    ["Setup", "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"],
    ["PermissionRequest", "SkillTrigger", "PreCompact", "Stop", "SubagentStart", "SubagentStop", "Notification"],
)


@pytest.mark.spec("C-01", "C-02")
def test_all_fourteen_events_of_ollama_are_known_by_the_dialects_that_ship(desk: Desk) -> None:
    group = {"hooks": [{"type": "command", "command": "python3 seen.py"}]}
    desk.put(desk.project / ".ollama/settings.json", {"hooks": {name: [group] for names in FOURTEEN for name in names}})
    loaded = load(
        desk.project,
        home=desk.home,
        config_dir=desk.config,
        names=native_names(),
        shell_dialects=shell_dialects(),
    )

    assert errors(loaded) == []
    assert len({hook.on for hook in loaded.hooks}) == 14


MISTAKES = {
    "hookline.toml": (
        """\
[[hook]]
on = "before_tool"
run = "python3 a.py"
timout = 5                      # 1
[[hook]]
on = "befor_tool"               # 2
run = "python3 b.py"
[[hook]]                        # 3
run = "python3 c.py"
[[hook]]
on = "error"
run = "python3 d.py"
priority = "urgent"             # 4
[[hook]]
on = "error"
call = "no-colon"               # 5
[hooks]                         # 6
""",
        {4: "timeout", 6: "before_tool", 8: "has no `on`", 13: "critical", 16: "module:function", 17: '"hook"'},
    ),
    ".ollama/settings.json": (
        """\
{
  "hooks": {
    "PreToolUs": [],
    "Stop": {},
    "PostToolUse": [
      {"matcher": 5, "hooks": []},
      {"type": "command", "command": "x"},
      {"hooks": [
        {"type": "command"},
        {"type": "webhok", "url": "http://x"},
        {"type": "command", "command": "node x.js", "timeout": "5s"},
        {"type": "command", "command": "node y.js", "shel": true},
        {"type": "webhook", "url": "http://x", "headers": []},
        {"type": "command", "command": "node z.js", "on_error": "deny"},
        "node"
      ]}
    ]
  }
}
""",
        {
            3: "PreToolUse",
            4: "wanted a list",
            6: "matcher",
            7: 'has no "hooks"',
            9: "has no command",
            10: "webhook",
            11: "seconds",
            12: '"shell"',
            13: "headers",
            14: '"block"',
            15: "wanted an object",
        },
    ),
    ".ollm/hooks/a.json": (
        """\
[
  {"id": "a", "command": "node"},
  {"id": "b", "command": "node", "event": "PreToolUse"},
  {"id": "c", "command": "node", "event": "error", "args": "x.js"},
  {"id": "d", "command": "node", "event": "error", "id": "e"},
  {"id": "f", "command": "node", "event": "error", "dialect": "oolm"}
]
""",
        {2: "says no event", 3: "before_tool", 4: "list of texts", 5: "second time", 6: '"ollm"'},
    ),
    ".ollm/hooks/b.json": ("{\n  'id': 1\n}", {2: "double quotes"}),
    ".config/agent/settings.json": ('{"hooks": {\n"Stop": [/* oops ]}}', {2: "never closed"}),
}


@pytest.mark.spec("D-17", "C-02")
def test_each_planted_mistake_is_reported_with_file_and_line(desk: Desk) -> None:
    for name, (text, _) in MISTAKES.items():
        desk.put(desk.project / name, text)
    loaded = desk.load()
    found = {(problem.path, problem.line): problem.message for problem in loaded.problems}
    expected = {
        (str(desk.project / name), line): words
        for name, (_, lines) in MISTAKES.items()
        for line, words in lines.items()
    }

    assert len(expected) == 24
    assert found.keys() == expected.keys()
    assert [place for place, words in expected.items() if words not in found[place]] == []
    assert {hook.command for hook in loaded.hooks} == {
        "python3 a.py",
        "python3 d.py",
        "node x.js",
        "node y.js",
        "node z.js",
        "node",
    }
