"""`hookline mcp serve`, asked with the SDK's own client."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.cli.program import configure, environment, hookline

RULE = '[[hook]]\nname = "no-push"\non = "before_tool"\nruns = "git push --force"\ndeny = "no force pushes"\n'


def ask(home: Path, *calls: tuple[str, dict[str, object]]) -> list[tuple[bool, Any]]:
    async def talk() -> list[tuple[bool, Any]]:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "hookline", "mcp", "serve"],
            cwd=home.parent / "project",
            env=environment(home),
        )
        async with Client(parameters) as client:
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
        return [(bool(one.is_error), one.structured_content or json.dumps(str(one.content))) for one in results]

    return asyncio.run(talk())


@pytest.mark.slow
@pytest.mark.spec("U-20")
def test_agent_asks_why_it_was_blocked(tmp_path: Path) -> None:
    home = tmp_path / "home"
    configure(home, RULE)
    blocked = hookline(home, "emit", "before_tool", "--tool", "shell", "--args", '{"command": "git push --force"}')

    (_, last), (_, gates), (_, listed), (is_error, unknown), (is_option, option) = ask(
        home,
        ("why", {}),
        ("why", {"hook": "no-push", "event": "before_tool", "tool": "shell", "args": {"command": "ls"}}),
        ("list", {}),
        ("why", {"hook": "nope"}),
        ("why", {"hook": "--version"}),
    )

    assert blocked.returncode == 2
    assert last["blocked"]["reasons"] == ["no force pushes"]
    assert gates["events"][0]["runs"] is False
    assert [one["id"] for one in listed["hooks"]] == ["no-push"]
    assert is_error
    assert "there is no hook" in unknown
    assert is_option
    assert "there is no hook" in option


@pytest.mark.slow
@pytest.mark.spec("U-20")
def test_emit_and_test_say_what_hooks_would_answer_and_do_nothing(tmp_path: Path) -> None:
    home, made = tmp_path / "home", tmp_path / "made"
    configure(home, f'{RULE}[[hook]]\nname = "touch"\non = "before_tool"\nrun = ["touch", "{made}"]\n')

    (_, denied), (_, passed), (_, tested), (is_error, _) = ask(
        home,
        ("emit", {"tool": "shell", "args": {"command": "git push --force"}}),
        ("emit", {"tool": "shell", "args": {"command": "ls"}}),
        ("test", {"hook": "no-push", "tool": "shell", "args": {"command": "git push --force origin"}}),
        ("emit", {"event": "nonsense"}),
    )

    assert (denied["decision"], denied["reasons"]) == ("deny", ["no force pushes"])
    assert passed["decision"] == "pass"
    assert tested["decision"] == "deny"
    assert is_error
    assert not made.exists()
    # no trace was written either
    assert json.loads(hookline(home, "trace", "list", "--json").stdout) == []


@pytest.mark.slow
def test_package_of_the_project_that_is_called_like_us_is_not_loaded(tmp_path: Path) -> None:
    home, made = tmp_path / "home", tmp_path / "made"
    configure(home, RULE)
    package = tmp_path / "project" / "hookline"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"open({str(made)!r}, 'w').close()\n")

    ((is_error, listed),) = ask(home, ("list", {}))

    assert not is_error
    assert [one["id"] for one in listed["hooks"]] == ["no-push"]
    assert not made.exists()
