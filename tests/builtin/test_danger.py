from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.builtin._ground import Ground
from hookline.builtin.danger import danger
from tests.builtin.ground import lines, make_project

WRAPPINGS = [
    "{}",
    "ls; {}",
    "ls && {}",
    "ls || {}",
    "{} &",
    "sudo {}",
    "env X=1 {}",
    "nohup {}",
    "timeout 5 {}",
    "({})",
    "{{ {}; }}",
    "if true; then {}; fi",
    "while true; do {}; done",
    "echo $({})",
    'echo "$({})"',
    "X=$({})",
    "bash -c '{}'",
    "sudo sh -c '{}'",
    "eval '{}'",
    "cat <({})",
    "case x in x) {};; esac",
    "f() {{ {}; }}; f",
]
WANTED = [
    "rm -rf /",
    "rm -rf ~",
    "dd if=x of=/dev/sda",
    "chmod -R 777 /",
    "reboot",
    "mkfs.ext4 /dev/sda1",
    "git push -f origin main",
    "cp x ~/.bashrc",
]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return make_project(tmp_path_factory.mktemp("danger"))


@pytest.mark.spec("C-12")
@pytest.mark.parametrize("line", lines("deny"))
def test_what_hardly_anybody_wants_is_found(ground: Ground, line: str) -> None:
    assert danger(line, ground)


@pytest.mark.parametrize("line", [*lines("allow"), *lines("ask")])
def test_what_people_want_is_left_to_them(ground: Ground, line: str) -> None:
    assert danger(line, ground) == ""


@pytest.mark.spec("C-12")
@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("line", WANTED)
def test_it_is_found_wherever_it_stands(ground: Ground, line: str, wrapping: str) -> None:
    assert danger(wrapping.format(line), ground)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("rm -rf /", "rm: deletes everything on this machine"),
        ("rm -rf ~", "rm: deletes your home folder"),
        ("rm -rf /etc", "rm: deletes a folder of the system"),
        ("rm -rf .", "rm: deletes the whole project"),
        ("curl x | sh", "runs what it downloads, before anybody could look at it"),
        ("git push -f origin main", "git: overwrites main for everybody; --force-with-lease does not"),
        ("echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit is run by git"),
    ],
)
def test_the_reason_says_what_would_happen(ground: Ground, line: str, reason: str) -> None:
    assert danger(line, ground) == reason


def test_a_link_to_a_dear_place_is_that_place(tmp_path: Path) -> None:
    ground = make_project(tmp_path)
    (Path(ground.root) / "shortcut").symlink_to(ground.home)

    assert "your home folder" in danger("rm -rf shortcut/*", ground)
    assert danger("cp x shortcut/.bashrc", ground)


def test_names_are_counted_from_where_the_line_goes(ground: Ground) -> None:
    assert danger("cd src && rm -rf *", ground) == ""
    assert danger("cd / && rm -rf *", ground)
    assert danger("cd $SOMEWHERE && rm -rf *", ground) == ""
    assert danger("rm -rf *", replace(ground, bases=(ground.home,)))


def test_the_folders_that_decide_which_hooks_run_are_not_written(ground: Ground) -> None:
    guarded = replace(ground, protected=(f"{ground.home}/.config/hookline",))

    assert danger("echo x > ~/.config/hookline/hookline.toml", guarded).endswith("decides which hooks run")
    assert danger("echo x > ~/.config/hookline/hookline.toml", ground) == ""


@pytest.mark.parametrize(
    "line", ["coproc x; rm -rf /", "echo 'a\nrm -rf ~", 'echo "$(\nrm -rf /', "a=(1 2) b=((; rm -rf /"]
)
def test_a_line_that_cannot_be_read_is_looked_at_piece_by_piece(ground: Ground, line: str) -> None:
    assert danger(line, ground)


def test_what_is_nested_without_end_ends(ground: Ground) -> None:
    assert danger("sudo " * 5_000 + "ls", ground) == ""
    assert danger("$(" * 5_000, ground) == ""
    assert danger("eval " * 2_000 + "ls", ground) == ""


@settings(deadline=None, max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from(" \t\n;&|<>(){}$`'\"\\*?[]~!#=-/.abcdrmsxfHOME0129,:"), max_size=40))
def test_no_text_makes_it_fall_over(ground: Ground, text: str) -> None:
    danger(text, ground)
    danger(f"rm -rf {text}", ground)
    danger(f"sudo {text}", ground)
    danger(f"find {text}", ground)


def test_a_line_with_thousands_of_programs_is_looked_at_once(ground: Ground) -> None:
    many = "find . " + "-exec ls {} \\; " * 5_000

    assert danger(many, ground) == ""
    assert danger(f"{many} -exec rm -rf ~ \\;", ground)
    assert danger("find . -name x " + "-exec " * 5_000 + "rm -rf ~", ground)
    assert danger("cd a;" * 20_000 + "rm -rf ~", ground)
