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
