"""`hookline install` and `hookline uninstall`: write Hookline into the settings of agents, and remove it."""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from hookline.bridge.call import IfBroken
from hookline.bridge.daemon_socket import find_socket_dir, is_wanted
from hookline.cli._command import COMMON, DRY_RUN, CliCommand, argument, flag
from hookline.cli._output import ProgressBar, pluralise, print_error, print_line, progress, render
from hookline.cli._project import load_from_args
from hookline.cli.hosts import check_interpreter, make_around
from hookline.config.loader import confirm_record
from hookline.dialects import DIALECTS
from hookline.engine.translator import fails_closed
from hookline.errors import EngineError, HostError
from hookline.hosts import HOSTS, find, http_endpoint
from hookline.hosts.backup import SettingsBackup, list_automatic, load_backup
from hookline.hosts.command_line import POLICIES, canonical_events, find_launcher, waits_for_decision
from hookline.hosts.host import EventCall, Host, HostEnvironment, Scope
from hookline.hosts.installer import InstallPlan, execute, install, uninstall
from hookline.hosts.status import detect, find_obstacles, find_settings
from hookline.model.event import EventName
from hookline.model.hook import Hook, OnError
from hookline.model.workspace_paths import USER_SOURCES
from hookline.text import quote, shell_quote, suggest
from hookline.user_dirs import find_user_dirs

_ALL: Final = "all"
_ACTIONS: Final = {(True, False): "make", (False, True): "remove", (False, False): "change"}


def run_install(args: argparse.Namespace) -> int:
    """Install, or list the agents that Hookline could be installed for."""
    around = make_around(args, writes=bool(args.hosts or args.all))
    if args.all and args.hosts:
        raise HostError("name the agents, or say --all, not both")
    here = detect(HOSTS.values(), around, versions=False) if args.all else {}
    hosts = [HOSTS[name] for name, one in here.items() if one.is_there] if args.all else find_hosts(args.hosts)
    if not hosts:
        return _offer(args, around)
    with progress(len(hosts) + 1, "checking this Python", args=args) as bar:
        return _install(args, around, hosts, bar)


def _install(args: argparse.Namespace, around: HostEnvironment, hosts: Sequence[Host], bar: ProgressBar) -> int:
    scope = Scope(args.scope or Scope.USER)
    events = {host.name: _choose_events(host, args.events) for host in hosts}
    check_interpreter(sys.executable, module="hookline.cli.main")
    bar.advance("writing settings")
    launcher = find_launcher(sys.executable)
    # before anything is written: a folder of ours would look like the agent's
    absent = {name for name, found in detect(hosts, around, versions=False).items() if not found.is_there}
    address = None
    if args.http or args.http_all:
        http_endpoint.check_hosts(hosts, scope, HOSTS)
        if not launcher:
            raise HostError("--http needs the native launcher, which starts the daemon, and it is not here")
        address = http_endpoint.choose_endpoint(around, sys.executable)
    hooks = [hook for hook in load_from_args(args).hooks if hook.enabled and not hook.implicit]
    # block where Hookline cannot answer if a hook of the user fails closed
    strict = [hook.id for hook in hooks if (hook.on_error or DIALECTS[hook.dialect].SPEC.on_error) is OnError.BLOCK]
    policy, why = "allow", "no hook of yours blocks when it fails; --if-broken block changes that"
    if args.if_broken:
        policy, why = args.if_broken, "as you said"
    elif strict:
        policy, why = "block", f"as {quote(strict[0])} does when it fails; --if-broken allow changes that"

    def choose_urls(host: Host) -> dict[str, EventCall]:
        called = http_endpoint.select_url_events(host, events[host.name], everything=args.http_all) if address else ()
        return {event: address.call(host, event, policy=policy) for event in called if address}

    def plan() -> list[InstallPlan]:
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
                clean=args.clean,
                urls=choose_urls(host),
                is_automatic=not args.if_broken,
            )
            for host in hosts
        ]
        return http_endpoint.plan_endpoint_file(planned, around, address)

    plans, number = execute(around, plan, what="install", dry_run=args.dry_run)
    if number:
        notify_daemon()
    if not args.dry_run:
        # the user has seen the hooks of their home now
        confirm_record(around.data)
    details: list[dict[str, object]] = []
    lines = []
    has_error = False
    for host, one in zip(hosts, plans, strict=True):
        # what was written is read back as the agent reads it
        problems = [] if args.dry_run else find_obstacles(host, around, ask=True, approvals=not args.no_approve)
        bar.advance(f"checked {host.title}")
        has_error = has_error or any(problem.is_error for problem in problems)
        left_out = {
            event: reason for event in host.events if event not in one.events and (reason := host.why_left_out(event))
        }
        notes = [*_list_missed_hooks(host, one, hooks), *_list_notes(host, one, around, is_absent=host.name in absent)]
        details.append(
            {
                "events": one.events,
                "urls": one.urls,
                "left_out": left_out,
                "if_broken": policy,
                "problems": [asdict(problem) for problem in problems],
                "notes": notes,
            }
        )
        will = "already asks" if not one.changes else "would ask" if args.dry_run else "asks"
        asked = f"{host.title} {will} the hooks at {pluralise(len(one.events), 'event')}"
        others = "another" if len(left_out) == 1 else f"{len(left_out)} others"
        more = f", and not at {others} (--verbose names them all)" if left_out else ""
        lines.append(f"{asked}: {', '.join(one.events)}" if args.verbose else f"{asked}{more}")
        if args.verbose:
            lines += [f"  not at {event}: {reason}; --events +{event} adds it" for event, reason in left_out.items()]
        lines += [f"  note: {note}" for note in notes]
        lines += [f"  {'ERROR' if problem.is_error else 'warning'}: {problem}" for problem in problems]
    if not hooks:
        lines.append("there is no hook yet that could be asked: `hookline init` makes a first one")
    lines.append(f"if hookline itself cannot answer: {policy} ({why})")
    names = " ".join(shell_quote(host.name) for host in hosts)
    back = f"take it back: hookline uninstall {names}{'' if scope is Scope.USER else f' --scope {scope}'}"
    lines.append("nothing was written" if args.dry_run else back)
    bar.stop()
    _report(args, plans, number, lines, details)
    return int(has_error)


