"""`hookline install`: let agents ask the hooks."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from hookline.bridge.daemon.waking import is_wanted
from hookline.cli._hosts import add_agents, around_of, described, have_daemon_look, named, say_changes, say_plans
from hookline.cli._output import counted, say, say_json
from hookline.cli._project import add_json, add_project, opened
from hookline.cli._python import check_python
from hookline.config.vocabulary import hint, quoted
from hookline.dialects import DIALECTS
from hookline.display import typed
from hookline.errors import HostError
from hookline.hosts import HOSTS, urls
from hookline.hosts.detect import detect
from hookline.hosts.host import Around, Call, Host, Scope
from hookline.hosts.launcher import native
from hookline.hosts.line import POLICIES, is_held_up, moments
from hookline.hosts.plans import Plan, carry_out, install
from hookline.hosts.status import obstacles
from hookline.hosts.urls import Address
from hookline.model.event import EventName
from hookline.model.hook import Hook, OnError

HELP: Final = "let agents ask the hooks: Claude Code, Codex CLI, Gemini CLI and others"
EXAMPLE: Final = "hookline install claude-code gemini"

_ALL: Final = "all"


def configure(parser: argparse.ArgumentParser) -> None:
    """Say which arguments it takes."""
    add_agents(parser)
    parser.add_argument(
        "--events",
        metavar="EVENT,…",
        help="ask about these instead of the usual ones, or `+EVENT` besides them, or `all`; ours or the agent's names",
    )
    parser.add_argument(
        "--if-broken",
        choices=POLICIES,
        help="what happens when hookline itself cannot answer (default: block if a hook of yours blocks when it fails)",
    )
    parser.add_argument(
        "--http",
        action="store_true",
        help="have agents that can (Claude Code, Qwen Code) call the daemon by URL where a no keeps nothing from happening",
    )
    parser.add_argument(
        "--http-all",
        action="store_true",
        help="by URL also where a no counts: without a daemon, nobody is asked there",
    )
    parser.add_argument(
        "--no-approve",
        action="store_true",
        help="where an agent runs only what is approved (Codex), leave that to you",
    )
    parser.add_argument(
        "--verbose", action="store_true", help="name every event, and say of those left out why; --json does, too"
    )
    add_project(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Do it, or list what could be done."""
    around = around_of(args)
    if not args.hosts:
        return _offer(around, as_json=args.json)
    hosts = named(args.hosts)
    scope = Scope(args.scope or Scope.USER)
    events = {host.name: _events(host, args.events) for host in hosts}
    check_python(sys.executable, module="hookline.cli.main")
    launcher = native(sys.executable)
    address = _address(hosts, scope, around, launcher=launcher) if args.http or args.http_all else None
    hooks = [hook for hook in opened(args).loaded.hooks if hook.enabled]
    policy, why = (args.if_broken, "as you said") if args.if_broken else _policy(hooks)

    def plan() -> list[Plan]:
        planned = [
            install(
                host,
                scope,
                around,
                events=events[host.name],
                policy=policy,
                python=sys.executable,
                launcher=launcher,
                approve=not args.no_approve,
                urls=_urls(host, events[host.name], policy, address=address, everything=args.http_all),
            )
            for host in hosts
        ]
        return urls.settled(planned, around, address)

    plans, number = carry_out(around, plan, what="install", dry_run=args.dry_run)
    if number:
        have_daemon_look()
    if args.json:
        rows = [
            described(one, events=one.events, urls=one.urls, left_out=_left_out(host, one), if_broken=policy)
            for host, one in zip(hosts, plans, strict=True)
        ]
        for row, host, one in zip(rows, hosts, plans, strict=True):
            row["notes"] = [*_passed_by(host, one, hooks), *_notes(host, one, around)]
        say_plans(rows, number=number, dry_run=args.dry_run)
        return 0
    say_changes(plans, dry_run=args.dry_run)
    for host, one in zip(hosts, plans, strict=True):
        _report(host, one, dry_run=args.dry_run, verbose=args.verbose)
        for note in (*_passed_by(host, one, hooks), *_notes(host, one, around)):
            say(f"  note: {note}")
    if not hooks:
        say("there is no hook yet that could be asked: `hookline init` makes a first one")
    say(f"if hookline itself cannot answer: {policy} ({why})")
    if args.dry_run:
        say("nothing was written")
    else:
        say(f"take it back: hookline uninstall {' '.join(typed(host.name) for host in hosts)}{_scope_words(scope)}")
    return 0


def _report(host: Host, plan: Plan, *, dry_run: bool, verbose: bool) -> None:
    is_new = bool(plan.changes)
    will = "would ask" if dry_run and is_new else "asks" if is_new else "already asks"
    asked, left_out = counted(len(plan.events), "event"), _left_out(host, plan)
    if not verbose:
        others = "another" if len(left_out) == 1 else f"{len(left_out)} others"
        more = f", and not at {others} (--verbose names them all)" if left_out else ""
        say(f"{host.title} {will} the hooks at {asked}{more}")
        return
    say(f"{host.title} {will} the hooks at {asked}: {', '.join(plan.events)}")
    for event, why in left_out.items():
        say(f"  not at {event}: {why}; --events +{event} adds it")


