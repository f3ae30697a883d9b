"""What holds for the repository as a whole."""

import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hookline

ROOT: Final = Path(__file__).resolve().parent.parent

# Written in pieces, or this file would be the first to break its own rule.
FORBIDDEN: Final = {
    "a path of somebody's machine": re.compile(r"(?<![\w.~-])/(?:wor" + r"k|roo" + r"t)/"),
    "the host of a package index": re.compile(
        r"\b(?:py" + r"pi\.(?:org|io)|python" + r"hosted\.org|npm" + r"js\.(?:org|com))"
    ),
}

# folders that cut across the source tree, and what they are for
CROSS_CUTTING: Final = {
    "agents": "real agent programs",
    "bench": "benchmarks",
    "helpers": "what tests share",
    "contract": "one test over every row of a table",
    "end_to_end": "whole sessions",
    "hooks": "hook programs under test",
    "spec": "promises that no single module keeps",
}
# tests of the whole repository, and of every row of a table
WHOLE: Final = {
    "dialects/test_laws.py",
    "test_architecture.py",
    "test_documents.py",
    "test_imports.py",
    "test_layers.py",
    "test_names.py",
    "test_repository.py",
    "test_public_api.py",
}


def _repository_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )
    if listing.returncode:
        pytest.skip("not a git work tree")
    names = listing.stdout.decode().split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file()]


def _pyproject() -> dict[str, dict[str, object]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def _pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def _stray_tests(root: Path) -> list[str]:
    """List the test files that do not lie where the module or package they are about lies."""
    tests = root / "tests"
    paths = [path.relative_to(tests) for path in sorted(tests.rglob("test_*.py"))]
    return [
        path.as_posix()
        for path in paths
        if path.parts[0] not in CROSS_CUTTING and path.as_posix() not in WHOLE and not _mirrored(path, root)
    ]


def _mirrored(test: Path, root: Path) -> bool:
    # test_runner.py and test_runner_timeouts.py are both about runner.py, or _runner.py; in the folder of a
    # package, the test that has the package's name is about its __init__.py
    source = (root if test.parts[0] == "tools" else root / "src" / "hookline") / test.parent
    words = test.stem.removeprefix("test_").split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    about_package = test.parent.name in names and (source / "__init__.py").is_file()
    # a page is its static files
    about_page = names[-1] in {"page", "pages"} and (source / "static" / "index.html").is_file()
    return (
        about_package
        or about_page
        or any(
            (source / f"{prefix}{name}{ending}").is_file()
            for name in names
            for prefix, ending in (("", ".py"), ("_", ".py"), ("__", "__.py"), ("", "/__init__.py"), ("", ".c"))
        )
    )


def test_no_file_names_a_machine_or_a_package_host() -> None:
    found = []
    for path in _repository_files():
        text = path.read_bytes().decode("utf-8", "replace")
        for what, pattern in FORBIDDEN.items():
            found += [f"{path.relative_to(ROOT)}: {what}: {match[0]}" for match in pattern.finditer(text)]

    assert found == []


def test_every_test_file_lies_where_its_module_lies() -> None:
    assert _stray_tests(ROOT) == []


def test_test_file_without_a_module_is_found(tmp_path: Path) -> None:
    for name in (
        *("src/hookline/engine/runner.py", "src/hookline/process/linux.py", "src/hookline/dialects/__init__.py"),
        *(
            "src/hookline/__main__.py",
            "tools/spec.py",
            "tests/engine/test_runner.py",
            "tests/engine/test_runner_ends.py",
        ),
        *("tests/process/test_linux.py", "tests/test_dialects.py", "tests/test_main.py", "tests/tools/test_spec.py"),
        *(
            "tests/dialects/test_dialects.py",
            "tests/test_layers.py",
            "tests/bench/test_cost.py",
            "tests/engine/test_gone.py",
            "tests/test_runner.py",
        ),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    assert _stray_tests(tmp_path) == ["engine/test_gone.py", "test_runner.py"]


def test_version_is_the_same_everywhere() -> None:
    version = _pyproject()["project"]["version"]

    assert importlib.metadata.version("hookline") == version
    assert getattr(hookline, "__version__", version) == version


def test_changelog_has_a_heading_for_this_version() -> None:
    version = str(_pyproject()["project"]["version"])
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")

    assert re.search(rf"^## \[?{re.escape(version)}\]?\b", changelog, re.MULTILINE)


def test_constraints_are_exact_pins_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    odd = [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+!]*", line)]

    assert odd == []
    assert pins == sorted(pins, key=lambda pin: pin.lower().split("=="))


def test_everything_an_install_brings_is_pinned() -> None:
    pyproject = _pyproject()
    lists = (
        pyproject["project"]["dependencies"],
        pyproject["build-system"]["requires"],
        pyproject["dependency-groups"]["dev"],
    )
    waiting = [Requirement(text) for texts in lists if isinstance(texts, list) for text in texts]
    pins = _pins()
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in seen:
            continue
        seen.add(name)
        assert name in pins, f"{name} is not pinned in constraints.txt"
        assert requirement.specifier.contains(pins[name], prereleases=True), f"{requirement} excludes the pin"
        needs = [Requirement(text) for text in importlib.metadata.requires(name) or ()]
        # what only other systems or versions of Python need comes on top there, unpinned
        waiting += [need for need in needs if need.marker is None or need.marker.evaluate({"extra": ""})]


def test_every_promise_is_listed_once_with_a_sentence() -> None:
    promises = tomllib.loads((ROOT / "spec" / "promises.toml").read_text("utf-8"))
    last = {"P": 25, "O": 34, "D": 20, "C": 19, "A": 26, "U": 24}

    assert list(promises) == [
        f"{letter}-{number:02}" for letter, count in last.items() for number in range(1, count + 1)
    ]
    assert [name for name, promise in promises.items() if not promise["text"].endswith(".")] == []
    assert len({promise["text"] for promise in promises.values()}) == len(promises)
