import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.sources.file_changes import LARGEST, ContentCache, diff, read_content
from hookline.trust.files_and_programs import decode_text


def test_what_a_file_said_is_remembered() -> None:
    contents = ContentCache()
    contents.keep("a", b"one")

    assert contents.before("a") == b"one"
    assert contents.is_same("a", b"one") is True
    assert contents.is_same("a", b"two") is False
    assert contents.is_same("b", b"one") is None


def test_the_oldest_is_forgotten_when_there_is_no_room_but_not_that_it_is_the_same() -> None:
    contents = ContentCache(room=10)
    contents.keep("a", b"12345")
    contents.keep("b", b"12345")
    contents.keep("c", b"1234567")

    assert [contents.before(name) for name in "abc"] == [None, None, b"1234567"]
    assert contents.is_same("a", b"12345") is True


def test_room_comes_back_when_a_file_is_forgotten() -> None:
    contents = ContentCache(room=LARGEST * 2)
    for _ in range(10):
        contents.keep("a", b"x" * LARGEST)
    assert not contents.is_full
    contents.keep("b", b"x" * LARGEST)
    assert contents.is_full
    contents.forget("a")
    contents.forget("never seen")

    assert not contents.is_full
    assert contents.is_same("a", b"x") is None


def test_what_is_too_large_or_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "fits").write_bytes(b"x" * LARGEST)
    (tmp_path / "large").write_bytes(b"x" * (LARGEST + 1))
    (tmp_path / "link").symlink_to(tmp_path / "fits")
    os.mkfifo(tmp_path / "pipe")

    assert len(read_content(str(tmp_path / "fits")) or b"") == LARGEST
    for name in ("large", "link", "pipe", "nothing", "."):
        assert read_content(str(tmp_path / name)) is None


@pytest.mark.parametrize(("raw", "text"), [(b"", ""), ("ä\r\n".encode(), "ä\r\n"), (b"a\0b", None), (b"\xff", None)])
def test_only_text_is_text(raw: bytes, text: str | None) -> None:
    assert decode_text(raw) == text


def test_a_diff_names_the_file_and_the_missing_newline() -> None:
    assert diff("src/a.py", "one\ntwo\n", "one\n2") == (
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
    )


def test_a_small_change_in_a_large_file_is_shown_with_the_lines_around_it() -> None:
    lines = [f"{number % 100}\n" for number in range(60_000)]
    changed = [*lines[:30_000], "other\n", *lines[30_001:]]

    made = diff("x", "".join(lines), "".join(changed))

    assert made == ("--- a/x\n+++ b/x\n@@ -29998,7 +29998,7 @@\n 97\n 98\n 99\n-0\n+other\n 1\n 2\n 3\n")


def test_what_is_different_nearly_everywhere_is_one_piece_and_still_true(tmp_path: Path) -> None:
    before = ["same\n"] * 5 + [f"{number * 7919 % 101}\n" for number in range(20_000)] + ["end\n"] * 5
    now = ["same\n"] * 5 + [f"{number * 104_729 % 103}\n" for number in range(21_000)] + ["end\n"] * 5
    (tmp_path / "x").write_text("".join(before))

    made = diff("x", "".join(before), "".join(now))
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=made.encode(), check=True)

    assert made.count("@@ -") == 1
    assert (tmp_path / "x").read_text() == "".join(now)


TEXTS = st.text(alphabet="ab\n\n\r\x0c\u2028", max_size=60)


@settings(max_examples=40)
@given(before=TEXTS, now=TEXTS)
def test_a_diff_turns_one_text_into_the_other(tmp_path_factory: pytest.TempPathFactory, before: str, now: str) -> None:
    folder = tmp_path_factory.mktemp("diff")
    (folder / "x").write_bytes(before.encode())
    made = diff("x", before, now)
    if made:
        command = ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"]
        # git calls a file that was empty a new one
        if not before or not now:
            return
        subprocess.run(command, cwd=folder, input=made.encode(), check=True, capture_output=True)

    assert (folder / "x").read_bytes().decode() == now
