from pathlib import Path

import pytest

from hookline.cli._change import difference, file_at, file_of, hooks_in, text_of
from hookline.config.loader import LARGEST
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, Source
from hookline.workspace import Folders, Opened, open_project

CONFIG = '[[hook]]\nname = "a"\non = "before_tool"\nrun = "python3 a.py"\n'


@pytest.fixture
def project(tmp_path: Path) -> Opened:
    for name in ("home", "config", "data", "project"):
        (tmp_path / name).mkdir()
    (tmp_path / "config" / "hookline.toml").write_text(CONFIG)
    folders = Folders(home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data")
    return open_project(tmp_path / "project", folders=folders, traced=False)


def test_a_managed_hook_is_not_ours_to_change(project: Opened) -> None:
    hook = Hook(id="policy", command="x", layer=Layer.MANAGED, source_path="/etc/hookline/hookline.toml", source_line=3)

    with pytest.raises(ConfigError, match=r"^/etc/hookline/hookline\.toml:3: hook \"policy\" is managed"):
        file_of(project, hook)


def test_a_hook_of_a_program_stands_in_no_file(project: Opened) -> None:
    with pytest.raises(ConfigError, match="comes from no file"):
        file_of(project, Hook(id="x", call=print))


def test_the_file_of_a_hook_is_read_as_the_loader_reads_it(project: Opened) -> None:
    [hook] = project.loaded.hooks
    file = file_of(project, hook)

    [again], problems = hooks_in(file, text_of(file)[1])

    assert problems == []
    assert (again.id, again.source, again.layer, again.source_pointer) == (
        hook.id,
        Source.USER,
        Layer.USER,
        hook.source_pointer,
    )


def test_a_place_says_whose_a_new_file_will_be(project: Opened) -> None:
    found = {
        name: file_at(project, path / name).origin.layer
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
    folders = Folders(home=tmp_path / "home", config=tmp_path / "config", data=tmp_path / "data")

    inner = open_project(tmp_path / "repo" / "inner", folders=folders, traced=False)

    [hook] = inner.loaded.hooks
    assert file_at(inner, Path(hook.source_path)) == file_of(inner, hook)


def test_a_file_that_nobody_reads_is_no_place_for_hooks(project: Opened) -> None:
    with pytest.raises(ConfigError, match="hooks are not looked for"):
        file_at(project, project.root / "settings.json")


def test_the_difference_of_two_texts_is_the_hooks_that_differ(project: Opened) -> None:
    file = file_of(project, project.loaded.hooks[0])
    two = CONFIG + CONFIG.replace('"a"', '"b"')

    assert difference(project, file, CONFIG, two)[0] == []
    assert [hook.id for hook in difference(project, file, CONFIG, two)[1]] == ["b"]
    assert [hook.id for hook in difference(project, file, two, None)[0]] == ["a", "b"]


def test_a_text_that_is_worse_than_before_is_refused_and_one_that_was_bad_already_is_not(project: Opened) -> None:
    file = file_of(project, project.loaded.hooks[0])
    odd = CONFIG + "odd = 1\n"

    with pytest.raises(ConfigError, match='unknown key "odd"'):
        difference(project, file, CONFIG, odd)
    assert difference(project, file, odd, odd + "timeout = 3\n")[1] != []


def test_a_file_does_not_grow_beyond_what_is_read(project: Opened) -> None:
    """One hook more must not switch off all others."""
    file = file_at(project, project.folders.config / "hookline.toml")
    full = CONFIG + "#" * (LARGEST - len(CONFIG) - 1) + "\n"

    with pytest.raises(ConfigError, match="none of its hooks would be read; nothing was changed"):
        difference(project, file, full, full + CONFIG.replace('"a"', '"b"'))