def _list_missed_hooks(host: Host, plan: InstallPlan, hooks: Sequence[Hook]) -> list[str]:
    """Return a note for each event of the agent that is left out and that hooks wait for."""
    sent = {moment for event in plan.events for moment in canonical_events(host.name, event)}
    notes = []
    for event in (event for event in host.events if event not in plan.events):
        missed = {moment for moment in canonical_events(host.name, event) if moment is not EventName.CUSTOM} - sent
        names = [quote(hook.id) for hook in hooks if missed & set(hook.on)]
        if names:
            wait = "waits" if len(names) == 1 else "wait"
            notes.append(f"{', '.join(names)} {wait} for {event}, which is left out; --events +{event} adds it")
    return notes


def _list_notes(host: Host, plan: InstallPlan, around: HostEnvironment, *, is_absent: bool) -> list[str]:
    """Return notes about the scope, about URLs, and about agents that read each other's settings."""
    notes = []
    if is_absent:
        what = " or ".join(host.programs)
        notes.append(
            f"{host.title} was not found on this machine ({what} is not on PATH); it asks the hooks once it is there"
        )
    notes += [*plan.notes, *host.notes.get(plan.scope, ())]
    if plan.urls:
        # without an answer of the URL, an agent goes on
        urls = ", ".join(plan.urls)
        notes.append(f"by URL: {urls}; your settings have a token for it now, which others must not read")
        if guards := [event for event in plan.urls if waits_for_decision(host.name, event)]:
            what = "versions before 2.1.295 go on" if host.strict_urls else "it goes on"
            blocks = " and the policy is block" if host.strict_urls else ""
            notes.append(f"where no daemon answers{blocks}, {what} at {', '.join(guards)} as if there were no hook")
        if not is_wanted(os.environ):
            notes.append("no daemon is started from here (HOOKLINE_DAEMON=off), and without one no URL is answered")
    if plan.scope is Scope.PROJECT:
        local = "; --scope local is for you alone" if Scope.LOCAL in host.files else ""
        notes.append(f"what was written names {sys.executable}, which others who share the project may not have{local}")
    readers = [other for other in HOSTS.values() if host.name in other.spec.runs_files_of]
    there = [other.title for other in readers if detect([other], around, versions=False)[other.name].is_there]
    if there:
        notes.append(f"{' and '.join(there)} runs these settings too; each call is answered once all the same")
    return notes


