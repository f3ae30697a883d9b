import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookline.sources.gitignore import GitIgnore

GIT = ("git", "-c", "core.excludesFile=/dev/null")


def repository(folder: Path, files: dict[str, str]) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def git_ignores(folder: Path, paths: list[str]) -> set[str]:
    """Ask git itself, which says of a file also what its folders say."""
    done = subprocess.run(
        [*GIT, "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=folder,
        input="\0".join(paths),
        capture_output=True,
        text=True,
        check=False,
    )
    return set(filter(None, done.stdout.split("\0")))


def ours(folder: Path, paths: list[str]) -> set[str]:
    ignoring = GitIgnore(str(folder))
    return {path for path in paths if ignoring.ignores(path)}


def test_rules_of_all_folders_mean_what_git_takes_them_for(tmp_path: Path) -> None:
    files = {
        ".gitignore": "*.log\nbuild/\n/only-here\n!keep.log\nsrc/**/gen\n# a comment\n\n!\ntrailing   \n\\#odd\ndoc/*.txt\n",
        "src/.gitignore": "!special.log\n*.tmp\n/local\n",
        "src/deep/.gitignore": "*\n!wanted\n",
        "build/.gitignore": "!*\n",
        ".git/info/exclude": "*.secret\n!other.log\n",
        "a.log": "",
        "keep.log": "",
        "other.log": "",
        "build/x": "",
        "only-here": "",
        "src/only-here": "",
        "src/special.log": "",
        "src/a.log": "",
        "src/a.tmp": "",
        "a.tmp": "",
        "src/local": "",
        "src/more/local": "",
        "src/a/b/gen/x": "",
        "src/deep/x": "",
        "src/deep/wanted": "",
        "x.secret": "",
        "trailing": "",
        "#odd": "",
        "doc/a.txt": "",
        "doc/more/a.txt": "",
        "plain.py": "",
    }
    folder = repository(tmp_path, files)
    paths = [name for name in files if not name.startswith(".git/")]

    assert ours(folder, paths) == git_ignores(folder, paths)
    assert "a.log" in ours(folder, paths)


NAMES = st.sampled_from(["a", "b", "a.py", "b.log", "lib"])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
PATTERNS = st.builds(
    lambda sign, start, parts, end: f"{sign}{start}{'/'.join(parts)}{end}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from(["a", "b", "*", "**", "*.py", "lib", "?", "[ab]"]), min_size=1, max_size=3),
    st.sampled_from(["", "/"]),
)
RULES = st.dictionaries(
    st.sampled_from(["", "a", "lib", "a/b"]), st.lists(PATTERNS, min_size=1, max_size=4), max_size=3
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(rules=RULES, names=st.lists(PATHS, min_size=1, max_size=8))
def test_generated_rules_mean_what_git_takes_them_for(
    tmp_path_factory: pytest.TempPathFactory, rules: dict[str, list[str]], names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("rules")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    for place, lines in rules.items():
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / ".gitignore").write_text("\n".join(lines) + "\n")
    paths = []
    for name in names:
        path = folder / name
        # what is a file in one name is a folder in no other
        if not any(above.is_file() for above in path.parents) and not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
            paths.append(name)

    assert ours(folder, paths) == git_ignores(folder, paths)


def test_a_project_inside_a_repository_obeys_the_rules_above_it(tmp_path: Path) -> None:
    folder = repository(
        tmp_path, {".gitignore": "*.log\n/app/secret\n", "app/x.log": "", "app/secret": "", "app/y": ""}
    )

    ignoring = GitIgnore(str(folder / "app"))

    assert [ignoring.ignores(name) for name in ("x.log", "secret", "y")] == [True, True, False]


def test_whoever_watches_an_ignored_folder_hears_of_what_is_in_it(tmp_path: Path) -> None:
    folder = repository(
        tmp_path, {".gitignore": "build/\n", "build/.gitignore": "*.o\n", "build/x": "", "build/x.o": ""}
    )

    ignoring = GitIgnore(str(folder / "build"))

    assert [ignoring.ignores(name) for name in ("x", "x.o")] == [False, True]


def test_the_folders_of_git_and_of_ourselves_are_left_out_in_any_case(tmp_path: Path) -> None:
    folder = repository(tmp_path, {".gitignore": "*.log\n"})

    ignoring = GitIgnore(str(folder), never=[str(folder / "data")], has_rules=False)

    assert ignoring.ignores(".git", is_folder=True)
    assert ignoring.ignores("sub/.git/config")
    assert ignoring.ignores("data/traces.db")
    assert not ignoring.ignores("x.log")
    assert not ignoring.ignores("database")


def test_a_persons_own_rules_count_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.swp\n*.bak\n")
    folder = repository(tmp_path / "project", {".gitignore": "!*.bak\n"})

    ignoring = GitIgnore(str(folder), home=home)

    assert [ignoring.ignores(name) for name in ("x.swp", "x.bak")] == [True, False]


def test_a_worktree_obeys_what_its_repository_excludes(tmp_path: Path) -> None:
    folder = repository(tmp_path / "main", {"x": "", ".git/info/exclude": "*.log\n"})
    commit = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=n",
        "-c",
        "user.email=e",
        "commit",
        "-q",
        "-m",
        "m",
        "--allow-empty",
    ]
    subprocess.run(commit, check=True)
    subprocess.run(["git", "-C", str(folder), "worktree", "add", "-q", str(tmp_path / "tree")], check=True)

    assert GitIgnore(str(tmp_path / "tree")).ignores("a.log")


def test_rules_that_are_a_link_or_a_pipe_are_not_read(tmp_path: Path) -> None:
    folder = repository(tmp_path / "project", {"linked/x": "", "piped/x": ""})
    (tmp_path / "rules").write_text("*\n")
    (folder / "linked" / ".gitignore").symlink_to(tmp_path / "rules")
    os.mkfifo(folder / "piped" / ".gitignore")

    assert ours(folder, ["linked/x", "piped/x"]) == set()


def test_characters_are_bytes_classes_have_names_and_only_a_line_ends_a_line(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(
        b"\xef\xbb\xbffirst\n?\n??.two\n[!a].x\r\n[[:digit:][:upper:]]*.c\nvoil\xc3\xa0\n"
        b"form\x0cfeed\n\xe2\x80\xa8\n[[:nonsense:]]\n"
    )
    repository(tmp_path, {})
    paths = ["first", "é", "e", "é.two", "é.x", "b.x", "a.x", "1.c", "Z9.c", "z.c", "ap", "voilà", "voilÃ"]
    paths += ["feed", "form", "form\x0cfeed", "\u2028", "d"]

    wanted = git_ignores(tmp_path, paths)

    assert ours(tmp_path, paths) == wanted
    assert {"first", "e", "é.two", "voilà", "1.c"} <= wanted
    assert not {"é", "feed", "z.c"} & wanted


@pytest.mark.parametrize("rule", ["a[[:punct:]]b", "a[![:punct:]]b", "a[[:graph:]]b", "a[[:punct:]x]b"])
def test_named_classes_hold_what_they_hold_for_git(rule: str, tmp_path: Path) -> None:
    repository(tmp_path, {".gitignore": f"{rule}\n"})
    paths = [f"a{chr(code)}b" for code in range(32, 127) if chr(code) != "/"]

    assert ours(tmp_path, paths) == git_ignores(tmp_path, paths) != set()
