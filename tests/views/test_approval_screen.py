from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.model.hook import Hook
from hookline.model.requirements import Caching, Needs
from hookline.text import count_columns
from hookline.trust.policy import TrustedHooks
from hookline.views.approval_screen import ApprovalScreen, Fact, lay_out, list_facts, quote_lines

LABELS = {
    *(
        "hook",
        "at",
        "if",
        "for tools",
        "for files",
        "for writes",
        "switched",
        "runs",
        "in folder",
        "environment",
        "sandbox",
        "headers",
    ),
    *(
        "includes",
        "from",
        "since",
        "repository",
        "files",
        "programs",
        "digest",
        "sealed",
        "beware",
        "before",
        "file",
        "",
    ),
}
HOSTILE = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            ["\n", "\r", "  hook  ", '"', "\x1b[A", "\u202e", " " * 50, "x" * 90, "漢" * 60, "\n  runs         "]
        )
    ).map("".join),
)


def shown(hook: Hook, *, columns: int = 100) -> list[str]:
    return lay_out(list_facts(hook, TrustedHooks().decide(hook)), columns)


@pytest.mark.spec("P-19")
@given(name=HOSTILE, word=HOSTILE, value=HOSTILE)
def test_text_of_others_never_stands_where_a_label_stands(name: str, word: str, value: str) -> None:
    word = word.replace("\0", "")
    hook = Hook(
        id="x",
        name=name,
        on="before_tool",
        command="sh",
        args=(word,),
        matcher=value,
        condition=value,
        env={"KEY": value},
    )

    lines = shown(hook)

    assert {line[2:15].strip() for line in lines} <= LABELS
    assert all(line.startswith("  ") and count_columns(line) <= 100 for line in lines)
    assert all(mark.isprintable() or mark == "\u200d" for line in lines for mark in line)
    assert len([line for line in lines if line.startswith("  hook")]) == 1


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (
            Hook(id="x", on="stop", command="sh", args=("a b", "")),
            ["  runs         [0] sh", "               [1] a b", "               [2]"],
        ),
        (
            Hook(id="x", on="stop", command="ls |\n  cat", shell=True),
            ["  runs         a shell, with this line:", "               | ls |", "               |   cat"],
        ),
        (Hook(id="x", on="stop", module="policy", function="check"), ["  runs         Python, policy: check()"]),
        (
            Hook(id="x", on="stop", url="https://example.com/x", headers={"A": "b"}),
            ["  runs         a request, POST https://example.com/x", "  headers      : A: b"],
        ),
        (
            Hook(id="x", on="stop", prompt="Look\nat it"),
            ["  runs         the agent itself is asked:", "               | Look", "               | at it"],
        ),
        (
            Hook(id="x", on="stop", steps=("first", "se\ncond")),
            [
                "  runs         other hooks, one after another; each is approved for itself:",
                "               [0] first",
                "               [1] se\\ncond",
            ],
        ),
        (Hook(id="x", on="stop", raises="custom:y"), ["  runs         another event is raised: custom:y"]),
        (
            Hook(
                id="x",
                on="stop",
                command="sh",
                condition='tool == "a"\n&& true',
                schedule="@daily",
                once=True,
                per_minute=1,
                cooldown=90,
                debounce=0.5,
                breaker=2,
                retry_after=7200,
                needs=Needs(tools=("git>=2",), env=("A", "B")),
                cache=Caching(seconds=600, by=("tool",)),
                background=True,
                persistent=True,
                warm=True,
                after=("a",),
                before=("b",),
            ),
            [
                '  if           tool == "a"\\n&& true',
                "  schedule     @daily",
                "  after        a",
                "  before       b",
                "  once         once in a session",
                "  per_minute   at most 1 run in any minute",
                "  cooldown     not within 90 s of its last run",
                "  debounce     after 0.5 s without another event about the same thing",
                "  breaker      pauses for 2 h after 2 failures in a row",
                "  needs        tools git>=2; env A, B",
                "  cache        an answer holds for 10 min; by tool",
                "  background   from the queue, and nobody waits for it",
                "  persistent   it stays, and answers many events",
                "  warm         its process is made ahead",
            ],
        ),
        (
            Hook(id="x", on="stop", command="sh", env={"LD_PRELOAD": "./evil.so"}, working_directory="sub"),
            ["  in folder    sub", "  environment  = LD_PRELOAD=./evil.so"],
        ),
        (
            Hook(id="x", on="stop", command="sh", files=("*.py",), writes=("/etc/**",), urls=("a.b",), enabled=False),
            ['  for files    "*.py"', '  for writes   "/etc/**"', '  for urls     "a.b"', "  switched     off"],
        ),
        (Hook(id="x", name="The guard", on="stop", command="sh"), ['  hook         "The guard" (x)']),
        (Hook(id="x", on="stop", command="sh"), ["  from         this program"]),
    ],
)
def test_each_kind_of_hook_says_what_it_runs(hook: Hook, expected: list[str]) -> None:
    lines = shown(hook)

    assert [line for line in expected if line not in lines] == []


def test_cli_agent_lines_are_shell_lines_though_they_do_not_say_so() -> None:
    hook = Hook(id="x", on="stop", dialect="cli-agent", command="cat | sh")

    assert "  runs         a shell, with this line:" in shown(hook)


def test_long_text_is_shortened_in_the_middle_and_its_end_stays() -> None:
    fact = Fact("runs", tuple(quote_lines("\n".join(map(str, range(100))))))

    lines = lay_out([fact], 100, whole=False)

    assert lines[15:18] == [
        "               | 15",
        "               (76 lines are left out here; [s] and [d] show them)",
        "               | 92",
    ]
    assert lines[-1] == "               | 99"
    assert len(lay_out([fact], 100)) == 100


def test_end_of_one_endless_line_stays_too() -> None:
    lines = lay_out([Fact("runs", tuple(quote_lines("x" * 1_000_000 + "END")))], 80, whole=False)

    assert len(lines) == 25
    assert lines[-1].endswith("END")


def test_hook_of_hundreds_of_files_does_not_push_the_rest_off_the_screen(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number:03}.sh").write_text("")
    hook = Hook(id="x", on="stop", command="sh", args=("000.sh",), includes=("*.sh",), root=str(tmp_path))

    lines = lay_out(
        list_facts(hook, TrustedHooks().decide(hook, cwd=str(tmp_path)), cwd=str(tmp_path)), 100, whole=False
    )

    assert "               and 280 more, which [s] shows" in lines
    assert len(lines) < 70


def test_screen_offers_the_script_and_the_changes_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "x.sh").write_text("echo hello\n")
    hook = Hook(id="x", on="stop", command="sh", args=("x.sh",), root=str(tmp_path))

    screen = ApprovalScreen.build(hook, TrustedHooks(), cwd=str(tmp_path))

    assert screen.lay_out_details("s", 100)[-1] == "               | echo hello"
    assert screen.lay_out_details("d", 100) == ["  changes      none that are known"]
    assert screen.lay_out_details("sudo", 100) == []
    assert lay_out([Fact("label", ())], 100) == []


def test_line_that_cannot_be_read_with_certainty_says_so() -> None:
    lines = "\n".join(shown(Hook(id="h", command="if true; then ./x.sh", shell=True)))

    assert "loads more than is listed" in lines
    assert "the command: there is a syntax error" in lines
    assert "the command:" not in "\n".join(shown(Hook(id="h", command="./x.sh", shell=True)))
