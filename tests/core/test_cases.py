import pytest

from hookline.core.cases import without_patterns


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ('case $(cat) in *"rm -rf"*) echo no >&2; exit 2;; esac', ["*"]),
        ("case $x in (*.md|*.txt) exit 2;; *) true;; esac", ["*.md", "*.txt", "*)"]),
        ("case \"$(jq -r '.a')\" in *push*) exit 2;; esac", ["*push*"]),
        ("if true; then case $x in *.md) exit 2;; esac; fi", ["*.md"]),
        ("case $x in\n  # any *.doc\n  *.md)\n    exit 2 ;;\nesac", ["*.md", "*.doc"]),
        ("case $x in *.md) case $y in *.txt) exit 2;; esac;; esac", ["*.md", "*.txt"]),
        ('[[ $(cat) == *"rm -rf"* ]] && exit 2', ["*"]),
        ("[[ $x =~ (rm|dd).*x ]] && exit 2", [".*x"]),
        ("bash -c 'case $(cat) in *.md) exit 2;; esac'", ["*.md"]),
        ("x=$(case $y in *.md) echo 1;; esac)", ["*.md"]),
        ("grep x <<< $y; case $x in *.md) exit 2;; esac", ["*.md"]),
    ],
)
def test_what_a_shell_only_compares_with_is_taken_out(line: str, gone: list[str]) -> None:
    read = without_patterns(line)

    assert not [word for word in gone if word in read]
    assert "exit" not in line or "exit" in read


@pytest.mark.parametrize(
    "line",
    [
        "case $x in *.md) sh *.sh;; esac",
        "case $(sh *.sh) in a) exit;; esac",
        "case `sh *.sh` in a) exit;; esac",
        "case x in $(sh *.sh)) exit;; esac",
        "[[ $(sh *.sh) == x ]]",
        "[[ x == *.md ]] && *.sh",
        # none of these is a case, whatever it looks like
        'names=(case x in *.sh); "${names[@]}"',
        "(sh -c 'shift 2; $1' ''case x in *.sh)",
        "(sh -c 'shift 3; $1' _ case x in *.sh)",
        "case $(sh -c 'shift; $1' _ in *.sh) in a) exit;; esac",
        "(\\case x in *.sh)",
        "(: <<E\ncase x in (\nE\n*.sh\n)",
        "for case in *.sh; do $case; done",
        "echo case x in; (sh *.sh)",
        "(printf [[ *.sh ]] | sh)",
        # nor can these be followed
        "case x in *.sh",
        "case x in a) *.sh ) esac",
        "case 'x in *.sh) esac",
        "case x in ; *.sh) esac",
        "sh -c 'case x in a) esac; *.sh'",
        "set -- -c 'case x in *.sh ) esac'",
    ],
)
def test_what_a_shell_could_look_for_stays(line: str) -> None:
    assert "*.sh" in without_patterns(line)


def test_line_without_any_is_as_it_was() -> None:
    assert without_patterns("lint  src/*.js # all") == "lint  src/*.js # all"


def test_long_lines_are_read_in_no_time() -> None:
    for piece in ('"$(', "case x in ", '"', "(", "[[ ", '$("', "a) ;; "):
        without_patterns("case x in " + piece * (65_536 // len(piece)))
