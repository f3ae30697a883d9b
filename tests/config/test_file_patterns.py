import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookline.config.file_patterns import file_patterns, follow_links
from hookline.errors import ConfigError

FILES = (
    "a.py",
    "src/a.py",
    "src/deep/b.py",
    "src/deep/test_b.py",
    "docs/a.md",
    "docs/deep/a.py",
    "build/out.bin",
    "notes.txt",
    ".env",
    "config/.env.local",
)
LISTS = (
    ["*.py"],
    ["/a.py"],
    ["src/*.py"],
    ["src/**/*.py"],
    ["**/deep"],
    ["deep/"],
    ["docs/", "*.py"],
    ["*.py", "!test_*.py"],
    ["*.py", "!docs/**"],
    [".env*"],
    ["[ab].py"],
    ["?.md"],
    ["src/deep"],
    ["!a.py", "a.py"],
    ["a.py", "!a.py"],
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def ignored_by_git(repository: Path, patterns: list[str]) -> set[str]:
    (repository / ".git" / "info" / "exclude").write_text("".join(f"{line}\n" for line in patterns), encoding="utf-8")
    command = ["git", "-C", str(repository), "check-ignore", "--no-index", "--stdin"]
    done = subprocess.run(command, input="\n".join(FILES), capture_output=True, text=True, check=False)
    return set(done.stdout.split())


@pytest.mark.parametrize("patterns", LISTS)
def test_patterns_mean_what_they_mean_to_git(patterns: list[str], repository: Path) -> None:
    matches = file_patterns(patterns)

    assert {name for name in FILES if matches(name, str(repository))} == ignored_by_git(repository, patterns)
    assert {name for name in FILES if matches(str(repository / name), str(repository))} == ignored_by_git(
        repository, patterns
    )


def test_file_can_be_taken_back_though_git_would_not_look_into_its_folder() -> None:
    matches = file_patterns(["*", "!*.py"])

    assert (matches("src/a.md", "/srv/app"), matches("src/a.py", "/srv/app")) == (True, False)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.pem", "/etc/ssl/a.pem", True),
        ("/etc/", "/etc/ssl/a.pem", True),
        ("etc/", "/srv/etc/a", True),
        ("/srv/app/x", "/srv/app/x", False),
        ("x", "/srv/app/../app/x", True),
        ("x", "../other/x", True),
        ("/other/", "/srv/other/x", False),
    ],
)
def test_file_outside_the_folder_is_matched_by_its_whole_path(pattern: str, path: str, *, expected: bool) -> None:
    assert file_patterns([pattern])(path, "/srv/app") is expected


def test_folder_whose_name_only_starts_alike_is_outside() -> None:
    assert file_patterns(["/x"])("/srv/app/x", "/srv/app")
    assert not file_patterns(["/x"])("/srv/app2/x", "/srv/app")


def test_without_a_folder_paths_are_taken_as_they_are() -> None:
    assert file_patterns(["src/*.py"])("src/a.py", "")
    assert file_patterns(["src/"])("/src/a.py", "/")


@settings(max_examples=200, suppress_health_check=[HealthCheck.differing_executors])
@given(st.lists(st.text(max_size=8), min_size=1, max_size=3), st.text(max_size=12))
def test_any_text_is_a_pattern_or_a_config_error(patterns: list[str], path: str) -> None:
    try:
        matches = file_patterns(patterns)
    except ConfigError:
        return
    matches(path, "/srv/app")


def test_slash_at_the_end_says_that_a_path_is_a_folder() -> None:
    matches = file_patterns(["secrets/"])

    assert matches("/p/secrets/", "/p")
    assert not matches("/p/secrets", "/p")


def test_links_are_followed_as_far_as_there_are_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert follow_links(str(tmp_path / "link" / "new" / "a")) == str(tmp_path.resolve() / "real" / "new" / "a")
    assert follow_links("~/link") == str(tmp_path.resolve() / "real")
    assert follow_links("a\0b") == "a\0b"
