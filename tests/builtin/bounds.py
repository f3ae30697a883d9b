"""The project that the command lines of `command_lines.toml` are about."""

import os
import subprocess
import tomllib
from pathlib import Path

from hookline.builtin._boundaries import Boundaries

GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
FILES = {
    "README.md": "hello\n# foo\nbar\n",
    "docs/guide.md": "hello\n",
    "src/app.py": "def foo(): ...\n",
    "src/util.py": "def bar(): ...\n",
    "list.txt": "b:2\na:1\nb:2\n",
    "data.json": '{"name": "x", "items": [{"id": 1}]}\n',
    ".env": "TOKEN=x\n",
    "server.pem": "key\n",
    "bare/HEAD": "ref: refs/heads/main\n",
    "bare/config": "[core]\n\tfsmonitor = ./evil\n",
}


def lines(verdict: str) -> list[str]:
    """Give every line of the table that gets this verdict."""
    table = tomllib.loads(Path(__file__).with_name("command_lines.toml").read_text())
    return [line for group in table.values() for line in group.get(verdict, ())]


def make_project(folder: Path) -> Boundaries:
    """Make the project, a home beside it, and what lies outside of both."""
    root, home = folder / "project", folder / "home"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("objects", "refs"):
        (root / "bare" / name).mkdir()
    home.mkdir()
    outside = folder / "outside"
    outside.mkdir()
    (outside / "key").write_text("key\n")
    (root / "out").symlink_to(outside)
    for link in ("link.txt", "docs/link.txt", "src/link2.txt"):
        (root / link).symlink_to(outside / "key")
    for words in (["init", "-q", "-b", "main"], ["add", "README.md", "src", "docs"], ["commit", "-q", "-m", "first"]):
        run(["git", *words], root, home)
    (root / "src/app.py").write_text("def foo(): return 1\n")
    run(["git", "commit", "-q", "-a", "-m", "second"], root, home)
    return Boundaries(os.path.realpath(root), os.path.realpath(home), (os.path.realpath(root),))


def run(command: list[str], root: Path, home: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a program in the project, with a home of its own."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C", **GIT}
    return subprocess.run(
        command, cwd=root, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
