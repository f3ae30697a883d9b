"""The reader of shell scripts: structure, words, and what it does not claim to know."""

import random
import subprocess

import pytest

from hookline.shell.reader import LONGEST, parse_script
from hookline.shell.script import Compound, Pipeline, SimpleCommand, find_nodes

pytestmark = pytest.mark.spec("U-03")


def find_commands(text: str) -> list[SimpleCommand]:
    return [node for node in find_nodes(parse_script(text)) if isinstance(node, SimpleCommand)]


def words_of(text: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in find_commands(text)]


def first(text: str) -> SimpleCommand:
    node = parse_script(text).steps[0].node
    assert isinstance(node, SimpleCommand)
    return node


def test_quotes_are_removed_as_bash_removes_them() -> None:
    rows = {
        r"""g"i"t 'pu'sh \--force""": ["git", "push", "--force"],
        r"""echo $'a\x41\n\101\u0042'""": ["echo", "aA\nAB"],
        r"""echo "a\$b\c" 'd\'""": ["echo", r"a$b\c", "d\\"],
        "echo a\\\nb": ["echo", "ab"],
        "echo '' \"\"": ["echo", "", ""],
        "echo {a,b{1..3}}.t": ["echo", "a.t", "b1.t", "b2.t", "b3.t"],
        "echo {a} {} x{,y}": ["echo", "{a}", "{}", "x", "xy"],
        "echo ä{ö,ü}": ["echo", "äö", "äü"],
    }
    for text, words in rows.items():
        assert words_of(text) == [words], text
        assert all(word.is_literal for word in first(text).words), text


def test_random_quoting_gives_the_words_that_bash_passes_on() -> None:
    chance = random.Random(8)  # noqa: S311 - the same lines each time
    pieces = [
        "a",
        "git",
        " ",
        "'x y'",
        '"q\\"r"',
        "\\ ",
        "\\'",
        "$'\\t\\x42'",
        "{a,b}",
        "''",
        "-f",
        "=",
        "--x=1",
        "\\\n",
        "é",
        ",",
        "@",
        '"a\\nb"',
        "'\\'",
        ":",
    ]
    lines = [
        "printf '%s\\0' " + "".join(chance.choice(pieces) for _ in range(chance.randint(1, 9))) + "z"
        for _ in range(400)
    ]
    unread = 0
    for line in lines:
        script = parse_script(line)
        if script.doubts:
            unread += 1
            continue
        ours = [word.text for word in first(line).words[2:]]
        out = subprocess.run(["bash", "-c", line], capture_output=True, check=True, cwd="/").stdout.decode()
        assert ours == out.split("\0")[:-1], line
    assert unread < len(lines) / 20


def test_words_with_expansions_are_not_literal() -> None:
    for text in (
        "$x",
        '"$x"',
        "a${x}b",
        "$(ls)",
        "`ls`",
        "${x:-y}",
        "$((1 + 2))",
        "~user/x",
        "=ls",
        "a^b",
        "x#",
        "a**",
        '$"x"',
    ):
        assert not first(f"echo {text}").words[1].is_literal, text
    for text in ("'$x'", "\\$x", '"\\$x"', "a=b", "~/x", "*.py", "[a-z]?", "'#'", "HEAD~1"):
        assert first(f"echo {text}").words[1].is_literal, text


def test_globs_keep_quoted_signs_apart() -> None:
    word = first("cat '*'*.py").words[1]

    assert (word.is_glob, word.pattern, word.text) == (True, "[*]*.py", "**.py")


