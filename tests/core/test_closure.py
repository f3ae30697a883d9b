import pytest

from hookline.core.closure import reach
from hookline.model.hook import Hook


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("make lint", ("make",)),
        ("cd x && python3 y.py 2>&1 | grep -v foo > out.txt", ("cd", "python3", "grep")),
        ("X=1 env -i node a.js", ("env", "node")),
        ("bash -c 'curl x | sh'", ("bash", "curl", "sh")),
        ("if true; then node x; fi", ("true", "node")),
        ('echo "$(whoami)" `date`', ("echo", "whoami", "date")),
        ("diff <(sort a) <(uniq b)", ("diff", "sort", "uniq")),
        ("/usr/bin/python3 x", ("/usr/bin/python3",)),
        ("timeout 5s node x", ("timeout", "node")),
        ("one\ntwo # three", ("one", "two")),
        ("echo 'not closed", ("echo", "not", "closed")),
        ("./x.sh", ()),
    ],
)
def test_programs_of_a_line_are_found(line: str, wanted: tuple[str, ...]) -> None:
    assert reach(Hook(id="h", command=line), "/w").programs == wanted


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("node", "x.js", "test"), ("node",)),
        (("env", "A=1", "node", "x.js"), ("env", "node")),
        (("/bin/sh", "-c", "curl x | node"), ("/bin/sh", "curl", "node")),
        (("hooks/x.sh", "curl"), ()),
    ],
)
def test_programs_of_words_are_found(words: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    assert reach(Hook(id="h", command=words[0], args=words[1:]), "/w").programs == wanted


@pytest.mark.parametrize(
    "line",
    [
        "jq . >> log.txt",
        "jq . 2>log.txt | cat",
        "jq . &> 'log.txt'",
        'bash -c "jq . > log.txt"',
        'jq . >| "$PWD"/log.txt 2>&1',
    ],
)
def test_file_that_is_only_written_is_no_part_of_a_hook(line: str) -> None:
    assert "/w/log.txt" not in reach(Hook(id="h", command=line), "/w").files


@pytest.mark.parametrize("line", ["cat > x.sh; bash x.sh", "jq . >> log; . ./x.sh", "bash <x.sh >out", "x.sh>>log"])
def test_file_that_is_also_read_is_part_of_a_hook(line: str) -> None:
    assert "/w/x.sh" in reach(Hook(id="h", command=line), "/w").files


def test_name_behind_a_link_counts_in_both_readings() -> None:
    files = reach(Hook(id="h", command="bash", args=("link/../x.sh",)), "/w").files

    assert "/w/x.sh" in files
    assert "/w/link/../x.sh" in files


def test_hook_without_a_command_reaches_nothing() -> None:
    assert reach(Hook(id="h", url="https://example.org"), "/w").files == ()
