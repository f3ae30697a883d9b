from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.builtin._boundaries import Boundaries
from hookline.builtin.deny_dangerous import find_danger
from tests.builtin.bounds import lines, make_project
from tests.helpers.each import each

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
def bounds(tmp_path_factory: pytest.TempPathFactory) -> Boundaries:
    return make_project(tmp_path_factory.mktemp("danger"))


@pytest.mark.spec("C-12")
@each("line", lines("deny"))
def test_what_hardly_anybody_wants_is_found(bounds: Boundaries, line: str) -> None:
    assert find_danger(line, bounds)


@each("line", [*lines("allow"), *lines("ask")])
def test_what_people_want_is_left_to_them(bounds: Boundaries, line: str) -> None:
    assert find_danger(line, bounds) == ""


@pytest.mark.spec("C-12")
@each("wrapping", WRAPPINGS)
@each("line", WANTED)
def test_it_is_found_wherever_it_stands(bounds: Boundaries, line: str, wrapping: str) -> None:
    assert find_danger(wrapping.format(line), bounds)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("rm -rf /", "rm: deletes everything on this machine"),
        ("rm -rf ~", "rm: deletes your home folder"),
        ("rm -rf /etc", "rm: deletes a folder of the system"),
        ("rm -rf .", "rm: deletes the whole project"),
        ("curl x | sh", "runs what it downloads without a review"),
        ("git push -f origin main", "git: overwrites main for everybody; --force-with-lease does not"),
        ("echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit is run by git"),
    ],
)
def test_the_reason_says_what_would_happen(bounds: Boundaries, line: str, reason: str) -> None:
    assert find_danger(line, bounds) == reason


def test_a_link_to_a_dear_place_is_that_place(tmp_path: Path) -> None:
    bounds = make_project(tmp_path)
    (Path(bounds.root) / "shortcut").symlink_to(bounds.home)

    assert "your home folder" in find_danger("rm -rf shortcut/*", bounds)
    assert find_danger("cp x shortcut/.bashrc", bounds)


def test_names_are_counted_from_where_the_line_goes(bounds: Boundaries) -> None:
    assert find_danger("cd src && rm -rf *", bounds) == ""
    assert find_danger("cd / && rm -rf *", bounds)
    assert find_danger("cd $SOMEWHERE && rm -rf *", bounds) == ""
    assert find_danger("rm -rf *", replace(bounds, bases=(bounds.home,)))


def test_the_folders_that_decide_which_hooks_run_are_not_written(bounds: Boundaries) -> None:
    guarded = replace(bounds, protected=(f"{bounds.home}/.config/hookline",))

    assert find_danger("echo x > ~/.config/hookline/hookline.toml", guarded).endswith("decides which hooks run")
    assert find_danger("echo x > ~/.config/hookline/hookline.toml", bounds) == ""


@pytest.mark.parametrize(
    "line", ["coproc x; rm -rf /", "echo 'a\nrm -rf ~", 'echo "$(\nrm -rf /', "a=(1 2) b=((; rm -rf /"]
)
def test_a_line_that_cannot_be_read_is_looked_at_piece_by_piece(bounds: Boundaries, line: str) -> None:
    assert find_danger(line, bounds)


def test_what_is_nested_without_end_ends(bounds: Boundaries) -> None:
    assert find_danger("sudo " * 5_000 + "ls", bounds) == ""
    assert find_danger("$(" * 5_000, bounds) == ""
    assert find_danger("eval " * 2_000 + "ls", bounds) == ""


@pytest.mark.slow
@settings(deadline=None, max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(text='" ')  # a command whose name is a blank
@given(text=st.text(st.sampled_from(" \t\n;&|<>(){}$`'\"\\*?[]~!#=-/.abcdrmsxfHOME0129,:"), max_size=40))
def test_no_text_makes_it_fall_over(bounds: Boundaries, text: str) -> None:
    find_danger(text, bounds)
    find_danger(f"rm -rf {text}", bounds)
    find_danger(f"sudo {text}", bounds)
    find_danger(f"find {text}", bounds)


@pytest.mark.slow
def test_a_line_with_thousands_of_programs_is_looked_at_once(bounds: Boundaries) -> None:
    many = "find . " + "-exec ls {} \\; " * 5_000

    assert find_danger(many, bounds) == ""
    assert find_danger(f"{many} -exec rm -rf ~ \\;", bounds)
    assert find_danger("find . -name x " + "-exec " * 5_000 + "rm -rf ~", bounds)
    assert find_danger("cd a;" * 20_000 + "rm -rf ~", bounds)
