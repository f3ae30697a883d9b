"""The guard that keeps agents from changing what guards them: the real program, and calls in the agents' own words."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline import Engine
from hookline.bridge.guarded_paths import list_guarded_paths
from hookline.builtin import self_guard
from hookline.builtin.catalogue import BuiltinScope
from hookline.model.event import Event, EventName
from hookline.user_dirs import UserDirs
from tests.builtin.bounds import lines
from tests.cli.program import configure, hookline
from tests.helpers.each import each
from tests.shell.test_walk_everyday_commands import TABLE, lines_of

pytestmark = pytest.mark.slow

AGENTS = ("claude-code", "codex-cli", "gemini-cli")
_EVENTS = {"claude-code": "PreToolUse", "codex-cli": "PreToolUse", "gemini-cli": "BeforeTool"}
_SHELLS = {"claude-code": "Bash", "codex-cli": "Bash", "gemini-cli": "run_shell_command"}
_WRITERS = {"claude-code": "Write", "gemini-cli": "write_file"}
_EDITORS = {"claude-code": "Edit", "gemini-cli": "replace"}

GUARD = '[[hook]]\nid = "guard"\non = "session_start"\nrun = ["true"]\n'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a home in which three agents have Hookline installed, one of them also in the project, and git asks the hooks."""
    made = tmp_path_factory.mktemp("guarded") / "home"
    configure(made, GUARD)
    project = made.parent / "project"
    (project / "hookline.toml").write_text(GUARD.replace("guard", "theirs"))
    subprocess.run(["git", "init", "-q", project], check=True, env={"PATH": "/usr/bin:/bin", "HOME": str(made)})
    for words in (("install", *AGENTS), ("install", "claude-code", "--scope", "project"), ("git", "install")):
        done = hookline(made, *words)
        assert done.returncode == 0, done.stderr
    (made / ".ollm/hooks").mkdir(parents=True)
    (made / ".ollm/hooks/mine.json").write_text("[]")
    return made


def ask(home: Path, agent: str, tool: str, **args: object) -> str:
    """Ask about a tool call as an agent does, and give the reason of a no."""
    project = str(home.parent / "project")
    call = {
        "session_id": "one",
        "transcript_path": "",
        "cwd": project,
        "hook_event_name": _EVENTS[agent],
        "tool_name": tool,
        "tool_input": args,
    }
    done = hookline(home, "hook", agent, _EVENTS[agent], stdin=json.dumps(call))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout) if done.stdout.strip() else {}
    own = said.get("hookSpecificOutput", {})
    is_refused = own.get("permissionDecision") == "deny" or said.get("decision") in {"deny", "block"}
    return str(own.get("permissionDecisionReason") or said.get("reason")) if is_refused else ""


TAMPERING = [
    "rm ~/.config/hookline/hookline.toml",
    "rm -rf ~/.config/hookline",
    "rm -rf ~/.config",
    "rm -rf ~/.conf*",
    "cd ~/.config/hookline && rm hookline.toml",
    "mv ~/.config /tmp/elsewhere",
    "echo '[settings]' > ~/.config/hookline/hookline.toml",
    "printf x >> $HOME/.config/hookline/hookline.toml",
    "echo x | tee -a ~/.config/hookline/hookline.toml",
    "cp other.toml ~/.config/hookline/hookline.toml",
    "ln -sf /dev/null ~/.config/hookline/hookline.toml",
    "sed -i s/guard/x/ ~/.config/hookline/hookline.toml",
    "chmod 000 ~/.config/hookline/hookline.toml",
    "chmod -R a-r ~/.config",
    "find ~/.config -name hookline.toml -delete",
    "truncate -s 0 ~/.local/share/hookline/approvals.json",
    "rm -rf ~/.local/share/hookline/hosts",
    "bash -c 'rm ~/.claude/settings.json'",
    "sudo rm ~/.claude/settings.json",
    "jq 'del(.hooks)' a.json > ~/.claude/settings.json",
    "rm -rf ~/.claude",
    "rm ~/.codex/*.json",
    "sed -i /trusted_hash/d ~/.codex/config.toml",
    "mv ~/.gemini ~/.gemini.old",
    "cp empty.json ~/.gemini/settings.json",
    "echo '{}' > .claude/settings.json",
    "git checkout -- .claude/settings.json",
    "echo '{\"disableAllHooks\": true}' > .claude/settings.local.json",
    "python3 -c \"import os; os.remove('{home}/.claude/settings.json')\"",
    "node -e \"require('fs').writeFileSync('{home}/.codex/hooks.json', '{}')\"",
    "rm ~/.ollm/hooks/mine.json",
    "rm hookline.toml",
    "git rm -f hookline.toml",
    "mv hookline.toml hookline.off",
    "rm .git/hooks/pre-commit",
    "echo exit 0 > .git/hooks/pre-push",
    "git config core.hooksPath /dev/null",
    "git config --global core.hooksPath ~/empty",
    "git -c core.hooksPath=/dev/null commit -m x",
    "hookline disable builtin:self-guard",
    "hookline uninstall claude-code",
    "hookline trust approve theirs --yes",
    "hookline doctor --accept claude-code",
    "pip uninstall -y hookline",
]

