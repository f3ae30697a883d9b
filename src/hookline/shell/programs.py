"""The one table of programs.

`find_program` gives a program's row by its name or path. `program.py` explains the columns and how rows are written;
the rows stand in the modules `_table_*`. A program that is not in the table is unknown for every question.
"""

import re
from collections.abc import Mapping
from typing import Final

from hookline.shell._table_build import BUILD
from hookline.shell._table_files import FILES
from hookline.shell._table_git import GIT
from hookline.shell._table_ops import OPS
from hookline.shell._table_wrappers import WRAPPERS
from hookline.shell.program import Program

PROGRAMS: Final[Mapping[str, Program]] = {
    name: program for program in (*FILES, *GIT, *BUILD, *OPS, *WRAPPERS) for name in program.names
}
# names of one program; `sh` in a pattern stands for every shell
# fmt: off
ALIASES: Final[Mapping[str, str]] = {
    "pip3": "pip", "python3": "python", "nodejs": "node", "gmake": "make", "docker-compose": "docker compose",
    "py.test": "pytest", "egrep": "grep", "fgrep": "grep", "batcat": "bat", "fdfind": "fd", "ripgrep": "rg",
    ".": "source", "chdir": "cd", "tofu": "terraform", "gsed": "sed", "gawk": "awk", "nvim": "vim", "grm": "rm",
    "gtar": "tar", "gtimeout": "timeout", "apt-get": "apt", "aws-cli": "aws", "awslocal": "aws", "awscli": "aws",
    "hub": "git", "k": "kubectl", "kubecolor": "kubectl", "sudoedit": "sudo", "gxargs": "xargs", "gfind": "find",
}
# fmt: on
SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"})
# python3.12, pip3.11, node20
_VERSION: Final = re.compile(r"(python|pip|pypy|node|ruby|perl|php|lua|gcc|g\+\+|clang|clang\+\+)-?[0-9][0-9.]*")
_ENDING: Final = re.compile(r"\.(?:exe|cmd|bat)$", re.IGNORECASE)


def name_program(word: str) -> str:
    """Return the name of a program as the table and patterns have it: without path, version and `.exe`."""
    base = _ENDING.sub("", word.rstrip("/").rpartition("/")[2])
    versioned = _VERSION.fullmatch(base)
    name = versioned[1] if versioned and base not in PROGRAMS else base
    return ALIASES.get(name, name)


def find_program(word: str) -> Program | None:
    """Return the row of a program, given by name or path; None when the table does not have it."""
    base = _ENDING.sub("", word.rstrip("/").rpartition("/")[2])
    return PROGRAMS.get(base) or PROGRAMS.get(name_program(word).partition(" ")[0])
