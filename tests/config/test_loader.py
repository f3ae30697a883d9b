import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from msgspec.structs import replace

from hookline.config.discovery import LOCATIONS, Location, Root
from hookline.config.document import Severity
from hookline.config.loader import MAX_FILE_BYTES, MAX_FOREIGN_HOOKS, LoadResult, SearchPaths, load, read_text
from hookline.config.reader import KnownNames
from hookline.config.staleness import FileStamps
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source
from hookline.wiring import native_names, shell_dialects


class Desk(Protocol):
    project: Path
    home: Path
    config: Path
    managed: Path

    def put(self, path: Path, content: object) -> Path: ...

    def load(
        self, *, unusable: Callable[[Hook], str] | None = None, refusal: Callable[[Hook], str] | None = None
    ) -> LoadResult: ...


def settings(event: str, *commands: str, **more: object) -> dict[str, object]:
    entries = [{"type": "command", "command": command, **more} for command in commands]
    return {"hooks": {event: [{"matcher": "*", "hooks": entries}]}}


def errors(loaded: LoadResult) -> list[str]:
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
def test_automation_files_among_the_others_are_loaded(desk: Desk) -> None:
    legacy = {"name": "Ask", "when": {"type": "fileEdited"}, "then": {"type": "askAgent", "prompt": "look"}}
    desk.put(desk.project / ".ollm/hooks/ask.json", legacy)
    loaded = desk.load()

    assert [(hook.id, hook.kind, hook.source_format) for hook in loaded.hooks] == [("ask", "ask_agent", "when_then")]
    assert errors(loaded) == []


def test_file_that_is_no_file_is_reported_and_nobody_waits_for_it(desk: Desk) -> None:
    folder = desk.project / ".ollm/hooks"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    (folder / "nowhere.json").symlink_to("missing")
    (folder / "endless.json").symlink_to("/dev/zero")
    (folder / "large.json").write_bytes(b" " * (MAX_FILE_BYTES + 1))
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


@pytest.mark.parametrize("judge", ["unusable", "refusal"])
def test_hook_that_makes_a_judge_fail_takes_no_other_with_it(desk: Desk, judge: str) -> None:
    def fail(hook: Hook) -> str:
        return "" if hook.command == "fine" else str(hook.command + 1)  # type: ignore[operator] # the bug

    desk.put(desk.project / ".config/agent/settings.json", settings("Stop", "odd", "fine"))
    loaded = desk.load(**{judge: fail})

    assert "fine" in [hook.command for hook in loaded.hooks]
    [problem] = loaded.problems
    assert "shows a bug in hookline (TypeError(" in problem.message


def test_control_characters_of_a_file_do_not_reach_the_message(desk: Desk) -> None:
    desk.put(desk.project / "hookline.toml", '[[hook]]\non = "\\u001b[2Jx"\nrun = "y"\n[[hook]]\n"\\u202ek" = 1\n')
    text = "".join(errors(desk.load()))

    assert "\\x1b[2Jx" in text
    assert "\\u202ek" in text
    assert text.isprintable()


def test_empty_project_and_home_have_no_hooks(desk: Desk) -> None:
    assert replace(desk.load(), stamps=FileStamps()) == LoadResult()


@pytest.mark.spec("O-04")
def test_each_hook_remembers_where_it_came_from(desk: Desk) -> None:
    desk.put(desk.project / ".config/agent/settings.local.json", settings("Stop", "echo 1", "echo 2"))
    hook = desk.load().hooks[1]

    assert (hook.layer, hook.source, hook.dialect) == (Layer.LOCAL, Source.WORKSPACE, "cli-agent")
    assert (hook.root, hook.source_line, hook.source_format) == (str(desk.project), 11, "grouped")
    assert hook.source_pointer == ("hooks", "Stop", 0, "hooks", 1)