def _passed_by(host: Host, plan: Plan, hooks: Sequence[Hook]) -> list[str]:
    """Name the hooks that wait for an event which this agent has, and is not asked about."""
    heard = {moment for event in plan.events for moment in moments(host.name, event)}
    notes = []
    for event in (event for event in host.events if event not in plan.events):
        missed = {moment for moment in moments(host.name, event) if moment is not EventName.CUSTOM} - heard
        names = [quoted(hook.id) for hook in hooks if missed & set(hook.on)]
        if names:
            wait = "waits" if len(names) == 1 else "wait"
            notes.append(f"{', '.join(names)} {wait} for {event}, which is left out; --events +{event} adds it")
    return notes


def _left_out(host: Host, plan: Plan) -> dict[str, str]:
    return {event: why for event in host.events if event not in plan.events and (why := host.why_not(event))}


def _notes(host: Host, plan: Plan, around: Around) -> list[str]:
    """Say what the person has to know: about the scope, about trust, about agents that read each other's settings."""
    notes = [*plan.notes, *host.notes.get(plan.scope, ()), *obstacles(host, around), *_about_urls(host, plan)]
    if plan.scope is Scope.PROJECT:
        local = "; --scope local is for you alone" if Scope.LOCAL in host.files else ""
        notes.append(f"what was written names {sys.executable}, which others who share the project may not have{local}")
    readers = [other for other in HOSTS.values() if host.name in other.spec.runs_files_of]
    there = [other.title for other in readers if detect([other], around, versions=False)[other.name].is_there]
    if there:
        notes.append(f"{' and '.join(there)} runs these settings too; each call is answered once all the same")
    return notes


def _address(hosts: Sequence[Host], scope: Scope, around: Around, *, launcher: str) -> Address:
    """Choose where agents call us.

    Raises:
        HostError: They cannot, or nobody would be there.
    """
    urls.check(hosts, scope, HOSTS)
    if not launcher:
        raise HostError("--http needs the native launcher, which starts the daemon, and it is not here")
    return urls.chosen(around, sys.executable)


def _urls(
    host: Host, events: Sequence[str], policy: str, *, address: Address | None, everything: bool
) -> dict[str, Call]:
    if address is None:
        return {}
    called = urls.called(host, events, everything=everything)
    return {event: address.call(host, event, policy=policy) for event in called}


def _about_urls(host: Host, plan: Plan) -> list[str]:
    """Say what it means that an agent calls a URL: when nobody answers, it goes on."""
    if not plan.urls:
        return []
    notes = [f"by URL: {', '.join(plan.urls)}; your settings have a token for it now, which others must not read"]
    guards = [event for event in plan.urls if is_held_up(host.name, event)]
    if guards:
        what = "versions before 2.1.295 go on" if host.strict_urls else "it goes on"
        blocks = " and the policy is block" if host.strict_urls else ""
        notes.append(f"where no daemon answers{blocks}, {what} at {', '.join(guards)} as if there were no hook")
    if not is_wanted(os.environ):
        notes.append("no daemon is started from here (CI, or HOOKLINE_DAEMON=off), and without one no URL is answered")
    return notes


def _scope_words(scope: Scope) -> str:
    return "" if scope is Scope.USER else f" --scope {scope}"


def _events(host: Host, words: str | None) -> tuple[str, ...]:
    """Choose the events of an agent.

    Raises:
        HostError: It has no such event.
    """
    if words is None:
        return host.usual_events
    chosen: list[str] = []
    for word in filter(None, (word.strip() for word in words.split(","))):
        chosen += host.usual_events if word.startswith("+") else ()
        chosen += host.events if word == _ALL else _named(host, word.removeprefix("+"))
    if not chosen:
        raise HostError("--events names no event; leave it out for the usual ones")
    return tuple(event for event in host.events if event in chosen)


def _named(host: Host, word: str) -> list[str]:
    found = [event for event in host.events if event == word] or [
        event for event in host.usual_events if word in moments(host.name, event)
    ]
    if not found:
        known = (*host.events, *(str(name) for event in host.events for name in moments(host.name, event)))
        raise HostError(f"{host.title} has no event {quoted(word)}{hint(word, known)}; it has {', '.join(host.events)}")
    return found


def _policy(hooks: Sequence[Hook]) -> tuple[str, str]:
    """Choose what happens when we cannot answer, by what the hooks there are want when they cannot."""
    strict = [hook.id for hook in hooks if (hook.on_error or DIALECTS[hook.dialect].SPEC.on_error) is OnError.BLOCK]
    if not strict:
        return "allow", "no hook of yours blocks when it fails; --if-broken block changes that"
    return "block", f"as {quoted(strict[0])} does when it fails; --if-broken allow changes that"


def _offer(around: Around, *, as_json: bool) -> int:
    """List the agents that are on this machine, and do nothing."""
    found: Sequence[Host] = [
        HOSTS[name] for name, one in detect(HOSTS.values(), around, versions=False).items() if one.is_there
    ]
    if as_json:
        say_json({"changed": False, "found": [host.name for host in found]})
        return 0
    if not found:
        say(f"no agent was found here; known are {', '.join(HOSTS)}")
        return 0
    say(f"found here: {', '.join(host.title for host in found)}; nothing was changed")
    say(f"let them ask the hooks: hookline install {' '.join(host.name for host in found)}")
    return 0
