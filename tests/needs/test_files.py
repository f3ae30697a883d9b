"""Files a hook needs."""

import asyncio
from pathlib import Path

import pytest

from hookline import Hook
from hookline.model.hook import Source
from hookline.model.policy import Needs
from hookline.needs import find_missing, forget


def missing(cwd: Path, *files: str, root: str = "", source: Source = Source.USER) -> str:
    forget()
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
