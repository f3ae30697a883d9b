import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.program import environment, hookline

OWN = ".config/hookline/hookline.toml"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".config" / "hookline").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


@pytest.mark.spec("D-16")
def test_a_hook_is_added_to_ones_own_file_and_runs_at_once(home: Path) -> None:
    script = home / ".config" / "hookline" / "guard.py"
    script.write_text('print(\'{"decision": "deny", "reason": "not today"}\')')

    done = hookline(home, "add", "guard", "--on", "before_tool", "--tools", "shell", "--run", "python3 guard.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        'added "guard"',
        f"wrote {home / OWN}",
        '"guard" is your own, so it runs from now on',
        "take it back: hookline undo",
    ]
    assert tomllib.loads((home / OWN).read_text()) == {
        "hook": [{"name": "guard", "on": "before_tool", "tools": ["shell"], "run": "python3 guard.py"}]
    }
    assert hookline(home, "emit", "before_tool", "--tool", "shell").stderr == "not today\n"


def test_a_script_that_lies_in_the_project_only_is_said_not_to_run(home: Path) -> None:
    (home.parent / "project" / "guard.py").write_text("print('{}')\n")

    done = hookline(home, "add", "guard", "--on", "before_tool", "--run", "python3 guard.py")

    assert done.returncode == 0
    assert '"guard" will not run: ' in done.stdout
    assert "runs from now on" not in done.stdout


def test_a_project_hook_says_that_it_has_to_be_approved(home: Path) -> None:
    done = hookline(home, "add", "guard", "--on", "before_tool", "--run", "python3 x.py", "--to", "project")

    assert "it runs once you approved it (hookline trust approve guard)" in done.stdout
    assert (home.parent / "project" / "hookline.toml").exists()


def test_everything_that_can_be_said_is_written(home: Path) -> None:
    words = "add all --on PreToolUse --on Stop --writes *.lock --files *.py --timeout 2.5 --on-error block --priority 7"
    words += " --deletes *.key --reads .env ~/.ssh/ --urls example.com"
    more = [
        "--runs",
        "git push",
        "rm",
        "--dialect",
        "ollama-cli",
        "--env",
        "A=b=c",
        "--matcher",
        "^x$",
        "--run-args",
        "python3",
        "-u",
        "x.py",
    ]

    done = hookline(home, *words.split(), *more)

    assert (done.returncode, done.stderr) == (0, "")
    assert tomllib.loads((home / OWN).read_text())["hook"] == [
        {
            "name": "all",
            "on": ["before_tool", "after_agent"],
            "matcher": "^x$",
            "run": ["python3", "-u", "x.py"],
            "dialect": "ollama-cli",
            "files": ["*.py"],
            "writes": ["*.lock"],
            "deletes": ["*.key"],
            "reads": [".env", "~/.ssh/"],
            "runs": ["git push", "rm"],
            "urls": ["example.com"],
            "timeout": 2.5,
            "env": {"A": "b=c"},
            "on_error": "block",
            "priority": 7,
        }
    ]


@pytest.mark.parametrize(
    ("option", "word", "key", "value"),
    [
        ("--call", "os.path:join", "call", "os.path:join"),
        ("--post", "https://hooks.test/x", "post", "https://hooks.test/x"),
        ("--ask", "say {{tool.name}}\nplease", "ask", "say {{tool.name}}\nplease"),
        ("--raise", "custom:deploy", "raise", "custom:deploy"),
    ],
)
def test_every_way_to_reach_a_hook_can_be_added(home: Path, option: str, word: str, key: str, value: str) -> None:
    done = hookline(home, "add", "x", "--on", "before_tool", option, word)

    assert (done.returncode, done.stderr) == (0, "")
    assert tomllib.loads((home / OWN).read_text())["hook"][0][key] == value