def test_files_are_listed_with_their_layer_and_the_number_of_their_hooks(desk: Desk) -> None:
    mine = desk.put(desk.home / ".ollama/settings.json", settings("Stop", "node a.js", "node b.js"))
    empty = desk.put(desk.home / ".ollm/hooks/empty.json", {})
    found = {file.path: (file.layer, file.source, file.hooks) for file in desk.load().loaded_files}

    assert found == {str(mine): (Layer.USER, Source.USER, 2), str(empty): (Layer.USER, Source.USER, 0)}


GUARD = '[[hook]]\nname = "guard"\non = "before_tool"\nrun = "/opt/guard"\n'


@pytest.mark.spec("O-04")
@pytest.mark.parametrize("layer", ["managed", "config"])
def test_project_can_neither_switch_off_nor_shadow_the_hook_of_a_stronger_layer(desk: Desk, layer: str) -> None:
    mine = desk.put(getattr(desk, layer) / "hookline.toml", GUARD)
    desk.put(desk.project / "hookline.toml", f"{GUARD}enabled = false\n\n{GUARD.replace('/opt/guard', '/bin/true')}")
    desk.put(desk.project / "hookline.local.toml", GUARD)
    hooks = {hook.id: hook for hook in desk.load().hooks}

    assert (hooks["guard"].source_path, hooks["guard"].enabled) == (str(mine), True)
    assert {name: (hook.enabled, hook.command) for name, hook in hooks.items()} == {
        "guard": (True, "/opt/guard"),
        "guard-2": (False, "/opt/guard"),
        "guard-3": (True, "/bin/true"),
    }


def test_person_cannot_take_the_name_of_a_managed_hook(desk: Desk) -> None:
    managed = desk.put(desk.managed / "hookline.toml", GUARD)
    desk.put(desk.config / "hookline.toml", GUARD)
    desk.put(desk.home / ".ollm/hooks/g.json", {"id": "guard", "command": "node", "event": "before_tool"})
    loaded = desk.load()

    assert [(hook.id, hook.layer) for hook in loaded.hooks] == [("guard", Layer.MANAGED), ("guard-2", Layer.USER)]
    assert loaded.hooks[0].source_path == str(managed)


def test_managed_file_that_others_may_write_to_is_not_read(desk: Desk) -> None:
    path = desk.put(desk.managed / "hookline.toml", GUARD)
    path.chmod(0o666)
    loaded = desk.load()

    assert loaded.hooks == ()
    assert errors(loaded) == [
        f"{path}: error: the file can be changed by others than the administrator; chmod 644, chown root"
    ]


@pytest.mark.spec("O-04", "D-07")
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("hookline.toml", f"{GUARD}\n[settings]\ntrust_workspace = true\n", 7),
        ("hookline.local.toml", f"trusted_workspaces = ['/']\n{GUARD}", 1),
        (".ollama/settings.json", '{\n "model": "x",\n "trustWorkspace": true,\n "hooks": {}\n}', 3),
        (".config/agent/settings.json", '{\n "hooks": {},\n "settings": {\n  "trusted-hooks": []}\n}', 4),
        (".ollm/hooks/a.json", '[]\n// "trustWorkspace"\n', 0),
    ],
)
def test_trust_options_of_a_workspace_are_reported_and_have_no_effect(
    desk: Desk, name: str, text: str, line: int
) -> None:
    path = desk.put(desk.project / name, text)
    told = "trust options are read from your own configuration only"
    lines = [problem.line for problem in desk.load().problems if told in problem.message and problem.path == str(path)]

    assert lines == ([line] if line else [])


def test_installed_pack_runs_its_own_scripts_and_is_called_downloaded(desk: Desk) -> None:
    desk.put(desk.config / "packs/guards/check.py", "")
    desk.put(desk.config / "packs/guards/hookline.toml", '[[hook]]\non = "error"\nrun = "python3 check.py"\n')
    (hook,) = desk.load().hooks

    assert (hook.source, hook.layer, hook.root) == (Source.DOWNLOADED, Layer.EXTENSION, f"{desk.config}/packs/guards")
    assert hook.args == (f"{desk.config}/packs/guards/check.py",)


