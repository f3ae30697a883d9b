"""Commands as they are written: which of them a shell would read otherwise than we do."""

import pytest

from hookline.kinds.command.parse import METACHARACTERS, WHITELIST, parse_shell_line, parse_words


@pytest.mark.parametrize("character", [*METACHARACTERS, "\0"])
def test_what_a_shell_would_give_a_meaning_to_is_refused_without_one(character: str) -> None:
    assert parse_words(f"/bin/echo {character}", ()).refusal
    assert parse_words("/bin/echo", (character,)).refusal


@pytest.mark.parametrize("character", ["~", "'", "*", "?", "#", "!", "%", "="])
def test_nothing_else_is_refused_for_what_it_is_written_with(character: str) -> None:
    assert parse_words("/bin/echo", (character,)).words == ("/bin/echo", character)


@pytest.mark.parametrize("command", [*WHITELIST, "/bin/echo", "./check", "a/b-c.d"])
def test_plain_words_need_no_shell(command: str) -> None:
    assert parse_shell_line(f"{command} --fix\tsrc/a.py x=1", ()).words == (command, "--fix", "src/a.py", "x=1")


@pytest.mark.parametrize(
    "line",
    [
        "echo hello",  # a shell has it built in, and its own may differ
        "nodes x",
        "A=1 /bin/echo",
        "A=/b /bin/echo",
        "/bin/echo $HOME",
        "/bin/echo 'a b'",
        "/bin/echo *",
        "/bin/echo ~",
        "/bin/echo\n/bin/rm",
        " /bin/echo",
        "/bin/echo é",
        "",
    ],
)
def test_what_a_shell_may_read_otherwise_is_left_to_it(line: str) -> None:
    read = parse_shell_line(line, ())

    assert read.words == ()
    assert read.script == line


def test_program_without_its_path_has_to_be_one_of_a_few() -> None:
    assert parse_words("python3 check.py", ()).words == ("python3", "check.py")
    assert "none of" in parse_words("pythons check.py", ()).refusal
    assert "relative path" in parse_words("./check", ()).refusal
