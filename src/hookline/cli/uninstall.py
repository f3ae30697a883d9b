"""`hookline uninstall`: take ours out of the settings of agents."""

import argparse
from typing import Final

from hookline.cli._hosts import add_agents, around_of, described, have_daemon_look, named, say_changes, say_plans
from hookline.cli._output import say
from hookline.cli._project import add_json, add_project
from hookline.errors import HostError
from hookline.hosts import HOSTS, urls
from hookline.hosts.host import Scope
from hookline.hosts.plans import Plan, carry_out, uninstall

HELP: Final = "take ours out of the settings of agents, and put them back as they were"
EXAMPLE: Final = "hookline uninstall claude-code"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    add_agents(parser)
    parser.add_argument("--all", action="store_true", help="all agents; without --scope, in all their settings")
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if bool(args.hosts) == args.all:
        both = ", not both" if args.all else ""
        raise HostError(f"name the agents, or say --all{both}; `hookline hosts` shows where ours are")
    around = around_of(args)
    hosts = list(HOSTS.values()) if args.all else named(args.hosts)
    scopes = [Scope(args.scope)] if args.scope else list(Scope) if args.all else [Scope.USER]

    def plan() -> list[Plan]:
        wanted = [(host, scope) for host in hosts for scope in scopes if scope in host.files or not args.all]
        return urls.settled([uninstall(host, scope, around) for host, scope in wanted], around)

    plans, number = carry_out(around, plan, what="uninstall", dry_run=args.dry_run)
    if number:
        have_daemon_look()
    if args.json:
        say_plans([described(one) for one in plans], number=number, dry_run=args.dry_run)
        return 0
    say_changes(plans, dry_run=args.dry_run)
    for one in plans:
        _report(one, is_all=args.all, dry_run=args.dry_run)
    if args.dry_run:
        say("nothing was written")
    return 0


def _report(plan: Plan, *, is_all: bool, dry_run: bool) -> None:
    title = HOSTS[plan.host].title
    if plan.changes:
        say(f"{title} {'would not ask' if dry_run else 'does not ask'} the hooks any more")
    elif not is_all:
        others = ", ".join(scope for scope in HOSTS[plan.host].files if scope is not plan.scope)
        say(f"{title} does not ask the hooks in its {plan.scope} settings; it also has --scope {others}")
    for note in plan.notes:
        say(f"  note: {note}")
