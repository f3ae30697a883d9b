import pytest

from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer, OnError, Source


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ({"command": "node"}, "command"),
        ({"module": "m"}, "python"),
        ({"url": "http://x"}, "webhook"),
        ({"call": len}, "function"),
    ],
)
def test_kind_follows_from_the_field_that_is_set(field: dict[str, object], kind: str) -> None:
    assert Hook(id="h", **field).kind == kind  # type: ignore[arg-type] # one field each


@pytest.mark.parametrize(
    ("fields", "found"), [({}, "none of them"), ({"command": "node", "url": "http://x"}, "url and command")]
)
def test_hook_that_is_reached_in_no_way_or_two_is_refused(fields: dict[str, object], found: str) -> None:
    with pytest.raises(ConfigError, match=f"exactly one of call, module, url, command, .*; it has {found}"):
        Hook(id="h", **fields)  # type: ignore[arg-type] # what is wrong is the point


def test_plain_spellings_are_accepted() -> None:
    made = Hook(id="h", on="before_tool", command="node", args=["x"], source="user", on_error="block")  # type: ignore[arg-type] # what people write

    assert made == Hook(
        id="h", on=("before_tool",), command="node", args=("x",), source=Source.USER, on_error=OnError.BLOCK
    )


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_timeout_that_is_no_time_is_refused(timeout: float) -> None:
    with pytest.raises(ConfigError, match="wanted more than 0 seconds"):
        Hook(id="h", command="node", timeout=timeout)


def test_place_of_a_refused_hook_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^settings\.json:7: "):
        Hook(id="h", source_path="settings.json", source_line=7)


@pytest.mark.parametrize(
    ("layer", "cwd", "folder"),
    [
        (Layer.PROJECT, "/home/ann/shop", "/home/ann/shop"),
        (Layer.PROJECT, "/home/ann/shop/src/deep", "/home/ann/shop"),
        (Layer.LOCAL, "/home/ann/shop/src", "/home/ann/shop"),
        (Layer.PROJECT, "/home/ann/shopping", "/home/ann/shopping"),
        (Layer.PROJECT, "/elsewhere", "/elsewhere"),
        (Layer.USER, "/home/ann/shop/src", "/home/ann/shop/src"),
        (Layer.PROJECT, "", ""),
    ],
)
def test_a_hook_of_a_project_knows_its_top_folder_wherever_the_agent_is(layer: Layer, cwd: str, folder: str) -> None:
    hook = Hook(id="h", command="x", layer=layer, root="/home/ann/shop")

    assert hook.project(cwd) == folder
