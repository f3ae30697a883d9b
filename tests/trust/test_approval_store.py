import hashlib
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.errors import StoreError
from hookline.trust.approval_store import LONGEST_STORED, Approval, ApprovalStore

TEXT = b"echo hello\n"
HASH = hashlib.sha256(TEXT).hexdigest()


def approval(number: int, **changes: object) -> Approval:
    fields: dict[str, object] = {
        "hook": f"h{number}",
        "digest": f"{number:064x}",
        "repository": "file:/p",
        "at": number,
    }
    return Approval(**{**fields, **changes})  # type: ignore[arg-type] # the fields are a table here


def test_book_and_the_texts_in_it_are_for_their_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "approvals.json"
    book = ApprovalStore(path)
    book.add([approval(1, files={"x.sh": HASH})], [TEXT])

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((path.parent / "approved").stat().st_mode) == 0o700
    assert stat.S_IMODE((path.parent / "approved" / HASH).stat().st_mode) == 0o600
    assert ApprovalStore(path).read_text(HASH) == TEXT


def test_texts_go_when_no_approval_is_about_them(tmp_path: Path) -> None:
    book = ApprovalStore(tmp_path / "approvals.json")
    book.add([approval(1, files={"x.sh": HASH})], [TEXT])
    book.add([approval(2, files={"x.sh": HASH})], [TEXT])

    book.remove(lambda item: item.hook == "h1")
    assert book.read_text(HASH) == TEXT
    book.remove(lambda item: item.hook == "h2")

    assert book.read_text(HASH) is None
    assert list((tmp_path / "approved").iterdir()) == []


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"x" * (LONGEST_STORED + 1)])
def test_what_nobody_would_read_is_not_kept(tmp_path: Path, content: bytes) -> None:
    book = ApprovalStore(tmp_path / "approvals.json")
    name = hashlib.sha256(content).hexdigest()
    book.add([approval(1, files={"x": name})], [content])

    assert book.read_text(name) is None


def test_kept_text_that_was_changed_is_not_shown_as_approved(tmp_path: Path) -> None:
    book = ApprovalStore(tmp_path / "approvals.json")
    book.add([approval(1, files={"x.sh": HASH})], [TEXT])
    (tmp_path / "approved" / HASH).write_text("something else")

    assert book.read_text(HASH) is None
    assert book.read_text("../approvals.json") is None


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_book_that_others_could_write_does_not_count(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "approvals.json"
    ApprovalStore(path).add([approval(1)])
    path.chmod(mode)

    with pytest.raises(StoreError, match=r"can be written by others, so nothing in it counts.*chmod 600 "):
        ApprovalStore(path).load()


def test_book_that_becomes_writable_for_others_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "approvals.json"
    book = ApprovalStore(path)
    book.add([approval(1)])
    path.chmod(0o666)

    with pytest.raises(StoreError, match="can be written by others"):
        book.load()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_book_of_somebody_else_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "approvals.json"
    ApprovalStore(path).add([approval(1)])
    os.chown(path, 12345, 12345)

    with pytest.raises(StoreError, match="belongs to another user"):
        ApprovalStore(path).load()


def test_folder_in_place_of_the_book_is_said(tmp_path: Path) -> None:
    (tmp_path / "approvals.json").mkdir()

    with pytest.raises(StoreError, match="Is a directory"):
        ApprovalStore(tmp_path / "approvals.json").load()


def test_book_of_the_first_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "approvals.json"
    path.write_text(
        '{"version": 1, "approvals": [{"hook": "old", "digest": "aa", "source_path": "s.json", "by": "me", "at": 3.5}]}'
    )

    assert [(one.hook, one.repository, one.programs) for one in ApprovalStore(path).load().values()] == [
        ("old", "", None)
    ]


def test_pipe_in_place_of_the_book_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "approvals.json")

    with pytest.raises(StoreError, match="is not a file"):
        ApprovalStore(tmp_path / "approvals.json").load()


def test_link_left_beside_the_book_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f".approvals.json.{os.getpid()}").symlink_to(victim)

    ApprovalStore(tmp_path / "approvals.json").add([approval(1)])

    assert victim.read_text() == "mine"


_WRITER = """
import hashlib, sys
from pathlib import Path
from hookline.trust.approval_store import Approval, ApprovalStore

book = ApprovalStore(Path(sys.argv[1]))
for number in range(50):
    text = f"{sys.argv[2]} {number}".encode()
    name = hashlib.sha256(text).hexdigest()
    book.add([Approval(hook=sys.argv[2] + str(number), digest=name, repository="r", files={"x": name})], [text])
"""


def test_two_programs_that_approve_fifty_hooks_each_at_once_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "approvals.json"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]

    found = ApprovalStore(path).load().values()
    assert {one.hook for one in found} == {f"{name}{number}" for name in "ab" for number in range(50)}
    assert all(ApprovalStore(path).read_text(one.files["x"]) for one in found)


def test_book_that_was_changed_in_place_and_dated_back_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "approvals.json"
    book = ApprovalStore(path)
    book.add([approval(1, hook="a")])
    before = path.stat()
    assert [item.hook for item in book.load().values()] == ["a"]
    # as programs do that restore or synchronise files
    time.sleep(0.05)
    with path.open("r+b") as opened:
        opened.write(path.read_bytes().replace(b'"a"', b'"b"'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_ino == before.st_ino
    assert [item.hook for item in book.load().values()] == ["b"]
