import signal
import subprocess
import sys

import pytest

from hookline import __version__
from hookline.cli.main import COMMANDS, main


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])

    assert left.value.code == 0
    assert capsys.readouterr().out == f"hookline {__version__}\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_of_every_command_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])

    assert left.value.code == 0
    assert f"example:\n  hookline {name}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["nope"], ["events", "--nope"], ["emit"]])
def test_usage_error_does_not_look_like_a_blocked_operation(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)

    assert left.value.code == 1


@pytest.mark.spec("P-19")
def test_log_lines_obey_nobody() -> None:
    code = (
        "import logging; from hookline.cli.main import main; main(['events']);"
        r"logging.getLogger('hookline').warning('hook %s', '\x1b[2J\u202e password=hunter2')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert done.stderr == "hookline: hook \\x1b[2J\\u202e password=…[secret]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_interrupt_while_the_command_is_still_imported_ends_quietly() -> None:
    # the first import a command makes is where the signal comes
    code = (
        "import os, signal, sys\n"
        "from hookline.cli import main\n"
        "main.command = lambda name: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(main.main(['events']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
