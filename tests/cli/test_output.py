import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.cli._output import Table, escape_json, print_error, print_json, print_line, print_table

SOURCE = Path(__file__).resolve().parent.parent.parent / "src" / "hookline"


def test_columns_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table(["a", "name"], [["1", "x"], ["333", "line\nbreak"]]))

    assert capsys.readouterr().out == "a    name\n---  ----------\n1    x\n333  line break\n"


def test_columns_line_up_with_wide_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table(["name", "x"], [["漢字", "1"], ["ab", "2"]]))

    assert capsys.readouterr().out == "name  x\n----  -\n漢字  1\nab    2\n"


@pytest.mark.spec("P-19")
def test_nothing_of_others_reaches_the_screen_raw(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2Jpassword=hunter2 \u202e"

    print_line(hostile)
    print_error(hostile)
    print_table(Table(["head"], [[hostile]]))

    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "\u202e" not in shown.out + shown.err
    assert "hunter2" not in shown.out + shown.err
    assert shown.err == r"\x1b[2Jpassword=…[secret] \u202e" + "\n"


def test_json_on_a_screen_obeys_nobody_and_means_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": "\x9b2J\x7f\u202e\U000e0041 é 漢"}

    print_json(value)

    shown = capsys.readouterr().out
    assert json.loads(shown) == value
    assert r'"\u009b2J\u007f\u202e\udb40\udc41 é 漢"' in shown


@given(st.text())
def test_escaped_json_reads_as_the_same_value(text: str) -> None:
    assert json.loads(escape_json(json.dumps(text, ensure_ascii=False))) == text


def test_commands_print_through_one_module() -> None:
    writers = [
        path.name
        for path in sorted((SOURCE / "cli").glob("*.py"))
        if re.search(r"\bprint\(|stdout\.write|stderr\.write|stdout\.buffer", path.read_text())
    ]

    assert writers == ["_output.py"]


@pytest.mark.spec("P-19")
def test_line_of_others_never_begins_where_one_of_ours_does(capsys: pytest.CaptureFixture[str]) -> None:
    print_line('hook "a\nnothing to mend" runs')
    print_error('hook "a\napproved" failed')
    print_line("what a hook\nsaid", broken=True)

    shown = capsys.readouterr()
    assert shown.out == 'hook "a\n  | nothing to mend" runs\nwhat a hook\nsaid\n'
    assert shown.err == 'hook "a\n  | approved" failed\n'


def test_one_long_cell_does_not_push_the_others_off_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table(["name", "x"], [["n" * 10_000, "1"], ["ab", "2"]]))

    head, line, long, short = capsys.readouterr().out.splitlines()
    assert len(line) == len(short) == len(head) == 63
    assert long == f"{'n' * 200}… (10000 characters)  1"


def print_in_terminal(table: str, columns: int) -> list[str]:
    """Print a table in a terminal of a width, and return its lines."""
    code = (
        f"import os, pty, sys; os.environ.update(COLUMNS='{columns}', NO_COLOR='1');"
        "sys.exit(os.waitstatus_to_exitcode(pty.spawn([sys.executable, '-c', sys.argv[1]])))"
    )
    printed = f"from hookline.cli._output import Table, print_table; print_table(Table({table}))"
    done = subprocess.run([sys.executable, "-c", code, printed], capture_output=True, text=True, check=True, timeout=60)
    return [line.rstrip() for line in done.stdout.split("\n")]


def test_table_on_a_screen_that_is_too_narrow_is_a_line_for_each_cell() -> None:
    narrow, wide = [["guard", "nobody approved it yet", "a.toml"], ["other", "", "b.toml"]], [["guard", "no", "a.toml"]]

    shown = [print_in_terminal(f"['hook', 'why', 'file'], {rows}", 30) for rows in (narrow, wide)]

    assert shown[0] == [
        "guard",
        "  why: nobody approved it yet",
        "  file: a.toml",
        "other",
        "  file: b.toml",
        "",
    ]
    assert shown[1][0] == "hook   why  file"


def test_optional_columns_are_left_out_on_a_narrow_screen_and_the_last_is_cut() -> None:
    table = f"['hook', 'runs', 'about'], [['guard', '12', '{'x' * 40}']], optional=['runs']"

    wide, cut, narrow = (print_in_terminal(table, columns) for columns in (60, 36, 31))

    assert wide[0] == "hook   runs  about"
    assert cut == ["hook   runs  about", f"-----  ----  {'-' * 23}", f"guard  12    {'x' * 22}…", ""]
    assert narrow[0] == "hook   about"
    assert narrow[2] == f"guard  {'x' * 23}…"
    assert narrow[3].startswith("(a wider terminal, or --json, ")
