"""`hookline edit`, `enable`, `disable`, `remove` and `undo`: change hooks in their files, and take a change back."""

import argparse
import os
import shlex
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from hookline.builtin.catalogue import BUILTINS, PREFIX, find_builtin, match_builtins, strip_prefix
from hookline.cli._command import COMMON, CliCommand, argument, flag, repeatable
from hookline.cli._edit_session import (
    EDIT_OPTIONS,
    HOOK_OPTIONS,
    ConfigFile,
    EditSession,
    find_new_problems,
    get_format_keys,
    join_ids,
    open_session,
    parse_value,
    split_assignment,
)
from hookline.cli._output import Table, format_clock, print_error, render
from hookline.cli._project import hook_error, load_from_args
from hookline.config import edit
from hookline.config.document import KeyPath
from hookline.config.keys import table
from hookline.config.settings import TABLE
from hookline.config.undo_log import FileEdit, UndoLog
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer
from hookline.text import quote, suggest
from hookline.user_dirs import find_user_dirs
from hookline.views import find_hook


def _edit_hook(args: argparse.Namespace) -> int:
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


# the names of built-in hooks that are on, and of those that would be on by default and are not
_BUILTINS: Final = (TABLE, "builtins")
_DISABLED: Final = (TABLE, "disabled_builtins")
# hooks that are each named
_MOST_NOTES: Final = 3


def _toggle(args: argparse.Namespace, *, on: bool) -> int:
    """Switch hooks on or off in their files, built-in ones in the user's settings."""
    word = "on" if on else "off"
    with open_session(args) as session:
        builtin = {name for name in args.hooks if name.startswith(PREFIX)}
        if builtin and builtin != set(args.hooks):
            raise ConfigError(
                "built-in hooks are switched in your settings, others in their files: name them in two calls"
            )
        if builtin:
            return _toggle_builtins(session, args.hooks, on=on)
        changes: list[FileEdit] = []
        done: list[Hook] = []
        notes: list[str] = []
        for file, hooks in session.group_by_file(args.hooks):
            different = [hook for hook in hooks if hook.enabled is not on]
            notes += [f'"{hook.id}" is switched {word} already' for hook in hooks if hook.enabled is on]
            raw, before = file.read()
            text = before
            for hook in different:
                _require_switch(hook)
                text = edit.put(text, (*hook.source_pointer, "enabled"), on, path=file.path)
            gone, gained = session.diff(file, before, text)
            # an invalid guard is loaded only while it is enabled
            left = [hook for hook in different if not hook.invalid]
            file.require(
                is_intended=_get_pointers(gone) == _get_pointers(different)
                and _get_pointers(gained) == _get_pointers(left)
                and all(hook.enabled is on for hook in gained)
            )
            changes.append(file.edit(raw, text))
            done += different
            notes += map(session.explain_trust, gained) if on else session.list_unshadowed(different)
        return session.finish(changes, f"switched {word} {join_ids(done)}", notes=notes)


def _get_pointers(hooks: list[Hook]) -> set[tuple[str | int, ...]]:
    return {hook.source_pointer for hook in hooks}


def _require_switch(hook: Hook) -> None:
    """Refuse to write `enabled` into the file of an agent that ignores the key and would run the hook anyway.

    Raises:
        ConfigError: The agent has no such key.
    """
    keys = get_format_keys(hook.source_format)
    if hook.run_by and keys is not None and "enabled" not in keys:
        raise hook_error(
            hook,
            f"hook {quote(hook.id)} is defined in a file of {', '.join(hook.run_by)}, where a hook cannot be switched off; "
            f"`hookline remove {hook.id}` takes it out, and agents_files in your settings leaves the file to its agent",
        )


