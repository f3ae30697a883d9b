import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.program import configure, hookline

CONFIG = """
[[hook]]
name = "Guard it"
on = "before_tool"
tools = ["shell"]
run = "python3 guard.py"
dialect = "ollm-protocol"
env = { LEVEL = "3" }

[[hook]]
name = "quick"
on = "session_start"
run = "python3 guard.py"
timeout = 2
on_error = "block"
"""
SCRIPT = "print('hello \\x1b[31m')\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    configure(tmp_path / "home", CONFIG, {"guard.py": SCRIPT})
    (tmp_path / "project" / "hookline.toml").write_text(
        '[[hook]]\nname = "foreign"\non = "before_tool"\nrun = "npx some-tool"\n'
    )
    return tmp_path / "home"


def shown(home: Path, *arguments: str, **env: str) -> dict[str, object]:
    done = hookline(home, "show", *arguments, "--json", **env)
    assert done.returncode == 0, done.stderr
    document: dict[str, object] = json.loads(done.stdout)
    return document


def test_everything_about_a_hook_is_shown(home: Path) -> None:
    document = shown(home, "guard-it")

    folder = home / ".config/hookline"
    assert (document["path"], document["line"]) == (str(folder / "hookline.toml"), 2)
    assert (document["layer"], document["format"], document["dialect"]) == ("user", "native", "ollm-protocol")
    assert document["native_events"] == {"before_tool": "pre-tool-call"}
    assert document["script"] == str(folder / "guard.py")
    files: dict[str, str] = document["hashes"]  # type: ignore[assignment]
    assert [(Path(name).name, digest) for name, digest in files.items()] == [
        ("guard.py", hashlib.sha256(SCRIPT.encode()).hexdigest())
    ]
    assert (document["trust"], document["objection"]) == ("trusted", None)
    assert document["definition"]["env"] == {"LEVEL": "3"}  # type: ignore[index]


@pytest.mark.parametrize(
    "command", [["list"], ["show", "quick", "--script"], ["why", "quick"], ["test", "quick"], ["check"]]
)
def test_every_key_that_is_printed_is_documented(home: Path, command: list[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith(f"| `{command[0]}` |"))
    first = next(line for line in page.splitlines() if line.startswith("| `list` |")) if command[0] == "show" else ""

    printed = json.loads(hookline(home, *command, "--json").stdout)

    keys = printed[0] if isinstance(printed, list) else printed
    assert [key for key in keys if f"`{key}`" not in row + first] == []


def test_hook_is_found_by_its_name_too(home: Path) -> None:
    assert shown(home, "Guard it")["id"] == "guard-it"


@pytest.mark.parametrize(
    ("name", "env", "timeout", "on_error"),
    [
        ("guard-it", {}, (5, "the dialect ollm-protocol"), ("block", "the dialect ollm-protocol")),
        ("guard-it", {"HOOKS_TIMEOUT": "9"}, (9, "your settings"), ("block", "the dialect ollm-protocol")),
        ("quick", {"HOOKS_TIMEOUT": "9"}, (2, "the hook"), ("block", "the hook")),
    ],
)
def test_time_and_failure_policy_in_force_say_where_they_come_from(
    home: Path, name: str, env: dict[str, str], timeout: tuple[float, str], on_error: tuple[str, str]
) -> None:
    document = shown(home, name, **env)

    assert document["timeout"] == {"seconds": timeout[0], "from": timeout[1]}
    assert document["on_error"] == {"value": on_error[0], "from": on_error[1]}


def test_risks_and_missing_approval_are_told(home: Path) -> None:
    document = shown(home, "foreign")

    assert document["trust"] == "needs approval"
    assert "launcher" in {risk["kind"] for risk in document["risks"]}  # type: ignore[attr-defined]
    text = hookline(home, "show", "foreign").stdout
    assert "needs approval" in text
    assert "risk: launcher" in text


def test_approval_says_who_and_when(home: Path) -> None:
    assert hookline(home, "trust", "approve", "foreign", "--yes").returncode == 0

    document = shown(home, "foreign")

    assert document["trust"] == "approved"
    assert document["approval"]["at"] > 0  # type: ignore[index]


@pytest.mark.spec("D-15")
def test_figures_and_last_runs_come_from_the_traces(home: Path) -> None:
    for _ in range(2):
        hookline(home, "emit", "session_start")

    document = shown(home, "quick")

    figures: dict[str, object] = document["figures"]  # type: ignore[assignment]
    assert (figures["runs"], figures["failed"], figures["success_rate"]) == (2, 2, 0.0)
    lately: list[dict[str, object]] = document["lately"]  # type: ignore[assignment]
    assert [run["result"] for run in lately] == ["invalid_reply", "invalid_reply"]
    assert "2, 0% without a failure" in hookline(home, "show", "quick").stdout


def test_script_is_shown_on_request_and_steers_no_screen(home: Path) -> None:
    assert "hello" not in hookline(home, "show", "quick").stdout
    (home / ".config/hookline/guard.py").write_text("print('hello \x1b[31m')\n")

    text = hookline(home, "show", "quick", "--script").stdout

    assert "| print('hello " in text
    assert "\x1b" not in text
    assert shown(home, "quick", "--script")["contents"]


def test_people_read_it_in_sections(home: Path) -> None:
    lines = hookline(home, "show", "guard-it").stdout.splitlines()

    titles = [line for line in lines if not line.startswith(" ")]
    assert titles == [
        "guard-it",
        "what it runs",
        "when it runs",
        "as it was read",
        "trust",
        "sandbox",
        "files that belong to it",
        "lately",
    ]
    assert "  event     before_tool, which it gets as pre-tool-call" in lines


def test_unknown_hook_is_an_error_with_the_nearest_name(home: Path) -> None:
    done = hookline(home, "show", "quik")

    assert (done.returncode, done.stdout) == (1, "")
    assert 'did you mean "quick"' in done.stderr
