"""Where the daemon of a person is reached."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from hookline.bridge.daemon_socket import find_socket_dir
from hookline.errors import StoreError


def test_the_folder_is_below_the_runtime_folder_of_the_person(tmp_path: Path) -> None:
    assert find_socket_dir({"XDG_RUNTIME_DIR": str(tmp_path)}).folder == tmp_path / "hookline"


@pytest.mark.parametrize("named", ["", "relative", "/does/not/exist"])
def test_what_is_no_folder_of_the_person_does_not_count(named: str) -> None:
    folder = find_socket_dir({"XDG_RUNTIME_DIR": named}).folder
    usual = Path(f"/run/user/{os.geteuid()}")
    assert folder == (usual / "hookline" if usual.is_dir() else Path(f"/tmp/hookline-{os.geteuid()}"))  # noqa: S108


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_somebody_else_does_not_count(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    assert find_socket_dir({"XDG_RUNTIME_DIR": str(tmp_path)}).folder != tmp_path / "hookline"


def test_each_interpreter_has_a_name_of_its_own() -> None:
    # the numbers of FNV-1a, which the launcher counts as well
    assert find_socket_dir({}, "") == find_socket_dir({})
    assert find_socket_dir({}, "a").socket.name == "af63dc4c8601ec8c.sock"
    assert find_socket_dir({}, "foobar").lock.name == "85944171f73967e8.lock"


def test_a_folder_is_made_for_the_person_alone(tmp_path: Path) -> None:
    place = find_socket_dir({"XDG_RUNTIME_DIR": str(tmp_path)}).create()
    assert place.folder.stat().st_mode & 0o777 == 0o700
    assert place.create() == place


def test_a_folder_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "hookline").mkdir(mode=0o755)
    place = find_socket_dir({"XDG_RUNTIME_DIR": str(tmp_path)})
    with pytest.raises(StoreError, match="open to others"):
        place.create()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "hookline").symlink_to(tmp_path / "real")
    assert "is no folder" in find_socket_dir({"XDG_RUNTIME_DIR": str(tmp_path)}).find_reason()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_somebody_else_in_its_place_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "hookline").mkdir(mode=0o700)
    os.chown(tmp_path / "hookline", 65534, 65534)
    assert "belongs to another user" in find_socket_dir({"XDG_RUNTIME_DIR": str(tmp_path)}).find_reason()


def test_where_no_folder_can_be_made_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="no place for its socket"):
        replace(find_socket_dir({}), folder=tmp_path / "file" / "hookline").create()
