import os
from pathlib import Path

import pytest

from hookline.config.discovery import LOCATIONS, Root, find_files, select_locations
from hookline.config.formats import FORMATS
from hookline.model.hook import Layer, Source

ALL = [
    "managed/hookline.toml",
    "project/hookline.local.toml",
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
    "project/.config/agent/hooks/pre-a.json",
    "project/.config/agent/hooks/post-b.yaml",
    "project/.config/agent/hooks/stop-c.yml",
    "home/.config/agent/hooks/pre-d.json",
    "home/.config/cli-agent/hooks/pre-e.yaml",
    "project/.claude/settings.local.json",
    "project/.claude/settings.json",
    "home/.claude/settings.json",
    "project/.codex/hooks.json",
    "project/.codex/config.toml",
    "home/.codex/hooks.json",
    "home/.codex/config.toml",
    "project/.gemini/settings.json",
    "home/.gemini/settings.json",
    "project/.qwen/settings.json",
    "home/.qwen/settings.json",
    "project/.cursor/hooks.json",
    "home/.cursor/hooks.json",
    "project/.github/copilot/settings.local.json",
    "project/.github/hooks/a.json",
    "project/.github/copilot/settings.json",
    "home/.copilot/hooks/a.json",
    "home/.copilot/settings.json",
    "project/.kiro/hooks/a.json",
    "project/.kiro/hooks/b.kiro.hook",
    "project/.kiro/agents/c.json",
    "home/.kiro/hooks/a.json",
    "home/.kiro/agents/c.json",
    "project/.windsurf/hooks.json",
    "home/.codeium/windsurf/hooks.json",
    "project/.clinerules/hooks/PreToolUse",
    "home/Documents/Cline/Hooks/PreToolUse",
    "project/.factory/hooks.json",
    "home/.factory/hooks.json",
    "project/.agents/hooks.json",
    "home/.gemini/config/hooks.json",
    "config/packs/guards/hookline.toml",
    "home/.ollm/hooks/downloaded/x.json",
    "project/.ollm/extensions/lint/hooks/y.json",
    "home/.ollm/extensions/git/hooks/z.json",
]
DOWNLOADED = {"config/packs/guards/hookline.toml", "home/.ollm/hooks/downloaded/x.json"}
EXTENSION = {"project/.ollm/extensions/lint/hooks/y.json", "home/.ollm/extensions/git/hooks/z.json"}


def roots(folder: Path) -> dict[Root, list[str]]:
    return {root: [str(folder / root)] for root in Root}


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.mark.spec("A-02", "C-02", "O-04")
def test_every_place_is_found_with_the_strongest_first(tmp_path: Path) -> None:
    touch(tmp_path, *reversed(ALL))
    files, problems = find_files(roots(tmp_path))

    assert problems == []
    assert [os.path.relpath(file.path, tmp_path) for file in files] == ALL


@pytest.mark.spec("O-04")
def test_whose_a_file_is_follows_from_its_place_alone(tmp_path: Path) -> None:
    touch(tmp_path, *ALL)
    files, _ = find_files(roots(tmp_path))

    for file in files:
        name = os.path.relpath(file.path, tmp_path)
        plain = Source.WORKSPACE if name.startswith("project/") else Source.USER
        assert file.location.source is (
            Source.DOWNLOADED if name in DOWNLOADED else Source.EXTENSION if name in EXTENSION else plain
        )


def test_each_file_is_in_the_layer_of_its_place(tmp_path: Path) -> None:
    touch(tmp_path, *ALL)
    layers = {os.path.relpath(file.path, tmp_path): file.location.layer for file in find_files(roots(tmp_path))[0]}

    assert {name for name, layer in layers.items() if layer is Layer.MANAGED} == {"managed/hookline.toml"}
    assert {name for name, layer in layers.items() if layer is Layer.LOCAL} == {
        "project/hookline.local.toml",
        "project/.config/agent/settings.local.json",
        "project/.claude/settings.local.json",
        "project/.github/copilot/settings.local.json",
    }
    assert {name for name, layer in layers.items() if layer is Layer.EXTENSION} == DOWNLOADED | EXTENSION


@pytest.mark.spec("D-07")
def test_folder_called_trusted_is_a_workspace_place(tmp_path: Path) -> None:
    touch(tmp_path, "project/.ollm/hooks/trusted/x.json")
    (file,), _ = find_files(roots(tmp_path))

    assert file.location.source is Source.WORKSPACE


def test_scripts_beside_definitions_are_left_alone(tmp_path: Path) -> None:
    touch(tmp_path, "home/.ollm/hooks/guard.js", "home/.ollm/hooks/guard.py", "home/.ollm/hooks/notes.json.bak")

    assert find_files(roots(tmp_path)) == ([], [])