def _find_builtins(session: EditSession, names: Sequence[str], *, on: bool) -> tuple[list[Hook], list[str]]:
    """Return the built-in hooks that names and patterns such as `builtin:*` mean, and notes about those left out.

    Raises:
        ConfigError: There is no such hook, or it is only a part of one.
    """
    found: dict[str, Hook] = {}
    notes: list[str] = []
    for name in names:
        if (builtin := find_builtin(name)) is not None and name != builtin.id:
            raise ConfigError(f"{quote(name)} is a part of {builtin.id}, which is switched as a whole")
        matched = match_builtins(name) or [name]
        for one in matched:
            hook = find_hook(session.project, one)
            if one == name:
                found[one] = hook
            elif _is_default(hook):
                # a user who tried all of them must not lose the guard that was there before
                if not on:
                    notes.append(f'"{one}" stays on, as it is by default; `hookline disable {one}` switches it off')
            elif hook.layer is not Layer.MANAGED:
                found[one] = hook
    return list(found.values()), notes


def _toggle_builtins(session: EditSession, names: Sequence[str], *, on: bool) -> int:
    """Write the lists of enabled and disabled built-in hooks in the user's settings.

    Raises:
        ConfigError: The administrator switched one on, or the file cannot be changed.
    """
    hooks, left_out = _find_builtins(session, names, on=on)
    disabled = set(map(strip_prefix, session.project.settings.disabled_builtins))
    # one that is on by default may be off now because no agent has Hookline installed, and must stay off later
    is_open = {hook.id: _is_default(hook) and not on and strip_prefix(hook.id) not in disabled for hook in hooks}
    different = [
        hook for hook in {hook.id: hook for hook in hooks}.values() if hook.enabled is not on or is_open[hook.id]
    ]
    for hook in different:
        if hook.layer is Layer.MANAGED:
            raise ConfigError(
                f"hook {quote(hook.id)} is managed: the administrator of this machine switched it on, and only they "
                "switch it off"
            )
    word = "on" if on else "off"
    notes = [f'"{hook.id}" is switched {word} already' for hook in hooks if hook not in different]
    if on and len(different) > _MOST_NOTES:
        notes.append(f"these {len(different)} hooks run from now on, in every project; `hookline list` shows them")
    elif on:
        for hook in different:
            where = "wherever an agent calls" if _is_default(hook) else "in every project"
            notes.append(f'"{hook.id}" runs from now on, {where}')
    notes += left_out
    file = session.find_file_at(session.project.folders.config / "hookline.toml")
    raw, text = file.read()
    if different:
        text = _edit_builtins(text, {strip_prefix(hook.id) for hook in different}, on=on, path=file.path)
    change = file.edit(raw, text if raw is not None or text else None)
    return session.finish([change], f"switched {word} {join_ids(different)}", notes=notes)


def _is_default(hook: Hook) -> bool:
    return BUILTINS[strip_prefix(hook.id)].is_default


def _edit_builtins(text: str, names: set[str], *, on: bool, path: str) -> str:
    defaults = {name for name in names if BUILTINS[name].is_default}
    if on:
        text = _edit_names(text, _DISABLED, remove=names, path=path)
        return _edit_names(text, _BUILTINS, add=names - defaults, path=path)
    text = _edit_names(text, _BUILTINS, remove=names, path=path)
    return _edit_names(text, _DISABLED, add=defaults, path=path)


def _edit_names(
    text: str, key: tuple[str, str], *, path: str, add: Collection[str] = (), remove: Collection[str] = ()
) -> str:
    """Add names to a list of settings, or remove them; a list without names is dropped."""
    before = edit.value_of(text, path=path)
    value = edit.value_at(before, key)
    # a value that cannot be read is never overwritten
    if value is not None and not (isinstance(value, list) and all(isinstance(name, str) for name in value)):
        raise ConfigError(
            f'{key[1]} in [{TABLE}] is no list of names such as ["read-only"]: correct it first', path=path
        )
    present = [str(name) for name in value or ()]
    left = [*(name for name in present if strip_prefix(name) not in {*add, *remove}), *sorted(add)]
    if left == present:
        return text
    if not left:
        return edit.drop(text, key, path=path, prune=True)
    if edit.value_at(before, key[:1]) is None:
        # a table header at the end, as people write it, instead of an inline table
        text = f"{text.rstrip()}\n\n[{TABLE}]\n".lstrip("\n")
    return edit.put(text, key, left, path=path)


