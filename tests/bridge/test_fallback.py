"""The engine broken on purpose, under every agent: each still works or blocks exactly as its policy says."""

import os
from collections.abc import Callable
from typing import Final

import pytest

from hookline.dialects import DIALECTS
from tests.bridge.agents import AGENTS, GUARD, Person, is_neutral, is_refused, told

pytestmark = pytest.mark.slow

DANGEROUS: Final = "rm -rf /"
HARMLESS: Final = "ls"

EACH_AGENT = pytest.mark.parametrize("host", sorted(AGENTS))
EACH_POLICY = pytest.mark.parametrize("policy", ["block", "allow", ""])


def _garbage(name: str) -> Callable[[Person], None]:
    def breaks(person: Person) -> None:
        (person.data / name).write_bytes(b"this is no database, and it is long enough to be looked at" * 100)

    return breaks


def _folder_is_a_file(person: Person) -> None:
    person.data.rmdir()
    person.data.write_text("")


# the hooks can be asked all the same, whatever is lost beside them
SURVIVED: Final[dict[str, Callable[[Person], None]]] = {
    "traces": _garbage("traces.db"),
    "state": _garbage("state.db"),
    "queue": _garbage("queue.db"),
    "data folder": _folder_is_a_file,
}


def _loop(person: Person) -> None:
    path = person.config / "hookline.toml"
    path.unlink(missing_ok=True)
    path.symlink_to(path)


def _no_toml(person: Person) -> None:
    (person.config / "hookline.toml").write_text("[[hook]\nid = ")


def _no_text(person: Person) -> None:
    (person.config / "hookline.toml").write_bytes(b"\xff\xfe\x00")


def _folder(person: Person) -> None:
    path = person.config / "hookline.toml"
    path.unlink(missing_ok=True)
    path.mkdir()


# a file that may have held a guard cannot be read
UNREAD: Final[dict[str, Callable[[Person], None]]] = {
    "cannot be opened": _loop,
    "is no TOML": _no_toml,
    "is no text": _no_text,
    "is a folder": _folder,
}


@EACH_AGENT
@EACH_POLICY
@pytest.mark.parametrize("how", sorted(SURVIVED))
def test_a_broken_store_keeps_no_guard_from_deciding(person: Person, host: str, policy: str, how: str) -> None:
    person.configure(GUARD)
    SURVIVED[how](person)
    assert is_refused(host, person.ask(host, person.event(command=DANGEROUS), if_broken=policy))
    assert is_neutral(host, person.ask(host, person.event(command=HARMLESS), if_broken=policy))


@EACH_AGENT
@EACH_POLICY
@pytest.mark.parametrize("how", sorted(SURVIVED))
def test_a_broken_store_blocks_nothing_where_there_is_no_guard(
    person: Person, host: str, policy: str, how: str
) -> None:
    SURVIVED[how](person)
    assert is_neutral(host, person.ask(host, person.event(command=DANGEROUS), if_broken=policy))


@EACH_AGENT
@EACH_POLICY
@pytest.mark.parametrize("how", sorted(UNREAD))
def test_a_configuration_that_cannot_be_read_follows_the_policy(
    person: Person, host: str, policy: str, how: str
) -> None:
    person.configure("")
    UNREAD[how](person)
    answer = person.ask(host, if_broken=policy)
    # where no policy is given, what cannot be read at all may hold a guard; what can be read has no word of one
    is_blocked = policy == "block" or (not policy and how != "is no TOML")
    assert is_refused(host, answer) if is_blocked else is_neutral(host, answer)


@EACH_AGENT
@EACH_POLICY
def test_where_one_file_cannot_be_read_the_hooks_of_the_others_are_asked(
    person: Person, host: str, policy: str
) -> None:
    person.configure(GUARD)
    other = person.home / ".ollama" / "settings.json"
    other.parent.mkdir()
    other.write_text("{")
    assert is_refused(host, person.ask(host, person.event(command=DANGEROUS), if_broken=policy))
    # a guard that blocks when it fails is there, so somebody wants to be on the safe side
    harmless = person.ask(host, person.event(command=HARMLESS), if_broken=policy)
    assert is_neutral(host, harmless) if policy == "allow" else is_refused(host, harmless)


