"""Where a call comes from: a program that answers for others sees what they see."""

import asyncio
import os
from pathlib import Path

import pytest

from hookline import caller_context
from hookline.caller_context import CallerContext


def test_without_a_call_everything_is_our_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOMETHING", "ours")
    monkeypatch.setenv("HOME", "/home/ours")
    monkeypatch.chdir(tmp_path)
    assert caller_context.current() is None
    assert caller_context.environ() is os.environ
    assert caller_context.full_environ()["SOMETHING"] == "ours"
    assert caller_context.folder() == str(tmp_path)
    assert caller_context.umask() is None
    assert caller_context.expand_home("~/x") == "/home/ours/x"


def test_a_call_has_its_own() -> None:
    with caller_context.use(CallerContext({"HOME": "/home/her"}, "/her/project", umask=0o077)):
        assert caller_context.environ().get("SOMETHING") is None
        assert caller_context.folder() == "/her/project"
        assert caller_context.umask() == 0o077
        assert caller_context.expand_home("~/x") == "/home/her/x"
        assert caller_context.expand_home("~") == "/home/her"
        assert caller_context.expand_home("a/~") == "a/~"
    assert caller_context.current() is None


def test_two_calls_at_once_do_not_see_each_other() -> None:
    async def call(name: str, both: asyncio.Barrier) -> str:
        with caller_context.use(CallerContext({"NAME": name}, f"/{name}")):
            await both.wait()
            return caller_context.environ()["NAME"] + caller_context.folder()

    async def calls() -> tuple[str, str]:
        both = asyncio.Barrier(2)
        one, two = await asyncio.gather(call("one", both), call("two", both))
        return one, two

    assert asyncio.run(calls()) == ("one/one", "two/two")


def test_what_was_asked_for_is_remembered_also_when_it_is_not_there() -> None:
    here = CallerContext({"A": "1", "B": "2"}, "/")
    with caller_context.use(here):
        caller_context.environ().get("A")
        assert "C" not in caller_context.environ()
        caller_context.full_environ()["B"]
    assert here.read_vars == {"A", "C"}
    assert dict(here.environ) == {"A": "1", "B": "2"}
    assert here.read_vars == {"A", "B", "C"}


def test_a_variable_is_there_for_what_is_started_meanwhile() -> None:
    here = CallerContext({"A": "1"}, "/")
    with caller_context.use(here), caller_context.with_env("MARK", "x"):
        assert caller_context.full_environ()["MARK"] == "x"
        inner = caller_context.current()
        assert inner is not None
        assert inner.encoded == {b"A": b"1", b"MARK": b"x"}
        caller_context.environ().get("A")
    assert here.read_vars == {"A"}
    assert here.encoded == {b"A": b"1"}
    assert "MARK" not in os.environ


def test_a_variable_can_be_taken_away() -> None:
    with caller_context.use(CallerContext({"MARK": "1"}, "/")), caller_context.with_env("MARK", ""):
        assert "MARK" not in caller_context.full_environ()


def test_a_variable_of_our_own_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARK", "before")
    with caller_context.with_env("MARK", "now"):
        assert os.environ["MARK"] == "now"
    assert os.environ["MARK"] == "before"
    with caller_context.with_env("MARK", ""):
        assert "MARK" not in os.environ
    assert os.environ["MARK"] == "before"


def test_names_that_are_no_text_survive() -> None:
    odd = os.fsdecode(b"\xff")
    assert CallerContext({"A": odd}, "/").encoded == {b"A": b"\xff"}


def test_without_a_home_the_user_database_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    known = caller_context.expand_home("~/x")
    with caller_context.use(CallerContext({}, "/")):
        assert caller_context.expand_home("~/x") == known