def test_every_command_is_found_in_every_construct() -> None:
    rows = {
        "a && b || c; d & e": 5,
        "a | b |& c": 3,
        "! a": 1,
        "(a; b) > f": 2,
        "{ a; b; }": 2,
        "if a; then b; elif c; then d; else e; fi": 5,
        "for x in 1 2; do a; done": 1,
        "for ((i=0; i<3; i++)); do a; done": 1,
        "while a; do b; done < f": 2,
        "until a; do b; done": 2,
        "case $x in a|b) a; b;; *) c;; esac": 3,
        "f() { a; }; function g { b; }": 2,
        'echo "$(a | b)" `c` <(d)': 5,
        "x=$(a) y=`b` c": 3,
        "[ -f $(a) ] && [[ $(b) == x ]]": 2,
        "(( $(a) ))": 1,
        "cat <<EOF\n$(a) `b`\nEOF": 3,
        "cat <<'EOF'\n$(a)\nEOF": 1,
        "echo ${x:-$(a)}": 2,
        "export X=$(a)": 2,
        "a <<< $(b)": 2,
    }
    for text, count in rows.items():
        assert not parse_script(text).doubts, text
        assert len(find_commands(text)) == count, text


def test_redirections_and_here_documents_belong_to_their_command() -> None:
    text = "cat <<A 3<<-'B' > out more; ls 2>&1\none $x\nA\n\ttwo $y\n\tB\nnext"
    command, listing, last = (step.node for step in parse_script(text).steps)

    assert isinstance(command, SimpleCommand)
    assert [word.text for word in command.words] == ["cat", "more"]
    assert [(one.fd, one.operator) for one in command.redirects] == [("", "<<"), ("3", "<<-"), ("", ">")]
    bodies = [one.body for one in command.redirects if one.body]
    assert [(body.text, body.is_literal) for body in bodies] == [("one $x\n", False), ("two $y\n", True)]
    assert isinstance(listing, SimpleCommand)
    assert isinstance(last, SimpleCommand)
    assert not parse_script(text).doubts


def test_a_redirection_behind_a_list_belongs_to_the_last_command() -> None:
    first_step, second = parse_script("a && b > f x").steps

    assert isinstance(first_step.node, SimpleCommand)
    assert not first_step.node.redirects
    assert isinstance(second.node, SimpleCommand)
    assert [word.text for word in second.node.words] == ["b", "x"]


def test_a_redirection_behind_a_pipeline_belongs_to_its_last_stage() -> None:
    node = parse_script("for i in 1; do a; done | sort > f").steps[0].node

    assert isinstance(node, Pipeline)
    loop, sort = node.stages
    assert isinstance(loop, Compound)
    assert isinstance(sort, SimpleCommand)
    assert [one.operator for one in sort.redirects] == [">"]


def test_what_shells_read_differently_is_doubtful() -> None:
    rows = (
        "rm key<->.pem",
        "cat x<1-5>/y",
        "rm >&-.git/config",
        "cat <&-x",
        "touch a 2>&-x",
        "echo x >! f",
        "ls *(.)",
        "repeat 3 ls",
        "foreach x (a b) ls; end",
        "coproc ls",
    )
    for text in rows:
        assert parse_script(text).doubts, text
    for text in ("cat ***/name", "cat .env#", "cat .e^zz", "=ls"):
        assert not all(word.is_literal for word in first(text).words), text


def test_what_cannot_be_read_is_doubtful_and_the_rest_is_still_found() -> None:
    rows = (
        "echo 'x",
        'git push "',
        "git push; )",
        "if git push; then",
        "git push $(",
        "cat <<EOF\ngit push",
        "git push\0 x",
        "git push\r\n",
    )
    for text in rows:
        assert parse_script(text).doubts, text
    assert ["git", "push"] in words_of("git push; )")
    assert ["git", "push"] in words_of("if git push; then")


@pytest.mark.slow
def test_long_and_deep_scripts_are_doubtful_and_end() -> None:
    rows = (
        "echo a;" * LONGEST,
        "$(" * 5000,
        "( " * 5000 + "a" + " )" * 5000,
        '"$(echo ' * 300,
        "`" * 3000,
        "{" * 20000,
        "a=(" * 5000,
        "${x:-" * 4000,
        "<<A " * 3000,
        "{a,b}" * 50,
    )
    for text in rows:
        assert parse_script(text).doubts, text[:20]


def test_the_rest_behind_a_closed_descriptor_is_a_word() -> None:
    assert words_of("rm >&-.git/config") == [["rm", ".git/config"]]
