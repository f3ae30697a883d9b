from pathlib import Path

import pytest

from hookline.errors import ConfigError
from hookline.trust.fingerprint import expand_globs, expand_includes

NAMES = ("a.sh", "b.py", "lib/c.sh", "lib/deep/d.sh", "lib/deep/e.txt", "lib/.hidden.sh", "lib/__pycache__/c.pyc")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("a.sh", ["a.sh"]),
        ("*.sh", ["a.sh"]),
        ("?.[pq]y", ["b.py"]),
        ("[!a].*", ["b.py"]),
        ("lib/*.sh", ["lib/.hidden.sh", "lib/c.sh"]),
        ("lib/**/*.sh", ["lib/.hidden.sh", "lib/c.sh", "lib/deep/d.sh"]),
        ("**/*.txt", ["lib/deep/e.txt"]),
        ("lib", ["lib/.hidden.sh", "lib/c.sh", "lib/deep/d.sh", "lib/deep/e.txt"]),
        ("lib/", ["lib/.hidden.sh", "lib/c.sh", "lib/deep/d.sh", "lib/deep/e.txt"]),
        ("lib/deep/**", ["lib/deep/d.sh", "lib/deep/e.txt"]),
        ("not/there.sh", ["not/there.sh"]),
        ("nothing/*", []),
    ],
)
def test_pattern_finds_its_files(root: Path, pattern: str, wanted: list[str]) -> None:
    assert expand_includes((pattern,), str(root)) == [str(root / name) for name in wanted]


def test_link_to_a_folder_is_given_and_not_followed(root: Path) -> None:
    (root / "lib" / "loop").symlink_to(root)

    assert str(root / "lib" / "loop") in expand_includes(("lib",), str(root))
    assert len(expand_includes(("lib",), str(root))) == 5


def test_pattern_that_cannot_be_read_is_an_error(root: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        expand_includes(("[z-a]*",), str(root))


@pytest.mark.parametrize(("pattern", "name"), [("**/a/" * 12 + "b", "a/" * 100 + "c"), ("*a" * 40 + "b", "a" * 200)])
def test_pattern_made_to_keep_us_busy_does_not(tmp_path: Path, pattern: str, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("")

    assert expand_includes((pattern,), str(tmp_path)) == []


def test_pattern_that_leads_through_the_whole_machine_is_an_error() -> None:
    with pytest.raises(ConfigError, match='includes leads through more than 20000 files in "/"'):
        expand_includes(("/**/not-there",), "/")


def test_words_of_a_shell_mean_the_files_of_one_folder_each(root: Path) -> None:
    wanted = [str(root / "lib" / "c.sh"), str(root / "lib" / "deep" / "d.sh")]

    assert expand_globs([f"{root}/lib/[a-c].sh", f"{root}/l*/deep/*.sh", f"{root}/not/*"]) == wanted
    assert expand_globs([f"{root}/lib/**/d.sh"]) == wanted[1:]