def _choose_events(host: Host, words: str | None) -> tuple[str, ...]:
    """Choose the events of an agent.

    Raises:
        HostError: It has no such event.
    """
    if words is None:
        return host.usual_events
    chosen: list[str] = []
    for word in filter(None, (word.strip() for word in words.split(","))):
        name = word.removeprefix("+")
        found = [event for event in host.events if word == _ALL or event == name] or [
            event for event in host.usual_events if name in canonical_events(host.name, event)
        ]
        if not found:
            known = (*host.events, *(str(name) for event in host.events for name in canonical_events(host.name, event)))
            listed = f"{suggest(name, known)}; it has {', '.join(host.events)}"
            raise HostError(f"{host.title} has no event {quote(name)}{listed}")
        chosen += [*host.usual_events, *found] if word.startswith("+") else found
    if not chosen:
        raise HostError("--events names no event; leave it out for the usual ones")
    return tuple(event for event in host.events if event in chosen)


def _offer(args: argparse.Namespace, around: HostEnvironment) -> int:
    """List the agents on this machine, and change nothing."""
    found = [HOSTS[name] for name, one in detect(HOSTS.values(), around, versions=False).items() if one.is_there]
    lines = [
        f"found here: {', '.join(host.title for host in found)}; nothing was changed",
        f"let them ask the hooks: hookline install {' '.join(host.name for host in found)}",
    ]
    value = {"changed": False, "found": [host.name for host in found]}
    nothing = f"no agent was found here; known are {', '.join(HOSTS)}"
    return render(args, value, *(lines if found else [nothing]))


def tighten_entries(args: argparse.Namespace) -> None:
    """Switch entries that were installed with the automatic policy "allow" to "block" once a hook fails closed.

    Most users install Hookline before they have such a hook. Removing the hook does not switch back.
    """
    if getattr(args, "dry_run", False):
        return
    args.dry_run = False
    allowing = list_automatic(find_user_dirs(args.project).data, IfBroken.ALLOW)
    if not allowing:
        return
    own = (hook for hook in load_from_args(args).hooks if hook.enabled and not hook.implicit)
    hooks = [hook for hook in own if hook.source in USER_SOURCES]
    guard = next((hook for hook in hooks if fails_closed(hook, DIALECTS[hook.dialect].SPEC.on_error)), None)
    if guard is None:
        return
    for name, scope in dict.fromkeys((kept.host, Scope(kept.scope)) for kept in allowing):
        host = HOSTS[name]
        mine = [kept for kept in allowing if (kept.host, kept.scope) == (name, scope)]
        try:
            number = _tighten(host, scope, make_around(args, writes=True), mine)
        except EngineError as problem:
            print_error(f"hookline: {problem}; `hookline install {name}` has it block where Hookline cannot be run")
            continue
        if number and not getattr(args, "json", False):
            print_line(f'{host.title} now blocks where Hookline cannot be run, because of the guard "{guard.id}"')


def _tighten(host: Host, scope: Scope, around: HostEnvironment, records: Sequence[SettingsBackup]) -> int:
    """Rewrite the entries in one scope of an agent; return the number of the undo entry, 0 without a change.

    Raises:
        EngineError: The settings cannot be read or written, or have URLs, for which an address has to be chosen.
    """
    files = {file.path: file for file in find_settings(host, around, others=False) if file.ours}
    here = [kept for kept in records if kept.path in files]
    if not here:
        # the settings of another project
        return 0
    if any(entry.is_url for kept in here for entry in files[kept.path].ours):
        raise HostError(f"the entries of {host.title} call URLs")
    events = {event for kept in here for event in kept.events}
    # whether `hookline install` approved the entries in the agent, that is, ran without --no-approve
    has_approved = False
    if host.approval is not None:
        path, _ = host.approval(host.root(Scope.USER, around), Path(here[0].path), "")
        backup = load_backup(around.data, str(path))
        has_approved = backup is not None and bool(backup.approvals)

    def plan() -> list[InstallPlan]:
        return [
            install(
                host,
                scope,
                around,
                events=[event for event in host.events if event in events],
                policy=IfBroken.BLOCK,
                python=sys.executable,
                launcher=find_launcher(sys.executable),
                approve=has_approved,
                is_automatic=True,
            )
        ]

    _, number = execute(around, plan, what="have guards block without hookline:", dry_run=False, follows=True)
    if number:
        notify_daemon()
    return number


