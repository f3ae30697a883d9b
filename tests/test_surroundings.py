"""Where a call comes from: a program that answers for others sees what they see."""

import asyncio
import os
from pathlib import Path

import pytest

from hookline import surroundings
from hookline.surroundings import Surroundings


def test_without_a_call_everything_is_our_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOMETHING", "ours")
    monkeypatch.setenv("HOME", "/home/ours")
    monkeypatch.chdir(tmp_path)
    assert surroundings.current() is None
    assert surroundings.environ() is os.environ
    assert surroundings.whole_environ()["SOMETHING"] == "ours"
    assert surroundings.folder() == str(tmp_path)
    assert surroundings.umask() is None
    assert surroundings.expanded("~/x") == "/home/ours/x"


def test_a_call_has_its_own() -> None:
    with surroundings.entered(Surroundings({"HOME": "/home/her"}, "/her/project", umask=0o077)):
        assert surroundings.environ().get("SOMETHING") is None
        assert surroundings.folder() == "/her/project"
        assert surroundings.umask() == 0o077
        assert surroundings.expanded("~/x") == "/home/her/x"
        assert surroundings.expanded("~") == "/home/her"
        assert surroundings.expanded("a/~") == "a/~"
    assert surroundings.current() is None


def test_two_calls_at_once_do_not_see_each_other() -> None:
    async def call(name: str, both: asyncio.Barrier) -> str:
        with surroundings.entered(Surroundings({"NAME": name}, f"/{name}")):
            await both.wait()
            return surroundings.environ()["NAME"] + surroundings.folder()

    async def calls() -> tuple[str, str]:
        both = asyncio.Barrier(2)
        one, two = await asyncio.gather(call("one", both), call("two", both))
        return one, two

    assert asyncio.run(calls()) == ("one/one", "two/two")


def test_what_was_asked_for_is_remembered_also_when_it_is_not_there() -> None:
    here = Surroundings({"A": "1", "B": "2"}, "/")
    with surroundings.entered(here):
        surroundings.environ().get("A")
        assert "C" not in surroundings.environ()
        surroundings.whole_environ()["B"]
    assert here.seen == {"A", "C"}
    assert dict(here.environ) == {"A": "1", "B": "2"}
    assert here.seen == {"A", "B", "C"}


def test_a_variable_is_there_for_what_is_started_meanwhile() -> None:
    here = Surroundings({"A": "1"}, "/")
    with surroundings.entered(here), surroundings.variable("MARK", "x"):
        assert surroundings.whole_environ()["MARK"] == "x"
        inner = surroundings.current()
        assert inner is not None
        assert inner.encoded == {b"A": b"1", b"MARK": b"x"}
        surroundings.environ().get("A")
    assert here.seen == {"A"}
    assert here.encoded == {b"A": b"1"}
    assert "MARK" not in os.environ


def test_a_variable_can_be_taken_away() -> None:
    with surroundings.entered(Surroundings({"MARK": "1"}, "/")), surroundings.variable("MARK", ""):
        assert "MARK" not in surroundings.whole_environ()


def test_a_variable_of_our_own_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", "before")
    with surroundings.variable("MARK", "now"):
        assert os.environ["MARK"] == "now"
    assert os.environ["MARK"] == "before"
    with surroundings.variable("MARK", ""):
        assert "MARK" not in os.environ
    assert os.environ["MARK"] == "before"


def test_names_that_are_no_text_survive() -> None:
    odd = os.fsdecode(b"\xff")
    assert Surroundings({"A": odd}, "/").encoded == {b"A": b"\xff"}


def test_without_a_home_the_user_database_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    known = surroundings.expanded("~/x")
    with surroundings.entered(Surroundings({}, "/")):
        assert surroundings.expanded("~/x") == known
