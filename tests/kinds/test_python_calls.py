"""What is remembered of a call counts only for one that is the same."""

import json
import os

import pytest
from msgspec.structs import replace

from hookline.kinds._python_calls import Head, misnamed, places, whole_path
from hookline.model.hook import Hook

HOOK = Hook(id="h", kind="python", module="checks", function="check")
HEAD = Head(hook=HOOK, folders=("/a",), cwd="/w", variables={"A": "1"}, whole={"B": "2"}, sealed={"/a/checks.py": b"x"})


@pytest.mark.parametrize(
    "other",
    [
        {"hook": replace(HOOK, function="other")},
        {"folders": ("/a", "/b")},
        {"cwd": "/x"},
        {"variables": {"A": "2"}},
        {"whole": None},
        {"whole": {"B": "2"}},
        {"sealed": {"/a/checks.py": b"y"}},
        {"sealed": None},
    ],
    ids=lambda fields: f"{fields}",
)
def test_a_worker_is_told_anew_what_is_another_thing(other: dict[str, object]) -> None:
    assert HEAD.is_same(replace(HEAD, variables={"A": "1"}, sealed={"/a/checks.py": b"x"}))
    assert not HEAD.is_same(replace(HEAD, **other))


def test_a_worker_is_told_all_variables_where_it_has_others() -> None:
    assert json.loads(HEAD.written())["env"] == {"A": "1", "B": "2"}
    assert json.loads(replace(HEAD, whole=None).written())["env"] == {"A": "1"}


def test_folders_are_those_beside_the_file_and_those_of_the_workspace_for_its_own_hooks() -> None:
    own = places(("/p",), "/w/x/..", working_directory="", source_path="/c/y/../hooks.toml", is_local=False)
    assert own == ("/p", "/c", "/c/hooks")
    local = places(("/p",), "/w/x/..", working_directory="d", source_path="", is_local=True)
    assert local == ("/p", "/w/d", "/w/.ollama/hooks", "/w")


def test_a_path_begins_at_the_root() -> None:
    assert whole_path("/a/b") == "/a/b"
    assert whole_path("a") == os.path.join(os.getcwd(), "a")  # noqa: PTH109, PTH118


@pytest.mark.parametrize(
    ("module", "function", "wrong"), [("a.b", "c", ""), ("a-b", "c", "module"), ("a", "1", "function")]
)
def test_names_are_those_of_python(module: str, function: str, wrong: str) -> None:
    assert misnamed(module, function).startswith(wrong)
    assert bool(misnamed(module, function)) == bool(wrong)