HARMLESS = [
    "cat ~/.config/hookline/hookline.toml",
    "cat ~/.claude/settings.json | jq .hooks",
    "cp ~/.claude/settings.json /tmp/copy.json",
    "diff ~/.codex/config.toml config.toml",
    "grep -r hookline ~/.config/hookline",
    "ls -la ~/.local/share/hookline",
    "echo x > ~/.config/hookline.txt",
    "rm -rf ~/.config/other",
    "rm ~/.claude/history.jsonl",
    "echo '{}' > .claude/settings.local.json",
    "echo '{}' > .gemini/settings.json",
    "echo '[[hook]]' >> hookline.toml",
    "sed -i s/a/b/ hookline.toml",
    "rm other.toml",
    "rm -rf node_modules build dist",
    "rm -rf ./*",
    "chmod -R u+w .",
    "git config user.name me",
    "git config --get core.hooksPath",
    "git commit -m 'rm ~/.claude/settings.json'",
    "git checkout -- src/app.py",
    "hookline list",
    "hookline doctor",
    "hookline disable --help",
    "HOOKLINE_PERSON_TOKEN=t hookline disable guard",
    "echo 'hookline disable guard'",
    "python3 -c \"print(open('{home}/.claude/settings.json').read())\"",
    "bash script.sh",
    'rm "$SOMETHING"',
]


