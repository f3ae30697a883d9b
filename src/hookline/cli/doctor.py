"""`hookline doctor`: what is right and what is wrong on this machine and in this project."""

import argparse
from typing import Final

from msgspec.structs import asdict

from hookline.cli._finding import Health
from hookline.cli._health import CHECKS
from hookline.cli._output import say, say_json
from hookline.cli._project import add_json, add_project, opened

HELP: Final = "check this machine, this project and every hook in it, and say what to do"
EXAMPLE: Final = "hookline doctor"

_WIDEST: Final = max(len(area) for area, _ in CHECKS)


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print every finding: 1 when there is an error among them."""
    project = opened(args)
    found = [(area, finding) for area, check in CHECKS for finding in check(project)]
    if args.json:
        say_json([{"area": area, **asdict(finding)} for area, finding in found])
    else:
        for area, finding in found:
            health = finding.health.upper() if finding.health is Health.ERROR else finding.health
            advice = f"; {finding.advice}" if finding.advice else ""
            say(f"{health:<8} {area:<{_WIDEST}}  {finding.text}{advice}")
    return 1 if any(finding.health is Health.ERROR for _, finding in found) else 0
