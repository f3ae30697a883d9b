"""Find dangerous commands in a shell line.

Every command that a line may run is judged, as `hookline.shell` finds them: inside substitutions, behind `sudo`, `env` or
`xargs`, and in the text of `sh -c` and `eval`. What a command writes and deletes comes from the effects, the rest is a table of
patterns. A command that cannot be read is no opinion; a line that cannot be read as a whole is judged piece by piece. This prevents
accidents and does not stop an attacker: a program can do anything in a language of its own.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from msgspec import Struct, structs

from hookline.builtin._boundaries import Boundaries, split_names
from hookline.builtin._protected_paths import (
    EVERYTHING,
    HOME,
    OF_HOOKS,
    SYSTEM,
    find_device_objection,
    find_hook_objection,
    find_write_objection,
    name_loss,
)
from hookline.effects.effects import Effects, EffectsBuilder, Target
from hookline.effects.patterns import CommandMatcher, MatchAnswer, compile_commands
from hookline.effects.shell import read_command
from hookline.shell.reader import parse_script
from hookline.shell.walk import ShellCommand, walk_commands

_DEEPEST: Final = 6
_MOST_PIECES: Final = 2000
# lines often contain the text of files, which is not commands
_LONGEST: Final = 262_144
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
_UNSEEN: Final = "runs what it {}, before anybody could look at it"


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
    _DangerRule(
        OF_HOOKS,
        (
            "hookline {disable,remove,uninstall,undo,edit}",
            "hookline trust {approve,import,revoke,token,workspace}",
            "hookline {git uninstall,daemon stop}",
            "{pkill,killall} *hookline*",
            "{pip,pipx} uninstall hookline",
            "uv tool uninstall hookline",
            "uv pip uninstall hookline",
        ),
        ("--help", "-h"),
    ),
)


def find_danger(text: str, bounds: Boundaries, *, depth: int = 0) -> str:
    """Return what is dangerous about a line, empty when nothing is known to be."""
    if _is_bomb(text):
        return "a program that starts itself without end stops the whole machine"
    has_doubts = len(text) > _LONGEST
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
    reason = next(filter(None, (_judge_patterns(command), _judge_push(command), _judge_kill(command))), "")
    return f"{command.name}: {reason}" if reason and not reason.startswith("runs what") else reason


def _judge_deletes(command: ShellCommand, effects: Effects, bounds: Boundaries) -> Iterator[str]:
    verb = "moves {} away" if command.name in {"mv", "gmv"} else "deletes {}"
    for target in effects.targets.get("deletes", ()):
        path = _locate(target, bounds)
        # a directory is deleted as a whole, or find deletes every file in it
        is_whole = target.is_recursive or "**" in target.pattern
        if target.is_sure and is_whole and (loss := name_loss(path, bounds)):
            yield f"{command.name}: {verb.format(loss)}"
        if target.is_sure:
            yield find_hook_objection(path, bounds, is_recursive=is_whole) or find_device_objection(path, bounds)
    arguments = command.arguments
    if command.row is not None and arguments.has(*command.row.recursive) and command.name == "rm":
        for word in arguments.operands:
            # the home directory of another user
            if _OTHER_HOME.fullmatch(word.raw):
                yield f"rm: deletes the home folder {word.raw}"
    if command.name == "find" and arguments.has("-delete") and not arguments.has(*_NARROWING):
        roots = [word.text for word in arguments.operands if word.text not in {"(", ")", "!", ","}] or ["."]
        for root in roots[:1]:
            if loss := name_loss(_expand(root, bounds), bounds):
                yield f"find: deletes {loss}"


def _judge_writes(command: ShellCommand, effects: Effects, bounds: Boundaries) -> Iterator[str]:
    for redirect in command.redirects:
        if redirect.target is not None and ">" in redirect.operator and _CONNECTION.match(redirect.target.text):
            yield f"{redirect.target.text} is a connection to another machine"
    deleted = {target.path for target in effects.targets.get("deletes", ())}
    is_guess = command.row is not None and command.row.interpreter
    redirected = {one.target.text for one in command.redirects if one.target is not None}
    for target in effects.targets.get("writes", ()):
        path = _locate(target, bounds)
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
            loss = name_loss(_locate(target, bounds), bounds) if target.is_recursive and target.is_sure else ""
            if loss in protected:
                yield f"{command.name}: changes the rights of every file in {loss}"


def _locate(target: Target, bounds: Boundaries) -> str:
    return _expand(target.pattern or target.path, bounds)


def _expand(path: str, bounds: Boundaries) -> str:
    return bounds.home + path[1:] if path == "~" or path.startswith("~/") else path


@cache
def _compile_rules() -> tuple[tuple[_DangerRule, CommandMatcher], ...]:
    return tuple((rule, compile_commands(rule.patterns)) for rule in _RULES)


def _judge_patterns(command: ShellCommand) -> str:
    alone = Effects(commands=(command,))
    for rule, ask in _compile_rules():
        if ask(alone).answer is MatchAnswer.YES and not command.arguments.has(*rule.unless):
            return rule.reason
    return ""


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
            return f"deletes {branch} for everybody"
        if arguments.has("--force") or word.text.startswith("+"):
            return f"overwrites {branch} for everybody; --force-with-lease does not"
    return ""


def _judge_kill(command: ShellCommand) -> str:
    # a single -1 is a signal
    is_everything = command.name == "kill" and len(command.words) > 2 and command.words[-1].text == "-1"  # noqa: PLR2004
    return "ends every program you run" if is_everything else ""
