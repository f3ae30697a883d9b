"""`hookline uninstall`: remove Hookline from the settings of agents."""

import argparse
from collections.abc import Iterator
from typing import Final

from hookline.cli._hosts import (
    add_agent_options,
    describe_changes,
    find_hosts,
    make_around,
    notify_daemon,
    plan_to_json,
    plans_to_json,
)
from hookline.cli._output import render
from hookline.cli._project import add_json_option, add_project_option
from hookline.errors import HostError
from hookline.hosts import HOSTS, http_endpoint
from hookline.hosts.host import Scope
from hookline.hosts.installer import InstallPlan, execute, uninstall

HELP: Final = "remove Hookline from the settings of agents, and restore what was there before"
EXAMPLE: Final = "hookline uninstall claude-code"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_agent_options(parser)
    parser.add_argument("--all", action="store_true", help="all agents; without --scope, in all their settings")
    add_project_option(parser)
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Remove the entries."""
    if bool(args.hosts) == args.all:
        both = ", not both" if args.all else ""
        raise HostError(f"name the agents, or say --all{both}; `hookline hosts` shows where ours are")
    around = make_around(args, writes=True)
    hosts = list(HOSTS.values()) if args.all else find_hosts(args.hosts)
    scopes = [Scope(args.scope)] if args.scope else list(Scope) if args.all else [Scope.USER]

    def plan() -> list[InstallPlan]:
        wanted = [(host, scope) for host in hosts for scope in scopes if scope in host.files or not args.all]
        return http_endpoint.plan_endpoint_file(
            [uninstall(host, scope, around, together=scopes) for host, scope in wanted], around
        )

    plans, number = execute(around, plan, what="uninstall", dry_run=args.dry_run)
    if number:
        notify_daemon()
    lines = describe_changes(plans, dry_run=args.dry_run)
    for one in plans:
        lines += _describe_plan(one, is_all=args.all, dry_run=args.dry_run)
    if args.dry_run:
        lines.append("nothing was written")
    value = plans_to_json([plan_to_json(one) for one in plans], number=number, dry_run=args.dry_run)
    return render(value, *lines, as_json=args.json)


def _describe_plan(plan: InstallPlan, *, is_all: bool, dry_run: bool) -> Iterator[str]:
    title = HOSTS[plan.host].title
    if plan.changes:
        yield f"{title} {'would not ask' if dry_run else 'does not ask'} the hooks any more"
    elif not is_all:
        others = ", ".join(scope for scope in HOSTS[plan.host].files if scope is not plan.scope)
        yield f"{title} does not ask the hooks in its {plan.scope} settings; it also has --scope {others}"
    for note in plan.notes:
        yield f"  note: {note}"