@pytest.mark.spec("D-17")
def test_an_existing_file_keeps_every_byte(home: Path) -> None:
    before = (
        b"# mine\r\n\r\n[[hook]] # odd\r\n\tname = 'a'\r\n\ton = 'stop'\r\n\trun = 'python3 a.py'\r\n\tpriority = 1_0"
    )
    before = before.replace(b"'stop'", b"'after_agent'")
    (home / OWN).write_bytes(before)

    hookline(home, "add", "b", "--on", "before_tool", "--run", "python3 b.py")

    after = (home / OWN).read_bytes()
    assert after.startswith(before)
    assert after[len(before) :] == (
        b'\r\n\r\n[[hook]]\r\n\tname = "b"\r\n\ton = "before_tool"\r\n\trun = "python3 b.py"'
    )


def test_a_settings_file_of_another_system_gets_an_entry_of_its_own_kind(home: Path) -> None:
    settings = home.parent / "project" / ".ollama" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n   "model": "x", // mine\n   "hooks": {}\n}\n')

    done = hookline(home, "add", "z", "--on", "PreToolUse", "--run", "python3 z.py", "--to", ".ollama/settings.json")

    assert (done.returncode, done.stderr) == (0, "")
    assert (
        settings.read_text()
        == """{
   "model": "x", // mine
   "hooks": {
      "PreToolUse": [
         {
            "hooks": [
               {
                  "name": "z",
                  "type": "command",
                  "command": "python3 z.py"
               }
            ]
         }
      ]
   }
}
"""
    )


def test_a_definition_of_ollm_gets_a_file_of_its_own(home: Path) -> None:
    target = [".ollm/hooks/z.json", "--run", "python3 z.py"]

    hookline(home, "add", "z", "--on", "before_tool", "--to", *target)
    again = hookline(home, "add", "y", "--on", "before_tool", "--to", *target)

    text = (home.parent / "project" / ".ollm" / "hooks" / "z.json").read_text()
    assert json.loads(text) == {"id": "z", "name": "z", "event": "before_tool", "command": "python3 z.py"}
    assert (again.returncode, "a file of its own" in again.stderr) == (1, True)


def test_among_ollms_automation_a_hook_speaks_its_language_and_is_ones_own(home: Path) -> None:
    file = home / ".ollm" / "hooks" / "list.json"
    file.parent.mkdir(parents=True)
    lint = {"name": "Lint", "when": {"type": "fileEdited"}, "then": {"type": "askAgent", "prompt": "x"}}
    file.write_text(json.dumps([lint]))

    done = hookline(home, "add", "count", "--on", "promptSubmit", "--run", "python3 -V", "--to", str(file))

    assert (done.returncode, done.stderr) == (0, "")
    _, added = json.loads(file.read_text())
    assert (added["eventType"], added["trusted"]) == ("promptSubmit", True)
    assert added["action"] == {"type": "runCommand", "command": "python3 -V"}


@pytest.mark.parametrize("name", ["pre-z.json", "pre-z.yaml", "stop-z.yml"])
def test_a_file_of_its_own_says_the_event_whatever_it_is_called(home: Path, name: str) -> None:
    done = hookline(home, "add", "z", "--on", "Stop", "--run", "python3 z.py", "--to", f".config/agent/hooks/{name}")

    assert (done.returncode, done.stderr) == (0, "")
    [hook] = json.loads(hookline(home, "migrate", "all", "native", "--json").stdout)["documents"]
    assert tomllib.loads(hook["text"])["hook"][0]["on"] == "after_agent"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "before_tool", "--run", "x"], "say what to call the hook"),
        (["x\ny", "--on", "before_tool", "--run", "x"], "say what to call the hook"),
        (["x", "--run", "python3 x"], "say when the hook runs"),
        (["x", "--on", "before_tool"], "say what the hook does"),
        (["x", "--on", "before_tol", "--run", "python3 x"], 'did you mean "before_tool"?'),
        (["x", "--on", "before_tool", "--run", "python3 x", "--matcher", "("], "is no regular expression"),
        (["x", "--on", "before_tool", "--run", "python3 x", "--tools", "a", "--matcher", "b"], "keep one"),
        (["x", "--on", "before_tool", "--run", "python3 x", "--env", "A"], "wanted KEY=VALUE"),
        (["x", "--on", "before_tool", "--call", "nofunction"], "wanted MODULE:FUNCTION"),
        (["x", "--on", "before_tool", "--run", "ruff check *.py"], "would not be run"),
        (["x", "--on", "before_tool", "--run", "python3 x", "--timeout", "-1"], "timeout"),
        (["x", "--on", "before_tool", "--run", "python3 x", "--to", "other.json"], "hooks are not looked for"),
        (["x", "--on", "before_tool", "--ask", "x", "--to", ".ollama/settings.json"], "cannot carry the hook"),
    ],
)
def test_what_would_not_work_is_refused_and_nothing_is_written(home: Path, words: list[str], message: str) -> None:
    done = hookline(home, "add", *words)

    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    # the first load of all records the entries that are known
    apart = {"lock", "known-hooks.json"}
    assert [path for path in home.parent.rglob("*") if path.is_file() and path.name not in apart] == []