@EACH_AGENT
@EACH_POLICY
@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xff", b"[" * 100_000])
def test_what_cannot_be_understood_is_no_yes_where_a_hook_could_deny_and_else_follows_the_policy(
    person: Person, host: str, policy: str, *, guarded: bool, raw: bytes
) -> None:
    if guarded:
        person.configure(GUARD.replace('on_error = "block"', ""))
    answer = person.ask(host, raw=raw, if_broken=policy)
    blocks = policy == "block" or guarded
    assert is_refused(host, answer) if blocks else is_neutral(host, answer)


@EACH_AGENT
@EACH_POLICY
def test_where_nothing_can_be_loaded_only_a_yes_beforehand_goes_on(
    person: Person, host: str, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = person.home.parent / "loop"
    home.symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    # a home that leads nowhere is not used: everything is looked for where the user database says
    monkeypatch.setattr("hookline.user_dirs.database_home", lambda: str(home))
    answer = person.ask(host, if_broken=policy)
    assert is_neutral(host, answer) if policy == "allow" else is_refused(host, answer)


@EACH_AGENT
@pytest.mark.parametrize("name", ["after_agent", "session_start", "session_end", "after_tool", "notification"])
def test_a_failure_of_ours_never_holds_up_what_is_over(person: Person, host: str, name: str) -> None:
    spec = DIALECTS[host].SPEC
    if spec.events.get(person.event(name).name) not in (spec.abilities or {}):
        pytest.skip(f"{host} does not say {name}")
    person.configure(GUARD)
    _no_toml(person)
    answer = person.ask(host, person.event(name), raw=b"{", if_broken="block")
    assert answer.exit_code == 0
    for word in (b"deny", b"block", b"cancel", b"false"):
        assert word not in answer.stdout.replace(b"`hookline doctor`", b"")


@EACH_AGENT
def test_a_prompt_is_held_up_where_the_agent_can_hold_it_up(person: Person, host: str) -> None:
    spec = DIALECTS[host].SPEC
    event = person.event("before_agent", prompt="hello")
    able = spec.able(event) or frozenset()
    if "block" not in able:
        pytest.skip(f"{host} cannot hold up a prompt")
    blocked = person.ask(host, event, raw=b"{", if_broken="block")
    allowed = person.ask(host, event, raw=b"{", if_broken="allow")
    assert blocked.stdout + blocked.stderr != allowed.stdout + allowed.stderr
    assert b"could not ask the hooks" in blocked.stdout + blocked.stderr


def test_approvals_that_cannot_be_read_follow_the_policy(person: Person) -> None:
    (person.project / "hookline.toml").write_text('[[hook]]\nid = "theirs"\non = "before_tool"\nrun = ["true"]\n')
    assert is_neutral("claude-code", person.ask("claude-code", if_broken="block"))
    (person.data / "approvals.json").write_text("{")
    assert is_refused("claude-code", person.ask("claude-code", if_broken="block"))
    assert is_neutral("claude-code", person.ask("claude-code", if_broken="allow"))


def test_a_broken_file_of_a_project_that_nobody_approved_stops_nobody(person: Person) -> None:
    (person.project / "hookline.toml").write_text("[[hook]\n")
    answer = person.ask("claude-code", if_broken="block")
    assert is_neutral("claude-code", answer)
    assert "hookline.toml" in told(answer)


def test_a_broken_file_of_a_trusted_workspace_may_have_held_a_guard(person: Person) -> None:
    person.configure(f'[settings]\ntrusted_workspaces = ["{person.project}"]\n')
    (person.project / "hookline.toml").write_text("[[hook]\n")
    assert is_refused("claude-code", person.ask("claude-code", if_broken="block"))


@pytest.mark.spec("U-10")
@pytest.mark.parametrize("word", ['on_error = "block"', 'deny = "no"', "confirm = true"])
def test_a_broken_file_of_the_person_with_a_guard_in_it_blocks(person: Person, word: str) -> None:
    person.configure(f'[[hook]\nid = "guard"\n{word}\n')
    assert is_refused("claude-code", person.ask("claude-code"))


@pytest.mark.spec("U-10")
def test_a_variable_does_not_excuse_a_file_that_cannot_be_read(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.configure("")
    _no_toml(person)
    monkeypatch.setenv("HOOKS_ENABLED", "false")
    assert is_refused("claude-code", person.ask("claude-code", if_broken="block"))


def test_hooks_that_the_person_switched_off_are_not_missed(person: Person) -> None:
    person.configure("[settings]\nenabled = false\n")
    (person.home / ".ollm" / "hooks").mkdir(parents=True)
    (person.home / ".ollm" / "hooks" / "broken.json").write_text("{")
    assert is_neutral("claude-code", person.ask("claude-code", if_broken="block"))


def test_without_a_home_the_user_database_has_it(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.configure(GUARD)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("hookline.user_dirs.database_home", lambda: str(person.home))
    assert is_refused("claude-code", person.ask("claude-code", person.event(command=DANGEROUS), if_broken="allow"))


def test_the_folder_of_a_call_need_not_be_there(person: Person) -> None:
    person.configure(GUARD)
    event = person.event(command=DANGEROUS)
    gone = person.project / "gone"
    raw, _ = person.said(DIALECTS["claude-code"], event)
    answer = person.ask("claude-code", raw=raw.replace(os.fsencode(person.project), os.fsencode(gone)))
    assert is_refused("claude-code", answer)
