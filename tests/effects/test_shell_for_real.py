"""What lines really change on disk, in bash and zsh, is among their effects, or the question is unknown."""

import os
import random
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from hookline.config.file_patterns import list_files
from hookline.effects.effects import Target
from hookline.effects.tools import find_effects
from hookline.model.event import Event, EventName

SHELLS = [shell for shell in ("bash", "zsh") if shutil.which(shell)]
FILES = ("a", "a1", "a2", "b c", "~/x", "sub/a", "sub/.git/config", ".git/config", ".git/hooks/p")
LINKS = {"innocent": ".git", "sub/up": "..", "file": ".git/config"}
STATE = dict[str, tuple[int, str]]

# found by running lines that were put together at random
FOUND = [
    "cd sub > .git/config && ls",
    "cd sub &> log && touch .git/config",
    "cd sub && ls &> .git/config",
    "echo x &> log rm .git/config",
    "echo x >&'~/x'",
    "echo x >&'$HOME/x'",
    "echo x >&'$(rm .git/config)'",
    "touch 10> log",
    "uniq a[12]",
    "true || cd sub && rm .git/config",
    "mv innocent x && echo y > x/config",
    "mv .git x && rm x/config",
    "cp -R innocent x && rm x/config",
    "cd innocent && touch ../new",
    "touch sub/up/../new",
    "sed -i~ 's/x/y/' a file",
    "echo y > /proc/self/cwd/.git/config",
]

WORDS = [
    "a",
    "a1",
    "sub/a",
    "'b c'",
    "a*",
    ".git/config",
    "innocent/config",
    "file",
    "sub/up/a2",
    "'~/x'",
    "~/h",
    "new",
]
COMMANDS = [
    "cat {} {}",
    "echo x",
    "rm {}",
    "rm -rf {}",
    "cp {} {}",
    "mv {} {}",
    "ln -s {} {}",
    "tee {}",
    "touch {}",
    "sed -i.bak s/x/y/ {}",
    "dd if={} of={}",
    "uniq {}",
    "sort {} {}",
    "truncate -s 0 {}",
    "cd sub",
    "cd innocent",
    "cd nowhere",
    "cd ~",
]
JOINTS = [" && ", " || ", "; ", " | ", "\n", " & "]
REDIRECTS = ["", "", "", " > {}", " >> {}", " < {}", " &> {}", " >& {}", " 2> {}", " <> {}", " 2>&1"]


def put_together(chance: random.Random) -> str:
    """Make a line of one to three commands."""
    parts = [chance.choice(COMMANDS) + chance.choice(REDIRECTS) for _ in range(chance.randint(1, 3))]
    line = "".join(f"{part}{chance.choice(JOINTS)}" for part in parts[:-1]) + parts[-1]
    return "".join(piece + chance.choice(WORDS) for piece in line.split("{}")[:-1]) + line.split("{}")[-1]


def make(top: Path) -> Path:
    """Make a project and a home beside it."""
    for name in FILES:
        path = top / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\nx\n")
    for name, target in LINKS.items():
        (top / "project" / name).symlink_to(target)
    (top / "home").mkdir()
    return top / "project"


def state(top: Path) -> STATE:
    """Say what is on disk, but for folders, which come and go with what is in them."""
    found: STATE = {}
    for folder, folders, names in os.walk(top):
        for path in (Path(folder, name) for name in (*names, *folders)):
            if path.is_symlink():
                found[str(path)] = (0, str(path.readlink()))
            elif path.is_file():
                # a line may leave something in the background that is still deleting
                with suppress(FileNotFoundError):
                    found[str(path)] = (path.stat().st_mode, path.read_text())
    return found


def really(path: str) -> set[str]:
    """Give every name of the file that a path leads to, and of the link that it may be."""
    plain = Path(os.path.normpath(Path(path).expanduser()))
    return {str(plain), os.path.realpath(Path(path).expanduser()), str(plain.parent.resolve() / plain.name)}


def named(targets: tuple[Target, ...]) -> set[str]:
    """Return the paths of targets, with globs and folders put in place."""
    found: set[str] = set()
    for one in targets:
        # a glob without a match stands for itself
        paths = [one.path, *(list_files(one.pattern) or ())] if one.pattern else [one.path]
        for path in paths:
            found.add(path)
            if one.is_recursive or one.is_partial:
                place = Path(path).expanduser()
                found |= {str(inside) for inside in place.rglob("*")}
                found |= {f"{path}/{inside}" for inside in (*FILES, *LINKS)} if one.is_partial else set()
    return found


def check(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in SHELLS:
        # a folder of its own: the line before may have left something in the background that still creates files
        top = Path(tempfile.mkdtemp(dir=folder))
        monkeypatch.setenv("HOME", str(top / "home"))
        project = make(top)
        effects = find_effects(
            Event(name=EventName.BEFORE_TOOL, tool="shell", args={"command": line}, cwd=str(project))
        )
        if effects.opaque:
            return
        before = state(top)
        # names are followed before anything happens, as by whoever compares them
        writes, deletes = (
            set[str]().union(*map(really, named(effects.targets[kind]))) for kind in ("writes", "deletes")
        )
        # a line may feed a file to itself for ever
        limited = f"ulimit -f 64 -t 2\n{line}"
        subprocess.run([shell, "-c", limited], cwd=project, input=b"x\n", capture_output=True, check=False, timeout=60)
        after = state(top)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        gone = before.keys() - after.keys()
        assert "writes" in effects.unknown or changed <= writes, (shell, line)
        assert "deletes" in effects.unknown or gone <= deletes, (shell, line)


@pytest.mark.parametrize("line", FOUND)
def test_line_changes_nothing_that_nobody_said(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(line, tmp_path, monkeypatch)


@pytest.mark.slow
def test_lines_of_any_kind_change_nothing_that_nobody_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)  # noqa: S311 - the same lines each time
    for _ in range(400):
        check(put_together(chance), tmp_path, monkeypatch)
