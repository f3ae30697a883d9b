import os
from pathlib import Path

import pytest

from hookline.config.formats import FORMATS
from hookline.config.locations import PLACES, Root, find
from hookline.model.hook import Source

ALL = [
    "project/hookline.toml",
    "config/hookline.toml",
    "project/.ollm/hooks/a.json",
    "project/.ollm/hooks/b.json",
    "project/.ollm/hooks/trusted/t.json",
    "home/.ollm/hooks/u.json",
    "project/.ollama/settings.json",
    "home/.ollama/settings.json",
    "project/.config/agent/settings.local.json",
    "project/.config/agent/settings.json",
    "home/.config/agent/settings.json",
    "home/.config/cli-agent/settings.json",
]


def roots(folder: Path) -> dict[Root, Path]:
    return {Root.PROJECT: folder / "project", Root.HOME: folder / "home", Root.CONFIG: folder / "config"}


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.mark.spec("A-02", "C-02", "O-04")
def test_every_place_is_found_with_the_strongest_first(tmp_path: Path) -> None:
    touch(tmp_path, *reversed(ALL))
    files, problems = find(roots(tmp_path))

    assert problems == []
    assert [os.path.relpath(file.path, tmp_path) for file in files] == ALL


@pytest.mark.spec("O-04")
def test_files_of_the_project_are_workspace_hooks_and_all_others_the_persons_own(tmp_path: Path) -> None:
    touch(tmp_path, *ALL)
    files, _ = find(roots(tmp_path))

    for file in files:
        expected = Source.WORKSPACE if "/project/" in file.path else Source.USER
        assert file.place.source is expected


@pytest.mark.spec("D-07")
def test_folder_called_trusted_is_a_workspace_place(tmp_path: Path) -> None:
    touch(tmp_path, "project/.ollm/hooks/trusted/x.json")
    (file,), _ = find(roots(tmp_path))

    assert file.place.source is Source.WORKSPACE


def test_scripts_beside_definitions_are_left_alone(tmp_path: Path) -> None:
    touch(tmp_path, "home/.ollm/hooks/guard.js", "home/.ollm/hooks/guard.py", "home/.ollm/hooks/notes.json.bak")

    assert find(roots(tmp_path)) == ([], [])


def test_home_that_is_the_project_counts_as_the_persons_where_their_own_places_are(tmp_path: Path) -> None:
    names = ["hookline.toml", ".ollama/settings.json", ".config/agent/settings.json", ".ollm/hooks/a.json"]
    only_projects = ["hookline.toml", ".config/agent/settings.local.json", ".ollm/hooks/trusted/t.json"]
    touch(tmp_path, *names, *only_projects)
    files, _ = find({Root.PROJECT: tmp_path, Root.HOME: tmp_path, Root.CONFIG: tmp_path / "elsewhere"})
    found = {os.path.relpath(file.path, tmp_path): file.place.source for file in files}

    assert len(files) == len(found) == 6
    assert {name for name, source in found.items() if source is Source.WORKSPACE} == set(only_projects)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_folder_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    touch(tmp_path, "project/.ollm/hooks/a.json")
    folder = tmp_path / "project/.ollm/hooks"
    folder.chmod(0)
    try:
        files, problems = find(roots(tmp_path))
    finally:
        folder.chmod(0o755)

    assert files == []
    assert "cannot be looked for" in problems[0].message


def test_folder_that_links_to_itself_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "project/.ollm"
    folder.mkdir(parents=True)
    (folder / "hooks").symlink_to("hooks")
    files, problems = find(roots(tmp_path))

    assert files == []
    assert {problem.path for problem in problems} == {
        str(folder / "hooks/*.json"),
        str(folder / "hooks/trusted/*.json"),
    }


def test_every_place_names_formats_that_exist_and_are_parsed_alike() -> None:
    for place in PLACES:
        assert len({FORMATS[name].parse for name in place.formats}) == 1
