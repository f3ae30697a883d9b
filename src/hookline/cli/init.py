"""`hookline init`: a first `hookline.toml`, with an example that works at once."""

import argparse
import shlex
import textwrap
from importlib import resources
from pathlib import Path
from typing import Final

from hookline.cli._output import say, say_json
from hookline.cli._project import add_json, add_project, opened
from hookline.config.formats.native import KEYS
from hookline.config.journal import Change, Journal
from hookline.config.loader import Found

HELP: Final = "start with a hookline.toml that works and explains itself"
EXAMPLE: Final = "hookline init --user"

_WIDTH: Final = 118


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    parser.add_argument("--user", action="store_true", help="your own hooks, for every project")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Write the file unless there is one, and say what to do next."""
    project = opened(args)
    folder = project.folders.config if args.user else project.root
    path = folder / "hookline.toml"
    created = not path.is_symlink() and not path.exists()
    if created:
        with Journal(project.folders.data).changing() as apply:
            apply([Change(str(path), None, starting_text(user=args.user).encode())], f"started {path}")
        project = opened(args)
    named = str(folder.resolve() / path.name)
    here = next((found for found in project.loaded.found if found.path == named), None)
    others = [found for found in project.loaded.found if found is not here and found.hooks]
    there = f" --project {shlex.quote(str(args.project))}" if args.project else ""
    steps = _next_steps(user=args.user, created=created, there=there)
    if args.json:
        say_json(
            {
                "path": str(path),
                "created": created,
                "hooks": here.hooks if here else 0,
                "others": [{"path": one.path, "dialect": one.dialect, "hooks": one.hooks} for one in others],
                "next": steps,
            }
        )
        return 0
    _report(path, here=here, others=others, created=created)
    for line in steps:
        say(f"  {line}")
    return 0


def starting_text(*, user: bool) -> str:
    """Give a file with one hook that does no harm, and a word about every key."""
    whose = "Your own hooks, for every project." if user else "Hooks of this project. Each person approves them first."
    text = resources.files("hookline").joinpath("templates", "hookline.toml.tmpl").read_text("utf-8")
    return text.replace("@whose@", whose).replace("@keys@", _explained())


def _explained() -> str:
    longest = max(map(len, KEYS))
    lines = []
    for name, key in KEYS.items():
        head = f"#   {name.ljust(longest)}  "
        lines += textwrap.wrap(
            f"{head}{key.about}",
            _WIDTH,
            subsequent_indent="#".ljust(len(head)),
            drop_whitespace=True,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _next_steps(*, user: bool, created: bool, there: str) -> list[str]:
    approve = [f"hookline trust approve hello{there}"] if created and not user else []
    example = [f"hookline test hello{there}"] if created else []
    return [*approve, *example, f"hookline list{there}", f"hookline new NAME --event before_tool{there}"]


def _report(path: Path, *, here: Found | None, others: list[Found], created: bool) -> None:
    if created:
        say(f"{path} is there now, with one hook, hello, that greets you when a session starts.")
    else:
        count = f"{here.hooks} {_hooks(here.hooks)}" if here and here.hooks else "no hook"
        say(f"{path} is there already, with {count}; it was left as it is.")
    for found in others:
        say(f"Found, too: {found.path} ({found.dialect}, {found.hooks} {_hooks(found.hooks)})")
    say("Go on with:")


def _hooks(number: int) -> str:
    return "hook" if number == 1 else "hooks"
