"""`hookline edit`: change keys of a hook in its file, or the whole file in an editor."""

import argparse
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from hookline.cli._command import CliCommand, argument, flag
from hookline.cli._edit_session import (
    EDIT_OPTIONS,
    ConfigFile,
    EditSession,
    find_new_problems,
    get_format_keys,
    join_ids,
    open_session,
    parse_value,
    split_assignment,
)
from hookline.cli._output import print_error
from hookline.cli._project import hook_error, load_from_args
from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.keys import table
from hookline.errors import ConfigError
from hookline.model.hook import Hook
from hookline.text import quote, suggest
from hookline.views.hook_lookup import find_hook


def run(args: argparse.Namespace) -> int:
    """Change the hook."""
    if args.editor and (args.assignments or args.unset):
        raise ConfigError("--editor goes alone: the editor is where keys are changed then")
    if not (args.editor or args.assignments or args.unset):
        raise ConfigError("say what to change: KEY=VALUE, --unset KEY or --editor")
    return _edit_in_editor(args) if args.editor else _edit_keys(args)


def _edit_keys(args: argparse.Namespace) -> int:
    with open_session(args) as session:
        hook = find_hook(session.project, args.hook)
        file = session.find_file_of(hook)
        raw, before = file.read()
        text = before
        for name in args.unset:
            text = edit.drop(text, _find_key(hook, name, text, file), path=file.path)
        for assignment in args.assignments:
            name, word = split_assignment(assignment)
            text = edit.put(text, _find_key(hook, name, text, file), _parse_value(hook, name, word), path=file.path)
        gone, gained = session.diff(file, before, text)
        pointers = {one.source_pointer for one in (*gone, *gained)}
        file.require(is_intended=pointers <= {hook.source_pointer} and len(gained) == len(gone))
        for one in gained:
            if one.id not in {old.id for old in gone}:
                session.require_free_name(one)
        changed = [*args.unset, *(one.partition("=")[0] for one in args.assignments)]
        notes = [*map(session.explain_trust, gained), *session.list_unresolved(gone, gained)]
        notes += session.list_unshadowed([hook]) if gained else []
        what = f'changed {", ".join(changed)} of "{hook.id}"'
        return session.finish([file.edit(raw, text)], what, notes=notes)


def _find_key(hook: Hook, name: str, text: str, file: ConfigFile) -> KeyPath:
    """Return the path of a hook's key in its file; `env.NAME` is a key inside a table."""
    known = get_format_keys(hook.source_format)
    first, *rest = name.split(".", 1)
    if known is not None and first not in known:
        listed = f"{suggest(first, known)}; they have {', '.join(sorted(known))}"
        raise hook_error(hook, f"hooks of this file have no key {quote(first)}{listed}")
    # in a group, pointers end with event, group, "hooks" and number, and the matcher is the group's
    pointer = hook.source_pointer
    if first != "matcher" or len(pointer) <= 3 or pointer[-2] != "hooks":  # noqa: PLR2004 - see above
        return (*pointer, first, *rest)
    group = pointer[:-2]
    others = sum(one.source_pointer[: len(group)] == group for one in file.parse(text)[0]) - 1
    if others > 0:
        message = f"the matcher is shared with {others} more in its group; give the hook a group of its own first"
        raise hook_error(hook, message)
    return (*group, "matcher")


def _parse_value(hook: Hook, name: str, word: str) -> object:
    """Parse a value for a key of the hook's format."""
    first, *rest = name.split(".", 1)
    key = (get_format_keys(hook.source_format) or {}).get(first)
    if key is not None and rest and key.read is table:
        # tables hold strings: a version 1.10 must not become 1.1
        return word
    return parse_value(name, word, None if rest else key)


def _edit_in_editor(args: argparse.Namespace) -> int:
    """Open a copy in the user's editor; it replaces the file only if it can be loaded."""
    program = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not program:
        raise ConfigError("no editor is known: set VISUAL or EDITOR, for example EDITOR=nano")
    project = load_from_args(args)
    file = EditSession(args=args, project=project).find_file_of(find_hook(project, args.hook))
    raw, before = file.read()
    copy = Path(tempfile.mkdtemp(prefix="hookline-")) / Path(file.path).name
    copy.write_bytes(raw or b"")
    try:
        code = subprocess.run([*shlex.split(program), str(copy)], check=False).returncode
    except (OSError, ValueError) as problem:
        _discard(copy)
        raise ConfigError(f"the editor {quote(program)} cannot be started: {problem}") from None
    if code and copy.read_bytes() == (raw or b""):
        _discard(copy)
        raise ConfigError(f"the editor ended with {code}; nothing was changed")
    if code:
        raise ConfigError(f"the editor ended with {code}; nothing was changed, your text is kept in {copy}")
    try:
        text = copy.read_bytes().decode()
        _require_loadable(file, before, text, copy)
        with open_session(args) as session:
            gone, gained = session.diff(file, before, text)
            kept = {hook.id for hook in gained}
            removed = [hook for hook in gone if hook.id not in kept]
            parts = (f"{word} {join_ids(some)}" for word, some in (("edited", gained), ("removed", removed)) if some)
            what = ", ".join(parts) or "edited no hook"
            code = session.finish([file.edit(raw, text)], what, notes=[*map(session.explain_trust, gained)])
    except FileNotFoundError:
        raise ConfigError("the editor took the text away; nothing was changed") from None
    except UnicodeDecodeError:
        raise ConfigError(f"the text is not UTF-8; nothing was changed, your text is kept in {copy}") from None
    except (ConfigError, OSError) as problem:
        message = problem.message if isinstance(problem, ConfigError) else str(problem)
        raise ConfigError(f"{message}; your text is kept in {copy}") from None
    _discard(copy)
    return code


def _require_loadable(file: ConfigFile, before: str, text: str, copy: Path) -> None:
    """Print every new problem with its line in the copy, and refuse the text if there is one."""
    problems = find_new_problems(file.parse(before)[1], file.parse(text)[1])
    for problem in problems:
        print_error(f"{copy}:{problem.line}: {problem.message}")
    if problems:
        raise ConfigError("the text cannot be used as it is; nothing was changed")


def _discard(copy: Path) -> None:
    copy.unlink()
    copy.parent.rmdir()


COMMAND: Final = CliCommand(
    "change keys of a hook in its file, which keeps everything else",
    argument("hook", "the hook's id, or its name"),
    argument("assignments", "a key of the hook's file, such as timeout=10", nargs="*", metavar="KEY=VALUE"),
    argument("--unset", "take a key out", action="append", default=[], metavar="KEY"),
    flag("--editor", "open the file in $VISUAL or $EDITOR; it is checked after"),
    *EDIT_OPTIONS,
    example="guard timeout=10 env.LEVEL=strict --unset priority",
    run=run,
)
