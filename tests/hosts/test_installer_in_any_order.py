"""Installing, editing, installing again and uninstalling, in every order: nothing of ours stays, nothing of theirs goes."""

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hookline.config import edit
from hookline.hosts import HOSTS
from hookline.hosts.host import Host, HostEnvironment, OwnedFile, Scope
from tests.hosts.settings import around, put_in, take_out

pytestmark = pytest.mark.slow

CODEX = HOSTS["codex-cli"]
CONFIG = '# mine\nmodel = "gpt-5.5"\n\n[features]\nweb = true\n'


def _edit_settings(host: Host, where: HostEnvironment, number: int) -> None:
    """Change the settings as a person does; a file that is ours alone is left alone."""
    path = host.settings_path(Scope.USER, where)
    if isinstance(host.shape, OwnedFile) or not path.exists():
        return
    path.write_text(edit.put(path.read_text(), ("description",), number, path=str(path)))


def _edit_config(host: Host, where: HostEnvironment, number: int) -> None:
    """Change Codex's configuration as Codex does: a table at the end."""
    if host is CODEX:
        path = where.home / ".codex" / "config.toml"
        path.write_text(f'{path.read_text()}\n[projects."/p{number}"]\ntrust_level = "trusted"\n')


STEPS: Mapping[str, Callable[[Host, HostEnvironment, int], object]] = {
    "install": lambda host, where, _: put_in(host, Scope.USER, where, policy="block"),
    "allow": lambda host, where, _: put_in(host, Scope.USER, where, policy="allow"),
    "project": lambda host, where, _: put_in(host, Scope.PROJECT, where),
    "settings": _edit_settings,
    "config": _edit_config,
    "uninstall": lambda host, where, _: take_out(host, Scope.USER, where),
}
ORDERS = [
    order for size in (2, 4) for order in itertools.permutations(STEPS, size) if order[0] in {"install", "project"}
]


@pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.name)
def test_whatever_the_order_uninstalling_leaves_what_is_the_persons_and_nothing_else(
    host: Host, tmp_path: Path
) -> None:
    for number, order in enumerate(ORDERS if host is CODEX else ORDERS[::11]):
        folder = tmp_path / str(number)
        folder.mkdir()
        where = around(folder)
        settings = host.settings_path(Scope.USER, where)
        if not isinstance(host.shape, OwnedFile):
            settings.parent.mkdir(parents=True)
            settings.write_text("{}\n")
        config = where.home / ".codex" / "config.toml"
        theirs = CONFIG
        if host is CODEX:
            config.write_text(CONFIG)
        for step, name in enumerate(order):
            STEPS[name](host, where, step)
            if name == "config":
                theirs += f'\n[projects."/p{step}"]\ntrust_level = "trusted"\n'
        take_out(host, Scope.USER, where)
        take_out(host, Scope.PROJECT, where)

        if host is CODEX:
            assert config.read_text() == theirs, order
        if not isinstance(host.shape, OwnedFile):
            mine = {"description": order.index("settings")} if "settings" in order else {}
            assert json.loads(settings.read_text()) == mine, order
            assert mine or settings.read_text() == "{}\n", order
        assert not list((where.data / "hosts").glob("*.json")), order


def test_approvals_of_other_settings_stay_when_one_is_taken_out(tmp_path: Path) -> None:
    where = around(tmp_path)
    put_in(CODEX, Scope.USER, where)
    put_in(CODEX, Scope.PROJECT, where)
    config = where.home / ".codex" / "config.toml"
    both = config.read_text()

    take_out(CODEX, Scope.PROJECT, where)
    one = config.read_text()

    assert f"{where.home}/.codex/hooks.json:" in both
    assert f"{where.project}/.codex/hooks.json:" in both
    assert f"{where.home}/.codex/hooks.json:" in one
    assert f"{where.project}/.codex/hooks.json:" not in one


def test_approvals_go_even_when_the_settings_are_gone(tmp_path: Path) -> None:
    where = around(tmp_path)
    config = where.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text(CONFIG)
    put_in(CODEX, Scope.USER, where)
    CODEX.settings_path(Scope.USER, where).unlink()

    take_out(CODEX, Scope.USER, where)

    assert config.read_text() == CONFIG
