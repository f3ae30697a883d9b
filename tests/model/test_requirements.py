"""What the texts in `needs` mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.model.requirements import READERS, NeededService, NeededTool, Needs, Version, parse_service, parse_tool

VERSIONS = st.lists(st.integers(0, 99), min_size=1, max_size=4).map(tuple)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("git", NeededTool("git")),
        ("git>=2.30", NeededTool("git", ((">=", (2, 30)),))),
        (" node >= 20, < 23 ", NeededTool("node", ((">=", (20,)), ("<", (23,))))),
        ("python3.11", NeededTool("python3.11")),
        ("g++ == 12", NeededTool("g++", (("==", (12,)),))),
        ("node>=v18.1", NeededTool("node", ((">=", (18, 1)),))),
        ("node=20.x", NeededTool("node", (("=", (20,)),))),
    ],
)
def test_tool_is_read_with_its_bounds(text: str, expected: NeededTool) -> None:
    assert parse_tool(text) == expected


@pytest.mark.spec("D-12")
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "git>>2",
        "git>=",
        "git 2.30",
        "git>=two",
        "git>=2,",
        "/usr/bin/git",
        "./git",
        "git>=2;3",
        "git>=2.30-rc",
    ],
)
def test_what_is_no_tool_is_refused_with_what_is_wanted(text: str) -> None:
    with pytest.raises(ValueError, match="wanted a"):
        parse_tool(text)


@pytest.mark.spec("D-12")
@pytest.mark.parametrize(
    ("text", "version", "fits"),
    [
        ("t>=2.30", (2, 9), False),
        ("t>=2.30", (2, 30), True),
        ("t>=2.30", (2, 30, 0), True),
        ("t>=2.30.1", (2, 30), False),
        ("t>2", (2, 0, 0), False),
        ("t>2", (2, 0, 1), True),
        ("t<=20", (20, 0), True),
        ("t<=20", (20, 1), False),
        ("t==20", (20, 11, 1), True),
        ("t==20.1", (20, 11), False),
        ("t==20.0", (20,), True),
        ("t!=20", (20, 1), False),
        ("t!=20", (21,), True),
        ("t >= 20, < 23", (23, 0), False),
        ("t >= 20, < 23", (22, 9, 9), True),
    ],
)
def test_versions_are_compared_as_numbers(text: str, version: Version, *, fits: bool) -> None:
    assert parse_tool(text).accepts(version) is fits


@given(VERSIONS, VERSIONS)
def test_versions_have_one_order(one: Version, other: Version) -> None:
    def says(sign: str) -> bool:
        return parse_tool(f"t{sign}{'.'.join(map(str, other))}").accepts(one)

    assert says(">=") is not says("<")
    assert says(">") is not says("<=")
    assert says("==") is not says("!=")
    assert says(">=") or says("<=")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tcp://localhost:5432", NeededService("tcp", "localhost", 5432, "/")),
        ("tcp://[::1]:80", NeededService("tcp", "::1", 80, "/")),
        ("unix:///run/docker.sock", NeededService("unix", path="/run/docker.sock")),
        ("http://localhost", NeededService("http", "localhost", 80, "/")),
        ("https://example.org/health?deep=1", NeededService("https", "example.org", 443, "/health?deep=1")),
    ],
)
def test_service_is_read(text: str, expected: NeededService) -> None:
    assert parse_service(text) == expected


@pytest.mark.spec("D-12")
@pytest.mark.parametrize(
    "text",
    [
        "localhost",
        "localhost:5432",
        "tcp://localhost",
        "tcp://:80",
        "tcp://h:99999",
        "unix://relative",
        "ftp://h",
        "http://",
        "http://a b/",
        "http://h/\r\nX: y",
        "http://user:secret@h/",
        "",
    ],
)
def test_what_is_no_service_is_refused_and_no_password_is_shown(text: str) -> None:
    with pytest.raises(ValueError, match=r"wanted an address|cannot be read") as caught:
        parse_service(text)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("kind", "good", "bad"), [("env", "API_KEY", "API-KEY"), ("files", "a/*.py", "")])
def test_variables_and_files_are_read(kind: str, good: str, bad: str) -> None:
    assert READERS[kind](good) == good
    with pytest.raises(ValueError, match="wanted"):
        READERS[kind](bad)


def test_every_list_of_needs_has_a_reader() -> None:
    assert set(READERS) == set(Needs.__struct_fields__)


@given(st.sampled_from(sorted(READERS)), st.text())
def test_no_text_raises_anything_but_value_error(kind: str, text: str) -> None:
    try:
        READERS[kind](text)
    except ValueError:
        return