def test_a_name_that_is_taken_is_refused_with_its_place(home: Path) -> None:
    hookline(home, "add", "Guard", "--on", "before_tool", "--run", "python3 a.py")
    before = (home / OWN).read_bytes()

    done = hookline(home, "add", "guard", "--on", "before_tool", "--run", "python3 b.py", "--to", "project")

    assert done.returncode == 1
    assert f'{home / OWN}:3: there is a hook "guard" already' in done.stderr
    assert (home / OWN).read_bytes() == before


def test_a_link_that_leads_nowhere_is_not_followed(home: Path) -> None:
    link = home.parent / "project" / "hookline.toml"
    link.symlink_to(home.parent / "elsewhere" / "x.toml")

    done = hookline(home, "add", "x", "--on", "before_tool", "--run", "python3 x.py", "--to", "project")

    assert (done.returncode, "a link that leads nowhere" in done.stderr) == (1, True)
    assert not (home.parent / "elsewhere").exists()


@pytest.mark.spec("D-17")
def test_a_broken_file_is_left_alone_with_its_line(home: Path) -> None:
    (home / OWN).write_text('[[hook]]\nname = "a\n')

    done = hookline(home, "add", "b", "--on", "before_tool", "--run", "python3 b.py")

    assert done.returncode == 1
    assert f"{home / OWN}:2:" in done.stderr
    assert (home / OWN).read_text() == '[[hook]]\nname = "a\n'


def test_a_dry_run_shows_the_difference_and_writes_nothing(home: Path) -> None:
    done = hookline(home, "add", "b", "--on", "before_tool", "--run", "python3 b.py", "--dry-run")

    assert '+name = "b"' in done.stdout.splitlines()
    assert not (home / OWN).exists()
    assert not (home / ".local").exists()


def test_json_says_what_was_done(home: Path) -> None:
    done = json.loads(hookline(home, "add", "b", "--on", "before_tool", "--run", "python3 b.py", "--json").stdout)

    assert {key: value for key, value in done.items() if key != "files"} == {
        "changed": True,
        "what": 'added "b"',
        "undo": 1,
        "notes": ['"b" is your own, so it runs from now on'],
    }
    assert [file["path"] for file in done["files"]] == [str(home / OWN)]


def test_several_people_adding_at_once_lose_nothing(home: Path) -> None:
    names = [f"hook-{number}" for number in range(4)]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "hookline", "add", name, "--on", "before_tool", "--run", f"python3 {name}.py"],
            cwd=home.parent / "project",
            env=environment(home),
            stdout=subprocess.DEVNULL,
        )
        for name in names
    ]

    assert [one.wait(timeout=120) for one in running] == [0, 0, 0, 0]
    hooks = tomllib.loads((home / OWN).read_text())["hook"]
    assert sorted(hook["name"] for hook in hooks) == names