FURTHER_TAMPERING = [
    "unlink ~/.claude/settings.json",
    ": > ~/.claude/settings.json",
    "cat /dev/null > ~/.claude/settings.json",
    "dd if=/dev/null of=$HOME/.claude/settings.json",
    "dd if=/dev/zero of=~/.config/hookline/hookline.toml count=1",
    "install -m 644 x.json ~/.claude/settings.json",
    "rsync x.json ~/.claude/settings.json",
    "perl -pi -e 's/hookline/true/' ~/.claude/settings.json",
    "perl -i -pe 's/x/y/' ~/.config/hookline/hookline.toml",
    "ruby -i -pe '$_.gsub!(/a/,\"b\")' ~/.claude/settings.json",
    "awk -i inplace '{print}' ~/.claude/settings.json",
    "ed -s ~/.claude/settings.json <<< $'1d\\nw'",
    "ex -sc '%d|x' ~/.claude/settings.json",
    "vim -es -c '%d' -c wq ~/.claude/settings.json",
    "sponge ~/.claude/settings.json < x",
    "jq 'del(.hooks)' ~/.claude/settings.json | sponge ~/.claude/settings.json",
    "tmp=$(mktemp); jq 'del(.hooks)' ~/.claude/settings.json > $tmp && mv $tmp ~/.claude/settings.json",
    "shred -u ~/.local/share/hookline/approvals.json",
    "python3 -c \"open('{home}/.claude/settings.json','w').write('{}')\"",
    "python3 -c \"import pathlib; pathlib.Path('{home}/.claude/settings.json').unlink()\"",
    "python3 -c \"import shutil; shutil.rmtree('{home}/.config/hookline')\"",
    "python3 -c \"import os; os.rename('{home}/.claude','{home}/.c')\"",
    "python3 -c \"import pathlib; pathlib.Path.home().joinpath('.claude/settings.json').write_text('{}')\"",
    "python3 -c \"import os; os.remove(os.path.expanduser('~/.claude/settings.json'))\"",
    "ruby -e \"File.delete('{home}/.claude/settings.json')\"",
    "perl -e \"unlink '{home}/.claude/settings.json'\"",
    "env -i HOME=$HOME rm ~/.claude/settings.json",
    "HOME=/tmp rm -rf {home}/.config/hookline",
    "env HOME=/tmp/x hookline disable guard",
    "env -i /usr/bin/hookline disable builtin:self-guard",
    "/usr/local/bin/hookline disable guard",
    "command hookline disable guard",
    "python3 -m hookline disable builtin:self-guard",
    "python -m hookline trust approve theirs --yes",
    "uvx hookline disable guard",
    "uv run hookline disable guard",
    "find ~/.claude -type f -delete",
    "find . -name hookline.toml -exec rm {} \\;",
    "cd ~ && rm -rf .claude",
    "cd ~/.claude; rm settings.json",
    "pushd ~/.claude && rm -f settings.json",
    "(cd ~/.config && mv hookline hookline.bak)",
    "mv ~/.claude{,.bak}",
    "mv ~/.claude/settings.json{,.bak}",
    "rm ~/.claude/settings.{json,local.json}",
    "rm ~/.cl*ude/settings.json",
    "f=~/.claude/settings.json; rm $f",
    'F="$HOME/.claude"; rm -rf "$F"',
    "eval 'rm ~/.claude/settings.json'",
    'sh -c "rm -rf $HOME/.config/hookline"',
    "bash <<< 'rm ~/.claude/settings.json'",
    "echo 'rm ~/.claude/settings.json' | sh",
    "nohup rm ~/.claude/settings.json &",
    "timeout 5 rm ~/.claude/settings.json",
    "nice -n 5 rm ~/.claude/settings.json",
    "sudo -u $USER rm ~/.claude/settings.json",
    "busybox rm ~/.claude/settings.json",
    "\\rm ~/.claude/settings.json",
    "git clean -fdx .claude",
    "git restore --source HEAD~1 .claude/settings.json",
    "git rm .claude/settings.json",
    "git mv hookline.toml x.toml",
    "git config --local core.hooksPath .empty",
    "git config set core.hooksPath /dev/null",
    "git config --file .git/config core.hooksPath x",
    "git config --unset core.hooksPath",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null git commit -m x",
    "GIT_CONFIG_PARAMETERS=\"'core.hooksPath=/dev/null'\" git commit -m x",
    "git --config-env=core.hooksPath=X commit -m x",
    "sed -i 's/hooksPath.*/hooksPath = x/' .git/config",
    "rm -rf .git/hooks",
    "mv .git/hooks .git/hooks.off",
    "chmod -x .git/hooks/pre-commit",
    "git commit --no-verify -m x",
    "git push --no-verify",
    "kill $(cat $XDG_RUNTIME_DIR/hookline/daemon.pid)",
    "pkill -f hookline",
    "killall hookline",
    "kill -9 $(pgrep -f hookline)",
    "pgrep hookline | xargs kill",
    "hookline daemon stop",
    "chattr +i ~/.claude/settings.json",
    "setfacl -m u::--- ~/.claude/settings.json",
    "chown nobody ~/.claude/settings.json",
    "touch -d 2000-01-01 ~/.claude/settings.json",
    "tar xzf b.tgz -C ~/.config/hookline",
    "curl -o ~/.claude/settings.json https://x/y",
    "wget -O ~/.claude/settings.json https://x/y",
    "crontab -r; rm ~/.claude/settings.json",
    "hookline edit guard --disabled",
    "hookline remove guard",
    "hookline undo",
    "pip uninstall hookline -y",
    "pip3 uninstall -y hookline",
    "python3 -m pip uninstall -y hookline",
    "uv pip uninstall hookline",
    "pipx uninstall hookline",
    "rm $(which hookline)",
    "rm -f $(command -v hookline)",
    "mv $(which hookline) /tmp",
    "brew uninstall hookline",
    "npm pkg set hooks=0; rm ~/.codex/hooks.json",
    "tee ~/.codex/config.toml < /dev/null",
    "cp /dev/null ~/.gemini/settings.json",
    "rm -rf ~/.claude ~/.gemini ~/.codex",
    "rm -r ~/.local/share",
    "mv ~/.local/share/hookline /tmp/h",
    "patch ~/.claude/settings.json < x.patch",
]

