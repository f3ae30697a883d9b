"""Settings of agents as people have them, in a home folder of their own."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from hookline.hosts.host import EventCall, Host, HostEnvironment, OwnedFile, Scope
from hookline.hosts.installer import InstallPlan, execute, install, uninstall

PYTHON = sys.executable
THEIRS = "./theirs.sh --check"


def around(tmp_path: Path, **environ: str) -> HostEnvironment:
    """Make a home folder and a project beside it."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir(exist_ok=True)
    return HostEnvironment(
        home=tmp_path / "home",
        data=tmp_path / "data",
        project=tmp_path / "project",
        environ={"PATH": os.environ["PATH"], **environ},
    )


def put_in(host: Host, scope: Scope, where: HostEnvironment, **options: object) -> InstallPlan:
    """Install for one agent, at a few events unless others are named; comments it would refuse are taken out."""
    chosen = {"events": host.usual_events[:3], "policy": "block", "python": PYTHON, "clean": True, **options}
    plans, _ = execute(where, lambda: [install(host, scope, where, **chosen)], what="install", dry_run=False)  # type: ignore[arg-type]
    return plans[0]


def take_out(host: Host, scope: Scope, where: HostEnvironment) -> InstallPlan:
    """Uninstall for one agent."""
    plans, _ = execute(where, lambda: [uninstall(host, scope, where)], what="uninstall", dry_run=False)
    return plans[0]


def texts(host: Host) -> Mapping[str, bytes | None]:
    """Give files that may be there before us, with hooks of others where a file can have those."""
    if isinstance(host.shape, OwnedFile):
        return {"no file": None}
    plain = host.shape.add("", (EventCall(host.events[0], THEIRS), EventCall(host.events[-1], THEIRS)), path="x.json")
    plain = plain.replace('"hookline"', '"theirs"')
    inner = plain.strip().removeprefix("{").removesuffix("}").strip()
    commented = "// mine\n{\n  /* keep */\n  " + inner.replace(",\n", ", // so\n", 1) + ",\n}\n"
    return {
        "no file": None,
        "empty": b"",
        "blank": b"\n",
        "an empty object": b"{}",
        "others": plain.encode(),
        "comments": commented.encode(),
        # the only key besides hooks that every agent accepts
        "on one line": b'{"description":"dark"}',
        "crlf": plain.replace("\n", "\r\n").encode(),
        "tabs": plain.replace("  ", "\t").encode(),
        "no final newline": plain.rstrip("\n").encode(),
        "a mark at the start": b"\xef\xbb\xbf" + plain.encode(),
    }


def tree(*folders: Path) -> dict[str, bytes | str]:
    """Give everything that is in folders: files with their bytes, links with where they lead."""
    return {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        for folder in folders
        for path in sorted(folder.rglob("*"))
    }
