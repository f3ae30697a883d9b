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


@pytest.mark.parametrize("arguments", [["events", "--nope"], ["emit"]])
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
        "main.import_command = lambda name: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.exit(main.main(['events']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize(("slip", "meant"), [("lst", "list"), ("chek", "check"), ("Trust", "trust")])
def test_slip_in_a_command_gets_the_nearest_right_one(
    slip: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([slip, "--json"]) == 1

    assert capsys.readouterr().err == (
        f'hookline: there is no command "{slip}" (did you mean "{meant}"?); `hookline --help` lists them\n'
    )


def test_command_like_none_of_ours_is_told_where_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["\x1b[2Kxyzzy"]) == 1

    assert capsys.readouterr().err == 'hookline: there is no command "\\x1b[2Kxyzzy"; `hookline --help` lists them\n'