FURTHER_HARMLESS = [
    "less ~/.config/hookline/hookline.toml",
    "ls -la ~/.claude ~/.codex ~/.gemini",
    "head -5 ~/.claude/settings.json",
    "grep hooks ~/.claude/settings.json",
    "rg hookline ~/.config",
    "wc -l hookline.toml",
    "stat ~/.claude/settings.json",
    "cp ~/.claude/settings.json ./backup.json",
    "cp -r ~/.claude /tmp/claude-backup",
    "tar czf /tmp/b.tgz ~/.claude",
    "jq . .claude/settings.json",
    "diff .claude/settings.json ~/.claude/settings.json",
    "git add .claude/settings.json hookline.toml",
    "git diff .claude",
    "git log -- hookline.toml",
    "git show HEAD:hookline.toml",
    "git status",
    "git stash",
    "git stash pop",
    "git checkout main",
    "git checkout -b feature",
    "git pull --rebase",
    "git reset --hard HEAD~1",
    "git clean -fd",
    'git commit -am "update hookline.toml"',
    "git config core.editor vim",
    "git config --list",
    "git config --global user.email a@b.c",
    "git push origin main",
    "rm -rf build dist .pytest_cache",
    "rm -rf .venv",
    "rm -f ~/.claude/todos/x.json",
    "rm -rf ~/.claude/projects/foo",
    "mkdir -p ~/.claude/commands",
    "echo hi > ~/.claude/commands/x.md",
    "echo hi > ~/.claude/CLAUDE.md",
    "echo hi > .claude/commands/test.md",
    "mkdir -p .claude/agents && touch .claude/agents/a.md",
    'echo "# x" >> CLAUDE.md',
    "echo x > .git/info/exclude",
    "ls .git/hooks",
    "cat .git/hooks/pre-commit",
    "cp .git/hooks/pre-commit /tmp/",
    "touch .git/hooks/post-merge.sample",
    "sed -n 1,5p hookline.toml",
    "vim hookline.toml",
    'echo "[[hook]]" >> hookline.toml',
    "hookline check",
    "hookline list --json",
    "hookline trace list",
    "hookline why guard",
    "hookline test guard",
    "hookline sandbox explain guard",
    "hookline daemon status",
    "hookline --version",
    "pip install hookline",
    "pip show hookline",
    "pip uninstall -y requests",
    "uv pip uninstall requests",
    "which hookline",
    "command -v hookline",
    "pgrep -fa hookline",
    "ps aux | grep hookline",
    "kill %1",
    "kill 12345",
    'pkill -f "npm run dev"',
    "killall node",
    "python3 -c \"import json; print(json.load(open('{home}/.claude/settings.json')))\"",
    "python3 -c \"open('out.txt','w').write('x')\"",
    "node -e \"console.log(require('fs').readFileSync('{home}/.claude/settings.json','utf8'))\"",
    "find ~/.claude -name '*.json'",
    "find . -name '*.pyc' -delete",
    "find . -type f -exec chmod 644 {} +",
    "chmod +x scripts/*.sh",
    "chown -R me:me src",
    "mv src/a.py src/b.py",
    "mv ~/.config/other ~/.config/other2",
    "rm ~/.config/nvim/init.lua",
    "rm -rf ~/.local/share/Trash/*",
    "rm ~/.codex/history.jsonl",
    "echo x > ~/.gemini/GEMINI.md",
    "docker run --rm -v ~/.claude:/c:ro alpine ls",
    "rsync -a src/ /tmp/out/",
    "make clean",
    "npm ci",
    "cargo build --release",
    "pytest -q tests/",
    "ruff check --fix .",
    "pre-commit run --all-files",
    'echo "rm ~/.claude/settings.json" > notes.txt',
    'echo "hookline disable guard" >> README.md',
    'gh pr create --title "hookline: disable guard"',
    'git commit -m "hookline disable guard"',
    'grep -rn "core.hooksPath" .',
    "man git-config",
    "tee log.txt < x",
    "curl -o x.json https://x/y",
    "unzip -o x.zip -d /tmp/y",
]