@pytest.mark.spec("A-20")
def test_a_shared_pack_is_taken_over_needs_approval_and_goes_with_one_undo(home: Path) -> None:
    folder = home / ".config" / "hookline"
    (folder / "guard.py").write_text("print('{}')\n")
    hookline(home, "add", "guard", "--on", "before_tool", "--run", "python3 guard.py")
    pack = home.parent / "guard.toml"
    assert hookline(home, "share", "guard", "--output", str(pack)).returncode == 0
    other = home.parent / "other"
    other.mkdir()

    for _ in range(2):
        done = hookline(other, "add", "--from", str(pack))
        assert (done.returncode, done.stderr) == (0, "")
        assert "each has to be approved: hookline trust approve guard" in done.stdout
        installed = other / ".config" / "hookline" / "packs" / "guard"
        assert sorted(path.name for path in installed.iterdir()) == ["guard.py", "hookline.toml"]
        assert "did not run" in hookline(other, "emit", "before_tool", "--tool", "shell").stderr
        assert hookline(other, "undo").returncode == 0
        assert not installed.exists()


def test_a_broken_pack_installs_nothing(home: Path) -> None:
    pack = home.parent / "bad.toml"
    pack.write_text('[pack]\nformat = 1\nname = "bad"\n\n[[hook]]\nname = "x"\non = "nowhere"\nrun = "python3 x.py"\n')

    done = hookline(home, "add", "--from", str(pack))

    assert (done.returncode, "nowhere" in done.stderr) == (1, True)
    assert not (home / ".config" / "hookline" / "packs").exists()


def test_a_pack_with_an_unknown_key_is_not_installed(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "pack.toml"
    hook = '[[hook]]\nname = "h"\non = "error"\nrun = ["python3", "-V"]\ntrusted = true\n'
    file.write_text(f'[pack]\nformat = 1\nname = "p"\n{hook}')

    done = hookline(home, "add", "--from", str(file))

    assert (done.returncode, 'unknown key "trusted" in hook "h"' in done.stderr) == (1, True)


def test_every_other_key_is_set_as_the_file_has_it(home: Path) -> None:
    more = ["--set", "per_minute=30", "--set", "cooldown=2m", "--set", 'needs={"tools": ["git>=2.30"]}']

    done = hookline(home, "add", "x", "--schedule", "0 9 * * *", "--if", "true", *more, "--run", "python3 x.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert tomllib.loads((home / OWN).read_text())["hook"] == [
        {
            "name": "x",
            "on": "scheduled",
            "run": "python3 x.py",
            "if": "true",
            "per_minute": 30,
            "cooldown": 120,
            "needs": {"tools": ["git>=2.30"]},
            "schedule": "0 9 * * *",
        }
    ]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("per_minute", 'wanted KEY=VALUE, got "per_minute"'),
        ("per_minut=3", 'hooks have no key "per_minut" (did you mean "per_minute"?)'),
        ("per_minute=0", "per_minute: wanted a whole number above 0"),
        ("cooldown=soon", "cooldown: wanted seconds above 0"),
        ("description=x", 'hooks have no key "description"'),
    ],
)
def test_what_cannot_be_set_is_said_and_nothing_is_written(home: Path, word: str, message: str) -> None:
    done = hookline(home, "add", "x", "--on", "error", "--run", "true", "--set", word)

    assert done.returncode == 1
    assert message in done.stderr
    assert not (home / OWN).exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--schedule", "every day", "--ask", "And?"], 'hook "new": schedule "every day" cannot be read'),
        (["--on", "error", "--steps", "new"], 'hook "new" contains itself: "new" → "new"; nothing was changed'),
        (["--on", "error", "--ask", "And?", "--set", "after=new"], '"new" after "new"; nothing was changed'),
        (["--on", "error", "--ask", "And?", "--set", 'cache={for="10m"'], "neither JSON nor TOML"),
    ],
)
def test_hook_that_could_never_be_loaded_is_not_written(home: Path, arguments: list[str], says: str) -> None:
    done = hookline(home, "add", "new", *arguments)

    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr
    assert not (home / OWN).exists()


