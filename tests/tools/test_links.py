from pathlib import Path

from tools import links

MAKEFILE = "PYTHON := python3\n\ntest: ready\n\tpytest\n\nlint:\n\truff\n"


def _document(folder: Path, text: str) -> Path:
    path = folder / "README.md"
    path.write_text(text, "utf-8")
    return path


def test_link_to_a_file_that_is_not_there_is_broken(tmp_path: Path) -> None:
    document = _document(tmp_path, "See [the guide](docs/guide.md) and [this](README.md).\n")

    assert links.broken_links(document) == ["docs/guide.md"]


def test_reference_and_image_links_are_followed_too(tmp_path: Path) -> None:
    document = _document(tmp_path, "![logo](logo.svg) and [more][more].\n\n[more]: more.md\n")

    assert links.broken_links(document) == ["logo.svg", "more.md"]


def test_link_to_a_heading_that_is_not_there_is_broken(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Guide\n\n## Write a `hook`, quickly\n\n## Notes\n\n## Notes\n", "utf-8")
    document = _document(
        tmp_path,
        "[a](guide.md#write-a-hook-quickly) [b](guide.md#notes-1) [c](guide.md#nothing) [d](#here)\n\n# Here\n",
    )

    assert links.broken_links(document) == ["guide.md#nothing"]


def test_links_to_elsewhere_and_links_in_code_are_left_alone(tmp_path: Path) -> None:
    document = _document(
        tmp_path,
        "[web](https://example.com/x) [mail](mailto:a@example.com) `[a](b)`\n\n```text\n[c](d)\n```\n",
    )

    assert links.broken_links(document) == []


def test_make_target_that_does_not_exist_is_named() -> None:
    text = "Run `make test`, `make PYTHON=python3.12 tset` or `make`.\n\n```console\n$ make lint\n$ make lnit\n```\n"

    assert links.unknown_targets(text, MAKEFILE) == ["lnit", "tset"]


def test_prose_about_making_things_names_no_target() -> None:
    text = "To make sense of this, make tea.\n\n```text\nmake test    all tests\nmake lint  check style\n```\n"

    assert links.unknown_targets(text, MAKEFILE) == []


def test_path_of_the_repository_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "here.py").touch()
    text = "`src/here.py`, `src/gone.py`, `docs/<name>.md` and\n\n```text\ntests/gone/\nsrc/*.py\n```\n"

    assert links.missing_paths(text, tmp_path) == ["tests/gone/", "src/gone.py"]
