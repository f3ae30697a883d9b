import pytest

from hookline import Event
from hookline.builtin import dangerous
from hookline.builtin._ground import Ground
from hookline.model.event import EventName
from hookline.model.verdict import Decision
from tests.builtin.ground import make_project


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_project(tmp_path_factory.mktemp("dangerous"))


def _reason(ground: Ground, tool: str, **args: object) -> str:
    event = Event(name=EventName.BEFORE_TOOL, tool=tool, args=args, cwd=ground.root)
    protected = (f"{ground.home}/.config/hookline",)
    verdict = dangerous.judge(event, root=ground.root, home=ground.home, protected=protected)
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
def test_what_hardly_anybody_wants_is_denied(ground: Ground, tool: str, args: dict[str, object], part: str) -> None:
    reason = _reason(ground, tool, **args)

    assert part in reason
    assert reason.endswith("whoever really wants this can do it by hand")


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
def test_everything_else_is_no_opinion(ground: Ground, tool: str, args: dict[str, object]) -> None:
    assert _reason(ground, tool, **args) == ""