def test_circle_with_a_hook_that_is_there_is_refused(home: Path) -> None:
    hookline(home, "add", "first", "--on", "error", "--ask", "And?", "--set", "after=second")

    done = hookline(home, "add", "second", "--on", "error", "--ask", "And?", "--set", "after=first")

    assert done.returncode == 1
    assert "cannot be put in order" in done.stderr
    assert "second" not in [one["name"] for one in tomllib.loads((home / OWN).read_text())["hook"]]


def test_step_that_is_not_there_yet_is_said(home: Path) -> None:
    done = hookline(home, "add", "all", "--on", "error", "--steps", "one")

    assert done.returncode == 0
    assert '"all" speaks of a hook that is not there yet: there is no hook "one"\n' in done.stdout


def test_hook_with_a_schedule_is_started_by_whoever_watches(home: Path) -> None:
    done = hookline(home, "add", "nightly", "--schedule", "@daily", "--ask", "And?")

    assert '"nightly" is your own, so it runs at its times, while `hookline watch` runs\n' in done.stdout


def test_table_may_be_written_as_in_the_file(home: Path) -> None:
    hookline(home, "add", "new", "--on", "error", "--ask", "And?", "--set", 'needs={tools=["git>=2"], env=["HOME"]}')

    (hook,) = tomllib.loads((home / OWN).read_text())["hook"]
    assert hook["needs"] == {"tools": ["git>=2"], "env": ["HOME"]}


@pytest.mark.spec("U-02")
def test_a_rule_is_added_in_one_line_and_answers_at_once(home: Path) -> None:
    done = hookline(home, "add", "--deny", "no force pushes", "--runs", "git push --force")

    assert (done.returncode, done.stdout.splitlines()[0]) == (0, 'added "no-force-pushes"')
    assert tomllib.loads((home / OWN).read_text()) == {
        "hook": [
            {
                "name": "no-force-pushes",
                "on": "before_tool",
                "deny": "no force pushes",
                "runs": ["git push --force"],
            }
        ]
    }
    said = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "git push --force"}')
    assert (said.returncode, said.stderr) == (2, "no force pushes\n")


@pytest.mark.spec("U-02")
@pytest.mark.parametrize("action", ["confirm", "allow", "tell", "context"])
def test_every_action_has_an_option(action: str, home: Path) -> None:
    done = hookline(home, "add", "r", "--on", "before_tool", f"--{action}", "Some {{tool}}")

    assert done.returncode == 0, done.stderr
    (hook,) = tomllib.loads((home / OWN).read_text())["hook"]
    assert hook == {"name": "r", "on": "before_tool", action: "Some {{tool}}"}
    assert f"{action}: Some {{{{tool}}}}" in hookline(home, "list").stdout


@pytest.mark.spec("U-02")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("r", "--deny", "a", "--run", "b", "--on", "before_tool"), "--deny is a constant answer"),
        (("r", "--deny", "a", "--confirm", "b", "--on", "before_tool"), "only one of deny, confirm, allow"),
        (("--tell", "a", "--runs", "b"), "say when the hook runs"),
        (("--deny", "{{tool}}", "--runs", "b"), "say what to call the hook"),
    ],
)
def test_a_rule_that_cannot_be_meant_is_not_written(words: tuple[str, ...], message: str, home: Path) -> None:
    done = hookline(home, "add", *words)

    assert done.returncode != 0
    assert message in done.stderr
    assert not (home / OWN).exists()


@pytest.mark.spec("U-02")
def test_a_rule_is_not_carried_to_a_format_without_constant_answers(home: Path) -> None:
    hookline(home, "add", "--deny", "no", "--runs", "git push")

    done = hookline(home, "migrate", "native", "claude-code")

    assert "this format has no constant answers such as deny" in done.stdout + done.stderr
