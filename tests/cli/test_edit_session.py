from argparse import Namespace
from pathlib import Path

import pytest

from hookline.cli._edit_session import EditSession
from hookline.config.loader import MAX_FILE_BYTES
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source
from hookline.project import Project, load_project
from hookline.user_dirs import UserDirs

CONFIG = '[[hook]]\nname = "a"\non = "before_tool"\nrun = "python3 a.py"\n'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name in ("home", "config", "data", "project"):
        (tmp_path / name).mkdir()
    (tmp_path / "config" / "hookline.toml").write_text(CONFIG)
    folders = UserDirs(home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data")
    return load_project(tmp_path / "project", folders=folders, traced=False)


def edit(project: Project) -> EditSession:
    return EditSession(args=Namespace(), project=project)


def test_a_managed_hook_is_not_ours_to_change(project: Project) -> None:
    hook = Hook(id="policy", command="x", layer=Layer.MANAGED, source_path="/etc/hookline/hookline.toml", source_line=3)

    with pytest.raises(ConfigError, match=r"^/etc/hookline/hookline\.toml:3: hook \"policy\" is managed"):
        edit(project).find_file_of(hook)


def test_a_hook_of_a_program_stands_in_no_file(project: Project) -> None:
    with pytest.raises(ConfigError, match="comes from no file"):
        edit(project).find_file_of(Hook(id="x", call=print))


def test_the_file_of_a_hook_is_read_as_the_loader_reads_it(project: Project) -> None:
    [hook] = project.loaded.hooks
    file = edit(project).find_file_of(hook)

    [again], problems = file.parse(file.read()[1])

    assert problems == []
    assert (again.id, again.source, again.layer, again.source_pointer) == (
        hook.id,
        Source.USER,
        Layer.USER,
        hook.source_pointer,
    )


def test_a_place_says_whose_a_new_file_will_be(project: Project) -> None:
    found = {
        name: edit(project).find_file_at(path / name).origin.layer
        for path, name in (
            (project.root, "hookline.toml"),
            (project.root, "hookline.local.toml"),
            (project.root, ".ollama/settings.json"),
            (project.folders.home, ".config/agent/hooks/pre-x.yaml"),
        )
    }

    assert found == {
        "hookline.toml": Layer.PROJECT,
        "hookline.local.toml": Layer.LOCAL,
        ".ollama/settings.json": Layer.PROJECT,
        ".config/agent/hooks/pre-x.yaml": Layer.USER,
    }


def test_a_file_above_the_project_that_was_found_is_known(tmp_path: Path) -> None:
    for name in ("home", "config", "data", "repo/.git", "repo/inner"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "repo" / "hookline.toml").write_text(CONFIG)
    folders = UserDirs(home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data")

    inner = load_project(tmp_path / "repo" / "inner", folders=folders, traced=False)

    [hook] = inner.loaded.hooks
    assert edit(inner).find_file_at(Path(hook.source_path)) == edit(inner).find_file_of(hook)


def test_a_file_that_nobody_reads_is_no_place_for_hooks(project: Project) -> None:
    with pytest.raises(ConfigError, match="hooks are not looked for"):
        edit(project).find_file_at(project.root / "settings.json")


def test_the_difference_of_two_texts_is_the_hooks_that_differ(project: Project) -> None:
    file = edit(project).find_file_of(project.loaded.hooks[0])
    two = CONFIG + CONFIG.replace('"a"', '"b"')

    assert edit(project).diff(file, CONFIG, two)[0] == []
    assert [hook.id for hook in edit(project).diff(file, CONFIG, two)[1]] == ["b"]
    assert [hook.id for hook in edit(project).diff(file, two, None)[0]] == ["a", "b"]


def test_a_text_that_is_worse_than_before_is_refused_and_one_that_was_bad_already_is_not(project: Project) -> None:
    file = edit(project).find_file_of(project.loaded.hooks[0])
    odd = CONFIG + 'priority = "odd"\n'

    with pytest.raises(ConfigError, match="wanted critical"):
        edit(project).diff(file, CONFIG, odd)
    assert edit(project).diff(file, odd, odd + "timeout = 3\n")[1] != []


def test_a_file_does_not_grow_beyond_what_is_read(project: Project) -> None:
    """One hook more must not switch off all others."""
    file = edit(project).find_file_at(project.folders.config / "hookline.toml")
    full = CONFIG + "#" * (MAX_FILE_BYTES - len(CONFIG) - 1) + "\n"

    with pytest.raises(ConfigError, match="none of its hooks would be read; nothing was changed"):
        edit(project).diff(file, full, full + CONFIG.replace('"a"', '"b"'))