def _remove(args: argparse.Namespace) -> int:
    with open_session(args) as session:
        changes: list[FileEdit] = []
        removed: list[Hook] = []
        for file, hooks in session.group_by_file(args.hooks):
            raw, before = file.read()
            text = remove_hooks(file, before, hooks)
            gone, gained = session.diff(file, before, text)
            pointers = {hook.source_pointer for hook in hooks}
            file.require(is_intended=not gained and {hook.source_pointer for hook in gone} == pointers)
            changes.append(file.edit(raw, text))
            removed += hooks
        return session.finish(changes, f"removed {join_ids(removed)}", notes=session.list_unshadowed(removed))


def remove_hooks(file: ConfigFile, before: str, hooks: list[Hook]) -> str | None:
    """Return a text without these hooks; None if the file was nothing but one of them."""

    def position(hook: Hook) -> list[tuple[int, str]]:
        return [(part, "") if isinstance(part, int) else (0, part) for part in hook.source_pointer]

    text = before
    # the last one first, so that the pointers of the others stay valid
    for hook in sorted(hooks, key=position, reverse=True):
        if not hook.source_pointer:
            return None
        text = edit.drop(text, hook.source_pointer, path=file.path, prune=True)
    return text


def _undo(args: argparse.Namespace) -> int:
    journal = UndoLog(find_user_dirs(args.project).data)
    if args.list:
        in_force = {entry.id for entry in journal.active()}
        value, rows = [], []
        for entry in journal.entries():
            is_in_force = entry.id in in_force
            files = [step.path for step in entry.steps]
            facts = {"id": entry.id, "when": entry.when, "what": entry.what, "files": files}
            value.append({**facts, "undoes": entry.undoes or None, "in_force": is_in_force})
            state = f"took back {entry.undoes}" if entry.undoes else "taken back"
            rows.append([str(entry.id), format_clock(entry.when), entry.what, "in force" if is_in_force else state])
        nothing = "hookline has changed no file yet"
        return render(args, value, Table(["id", "when", "what", "state"], rows, nothing=nothing))
    entry, undo = journal.undo(args.id, force=args.force)
    return render(
        args,
        {"undone": entry.id, "what": entry.what, "files": [step.path for step in entry.steps], "undo": undo.id},
        f"taken back: {entry.what}",
        *(f"{'removed' if step.before is None else 'restored'} {step.path}" for step in entry.steps),
        f"do it again: hookline undo {undo.id}",
    )


COMMANDS: Final = {
    "edit": CliCommand(
        "change keys of a hook in its file, which keeps everything else",
        argument("hook", "the hook's id, or its name"),
        argument("assignments", "a key of the hook's file, such as timeout=10", nargs="*", metavar="KEY=VALUE"),
        repeatable("--unset", "take a key out", metavar="KEY"),
        flag("--editor", "open the file in $VISUAL or $EDITOR; it is checked after"),
        *EDIT_OPTIONS,
        example="guard timeout=10 env.LEVEL=strict --unset priority",
        run=_edit_hook,
    ),
    "enable": CliCommand(
        "switch hooks on; their files keep everything else",
        *HOOK_OPTIONS,
        example="guard",
        run=partial(_toggle, on=True),
    ),
    "disable": CliCommand(
        "switch hooks off; their files keep everything else",
        *HOOK_OPTIONS,
        example="guard",
        run=partial(_toggle, on=False),
    ),
    "remove": CliCommand(
        "remove hooks from their files, which keep everything else",
        *HOOK_OPTIONS,
        example="guard --dry-run",
        run=_remove,
    ),
    "undo": CliCommand(
        "take back the last change that hookline made to a configuration file",
        argument("id", "which change; an undo can be undone, too", nargs="?", type=int),
        flag("--list", "list the changes, the latest first"),
        flag("--force", "also when the file was changed since"),
        *COMMON,
        example="--list",
        run=_undo,
    ),
}
