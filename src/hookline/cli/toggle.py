"""`hookline enable` and `hookline disable`: switch hooks on or off in their files."""

import argparse
from collections.abc import Collection, Sequence
from functools import partial
from typing import Final

from hookline.builtin.catalogue import BUILTINS, PREFIX, find_builtin, match_builtins, strip_prefix
from hookline.cli._command import CliCommand
from hookline.cli._edit_session import HOOK_OPTIONS, EditSession, get_format_keys, join_ids, open_session
from hookline.cli._project import hook_error
from hookline.config import edit
from hookline.config.settings import TABLE
from hookline.config.undo_log import FileEdit
from hookline.errors import ConfigError
from hookline.model.hook import Hook, Layer
from hookline.text import quote
from hookline.views.hook_lookup import find_hook

# the names of built-in hooks that are on, and of those that would be on by default and are not
_BUILTINS: Final = (TABLE, "builtins")
_DISABLED: Final = (TABLE, "disabled_builtins")
# hooks that are each named
_MOST_NOTES: Final = 3


def toggle_hooks(args: argparse.Namespace, *, on: bool) -> int:
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
                and all(hook.enabled is on for hook in gained),
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
        notes += [f'"{hook.id}" runs from now on, {_name_place(hook)}' for hook in different]
    notes += left_out
    file = session.find_file_at(session.project.folders.config / "hookline.toml")
    raw, text = file.read()
    if different:
        text = _edit_builtins(text, {strip_prefix(hook.id) for hook in different}, on=on, path=file.path)
    change = file.edit(raw, text if raw is not None or text else None)
    return session.finish([change], f"switched {word} {join_ids(different)}", notes=notes)


def _name_place(hook: Hook) -> str:
    return "wherever an agent calls" if _is_default(hook) else "in every project"


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


ENABLE: Final = CliCommand(
    "switch hooks on; their files keep everything else",
    *HOOK_OPTIONS,
    example="guard",
    run=partial(toggle_hooks, on=True),
)
DISABLE: Final = CliCommand(
    "switch hooks off; their files keep everything else",
    *HOOK_OPTIONS,
    example="guard",
    run=partial(toggle_hooks, on=False),
)
