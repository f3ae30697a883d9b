"""Which vetted file a word means."""

from pathlib import Path

import pytest

from hookline.process.spec import ApprovedFileSet, describe_sealing


def test_name_that_means_an_unchecked_file_in_the_other_folder_means_none(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    checked = str(tmp_path / "x.py")
    vetted = ApprovedFileSet({checked: b"good"}, str(tmp_path), entered=("sub",))

    alone = vetted.find("x.py")
    (tmp_path / "sub" / "x.py").write_text("evil")

    assert alone is not None
    assert alone.path == checked
    assert vetted.find("x.py") is None
    assert vetted.find_unapproved("x.py") == str(tmp_path / "sub" / "x.py")


def test_way_up_behind_a_link_leads_where_the_system_goes(tmp_path: Path) -> None:
    (tmp_path / "far" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "inner")
    spelled = str(tmp_path / "link/../x.py")
    vetted = ApprovedFileSet({spelled: b"far", str(tmp_path / "x.py"): b"near"}, str(tmp_path))

    found = vetted.find("link/../x.py")

    assert found is not None
    assert found.content == b"far"


@pytest.mark.parametrize(
    ("written", "possible"),
    [('"$(git rev-parse --show-toplevel)"/x.py', True), ("$D/y.py", False), ('"$D/x.py"', True), ("$f", True)],
)
def test_name_made_at_run_time_is_compared_by_what_is_known_of_it(written: str, *, possible: bool) -> None:
    vetted = ApprovedFileSet({"/p/x.py": b""}, "/p")
    script = vetted.find("x.py")
    assert script is not None
    vetted.mark_lent(script)

    assert vetted.mark_dynamic(written) is possible
    assert vetted.compared_paths() == (("/p/x.py",) if possible else ())


def test_nothing_vetted_is_nothing_to_say() -> None:
    assert describe_sealing(ApprovedFileSet({}, "/p")) == "no file of its own"
    assert not ApprovedFileSet({}, "/p").mark_dynamic("$f")
