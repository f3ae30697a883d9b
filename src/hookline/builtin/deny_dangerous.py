"""The built-in hook `dangerous`: deny deleting a home directory, overwriting a disk, running a download.

Every command that a line may run is judged, as `hookline.shell` finds them: inside substitutions, behind `sudo`, `env` or
`xargs`, and in the text of `sh -c` and `eval`. What a command writes and deletes comes from the effects, the rest is a table of
patterns. A command that cannot be read is no opinion; a line that cannot be read as a whole is judged piece by piece. This prevents
accidents and does not stop an attacker: a program can do anything in a language of its own.
"""
# ruff: noqa: PTH118 - plain strings, as in command lines

import os
import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Final

from msgspec import Struct, structs

from hookline.builtin._boundaries import (
    ALL_IN_IT,
    ASKS_FOR_HELP,
    LOOSENING,
    OF_HOOKS,
    Boundaries,
    expand_home,
    find_boundaries,
    list_paths,
    show_path,
)
from hookline.builtin.catalogue import BuiltinScope, Judge, Options
from hookline.config.discovery import LOCATIONS, Root
from hookline.effects import event_paths
from hookline.effects.effects import Effects, EffectsBuilder
from hookline.effects.patterns import CommandMatcher, MatchAnswer, compile_commands
from hookline.effects.shell import read_command
from hookline.model.event import Event
from hookline.model.verdict import Verdict
from hookline.model.workspace_paths import is_inside
from hookline.shell.program import split_names
from hookline.shell.reader import parse_script
from hookline.shell.walk import ShellCommand, walk_commands

_HINT: Final = "; if it is intended, run it yourself"

PROJECT: Final = "the whole project"
HOME: Final = "your home folder"
EVERYTHING: Final = "everything on this machine"
SYSTEM: Final = "a folder of the system"

_SYSTEM_FOLDERS: Final = split_names(
    "/bin /boot /dev /etc /home /lib /lib32 /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var /usr/bin /usr/lib"
    " /usr/local /usr/sbin /usr/share /var/lib /var/log /Applications /Library /System /Users /Volumes /private /mnt"
    " /media /etc/ssh /etc/ssl"
)
# files with agents' hooks, or with settings that disable them, besides those that Hookline reads hooks from
_OF_AGENTS: Final = (
    *(f".claude/{name}" for name in ("settings.json", "settings.local.json")),
    *(".codex/config.toml", ".copilot/settings.json", ".factory/settings.json", ".github/copilot/settings.json"),
    *(".opencode/plugin/*", ".opencode/plugins/*", ".config/opencode/plugin/*", ".config/opencode/plugins/*"),
)
_HOOK_FILES_OF_HOME: Final = (*(place.path for place in LOCATIONS if place.root is Root.HOME), *_OF_AGENTS)
_HOOK_FILES_OF_PROJECT: Final = (*(place.path for place in LOCATIONS if place.root is Root.PROJECT), *_OF_AGENTS)


def _give_reason(why: str, names: str, folder: str = "") -> Iterator[tuple[str, str]]:
    return ((f"{folder}{name}", why) for name in names.split())


