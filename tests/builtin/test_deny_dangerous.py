from pathlib import Path

import pytest

from hookline import Event
from hookline.builtin import deny_dangerous
from hookline.builtin._boundaries import Boundaries
from hookline.model.event import EventName
from hookline.model.verdict import Decision
from tests.builtin.bounds import make_project
from tests.helpers.each import each


@pytest.fixture(scope="module")
def bounds(tmp_path_factory: pytest.TempPathFactory) -> Boundaries:
    return make_project(tmp_path_factory.mktemp("dangerous"))


def _reason(bounds: Boundaries, tool: str, **args: object) -> str:
    event = Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd=bounds.root)
    protected = (f"{bounds.home}/.config/hookline",)
    verdict = deny_dangerous.judge(event, root=bounds.root, home=bounds.home, protected=protected)
    if verdict is None:
        return ""
    assert verdict.decision is Decision.DENY
    return verdict.reason


@pytest.mark.spec("C-12")
@pytest.mark.parametrize(
    ("tool", "args", "part"),
    [
        ("shell", {"command": "rm -rf ~"}, "deletes your home folder"),
        ("shell", {"command": ["rm", "-rf", "/"]}, "deletes everything"),
        ("shell", {"command": ["bash", "-lc", "rm -rf /"]}, "deletes everything"),
        ("shell", {"command": "rm -rf *", "cwd": "/"}, "deletes everything"),
        ("shell", {"command": "rm -rf /", "cwd": 7}, "deletes everything"),
        ("shell", {"command": "rm -rf /", "unheard": "of"}, "deletes everything"),
        ("write_file", {"path": "~/.ssh/authorized_keys", "content": "x"}, "who may log in"),
        ("write_file", {"path": "/etc/passwd", "content": "x"}, "who may do what"),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": "x"}, "is run by git"),
        ("edit_file", {"path": "~/.bashrc", "old": "a", "new": "b"}, "every shell"),
        ("edit_file", {"path": "~/.config/hookline/hookline.toml", "old": "a", "new": "b"}, "which hooks run"),
        ("delete_file", {"path": "."}, "the whole project"),
    ],
)
def test_what_hardly_anybody_wants_is_denied(bounds: Boundaries, tool: str, args: dict[str, object], part: str) -> None:
    reason = _reason(bounds, tool, **args)

    assert part in reason
    assert reason.endswith("if it is intended, run it yourself")


TAMPERING = [
    "rm {}",
    "rm -f {}",
    "unlink {}",
    "shred -u {}",
    "mv {} x",
    "mv x {}",
    "cp x {}",
    "install x {}",
    "ln -sf x {}",
    "ln {} x",
    "echo x > {}",
    "echo x >> {}",
    ": > {}",
    "tee {} < x",
    "truncate -s 0 {}",
    "dd if=x of={}",
    "sed -i s/a/b/ {}",
    "chmod 000 {}",
    "chown nobody {}",
    "chmod -w {}",
    "touch {}",
    "curl -o {} https://example.com",
    "wget -O {} https://example.com",
    "git checkout -- {}",
    "git restore {}",
    "git rm {}",
    "git mv {} x",
    "rsync x {}",
    "sudo rm {}",
    "bash -c 'rm {}'",
    "find {} -delete",
    "xargs rm {}",
    "python3 -c \"open('{}', 'w')\"",
    "perl -pi -e s/a/b/ {}",
]


@pytest.mark.spec("C-12")
@each("line", TAMPERING)
@each("file", ["~/.config/hookline/hookline.toml", "~/.claude/settings.json", "~/.codex/hooks.json", "hookline.toml"])
def test_files_that_decide_which_hooks_run_are_left_alone(bounds: Boundaries, line: str, file: str) -> None:
    Path(bounds.root, "hookline.toml").touch()
    path = file.replace("~", bounds.home) if "'" in line else file

    assert "decides which hooks run" in _reason(bounds, "shell", command=line.format(path))


@pytest.mark.spec("C-12")
@pytest.mark.parametrize(
    "line",
    [
        "hookline disable guard",
        "hookline remove guard --yes",
        "hookline uninstall",
        "hookline undo",
        "hookline trust approve evil --yes",
        "hookline trust import x.json",
        "hookline trust token",
        "hookline daemon stop",
        "python3 -m hookline disable guard",
        "uvx hookline disable guard",
        "uv run hookline trust approve x",
        "env X=1 hookline uninstall claude-code",
        "~/.local/bin/hookline disable guard",
        "bash -c 'hookline disable guard'",
        "pip uninstall -y hookline",
        "uv tool uninstall hookline",
        "pkill -f hookline",
        "rm -rf ~/.config/hookline",
        "rm -rf ~/.config",
        "mv ~/.config /tmp/x",
    ],
)
def test_an_agent_does_not_switch_its_guards_off(bounds: Boundaries, line: str) -> None:
    assert "decides which hooks run" in _reason(bounds, "shell", command=line)


@pytest.mark.parametrize(
    "line",
    [
        "hookline list",
        "hookline check",
        "hookline trust list",
        "hookline disable --help",
        "hookline test disable",
        "cat ~/.claude/settings.json",
        "cp ~/.claude/settings.json copy.json",
        "echo x > new/hookline.toml",
        "chmod 600 ~/.ssh/id_rsa",
        "mkdir -p ~/.ssh",
        "ssh-keygen -t ed25519 -f ~/.ssh/id_new",
        "grep -r hookline ~/.config/hookline",
    ],
)
def test_looking_at_hooks_is_left_to_people(bounds: Boundaries, line: str) -> None:
    assert _reason(bounds, "shell", command=line) == ""


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("shell", {"command": "rm -rf node_modules"}),
        ("shell", {"command": "ls"}),
        ("shell", {"command": None}),
        ("shell", {}),
        ("write_file", {"path": "src/app.py", "content": "rm -rf /"}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"path": "notes/.bashrc"}),
        ("delete_file", {"path": "src/app.py"}),
        ("read_file", {"path": "/etc/passwd"}),
        ("web_fetch", {"url": "rm -rf /"}),
        ("", {}),
    ],
)
def test_everything_else_is_no_opinion(bounds: Boundaries, tool: str, args: dict[str, object]) -> None:
    assert _reason(bounds, tool, **args) == ""