@pytest.fixture(scope="module")
def scope(home: Path) -> BuiltinScope:
    project = home.parent / "project"
    folders = UserDirs(home=home, config=home / ".config/hookline", data=home / ".local/share/hookline")
    return BuiltinScope(
        root=str(project),
        home=str(home),
        protected=(str(folders.config), str(folders.data)),
        list_guarded=lambda: list_guarded_paths(folders, project),
    )


def judge(scope: BuiltinScope, line: str) -> str:
    event = Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": line}, cwd=scope.root)
    verdict = self_guard.SelfGuard(scope).judge(event)
    return "" if verdict is None else verdict.reason


@each("line", [*TAMPERING, *FURTHER_TAMPERING])
def test_line_that_changes_what_guards_the_agent_is_denied(home: Path, scope: BuiltinScope, line: str) -> None:
    assert judge(scope, line.replace("{home}", str(home))).startswith("self-guard: ")


@each("line", [*HARMLESS, *FURTHER_HARMLESS])
def test_line_beside_it_is_no_business_of_the_guard(home: Path, scope: BuiltinScope, line: str) -> None:
    assert judge(scope, line.replace("{home}", str(home))) == ""


@each("line", [*(line for group in TABLE["everyday"] for line in lines_of(group)), *lines("allow")])
def test_everyday_line_is_never_denied(scope: BuiltinScope, line: str) -> None:
    assert judge(scope, line) == ""


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_is_denied_what_takes_its_guards_away(home: Path, agent: str) -> None:
    for line in TAMPERING[::2]:
        assert ask(home, agent, _SHELLS[agent], command=line.replace("{home}", str(home))), line
    for line in HARMLESS[::2]:
        assert not ask(home, agent, _SHELLS[agent], command=line.replace("{home}", str(home))), line


def _tampered(home: Path) -> Iterator[str]:
    for name in (".config/hookline/hookline.toml", ".local/share/hookline/approvals.json", ".claude/settings.json"):
        yield f"{home}/{name}"
    for name in (".codex/config.toml", ".codex/hooks.json", ".gemini/settings.json"):
        yield f"{home}/{name}"
    yield f"{home.parent}/project/.claude/settings.json"
    yield f"{home.parent}/project/.git/hooks/pre-commit"


@pytest.mark.parametrize("agent", sorted(_WRITERS))
def test_tools_that_write_files_are_judged_by_their_files(home: Path, agent: str) -> None:
    for path in _tampered(home):
        assert ask(home, agent, _WRITERS[agent], file_path=path, content="{}"), path
        assert ask(home, agent, _EDITORS[agent], file_path=path, old_string="a", new_string="b"), path
    project = home.parent / "project"
    for other in (project / "hookline.toml", project / "src/app.py", home / ".qwen/settings.json"):
        assert not ask(home, agent, _WRITERS[agent], file_path=str(other), content="{}"), other


def test_patch_is_judged_by_its_files(home: Path) -> None:
    patch = "*** Begin Patch\n*** {} File: {}\n{}*** End Patch\n"
    for path in _tampered(home):
        assert ask(home, "codex-cli", "apply_patch", command=patch.format("Update", path, "@@\n-a\n+b\n")), path
    assert ask(home, "codex-cli", "apply_patch", command=patch.format("Delete", "hookline.toml", ""))
    assert not ask(home, "codex-cli", "apply_patch", command=patch.format("Update", "hookline.toml", "@@\n-a\n+b\n"))


def test_reason_names_the_file_and_what_the_user_can_do(home: Path) -> None:
    reason = ask(home, "claude-code", "Bash", command="rm ~/.gemini/settings.json")

    assert reason.startswith("self-guard: ~/.gemini/settings.json has the entries by which Gemini CLI asks the hooks; ")
    assert "`hookline uninstall gemini-cli`" in reason
    assert "`hookline disable builtin:self-guard`" in reason


def test_link_to_a_guarded_file_is_that_file(home: Path, scope: BuiltinScope) -> None:
    (Path(scope.root) / "shortcut").symlink_to(home / ".config/hookline")

    assert judge(scope, "rm shortcut/hookline.toml")


