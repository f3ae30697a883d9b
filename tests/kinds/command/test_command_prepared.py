"""What is remembered of a command from call to call, and what makes it be put together anew."""

import asyncio
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.caller_context import CallerContext, use
from hookline.kinds.command.command import Command
from hookline.model.event import Event, EventName
from hookline.model.exchange import FailureKind, Reply, Request
from hookline.model.hook import Hook

TELL = Hook(id="h", on="before_tool", command='echo "${GIVEN-none} $0 $(pwd)"', shell=True)


def request(*, env: dict[str, str] | None = None, cwd: str = "") -> Request:
    return Request(event=Event(name=EventName.BEFORE_TOOL, cwd=cwd), document={}, env=env)


async def said(kind: Command, hook: Hook = TELL, wanted: Request | None = None) -> str:
    reply = await kind.call(hook, wanted or request(), timeout=60)
    assert reply.failure is None, reply.failure
    return reply.stdout.decode().strip()


def test_a_change_of_our_own_environment_is_seen_by_the_next_child(monkeypatch: pytest.MonkeyPatch) -> None:
    async def within() -> list[str]:
        kind = Command()
        heard = [await said(kind)]
        for value in ("one", "two"):
            monkeypatch.setenv("GIVEN", value)
            heard += [await said(kind), await said(kind)]
        monkeypatch.delenv("GIVEN")
        return [*heard, await said(kind)]

    words = [line.split()[0] for line in asyncio.run(within())]
    assert words == ["none", "one", "one", "two", "two", "none"]


def test_each_event_brings_its_own_variables() -> None:
    async def within() -> list[str]:
        kind = Command()
        given = [{"GIVEN": "one"}, {"GIVEN": "one"}, {"GIVEN": "two"}, {}]
        return [await said(kind, wanted=request(env=env)) for env in given]

    assert [line.split()[0] for line in asyncio.run(within())] == ["one", "one", "two", "none"]


def test_what_an_event_brought_is_not_changed_by_whoever_made_it_later() -> None:
    """A dialect may hand the same variables in each time, and change them in between."""

    async def within() -> list[str]:
        kind = Command()
        env = {"GIVEN": "one"}
        first = await said(kind, wanted=request(env=env))
        env["GIVEN"] = "two"
        return [first, await said(kind, wanted=request(env=env))]

    assert [line.split()[0] for line in asyncio.run(within())] == ["one", "two"]


def test_each_event_brings_its_own_folder(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()

    async def within() -> list[str]:
        kind = Command()
        return [(await said(kind, wanted=request(cwd=str(cwd)))).split()[2] for cwd in (one, other, one, one)]

    assert asyncio.run(within()) == [str(one), str(other), str(one), str(one)]


def test_a_change_of_our_own_folder_is_seen_by_the_next_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = str(Path.cwd())

    async def within() -> list[str]:
        kind = Command()
        heard = [(await said(kind)).split()[2]]
        monkeypatch.chdir(tmp_path)
        return [*heard, (await said(kind)).split()[2]]

    assert asyncio.run(within()) == [before, str(tmp_path)]


def test_another_hook_of_the_same_id_is_another_command() -> None:
    async def within() -> list[str]:
        kind = Command()
        other = replace(TELL, env={"GIVEN": "its own"})
        return [await said(kind), await said(kind, other), await said(kind)]

    assert [line.split()[0] for line in asyncio.run(within())] == ["none", "its", "none"]


def test_callers_with_different_environments_do_not_see_each_others() -> None:
    async def as_caller(kind: Command, value: str) -> str:
        with use(CallerContext({**os.environ, "GIVEN": value}, str(Path.cwd()))):
            return (await said(kind)).split()[0]

    async def within() -> list[str]:
        kind = Command()
        by_turns = [await as_caller(kind, value) for value in ("one", "two", "one")]
        at_once = await asyncio.gather(*(as_caller(kind, str(number)) for number in range(8)))
        return [*by_turns, *at_once]

    assert asyncio.run(within()) == ["one", "two", "one", *map(str, range(8))]


def test_vetted_bytes_are_run_whatever_was_run_before(tmp_path: Path) -> None:
    """Once without anybody's approval, once from approved bytes, and again: each as it is asked for."""
    script = tmp_path / "say.sh"
    script.write_text("echo from the file\n")
    hook = Hook(id="h", on="before_tool", command="/bin/sh", args=(str(script),))

    async def within() -> list[bytes]:
        kind = Command()
        heard: list[Reply] = []
        # the file itself has to be what was vetted, or nothing runs: so the bytes are told from it by a change of it
        for sealed in (None, {str(script): b"echo from the file\n"}, None):
            wanted = request()
            wanted.sealed = sealed
            heard += [await kind.call(hook, wanted, timeout=60) for _ in range(2)]
        script.write_text("echo changed\n")
        wanted = request()
        wanted.sealed = {str(script): b"echo from the file\n"}
        heard.append(await kind.call(hook, wanted, timeout=60))
        heard.append(await kind.call(hook, request(), timeout=60))
        await kind.close()
        return [reply.stdout for reply in heard]

    assert asyncio.run(within()) == [b"from the file\n"] * 7 + [b"changed\n"]


def test_a_hook_runs_where_whoever_asks_works_with_their_umask(tmp_path: Path) -> None:
    """The same hook, asked by turns from two places: nothing of the one is remembered for the other."""
    hook = Hook(id="h", on="before_tool", command='pwd; echo "$PWD"; umask', shell=True)
    one, other = (tmp_path / name for name in ("one", "other"))
    for folder in (one, other):
        folder.mkdir()

    async def within() -> None:
        kind = Command()
        for _ in range(2):
            for folder, umask in ((one, 0o002), (other, 0o077), (one, 0o077)):
                with use(CallerContext(dict(os.environ), str(folder), umask=umask)):
                    words = (await said(kind, hook)).split()
                assert words == [str(folder), str(folder), f"{umask:04o}"]
        with use(CallerContext(dict(os.environ), str(one))):
            assert (await said(kind, hook, request(cwd=str(other)))).split()[0] == str(other)
        await kind.close()

    asyncio.run(within())


def test_a_persistent_hook_has_the_folder_and_the_umask_of_who_started_it(tmp_path: Path) -> None:
    line = r"""while read -r _; do printf '{"said": "%s %s"}\n' "$(pwd)" "$(umask)"; done"""
    hook = Hook(id="h", on="before_tool", command=line, shell=True, persistent=True)

    async def within() -> str:
        kind = Command()
        try:
            with use(CallerContext(dict(os.environ), str(tmp_path), umask=0o027)):
                return await said(kind, hook)
        finally:
            await kind.close()

    assert asyncio.run(within()) == f'{{"said":"{tmp_path} 0027"}}'


def test_a_folder_that_was_removed_under_whoever_asks_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"

    async def within() -> Reply:
        kind = Command()
        with use(CallerContext(dict(os.environ), str(gone))):
            reply = await kind.call(Hook(id="h", on="before_tool", command="/bin/true"), request(), timeout=60)
        await kind.close()
        return reply

    failure = asyncio.run(within()).failure
    assert failure is not None
    assert (failure.kind, str(gone) in failure.message) == (FailureKind.NOT_FOUND, True)