def run_uninstall(args: argparse.Namespace) -> int:
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
    lines = []
    for one in plans:
        host = HOSTS[one.host]
        if one.changes:
            lines.append(f"{host.title} {'would not ask' if args.dry_run else 'does not ask'} the hooks any more")
        elif not args.all:
            others = ", ".join(scope for scope in host.files if scope is not one.scope)
            also = f"it also has --scope {others}"
            lines.append(f"{host.title} does not ask the hooks in its {one.scope} settings; {also}")
        lines += [f"  note: {note}" for note in one.notes]
    if args.dry_run:
        lines.append("nothing was written")
    return _report(args, plans, number, lines, [{}] * len(plans))


def find_hosts(names: Iterable[str]) -> list[Host]:
    """Return the named agents, each once.

    Raises:
        HostError: There is none of that name.
    """
    return list({host.name: host for host in map(find, names)}.values())


def notify_daemon() -> None:
    """Have a running daemon check at once whether agents call it by URL; by itself it would do so later."""
    if os.name == "nt":
        return
    from hookline.daemon.protocol import NoDaemonError, ask  # noqa: PLC0415 - only after a change

    with suppress(NoDaemonError):
        ask(find_socket_dir(os.environ), ("daemon", "look"))


def _report(
    args: argparse.Namespace,
    plans: Sequence[InstallPlan],
    number: int,
    lines: Sequence[str],
    details: Sequence[Mapping[str, object]],
) -> int:
    """Print which files change, then `lines`; for `--json` each plan with its details."""
    changes = [
        [
            {"path": change.path, "action": _ACTIONS[change.before is None, change.after is None]}
            for change in plan.changes
        ]
        for plan in plans
    ]
    value = {
        "changed": any(changes) and not args.dry_run,
        "dry_run": args.dry_run,
        "undo": number or None,
        "hosts": [
            {"host": plan.host, "scope": plan.scope, "files": plan.files, "changes": own, "notes": plan.notes, **more}
            for plan, own, more in zip(plans, changes, details, strict=True)
        ],
    }
    would = "would " if args.dry_run else ""
    files = [f"{would}{change['action']} {change['path']}" for own in changes for change in own]
    return render(args, value, *files, *lines)


AGENT_OPTIONS: Final = (
    argument("hosts", "agents, such as claude-code; `hookline hosts` lists them", nargs="*", metavar="HOST"),
    argument(
        "--scope",
        "your own settings (user), those of the project that everybody shares, or your own in it (local)",
        choices=[str(scope) for scope in Scope],
    ),
    DRY_RUN,
)


COMMANDS: Final = {
    "install": CliCommand(
        "let agents ask the hooks: Claude Code, Codex CLI, Gemini CLI and others",
        *AGENT_OPTIONS,
        flag("--all", "every agent that is found on this machine"),
        argument(
            "--events",
            "ask about these instead of the usual ones, or `+EVENT` besides them, or `all`; ours or the agent's names",
            metavar="EVENT,…",
        ),
        argument(
            "--if-broken",
            "what happens when hookline itself cannot answer (default: block if a hook of yours blocks when it fails)",
            choices=POLICIES,
        ),
        flag(
            "--http",
            "have agents that can (Claude Code, Qwen Code) call the daemon by URL at events that cannot be blocked",
        ),
        flag("--http-all", "by URL also at events that can be blocked: without a daemon, no hook is asked there"),
        flag("--no-approve", "where an agent runs only what is approved (Codex), leave that to you"),
        flag(
            "--clean", "take comments and trailing commas out of settings that the agent would refuse because of them"
        ),
        flag("--verbose", "name every event, and say of those left out why; --json does, too"),
        *COMMON,
        example="claude-code gemini",
        run=run_install,
    ),
    "uninstall": CliCommand(
        "remove Hookline from the settings of agents, and restore what was there before",
        *AGENT_OPTIONS,
        flag("--all", "all agents; without --scope, in all their settings"),
        *COMMON,
        example="claude-code",
        run=run_uninstall,
    ),
}