def test_home_that_is_the_project_counts_as_the_persons_where_their_own_places_are(tmp_path: Path) -> None:
    names = ["hookline.toml", ".ollama/settings.json", ".config/agent/settings.json", ".ollm/hooks/a.json"]
    only_projects = ["hookline.toml", ".config/agent/settings.local.json", ".ollm/hooks/trusted/t.json"]
    touch(tmp_path, *names, *only_projects)
    here = str(tmp_path)
    files, _ = find_files({Root.PROJECT: [here], Root.HOME: [here], Root.CONFIG: [str(tmp_path / "elsewhere")]})
    found = {os.path.relpath(file.path, tmp_path): file.location.source for file in files}

    assert len(files) == len(found) == 6
    assert {name for name, source in found.items() if source is Source.WORKSPACE} == set(only_projects)


def test_folders_above_the_project_come_after_it(tmp_path: Path) -> None:
    touch(tmp_path, "hookline.toml", "deep/hookline.toml", "deep/er/hookline.toml")
    above = [str(tmp_path / "deep/er"), str(tmp_path / "deep"), str(tmp_path)]
    files, _ = find_files({Root.PROJECT: above})

    assert [file.path for file in files] == [f"{folder}/hookline.toml" for folder in above]
    assert [file.root for file in files] == above


def test_names_of_an_installed_folder_are_counted_from_that_folder(tmp_path: Path) -> None:
    touch(tmp_path, *ALL)
    files = {os.path.relpath(file.path, tmp_path): file.root for file in find_files(roots(tmp_path))[0]}

    assert files["config/packs/guards/hookline.toml"] == str(tmp_path / "config/packs/guards")
    assert files["home/.ollm/extensions/git/hooks/z.json"] == str(tmp_path / "home/.ollm/extensions/git")
    assert files["home/.ollm/hooks/downloaded/x.json"] == str(tmp_path / "home")


def test_half_installed_folder_is_passed_over(tmp_path: Path) -> None:
    touch(tmp_path, "config/packs/.new-guards/hookline.toml")

    assert find_files(roots(tmp_path)) == ([], [])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_folder_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    touch(tmp_path, "project/.ollm/hooks/a.json")
    folder = tmp_path / "project/.ollm/hooks"
    folder.chmod(0)
    try:
        files, problems = find_files(roots(tmp_path))
    finally:
        folder.chmod(0o755)

    assert files == []
    assert "cannot be looked into" in problems[0].message


def test_folder_that_links_to_itself_is_reported_and_the_others_are_found(tmp_path: Path) -> None:
    touch(tmp_path, "home/.ollm/extensions/fine/hooks/a.json")
    loop = tmp_path / "home/.ollm/extensions/loop"
    loop.symlink_to("loop")
    files, problems = find_files(roots(tmp_path))

    assert [os.path.relpath(file.path, tmp_path) for file in files] == ["home/.ollm/extensions/fine/hooks/a.json"]
    assert [problem.path for problem in problems] == [f"{loop}/hooks"]
    assert "cannot be looked into" in problems[0].message


def test_file_of_an_agent_is_its_agents(tmp_path: Path) -> None:
    touch(tmp_path, *ALL)
    agents = {os.path.relpath(file.path, tmp_path): file.location for file in find_files(roots(tmp_path))[0]}

    assert agents["project/.claude/settings.json"].agent == "claude-code"
    assert agents["home/.kiro/agents/c.json"].agent == "kiro"
    assert agents["project/hookline.toml"].agent == agents["project/.ollama/settings.json"].agent == ""
    assert {place.agent for place in agents.values() if place.is_program} == {"cline"}


def test_places_of_agents_can_be_left_out_or_chosen() -> None:
    assert select_locations(agents=True) is LOCATIONS
    assert {place.agent for place in select_locations(agents=False)} == {""}
    assert {place.agent for place in select_locations(["cursor", "kiro"])} == {"", "cursor", "kiro"}


def test_name_in_other_letters_is_found_where_the_disk_finds_it(tmp_path: Path) -> None:
    touch(tmp_path, "project/.CLAUDE/settings.json")
    same = (tmp_path / "project/.claude").exists()

    assert len(find_files(roots(tmp_path))[0]) == int(same)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_folder_that_may_be_entered_but_not_listed_is_looked_into(tmp_path: Path) -> None:
    touch(tmp_path, "project/.claude/settings.json")
    (tmp_path / "project").chmod(0o311)
    try:
        files, problems = find_files(roots(tmp_path))
    finally:
        (tmp_path / "project").chmod(0o755)

    assert problems == []
    assert [file.location.agent for file in files] == ["claude-code"]


def test_every_place_names_formats_that_exist_and_are_parsed_alike() -> None:
    for place in LOCATIONS:
        assert len({FORMATS[name].parse for name in place.formats}) == 1