# patterns of paths, and why they should not be written; the first that matches counts
_OF_HOME: Final = (
    (".ssh/known_hosts*", ""),
    (".ssh/*", "decides who may log in as you"),
    *_give_reason("holds your keys", ".gnupg/* .aws/*"),
    *_give_reason(
        "is run by every shell you start",
        ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .kshrc .config/fish/*",
    ),
    *_give_reason("is started when you log in", ".config/autostart/* .config/systemd/user/* Library/LaunchAgents/*"),
)
_DEVICES: Final = (
    *_give_reason(
        "", "null zero full tty* pts/* ptmx stdin stdout stderr fd/* shm/* random urandom console dsp snd/*", "/dev/"
    ),
    *_give_reason("is a connection to another machine", "tcp/* udp/*", "/dev/"),
    ("/dev/*", "is a device"),
)
_ANYWHERE: Final = (
    *_DEVICES,
    *_give_reason(
        "decides who may do what on this machine",
        "passwd* shadow* group* gshadow* sudoers* pam.d/* ssh/* ld.so.preload",
        "/etc/",
    ),
    *_give_reason("is run by the system", "cron* init.d/* systemd/* rc.local profile* bash.bashrc zsh/*", "/etc/"),
    ("/var/spool/cron/*", "is run by the system"),
    ("/boot/*", "starts the machine"),
    *_give_reason("steers the kernel", "/proc/sys* /sys/*"),
    ("*/.git/hooks/*", "is run by git"),
)

_MOST_PIECES: Final = 2000
# lines often contain the text of files, which is not commands
_LONGEST_LINE: Final = 262_144
_PIECE: Final = re.compile(r"\n|;|&&|\|\||\||&|\$\(|[(){}`]|\s-(?:exec|ok)(?:dir)?(?=\s)")
# longer names are not function names
_FUNCTION: Final = re.compile(r"(?<![^;&|\n(){}])(?:function)?([^\s(){};|&]{1,64})\(\)\{")
_CONNECTION: Final = re.compile(r"/dev/(?:tcp|udp)/")
_OTHER_HOME: Final = re.compile(r"~[\w.-]+/?(?:\*/?)?")
_SHARED: Final = frozenset(("main", "master", "trunk", "production"))
# tests with which find selects some of the files
_NARROWING: Final = split_names(
    "-name -iname -path -ipath -regex -iregex -newer -mtime -mmin -atime -amin -ctime -cmin -size -empty -user -group"
    " -perm -maxdepth -newermt -lname -wholename -inum -samefile"
)
# they change attributes and not contents, or write files of a kind that users ask for
_WRITES_LITTLE: Final = split_names("mkdir chmod chown chgrp chcon setfacl chattr ssh-keygen")
# some of their options only read; the patterns below know them
_OF_DISKS: Final = split_names(
    "mkfs mke2fs fdisk sfdisk gdisk parted wipefs blkdiscard badblocks hdparm diskutil cryptsetup lvremove vgremove"
    " pvremove zpool zfs mdadm"
)
_UNSEEN: Final = "runs what it {} without a review"


class _DangerRule(Struct, frozen=True):
    """Patterns of commands that are dangerous, unless one of some options is given."""

    reason: str
    patterns: tuple[str, ...]
    unless: tuple[str, ...] = ()


_INTERPRETERS: Final = ("sh", "python", "perl", "ruby", "node", "php", "lua")
_DOWNLOADERS: Final = "{curl,wget,fetch,aria2c,http,https,xh,lynx}"
_DECODERS: Final = (
    *("{base64,base32,gbase64} --decode", "{base64,base32,gbase64} -D", "xxd -r", "openssl -d", "openssl -decrypt"),
)
_RULES: Final = (
    _DangerRule(_UNSEEN.format("downloads"), tuple(f"{_DOWNLOADERS} | {one}" for one in _INTERPRETERS)),
    _DangerRule(_UNSEEN.format("decodes"), tuple(f"{two} | {one}" for two in _DECODERS for one in _INTERPRETERS)),
    _DangerRule("deletes everything on this machine", ("rm --no-preserve-root",)),
    _DangerRule("erases a whole disk", ("{mkfs,mkfs.*,mke2fs,mkswap,blkdiscard,cryptsetup} /dev/*",)),
    _DangerRule("erases a whole disk", ("{wipefs,sgdisk} {-a,--all,-f,--force} /dev/*",)),
    _DangerRule("stops the machine", ("{shutdown,reboot,halt,poweroff}",), ("-c", "--help", "--show")),
    _DangerRule(
        "stops the machine", ("{init,telinit} {0,6}", "systemctl {poweroff,reboot,halt,kexec,emergency,rescue}")
    ),
    _DangerRule("deletes everything that you have planned", ("crontab -r",)),
    _DangerRule("hands a shell of this machine to another one", ("{nc,ncat,netcat} {-e,-c,--exec,--sh-exec}",)),
    _DangerRule(OF_HOOKS, LOOSENING, ASKS_FOR_HELP),
)


def make_judge(scope: BuiltinScope, _options: Options) -> Judge:
    """Return the hook."""
    return partial(judge, root=scope.root, home=scope.home, protected=scope.protected)


def judge(event: Event, *, root: str = "", home: str = "", protected: tuple[str, ...] = ()) -> Verdict | None:
    """Answer a permission request or a tool call: deny, or no opinion."""
    # a directory that cannot be determined does not make the call harmless
    bounds = find_boundaries(event, root=root, home=home, protected=protected) or Boundaries(
        "", home, (os.sep,), protected
    )
    reason = ""
    if event.tool == "shell":
        line = event.args.get("command")
        line = shlex.join(map(str, line)) if isinstance(line, list | tuple) else line
        reason = find_danger(line, bounds) if isinstance(line, str) else ""
    elif event.tool in event_paths.WRITERS:
        reasons = (_judge_file(name, bounds, tool=event.tool) for name in event_paths.list_event_paths(event))
        reason = next(filter(None, reasons), "")
    return Verdict.deny(f"dangerous: {reason}{_HINT}") if reason else None


def _judge_file(name: str, bounds: Boundaries, *, tool: str) -> str:
    path = os.path.join(bounds.home, name[2:]) if name.startswith("~/") else name
    loss = name_loss(path, bounds) if tool == "delete_file" else ""
    return find_write_objection(path, bounds) or (f"deletes {loss}" if loss else "")


def find_danger(text: str, bounds: Boundaries, *, depth: int = 0) -> str:
    """Return what is dangerous about a line, empty when nothing is known to be."""
    if _is_bomb(text):
        return "a program that starts itself without end stops the whole machine"
    has_doubts = len(text) > _LONGEST_LINE
    if not has_doubts:
        walk = walk_commands(parse_script(text))
        for command in walk.commands:
            if reason := _judge_command(command, bounds):
                return reason
        has_doubts = bool(walk.doubts)
    if not has_doubts or depth:
        return ""
    pieces = [piece for piece in dict.fromkeys(_PIECE.split(text)) if piece.strip() and piece != text][:_MOST_PIECES]
    return next(filter(None, (find_danger(piece, bounds, depth=depth + 1) for piece in pieces)), "")


def _is_bomb(text: str) -> bool:
    """Return whether the line defines a fork bomb: a function that only starts itself twice in the background."""
    squeezed = "".join(text.split())
    for function in _FUNCTION.finditer(squeezed) if "(){" in squeezed else ():
        body = squeezed[function.end() : function.end() + 256].partition("}")[0]
        if "&" in body and [part for part in re.split("[|&;]", body) if part] == [function[1]] * 2:
            return True
    return False


def _judge_command(command: ShellCommand, bounds: Boundaries) -> str:
    # a remote machine has a home and a system of its own
    command = structs.replace(command, is_remote=False)
    builder = EffectsBuilder()
    read_command(command, bounds.bases[0] if bounds.bases else os.sep, builder)
    effects = builder.build()
    reasons = (*_judge_deletes(command, effects, bounds), *_judge_writes(command, effects, bounds))
    reason = next(filter(None, reasons), "")
    if reason or not command.words:
        return reason
    # a single -1 is a signal
    if command.name == "kill" and len(command.words) > 2 and command.words[-1].text == "-1":  # noqa: PLR2004
        return "kill: ends every program you run"
    alone = Effects(commands=(command,))
    for rule, ask in _compile_rules():
        if ask(alone).answer is MatchAnswer.YES and not command.arguments.has(*rule.unless):
            return rule.reason if rule.reason.startswith("runs what") else f"{command.name}: {rule.reason}"
    return _judge_push(command)


def _judge_deletes(command: ShellCommand, effects: Effects, bounds: Boundaries) -> Iterator[str]:
    verb = "moves {} away" if command.name in {"mv", "gmv"} else "deletes {}"
    for target in effects.targets.get("deletes", ()):
        path = expand_home(target.pattern or target.path, bounds)
        # a directory is deleted as a whole, or find deletes every file in it
        is_whole = target.is_recursive or "**" in target.pattern
        if target.is_sure and is_whole and (loss := name_loss(path, bounds)):
            yield f"{command.name}: {verb.format(loss)}"
        if target.is_sure:
            yield find_hook_objection(path, bounds, is_recursive=is_whole) or _find_reason(path, bounds, _DEVICES)
    arguments = command.arguments
    if command.row is not None and arguments.has(*command.row.recursive) and command.name == "rm":
        for word in arguments.operands:
            # the home directory of another user
            if _OTHER_HOME.fullmatch(word.raw):
                yield f"rm: deletes the home folder {word.raw}"
    if command.name == "find" and arguments.has("-delete") and not arguments.has(*_NARROWING):
        roots = [word.text for word in arguments.operands if word.text not in {"(", ")", "!", ","}] or ["."]
        for root in roots[:1]:
            if loss := name_loss(expand_home(root, bounds), bounds):
                yield f"find: deletes {loss}"


def _judge_writes(command: ShellCommand, effects: Effects, bounds: Boundaries) -> Iterator[str]:
    for redirect in command.redirects:
        if redirect.target is not None and ">" in redirect.operator and _CONNECTION.match(redirect.target.text):
            yield f"{redirect.target.text} is a connection to another machine"
    deleted = {target.path for target in effects.targets.get("deletes", ())}
    is_guess = command.row is not None and command.row.interpreter
    redirected = {one.target.text for one in command.redirects if one.target is not None}
    for target in effects.targets.get("writes", ()):
        path = expand_home(target.pattern or target.path, bounds)
        if not target.is_sure or target.is_partial:
            continue
        yield find_hook_objection(path, bounds, is_recursive=target.is_recursive)
        is_own = command.name in _WRITES_LITTLE or command.name.partition(".")[0] in _OF_DISKS or is_guess
        if target.path in deleted or (is_own and not redirected):
            continue
        yield find_write_objection(path, bounds)
    if command.name in {"chmod", "chown", "chgrp"}:
        protected = {EVERYTHING, SYSTEM, HOME} if command.name == "chmod" else {EVERYTHING, SYSTEM}
        for target in effects.targets.get("writes", ()):
            if not (target.is_recursive and target.is_sure):
                continue
            loss = name_loss(expand_home(target.pattern or target.path, bounds), bounds)
            if loss in protected:
                yield f"{command.name}: changes the rights of every file in {loss}"


@cache
def _compile_rules() -> tuple[tuple[_DangerRule, CommandMatcher], ...]:
    return tuple((rule, compile_commands(rule.patterns)) for rule in _RULES)


def _judge_push(command: ShellCommand) -> str:
    """Return why a push deletes or overwrites a shared branch."""
    arguments = command.arguments
    if command.name != "git" or arguments.path != ("push",):
        return ""
    for word in arguments.operands:
        source, colon, goal = word.text.lstrip("+").partition(":")
        branch = (goal if colon else source).removeprefix("refs/heads/")
        if branch not in _SHARED:
            continue
        if arguments.has("--delete") or (colon and not source):
            return f"git: deletes {branch} for everybody"
        if arguments.has("--force") or word.text.startswith("+"):
            return f"git: overwrites {branch} for everybody; --force-with-lease does not"
    return ""


# directories that an agent should not delete, and files that it should not write


def name_loss(name: str, bounds: Boundaries) -> str:
    """Return what deleting a directory would delete: everything, the home directory, the project; else empty."""
    bare = ALL_IN_IT.sub("", name) or ("/" if name.startswith("/") else ".")
    for path in list_paths(bare, bounds):
        if path == os.sep:
            return EVERYTHING
        if is_inside(bounds.home, (path,)):
            return HOME
        if path in _SYSTEM_FOLDERS:
            return SYSTEM
        if bounds.root and is_inside(bounds.root, (path,)):
            return PROJECT
    return ""


def find_write_objection(name: str, bounds: Boundaries) -> str:
    """Return why a file should not be written, empty where it may be."""
    return find_hook_objection(name, bounds) or _find_reason(name, bounds, _ANYWHERE, _OF_HOME)


def _find_reason(
    name: str, bounds: Boundaries, anywhere: tuple[tuple[str, str], ...], of_home: tuple[tuple[str, str], ...] = ()
) -> str:
    for path in list_paths(name, bounds):
        below = os.path.relpath(path, bounds.home) if is_inside(path, (bounds.home,)) else ""
        for patterns, relative in ((of_home, below), (anywhere, path)):
            why = next((why for pattern, why in patterns if relative and fnmatchcase(relative, pattern)), "")
            if why:
                return f"{show_path(name, bounds)} {why}"
    return ""


def find_hook_objection(name: str, bounds: Boundaries, *, is_recursive: bool = False) -> str:
    """Return why a file should not be changed because hooks depend on it; with `is_recursive`, all below it count."""
    bare = ALL_IN_IT.sub("", name) if is_recursive else name
    for path in list_paths(bare or os.sep, bounds):
        if is_inside(path, bounds.protected) or (
            is_recursive and any(is_inside(one, (path,)) for one in bounds.protected)
        ):
            return f"{show_path(name, bounds)} {OF_HOOKS}"
        for folder, patterns in ((bounds.home, _HOOK_FILES_OF_HOME), (bounds.root, _HOOK_FILES_OF_PROJECT)):
            is_project = patterns is _HOOK_FILES_OF_PROJECT
            if folder and _is_hook_file(path, folder, patterns, is_recursive=is_recursive, must_exist=is_project):
                return f"{show_path(name, bounds)} {OF_HOOKS}"
    return ""


def _is_hook_file(path: str, folder: str, patterns: tuple[str, ...], *, is_recursive: bool, must_exist: bool) -> bool:
    """Return whether a path is a hook file of a folder, or a folder of such files.

    In a project, only existing files count: agents may write new hooks, which need an approval before they run.
    """
    if is_recursive and is_inside(folder, (path,)):
        # another rule covers a whole home or project
        return False
    below = os.path.relpath(path, folder) if is_inside(path, (folder,)) else ""
    if below and any(fnmatchcase(below, pattern) for pattern in patterns):
        return not must_exist or os.path.lexists(path)
    # deleting the folder of a hook file deletes the file
    below_it = [pattern for pattern in patterns if is_recursive and below and pattern.startswith(f"{below}/")]
    return any(os.path.lexists(os.path.join(folder, pattern.partition("*")[0])) for pattern in below_it)
