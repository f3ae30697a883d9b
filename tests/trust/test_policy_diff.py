import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.model.hook import Hook
from hookline.trust.policy import ApprovalChange, TrustedHooks, TrustedHooksConfig


def approved(hook: Hook, cwd: Path) -> TrustedHooks:
    trust = TrustedHooks(TrustedHooksConfig(storage_path=cwd.parent / "data" / "approvals.json"))
    trust.approve(hook, cwd=str(cwd))
    return trust


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.mark.spec("O-15")
def test_changed_line_of_a_script_is_shown(root: Path) -> None:
    (root / "x.sh").write_text("one\ntwo\nthree\n")
    hook = Hook(id="h", command="bash", args=("x.sh",), root=str(root))
    trust = approved(hook, root)
    assert trust.diff(hook, cwd=str(root)) == ()

    (root / "x.sh").write_text("one\ncurl evil.example\nthree\n")

    (change,) = TrustedHooks(TrustedHooksConfig(storage_path=root.parent / "data" / "approvals.json")).diff(
        hook, cwd=str(root)
    )
    assert (change.kind, change.name) == ("file", "x.sh")
    assert change.text.splitlines() == [
        *("--- approved/x.sh", "+++ now/x.sh", "@@ -1,3 +1,3 @@"),
        *(" one", "-two", "+curl evil.example", " three"),
    ]


def test_changed_definition_is_shown(root: Path) -> None:
    hook = Hook(id="h", command="node", args=("-v",), matcher="shell", root=str(root))
    trust = approved(hook, root)

    (change,) = trust.diff(replace(hook, matcher=".*", timeout=3.0), cwd=str(root))

    assert change.kind == "definition"
    assert '-  "matcher": "shell"' in change.text
    assert '+  "matcher": ".*",' in change.text
    assert '+  "timeout": 3.0' in change.text


def test_file_that_came_or_went_is_shown(root: Path) -> None:
    (root / "lib").mkdir()
    (root / "lib" / "a").write_text("a")
    hook = Hook(id="h", command="node", includes=("lib",), root=str(root))
    trust = approved(hook, root)
    (root / "lib" / "a").unlink()
    (root / "lib" / "b").write_text("b")

    gone, come = trust.diff(hook, cwd=str(root))

    assert gone.text.startswith("lib/a is gone\n--- approved/lib/a")
    assert come.text.startswith("lib/b was not there when this was approved\n--- approved/lib/b")


def test_what_is_no_text_is_told_by_its_hash(root: Path) -> None:
    (root / "x.bin").write_bytes(b"\0\1")
    hook = Hook(id="h", command="node", args=("x.bin",), root=str(root))
    trust = approved(hook, root)
    (root / "x.bin").write_bytes(b"\0\2")

    (change,) = trust.diff(hook, cwd=str(root))

    assert change.text == "x.bin is not what was approved: b413f47d13ee is now fcf0a6c700dd"


def test_text_made_to_keep_the_comparison_busy_is_cut_short(root: Path) -> None:
    (root / "x.sh").write_text("a\n" * 5_000)
    hook = Hook(id="h", command="bash", args=("x.sh",), root=str(root))
    trust = approved(hook, root)
    (root / "x.sh").write_text("a\n" * 99 + "b\n" * 5_000)

    (change,) = trust.diff(hook, cwd=str(root))

    assert change.text.startswith("too long to compare; the first 20 lines from line 100 on\n-a\n")
    assert change.text.endswith("\n+b")


def test_swapped_program_is_shown(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text(name)
        (tmp_path / name / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'one'}:/bin")
    hook = Hook(id="h", command="tool", args=("x",), root=str(root))
    trust = approved(hook, root)

    (tmp_path / "one" / "tool").write_text("other")
    assert trust.diff(hook, cwd=str(root)) == (
        ApprovalChange("program", "tool", f"{tmp_path / 'one' / 'tool'} has another content"),
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'two'}:/bin")
    assert trust.diff(hook, cwd=str(root)) == (
        ApprovalChange("program", "tool", f"was {tmp_path / 'one' / 'tool'}, is {tmp_path / 'two' / 'tool'}"),
    )
    assert not asyncio.run(trust.is_trusted(hook))


def test_program_that_appeared_is_shown(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    hook = Hook(id="h", command="tool", args=("x",), root=str(root))
    trust = approved(hook, root)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").write_text("x")
    (tmp_path / "bin" / "tool").chmod(0o755)

    (change,) = trust.diff(hook, cwd=str(root))

    assert change.text == f"{tmp_path / 'bin' / 'tool'} was not there when this was approved"


def test_hook_that_nobody_approved_has_no_diff(root: Path) -> None:
    assert TrustedHooks().diff(Hook(id="h", command="node"), cwd=str(root)) == ()


def test_line_break_at_the_end_is_no_line_and_its_loss_is_shown(root: Path) -> None:
    script = root / "hook.sh"
    script.write_text("echo 1\n")
    hook = Hook(id="h", command="bash", args=(str(script),), root=str(root))
    trust = approved(hook, root)

    script.write_text("echo 1\necho 2\n")
    (added,) = trust.diff(hook, cwd=str(root))
    script.write_text("echo 1")
    (lost,) = trust.diff(hook, cwd=str(root))

    assert added.text.splitlines()[2:] == ["@@ -1 +1,2 @@", " echo 1", "+echo 2"]
    assert lost.text.splitlines()[3:] == [" echo 1", "+\\ no line break at the end of the file"]
