import shutil
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def shown() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hookline.demo"], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("dialect", ["ollm-protocol", "ollm", "ollm-rpc", "ollama-cli", "cli-agent", "hookline"])
def test_hooks_of_every_dialect_run(shown: str, dialect: str) -> None:
    assert any(f" {dialect}, " in line and " ms  " in line for line in shown.splitlines())


@pytest.mark.parametrize("kind", ["command", "python", "function", "webhook"])
def test_hooks_of_every_kind_run(shown: str, kind: str) -> None:
    assert any(f", {kind} " in line and " ms  " in line for line in shown.splitlines())


@pytest.mark.parametrize(
    "line",
    [
        "= deny after",
        "rm -rf is not for agents",
        "rewrites args.command head -n 3 server.log",
        "rewrites output 10:00:01 started",
        "tells the model Files here: ",
        "asks the agent Write down what was left undone",
        "failed  gave no answer within 1 s; ended",
        "not run: workspace hook that nobody approved",
        "the agent was told: shell blocked by a hook: rm -rf is not for agents",
        "['bash_execute: head -n 3 server.log', 'bash_execute: rm -rf build']",
        "which the hook nobody approved would write: False",
        "asks the agent Lint report.py",
        "not run: 1 of 1 runs in the last minute",
    ],
)
def test_what_the_session_is_about_is_shown(shown: str, line: str) -> None:
    assert line in shown


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_hook_in_node_hands_data_on(shown: str) -> None:
    assert "hands on counted 1" in shown
