"""The rules among the built-in hooks: what they deny in any spelling, and that everyday commands pass."""

import asyncio
from pathlib import Path

import pytest

from hookline import Engine
from hookline.builtin.catalogue import BuiltinScope, builtin_hooks
from hookline.model.verdict import Decision

pytestmark = pytest.mark.spec("C-19")

EVERYDAY = Path(__file__).parent.parent / "agents" / "everyday.txt"


def _decide(project: Path, lines: list[str]) -> dict[str, Decision]:
    scope = BuiltinScope(root=str(project), home=str(project.parent / "home"))

    async def emit_all() -> dict[str, Decision]:
        async with Engine(cwd=str(project)) as engine:
            for hook in builtin_hooks(scope, on=("rm-rf", "env-files")):
                if hook.enabled:
                    engine.registry.add(hook)
            return {
                line: (await engine.emit("before_tool", tool="shell", args={"command": line})).decision
                for line in lines
            }

    return asyncio.run(emit_all())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # not below the folder for temporary files, which may be deleted
    monkeypatch.setenv("HOME", "/home/user")
    made = tmp_path / "project"
    (made / "src").mkdir(parents=True)
    (made / ".env").write_text("A=1\n")
    return made


def test_everyday_commands_pass_beside_an_env_file(project: Path) -> None:
    lines = [line.replace("\\n", "\n") for line in EVERYDAY.read_text("utf-8").splitlines() if line]

    assert {line for line, decision in _decide(project, lines).items() if decision is not Decision.PASS} == set()


def test_every_spelling_is_denied(project: Path) -> None:
    lines = [
        *("rm -rf src", "rm -r -f src", "rm --recursive src", "rm -fr build src", "cd src && rm -rf old", "rm -rf ."),
        *("sudo rm -rf src", "bash -c 'rm -rf src'", "rm -rf ~/work", "rm -rf /", "find src -exec rm -rf src +"),
        *(
            "cat .env",
            "source .env",
            "cp .env /tmp/x",
            "grep A < .env",
            "F=.env; cat $F",
            "sed -i s/1/2/ .env",
            "rm .env",
        ),
        *("cat prod.env", "echo A=2 > .env", "mv .env old", "cat .env.local"),
    ]

    assert {line for line, decision in _decide(project, lines).items() if decision is not Decision.DENY} == set()


def test_what_can_be_made_again_and_examples_pass(project: Path) -> None:
    lines = [
        *("rm -rf node_modules", "rm -rf build/ dist", "rm -rf web/node_modules/.cache", "rm src/a.o", "rm -rf target"),
        *(
            "cat .env.example",
            "diff .env.sample x",
            "ls -la .env",
            "git status",
            "rm -rf $UNKNOWN",
            "cat environment.py",
        ),
    ]

    assert {line for line, decision in _decide(project, lines).items() if decision is not Decision.PASS} == set()