def test_same_patterns_counted_from_two_folders_are_two_hooks(desk: Desk) -> None:
    guard = '[[hook]]\non = "before_tool"\nrun = "/opt/guard"\nfiles = ["src/*"]\n'
    desk.put(desk.project / "hookline.toml", guard)
    desk.put(desk.config / "hookline.toml", guard)

    assert len(desk.load().hooks) == 2


def test_many_files_are_all_read_and_their_problems_kept(desk: Desk) -> None:
    for number in range(150):
        desk.put(
            desk.project / f".ollm/hooks/{number:03}.json", {"id": f"h{number}", "command": "node", "event": "error"}
        )
    (desk.project / ".ollm/hooks/070.json").write_bytes(b"\xff")
    loaded = desk.load()

    assert len(loaded.hooks) == 149
    assert [problem.line for problem in loaded.problems if problem.severity is Severity.ERROR] == [1]
    assert len(loaded.files) == 150


FOURTEEN = (
    ["Setup", "SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"],
    ["PermissionRequest", "SkillTrigger", "PreCompact", "Stop", "SubagentStart", "SubagentStop", "Notification"],
)


@pytest.mark.spec("C-01", "C-02")
def test_all_fourteen_events_of_ollama_are_known_by_the_dialects_that_ship(desk: Desk) -> None:
    group = {"hooks": [{"type": "command", "command": "python3 seen.py"}]}
    desk.put(desk.project / ".ollama/settings.json", {"hooks": {name: [group] for names in FOURTEEN for name in names}})
    vocabulary = KnownNames(names=native_names(), shell_dialects=shell_dialects())
    loaded = load(SearchPaths(project=desk.project, home=desk.home, config=desk.config, known_names=vocabulary))

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
        {4: "timeout", 6: "before_tool", 8: "has no `on`", 13: "critical", 16: "module:function", 17: "[[hook]]"},
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
        {"type": "command", "command": "node x.js", "timeout": "soon"},
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
  {"id": "b", "command": "node", "event": "PreTolUse"},
  {"id": "c", "command": "node", "event": "error", "args": "x.js"},
  {"id": "d", "command": "node", "event": "error", "id": "e"},
  {"id": "f", "command": "node", "event": "error", "dialect": "oolm"}
]
""",
        {2: "says no event", 3: "PreToolUse", 4: "list of texts", 5: "second time", 6: '"ollm"'},
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
        "python3 d.py",
        "node x.js",
        "node y.js",
        "node z.js",
        "node",
    }


def test_file_that_makes_a_reader_fall_over_takes_no_other_hook_with_it(desk: Desk) -> None:
    desk.put(desk.project / "odd.json", {})
    desk.put(desk.config / "hookline.toml", '[[hook]]\nname = "guard"\non = "before_tool"\nrun = "python3 g.py"\n')
    odd = Location(
        root=Root.PROJECT,
        path="odd.json",
        formats=("a format nobody has",),
        dialect="ollm",
        source=Source.WORKSPACE,
        layer=Layer.PROJECT,
    )
    search = SearchPaths(
        project=desk.project,
        home=desk.home,
        config=desk.config,
        known_names=KnownNames(names=native_names(), shell_dialects=shell_dialects()),
        locations=(odd, *LOCATIONS),
    )

    loaded = load(search)

    assert [hook.id for hook in loaded.hooks] == ["guard"]
    (problem,) = loaded.problems
    assert problem.path == str(desk.project / "odd.json")
    assert "shows a bug in hookline" in problem.message


def _executable(desk: Desk, name: str, text: str) -> Path:
    path = desk.put(desk.project / ".clinerules" / "hooks" / name, text)
    path.chmod(0o755)
    return path


def test_program_called_like_an_event_is_a_hook_whatever_its_bytes_are(desk: Desk) -> None:
    path = _executable(desk, "PreToolUse", "")
    path.write_bytes(b"\x7fELF\x00\xff" * 300_000)
    loaded = desk.load()

    assert [hook.command for hook in loaded.hooks] == [str(path)]
    assert loaded.problems == ()


def test_file_that_cannot_be_run_is_no_hook_of_cline(desk: Desk) -> None:
    path = _executable(desk, "PreToolUse", "#!/bin/sh\n")
    path.chmod(0o644)
    (desk.project / ".clinerules" / "hooks" / "PostToolUse").mkdir()

    loaded = desk.load()
    assert replace(loaded, stamps=FileStamps()) == LoadResult(files=loaded.files)


def test_copies_for_two_agents_are_one_hook(desk: Desk) -> None:
    command = {"command": "./guard"}
    desk.put(desk.project / ".cursor/hooks.json", {"hooks": {"beforeShellExecution": [command]}})
    desk.put(desk.project / ".windsurf/hooks.json", {"hooks": {"pre_run_command": [command]}})
    loaded = desk.load()

    assert [hook.run_by for hook in loaded.hooks] == [("cursor", "windsurf")]
    assert loaded.problems == ()


def test_workspace_that_copies_a_persons_hook_does_not_take_it_away(desk: Desk) -> None:
    command = {"command": "./guard"}
    desk.put(desk.home / ".cursor/hooks.json", {"hooks": {"beforeShellExecution": [command]}})
    desk.put(desk.project / ".windsurf/hooks.json", {"hooks": {"pre_run_command": [command]}})

    assert {(hook.source, hook.run_by) for hook in desk.load().hooks} == {
        (Source.USER, ("cursor",)),
        (Source.WORKSPACE, ("windsurf",)),
    }


def test_settings_of_an_agent_that_speak_of_trust_are_its_own_business(desk: Desk) -> None:
    desk.put(desk.project / ".cursor/hooks.json", {"trustedWorkspaces": ["/"], "hooks": {}})

    assert desk.load().problems == ()


def test_the_same_line_in_two_projects_of_a_repository_guards_each_with_its_own_script(desk: Desk) -> None:
    entry = {"type": "command", "command": 'sh "$CLAUDE_PROJECT_DIR"/guard.sh'}
    content = {"hooks": {"PreToolUse": [{"hooks": [entry]}]}}
    top = desk.project
    below = top / "web"
    for folder in (top, below):
        desk.put(folder / ".claude" / "settings.json", content)
    words = KnownNames(names=native_names(), shell_dialects=shell_dialects())
    loaded = load(SearchPaths(project=below, above=(top,), home=desk.home, config=desk.config, known_names=words))

    assert [hook.project(str(below)) for hook in loaded.hooks] == [str(below), str(top)]


def test_script_of_cline_that_may_not_be_executed_is_noted(desk: Desk) -> None:
    _executable(desk, "PreToolUse", "#!/bin/sh\n").chmod(0o644)
    _executable(desk, "README.md", "").chmod(0o644)
    words = KnownNames(names=native_names(), shell_dialects=shell_dialects())
    loaded = load(SearchPaths(project=desk.project, home=desk.home, config=desk.config, known_names=words))

    assert (loaded.hooks, loaded.lost) == ((), ())
    (problem,) = loaded.problems
    assert problem.severity is Severity.NOTE
    assert problem.path.endswith("/PreToolUse")
    assert "chmod +x" in problem.message


def test_hooks_of_a_project_are_bounded_and_do_not_cost_the_person_theirs(desk: Desk) -> None:
    desk.put(desk.config / "hookline.toml", '[[hook]]\nid = "mine"\non = "before_tool"\nrun = ["sh", "x.sh"]\n')
    many = [{"name": "same", "event": "before_tool", "command": "sh", "args": [f"{at}.sh"]} for at in range(3_000)]
    for number in range(6):
        desk.put(desk.project / f".ollm/hooks/{number}.json", {"hooks": many})
    loaded = desk.load()

    assert [hook.id for hook in loaded.hooks if hook.layer is Layer.USER] == ["mine"]
    assert len(loaded.hooks) == MAX_FOREIGN_HOOKS + 1
    told = [problem.message for problem in loaded.lost]
    assert told[0] == "a project may have 1,000 hooks; the 2,000 from here on are not in force"
    assert all("the hook files of this project" in message for message in told[1:])
    assert len(told) == 6
