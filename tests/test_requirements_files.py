"""Files a hook needs."""

import asyncio
from pathlib import Path

import pytest

from hookline import Hook
from hookline.model.hook import Source
from hookline.model.requirements import Needs
from hookline.requirements import clear_cache, find_missing


def missing(cwd: Path, *files: str, root: str = "", source: Source = Source.USER) -> str:
    clear_cache()
    hook = Hook(id="h", command="/bin/true", needs=Needs(files=files), source=source, root=root)
    return asyncio.run(find_missing(hook, str(cwd)))


@pytest.mark.spec("D-12")
def test_files_folders_and_patterns_are_found(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a.ts").touch()
    (tmp_path / "odd[1].txt").touch()

    assert missing(tmp_path, "src", "src/deep/a.ts", "src/*/*.ts", "**/a.ts", str(tmp_path), "odd[1].txt", "/") == ""


@pytest.mark.spec("D-12")
def test_what_is_not_there_is_named_with_where_it_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")

    text = missing(tmp_path, "package.json", "*.ts", "nowhere", "~nobody-of-that-name/x")

    assert f'the file "{tmp_path}/package.json" is not there' in text
    assert f'no file in "{tmp_path}" matches "*.ts"' in text
    assert f'the file "{tmp_path}/nowhere" is not there' in text
    assert "nobody-of-that-name" in text


def test_names_are_counted_from_the_project(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "package.json").touch()

    from_below = missing(tmp_path / "sub", "package.json", root=str(tmp_path), source=Source.WORKSPACE)
    own = missing(tmp_path / "sub", "package.json", root=str(tmp_path), source=Source.USER)

    assert from_below == ""
    assert f"{tmp_path}/sub/package.json" in own


def test_name_with_escapes_cannot_steer_the_screen(tmp_path: Path) -> None:
    assert "\x1b" not in missing(tmp_path, "a\x1b[2Jb", "*\x1b[2J")


def test_pattern_finds_what_glob_finds_and_no_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c" / "x.py").touch()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "y.rs").touch()
    (tmp_path / "dead.md").symlink_to(tmp_path / "gone")
    (tmp_path / "a" / "up").symlink_to(tmp_path)

    there = ("a/**/x.py", "**/c/*.py", "a/**", "*/b", "a/../a/[b]/c", ".h*/*.rs", f"{tmp_path}/a/?", "a/up/*/b")
    absent = ("*.py", "*/*.rs", "**/y.rs", "*.md", "a/*/x.py", "a/b/c/x.py/*", "x/**", "\ud800*")

    assert {name: missing(tmp_path, name) for name in there} == dict.fromkeys(there, "")
    assert all(missing(tmp_path, name) for name in absent)


def test_pattern_through_folders_that_link_to_each_other_comes_to_an_end(tmp_path: Path) -> None:
    for name in "abcdefgh":
        (tmp_path / name).mkdir()
        for other in "abcdefgh":
            (tmp_path / name / f"to-{other}").symlink_to(tmp_path / other)

    assert missing(tmp_path, "**/nothing") == f'no file in "{tmp_path}" matches "**/nothing"'


def test_pattern_that_leads_through_too_much_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookline.requirements._PATTERN_TIMEOUT", -1.0)

    assert 'nothing was found for "**/x" within' in missing(tmp_path, "**/x")


def test_name_that_no_file_can_have_is_told_in_short(tmp_path: Path) -> None:
    text = missing(tmp_path, "x" * 5000)

    assert "in needs cannot be looked for: File name too long" in text
    assert len(text) < 500