def _prepare(tmp_path: Path, *agents: str) -> Path:
    made = tmp_path / "home"
    configure(made, "")
    assert hookline(made, "install", *(agents or ("claude-code",))).returncode == 0
    return made


_CALL = ("Bash", "rm ~/.claude/settings.json")


def test_user_switches_it_off_and_on_again(tmp_path: Path) -> None:
    home = _prepare(tmp_path)
    assert ask(home, "claude-code", "Bash", command=_CALL[1])

    off = hookline(home, "disable", "builtin:self-guard")
    assert off.returncode == 0
    assert 'disabled_builtins = ["self-guard"]' in (home / ".config/hookline/hookline.toml").read_text()
    assert not ask(home, "claude-code", "Bash", command=_CALL[1])
    assert "builtin:self-guard" not in hookline(home, "list").stdout

    on = hookline(home, "enable", "builtin:self-guard")
    assert on.returncode == 0
    assert ask(home, "claude-code", "Bash", command=_CALL[1])


def test_it_can_be_switched_off_before_anything_is_installed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")

    assert hookline(home, "disable", "builtin:self-guard").returncode == 0
    assert hookline(home, "install", "claude-code").returncode == 0
    assert not ask(home, "claude-code", "Bash", command=_CALL[1])


@pytest.mark.parametrize("variable", ["CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX"])
def test_agent_does_not_switch_it_off(tmp_path: Path, variable: str) -> None:
    home = _prepare(tmp_path)
    done = hookline(home, "disable", "builtin:self-guard", **{variable: "1"})

    assert done.returncode == 1
    assert "is refused" in done.stderr
    assert ask(home, "claude-code", "Bash", command=_CALL[1])


def test_project_does_not_switch_it_off(tmp_path: Path) -> None:
    home = _prepare(tmp_path)
    (tmp_path / "project/hookline.toml").write_text('[settings]\ndisabled_builtins = ["self-guard"]\n')

    assert ask(home, "claude-code", "Bash", command=_CALL[1])


def test_variable_of_the_environment_does_not_switch_it_off(tmp_path: Path) -> None:
    home = _prepare(tmp_path)
    call = {"session_id": "one", "transcript_path": "", "cwd": str(tmp_path / "project"), "tool_name": "Bash"}
    call |= {"hook_event_name": "PreToolUse", "tool_input": {"command": _CALL[1]}}  # type: ignore[dict-item]
    done = hookline(home, "hook", "claude-code", "PreToolUse", stdin=json.dumps(call), HOOKS_ENABLED="false")

    assert '"deny"' in done.stdout


def test_it_is_shown_like_other_built_in_hooks_once_an_agent_has_hookline(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, "")
    assert "builtin:self-guard" not in hookline(home, "list").stdout
    assert "off" in hookline(home, "list", "--source", "builtin").stdout

    hookline(home, "install", "claude-code")
    assert "builtin:self-guard" in hookline(home, "list").stdout
    assert "self-guard" in hookline(home, "show", "builtin:self-guard").stdout
    args = json.dumps({"command": _CALL[1]})
    assert "It would run" in hookline(home, "why", "builtin:self-guard", "--tool", "shell", "--args", args).stdout


def test_misspelt_name_in_the_settings_is_a_problem(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, '[settings]\ndisabled_builtins = ["selfguard"]\n')
    done = hookline(home, "check")

    assert done.returncode == 1
    assert 'there is no built-in hook "selfguard" (did you mean "self-guard"?)' in done.stdout


def test_it_does_not_count_as_a_guard_of_the_user(tmp_path: Path) -> None:
    home = _prepare(tmp_path)
    again = hookline(home, "install", "claude-code")
    assert "if hookline itself cannot answer: allow" in again.stdout

    configure(home, '[settings]\nno_hooks = "deny"\n')
    assert "no_hooks is set to deny" in ask(home, "claude-code", "Bash", command="ls")


def test_engine_in_a_program_has_it_only_on_request(tmp_path: Path) -> None:
    engine = Engine(cwd=str(tmp_path))

    assert not engine.registry.has_hook("builtin:self-guard")
