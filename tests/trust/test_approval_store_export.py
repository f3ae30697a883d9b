import json
from pathlib import Path

import pytest

from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.trust.policy import TrustedHooks, TrustedHooksConfig, TrustStatus


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:owner/project.git\n')
    (folder / "x.sh").write_text("echo 1\n")
    return folder


def hook(root: Path) -> Hook:
    return Hook(id="h", command="bash", args=(str(root / "x.sh"),), root=str(root))


def at(home: Path, **changes: object) -> TrustedHooks:
    return TrustedHooks(TrustedHooksConfig(storage_path=home / "approvals.json", **changes))  # type: ignore[arg-type]


def exported(root: Path, folder: Path, *, exact: bool = False) -> Path:
    here = at(folder / "here")
    here.approve(hook(root), cwd=str(root))
    path = folder / "export.json"
    path.write_bytes(here.export(exact=exact))
    return path


@pytest.mark.spec("D-07")
def test_exported_approval_holds_on_another_machine(root: Path, tmp_path: Path) -> None:
    path = exported(root, tmp_path)
    copy = tmp_path / "ci" / "checkout"
    copy.parent.mkdir()
    (tmp_path / "project").rename(copy)
    there = at(tmp_path / "there")
    assert there.reason_denied(hook(copy), cwd=str(copy))

    taken = there.import_approvals(path, workspace=copy)

    assert [(one.hook, one.repository, one.imported) for one in taken] == [("h", "github.com/owner/project", True)]
    assert there.reason_denied(hook(copy), cwd=str(copy)) == ""
    (copy / "x.sh").write_text("echo 2\n")
    assert there.reason_denied(hook(copy), cwd=str(copy)) == "changed since it was approved"


def test_export_is_readable_and_has_no_programs_unless_wanted(root: Path, tmp_path: Path) -> None:
    plain = json.loads(exported(root, tmp_path).read_text())
    exact = json.loads(exported(root, tmp_path, exact=True).read_text())

    assert plain["hookline_approvals"] == 1
    assert plain["approvals"][0]["runs"].startswith("bash ")
    assert "programs" not in plain["approvals"][0]
    assert exact["approvals"][0]["programs"][0]["name"] == "bash"
    assert "seen" not in json.dumps(exact)


def test_exact_export_holds_for_the_same_programs_only(root: Path, tmp_path: Path) -> None:
    path = exported(root, tmp_path, exact=True)
    there = at(tmp_path / "there")
    there.import_approvals(path, workspace=root)
    assert there.reason_denied(hook(root), cwd=str(root)) == ""

    other = json.loads(path.read_text())
    other["approvals"][0]["programs"][0]["path"] = "/elsewhere/bash"
    path.write_text(json.dumps(other))
    there = at(tmp_path / "elsewhere")
    there.import_approvals(path, workspace=root)

    assert there.reason_denied(hook(root), cwd=str(root)) == '"bash" is not the program it was when this was approved'


def test_chosen_hooks_are_exported(root: Path, tmp_path: Path) -> None:
    here = at(tmp_path)
    here.approve(hook(root), cwd=str(root))
    here.approve(Hook(id="other", name="another", command="node"), cwd=str(root))

    def ids(*names: str) -> list[str]:
        return [item["hook"] for item in json.loads(here.export(names))["approvals"]]

    assert ids("h") == ["h"]
    assert ids("another") == ["other"]
    assert ids("h", here.digest(Hook(id="other", name="another", command="node"), cwd=str(root))) == ["h", "other"]
    assert ids() == []


@pytest.mark.spec("O-11")
@pytest.mark.parametrize("place", ["export.json", "sub/export.json", "../link.json", "sub/../export.json"])
def test_file_inside_the_workspace_is_refused(root: Path, tmp_path: Path, place: str) -> None:
    (root / "sub").mkdir()
    raw = exported(root, tmp_path).read_bytes()
    for name in ("export.json", "sub/export.json"):
        (root / name).write_bytes(raw)
    (tmp_path / "link.json").symlink_to(root / "export.json")
    there = at(tmp_path / "there")

    with pytest.raises(ConfigError, match="not taken from inside the workspace"):
        there.import_approvals(root / place, workspace=root)
    # the workspace may be a part of a repository
    with pytest.raises(ConfigError, match="not taken from inside the workspace"):
        there.import_approvals(root / place, workspace=root / "sub")
    assert there.get_approvals() == []


def test_file_that_others_could_write_is_refused(root: Path, tmp_path: Path) -> None:
    path = exported(root, tmp_path)
    path.chmod(0o666)

    with pytest.raises(ConfigError, match="can be written by others"):
        at(tmp_path / "there").import_approvals(path, workspace=root)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "this is no export of approvals"),
        ("{}", "this is no export of approvals"),
        ('{"version": 2, "approvals": []}', "this is no export of approvals"),
        ('{"hookline_approvals": 9, "approvals": []}', "has version 9, wanted 1"),
        ('{"hookline_approvals": 1, "approvals": [{"hook": "h", "digest": "x"}]}', "no valid digest"),
        (
            f'{{"hookline_approvals": 1, "approvals": [{{"hook": "h", "digest": "{"0" * 64}"}}]}}',
            "no valid digest or no repository",
        ),
    ],
)
def test_something_else_is_refused(root: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(text)

    with pytest.raises(ConfigError, match=message):
        at(tmp_path / "there").import_approvals(path, workspace=root)


def test_missing_file_is_said(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.json: the approvals cannot be read"):
        at(tmp_path / "there").import_approvals(tmp_path / "gone.json", workspace=root)


def test_yes_given_here_is_not_replaced_by_one_from_elsewhere(root: Path, tmp_path: Path) -> None:
    path = exported(root, tmp_path)
    here = at(tmp_path / "here")

    assert here.import_approvals(path, workspace=root) == []
    assert [one.imported for one in here.get_approvals()] == [False]


def test_extra_book_counts_from_outside_the_workspace_only(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = exported(root, tmp_path)
    inside = root / "export.json"
    inside.write_bytes(path.read_bytes())

    outer = at(tmp_path / "ci", extra_books=(path,)).decide(hook(root), cwd=str(root))
    inner = at(tmp_path / "ci", extra_books=(inside,)).decide(hook(root), cwd=str(root))

    assert outer.status is TrustStatus.APPROVED
    assert inner.status is TrustStatus.UNAPPROVED
    monkeypatch.chdir(root)
    relative = at(tmp_path / "ci", extra_books=(Path("export.json"),))
    assert relative.decide(hook(root), cwd=str(root)).status is TrustStatus.UNAPPROVED
